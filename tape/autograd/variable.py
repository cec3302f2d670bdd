"""``Variable``, which tensors have replaced: it makes a tensor, and every tensor is one."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ..base.tensor import Tensor
from ..recording.leaf import leaf
from ..recording.views import materialise
from ..recording.wengert import current


class Engine:
    """What runs a backward, as far as programs ask for it."""

    __slots__ = ()

    def queue_callback(self, callback: Callable[[], Any]) -> None:
        """Call a function at the end of the backward that is under way, when all gradients are there.

        Raises:
            RuntimeError: outside a backward.
        """
        task = current().task
        if task is None:
            raise RuntimeError(
                "Final callbacks can only be installed during backward pass: in a hook, or in a function's backward."
            )
        task.callbacks.append(callback)


class _VariableMeta(type):
    def __call__(cls, data: Any = None, requires_grad: bool = False, volatile: bool = False) -> Tensor:
        if volatile:
            warnings.warn("volatile does nothing any more; use `tape.no_grad()`", DeprecationWarning, stacklevel=2)
        if data is None:
            return Tensor(requires_grad=requires_grad)
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable() wraps a tensor; got {type(data).__name__}. Make one with tape.tensor().")
        return leaf(materialise(data), requires_grad)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=_VariableMeta):
    """``Variable(tensor, requires_grad=True)``: a leaf on the same memory.

    ``Variable._execution_engine.queue_callback(f)``, in a hook, calls ``f()`` at the end of the backward.

    >>> import tape
    >>> x = Variable(tape.ones(2), requires_grad=True)
    >>> x, isinstance(x, Variable)
    (tensor([1., 1.], requires_grad=True), True)
    """

    _execution_engine = Engine()
