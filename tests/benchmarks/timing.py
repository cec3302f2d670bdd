"""Measuring contenders in turns, so that whatever else the machine does hits them alike."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import fmean, median, quantiles
from time import perf_counter

TURN = 0.02
"""Seconds that a turn takes at least: shorter work is repeated, and the turn counts the mean.

The mean, so that what happens only now and then (a scan for dead records) is paid for; the median
over the turns then leaves out what the machine did meanwhile.
"""


@dataclass(frozen=True)
class Samples:
    """What each contender measured, round by round; the rounds are paired."""

    by_peer: dict[str, list[float]]

    @property
    def base(self) -> str:
        """Who the others are compared with: the first."""
        return next(iter(self.by_peer))

    def median(self, peer: str) -> float:
        return median(self.by_peer[peer])

    def ratio(self, peer: str, base: str) -> float:
        """The median over the rounds of a peer's figure over the base's."""
        return median(p / b for p, b in zip(self.by_peer[peer], self.by_peer[base], strict=True))

    def quartiles(self, peer: str) -> tuple[float, float]:
        """Lower and upper quartile: how far the rounds spread."""
        figures = self.by_peer[peer]
        low, _, high = quantiles(figures, n=4) if len(figures) > 1 else (figures[0],) * 3
        return low, high


def compare(samplers: Mapping[str, Callable[[], float]], seconds: float, least: int = 5) -> Samples:
    """Let contenders take turns A B A B for some seconds, at least a few rounds.

    The order alternates from round to round, so that none always follows the same other.
    """
    by_peer: dict[str, list[float]] = {peer: [] for peer in samplers}
    order = list(samplers)
    stop = perf_counter() + seconds
    rounds = 0
    while rounds < least or perf_counter() < stop:
        for peer in order:
            by_peer[peer].append(samplers[peer]())
        order.reverse()
        rounds += 1
    return Samples(by_peer)


def turn(once: Callable[[], float]) -> Callable[[], float]:
    """A sampler out of something that does its work and says how long that took."""

    def sample() -> float:
        times: list[float] = []
        stop = perf_counter() + TURN
        with _no_collection():
            while not times or perf_counter() < stop:
                times.append(once())
        return fmean(times)

    return sample


@contextmanager
def _no_collection():  # type: ignore[no-untyped-def]
    """Without the cyclic garbage collector, as `timeit` has it."""
    gc.collect(0)
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
