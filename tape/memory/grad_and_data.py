"""What a tensor says about its gradient and its memory: ``.grad``, ``.data``, ``.detach()``."""

from __future__ import annotations

import warnings
from typing import Any

from ..base.spec import Spec, spec_of
from ..base.tensor import Narrow, Tensor, Theme
from ..recording.inference import alike
from ..recording.recorder import wrap
from ..recording.version import count, count_of, note_refit, own_count, share_count
from ..recording.views import base_of, is_related, materialise, sever, twin


class DataMethods(Theme):
    """The gradient of a tensor, and its memory without a history."""

    __slots__ = ()

    @property
    def grad(self) -> Tensor | None:
        """The gradient that backward passes have accumulated, or None.

        Only leaves keep one, and tensors on which `retain_grad` was called.  May be set to None or to
        a tensor of the same shape and dtype.
        """
        if self._grad is None and not self.is_leaf and not self._retains:
            warnings.warn(
                "the .grad of a tensor that is not a leaf is not kept, so this is None.\n"
                "Call .retain_grad() on the tensor before backward() to keep it, or read the .grad of the leaf you "
                "meant.",
                stacklevel=2,
            )
        return self._grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None:
            _check_grad(self, value)
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    @property
    def data(self) -> Tensor:
        """The same memory without history; changes through it are not noticed by backward.

        Assigning it puts other memory, of any shape, under this tensor.
        """
        return twin(self, alike(own_count(wrap(materialise(self))), self))

    @data.setter
    def data(self, value: Tensor) -> None:
        if not isinstance(value, Tensor):
            raise TypeError(f".data must be a tensor; got {type(value).__name__}. Convert it with tape.as_tensor().")
        if self._node is not None and not value._spec.inexact:
            raise RuntimeError(
                f"the .data of a tensor that requires grad must be floating point or complex dtype; got {value.dtype}"
            )
        put_under(self, materialise(value), value._spec)

    @data.deleter
    def data(self) -> None:
        raise RuntimeError(
            "the .data of a tensor cannot be deleted; delete the tensor, or assign another tensor to .data"
        )

    def detach(self) -> Tensor:
        """A tensor on the same memory, outside the history.

        >>> import tape
        >>> x = tape.ones(2, requires_grad=True)
        >>> (x * 2).detach()
        tensor([2., 2.])
        """
        shared = wrap(materialise(self))
        share_count(self, shared)
        return twin(self, alike(shared, self))

    def detach_(self) -> Tensor:
        """Take this tensor itself out of the history: it becomes a leaf that does not require grad.

        Raises:
            RuntimeError: on a view, whose base would stay in the history.
        """
        if self._is_view():
            raise RuntimeError(
                "Can't detach views in-place: the base would stay in the history.\n"
                "Use .detach(), or call detach_() on the base."
            )
        if self.is_leaf:
            return self.requires_grad_(False)
        self._node = None
        return self

    def _is_view(self) -> bool:
        """Whether this is a look at another tensor's memory; of tensors made in inference mode that is not told."""
        return base_of(self) is not self and not self._inference

    def is_inference(self) -> bool:
        """Whether this tensor was made in `inference_mode`."""
        return self._inference

    @property
    def _base(self) -> Tensor | None:
        """The tensor whose memory this is a view of; None where it is no view."""
        base = base_of(self)
        return None if base is self else base

    @property
    def _version(self) -> int:
        """Number of in-place changes of this memory, through this tensor, its views or detached twins."""
        if self._inference:
            raise RuntimeError(
                "Inference tensors do not track version counter: nothing saves them, so nothing checks it"
            )
        return count(self)


def _check_grad(tensor: Tensor, value: Any) -> None:
    if not isinstance(value, Tensor):
        kind = type(value).__name__
        raise TypeError(
            f"assigned grad expected to be a Tensor or None but got grad of type {kind}. "
            "Convert it with tape.as_tensor()."
        )
    if value is tensor:
        raise RuntimeError("a tensor cannot be its own .grad; assign a copy: x.grad = x.detach().clone()")
    if value._spec.shape != tensor._spec.shape:
        raise RuntimeError(
            f"attempting to assign a gradient of size '{list(value._spec.shape)}' to a tensor of size "
            f"'{list(tensor._spec.shape)}'; .grad must have the shape of its tensor"
        )
    if value.dtype != tensor.dtype:
        raise RuntimeError(
            f".grad must have the dtype of its tensor: the tensor is {tensor.dtype}, the assigned gradient "
            f"{value.dtype}; convert it with .to(x.dtype)"
        )


def put_under(tensor: Tensor, array: Any, spec: Spec | None = None) -> None:
    """Put other memory under a tensor, whose count of changes, shared with the views that it had, goes on."""
    spec, before = spec or spec_of(array), count(tensor)
    if is_related(tensor):
        past, tensor._versions = sever(tensor), None
        if past._versions is None:
            past._versions = [before]
        tensor._versions = past._versions
    elif before != count_of(array):
        tensor._versions = [before]
    if tensor._node is True and spec is not tensor._spec:
        note_refit(tensor, tensor._spec)
    if type(tensor) is not spec.tensor and type(tensor) in (Tensor, Narrow):
        tensor.__class__ = spec.tensor
    tensor._data = array
    tensor._spec = spec
