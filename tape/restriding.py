"""In-place changes of the shape: ``t_``, ``transpose_``, ``squeeze_``, ``unsqueeze_``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .functions import FUNCTIONS
from .rebase import check_free, is_tracked
from .tensor import Tensor, method
from .version import increment, note_refit
from .views import children, link, look_of, sever


def _restride(name: str, compute: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The method that makes of a tensor, itself, the view that a function gives of it."""
    operation = f"{name}_()"

    def change(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if is_tracked(self, ()):
            check_free(self, operation)
        elif self._node is not None and not self.is_leaf:
            raise RuntimeError(
                f"{operation} would give this tensor another shape than its history has, because nothing is recorded "
                f"here.\nCall {operation} where operations are recorded, or take the view y = x.{name}(…)."
            )
        result = compute(self, *args, **kwargs)
        old, steps = self._spec, look_of(result).steps  # type: ignore[union-attr]
        above = look_of(self)
        if children(self):
            # The views that are there are made of what this tensor was, and so is the tensor itself from now on.
            link(self, sever(self), steps, None)
        elif above is not None:
            self._of = above._replace(steps=(*above.steps, *steps))
        if self._node is True and result._spec is not old:
            note_refit(self, old)
        self._data, self._spec = result._data, result._spec
        if self._node is not True:
            self._node = result._node
        increment(self, operation)
        return self

    change.__name__ = f"{name}_"
    change.__doc__ = f"`{name}` in place: the tensor itself gets that shape, and keeps its memory."
    return change


NAMES = ("t", "transpose", "swapaxes", "swapdims", "squeeze", "unsqueeze")
for _name in NAMES:
    method(_restride(_name, FUNCTIONS[_name]))


@method
def resize_(self: Tensor, *sizes: Any, **_: Any) -> Tensor:
    """Refused: memory here does not grow or shrink.

    Raises:
        RuntimeError: always.
    """
    raise RuntimeError(
        "resize_() is not supported: the memory of a tensor does not grow or shrink.\nMake a new tensor of the size "
        "that you need, tape.empty(sizes), or take a view of this one, x[:n]."
    )
