"""Random programs from the first call of a process on that has nothing yet: no Numba, and no code on disk.

``python -m tests.corpus --cold 20`` (with the environment variables that say where code is kept leading to empty
folders, and no ``TAPE_JIT``): while the programs run, the sweep in Python hands over to the jitted one, and so do
plans.  Each call is compared with what NumPy's differences give, and with the first call at these inputs.
"""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tape
from tape.base import jit_door

from .compare import ALL, EVERY, UNKNOWN, Flat, Known, flat, listened, one, pieces, weights
from .grammar import write
from .program import inputs

SOON = 0.005
"""Seconds of work that jitted code is to cost here at most, so that it is there after some hundred calls."""


class Subject:
    """A function of a program, called again and again.

    Attributes:
        wrong: what it gave that differs, None so far.
    """

    def __init__(self, seed: int, name: str, function: Callable[..., Any], wanted: dict[int, np.ndarray]):
        self.about, self.function, self.wanted = f"array program {seed}, {name}", function, wanted
        self.first: dict[int, np.ndarray] = {}
        self.given = {number: inputs(write(seed), number) for number in wanted}
        self.traces: dict[int, str] = {}
        self.wrong: str | None = None

    def call(self, turn: int) -> None:
        """Call it, and compare what it gives; not any more once that was wrong."""
        if self.wrong is not None:
            return
        number = list(self.wanted)[turn % len(self.wanted)]
        if number not in self.first:
            verdict = one(self.function, self.given[number], self.wanted[number])
            if verdict.kind == "wrong":
                self.wrong = f"{self.about}, call {turn}: {verdict.why}"
        try:
            found = flat(listened(self.function, *self.given[number])[0])
        except Exception as error:
            found = np.array(type(error).__name__)
            self.traces[number] = traceback.format_exc()
        before = self.first.setdefault(number, found)
        if not _agree(before, found):
            self.wrong = f"{self.about}, call {turn}: {found} after {before}\n{self.traces.get(number, '')}"


def _agree(x: np.ndarray, y: np.ndarray) -> bool:
    """Whether two results differ by rounding alone; names of exceptions not at all."""
    if x.dtype != y.dtype or x.shape != y.shape or x.dtype.kind == "U":
        return np.array_equal(x, y)
    return np.allclose(x, y, rtol=1e-9, atol=1e-9 * (1.0 + np.abs(x).max(initial=0.0)), equal_nan=True)


def subjects(seed: int) -> Iterator[Subject]:
    """Gradients eagerly and compiled, and values compiled; of a program that can be differentiated by differences."""
    program = write(seed)
    known = Known(program)
    smooth = [n for n in ALL if known[n].error != UNKNOWN and known[n].slopes is not None]
    if program.converts or not smooth:
        return
    slopes: dict[int, Any] = {n: weights(known[n].value.size) @ known[n].slopes for n in smooth}  # type: ignore[union-attr]
    f = Flat(program)
    yield Subject(seed, "grad", tape.func.grad(f.total, EVERY), slopes)
    yield Subject(seed, "jacrev", tape.func.jacrev(f, EVERY), {n: _by_inputs(known[n].slopes) for n in smooth})
    yield Subject(seed, "compile(grad)", tape.compile(tape.func.grad(f.total, EVERY)), slopes)
    yield Subject(seed, "compile(value)", tape.compile(f), {n: known[n].value for n in smooth})  # type: ignore[misc]


def _by_inputs(slopes: Any) -> np.ndarray:
    """A Jacobian in the order in which it is given, one argument after another."""
    return np.concatenate([np.ravel(part) for part in pieces(slopes)])


def main(programs: int, first: int, calls: int = 100, threads: int = 2) -> int:
    """Run programs in turns, each so often, in several threads; status 1 if one was wrong, 2 if it was not cold."""
    if "llvmlite.binding" in sys.modules or jit_door.SWEEPS.is_open:
        print("the process is not cold")
        return 2
    jit_door.LLVM = SOON
    for account in (jit_door.SWEEPS, jit_door.SCANS, jit_door.PLANS):
        account.load, account.compile, account.free = 0.0, SOON, 0.0
    found = [subject for seed in range(first, first + programs) for subject in subjects(seed)]
    workers = [threading.Thread(target=_run, args=(found[k::threads], calls)) for k in range(1, threads)]
    for worker in workers:
        worker.start()
    _run(found[::threads], calls)
    for worker in workers:
        worker.join()
    wrong = [subject.wrong for subject in found if subject.wrong is not None]
    states = ", ".join(f"{a.name} {'jitted' if a.is_open else 'in Python'}" for a in (jit_door.SWEEPS, jit_door.PLANS))
    count = f"{len(found)} functions of {programs} array programs, {calls} times each: {len(wrong)} wrong"
    print(*wrong, f"{count}; {states}", sep="\n")
    return int(bool(wrong))


def _run(found: list[Subject], calls: int) -> None:
    for turn in range(calls):
        for subject in found:
            subject.call(turn)
