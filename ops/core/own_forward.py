"""The forward of an elementwise op of one's own: the user's function, and what is made sure of around it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np


class ElementByElement:
    """A user's function on arrays, whose results have the shape that the operands broadcast to.

    Scalars come out as NumPy's, and never the memory of an operand: an op's result is a value of its own.
    """

    def __init__(self, name: str, function: Callable[..., Any]):
        self.name, self.function = name, function
        self.__signature__ = inspect.signature(function)

    def __call__(self, *operands: Any, **params: Any) -> Any:
        z = self.function(*operands, **params)
        if type(z) is not np.ndarray or not z.ndim:
            z = np.asarray(z)[()]
        elif z.base is not None or any(z is x for x in operands):
            z = z.copy()
        if z.shape != self.shape(operands):
            raise RuntimeError(
                f"{self.name} is declared elementwise, so its result must have the shape {self.shape(operands)} that "
                f"its operands broadcast to; its forward gave {z.shape}.\nDeclare it with ops.general if it mixes "
                "elements."
            )
        return z

    @staticmethod
    def shape(operands: tuple[Any, ...]) -> tuple[int, ...]:
        """The shape that operands broadcast to."""
        shapes = [getattr(x, "shape", ()) for x in operands]
        return shapes[0] if len(set(shapes)) == 1 else np.broadcast_shapes(*shapes)
