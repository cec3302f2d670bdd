"""Whether a list that somebody else made is one: kernels trust what a list says of memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ops import Op
from ops.core.lane import Same

from ...base.rooms import opened
from ...base.spec import Spec, spec_of
from ..capture.results import OutputPlace, Results
from ..recorded.listing import Listing
from ..recorded.trace import CONSTANT, INPUT, spec_for


class Unsound(ValueError):
    """A list that no recording gives."""


def demand(truth: Any, what: str) -> None:
    """Raise unless something is so."""
    if not truth:
        raise Unsound(what)


def check(listing: Listing, results: Results | None) -> None:
    """Raise `Unsound` unless a list is in order: positions, operands, parameters, shapes that kernels rely on."""
    _check_positions(listing)
    _check_records(listing)
    _check_guards(listing)
    if results is not None:
        numbers = {x.number for x in results.leaves if isinstance(x, OutputPlace)}
        count = listing.results
        demand(results.count == count and numbers == set(range(count)), "the results are not the outputs")
        shapes = [spec.shape if spec else () for spec in map(listing.spec_of, listing.outputs.tolist())]
        fits = all(k < count and len(steps) == len(shapes[k]) for k, steps in results.layouts)
        demand(fits, "a result lies otherwise than an array of its shape can")
    _check_specs(listing)


def _within(values: np.ndarray, low: int, high: int) -> bool:
    return not len(values) or (int(values.min()) >= low and int(values.max()) < high)


def _check_positions(listing: Listing) -> None:
    """Every number in the columns is within its bounds, and operands come first."""
    n, x = len(listing), listing
    columns = x.code, x.param, x.spec, x.line
    demand(all(c.dtype == np.int64 and c.shape == (n,) for c in columns), "columns are of different lengths")
    demand(x.first.shape == (n + 1,) and x.first[0] == 0 and x.first[-1] == len(x.args), "operands are missing")
    counts = np.diff(x.first)
    demand(_within(counts, 0, len(x.args) + 1), "a record has less than no operands")
    owner = np.repeat(np.arange(n), counts)
    demand(np.all((x.args >= 0) & (x.args < owner)), "an operand does not come before its record")
    demand(_within(x.spec, -1, len(x.specs)) and _within(x.line, -1, len(x.lines)), "a spec or a line is missing")
    demand(_within(x.outputs, 0, n), "an output is missing")
    marked = np.array([*x.stopped, *x.released], dtype=np.int64)
    demand(_within(marked, 0, n), "a stopped or released record is missing")
    given, constant, made = x.code == INPUT, x.code == CONSTANT, x.code >= 0
    demand(np.all(given | constant | made), "an unknown kind of record")
    demand(not counts[~made].any() and np.all(x.spec[~made] >= 0), "an input or constant has operands, or no spec")
    numbers = np.sort(x.param[given])
    demand(len(numbers) == x.inputs and np.all(numbers == np.arange(len(numbers))), "the inputs are not numbered")
    demand(_within(x.param[constant], 0, len(x.constants)), "a constant is missing")
    demand(_within(x.param[made], -1, len(x.params)), "parameters are missing")


def _check_records(listing: Listing) -> None:
    """Each op has as many operands as it takes, parameters of its own, and one spec if it has one result."""
    x, counts = listing, np.diff(listing.first)
    several = x.spec < 0
    reads_several = np.zeros(len(x), dtype=np.bool_)
    owner = np.repeat(np.arange(len(x)), counts)
    reads_several[owner[several[x.args]]] = True
    for code in np.unique(x.code[x.code >= 0]).tolist():
        here = x.code == code
        op = x.op(int(np.flatnonzero(here)[0]))
        assert op is not None
        demand(op.kind != "composite", f"{op.name} is made of other ops, and is none itself")
        demand(op.variadic or np.all(counts[here] == op.arity), f"{op.name} takes {op.arity} operands")
        demand(np.all(several[here] == (op.outputs != 1)), f"{op.name} gives another number of results")
        demand(np.all(reads_several[here] == (op.name == "output")), "several results are read by other than `output`")
        for p in np.unique(x.param[here]).tolist():
            named = x.params[p] if p >= 0 else {}
            demand(type(named) is dict and named.keys() <= op.params.keys(), f"{op.name} has no such parameters")


def _check_guards(listing: Listing) -> None:
    rows = [g.row for g in listing.guards]
    demand(len(rows) <= len(listing.outputs), "a guard looks at nothing")
    demand(all(type(row) is int for row in rows), "a guard looks at no record")
    demand(rows == listing.outputs[len(listing.outputs) - len(rows) :].tolist(), "the guards are not the last outputs")


def _check_specs(listing: Listing) -> None:
    """Shape and dtype of what a kernel may compute, and of the inputs of one, are right."""
    for k in np.flatnonzero(listing.code == CONSTANT).tolist():
        demand(listing.spec_of(k) is spec_for(listing.constant(k)), "a constant is not what its spec says")
    lines = opened("tape.jit.emission.lines")
    for code in np.unique(listing.code[listing.code >= 0]).tolist():
        rows = np.flatnonzero(listing.code == code)
        op = listing.op(int(rows[0]))
        assert op is not None
        if isinstance(op.lane, Same):
            for k in rows.tolist():
                _check_repeated(listing, op, k)
        elif op.kind == "elementwise" or lines.has_lane(op) or lines.keeps_numbers(op):
            _check_elementwise(listing, op, rows)
        elif op.hints.motion == "block" or op.name == "stack":
            for k in rows.tolist():
                _check_parts(listing, op, k)


def _check_elementwise(listing: Listing, op: Op, rows: np.ndarray) -> None:
    """One check for all records whose operands and result are of the same kinds."""
    first = listing.first[rows][:, None] + np.arange(op.arity)
    operands = listing.args[first]
    own = np.stack([listing.spec[rows], listing.param[rows]], axis=1)
    kinds = np.concatenate([listing.spec[operands], _numbers(listing)[operands], own], axis=1)
    _, where = np.unique(kinds, axis=0, return_index=True)
    for k in rows[where].tolist():
        xs = listing.operands(k)
        found, specs = specs_of(listing, k)
        plain = [type(listing.constant(j)) if listing.is_number(j) else None for j in xs]
        shape = np.broadcast_shapes(*(s.shape for s in specs))
        dtype = _dtype(op, [s.dtype for s in specs], plain, listing.parameters(k))
        demand(found.shape == shape and found.dtype == dtype, f"{op.name} does not give {found}")


def specs_of(listing: Listing, k: int) -> tuple[Spec, list[Spec]]:
    """The spec of a record, and those of its operands."""
    found = listing.spec_of(k)
    operands = [s for s in map(listing.spec_of, listing.operands(k)) if s is not None]
    if found is None or len(operands) != len(listing.operands(k)):
        raise Unsound("several results where there should be one")
    return found, operands


def _numbers(listing: Listing) -> np.ndarray:
    """By record, which type of plain number it stands for."""
    found = np.zeros(len(listing), dtype=np.int64)
    for k in np.flatnonzero(listing.code == CONSTANT).tolist():
        if listing.is_number(k):
            found[k] = 1 + (bool, int, float, complex).index(type(listing.constant(k)))
    return found


def _dtype(op: Op, dtypes: Sequence[Any], plain: Sequence[Any], params: dict[str, Any]) -> np.dtype[Any]:
    """The dtype that an elementwise op gives for operands of some, found by applying it to ones."""
    xs = [number(1) if number else np.ones(1, dtype) for number, dtype in zip(plain, dtypes)]
    with np.errstate(all="ignore"):
        return spec_of(np.asarray(op.forward(*xs, **params))).dtype


def _check_repeated(listing: Listing, op: Op, k: int) -> None:
    """What is repeated has the shape that it is said to have, which the operand's broadcasts to."""
    found, (x,) = specs_of(listing, k)
    given = listing.parameters(k)["shape"]
    shape = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    fits = np.broadcast_shapes(x.shape, shape) == shape == found.shape
    demand(fits and x.dtype == found.dtype, f"{op.name} does not give {found}")


def _check_parts(listing: Listing, op: Op, k: int) -> None:
    """A block of an array is in it; what is stacked goes into the stack."""
    found, parts = specs_of(listing, k)
    if op.name == "stack":
        demand(found.size == sum(s.size for s in parts), f"stack does not give {found}")
        return
    (whole,), index = parts, listing.parameters(k).get("index")
    demand(whole.shape and isinstance(index, (int, np.integer)) and not isinstance(index, bool), "a block of nothing")
    n = whole.shape[0]
    demand(-n <= index < n, f"{index} is no place in {whole}")  # type: ignore[operator]
    demand(found.shape == whole.shape[1:] and found.dtype == whole.dtype, f"{op.name} does not give {found}")
