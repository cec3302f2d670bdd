"""The short way of an elementwise op from call to record: `bind` with all that is known worked out beforehand.

These closures are what an operator or a function of a tensor runs, so every line here is paid for
by every operation.
"""

from __future__ import annotations

from _thread import get_ident
from collections.abc import Callable
from numbers import Number
from typing import Any

import numpy as np

from ops import Op
from ops.core.axis_order import AS_COMPUTED, laid_like
from ops.core.op import HOLOMORPHIC

from ..base.errors import misfit
from ..base.spec import spec_of
from ..base.tensor import Tensor
from .laying import laid
from .recorder import LARGE, MANY, append, as_tensor, forward_of, getframe, new, wrap
from .wengert import LISTS, current

SHORT: list[tuple[Any, Op]] = []
"""The closures made here, which evaluate their op by the ``forward``, or ``for_many`` elements, that they hold."""


def unary(op: Op, depth: int = 1, as_operands: bool = True) -> Callable[[Tensor], Tensor]:
    """``bind`` for an elementwise op of one operand, called `depth` frames below the user's.

    Results lie in memory `as_operands` of tensors do in PyTorch, or as NumPy has them.
    """
    forward, code = op.forward, op.code
    for_many = forward_of(op) if op.hints.lanes_first else None
    needs = op.needs((0,))
    keep_x, keep_z = op.operands[0] in needs, "z" in needs
    real_only, turns = op.complex is not HOLOMORPHIC, as_operands and not isinstance(forward, np.ufunc)
    lies = op.lies if as_operands else AS_COMPUTED

    def apply(input: Any, *, out: Any = None) -> Any:
        if out is not None:
            return store(apply(input), out, op.name)
        if type(input) is not Tensor:
            return laid(as_tensor(op(input)), lies, (input,))
        if real_only and input._spec.complex:
            return op(input)
        x = input._data
        ref = input._node
        z = forward(x) if for_many is None or x.size < MANY else for_many(x)
        if turns and z.ndim > 1 and not x.flags.c_contiguous:
            z = laid_like(z, x)
        try:
            wengert = LISTS[get_ident()]
        except KeyError:
            wengert = current()
        if ref is None or not wengert.recording:
            return wrap(z)
        if ref is True:
            ref = input
        result = new(Tensor)
        result._data = z
        result._spec = spec = input._spec
        result._node = handle = wengert.next()
        where = wengert.where
        if where is None:
            frame = getframe(depth)
            line, lasti = frame.f_code, frame.f_lasti
        else:
            line, lasti = where
        wengert.extend(
            (handle, code, ref, None, x if keep_x else None, None, z if keep_z else None, None, spec, line, lasti)
        )
        if spec.nbytes > LARGE:
            wengert.account(spec.nbytes)
        if handle > wengert.limit:
            wengert.scan()
        return result

    SHORT.append((apply, op))
    return apply


def binary(op: Op, *, depth: int = 1, as_operands: bool = True) -> Callable[[Any, Any], Tensor]:
    """``bind`` for an elementwise op of two operands, called `depth` frames below the user's (see `unary`)."""
    forward, code = forward_of(op), op.code
    needs_x, needs_y = op.needs((0,)), op.needs((1,))
    x_for_x, y_for_x, z_for_x = (name in needs_x for name in (*op.operands, "z"))
    x_for_y, y_for_y, z_for_y = (name in needs_y for name in (*op.operands, "z"))
    number = with_number(op, reflected=False, depth=depth + 1, as_operands=as_operands)
    real_only, turns = op.complex is not HOLOMORPHIC, not isinstance(forward, np.ufunc)
    lies = op.lies if as_operands else AS_COMPUTED

    def apply(input: Any, other: Any, *, out: Any = None) -> Any:
        if out is not None:
            return store(apply(input, other), out, op.name)
        if type(other) is not Tensor or type(input) is not Tensor:
            kind = type(other)
            if (kind is float or kind is int) and type(input) is Tensor:
                try:
                    return number(input, other)
                except OverflowError:
                    raise huge(op, other) from None
            return general(input, other)
        if real_only and (input._spec.complex or other._spec.complex):
            return op(input, other)
        x, y = input._data, other._data
        x_ref, y_ref = input._node, other._node
        try:
            z = forward(x, y)
        except ValueError as error:
            raise misfit(op, (x, y), error) from None
        spec = input._spec
        if spec is not other._spec:
            spec = spec_of(z)
        if as_operands and spec.ndim > 1 and not (x.flags.c_contiguous and (not turns or y.flags.c_contiguous)):
            z = laid_like(z, x, y)
        try:
            wengert = LISTS[get_ident()]
        except KeyError:
            wengert = current()
        if (x_ref is None and y_ref is None) or not wengert.recording:
            return wrap(z)
        result = new(Tensor)
        result._data = z
        result._spec = spec
        if x_ref is True:
            x_ref = input
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

    def general(input: Any, other: Any) -> Any:
        check_operand(op, other)
        return laid(as_tensor(op(input, other)), lies, (input, other)) if is_operand(other) else NotImplemented

    SHORT.append((apply, op))
    return apply


def product(op: Op, beyond: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """``bind`` for an op of two tensors whose results lie in rows, called by the user; others are for `beyond`."""
    forward = forward_of(op)

    def apply(input: Any, other: Any) -> Any:
        if type(other) is not Tensor or type(input) is not Tensor:
            return beyond(input, other)
        x, y = input._data, other._data
        try:
            z = forward(x, y)
        except ValueError as error:
            raise misfit(op, (x, y), error) from None
        if z.ndim > 1 and not z.flags.c_contiguous:
            z = np.ascontiguousarray(z)
        wengert = current()
        refs = [t if t._node is True else t._node for t in (input, other)]
        tracked = tuple([i for i, ref in enumerate(refs) if ref is not None])
        if not tracked or not wengert.recording:
            return wrap(z)
        return append(wengert, op, refs, [x, y], z, spec_of(z), {}, tracked)

    SHORT.append((apply, op))
    return apply


def reflected(op: Op, *, depth: int = 1, as_operands: bool = True) -> Callable[[Tensor, Any], Tensor]:
    """`binary` for a tensor that stands on the right, as in ``2 - x``."""
    number = with_number(op, reflected=True, depth=depth + 1, as_operands=as_operands)
    ahead, lies = binary(op, depth=depth + 1, as_operands=as_operands), op.lies if as_operands else AS_COMPUTED

    def apply(self: Any, other: Any) -> Any:
        kind = type(other)
        if (kind is float or kind is int) and type(self) is Tensor:
            try:
                return number(self, other)
            except OverflowError:
                raise huge(op, other) from None
        if kind is Tensor and type(self) is Tensor:
            return ahead(other, self)
        check_operand(op, other)
        return laid(as_tensor(op(other, self)), lies, (other, self)) if is_operand(other) else NotImplemented

    return apply


def with_number(op: Op, *, reflected: bool, depth: int, as_operands: bool = True) -> Callable[[Tensor, float], Tensor]:
    """`binary` for a tensor and a plain number, which stands beside the row's values and is never released."""
    forward, code = forward_of(op), op.code
    needs = op.needs((int(reflected),))
    keep, keep_z = op.operands[int(reflected)] in needs, "z" in needs
    real_only, turns = op.complex is not HOLOMORPHIC, as_operands and not isinstance(forward, np.ufunc)
    in_rows = as_operands and reflected and op.symbol == "pow"

    def apply(self: Tensor, other: float) -> Tensor:
        if real_only and self._spec.complex:
            return op(other, self) if reflected else op(self, other)
        x, ref = self._data, self._node
        z = forward(other, x) if reflected else forward(x, other)
        if turns and z.ndim > 1 and not x.flags.c_contiguous:
            z = np.ascontiguousarray(z) if in_rows else laid_like(z, x)
        try:
            wengert = LISTS[get_ident()]
        except KeyError:
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
            frame = getframe(depth)
            line, lasti = frame.f_code, frame.f_lasti
        else:
            line, lasti = where
        saved, result_saved = x if keep else None, z if keep_z else None
        if reflected:
            row = (handle, code, None, ref, None, saved, result_saved, float(other), spec, line, lasti)
        else:
            row = (handle, code, ref, None, saved, None, result_saved, float(other), spec, line, lasti)
        wengert.extend(row)
        if spec.nbytes > LARGE:
            wengert.account(spec.nbytes)
        if handle > wengert.limit:
            wengert.scan()
        return result

    SHORT.append((apply, op))
    return apply


def huge(op: Op, number: float) -> OverflowError:
    """The error for an integer beyond the range of floating point numbers."""
    digits = f"{number:.3e}" if isinstance(number, float) else f"an integer of {number.bit_length()} bits"
    return OverflowError(
        f"{op.name} of a tensor needs a number that fits its dtype, at most 1.8e308 in float64; got {digits}. "
        "Scale it, or compute with its logarithm."
    )


def store(result: Tensor, out: Tensor, name: str) -> Tensor:
    """Write a result into ``out=``.

    Raises:
        RuntimeError: if a gradient would be lost.
        NotImplementedError: if a tangent would be lost.
    """
    check_still(result, out, name)
    if result._node is not None or (out._node is not None and current().recording):
        raise RuntimeError(
            f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
            f"arguments requires grad: {name}(out=…) does not record.\n"
            "Use the returned value instead of out=, or call it under tape.no_grad()."
        )
    return out.copy_(result)


def check_still(result: Any, out: Any, name: str) -> None:
    """Raise if a tangent would be lost in ``out=``, or meet a value that it is not the tangent of."""
    if any(isinstance(x, Tensor) and x._moves() for x in (result, out)):
        raise NotImplementedError(
            f"Trying to use forward AD with {name}_out that does not support it because it is an out= function: "
            "a tensor that carries a tangent is involved.\nUse the returned value instead of out=, or out.copy_(value)."
        )


def check_operand(op: Op, x: Any) -> None:
    """Raise for text, which Python would else go on with as its own."""
    if isinstance(x, (str, bytes)):
        raise TypeError(f"{op.name} needs a tensor, an array or a number beside a tensor; got {x!r}")


def is_operand(x: Any) -> bool:
    """Whether arithmetic with a tensor makes sense: tensors, numbers, arrays, sequences of numbers."""
    return isinstance(x, (Tensor, Number, np.ndarray, np.generic, np.bool_, list, tuple))
