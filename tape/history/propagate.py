"""One record's part in a reverse sweep: its rules, run on plain arrays or, recording, on tensors."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ops import REGISTRY, Op
from ops.core.bundle import Bundle
from ops.core.registry import OPS, in_dtype

from ..base.dtypes import float32, is_narrow
from ..base.errors import used_up_error
from ..base.location import locate, user_frame
from ..base.row import CODE, HANDLE, LASTI, OP, PARAMS, SPEC, XV, YV, ZV, X, Y
from ..base.spec import Spec
from ..base.tensor import Tensor
from ..recording.packing import Packed, opened
from ..recording.recorder import CUSTOM, output, plan, wrap
from ..recording.wengert import current, row_of

CLONE = REGISTRY["clone"]


def op_of(row: list[Any]) -> Op:
    """The op of a record."""
    return OPS[row[OP]]


def name_of(row: list[Any]) -> str:
    """What to call a record's operation in a message."""
    op = op_of(row)
    return op.title(arguments(row, op)[2])


def arguments(row: list[Any], op: Op) -> tuple[tuple[Any, ...], tuple[Any, ...], dict[str, Any]]:
    """Operands, operand values and parameters of a record."""
    params = row[PARAMS]
    number = params if type(params) is float else None
    if type(row[X]) is tuple:
        refs, values = row[X], row[XV] or (None,) * len(row[X])
    elif op.arity == 1:
        refs, values = (row[X],), (row[XV],)
    else:
        refs = row[X], row[Y]
        values = tuple(number if ref is None and v is None else v for ref, v in zip(refs, (row[XV], row[YV])))
    named = {} if params is None or number is not None else dict(zip(op.params, params))
    return refs, values, named


def operand_count(row: list[Any]) -> int:
    """Number of operands of a record."""
    return len(arguments(row, op_of(row))[0])


def result_count(row: list[Any]) -> int:
    """Number of results of a record."""
    op = op_of(row)
    if op.outputs > 0:
        return op.outputs
    refs, _, params = arguments(row, op)
    if op.name == "custom":
        return len(getattr(params["ctx"], "_outputs", ()))
    spec = spec_of_operand(refs[0])
    assert spec is not None, "ops with several results take values"
    return len(op.forward(np.broadcast_to(np.zeros((), spec.dtype), spec.shape), **params))


def spec_of_operand(ref: Any) -> Spec | None:
    """Shape and dtype of an operand; None for an op with several results."""
    if isinstance(ref, Tensor):
        return ref._spec
    return row_of(ref)[SPEC]


def released(row: list[Any]) -> bool:
    """Whether a value that the rules need was dropped by an earlier backward."""
    op = op_of(row)
    refs, values, _ = arguments(row, op)
    return lacking(op, refs, values, row)


def lacking(op: Op, refs: tuple[Any, ...], values: Any, row: list[Any]) -> bool:
    """`released`, for a record whose arguments are at hand."""
    keep, keep_z = plan(op, tuple([i for i, ref in enumerate(refs) if ref is not None]))
    if keep_z and row[ZV] is None:
        return True
    if keep is True or keep is False:
        return keep and row[XV] is None
    return any(keep) and (values is None or any(k and v is None for k, v in zip(keep, values)))


def check_not_released(rows: Iterable[list[Any]]) -> None:
    """Raise if a backward has run through one of these records before and dropped its values."""
    for row in rows:
        if released(row):
            raise released_error(row)


def released_error(row: list[Any]) -> RuntimeError:
    """The error for a second backward through the same record."""
    return used_up_error(name_of(row), locate(row[CODE], row[LASTI]))


def contributions(
    row: list[Any], g: Any, wanted: Callable[[Any], bool], record: bool
) -> Iterable[tuple[int, Any, Any]]:
    """What a record adds to the adjoints of its operands: position, operand and contribution."""
    return _by_its_ctx(row, g, wanted) if row[OP] == CUSTOM.code else _by_its_rules(row, g, wanted, record)


def _by_its_ctx(row: list[Any], g: Any, wanted: Callable[[Any], bool]) -> list[tuple[int, Any, Any]]:
    """The contributions of a custom function, whose ctx knows everything but the row."""
    refs = row[X]
    positions = tuple([i for i, ref in enumerate(refs) if ref is not None and wanted(ref)])
    bars = row[PARAMS][0].vjp(g, positions, row) if positions else ()
    return [(i, refs[i], bars[i]) for i in positions if bars[i] is not None]


def _by_its_rules(
    row: list[Any], g: Any, wanted: Callable[[Any], bool], record: bool
) -> Iterable[tuple[int, Any, Any]]:
    op = op_of(row)
    refs, values, params = arguments(row, op)
    if lacking(op, refs, values, row):
        raise released_error(row)
    z = row[ZV]
    positions = tuple([i for i, ref in enumerate(refs) if ref is not None and wanted(ref)])
    if Packed in map(type, values) or type(z) is Packed or type(z) is tuple:
        values, z = _opened(op, op.needs(positions), refs, values, z, record)
    if record:
        if op.joint is None or not {"xs", *op.operands}.isdisjoint(op.joint.names):
            values = tuple(_rebuild(ref, v) for ref, v in zip(refs, values))
        if z is not None:
            z = wrap(z, row[HANDLE], row[SPEC]) if op.outputs == 1 else _results(row, z)
    dtype = row[SPEC] and row[SPEC].dtype
    if narrow := row[SPEC] is None or row[SPEC].narrow:
        values, z, g, dtype = tuple(map(widened, values)), widened(z), widened(g), float32
    if op.kind == "elementwise":
        values = op.promoted(values, dtype)
    env = op.environment(values, z, params)
    bars = op.vjps(positions, g, env) if op.joint is not None and positions else None
    for i in positions:
        spec = spec_of_operand(refs[i])
        if spec is None:
            yield i, refs[i], op.vjp(i, g, env, ())
            continue
        dtype = float32 if narrow and spec.narrow else spec.dtype
        bar = bars[i] if bars is not None else op.vjp(i, g, env, spec.shape, dtype)
        if bar is not None:
            yield i, refs[i], bar if bar.dtype == spec.dtype else in_dtype(bar, spec.dtype)


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


def _results(row: list[Any], z: tuple[Any, ...]) -> tuple[Tensor, ...]:
    """The results of an op with several, as tensors with their place in the history."""
    return tuple(output(current(), row[HANDLE], i, v, row[CODE], row[LASTI]) for i, v in enumerate(z))


def _opened(
    op: Op, needs: set[str], refs: tuple[Any, ...], values: tuple[Any, ...], z: Any, record: bool
) -> tuple[tuple[Any, ...], Any]:
    """The values of a record with those that the rules need got back from where hooks have put them."""
    needed = ["xs" in needs] * len(values) if op.variadic else [name in needs for name in op.operands]
    values = tuple([v.open() if n and type(v) is Packed else v for n, v in zip(needed, values)])
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


def _rebuild(ref: Any, value: Any) -> Any:
    """An operand as a tensor with its place in the history."""
    if value is None or ref is None or isinstance(value, Tensor):
        return value
    return ref if isinstance(ref, Tensor) else wrap(value, ref)


def key(ref: Any) -> int:
    """Key of an operand among adjoints: a handle, or the (negative) identity of a leaf."""
    return -id(ref) if isinstance(ref, Tensor) else ref
