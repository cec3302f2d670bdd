"""The adjoint of a list, appended to the list itself: reverse mode by the ops' own rules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

import ops
from ops import REGISTRY

from ..errors import unused_error
from ..hooks import apply
from ..level import Layer, live
from ..tensor import Tensor
from .reach import check_not_released, consumed, has_history
from .runs import Runs
from .trace import OPS, Trace, Untraceable
from .traced import Traced, output, traced


def gradients(
    outputs: Sequence[Any], weights: Sequence[Any], inputs: Sequence[Any], retain: bool, create: bool, unused: bool
) -> list[Any]:
    """Σ ⟨weight, output⟩ differentiated with respect to the inputs, recorded on their list.

    They can be differentiated again if `create`.

    Raises:
        RuntimeError: for an input that no output depends on, unless `unused`; it gets None then.
    """
    pairs = [(live(z), g) for z, g in zip(outputs, weights) if isinstance(live(z), Traced)]
    trace = pairs[0][0]._trace
    adjoints: dict[int, Any] = {}
    for z, g in pairs:
        _add(adjoints, z._row, _weight(z, g))
    targets = [x._row if isinstance(x, Traced) else trace.capture(x) for x in inputs]
    runs = Runs(trace, set(targets))
    _release(runs, [z._row for z, _ in pairs], retain)
    found = propagate(runs, adjoints)
    results = []
    for i, (x, row) in enumerate(zip(inputs, targets)):
        if row not in found and not unused:
            raise unused_error(i, x._spec.shape)
        bar = found.get(row)
        results.append(bar if create or not isinstance(bar, Traced) else bar.detach())
    return results


def _check_histories(tensor: Traced, tensors: Iterable[Any]) -> None:
    """Leave outputs and inputs without a history to the tensors that refuse them.

    Raises:
        Untraceable: if there is one.
    """
    if not has_history(tensor._trace)[[x._row for x in tensors if isinstance(x, Traced)]].all():
        raise Untraceable("a gradient of, or with respect to, something without history was asked for")


def _release(runs: Runs, roots: list[int], retain: bool) -> None:
    """Leave what an earlier backward has released to the tensors that refuse it, and note what this one releases.

    Raises:
        Untraceable: if it needs what was released.
    """
    trace, listing = runs.trace, runs.list
    if retain and not trace.released:
        return
    used = consumed(listing, runs.leads, roots)
    if trace.released:
        try:
            check_not_released(listing, has_history(trace), used)
        except RuntimeError as error:
            raise Untraceable(str(error)) from None
    if not retain:
        trace.released.update(used.tolist())


def lifted(trace: Trace, g: Any) -> Any:
    """An adjoint as a tensor of the trace, or of a level within it: what depends on no input is a constant."""
    if isinstance(g, (Traced, Layer)):
        return g
    value = np.array(g._data if isinstance(g, Tensor) else g)
    value.flags.writeable = False
    return traced(trace, trace.operand(value[()]))


def _weight(z: Traced, g: Any) -> Any:
    if g is not None:
        g = lifted(z._trace, g)
        return g if g.dtype == z.dtype else ops.cast(g, dtype=z.dtype)
    if z._spec.size != 1:
        raise RuntimeError(
            f"a gradient can be created implicitly only for an output of one element; this one has shape {z.shape}.\n"
            "Reduce it first (for example .sum()), or pass grad_outputs= of that shape."
        )
    return traced(z._trace, z._trace.operand(np.ones(z._spec.shape, z._spec.dtype)[()]))


def propagate(runs: Runs, adjoints: dict[int, Any]) -> dict[int, Any]:
    """Adjoints of the targets, out of those of the outputs."""
    wengert = runs.trace.wengert
    before = wengert.where
    try:
        return _Sweep(runs, adjoints).run(max(adjoints), min(runs.targets))
    finally:
        wengert.where = before


class _Sweep:
    """A reverse sweep that is recorded: long runs of simple records at once, the others by their rules.

    Attributes:
        adjoints: by record, what has arrived so far.
        parts: by record, what has arrived at its blocks.
        found: the adjoints of the targets.
    """

    def __init__(self, runs: Runs, adjoints: dict[int, Any]):
        self.runs, self.trace, self.targets, self.adjoints = runs, runs.trace, runs.targets, adjoints
        self.parts: dict[int, dict[int, Any]] = {}
        self.found: dict[int, Any] = {}
        self.leads = set(np.flatnonzero(runs.leads).tolist())

    def run(self, last: int, first: int) -> dict[int, Any]:
        runs = {stop: start for start, stop in self.runs}
        stops = sorted(runs, reverse=True)
        row = last
        while row >= first:
            while stops and stops[0] > row + 1 and runs[stops[0]] > row:
                stops.pop(0)
            if stops and runs[stops[0]] <= row < stops[0] and not any(map(is_layer, self.adjoints.values())):
                start = max(runs[stops.pop(0)], 0)
                self.at_once(start, row + 1)
                row = start - 1
                continue
            self.one(row)
            row -= 1
        return self.found

    def at_once(self, start: int, stop: int) -> None:
        """Go through the records in [start, stop), of which all that lead to a target are simple or read a block."""
        trace, runs = self.trace, self.runs
        bars = np.full(len(trace), -1, dtype=np.int64)
        for k in [k for k in self.adjoints if k < stop and self.adjoints[k]._spec is runs.spec]:
            bars[k] = lifted(trace, self.adjoints.pop(k))._row
        runs.append(start, stop, bars)
        for k in np.flatnonzero((bars[:stop] >= 0) & runs.leads[:stop]).tolist():
            if k < start:
                self.adjoints[k] = traced(trace, int(bars[k]))
            elif k in self.targets or not runs.simple[k]:
                self.adjoints[k] = traced(trace, int(bars[k]))
                self.one(k, ended=bool(runs.simple[k]))
        for k in [k for k in (*self.adjoints, *self.parts) if k >= start]:  # inputs and constants
            self.one(k)

    def one(self, row: int, ended: bool = False) -> None:
        """Go through one record; only note what it gets, if its rules were run already."""
        if row not in self.leads or not (row in self.adjoints or row in self.parts):
            return
        trace = self.trace
        trace.wengert.where = trace.line(row)
        if row in self.parts:
            _add(self.adjoints, row, _assembled(trace, row, self.parts.pop(row)))
        g = self.adjoints.pop(row)
        if row in trace.hooks:
            g = apply(trace.hooks[row], g, trace.spec(row))
        if row in self.targets:
            self.found[row] = g
        if ended:
            return
        block = _block(trace, row)
        if block is None:
            for operand, bar in _contributions(trace, row, g, self.leads):
                _add(self.adjoints, operand, bar)
        elif block[0] in self.leads:
            _add(self.parts.setdefault(block[0], {}), block[1], g)


def _block(trace: Trace, row: int) -> tuple[int, int] | None:
    """Operand and index of a record that reads one block of an array: the adjoints of all are put together at once."""
    code = trace.code(row)
    if code < 0 or OPS[code].motion != "block" or row in trace.stopped:
        return None
    (operand,), params = trace.arguments(row)
    spec = trace.spec(operand)
    assert spec is not None
    return operand, params["index"] % spec.shape[0]


def _assembled(trace: Trace, row: int, parts: dict[int, Any]) -> Any:
    """The adjoint of an array, out of those of some of its blocks."""
    spec = trace.spec(row)
    assert spec is not None
    n = spec.shape[0]
    if 4 * len(parts) >= n:
        zero = np.zeros(spec.shape[1:], spec.dtype)[()]
        return ops.stack(*(parts.get(i, zero) for i in range(n)), axis=0)
    bars = [ops.scatter(g, index=i, shape=spec.shape) for i, g in parts.items()]
    total = bars[0]
    for bar in bars[1:]:
        total = total + bar
    return total


def _contributions(trace: Trace, row: int, g: Any, leads: set[int]) -> list[tuple[int, Any]]:
    """What a record adds to the adjoints of its operands."""
    operands, params = trace.arguments(row)
    if not operands or row in trace.stopped:
        return []
    op = OPS[trace.code(row)]
    values = tuple(value_of(trace, k) for k in operands)
    z: Any = traced(trace, row)
    if op.outputs != 1:
        z = tuple(output(trace, row, i) for i in range(len(trace.values[row])))
    if op.kind == "elementwise":
        values = op.promoted(values, z.dtype)
    env = op.environment(values, z, params)
    positions = tuple(i for i, k in enumerate(operands) if k in leads and op.rule(i))
    bars = op.vjps(positions, g, env) if op.joint is not None and positions else None
    given = []
    for i in positions:
        spec = trace.spec(operands[i])
        if spec is None:
            given.append((operands[i], op.vjp(i, g, env, ())))
            continue
        bar = bars[i] if bars is not None else op.vjp(i, g, env, spec.shape, spec.dtype)
        if bar is not None:
            given.append((operands[i], bar if bar.dtype == spec.dtype else REGISTRY["cast"](bar, dtype=spec.dtype)))
    return given


def value_of(trace: Trace, row: int) -> Any:
    """An operand as a rule gets it: a plain number as that, else a tensor of the record."""
    if trace.is_number(row):
        return trace.values[row]
    return traced(trace, row)


def is_layer(g: Any) -> bool:
    """Whether an adjoint belongs to a level within the trace."""
    return isinstance(g, Layer)


def _add(adjoints: dict[int, Any], row: int, g: Any) -> None:
    adjoints[row] = adjoints[row] + g if row in adjoints else g


Traced.__differentiate__ = classmethod(  # type: ignore[attr-defined]
    lambda cls, reverse, *how: gradients(*how)
)
Traced.__histories__ = _check_histories  # type: ignore[attr-defined]
