"""Who watches sweeps: anomaly mode and the profiler, while they are on.

A sweep looks once, when it begins, whether anybody watches; otherwise nothing here runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

Rules = Callable[..., Iterable[tuple[int, Any, Any]]]
"""What runs the rules of a record: `tape.history.propagate.contributions`, or something around it."""

Steps = Callable[[int, int], None]
"""What runs steps of a jitted sweep: so many, from one on."""


class Watcher:
    """Sees what sweeps do, by standing around what they do it with."""

    def rules(self, inner: Rules) -> Rules:
        """What runs the rules of a record, in place of `inner`."""
        return inner

    def steps(self, inner: Steps, run: Any) -> Steps:
        """What runs the steps of a jitted sweep `run`, in place of `inner`."""
        return inner


WATCHERS: list[Watcher] = []
"""Those that watch now, the innermost first."""


def watched_rules(inner: Rules) -> Rules:
    """What a sweep that begins runs the rules of records with."""
    for watcher in WATCHERS:
        inner = watcher.rules(inner)
    return inner


def watched_steps(inner: Steps, run: Any) -> Steps:
    """What a jitted sweep that begins runs its steps with."""
    for watcher in WATCHERS:
        inner = watcher.steps(inner, run)
    return inner
