"""Hooks: functions that see an adjoint, and may replace it, when it is complete."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from .record import wrap
from .spec import Spec
from .tensor import Tensor, attribute, method
from .wengert import list_of

Hook = Callable[[Tensor], Any]
_numbers = itertools.count()


class RemovableHandle:
    """Takes a hook away again: by ``remove()``, or at the end of a ``with`` block."""

    __slots__ = ("_hooks", "id")

    def __init__(self, hooks: dict[int, Hook], hook: Hook):
        self._hooks = hooks
        self.id = next(_numbers)
        hooks[self.id] = hook

    def remove(self) -> None:
        """Do not call the hook any more; nothing happens the second time."""
        self._hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *_: Any) -> None:
        self.remove()


class Chain:
    """The hooks of one record: run in order of registration, then `retain_grad` captures."""

    __slots__ = ("hooks", "retained", "spec")

    def __init__(self, spec: Spec):
        self.spec = spec
        self.hooks: dict[int, Hook] = {}
        self.retained: weakref.ref[Tensor] | None = None

    def __call__(self, g: Any) -> Any:
        result = apply(self.hooks, g if isinstance(g, Tensor) else wrap(g), self.spec)
        tensor = None if self.retained is None else self.retained()
        if tensor is not None:
            mine = wrap(np.array(result._data)[()]) if result._node is None else result
            tensor._grad = mine if tensor._grad is None else tensor._grad + mine
        return result if isinstance(g, Tensor) else result._data


def apply(hooks: dict[int, Hook], g: Tensor, spec: Spec) -> Tensor:
    """Pass an adjoint through hooks."""
    for hook in tuple(hooks.values()):
        result = hook(g)
        if result is not None:
            g = _checked(result, spec, hook)
    return g


def _checked(result: Any, spec: Spec, hook: Hook) -> Tensor:
    name = getattr(hook, "__qualname__", repr(hook))
    if not isinstance(result, Tensor):
        raise TypeError(
            f"a gradient hook must return None or the tensor that replaces the gradient; {name} returned "
            f"{type(result).__name__}"
        )
    if result._spec.shape != spec.shape:
        raise RuntimeError(
            f"a gradient hook must keep the shape: the gradient has shape {spec.shape}, {name} returned one of shape "
            f"{result._spec.shape}"
        )
    if result.dtype != spec.dtype:
        raise RuntimeError(
            f"a gradient hook must keep the dtype: the gradient is {spec.dtype}, {name} returned {result.dtype}; "
            f"convert it with .to({spec.dtype})"
        )
    return result


def copy_of(handle: int) -> int:
    """The same number as another object: references to the handle itself are what keeps a record alive."""
    return handle + 1 - 1


def chain_of(handle: int, spec: Spec) -> Chain:
    """The hooks of a record, started if there are none."""
    wengert = list_of(handle)
    if handle not in wengert.hooks:
        wengert.prune_hooks()
        wengert.hooks[copy_of(handle)] = [Chain(spec)]
    return wengert.hooks[handle][0]


def _check_requires_grad(tensor: Tensor, what: str) -> None:
    if tensor._node is None:
        raise RuntimeError(
            f"{what} needs a tensor that requires grad, and this one does not: no gradient will ever reach it.\n"
            "Create it with requires_grad=True, or compute it from tensors that require grad."
        )


@method
def register_hook(self: Tensor, hook: Hook) -> RemovableHandle:
    """Call ``hook(grad)`` whenever the gradient with respect to this tensor has been computed.

    The hook may return a tensor that replaces the gradient.  Hooks run in order of registration.
    Returns a handle whose ``remove()`` takes the hook away.

    Raises:
        RuntimeError: if the tensor does not require grad.

    >>> import tape
    >>> x = tape.ones(2, requires_grad=True)
    >>> handle = x.register_hook(lambda grad: grad * 10)
    >>> x.sum().backward()
    >>> x.grad
    tensor([10., 10.])
    """
    _check_requires_grad(self, "register_hook()")
    if not callable(hook):
        raise TypeError(f"register_hook() takes a function of the gradient; got {type(hook).__name__}")
    if not self.is_leaf:
        return RemovableHandle(chain_of(self._node, self._spec).hooks, hook)
    if self._hooks is None:
        self._hooks = {}
    return RemovableHandle(self._hooks, hook)


@method
def register_post_accumulate_grad_hook(self: Tensor, hook: Callable[[Tensor], None]) -> RemovableHandle:
    """Call ``hook(tensor)`` whenever a gradient has been added to this leaf's ``.grad``.

    Raises:
        RuntimeError: if the tensor is not a leaf, or does not require grad.
    """
    _check_requires_grad(self, "register_post_accumulate_grad_hook()")
    if not self.is_leaf:
        raise RuntimeError("post-accumulate hooks are for leaves, where gradients accumulate; use register_hook() here")
    if self._after_accumulate is None:
        self._after_accumulate = {}
    return RemovableHandle(self._after_accumulate, hook)


@method
def retain_grad(self: Tensor) -> None:
    """Keep this tensor's gradient in ``.grad`` although it is not a leaf; nothing on a leaf.

    Raises:
        RuntimeError: if the tensor does not require grad.
    """
    _check_requires_grad(self, "retain_grad()")
    if not self.is_leaf:
        self._retains = True
        chain_of(self._node, self._spec).retained = weakref.ref(self)


@attribute
def retains_grad(self: Tensor) -> bool:
    """Whether `retain_grad` was called on this non-leaf."""
    return self._retains and not self.is_leaf
