"""Traced tensors in place: one goes on as what the change made of it, and so do those that share its memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import ops

from ...base.tensor import Face, Tensor
from ...memory import restriding
from ...memory.inplace import adopted
from ...memory.writing import check_fits
from ...recording.functions import FUNCTIONS
from .aliases import check_free, fill, is_shared, memory_of, put
from .cells import CellPlace, place_of
from .traced import Traced, escaped, known, plain, traced


def _put(target: Traced, result: Any, operation: str = "", last: int = 0) -> Traced:
    result = _recorded(target, result)
    check_fits(target, result, operation)
    put(target, _fitted(result, target._spec.shape, target._spec.dtype))
    return target


def _recorded(target: Traced, value: Any) -> Traced:
    """A value as a record of its own."""
    trace = target._trace
    if isinstance(value, Traced):
        if value._trace is not trace or not trace.open:
            raise escaped()
        if trace.code(value._row) >= 0:
            return value
    return ops.clone(value if isinstance(value, Traced) else traced(trace, trace.operand(plain(value))))


def _fitted(value: Traced, shape: tuple[int, ...], dtype: Any) -> Traced:
    if value._spec.shape != shape:
        value = ops.broadcast_to(value, shape=shape)
    return value if value._spec.dtype == dtype else ops.cast(value, dtype=dtype)


def _alter(
    self: Traced, operation: str, compute: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]
) -> Traced:
    return _put(self, compute(self, *args, **named), operation)


def _setitem(self: Traced, index: Any, value: Any) -> None:
    operation = "x[index] = value"
    value = value._tensor if isinstance(value, Face) else value
    if adopted(self, operation, (value,)):
        self[index] = value
        return
    place = place_of(index, self._spec.shape)
    if place is None or not _fill(self, place, value):
        _put(self, ops.index_put(self, value, index=known(index)), operation)


def _fill(self: Traced, place: CellPlace, value: Any) -> bool:
    """Write a value into a cell, if it fits in there as it is."""
    if self._spec.narrow or (isinstance(value, Tensor) and not isinstance(value, Traced)):
        return False
    shape, dtype, value = place.inside(self._spec.shape), self._spec.dtype, _recorded(self, value)
    if not np.can_cast(value._spec.dtype, dtype, "same_kind") or len(value._spec.shape) > len(shape):
        return False
    if any(n not in (1, m) for n, m in zip(value._spec.shape[::-1], shape[::-1])):
        return False
    if not self._trace.wengert.recording:
        value = ops.clone(value)  # which has no history
    return fill(self, place, _fitted(value, shape, dtype))


def _restriding(function: Callable[..., Any]) -> Callable[..., Any]:
    """The method that makes of a tensor, itself, the view that a function gives of it."""

    def restride(self: Traced, *args: Any, **kwargs: Any) -> Traced:
        check_free(self)
        view = function(self, *args, **kwargs)
        self._row, self._look, self._spec = view._row, memory_of(view), view._spec
        return self

    return restride


for _name in restriding.NAMES:
    setattr(Traced, f"{_name}_", _restriding(FUNCTIONS[_name]))
_METHODS: dict[str, Callable[..., Any]] = {
    "__alter__": _alter, "__assign__": _put, "__setitem__": _setitem, "__is_shared__": is_shared,
    "__check_free__": lambda self, operation: check_free(self), "__as_it_is__": lambda self: self._at(self._row),
}  # fmt: skip
for _name, _method in _METHODS.items():
    setattr(Traced, _name, _method)
