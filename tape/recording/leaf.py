"""Leaves: tensors that no record made."""

from __future__ import annotations

from _thread import get_ident
from collections.abc import Callable
from typing import Any
from weakref import WeakValueDictionary

from ..base.device import check_device
from ..base.tensor import Tensor, Theme
from .recorder import wrap
from .views import base_of
from .wengert import INFERRING


def leaf(value: Any, requires_grad: bool = False, device: Any = None) -> Tensor:
    """A leaf around an array or NumPy scalar, which is not copied."""
    if device is not None:
        check_device(device)
    made = wrap(value)
    if requires_grad:
        require(made)
    return made


VARIABLES: WeakValueDictionary[int, Tensor] = WeakValueDictionary()
"""By key, the leaves that derivatives of functions have made: once these are taken, what depends on them is plain."""

RECORDED: list[Callable[[Tensor], Tensor]] = []
"""What gives a tensor that a derivative is taken with respect to as a record of the program that is being recorded."""


FOLLOWING: list[Callable[[Tensor], None]] = []
"""What lets the views of a tensor follow that requires grad from now on."""


def recorded(tensor: Tensor) -> Tensor:
    """A tensor as a record, where the function is being recorded that uses it; elsewhere the tensor itself."""
    for as_record in RECORDED:
        tensor = as_record(tensor)
    return tensor


def require(tensor: Tensor) -> None:
    """Let gradients flow to a leaf.

    Raises:
        RuntimeError: if its elements are integers or booleans.
    """
    if not tensor._spec.inexact:
        raise RuntimeError(
            "Only Tensors of floating point and complex dtype can require gradients; this one is "
            f"{tensor.dtype}.\n"
            "Write its numbers as floats (1.0 instead of 1), or convert it: a tensor with .double(), an array with "
            ".astype(float)."
        )
    if tensor._inference and get_ident() not in INFERRING:
        raise RuntimeError(
            "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.\nUse a clone() of it."
        )
    tensor._node = True


class LeafMethods(Theme):
    """Whether gradients flow to a tensor."""

    __slots__ = ()

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Say whether gradients shall flow to this leaf; returns the tensor itself.

        Raises:
            RuntimeError: if the tensor is not a leaf, or not of a floating or complex dtype.
            TypeError: for anything but True and False.

        >>> import tape
        >>> tape.ones(2).requires_grad_()
        tensor([1., 1.], requires_grad=True)
        """
        if type(requires_grad) is not bool:
            raise TypeError(f"requires_grad_() takes True or False; got {type(requires_grad).__name__}")
        if not self.is_leaf:
            if not requires_grad:
                raise self._no_leaf_error()
        elif requires_grad:
            require(self)
            if getattr(self, "_views", None) is not None:
                for follow in FOLLOWING:
                    follow(self)
        else:
            self._node = None
        return self

    def _no_leaf_error(self) -> RuntimeError:
        node = self.grad_fn
        assert node is not None, "no leaf"
        return RuntimeError(
            f"you can only change requires_grad flags of leaf variables; this tensor was computed ({node.name()}).\n"
            "Use .detach() for a tensor outside the history."
        )

    @property
    def requires_grad(self) -> bool:
        """Whether gradients flow to this tensor; may be set on a leaf.

        A view that was made under `no_grad` has no history of its own, and says what its base says.
        """
        return self._node is not None or (base_of(self)._node is not None and not self._inference)

    @requires_grad.setter
    def requires_grad(self, flag: bool) -> None:
        if type(flag) is not bool:
            raise RuntimeError(f"requires_grad must be a bool: True or False; got {type(flag).__name__}")
        if not self.is_leaf:
            raise self._no_leaf_error()
        Tensor.requires_grad_(self, flag)

    @requires_grad.deleter
    def requires_grad(self) -> None:
        raise RuntimeError("requires_grad cannot be deleted; assign True or False")
