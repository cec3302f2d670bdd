"""Duals in place: the primal and the tangent are both written, so what views of them see is right too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import ops
from ops.core.batching import LanesDiffer
from ops.shapes.index import is_plain

from ..base.tensor import Tensor
from ..memory.adopting import adopt as begin_to_move
from ..recording.functionalising import last_of, stay_on_the_line
from ..recording.laying import outlined, strides_of_tensor
from ..recording.level import Layer, Level, components, innermost, levels_of, live
from ..recording.recorder import wrap
from ..recording.wengert import current


class Moving(Layer):
    """A tensor with a tangent, as far as it is written in place; `Dual` is what it is beside that."""

    __slots__ = ()

    _tangent: Tensor | None
    _level: Any  # a `Direction`

    @property
    def _readonly(self) -> bool:
        return self._primal._readonly

    @_readonly.setter
    def _readonly(self, value: bool) -> None:
        self._primal._readonly = value

    def _moves(self) -> bool:
        return self._level.alive

    def changed(self, target: Tensor) -> Tensor:
        """The target of a change in place below: it moves as this does, if it has not done so already."""
        if innermost((target,)) is None:
            adopt(target, self._level, self)
            tangent = parts(target, self._level)[1]
            _write(tangent, parts(self, self._level)[1], "mark_dirty()", last_of(current()))
        return target if innermost((target,)) is self._level else self

    def _adopt(self, target: Tensor) -> bool:
        """Whether an ordinary tensor moves from now on, as what is written into it."""
        level = innermost((self,))
        if level is not None:
            adopt(target, level, self)
        return level is not None

    def _before_change(self) -> Tensor:
        stay_on_the_line(current())
        return self

    def _assign(self, result: Tensor, operation: str, last: int) -> None:
        """The primal's memory gets the primal, the tangent's the tangent."""
        result = _like(self, result)
        level, held = innermost((result,)), live(self)
        if level is not None and level.moves and not (isinstance(held, Moving) and held._level.depth >= level.depth):
            adopt(held, level, result)
            held = live(self)
        if not isinstance(held, Moving):
            _write(held, result, operation, last)
            return
        primal, tangent = parts(result, held._level)
        _write(parts(held, held._level)[0], primal, operation, last)
        if held._tangent is None or (tangent is not None and _gains_layers(held._tangent, tangent)):
            held._tangent = tangent if tangent is None else ops.clone(tangent)
        else:
            _write(held._tangent, zeros(primal) if tangent is None else tangent, operation, last)

    def _write_at(self, index: Any, value: Any) -> bool:
        """Write at a plain index into the primal and the tangent, if the parts of the value fit into these one by one.

        So a loop that fills an array does not copy it in each iteration.
        """
        held = live(self)
        if not isinstance(held, Moving):
            return held._write_at(index, value)
        if held._tangent is None or not is_plain(index):
            return False
        value = value if isinstance(value, Tensor) else wrap(np.asarray(value)[()])
        level = innermost((value,))
        if level is not None and level.depth > held._level.depth:
            return False
        primal, tangent = parts(value, held._level)
        if tangent is not None and not set(levels_of(tangent)) <= set(levels_of(held._tangent)):
            return False
        parts(held, held._level)[0][index] = primal
        held._tangent[index] = 0.0 if tangent is None else tangent
        return True

    def _become(self, operation: str, compute: Callable[[], Tensor]) -> None:
        self._check_free(operation)
        made = compute()
        self._primal = made._primal if isinstance(made, Moving) else made
        self._tangent = made._tangent if isinstance(made, Moving) else None


def parts(x: Any, level: Level) -> tuple[Any, Any]:
    """Primal and tangent at a level; the tangent is None where something does not move at it."""
    x = live(x)
    if not isinstance(x, Moving) or x._level is not level:
        return x, None
    primal, tangent = live(x._primal), live(x._tangent)
    while isinstance(primal, Moving) and primal._level is level:
        primal = live(primal._primal)  # what moves of itself, does not beneath another tensor
    return primal, tangent


def _gains_layers(held: Tensor, tangent: Tensor) -> bool:
    """Whether a tangent is batched where the one that it is written over is not.

    Raises:
        RuntimeError: if that one shares its memory with the tangents of views, which would not be batched.
    """
    has = set(levels_of(held))
    if all(level.moves or level in has for level in levels_of(tangent)):
        return False
    for part in components(held):
        if (found := part._lookers()) is None or len(found[1]) > 1:
            raise LanesDiffer(
                "a value whose tangent differs from lane to lane of vmap is written into a tensor with views, whose "
                "tangents are the same in all lanes.\nWrite into a tensor of its own: y = y.clone() before the views "
                "are taken; into an array of its own: y = y.copy(), or y[0:1] = y[0:1] + x in the place of a view's +=."
            )
    return True


def _write(target: Tensor, value: Tensor, operation: str, last: int) -> None:
    level = innermost((value,))
    if level is not None and level.moves and not isinstance(target, Layer):
        adopt(target, level, value)
    target = live(target)
    if level is not None and not isinstance(target, Layer):
        target.copy_(value)  # which refuses it
    else:
        target._assign(value, operation, last)


def still(x: Tensor, x_dot: Any) -> Tensor:
    """Zeros in the shape of a tensor, with lanes if another one's tangent has some."""
    return x_dot._with_lanes(zeros(x)) if isinstance(x_dot, Layer) else zeros(x)


def adopt(target: Tensor, level: Any, source: Tensor) -> None:
    """Let a tensor move at a level that it does not move at yet, because something that does is written into it."""
    x_dot = parts(source, level)[1]
    begin_to_move(target, lambda x: still(x, x_dot), level.dress)


def _like(target: Tensor, value: Any) -> Tensor:
    """A value as it will be stored in a tensor: of its shape and dtype."""
    value = value if isinstance(value, Tensor) else wrap(np.asarray(value)[()])
    if value._spec.shape != target._spec.shape:
        value = ops.broadcast_to(value, shape=target._spec.shape)
    return value


def zeros(x: Tensor) -> Tensor:
    """Zeros of a tensor's shape and dtype, which lie in memory in its order."""
    if type(x) is Tensor and type(x._data) is np.ndarray:
        return wrap(np.zeros_like(x._data))
    steps = strides_of_tensor(x)
    if steps is None:
        next(x._components())._leave_layout_open()
        return wrap(np.zeros(x._spec.shape, x._spec.dtype)[()])
    return wrap(np.zeros_like(outlined(x._spec, steps))[()])
