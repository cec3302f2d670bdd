"""A Wengert list to read: one line for each record."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...base.location import Location, cell_of
from ...base.spec import Spec
from ...base.tensor import Tensor
from ..plans.groups import Group, Step
from ..recorded.guards import Guard
from ..recorded.listing import Listing
from ..recorded.trace import CONSTANT, INPUT, NUMBERS

SIGNS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "matmul": "@",
    "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=", "and": "&", "or": "|", "xor": "^",
    "lshift": "<<", "rshift": ">>", "neg": "-", "pos": "+", "invert": "~",
}  # fmt: skip
"""How Python writes the operators; an op says which of them it is."""
SHORT = 40


class TextLine(NamedTuple):
    """One record: ``v12``, ``v3 * v7``, ``float64[3]``, ``model.py:14``, ``kernel 2``."""

    name: str
    text: str
    spec: str
    where: str
    step: str


def program_text(listing: Listing, title: str, names: Sequence[str], steps: Sequence[Step] | None, most: int) -> str:
    """The whole list.

    Args:
        listing: what is shown.
        title: the first line.
        names: what the inputs are called.
        steps: what the records run in, if that is to be shown.
        most: the number of records to show; of a longer list the middle is left out.
    """
    shown, left_out = middle_out(len(listing), most)
    where = {} if steps is None else step_names(steps)
    lines = [line_of(listing, k, names, where) for k in shown]
    rows = aligned([(f"{x.name} = {x.text}", x.spec, x.where, x.step) for x in lines])
    if left_out:
        rows.insert(len(shown) // 2, f"… {left_out} more records …")
    return "\n".join([title, *rows, *closing(listing)])


def middle_out(n: int, most: int) -> tuple[list[int], int]:
    """Positions of the first and the last records, and how many there are between them."""
    if n <= most:
        return list(range(n)), 0
    half = max(most // 2, 1)
    return [*range(half), *range(n - half, n)], n - 2 * half


def closing(listing: Listing) -> Iterator[str]:
    """What the list gives, and what has to hold."""
    count = listing.results
    yield "return " + (", ".join(f"v{k}" for k in listing.outputs[:count].tolist()) or "nothing")
    for guard, k in zip(listing.guards, listing.outputs[count:].tolist()):
        yield guard_text(guard, k)
    watched = listing.outputs[len(listing.outputs) - listing.watched :].tolist()
    if watched:
        yield "for floating-point errors alone: " + ", ".join(f"v{k}" for k in watched)


def guard_text(guard: Guard, k: int) -> str:
    """A guard: how Python asked, of which record, and what it was told."""
    return f"guard: {guard.what} of v{k} gives {short(guard.seen)}  {place(guard.location)}"


def place(location: Location | None) -> str:
    """File and line, without the folders; the cell of a notebook for the file that it is compiled from."""
    return "" if location is None else f"{cell_of(location.file) or os.path.basename(location.file)}:{location.line}"


def line_of(listing: Listing, k: int, names: Sequence[str], steps: dict[int, str]) -> TextLine:
    """What there is to say of one record."""
    spec = listing.spec_of(k)
    where = place(listing.location(k) if listing.code[k] != INPUT else None)
    return TextLine(f"v{k}", record_text(listing, k, names), spec_text(spec), where, steps.get(k, ""))


def spec_text(spec: Spec | None) -> str:
    """Shape and dtype, as ``float64[3]`` or, for a number, ``float64``."""
    return "several" if spec is None else repr(spec).removesuffix("[]")


def record_text(listing: Listing, k: int, names: Sequence[str] = (), inline: bool = False) -> str:
    """What a record computes: infix for what is an operator, else the op's name with operands and parameters.

    Args:
        inline: whether plain numbers among the operands are written rather than named.
    """
    if listing.code[k] == INPUT:
        number = int(listing.param[k])
        return names[number] if number < len(names) else f"input {number}"
    if listing.code[k] == CONSTANT:
        return constant_text(listing.constant(k))
    op = listing.op(k)
    assert op is not None
    operands = [repr(listing.constant(j)) if inline and listing.is_number(j) else f"v{j}" for j in listing.operands(k)]
    params = {n: v for n, v in listing.parameters(k).items() if not _is_default(op.params.get(n), v)}
    if params.keys() == {"index"} and len(operands) == 1 and op.name in ("select", "getitem"):
        return f"{operands[0]}[{index_text(params['index'])}]"
    sign = SIGNS.get(op.symbol or "")
    if sign and not params:
        return f"{sign}{operands[0]}" if len(operands) == 1 else f" {sign} ".join(operands)
    return f"{op.name}({', '.join([*operands, *(f'{n}={short(v)}' for n, v in params.items())])})"


def _is_default(default: Any, value: Any) -> bool:
    comparable = type(default) is type(value) and type(value) in (bool, int, float, str, tuple)
    return default is value or (comparable and default == value)


def constant_text(constant: Any) -> str:
    """What a constant row stands for."""
    if type(constant) in NUMBERS:
        return repr(constant)
    if isinstance(constant, Tensor):
        return f"captured tensor {short(np.asarray(constant._data))}"
    return short(constant)


def index_text(index: Any) -> str:
    """An index as Python writes it."""
    if isinstance(index, tuple) and index:
        return ", ".join(map(index_text, index)) + ("," if len(index) == 1 else "")
    if isinstance(index, slice):
        ends = ["" if x is None else short(x) for x in (index.start, index.stop, index.step)]
        return ":".join(ends if ends[2] else ends[:2])
    return "..." if index is ... else short(index)


def short(value: Any) -> str:
    """A value in few words."""
    if isinstance(value, np.ndarray) and value.ndim:
        if value.size > 6:
            return f"array of shape {value.shape}"
        return " ".join(np.array2string(value, precision=4, separator=", ").split())
    if isinstance(value, (np.ndarray, np.generic)):
        return repr(value.item())
    text = repr(value)
    return text if len(text) <= SHORT else text[: SHORT - 1] + "…"


def step_names(steps: Sequence[Step]) -> dict[int, str]:
    """By record, the kernel that computes it."""
    names: dict[int, str] = {}
    kernels = 0
    for step in steps:
        if isinstance(step, Group):
            rows = [*step.rows.tolist(), *(t.row for t in step.targets)]
            names.update(dict.fromkeys(rows, f"kernel {kernels}"))
            kernels += 1
        else:
            names[step.row] = "NumPy"
    return names


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows of a table with the columns under each other."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
