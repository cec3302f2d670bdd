"""In-place changes of the shape: ``t_``, ``transpose_``, ``squeeze_``, ``unsqueeze_``, ``as_strided_``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..base.signatures import like
from ..base.spec import Spec
from ..base.tensor import Tensor
from ..recording.calls import method
from ..recording.functions import FUNCTIONS
from ..recording.inference import check_changeable
from ..recording.version import increment, note_refit
from ..recording.views import ViewStep, children, link, look_of, sever
from ..recording.wengert import current
from . import choosing, shaping, storage  # noqa: F401  (their functions are public, and have a form here)
from .rebase import check_free, is_tracked


def _restride(name: str, compute: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The method that makes of a tensor, itself, the view that a function gives of it."""
    operation = f"{name}_()"

    def change(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        self._become(operation, lambda: compute(self, *args, **kwargs))
        return self

    change.__name__ = f"{name}_"
    change.__doc__ = f"`{name}` in place: the tensor itself gets that shape, and keeps its memory."
    return like(change, compute, "self", out=False)


def become(tensor: Tensor, operation: str, compute: Callable[[], Tensor]) -> None:
    """Make of a plain tensor the view that a function gives of it, or of the one that it is itself a view of."""
    if tensor._inference:
        check_changeable(tensor, operation)
    if is_tracked(tensor, ()):
        check_free(tensor, operation)
    above, old, (data, node, spec, made) = look_of(tensor), tensor._spec, _parts(tensor, compute)
    bar = None if above is None else above.bar
    if made is not None and children(tensor):
        # The views that are there are made of what this tensor was, and so is the tensor itself from now on.
        past = sever(tensor)
        link(tensor, past if made.parent is tensor else made.parent, made.steps, bar)
    elif made is not None and made.parent is not tensor:
        link(tensor, made.parent, made.steps, bar)
    elif made is not None and above is not None:
        tensor._of = above._replace(steps=(*above.steps, *made.steps))
    if tensor._node is True and spec is not old:
        note_refit(tensor, old)
    tensor._data, tensor._spec = data, spec
    if tensor._node is not True:
        tensor._node = node
    increment(tensor, operation)


def _parts(tensor: Tensor, compute: Callable[[], Tensor]) -> tuple[Any, Any, Spec, ViewStep | None]:
    """What a view is made of, which is then gone.

    A tensor with a history has it recorded under `no_grad` too: that would else be of another shape than the tensor.
    """
    wengert = current()
    before = wengert.recording
    try:
        wengert.recording = before or (tensor._node is not None and not tensor.is_leaf)
        view = compute()
    finally:
        wengert.recording = before
    return view._data, view._node, view._spec, look_of(view)


NAMES = ("as_strided", "t", "transpose", "swapaxes", "swapdims", "squeeze", "unsqueeze")
for _name in NAMES:
    method(_restride(_name, FUNCTIONS[_name]))
