"""The kinds of benchmark: timed in this process, or seen from outside in fresh ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
from numpy.testing import assert_allclose

from .compilers import Beside
from .goal import Goal
from .peers import Plain, Run, start
from .timing import turn
from .work import Work

Sampler = Callable[[], float]

CALLS = 100
"""A call so short that looking at the clock would count is made so many times between two looks."""


@dataclass(frozen=True)
class Timed:
    """A program timed in this process.

    Attributes:
        make: makes the work from arguments; `size` are those to measure, `small` those to test.
        part: what of it is timed: ``"forward"``, ``"backward"``, ``"both"``, or ``"call"``: many calls in a row of
            something that gives value and gradient at once.
        per: what a time is divided by, out of the size: the number of operations.
    """

    name: str
    text: str
    make: Callable[..., Work]
    size: tuple[Any, ...]
    small: tuple[Any, ...]
    peers: tuple[str, ...]
    part: str = "both"
    goal: Goal | None = None
    per: Callable[..., int] = lambda *size: 1
    unit: str = "s"
    rounds: int = 5

    @contextmanager
    def samplers(self, peers: Sequence[str], small: bool = False) -> Iterator[dict[str, Sampler]]:
        """A sampler for each peer, after a check that all of them find the same gradients."""
        size = self.small if small else self.size
        work, per = self.make(*size), self.per(*size)
        runs = {peer: start(peer, work) for peer in peers}
        if self.part != "forward":
            found = {peer: gradients(run) for peer, run in runs.items() if not isinstance(run, (Plain, Beside))}
            for peer, theirs in found.items():
                agree(theirs, found[peers[0]], f"{peer} and {peers[0]} on {self.name!r}")
        yield {peer: turn(_clock(run, self.part, per)) for peer, run in runs.items()}


@dataclass(frozen=True)
class Fresh:
    """Something seen from outside, in a fresh process for every sample.

    Attributes:
        sampler: makes the sampler of a peer; it may take a number, `size` or `small`.
        rounds: how many times each peer is measured at least.
        setting: a context around all samples, whose value is passed to `sampler`; None when small.
    """

    name: str
    text: str
    sampler: Callable[..., Sampler]
    peers: tuple[str, ...]
    goal: Goal | None = None
    unit: str = "s"
    rounds: int = 5
    setting: Callable[[], Any] | None = None
    size: tuple[Any, ...] = field(default=())
    small: tuple[Any, ...] = field(default=())

    @contextmanager
    def samplers(self, peers: Sequence[str], small: bool = False) -> Iterator[dict[str, Sampler]]:
        """A sampler for each peer."""
        size = self.small if small else self.size
        if self.setting is None:
            yield {peer: self.sampler(peer, *size) for peer in peers}
            return
        with nullcontext() if small else self.setting() as given:
            yield {peer: self.sampler(peer, given, *size) for peer in peers}


def gradients(run: Run) -> list[np.ndarray]:
    """The gradients that a peer finds."""
    run.forward()
    run.backward()
    return run.gradients()


def agree(found: list[np.ndarray], expected: list[np.ndarray], what: str) -> None:
    """Raise unless gradients are equal but for rounding: a benchmark of different work says nothing."""
    for ours, theirs in zip(found, expected, strict=True):
        rtol = 2e-4 if ours.dtype == np.float32 else 1e-9
        scale = float(np.max(np.abs(theirs)))
        assert_allclose(ours, theirs, rtol=rtol, atol=rtol * scale, err_msg=what)


def _clock(run: Run, part: str, per: int) -> Sampler:
    """Do the work once and give the seconds that the part took, for each operation."""

    def forward() -> float:
        start = perf_counter()
        run.forward()
        return (perf_counter() - start) / per

    def once() -> float:
        start = perf_counter()
        run.forward()
        middle = perf_counter()
        run.backward()
        stop = perf_counter()
        run.gradients()
        return (stop - (start if part == "both" else middle)) / per

    def calls() -> float:
        call = run.backward
        start = perf_counter()
        for _ in range(CALLS):
            call()
        return (perf_counter() - start) / (CALLS * per)

    return {"forward": forward, "call": calls}.get(part, once)
