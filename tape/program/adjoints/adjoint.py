"""The adjoint of a list, appended to the list itself: reverse mode by the ops' own rules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

import ops
from ops.core.registry import OPS

from ...base.errors import unused_error
from ...base.spec import check_fits, implicit
from ...base.tensor import Tensor
from ...base.untraced import paused
from ...history.hooks import apply
from ...recording.laying import laid_as_target
from ...recording.level import Layer, live
from ..recorded.boxes import Region, region_of, shape_of
from ..recorded.large.later import Later, is_ordered
from ..recorded.outside import Outside, recorded_here, stand_in
from ..recorded.reach import check_not_released, require_history
from ..recorded.stretches import RECORDS
from ..recorded.trace import Trace, Untraceable
from ..recorded.trace_records import CODE, arguments_in
from ..recorded.traced import Traced, traced
from .adjoint_rounds import loops_of
from .pieces import Pieces
from .simple_runs import Runs
from .templates import contributions


def gradients(
    outputs: Sequence[Any], weights: Sequence[Any], inputs: Sequence[Any], retain: bool, create: bool, unused: bool
) -> list[Any]:
    """Σ ⟨weight, output⟩ differentiated with respect to the inputs, recorded on their list.

    They can be differentiated again if `create`.

    Raises:
        RuntimeError: for an input that no output depends on, unless `unused`; it gets None then.
    """
    trace = _trace_of((*outputs, *weights, *inputs))
    standing = [stand_in(live(z), trace) for z in outputs]
    roots = [(i, z, g) for i, (z, g) in enumerate(zip(standing, weights)) if isinstance(z, Traced)]
    adjoints: dict[int, Any] = {}
    for i, z, g in roots:
        _add(adjoints, z._row, _weight(z, g, i))
    targets = [x._row if isinstance(x, Traced) else trace.capture(x) for x in inputs]
    runs = Runs(trace, set(targets))
    _release(runs, [z._row for _, z, _ in roots], retain)
    with trace.ignoring():  # rules compute what a mask leaves out too; eager sweeps say nothing of it either
        found = propagate(runs, adjoints)
    results = []
    for i, (x, row) in enumerate(zip(inputs, targets)):
        if row not in found and not unused:
            raise unused_error(i, x._spec.shape)
        g = found.get(row)
        is_plain = x._spec.ndim < 2 and type(g) is Traced and is_ordered(trace.values[g._row])
        g = g if is_plain else laid_as_target(g, x)
        results.append(g if create else without_history(g))
    return results


def without_history(x: Any) -> Any:
    """A gradient through which nothing is differentiated, in all its layers."""
    x = live(x)
    if isinstance(x, Layer):
        return x.through(without_history)
    return x.detach() if isinstance(x, Traced) else x


def _trace_of(tensors: Iterable[Any]) -> Trace:
    """The trace that tensors, or what they stand for, are recorded on."""
    trace: Trace | None = (
        next((live(t)._trace for t in tensors if isinstance(live(t), Traced)), None) or recorded_here()
    )
    assert trace is not None
    return trace


def _check_histories(tensor: Traced, tensors: Iterable[Any]) -> None:
    """Leave outputs and inputs without a history to the tensors that refuse them."""
    trace = tensor._trace
    rows = [stand_in(x, trace)._row for x in tensors if isinstance(x, (Traced, Outside))]
    require_history(trace, rows, "a gradient was asked for")


def _release(runs: Runs, roots: list[int], retain: bool) -> None:
    """Leave what an earlier backward has released to the tensors that refuse it, and note what this one releases.

    Raises:
        Untraceable: if it needs what was released.
    """
    trace = runs.trace
    if retain and not trace.released:
        return
    used = runs.consumed(roots)
    try:
        check_not_released(trace, trace.sources(), used)
    except RuntimeError as error:
        raise Untraceable(str(error)) from None
    if not retain:
        trace.released.update(used)


def lifted(trace: Trace, g: Any) -> Any:
    """An adjoint as a tensor of the trace, or of a level within it: what depends on no input is a constant."""
    g = stand_in(live(g), trace) if isinstance(g, Tensor) else g
    if isinstance(g, (Traced, Layer)):
        return g
    value = np.array(g._data if isinstance(g, Tensor) else g)
    value.flags.writeable = False
    return traced(trace, trace.operand(value[()]))


def _weight(z: Traced, g: Any, i: int) -> Any:
    if g is None:
        return traced(z._trace, z._trace.operand(implicit(z._spec)))
    trace = z._trace
    if isinstance(g, Tensor):
        g = stand_in(live(g), trace)
        g = g if isinstance(g, (Traced, Layer)) else traced(trace, trace.operand(g))
    else:
        g = lifted(trace, g)
    check_fits(g._spec, z._spec, i)
    return g if g.dtype == z.dtype else ops.cast(g, dtype=z.dtype)


def propagate(runs: Runs, adjoints: dict[int, Any]) -> dict[int, Any]:
    """Adjoints of the targets, out of those of the outputs."""
    wengert = runs.trace.wengert
    before = wengert.where
    try:
        with paused():
            return _Sweep(runs, adjoints).run(max(adjoints), min(runs.targets))
    finally:
        wengert.where = before


class _Sweep:
    """A reverse sweep that is recorded: long runs of simple records at once, the others by their rules.

    Attributes:
        adjoints: by record, what has arrived so far: an array, or `Pieces` of one.
        found: the adjoints of the targets.
        layered: whether an adjoint belongs to a level within the trace.
        loops: the loops that it has not come to, and the one that it is in.
    """

    def __init__(self, runs: Runs, adjoints: dict[int, Any]):
        self.runs, self.trace, self.targets, self.adjoints = runs, runs.trace, runs.targets, adjoints
        self.found: dict[int, Any] = {}
        self.leads = runs.leading
        self.layered = any(isinstance(g, Layer) for g in adjoints.values())
        self.loops = loops_of(self) if runs.window.count >= RECORDS else []

    def run(self, last: int, first: int) -> dict[int, Any]:
        runs = {stop: start for start, stop in self.runs}
        stops = sorted(runs, reverse=True)
        row = last
        while row >= first:
            row = self.through(row)
            while stops and stops[0] > row + 1 and runs[stops[0]] > row:
                stops.pop(0)
            if stops and runs[stops[0]] <= row < stops[0] and not self.layered:
                start = max(runs[stops.pop(0)], 0)
                self.at_once(start, row + 1)
                row = start - 1
                continue
            self.one(row)
            row -= 1
        return self.found

    def through(self, row: int) -> int:
        """The row that it has come to, past the rounds of a loop that were like others."""
        while self.loops and row < self.loops[-1].start - 1:
            self.loops.pop()
        if self.loops and self.loops[-1].begins(row):
            return self.loops[-1].passed(row)
        return row

    def at_once(self, start: int, stop: int) -> None:
        """Go through the records in [start, stop), of which all that lead to a target are simple or read a block."""
        trace, runs = self.trace, self.runs
        for loop in self.loops:
            loop.states.clear()
        bars = {}
        for k in [k for k in self.adjoints if runs.first <= k < stop and trace.spec(k) is runs.spec]:
            if k >= start or not isinstance(self.adjoints[k], Pieces):
                bars[k] = lifted(trace, self.whole(k))._row
        for k, bar, is_done in runs.append(start, stop, bars):
            if k < start:
                self.add(k, traced(trace, bar))
            else:
                self.adjoints[k] = traced(trace, bar)
                self.one(k, ended=is_done)
        for k in [k for k in self.adjoints if k >= start]:  # inputs and constants
            self.one(k)

    def one(self, row: int, ended: bool = False) -> None:
        """Go through one record; only note what it gets, if its rules were run already."""
        if row not in self.leads or row not in self.adjoints:
            return
        trace = self.trace
        fields, trace.wengert.where = trace.record(row)
        if row in trace.hooks or row in self.targets:
            g = self.whole(row)
            if row in trace.hooks:
                g = apply(trace.hooks[row], g, trace.spec(row))
            if row in self.targets:
                self.found[row] = g
            self.adjoints[row] = g
        if ended:
            del self.adjoints[row]
        elif not self.moved(row, fields):
            for operand, bar in self.contributions(row, fields, self.whole(row)):
                self.add(operand, bar)

    def contributions(self, row: int, fields: Sequence[Any], g: Any) -> list[tuple[int, Any]]:
        """What a record adds to the adjoints of its operands."""
        trace = self.trace
        operands, params = arguments_in(fields)
        if not operands or row in trace.stopped:
            return []
        leads = tuple([k in self.leads for k in operands])
        return contributions(trace, row, OPS[fields[CODE]], operands, params, g, leads, _by_rules)

    def add(self, row: int, g: Any) -> None:
        """Add to the adjoint of a record."""
        known = self.adjoints.get(row)
        self.layered = self.layered or isinstance(g, Layer)
        if isinstance(known, Pieces):
            known.add(known.full, g)
        else:
            self.adjoints[row] = g if known is None else self.sum(known, g)

    def sum(self, x: Any, y: Any) -> Any:
        """The sum of two adjoints; between records of one spec nothing is to be found out before it is computed."""
        if type(x) is not Traced or type(y) is not Traced or x._spec is not y._spec:
            return x + y
        trace, shape = self.trace, x._spec
        u, v = trace.values[x._row], trace.values[y._row]
        if shape.narrow or not shape.inexact or (type(u) is not Later and type(v) is not Later):
            return x + y
        z = Later(shape, None, is_ordered(u) and is_ordered(v))
        return traced(trace, trace.append_op(ops.add, (x._row, y._row), {}, z))

    def whole(self, row: int) -> Any:
        """Take out the adjoint of a record, as one array."""
        g = self.adjoints.pop(row)
        return self.joined(g.total(), g.shape, g.dtype) if isinstance(g, Pieces) else g

    def joined(self, g: Any, shape: tuple[int, ...], dtype: Any) -> Any:
        """What pieces give: zeros where there are none."""
        return lifted(self.trace, np.zeros(shape, dtype)) if g is None else g

    def pieces(self, row: int) -> Pieces:
        """The adjoint of a record, in pieces from now on."""
        known = self.adjoints.get(row)
        if not isinstance(known, Pieces):
            spec = self.trace.spec(row)
            assert spec is not None
            known, g = Pieces(spec.shape, spec.dtype), known
            if g is not None:
                known.add(known.full, g)
            self.adjoints[row] = known
        return known

    def moved(self, row: int, fields: Sequence[Any]) -> bool:
        """Whether a record only moves parts of its adjoint, which then were added where they belong."""
        trace, code = self.trace, fields[CODE]
        if code < 0 or OPS[code].hints.part is None or row in trace.stopped:
            return False
        operands, params = arguments_in(fields)
        indices, spec = OPS[code].part_of(params), trace.spec(operands[0])
        if indices is None or spec is None:
            return False
        region = region_of(indices, spec.shape)
        if len(operands) == 1:
            if len(indices) == 1 and isinstance(indices[0], tuple) and self.widened(row, indices[0], spec.shape):
                return True
            return self.read(row, operands[0], indices, region)
        return region is not None and self.written(row, operands, region)

    def widened(self, row: int, index: tuple[Any, ...], shape: tuple[int, ...]) -> bool:
        """Whether a record only adds axes of length 1 to an array, so that its adjoint has the same elements."""
        kept = [part for part in index if part is not None]
        if len(kept) == len(index) or any(type(part) is not slice or part != slice(None) for part in kept):
            return False
        (operand,), _ = self.trace.arguments(row)
        g = self.whole(row)
        if operand in self.leads:
            self.add(operand, ops.reshape(g, shape=shape))
        return True

    def read(self, row: int, operand: int, indices: tuple[Any, ...], region: Region | None) -> bool:
        """Add the adjoint of a part to that of the array that it was read from."""
        g = self.adjoints[row]
        if operand not in self.leads:
            del self.adjoints[row]
            return True
        if region is None:
            if len(indices) == 1:
                self.pieces(operand).add_at(indices[0], self.whole(row))
            return len(indices) == 1
        parts = g.within(region) if isinstance(g, Pieces) else None
        target = self.pieces(operand)
        if parts is None:
            target.add(region, self.whole(row))
            return True
        del self.adjoints[row]
        for part, piece in parts:
            target.add(part, piece)
        return True

    def written(self, row: int, operands: Sequence[int], region: Region) -> bool:
        """Part the adjoint of an array into that of what was put into a region of it and that of the rest."""
        trace, (x, y) = self.trace, operands
        spec, given = trace.spec(x), trace.spec(y)
        g = self.pieces(row)
        if spec is not trace.spec(row) or given is None or g.is_large(region):
            return False
        del self.adjoints[row]
        bar = g.take(region, y in self.leads, x in self.leads)
        if y in self.leads:
            bar = self.joined(bar, shape_of(region), g.dtype)
            bar = bar if bar.shape == given.shape else ops.sum_to(bar, shape=given.shape)
            self.add(y, bar if bar.dtype == given.dtype else ops.cast(bar, dtype=given.dtype))
        if x in self.leads:
            self.merge(x, g)
        return True

    def merge(self, row: int, g: Pieces) -> None:
        """Add pieces to the adjoint of a record; the fewer ones move."""
        if row not in self.adjoints:
            self.adjoints[row] = g
            return
        known = self.pieces(row)
        few, many = sorted((known, g), key=len)
        many.absorb(few)
        self.adjoints[row] = many


def _by_rules(trace: Trace, row: int, g: Any, positions: tuple[int, ...]) -> list[tuple[int, Any]]:
    """What a record adds to the adjoints of its operands at some positions, by the rules of its op."""
    operands, params = trace.arguments(row)
    op = OPS[trace.code(row)]
    values = tuple(value_of(trace, k) for k in operands)
    z: Any = traced(trace, row)
    if op.outputs != 1:
        z = tuple(traced(trace, k) for k in trace.outputs(row))
    specs = {i: trace.spec(operands[i]) for i in positions}
    found = op.contributions(positions, g, values, z, params, specs, getattr(z, "dtype", None))
    return [(operands[i], bar) for i, bar in found]


def value_of(trace: Trace, row: int) -> Any:
    """An operand as a rule gets it: a plain number as that, else a tensor of the record."""
    if trace.is_number(row):
        return trace.values[row]
    return traced(trace, row)


def _add(adjoints: dict[int, Any], row: int, g: Any) -> None:
    adjoints[row] = adjoints[row] + g if row in adjoints else g


Traced._differentiate = classmethod(  # type: ignore[assignment]
    lambda cls, reverse, *how: gradients(*how)
)


def _of_what_it_stands_for(self: Outside) -> Any:
    """How a tensor is differentiated that stands for a record, such as a buffer that the function has filled."""
    return None if self._own() is None else Traced._differentiate


Outside._differentiate = property(_of_what_it_stands_for)  # type: ignore[assignment]
Traced._check_histories = _check_histories  # type: ignore[method-assign,assignment]
