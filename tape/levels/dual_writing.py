"""Duals in place: the primal and the tangent are both written, so what views of them see is right too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import ops
from ops.core.batching import LanesDiffer
from ops.shapes.index import is_plain

from ..base.tensor import Tensor
from ..history.reachability import components
from ..memory import restriding
from ..memory.adopting import adopt as begin_to_move
from ..memory.rebase import last_of
from ..recording.functions import FUNCTIONS
from ..recording.indexing import plain_index
from ..recording.level import Layer, innermost, live
from ..recording.recorder import wrap
from ..recording.wengert import current
from .direction import Direction, Dual, make, on_the_users_line, parts, zeros


def _adopt(self: Dual, target: Tensor) -> bool:
    """Whether this can be written into an ordinary tensor, which moves from then on."""
    level = innermost((self,))
    if level is not None:
        adopt(target, level, self)
    return level is not None


def _assign(self: Dual, result: Tensor, operation: str, last: int) -> Tensor:
    return _put(self, dual_like(self, result), operation, last)


def _changed(self: Dual, target: Tensor) -> Tensor:
    """The target of a change in place below: it moves as this does, if it has not done so already."""
    if innermost((target,)) is None:
        adopt(target, self._level, self)
        tangent = parts(target, self._level)[1]
        _write(tangent, parts(self, self._level)[1], "mark_dirty()", last_of(current()))
    return target if innermost((target,)) is self._level else self


def _put(target: Dual, result: Tensor, operation: str, last: int) -> Dual:
    """Write a result that was computed after record `last` into a dual's memory, and its tangent into the tangent's."""
    level, held = innermost((result,)), live(target)
    if isinstance(level, Direction) and not (isinstance(held, Dual) and held._level.depth >= level.depth):
        adopt(held, level, result)
        held = live(target)
    if not isinstance(held, Dual):
        _write(held, result, operation, last)
        return target
    primal, tangent = parts(result, held._level)
    _write(parts(held, held._level)[0], primal, operation, last)
    if held._tangent is None or (tangent is not None and _gains_layers(held._tangent, tangent)):
        held._tangent = tangent if tangent is None else ops.clone(tangent)
    else:
        _write(held._tangent, zeros(primal) if tangent is None else tangent, operation, last)
    return target


def _gains_layers(held: Tensor, tangent: Tensor) -> bool:
    """Whether a tangent is batched where the one that it is written over is not.

    Raises:
        RuntimeError: if that one shares its memory with the tangents of views, which would not be batched.
    """
    level = innermost((tangent,))
    if level is None or isinstance(level, Direction) or innermost((held,)) is level:
        return False
    for part in components(held):
        if part.__is_shared__():
            raise LanesDiffer(
                "a value whose tangent differs from lane to lane of vmap is written into a tensor with views, whose "
                "tangents are the same in all lanes.\nWrite into a tensor of its own: y = y.clone() before the views "
                "are taken."
            )
    return True


def _write(target: Tensor, value: Tensor, operation: str, last: int) -> None:
    level = innermost((value,))
    if isinstance(level, Direction) and not isinstance(target, Layer):
        adopt(target, level, value)
    target = live(target)
    if level is not None and not isinstance(target, Layer):
        target.copy_(value)  # which refuses it
    else:
        target.__assign__(value, operation, last)


def moving_as(source: Tensor, target: Tensor) -> Tensor:
    """A tensor that does not move, as one that moves at the levels of another, with tangents of zeros."""
    level = innermost((source,))
    if not isinstance(level, Direction):
        return target
    x, x_dot = parts(source, level)
    below = moving_as(x, target)
    return make(below, _still(target, x_dot), level)


def _still(x: Tensor, x_dot: Any) -> Tensor:
    """Zeros in the shape of a tensor, with lanes if another one's tangent has some."""
    return x_dot.__beside__(zeros(x)) if isinstance(x_dot, Layer) else zeros(x)


def adopt(target: Tensor, level: Direction, source: Tensor) -> None:
    """Let a tensor move at a level that it does not move at yet, because something that does is written into it."""
    x_dot = parts(source, level)[1]

    def still(x: Tensor) -> Tensor:
        return _still(x, x_dot)

    def dress(x: Any, below: Tensor, tangent: Tensor) -> None:
        x.__class__ = Dual
        x._primal, x._tangent, x._level = below, tangent, level

    begin_to_move(target, still, dress)


def _check_free(self: Dual, operation: str) -> None:
    for part in components(self) if current().recording else ():
        if part._node is not None:
            part.__check_free__(operation)


def _alter(
    self: Dual, operation: str, compute: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]
) -> Tensor:
    """Put what a function makes of a dual in its place, with its tangent."""
    last = last_of(current())
    _check_free(self, operation)
    with on_the_users_line():
        return _put(self, dual_like(self, compute(self, *args, **named)), operation, last)


def _inplace(compute: Callable[..., Any], operation: str) -> Callable[..., Tensor]:
    return lambda self, *args, **named: _alter(self, operation, compute, args, named)


def dual_like(target: Tensor, value: Any) -> Tensor:
    """A value as it will be stored in a tensor: of its shape and dtype."""
    value = value if isinstance(value, Tensor) else wrap(np.asarray(value)[()])
    if value._spec.shape != target._spec.shape:
        value = ops.broadcast_to(value, shape=target._spec.shape)
    return value


def _copy_(self: Dual, source: Any) -> Tensor:
    source = dual_like(self, source)
    source = source if source._spec.dtype == self._spec.dtype else ops.cast(source, dtype=self._spec.dtype)
    return ops.copy_over(self, source)


def _setitem(self: Dual, index: Any, value: Any) -> Tensor:
    return ops.index_put(self, value, index=plain_index(index, own=True))


def _set_parts(self: Dual, index: Any, value: Any) -> bool:
    """Write at a plain index into the primal and the tangent, if the parts of the value fit into these one by one.

    So a loop that fills an array does not copy it in each iteration.
    """
    held = live(self)
    if not isinstance(held, Dual) or held._tangent is None or not is_plain(index):
        return False
    value = value if isinstance(value, Tensor) else wrap(np.asarray(value)[()])
    level = innermost((value,))
    if level is not None and level.depth > held._level.depth:
        return False
    primal, tangent = parts(value, held._level)
    if tangent is not None and innermost((tangent,)) not in (None, innermost((held._tangent,))):
        return False
    parts(held, held._level)[0][index] = primal
    held._tangent[index] = 0.0 if tangent is None else tangent
    return True


def _set(self: Dual, index: Any, value: Any) -> None:
    if not _set_parts(self, index, value):
        _alter(self, "x[index] = value", _setitem, (index, value), {})


def _restriding(name: str) -> Callable[..., Tensor]:
    """The method that makes of a dual, itself, the view that a function gives of it."""

    def change(self: Dual, *args: Any, **kwargs: Any) -> Tensor:
        _check_free(self, f"{name}_()")
        made = FUNCTIONS[name](self, *args, **kwargs)
        self._primal = made._primal if isinstance(made, Dual) else made
        self._tangent = made._tangent if isinstance(made, Dual) else None
        return self

    return change


Dual.__adopt__ = _adopt  # type: ignore[attr-defined]
Dual.__alter__ = _alter
_of_all: Any = Tensor.data
Dual.data = property(lambda self: self._primal.data, _of_all.fset, _of_all.fdel)  # type: ignore[method-assign,assignment]
_METHODS: dict[str, Callable[..., Any]] = {
    "__assign__": _assign, "__setitem__": _set, "changed": _changed, "copy_": _inplace(_copy_, "copy_"),
    "fill_": _inplace(_copy_, "fill_"), "zero_": _inplace(lambda self: _copy_(self, 0.0), "zero_"),
}  # fmt: skip
for _name, _method in _METHODS.items():
    setattr(Dual, _name, _method)
for _name in restriding.NAMES:
    setattr(Dual, f"{_name}_", _restriding(_name))
