"""What a program costs, in numbers."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from ops import Op, Symbol
from ops.core.lane import Via

from ..plans.in_python import NumPyStep
from ..plans.replay import KernelStep, Replay
from ..plans.round_step import RoundsStep
from ..recorded.listing import Listing
from ..shortening.passes import PASSES
from .text import aligned


@dataclass(frozen=True)
class PassFigures:
    """One pass over the list: its name, how many records it left, how long it takes."""

    name: str
    records: int
    seconds: float


@dataclass(frozen=True)
class Kernel:
    """A kernel: how many records run in it, over how many elements, and in which tier.

    Attributes:
        loops: what was found to repeat: how often it comes, and of how many records it is.
        rounds: in how many rounds of a loop it runs.
    """

    records: int
    elements: int
    tier: str
    loops: tuple[tuple[int, int], ...] = ()
    rounds: int = 1

    def __str__(self) -> str:
        loops = "".join(f"; {times:,} times the same {records:,}" for times, records in self.loops)
        rounds = f", in each of {self.rounds:,} rounds" if self.rounds > 1 else ""
        return f"{self.records:,} records × {self.elements:,} elements, {self.tier}{loops}{rounds}"


@dataclass(frozen=True)
class Statistics:
    """What is in a program, and what a replay of it does.

    Attributes:
        recorded: how many records the function left.
        passes: what each pass made of them.
        flops: floating-point operations of a replay: each instruction of a lane, each call of a function such as
            exp and each comparison is one for each element; what only moves numbers is none.
        bytes_moved: what the kernels, and NumPy in between, read and write.
        live_peak: the most bytes of results that are kept at one time; arguments and constants are not counted.
        memory: the bytes that a replay takes, laid out as they are.
        recording_memory: the most bytes of large arrays that were held at once while it was recorded, beside numbers
            and small arrays: those that the function looked at, and what they needed.
        kernels: those that the program has at the moment.
        steps: how many other records are steps of the sweep, or views, which need none.
        numpy: how many records NumPy evaluates on its own.
        stops: how often a replay goes back to Python on its way.
        guards: how many values have to be what they were.
        replays: how often the program ran; `missed`: how often a guard did not hold.
        derived: how many adjoints and tangents were made of it.
    """

    recorded: int
    passes: tuple[PassFigures, ...]
    flops: int
    bytes_moved: int
    live_peak: int
    memory: int
    recording_memory: int
    kernels: tuple[Kernel, ...]
    steps: int
    numpy: int
    stops: int
    guards: int
    replays: int
    missed: int
    derived: int
    inputs: int = field(default=0)
    outputs: int = field(default=0)

    @property
    def records(self) -> int:
        """How many records there are after the passes."""
        return self.passes[-1].records

    @property
    def seconds(self) -> float:
        """How long all passes take."""
        return sum(p.seconds for p in self.passes)

    @property
    def tier(self) -> str:
        """The tiers of the kernels."""
        return ", ".join(sorted({k.tier for k in self.kernels})) or "numpy"

    def __str__(self) -> str:
        rows = [
            ("records", f"{self.recorded:,} recorded, {self.records:,} after the passes"),
            *((f"  {p.name}", f"{p.records:,} records, {1e3 * p.seconds:.3g} ms") for p in self.passes),
            ("inputs, outputs", f"{self.inputs}, {self.outputs}"),
            ("flops per replay", f"{self.flops:,}"),
            ("bytes moved", f"{self.bytes_moved:,}"),
            ("live peak", f"{self.live_peak:,} bytes"),
            ("memory", f"{self.memory:,} bytes; {self.recording_memory:,} while it was recorded"),
            ("kernels", f"{len(self.kernels)} ({self.tier})"),
            ("other records", f"{self.steps:,} as steps or views, {self.numpy:,} by NumPy"),
            ("stops", f"{self.stops:,}"),
            *((f"  kernel {i}", str(k)) for i, k in enumerate(self.kernels[:SHOWN])),
            ("guards", f"{self.guards}, missed {self.missed} times"),
            ("replays", f"{self.replays:,}"),
            ("derived programs", f"{self.derived}"),
        ]
        return "\n".join(aligned(rows))


SHOWN = 12
"""Of more kernels, only the first are told one by one."""


def statistics_of(
    recorded: Listing, replay: Replay, replays: int, missed: int, derived: int, recording_memory: int
) -> Statistics:
    """The numbers of a program."""
    passes, listing = _passes(recorded)
    plan = replay.sweeper.plan  # first: it may say that a loop has to be straightened
    each = list(_each(replay))
    numpy = sum(isinstance(s, NumPyStep) and not plan.stopped.isdisjoint(s.makes) for s in replay.steps)
    count = listing.results
    return Statistics(
        recorded=len(recorded),
        passes=passes,
        flops=sum(flops(listing, k) for k in range(len(listing))),
        bytes_moved=sum(times * _moved(s.listing, s) for s, times in each),
        live_peak=_live_peak(replay.listing, replay.steps),
        memory=plan.taken,
        recording_memory=recording_memory,
        kernels=tuple(_kernel(s, times) for s, times in each if isinstance(s, KernelStep)),
        steps=sum(times for s, times in each if isinstance(s, NumPyStep)) - numpy,
        numpy=numpy,
        stops=len(plan.halts),
        guards=len(listing.guards),
        replays=replays,
        missed=missed,
        derived=derived,
        inputs=listing.inputs,
        outputs=count,
    )


def _passes(listing: Listing) -> tuple[tuple[PassFigures, ...], Listing]:
    """What each pass makes of a list, and the list after them."""
    found = []
    for step in PASSES:
        start = time.perf_counter()
        listing = step(listing)
        found.append(PassFigures(step.__name__, len(listing), time.perf_counter() - start))
    return tuple(found), listing


def _each(replay: Replay, times: int = 1) -> Iterator[tuple[KernelStep | NumPyStep, int]]:
    """The steps, those in loops too, and how often each runs in a replay."""
    for step in replay.steps:
        if isinstance(step, RoundsStep):
            yield from _each(step.body, times * step.times)
        else:
            yield step, times


def _kernel(step: KernelStep, rounds: int) -> Kernel:
    group = step.group
    records = len({*group.rows.tolist(), *(t.row for t in group.targets)})
    return Kernel(records, group.size, step.tier, tuple((x.iterations, x.period) for x in group.loops), rounds)


def flops(listing: Listing, k: int) -> int:
    """Floating-point operations of one record."""
    op, spec = listing.op(k), listing.spec_of(k)
    if op is None or op.name == "output":
        return 0
    operands = [s.size for j in listing.operands(k) if (s := listing.spec_of(j)) is not None]
    size = spec.size if spec is not None else max(operands, default=0)
    if op.hints.motion == "matrix":
        inner = listing.spec_of(listing.operands(k)[0])
        return 2 * size * (inner.shape[-1] if inner is not None and inner.shape else 1)
    if op.broadcasts:
        return size * per_element(op)
    if (
        op.kind == "linear"
        and op.hints.motion not in ("spread", "average")
        and not op.hints.reduces
        and not op.hints.accumulates
    ):
        return 0 if op.arity == 1 else size
    return max([size, *operands])


@cache
def per_element(op: Op) -> int:
    """Operations of an elementwise op for each element, counted in the formula of its lane."""
    if not isinstance(op.lane, Via):
        return 1
    found = op.lane.formula(*map(Symbol, "xyw"[: op.arity]))
    if not isinstance(found, Symbol):
        return 0
    return sum(per_element(s.op) for s in found.walk() if s.op is not None)


def _nbytes(listing: Listing, rows: Sequence[int]) -> int:
    """Bytes of the results of records; what numbers behind the listing stand for, totals of tiles, is small."""
    known = [k for k in rows if k < len(listing)]
    return sum(s.nbytes for k in known if (s := listing.spec_of(k)) is not None)


def _moved(listing: Listing, step: Any) -> int:
    """Bytes that a step reads and writes; a view moves none."""
    if isinstance(step, NumPyStep) and (step.op.name == "output" or step.op.is_view(step.params)):
        return 0
    return _nbytes(listing, step.needs) + _nbytes(listing, step.makes)


def _live_peak(listing: Listing, steps: Sequence[Any]) -> int:
    """The most bytes of results at one time."""
    alive, now, peak = set[int](), 0, 0
    for step in steps:
        made = [k for k in step.makes if k not in alive]
        alive.update(made)
        now += _nbytes(listing, made)
        peak = max(peak, now)
        gone = [k for k in step.drops if k in alive]
        alive.difference_update(gone)
        now -= _nbytes(listing, gone)
    return peak


WORTH_SAYING = 1 << 16
"""Bytes of arrays around a function that are worth a word."""


@dataclass(frozen=True)
class CallStatistics:
    """What a compiled function has done so far.

    Attributes:
        signatures: for how many kinds of arguments it was called; `eager` of them run without compiling.
        programs: the numbers of what was recorded, one program for each path through the function.
        replays: how often a program was run; `missed`: how often a guard did not hold then.
        compared: bytes of the arrays around the function that each call compares with copies: not of read-only ones.
    """

    signatures: int
    eager: int
    programs: tuple[Statistics, ...]
    replays: int
    missed: int
    compared: int

    def __str__(self) -> str:
        rows = [
            ("signatures", f"{self.signatures:,}, of which {self.eager:,} run without compiling"),
            ("programs", f"{len(self.programs):,} of {sum(p.records for p in self.programs):,} records together"),
            ("replays", f"{self.replays:,}, of which {self.missed:,} missed a guard"),
            ("kernels", f"{sum(len(p.kernels) for p in self.programs):,}"),
        ]
        if self.compared >= WORTH_SAYING:
            said = f"{self.compared:,} bytes of arrays around it in each call: none of arguments, nor of read-only ones"
            rows.append(("compared", said))
        return "\n".join(aligned(rows))
