"""Programs out of programs: the adjoint and the tangent of a recorded list, by the ops' own rules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import CodeType
from typing import Any

import numpy as np

from ops.core.batching import LanesDiffer
from ops.core.registry import OPS

from ...base.tensor import Tensor
from ..recorded.listing import Listing, listing_of
from ..recorded.reach import check_not_released
from ..recorded.trace import CONSTANT, INPUT, Trace
from ..recorded.traced import Traced, traced
from .adjoint import propagate, value_of
from .simple_runs import Runs
from .templates import moves


def plain(x: Any) -> Any:
    """An operand as an array or a number; of one that differs from lane to lane, that of the first lane."""
    if not isinstance(x, Tensor):
        return x
    try:
        return x._data
    except LanesDiffer:
        below, shape = plain(x._primal), x._spec.shape  # type: ignore[attr-defined]
        if np.ndim(below) == len(shape):
            return below
        return below[0] if len(below) else np.ones(shape, x._spec.dtype)


class Retraced:
    """A listing played over tensors that are being recorded, so that more can be recorded after it.

    Attributes:
        trace: the new list.
        inputs: the tensors in the place of the operands: the inputs, then the captured tensors.
        rows: for every record of the listing what stands for it.
    """

    def __init__(self, listing: Listing, captures: Sequence[Tensor], xs: Sequence[Any]):
        self.trace = Trace()
        self.inputs = [self.input(x) for x in xs]
        captured = {id(t): x for t, x in zip(captures, self.inputs[listing.inputs :])}
        self.rows: list[Any] = []
        self._listing = listing
        with self.trace.recording(), self.at_lines():
            for k in range(len(listing)):
                self.trace.wengert.where = self._line(k)
                self.rows.append(self._row(k, captured))

    @contextmanager
    def at_lines(self) -> Iterator[None]:
        """What is recorded meanwhile is said to come from the lines that are set."""
        wengert = self.trace.wengert
        before = wengert.where
        try:
            yield
        finally:
            wengert.where = before

    def _line(self, k: int) -> tuple[CodeType, int] | None:
        """The user's line that recorded a record of the listing."""
        at = self._listing.line[k]
        return self._listing.lines[at] if at >= 0 else None

    def input(self, x: Any) -> Traced:
        return traced(self.trace, self.trace.input(plain(x)))

    def _row(self, k: int, captured: dict[int, Traced]) -> Any:
        listing = self._listing
        code = listing.code[k]
        if code == INPUT:
            return self.inputs[listing.param[k]]
        if code == CONSTANT:
            constant = listing.constant(k)
            found = captured.get(id(constant))
            return traced(self.trace, self.trace.operand(constant)) if found is None else found
        op = listing.op(k)
        assert op is not None
        numbers = tuple(self.rows[j]._row for j in listing.operands(k))
        row = self.trace.apply(op, numbers, listing.parameters(k))
        if k in listing.stopped:
            self.trace.stopped.add(row)
        if k in listing.released:
            self.trace.released.add(row)
        return traced(self.trace, row)

    def results(self, z: Traced) -> Any:
        """A record's result, or its several results, as a rule gets them."""
        value = self.trace.values[z._row]
        return tuple(traced(self.trace, k) for k in self.trace.outputs(z._row)) if isinstance(value, tuple) else z

    def finish(self, outputs: Sequence[Any]) -> Listing:
        """The new list with these outputs."""
        rows = [x._row if isinstance(x, Traced) else self.trace.operand(x) for x in outputs]
        self.trace.open = False
        return listing_of(self.trace, rows)


def adjoint_of(
    listing: Listing, captures: Sequence[Tensor], xs: Sequence[Any], wanted: Sequence[int], weights: dict[int, Any]
) -> tuple[Listing, tuple[int, ...]]:
    """(operands, adjoints of the outputs in `weights`) ↦ adjoints of the wanted operands; which these depend on."""
    again = Retraced(listing, captures, xs)
    adjoints: dict[int, Any] = {}
    for i, g in weights.items():
        row = again.rows[listing.outputs[i]]._row
        bar = again.input(g)
        adjoints[row] = adjoints[row] + bar if row in adjoints else bar
    targets = [again.inputs[i] for i in wanted]
    found: dict[int, Any] = {}
    if adjoints:
        runs = Runs(again.trace, {t._row for t in targets})
        check_not_released(again.trace, runs.targets, runs.consumed(adjoints))
        with again.trace.recording():
            found = propagate(runs, adjoints)
    reached = tuple([i for i, t in zip(wanted, targets) if t._row in found])
    return again.finish([found.get(t._row, np.zeros(t._spec.shape, t._spec.dtype)[()]) for t in targets]), reached


def tangent_of(
    listing: Listing, captures: Sequence[Tensor], count: int, xs: Sequence[Any], tangents: dict[int, Any]
) -> Listing:
    """(operands, tangents of some of them) ↦ tangents of the outputs."""
    again = Retraced(listing, captures, xs)
    dots: dict[int, Any] = {again.inputs[i]._row: again.input(t) for i, t in tangents.items()}
    with again.trace.recording(), again.at_lines():
        for k, z in enumerate(again.rows):
            if listing.code[k] >= 0 and k not in listing.stopped:
                again.trace.wengert.where = again.trace.line(z._row)
                _push(again, z, dots)
    rows = [again.rows[k] for k in listing.outputs[:count].tolist()]
    return again.finish([dots.get(z._row, np.zeros(z._spec.shape, z._spec.dtype)[()]) for z in rows])


def _push(again: Retraced, z: Traced, dots: dict[int, Any]) -> None:
    """Find the tangent of one record out of those of its operands."""
    op = OPS[again.trace.code(z._row)]
    numbers, params = again.trace.arguments(z._row)
    if op.name == "output":
        parts = dots.get(numbers[0])
        if parts is not None and parts[params["i"]] is not None:
            dots[z._row] = parts[params["i"]]
        return
    moving = [dots.get(x) if op.rule(i) and moves(again.trace.spec(x)) else None for i, x in enumerate(numbers)]
    if any(t is not None for t in moving):
        operands = [value_of(again.trace, x) for x in numbers]
        dots[z._row] = op.jvp(operands, moving, again.results(z), params)
