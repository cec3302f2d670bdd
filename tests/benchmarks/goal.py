"""What a figure must reach."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .timing import Samples


@dataclass(frozen=True)
class Goal:
    """A text for people and a test of the samples; `peers` are who is needed to tell."""

    text: str
    reached: Callable[[Samples], bool]
    peers: tuple[str, ...] = ()

    def __and__(self, other: Goal) -> Goal:
        return Goal(
            f"{self.text}; {other.text}", lambda s: self.reached(s) and other.reached(s), self.peers + other.peers
        )


def faster(peer: str, times: float) -> Goal:
    """At least so many times faster than a peer."""
    return Goal(f"≥ {times:g}× faster than {peer}", lambda s: s.ratio(peer, s.base) >= times, (peer,))


def within(peer: str, times: float) -> Goal:
    """At most so many times as long as a peer."""
    return Goal(f"≤ {times:g} × {peer}", lambda s: s.ratio(peer, s.base) >= 1 / times, (peer,))


def at_most(figure: float, text: str | None = None) -> Goal:
    """At most so many seconds, or so much of what else is measured."""
    return Goal(f"≤ {text or f'{figure:g} s'}", lambda s: s.median(s.base) <= figure)


def beyond(peer: str, figure: float, text: str) -> Goal:
    """At most so much more than a peer."""
    return Goal(f"≤ {peer} + {text}", lambda s: s.median(s.base) <= s.median(peer) + figure, (peer,))
