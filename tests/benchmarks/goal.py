"""What a figure must reach."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .timing import Samples

BASE = "tape"


@dataclass(frozen=True)
class Goal:
    """A text for people and a test of the samples; `peer` is who is needed to tell."""

    text: str
    reached: Callable[[Samples], bool]
    peer: str = BASE


def faster(peer: str, times: float) -> Goal:
    """At least so many times faster than a peer."""
    return Goal(f"≥ {times:g}× faster than {peer}", lambda s: s.ratio(peer, BASE) >= times, peer)


def within(peer: str, times: float) -> Goal:
    """At most so many times as long as a peer."""
    return Goal(f"≤ {times:g} × {peer}", lambda s: s.ratio(peer, BASE) >= 1 / times, peer)


def at_most(seconds: float) -> Goal:
    """At most so many seconds."""
    return Goal(f"≤ {seconds:g} s", lambda s: s.median(BASE) <= seconds)
