"""The tensor: a NumPy array that remembers the record which made it.

The class itself knows its value and its place in the history.  What else tensors can do is written in the rooms about
it, a class to each `Theme`; `tape.methods` lists the themes and puts them under `Tensor`.  What tensors of different
kinds ask each other is in `tape.base.kind`.
"""

from __future__ import annotations

import math
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from .kind import TensorKind


class Size(tuple[int, ...]):
    """Length of each axis.

    >>> Size([3, 5]), Size([3, 5]).numel()
    (Size([3, 5]), 15)
    """

    __slots__ = ()

    def numel(self) -> int:
        """Number of elements of a tensor of this shape."""
        return math.prod(self)

    def __repr__(self) -> str:
        return f"Size({list(self)})"

    def __getitem__(self, index: Any) -> Any:
        found = tuple.__getitem__(self, index)
        return Size(found) if isinstance(index, slice) else found

    def __add__(self, other: Any) -> Size:
        return Size(tuple.__add__(self, tuple(other)))


if TYPE_CHECKING:
    from ..methods import Methods  # a stub: what the themes add, see `tape.stubs`
    from .spec import Spec
else:
    Methods = TensorKind  # until `tape.methods` has put the themes under the class


class Tensor(Methods):
    """An array of numbers that takes part in differentiation.

    Called with ``args`` as in old PyTorch, ``Tensor([1, 3])`` holds those numbers and ``Tensor(2, 3)`` zeros of
    that shape, both in the default dtype; prefer `tape.tensor` and `tape.zeros`.

    >>> import tape
    >>> x = tape.tensor([1.0, 2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4.])
    """

    __slots__ = ("__dict__", "__weakref__", "_among", "_data", "_node", "_of", "_spec", "_views")

    # What is rarely used lives in the instance's dictionary, over the defaults below.
    _data: Any  # the value: an array, or a NumPy scalar where there are no axes
    _node: Any  # None where no gradient flows, True for a leaf that requires grad, else the handle of its record
    _spec: Spec
    _of: Any  # how it is a view of another tensor; its `Views`, and those that it is among (`tape.recording.views`)
    _among: Any
    _views: Any
    _was: Any = None  # the scalar that it held before others could look at its memory
    _versions: list[int] | None = (
        None  # how often it was changed, where it counts for itself (`tape.recording.version`)
    )
    _silent = False  # and whether nobody is told
    _readonly = False
    _inference = False  # whether it was made in inference mode
    _grad: Tensor | None = None
    _chain: Any = None  # the hooks of a leaf (`tape.history.chain`)
    _retains = False  # whether `retain_grad` was called
    _accumulator: Any = None  # the node of a leaf
    _counted = False  # whether a record has counted its bytes
    _loan: Any = None  # what knows that its handle is held (`tape.history.hooks`)
    _born: int = -1  # of a leaf of a derivative, the last record before it was made; else it is not known
    _worn: Any = None  # weakly, the tensor of the user's that became a layer over this one (`tape.memory.adopting`)
    _held: Any = None  # the base, where a layer over a view has to keep it alive

    __hash__ = object.__hash__

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


STATE = tuple(
    name for name, value in vars(Tensor).items() if name[:2] != "__" and name[0] == "_" and not callable(value)
)
"""The names of what a tensor holds, which a layer over it shares."""


class Narrow(Tensor):
    """A tensor of 16-bit floating point numbers, which `tape.recording.halves` computes with in 32 bits.

    It is a class of its own so that `tape.recording.short_ways` does not take it, and pays nothing for it.
    """

    __slots__ = ()


if TYPE_CHECKING:
    Theme = Tensor  # whose methods are called on tensors alone
else:

    class Theme:
        """Some methods of `Tensor` about one thing, where the functions that they need are."""

        __slots__ = ()

        def __init_subclass__(cls) -> None:
            """Let the methods be called in errors what users call them."""
            for name, value in vars(cls).items():
                function = value.fget if type(value) is property else value
                if type(function) is FunctionType and function.__qualname__ == f"{cls.__qualname__}.{name}":
                    function.__qualname__ = f"Tensor.{name}"


class Face:
    """Something with NumPy's names and semantics that holds a tensor: the arrays of `tape.numpy`."""

    __slots__ = ("__weakref__", "_tensor")

    _tensor: Tensor
