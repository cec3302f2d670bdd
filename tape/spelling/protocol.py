"""What Python asks of a number or a sequence: ``float()``, ``len``, iteration, pickle, deepcopy."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..base.errors import warn_left
from ..base.tensor import Tensor, method
from ..recording.leaf import leaf


@method
def item(self: Tensor) -> Any:
    """The only element, as a Python number.

    Raises:
        RuntimeError: unless there is exactly one element.
    """
    if self._spec.size != 1:
        raise RuntimeError(
            f"a Tensor with {self._spec.size} elements cannot be converted to Scalar: only a tensor of one element "
            f"can become a Python number, and this one has shape {self._spec.shape}.\nReduce it (.sum(), .mean()), "
            "index it, or use .tolist()."
        )
    return self._data.item()


@method
def tolist(self: Tensor) -> Any:
    """The elements as nested lists of Python numbers, or one number."""
    return self._data.tolist()


def _conversion(name: str, convert: Callable[[Any], Any]) -> None:
    def conversion(self: Tensor) -> Any:
        value = convert(item(self))
        if self._node is not None:
            warn_left(convert.__name__)
        return value

    conversion.__name__ = name
    conversion.__doc__ = f"The only element as Python's {convert.__name__}; warns where a history is left behind."
    method(conversion)


_conversion("__float__", float)
_conversion("__int__", int)
_conversion("__complex__", complex)


@method
def __bool__(self: Tensor) -> bool:
    if self._spec.size != 1:
        raise RuntimeError(
            f"Boolean value of Tensor with {'more than one value' if self._spec.size else 'no values'} is ambiguous; "
            f"this one has shape {self._spec.shape}.\n"
            "Use .all() or .any(), or tape.where() to choose element by element."
        )
    return bool(self._data.item())


@method
def __index__(self: Tensor) -> int:
    if self._spec.size != 1 or self.dtype.kind not in "biu":
        raise TypeError(
            "only an integer tensor of one element can be used as an index or a count; "
            f"this one is {self.dtype} of shape {self._spec.shape}"
        )
    return int(self._data.item())


@method
def __len__(self: Tensor) -> int:
    if not self._spec.shape:
        raise TypeError("a tensor without axes has no length")
    return self._spec.shape[0]


@method
def __iter__(self: Tensor) -> Iterator[Tensor]:
    if not self._spec.shape:
        raise TypeError("a tensor without axes cannot be iterated over; use .item() to read its value")
    return iter([self[k] for k in range(self._spec.shape[0])])


@method
def __contains__(self: Tensor, element: Any) -> bool:
    value = element._data if isinstance(element, Tensor) else element
    return bool(np.equal(self._data, value).any())


@method
def __reduce_ex__(self: Tensor, protocol: Any) -> Any:
    """The numbers and whether they require grad; history and hooks stay behind."""
    return leaf, (self._data, self._node is not None)


@method
def __deepcopy__(self: Tensor, memo: dict[int, Any]) -> Tensor:
    if not self.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol; this one was "
            f"computed ({self.grad_fn.name()}).\nCopy its value with .detach().clone(), or within the history with "  # type: ignore[union-attr]
            ".clone()."
        )
    if id(self) in memo:
        return memo[id(self)]
    made = memo[id(self)] = leaf(copy.deepcopy(self._data), self._node is not None)
    made._grad = copy.deepcopy(self._grad, memo)
    return made
