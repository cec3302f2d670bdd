"""What Python asks of a number or a sequence: ``float()``, ``len``, iteration, pickle, deepcopy."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..base.errors import warn_left
from ..base.tensor import Tensor, Theme
from ..recording.leaf import leaf


class PythonMethods(Theme):
    """What Python asks of a number or a sequence."""

    __slots__ = ()

    def item(self) -> Any:
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

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers, or one number."""
        return self._data.tolist()

    def __float__(self) -> float:
        """The only element as Python's float; warns where a history is left behind."""
        value = float(self.item())
        if self._node is not None:
            warn_left("float")
        return value

    def __int__(self) -> int:
        """The only element as Python's int; warns where a history is left behind."""
        value = int(self.item())
        if self._node is not None:
            warn_left("int")
        return value

    def __complex__(self) -> complex:
        """The only element as Python's complex; warns where a history is left behind."""
        value = complex(self.item())
        if self._node is not None:
            warn_left("complex")
        return value

    def __bool__(self) -> bool:
        if self._spec.size != 1:
            raise RuntimeError(
                f"Boolean value of Tensor with {'more than one value' if self._spec.size else 'no values'} is "
                f"ambiguous; this one has shape {self._spec.shape}.\n"
                "Use .all() or .any(), or tape.where() to choose element by element."
            )
        return bool(self._data.item())

    def __index__(self) -> int:
        if self._spec.size != 1 or self.dtype.kind not in "biu":
            raise TypeError(
                "only an integer tensor of one element can be used as an index or a count; "
                f"this one is {self.dtype} of shape {self._spec.shape}"
            )
        return int(self._data.item())

    def __len__(self) -> int:
        if not self._spec.shape:
            raise TypeError("a tensor without axes has no length")
        return self._spec.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        if not self._spec.shape:
            raise TypeError("a tensor without axes cannot be iterated over; use .item() to read its value")
        return iter([self[k] for k in range(self._spec.shape[0])])

    def __contains__(self, element: Any) -> bool:
        value = element._data if isinstance(element, Tensor) else element
        return bool(np.equal(self._data, value).any())

    def __reduce_ex__(self, protocol: Any) -> Any:
        """The numbers and whether they require grad; history and hooks stay behind."""
        return leaf, (self._data, self._node is not None)

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        if not self.is_leaf:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol; this one "
                f"was computed ({self.grad_fn.name()}).\n"  # type: ignore[union-attr]
                "Copy its value with .detach().clone(), or within the history with .clone()."
            )
        if id(self) in memo:
            return memo[id(self)]
        made = memo[id(self)] = leaf(copy.deepcopy(self._data), self._node is not None)
        made._grad = copy.deepcopy(self._grad, memo)
        return made
