"""A table of how long things take, for notebooks whose outputs are stored and compared: only the table differs."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from time import perf_counter
from typing import Any

TURN = 0.2
"""Seconds that are given to each."""


class Times:
    """Runs everything for a while, the first time not counted.

    Args:
        works: pairs of what is done, in words, and what does it.
    """

    def __init__(self, *works: tuple[str, Callable[[], Any]]):
        self.rows = [(text, timed(work)) for text, work in works]

    def __repr__(self) -> str:
        return f"how long {len(self.rows)} things take"

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><td>{escape(text)}</td><td>{amount(seconds)}</td></tr>" for text, seconds in self.rows)
        return f"<table>{rows}</table>"


def timed(work: Callable[[], Any], turn: float = TURN) -> float:
    """The least of the seconds that a work takes, repeated for a while: what else the machine does only adds."""
    work()
    times: list[float] = []
    stop = perf_counter() + turn
    while len(times) < 3 or perf_counter() < stop:
        start = perf_counter()
        work()
        times.append(perf_counter() - start)
    return min(times)


def amount(seconds: float) -> str:
    """Seconds with a unit that suits them."""
    for scale, unit in ((1.0, "s"), (1e-3, "ms")):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"
