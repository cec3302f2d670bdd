"""The values of a record as its rules get them where these are no plain arrays of 32 bits or more.

Those that hooks have put elsewhere are fetched, those of a rule that is recorded have their place in the history, and
those of 16 bits are widened.  Sweeps come here only then.
"""

from __future__ import annotations

import sys
from typing import Any

from ops import REGISTRY, Op
from ops.core.bundle import Bundle

from ..base.dtypes import float32, is_narrow
from ..base.row import CODE, HANDLE, LASTI, SPEC
from ..base.tensor import Tensor
from ..recording.packing import Packed, opened
from ..recording.recorder import output, user_frame, wrap
from ..recording.wengert import current

CLONE = REGISTRY["clone"]


def widened(x: Any) -> Any:
    """Numbers of 16 bits in 32, so that a rule rounds once, at its end; others as they are.

    Tensors stay in the history, and the adjoints of several results stay together.
    """
    if isinstance(x, Bundle):
        return Bundle({i: widened(part) for i, part in x.parts.items()})
    if isinstance(x, tuple):
        return tuple(map(widened, x))
    dtype = getattr(x, "dtype", None)
    return REGISTRY["cast"](x, dtype=float32) if dtype is not None and is_narrow(dtype) else x


def _results(row: list[Any], z: tuple[Any, ...]) -> tuple[Tensor | None, ...]:
    """The results of an op with several that were saved, as tensors with their place in the history."""
    code, lasti = row[CODE], row[LASTI]
    return tuple([None if v is None else output(current(), row[HANDLE], i, v, code, lasti) for i, v in enumerate(z)])


def opened_for(
    op: Op, needs: set[str], refs: tuple[Any, ...], values: tuple[Any, ...], z: Any, record: bool
) -> tuple[tuple[Any, ...], Any]:
    """The values of a record with those that the rules need got back from where hooks have put them."""
    needed = ["xs" in needs] * len(values) if op.variadic else [name in needs for name in op.operands]
    opening = list(zip(needed, values))
    if op.arity == 2:  # got back in the order in which they were put away
        opening.reverse()
    values = tuple([v.open() if n and type(v) is Packed else v for n, v in opening])
    values = values[::-1] if op.arity == 2 else values
    if record:  # what a hook gives back for a leaf is not the leaf
        ours = [n and isinstance(ref, Tensor) for n, ref in zip(needed, refs)]
        values = tuple([at_leaf(ref, v) if mine else v for mine, ref, v in zip(ours, refs, values)])
    return values, opened(z) if "z" in needs else None


def at_leaf(leaf: Tensor, value: Any) -> Tensor:
    """A tensor of any value whose gradient is the leaf's."""
    wengert = current()
    handle = wengert.next()
    where = wengert.where or user_frame(sys._getframe(1))
    wengert.extend((handle, CLONE.code, leaf, None, None, None, None, None, leaf._spec, *where))
    return wrap(value, handle, leaf._spec)


def rebuilt(op: Op, refs: tuple[Any, ...], values: tuple[Any, ...], z: Any, row: list[Any]) -> tuple[Any, Any]:
    """The values of a record, operands and result, as tensors with their place in the history."""
    if op.joint is None or not {"xs", *op.operands}.isdisjoint(op.joint.names):
        values = tuple(_rebuild(ref, v) for ref, v in zip(refs, values))
    if z is not None:
        z = wrap(z, row[HANDLE], row[SPEC]) if op.outputs == 1 else _results(row, z)
    return values, z


def _rebuild(ref: Any, value: Any) -> Any:
    """An operand as a tensor with its place in the history."""
    if value is None or ref is None or isinstance(value, Tensor):
        return value
    return ref if isinstance(ref, Tensor) else wrap(value, ref)
