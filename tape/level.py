"""Levels of transformation: who applies an op when tensors of several transformations meet.

A transformation under way (a directional derivative, …) is a `Level`.  Its tensors are `Layer`
tensors around tensors of the levels outside of it.  An op goes to the innermost level among its
operands, which takes its own layer off and applies what it makes of the op to what is below.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import ops
from ops import Op

from .indexing import plain_index
from .tensor import Tensor

_depths = itertools.count()


class Level:
    """One transformation under way; a later level is an inner one.

    When the level is left its layers are taken off: they are the tensors below them from then on.
    """

    __slots__ = ("alive", "depth")

    def __init__(self) -> None:
        self.depth = next(_depths)
        self.alive = True

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: Any) -> None:
        self.alive = False

    def apply(self, op: Op, operands: Sequence[Any], params: dict[str, Any]) -> Any:
        """Apply an op to operands of which at least one has a layer of this level, and none an inner one."""
        raise NotImplementedError(f"{type(self).__name__} does not say how ops apply at its level")


class Layer(Tensor):
    """A tensor that belongs to a level.

    Attributes:
        _primal: the tensor below, which may itself be a layer, of an outer level.
        _level: the level.
    """

    __slots__ = ()

    _primal: Tensor
    _level: Level

    @staticmethod
    def __bind__(op: Op, operands: Sequence[Any], params: dict[str, Any]) -> Any:
        operands = tuple(map(live, operands))
        level = innermost(operands)
        return op(*operands, **params) if level is None else level.apply(op, operands, params)

    def __getitem__(self, index: Any) -> Tensor:
        return ops.getitem(self, index=plain_index(index))


def live(x: Any) -> Any:
    """A tensor without the layers whose level has been left."""
    while isinstance(x, Layer) and not x._level.alive:
        x = x._primal
    return x


def innermost(xs: Iterable[Any]) -> Any:
    """The innermost level that one of these belongs to, or None."""
    levels = [x._level for x in map(live, xs) if isinstance(x, Layer)]
    return max(levels, key=lambda level: level.depth, default=None)
