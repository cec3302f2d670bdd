"""Applying an op to tensors: evaluate it with NumPy, and append a record if a gradient may flow.

`bind` does it for every op.  `unary` and `binary` make the same thing for ops of one and two
operands without parameters, with everything that is known beforehand worked out beforehand.
"""

from __future__ import annotations

import sys
from _thread import get_ident
from collections.abc import Callable, Sequence
from functools import cache
from numbers import Number
from typing import Any

import numpy as np

from ops import REGISTRY, Op

from .errors import misfit
from .location import user_frame
from .spec import Spec, spec_of
from .tensor import Tensor
from .wengert import LISTS, WengertList, current

LARGE = 1 << 16
new = object.__new__
getframe = sys._getframe
asarray = np.asarray


def wrap(value: Any, node: Any = None, spec: Spec | None = None) -> Tensor:
    """A tensor around a NumPy array or scalar."""
    tensor = new(Tensor)
    tensor._data = value
    tensor._node = node
    tensor._spec = spec or spec_of(value)
    return tensor


def lift(x: Any) -> Any:
    """What the forward function of an op gets for an operand."""
    if isinstance(x, Tensor):
        return x._data
    if isinstance(x, (Number, np.ndarray, np.generic)):
        return x
    return asarray(x)


def as_tensor(z: Any) -> Any:
    """The result of an op that no tensor went into, as a tensor."""
    return wrap(z) if isinstance(z, (np.ndarray, np.generic)) else z


def operand(x: Any) -> Any:
    """What a row holds for an operand: a handle, a leaf, or None."""
    if not isinstance(x, Tensor):
        return None
    return x if x._node is True else x._node


@cache
def plan(op: Op, wanted: tuple[int, ...]) -> tuple[tuple[bool, ...] | bool, bool]:
    """Which operand values, and whether the result, the vjps of the wanted operands read."""
    needs = op.needs(wanted)
    keep = "xs" in needs if op.variadic else tuple(name in needs for name in op.operands)
    return keep, "z" in needs


def bind(op: Op, operands: Sequence[Any], params: dict[str, Any]) -> Any:
    """Apply an op to operands of which at least one is a tensor."""
    values = [lift(x) for x in operands]
    try:
        z = op.forward(*values, **params)
    except ValueError as error:
        raise misfit(op, values, error) from None
    wengert = current()
    refs = [operand(x) for x in operands]
    if wengert.recording and op.differentiable and (op.outputs != 1 or spec_of(z).inexact):
        wanted = tuple(i for i, ref in enumerate(refs) if ref is not None and op.rule(i))
        if wanted:
            return append(wengert, op, refs, values, z, params, wanted)
    return tuple(map(wrap, z)) if op.outputs != 1 else wrap(z)


def append(
    wengert: WengertList, op: Op, refs: list[Any], values: list[Any], z: Any, params: dict[str, Any], wanted: Any
) -> Any:
    """Append the record of an evaluated op and return its result as a tensor."""
    keep, keep_z = plan(op, wanted)
    arity = len(refs)
    for i in range(arity):
        if i not in wanted:
            refs[i] = None
    if op.variadic:
        saved = values if keep else [None] * arity
    else:
        saved = [v if k else None for v, k in zip(values, keep)]
    row_params: Any = tuple(params.get(name, default) for name, default in op.params.items()) or None
    if arity == 1 and not op.variadic:
        x, y, xv, yv = refs[0], None, saved[0], None
    elif arity == 2 and not op.variadic:
        (x, y), (xv, yv) = refs, saved
        if row_params is None:
            for i, v in enumerate(values):
                if isinstance(v, (int, float)) and not isinstance(v, np.generic):
                    row_params = float(v)
                    xv, yv = (None, yv) if i == 0 else (xv, None)
    else:
        x, y, xv, yv = tuple(refs), None, tuple(saved), None
    code, lasti = wengert.where or user_frame(getframe(2))
    handle = wengert.next()
    outputs = z if op.outputs != 1 else None
    spec = None if outputs else spec_of(z)
    wengert.extend((handle, op.code, x, y, xv, yv, z if keep_z else None, row_params, spec, code, lasti))
    if handle > wengert.limit:
        wengert.scan()
    nbytes = sum(v.nbytes for v in outputs) if outputs else spec.nbytes
    nbytes += sum(_first_use(ref) for ref in refs if isinstance(ref, Tensor)) + _bytes_of((xv, yv, row_params))
    if nbytes > LARGE:
        wengert.account(nbytes)
    if outputs:
        return tuple(output(wengert, handle, i, v, code, lasti) for i, v in enumerate(outputs))
    return wrap(z, handle, spec)


def output(wengert: WengertList, parent: int, i: int, value: Any, code: Any, lasti: int) -> Tensor:
    """Output `i` of a record with several outputs, as a record of its own."""
    spec = spec_of(value)
    if not spec.inexact:
        return wrap(value, None, spec)
    handle = wengert.next()
    wengert.extend((handle, OUTPUT.code, parent, None, None, None, None, (i,), spec, code, lasti))
    return wrap(value, handle, spec)


def _bytes_of(fields: Any) -> int:
    """Bytes of the arrays among a row's fields, which may be much larger than its result."""
    total = 0
    for field in fields:
        if type(field) is np.ndarray:
            total += field.nbytes
        elif type(field) is tuple:
            total += _bytes_of(field)
    return total


def _first_use(leaf: Tensor) -> int:
    """Bytes of a leaf that no record has counted yet."""
    if leaf._counted or leaf._spec.nbytes <= LARGE:
        return 0
    leaf._counted = True
    return leaf._spec.nbytes


OUTPUT = REGISTRY["output"]


def unary(op: Op, depth: int = 1) -> Callable[[Tensor], Tensor]:
    """``bind`` for an elementwise op of one operand, called `depth` frames below the user's."""
    forward, code = op.forward, op.code
    (keep_x,), keep_z = plan(op, (0,))

    def apply(self: Any) -> Any:
        if type(self) is not Tensor:
            return as_tensor(op(self))
        x = self._data
        ref = self._node
        z = forward(x)
        try:
            wengert = LISTS[get_ident()]
        except KeyError:
            wengert = current()
        if ref is None or not wengert.recording:
            return wrap(z)
        if ref is True:
            ref = self
        result = new(Tensor)
        result._data = z
        result._spec = spec = self._spec
        result._node = handle = wengert.next()
        where = wengert.where
        if where is None:
            frame = getframe(depth)
            where = frame.f_code, frame.f_lasti
        wengert.extend(
            (handle, code, ref, None, x if keep_x else None, None, z if keep_z else None, None, spec, *where)
        )
        if spec.nbytes > LARGE:
            wengert.account(spec.nbytes)
        if handle > wengert.limit:
            wengert.scan()
        return result

    return apply


def binary(op: Op, *, reflected: bool = False, depth: int = 1) -> Callable[[Any, Any], Tensor]:
    """``bind`` for an elementwise op of two operands, called `depth` frames below the user's."""
    forward, code = op.forward, op.code
    needs_x, needs_y = op.needs((0,)), op.needs((1,))
    x_for_x, y_for_x, z_for_x = (name in needs_x for name in (*op.operands, "z"))
    x_for_y, y_for_y, z_for_y = (name in needs_y for name in (*op.operands, "z"))

    def apply(self: Any, other: Any) -> Any:
        if type(other) is not Tensor or type(self) is not Tensor:
            kind = type(other)
            if (kind is float or kind is int) and type(self) is Tensor:
                return number(self, other)
            return general(self, other)
        x, y = self._data, other._data
        x_ref, y_ref = self._node, other._node
        try:
            z = forward(x, y)
        except ValueError as error:
            raise misfit(op, (x, y), error) from None
        try:
            wengert = LISTS[get_ident()]
        except KeyError:
            wengert = current()
        if (x_ref is None and y_ref is None) or not wengert.recording:
            return wrap(z)
        result = new(Tensor)
        result._data = z
        spec = self._spec
        if spec is not other._spec:
            spec = spec_of(z)
        result._spec = spec
        if x_ref is True:
            x_ref = self
        if y_ref is True:
            y_ref = other
        result._node = handle = wengert.next()
        where = wengert.where
        if where is None:
            frame = getframe(depth)
            line, lasti = frame.f_code, frame.f_lasti
        else:
            line, lasti = where
        dx, dy = x_ref is not None, y_ref is not None
        wengert.extend((
            handle, code, x_ref, y_ref,
            x if (dx and x_for_x) or (dy and x_for_y) else None,
            y if (dx and y_for_x) or (dy and y_for_y) else None,
            z if (dx and z_for_x) or (dy and z_for_y) else None,
            None, spec, line, lasti,
        ))  # fmt: skip
        if spec.nbytes > LARGE:
            wengert.account(spec.nbytes)
        if handle > wengert.limit:
            wengert.scan()
        return result

    def number(self: Tensor, other: float) -> Tensor:
        """The same with a plain number, which is kept beside the row's values and never released."""
        x, ref = self._data, self._node
        z = forward(other, x) if reflected else forward(x, other)
        wengert = current()
        spec = self._spec
        if ref is None or not wengert.recording:
            return wrap(z)
        if ref is True:
            ref = self
        if not spec.inexact:
            spec = spec_of(z)
        result = new(Tensor)
        result._data = z
        result._spec = spec
        result._node = handle = wengert.next()
        where = wengert.where
        if where is None:
            frame = getframe(depth + 1)
            where = frame.f_code, frame.f_lasti
        if reflected:
            row = handle, code, None, ref, None, x if y_for_y else None, z if z_for_y else None
        else:
            row = handle, code, ref, None, x if x_for_x else None, None, z if z_for_x else None
        wengert.extend((*row, float(other), spec, *where))
        if spec.nbytes > LARGE:
            wengert.account(spec.nbytes)
        if handle > wengert.limit:
            wengert.scan()
        return result

    def general(self: Any, other: Any) -> Any:
        if not is_operand(other):
            return NotImplemented
        return as_tensor(op(other, self) if reflected else op(self, other))

    return apply


def is_operand(x: Any) -> bool:
    """Whether arithmetic with a tensor makes sense: tensors, numbers, arrays, sequences of numbers."""
    return isinstance(x, (Tensor, Number, np.ndarray, np.generic, np.bool_, list, tuple))


Tensor.__bind__ = staticmethod(bind)
