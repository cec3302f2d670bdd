"""A row of the Wengert list: its fields, and what they say of a record.

X and Y hold operands: a handle, a leaf tensor, or None.  XV, YV and ZV hold the values of the
operands and of the result where a rule needs them.  A record whose op does not have one or two
operands holds tuples in X and XV; that of a custom function has in XV what the function saved.
PARAMS is None, a tuple in the order of ``op.params``, or the float that stands for the plain
number among two operands.
"""

from __future__ import annotations

from typing import Any

from ops import Op
from ops.core.registry import OPS

from .tensor import Tensor

HANDLE, OP, X, Y, XV, YV, ZV, PARAMS, SPEC, CODE, LASTI = range(11)
WIDTH = 11


def operands(x: Any, y: Any) -> tuple[Any, ...]:
    """The operands in the fields X and Y of a row."""
    return x if type(x) is tuple else (x, y)


def op_of(row: list[Any]) -> Op:
    """The op of a record."""
    return OPS[row[OP]]


def name_of(row: list[Any]) -> str:
    """What to call a record's operation in a message."""
    op, _, _, params = arguments(row)
    return op.title(params)


def arguments(row: list[Any]) -> tuple[Op, tuple[Any, ...], tuple[Any, ...], dict[str, Any]]:
    """Op, operands, operand values and parameters of a record."""
    op, params = OPS[row[OP]], row[PARAMS]
    number = params if type(params) is float else None
    if type(row[X]) is tuple:
        refs, values = row[X], row[XV] or (None,) * len(row[X])
    elif op.arity == 1:
        refs, values = (row[X],), (row[XV],)
    else:
        refs = row[X], row[Y]
        values = tuple(number if ref is None and v is None else v for ref, v in zip(refs, (row[XV], row[YV])))
    named = {} if params is None or number is not None else dict(zip(op.params, params))
    return op, refs, values, named


def operand_count(row: list[Any]) -> int:
    """Number of operands of a record."""
    return len(arguments(row)[1])


def key(ref: Any) -> int:
    """Key of an operand among adjoints: a handle, or the (negative) identity of a leaf."""
    return -id(ref) if isinstance(ref, Tensor) else ref
