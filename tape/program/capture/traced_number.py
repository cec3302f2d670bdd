"""Numbers that are being recorded: the faces of records without axes, which hold no tensor until somebody asks for it.

A number has no memory that others see, so the row of its record says all.  Its operators are those of a tensor that is
being recorded, in one frame; where they know no short way, those of any array.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ops import REGISTRY, Op

from ...base.spec import OF_WHOLE, Spec
from ...base.tensor import Face, Tensor
from ...numpy.array_operators import ORDERED
from ...numpy.arrays.face import OF_TENSORS, Number, Whole, face
from ...numpy.arrays.face_base import FACES
from ...numpy.ufuncs import array_ufunc
from ...recording.numpy_bridge import op_for
from ...recording.recorder import getframe
from ..recorded.trace import Trace
from ..recorded.traced import Traced, TracedArgument, traced
from ..recorded.traced_short_ways import OF_ONE_NUMBER, of_number, short_way, tensors_way

_held: Any = Face.__dict__["_tensor"]


class TracedNumber(Number):
    """A number of a function of arrays that is being recorded.

    Attributes:
        _trace: the list that the function is recorded on.
        _row: the number of the record that made it.
    """

    __slots__ = ("_row", "_spec", "_trace")

    _trace: Trace
    _row: int
    _spec: Spec

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return self._spec.dtype.type

    @property
    def _tensor(self) -> Tensor:  # type: ignore[override]
        """The tensor of the record, one and the same whoever asks."""
        try:
            return _held.__get__(self)
        except AttributeError:
            made = traced(self._trace, self._row)
            _held.__set__(self, made)
            return made


class TracedWhole(Whole, TracedNumber):
    """An integer of a function of arrays that is being recorded."""

    __slots__ = ()


def recorded_number(tensor: Traced) -> TracedNumber:
    """The number that a tensor without axes is now."""
    made = (TracedWhole if tensor._spec.face == OF_WHOLE else TracedNumber)()
    made._trace, made._row, made._spec = tensor._trace, tensor._row, tensor._spec
    return made


def _of_ufunc(self: TracedNumber, ufunc: np.ufunc, how: str, *inputs: Any, **options: Any) -> Any:
    """What a ufunc gives of the number alone, in a short way where it has one."""
    op = op_for(ufunc) if how == "__call__" and len(inputs) == 1 and not options else None
    made = of_number(op, self) if op is not None and op in OF_ONE_NUMBER else None
    return array_ufunc(self, ufunc, how, *inputs, **options) if made is None else made


def _operator(op: Op, name: str, reflected: bool) -> Callable[..., Any]:
    of_any, of_tensors = getattr(Number, name), tensors_way(op, reflected, 3, Traced, TracedArgument)

    def otherwise(self: TracedNumber, other: Any) -> Any:
        if type(other) in FACES and type(other._tensor) is Traced:
            return face(of_tensors(self._tensor, other._tensor))
        wengert = self._trace.wengert
        if wengert.where is not None:
            return of_any(self, other)
        frame = getframe(2)
        wengert.where = frame.f_code, frame.f_lasti
        try:
            return of_any(self, other)
        finally:
            wengert.where = None

    return short_way(op, reflected, 1, TracedNumber, otherwise, TracedWhole)


def _is_alike(op: Op) -> bool:
    """Whether numbers do an operator as tensors do it."""
    simple = op.kind in ("elementwise", "plain") and op.arity == 2 and not op.params
    return bool(op.symbol) and simple and op.symbol not in ORDERED | {"pow", "matmul"}


for _op in filter(_is_alike, REGISTRY.values()):
    for _reflected, _name in enumerate((f"__{_op.symbol}__", f"__r{_op.symbol}__")):
        if hasattr(Number, _name):
            setattr(TracedNumber, _name, _operator(_op, _name, bool(_reflected)))
TracedNumber.__array_ufunc__ = _of_ufunc  # type: ignore[attr-defined]
FACES.update((TracedNumber, TracedWhole))
OF_TENSORS[Traced] = recorded_number
