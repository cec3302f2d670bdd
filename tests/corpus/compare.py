"""A program compiled, called again and again, beside what it does eagerly."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

import tape

from .tree import Program
from .world import Outcome, call, inputs, world

ORDER = (0, 1, 0, 2, 3, 1, 4, 2, 5, 0, 6, 3)
"""Which inputs, one after another: each path is recorded, left, and come back to."""


@dataclass
class Report:
    """What happened to one program.

    Attributes:
        mismatch: what differs, None if nothing does.
        ties: calls that are not compared, because the function itself jumps there, or because its gradient needs a
            value that it has changed in place, which a list still has.
    """

    calls: int = 0
    replays: int = 0
    missed: int = 0
    paths: int = 0
    eager: int = 0
    ties: int = 0
    mismatch: str | None = None


def compare(program: Program) -> Report:
    """Run a program eagerly and compiled at the same inputs, which stay the same."""
    names = world(program)
    report = Report()
    changes = list(program.changes)
    for turn, number in enumerate(ORDER):
        if changes and turn % 4 == 3:
            exec(changes.pop(0), names)
        arguments = inputs(program, number)
        held = (names["T"],)
        expected = call(names["f"], program, arguments, True, held)
        found = call(names["fast"], program, inputs(program, number), False, held)
        report.calls += 1
        what = difference(expected, found, program)
        if what is not None and (expected.stale or jumps(program, names, arguments, expected)):
            report.ties += 1
        elif what is not None:
            report.mismatch = f"call {turn}, inputs {number}: {what}\n  eager    {expected}\n  compiled {found}"
            break
    statistics = names["fast"].statistics()
    report.replays, report.missed, report.eager = statistics.replays, statistics.missed, statistics.eager
    report.paths = len(statistics.programs)
    return report


def difference(expected: Outcome, found: Outcome, program: Program) -> str | None:
    """What differs between two outcomes."""
    if expected.error or found.error:
        return None if expected.error == found.error else "what is raised"
    if len(expected.values) != len(found.values):
        return "how many results there are"
    single = program.dtype == "float32" or any(v.dtype == np.float32 for v in expected.values)
    rtol, atol = (2e-3, 1e-3) if single else (1e-7, 1e-9)
    for i, (z, w) in enumerate(zip(expected.values, found.values)):
        if z.shape != w.shape:
            return f"the shape of value {i}: {z.shape}, {w.shape}"
        if z.dtype != w.dtype and z.dtype.kind != "O":
            return f"the dtype of value {i}: {z.dtype}, {w.dtype}"
        if not np.allclose(z, w, rtol=rtol, atol=atol, equal_nan=True):
            return f"value {i}"
    return None


def jumps(program: Program, names: dict[str, Any], arguments: tuple[Any, ...], expected: Outcome) -> bool:
    """Whether the function gives something else where inputs and numbers in its text differ by rounding alone."""
    step = 1e-6 if program.dtype == "float32" else 1e-13
    for factor in (1 - step, 1 + step):
        near = arguments if program.dtype == "int64" else scaled(arguments, factor)
        around = dict(names)
        exec(re.sub(r"\d+\.\d+", lambda number, factor=factor: repr(float(number[0]) * factor), program.source), around)
        if difference(expected, call(around["f"], program, near, True, (names["T"],)), program) is not None:
            return True
    return False


def scaled(arguments: Any, factor: float) -> Any:
    """The arguments with all of their arrays multiplied by a number."""
    return tape.base.tree.transform(
        lambda x: x * x.dtype.type(factor) if isinstance(x, (np.ndarray, np.generic)) else x, arguments
    )
