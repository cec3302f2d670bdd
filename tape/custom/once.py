"""``once_differentiable``: a backward that works on plain values, and must not be differentiated itself."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from ..base.row import X
from ..base.tensor import Tensor
from ..recording.recorder import operand
from ..recording.wengert import current
from .call import append_row, output_of
from .context import FunctionCtx
from .rules import UserCode

F = TypeVar("F", bound=Callable[..., Any])


def once_differentiable(function: F) -> F:
    """Decorate a ``backward`` that works on plain values: nothing in it is recorded.

    Its gradients can be used under ``create_graph=True``, but to differentiate them is an error.
    """

    @functools.wraps(function)
    def backward(ctx: Any, *grads: Any) -> Any:
        wengert = current()
        with UserCode(wengert):
            wengert.recording = False
            result = function(ctx, *grads)
        row = ctx._row() if isinstance(ctx, FunctionCtx) else None
        refs = [*(row[X] if row else ()), *map(operand, grads)]
        refs = [ref for ref in refs if ref is not None]
        if not wengert.recording or not refs:
            return result
        title = getattr(ctx, "_title", function.__qualname__)
        handle = append_row(wengert, tuple(refs), None, Once(title), None)
        bars = result if isinstance(result, (tuple, list)) else (result,)
        return tuple(
            [output_of(wengert, handle, i, x._data) if isinstance(x, Tensor) else x for i, x in enumerate(bars)]
        )

    return backward  # type: ignore[return-value]


class Once:
    """The ctx of gradients that must not be differentiated."""

    __slots__ = ("title",)

    def __init__(self, title: str):
        self.title = title

    def name(self) -> str:
        return "Error"

    def vjp(self, g: Any, wanted: tuple[int, ...], row: Any = None) -> list[Any]:
        raise RuntimeError(
            f"trying to differentiate twice a function that is marked once_differentiable: {self.title}.\nWrite its "
            "backward in tensor operations and take the mark away, or do not differentiate its gradient."
        )
