"""The tensor: a NumPy array that remembers the record which made it.

The class itself knows its value and its place in the history.  What else tensors can do is
written in the rooms about it (`attributes`, `methods`, `inplace`, …), each of which adds to the
class with `method` and `attribute`; so the list of files is the table of contents.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

import ops
from ops import Operators

from .size import Size

if TYPE_CHECKING:
    from ..methods import Methods  # a stub: what the rooms add, see `tape.stubs`
    from .spec import Spec
else:
    Methods = Operators

F = TypeVar("F", bound=Callable[..., Any])


class Tensor(Methods):
    """An array of numbers that takes part in differentiation.

    A tensor holds its value (`_data`: an array, or a NumPy scalar where it has no axes), its
    place in the history (`_node`: None where no gradient flows, True for a leaf that requires
    grad, else the handle of its record) and its `Spec`.  Everything else is rarely used and
    lives in the instance dictionary over the defaults below.

    Called with ``args`` as in old PyTorch, ``Tensor([1, 3])`` holds those numbers and ``Tensor(2, 3)`` zeros of
    that shape, both in the default dtype; prefer `tape.tensor` and `tape.zeros`.

    >>> import tape
    >>> x = tape.tensor([1.0, 2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4.])
    """

    __slots__ = ("__dict__", "__weakref__", "_among", "_data", "_node", "_of", "_spec", "_views")

    _data: Any
    _node: Any
    _spec: Spec
    _of: Any
    _among: Any
    _views: Any
    _counted = False
    _grad: Tensor | None = None
    _chain: Any = None
    _retains = False
    _inference = False
    _loan: Any = None
    _accumulator: Any = None
    _versions: list[int] | None = None
    _silent = False
    _was: Any = None
    _worn: Any = None
    _held: Any = None
    _readonly = False

    __hash__ = object.__hash__

    def __memory__(self) -> Any:
        """What it shares with all that see the same memory: the base of its views."""
        raise NotImplementedError

    def __unrecorded__(self, what: str) -> None:
        """Something was done that a function which is being recorded must not do with its tensors."""

    def __carries__(self) -> bool:
        """Whether a gradient would be lost if the numbers left the recording."""
        return self._node is not None

    def __own__(self) -> Tensor:
        """The same tensor with memory of its own."""
        return ops.clone(self)

    def __seek__(self, sought: bool) -> None:
        """A gradient with respect to this tensor is taken of what a function computes from here on, or no more."""

    def __indexes__(self) -> Any:
        """How to read by an index that this is part of, where it cannot be by its numbers."""
        return None

    if TYPE_CHECKING:
        __bind__: Any  # given by the room that records
        __alter__: Any  # given by the room about operations in place, as the next two
        __assign__: Any
        __check_free__: Any
        __is_shared__: Any  # given by the room about versions
        __as_it_is__: Any  # given by the room about batches
        __lies__: Any  # given by the room about storage

        def __init__(self, *args: Any, **kwargs: Any) -> None: ...

    @property
    def shape(self) -> Size:
        """Length of each axis."""
        return Size(self._spec.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the elements."""
        return self._spec.dtype

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self._spec.ndim

    @property
    def is_leaf(self) -> bool:
        """Whether no record made this tensor: created by the user, or without a gradient."""
        return self._node is None or self._node is True


class Narrow(Tensor):
    """A tensor of 16-bit floating point numbers, which `tape.recording.halves` computes with in 32 bits.

    It is a class of its own so that `tape.recording.short_ways` does not take it, and pays nothing for it.
    """

    __slots__ = ()


class Face:
    """Something with NumPy's names and semantics that holds a tensor: the arrays of `tape.numpy`."""

    __slots__ = ("__weakref__", "_tensor")

    _tensor: Tensor


def method(function: F) -> F:
    """Make a function a method of `Tensor`."""
    setattr(Tensor, function.__name__, function)
    function.__qualname__ = f"Tensor.{function.__name__}"
    return function


def attribute(getter: Callable[[Tensor], Any]) -> property:
    """Make a function a property of `Tensor`; give it a setter with `settable`."""
    made = property(getter)
    setattr(Tensor, getter.__name__, made)
    return made


def settable(made: property, setter: Callable[[Tensor, Any], None], deleter: Any = None) -> None:
    """Give a property of `Tensor` a setter, and maybe a deleter."""
    assert made.fget is not None
    setattr(Tensor, made.fget.__name__, property(made.fget, setter, deleter, made.__doc__))
