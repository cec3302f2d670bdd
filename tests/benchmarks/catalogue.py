"""The benchmarks: work, who does it, what is reported of it, and what it must reach."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
from numpy.testing import assert_allclose

from . import processes
from .goal import Goal, at_most, faster, within
from .peers import Run, start
from .timing import turn
from .work import Work, chain, elementwise, indexing, logistic, matmul, square

Sampler = Callable[[], float]


@dataclass(frozen=True)
class Timed:
    """A program timed in this process.

    Attributes:
        make: makes the work from arguments; `size` are those to measure, `small` those to test.
        part: what of it is timed: ``"forward"``, ``"backward"`` or ``"both"``.
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
            found = {peer: gradients(run) for peer, run in runs.items()}
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

    return forward if part == "forward" else once


def _chains() -> Iterator[Timed]:
    """The same chain at three shapes, in whole and in part."""
    parts = (
        ("chain", "both", "forward + backward", ("tape", "torch", "autograd"), faster("torch", 3)),
        ("backward", "backward", "backward alone", ("tape", "torch", "autograd"), faster("torch", 12)),
    )
    for name, part, text, peers, goal in parts:
        for shape in ((), (4,), (100,)):
            yield Timed(
                f"{name} {shape}", f"`y = y*x + x`, shape `{shape}`: {text}, per operation", chain, (shape, 500),
                (shape, 3), peers, part, goal, per=lambda _, steps: 2 * steps,
            )  # fmt: skip


def _forwards() -> Iterator[Timed]:
    """What recording costs, beside NumPy alone."""
    peers = "tape", "tape, no_grad", "numpy", "torch", "torch, no_grad"
    for shape in ((), (100,)):
        yield Timed(
            f"forward {shape}", f"`y = y*x + x`, shape `{shape}`: forward alone, per operation", chain, (shape, 500),
            (shape, 3), peers, "forward", per=lambda _, steps: 2 * steps,
        )  # fmt: skip


def _import_seconds(peer: str) -> Sampler:
    return processes.import_seconds(peer)


def _first_gradient(peer: str, caches: Callable[[], str] | None) -> Sampler:
    return lambda: processes.first_gradient(peer, caches and caches())


def _bytes_per_record(peer: str, records: int) -> Sampler:
    return lambda: processes.bytes_per_record(peer, records)


BENCHMARKS: tuple[Timed | Fresh, ...] = (
    *_chains(),
    *_forwards(),
    Timed("tiny", "`y = x*x` on one number: the call `y.backward()`", square, (), (), ("tape", "torch"), "backward"),
    Timed(
        "indexing", "`s = s + x[i]*x[i]` over 1000 elements, per element", indexing, (1000,), (4,),
        ("tape", "torch", "autograd"), goal=faster("torch", 5), per=lambda n: n,
    ),
    Timed(
        "elementwise float64", "`sum(sin(tanh(log(exp(x) + 1))))` on 10⁶ float64", elementwise, (10**6, "float64"),
        (5, "float64"), ("tape", "torch", "autograd", "jax.jit"), goal=faster("torch", 1),
    ),
    Timed(
        "elementwise float32", "the same on 10⁶ float32", elementwise, (10**6, "float32"), (5, "float32"),
        ("tape", "torch", "jax.jit"), goal=faster("torch", 1),
    ),
    Timed(
        "matmul", "`x @ y`, 1000×1000", matmul, (1000,), (3,), ("tape", "torch", "jax.jit"), goal=within("torch", 1.2)
    ),
    Timed(
        "logistic", "logistic regression, 10⁴ × 20: loss and gradient", logistic, (10_000, 20), (7, 3),
        ("tape", "torch", "autograd", "jax.jit"),
    ),
    Fresh(
        "import", "the import, in a fresh process", _import_seconds, ("tape", "numba", "numpy", "torch", "jax"),
        within("numba", 1.3),
    ),
    Fresh(
        "first gradient, warm", "a fresh process with one gradient, start to end; compiled code on disk",
        _first_gradient, ("tape", "torch", "autograd", "jax"), at_most(1.2), setting=lambda: processes.folder(True),
    ),
    Fresh(
        "first gradient, cold", "the same, nothing on disk", _first_gradient, ("tape",), at_most(6.0),
        rounds=3, setting=lambda: processes.folder(False),
    ),
    Fresh(
        "memory", "memory per recorded operation on one number", _bytes_per_record, ("tape", "torch", "autograd"),
        unit="B", size=(200_000,), small=(20_000,),
    ),
)  # fmt: skip
"""In the order in which they are shown; the first peer is always tape."""


def chosen(prefixes: Sequence[str]) -> list[Timed | Fresh]:
    """The benchmarks whose names begin with one of these; all, where there are none.

    Raises:
        ValueError: if no benchmark's name begins so.
    """
    for prefix in prefixes:
        if not any(b.name.startswith(prefix) for b in BENCHMARKS):
            known = ", ".join(repr(b.name) for b in BENCHMARKS)
            raise ValueError(f"no benchmark's name begins with {prefix!r}; there are {known}")
    return [b for b in BENCHMARKS if not prefixes or b.name.startswith(tuple(prefixes))]
