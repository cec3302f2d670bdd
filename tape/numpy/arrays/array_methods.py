"""The methods of arrays: elementwise work, sums, extremes, sorting, other shapes, changes in place.

Each is NumPy's of that name, with views where NumPy gives views, and copies in NumPy's orders.
"""

from __future__ import annotations

import operator
from typing import Any, SupportsIndex

import numpy as np

import ops

from ...base.errors import note
from .attributes import Attributes, writeable
from .face_base import Axis, absent, numpy, told
from .leaving import plain, refusal
from .memory_order import copied, in_a_row, resolved
from .unusual_calls import asking


@asking
class Reductions(Attributes):
    """The methods of `numpy.ndarray` that compute."""

    __slots__ = ()

    def conj(self, out: Any = None) -> Any:
        """Complex conjugates."""
        return self if out is None and self.dtype.kind != "c" else numpy.conjugate(self, **told(out=out))

    conjugate = conj

    def round(self, decimals: SupportsIndex = 0, out: Any = None) -> Any:
        """Rounded to so many decimals."""
        return numpy.round(self, operator.index(decimals), out=out)

    def clip(self, min: Any = absent, max: Any = absent, out: Any = None, **kwargs: Any) -> Any:
        """Limited to an interval; ``kwargs`` are those of NumPy's ufuncs."""
        low, high = (None if x is absent else x for x in (min, max))
        return numpy.clip(self, low, high, out=out, **kwargs)

    def sum(
        self, axis: Axis = None, dtype: Any = None, out: Any = None, keepdims: bool = False, initial: Any = absent,
        where: Any = absent,
    ) -> Any:  # fmt: skip
        """Sum over axes."""
        how = told(dtype=dtype, out=out, keepdims=keepdims, initial=initial, where=where)
        return numpy.sum(self, axis=axis, **how)

    def prod(
        self, axis: Axis = None, dtype: Any = None, out: Any = None, keepdims: bool = False, initial: Any = absent,
        where: Any = absent,
    ) -> Any:  # fmt: skip
        """Product over axes."""
        how = told(dtype=dtype, out=out, keepdims=keepdims, initial=initial, where=where)
        return numpy.prod(self, axis=axis, **how)

    def mean(
        self, axis: Axis = None, dtype: Any = None, out: Any = None, keepdims: bool = False, *, where: Any = absent
    ) -> Any:
        """Mean over axes."""
        return numpy.mean(self, axis=axis, **told(dtype=dtype, out=out, keepdims=keepdims, where=where))

    def var(
        self, axis: Axis = None, dtype: Any = None, out: Any = None, ddof: float = 0, keepdims: bool = False, *,
        where: Any = absent, mean: Any = absent,
    ) -> Any:  # fmt: skip
        """Variance over axes."""
        how = told(dtype=dtype, out=out, ddof=ddof, keepdims=keepdims, where=where, mean=mean)
        return numpy.var(self, axis=axis, **how)

    def std(
        self, axis: Axis = None, dtype: Any = None, out: Any = None, ddof: float = 0, keepdims: bool = False, *,
        where: Any = absent, mean: Any = absent,
    ) -> Any:  # fmt: skip
        """Standard deviation over axes."""
        how = told(dtype=dtype, out=out, ddof=ddof, keepdims=keepdims, where=where, mean=mean)
        return numpy.std(self, axis=axis, **how)

    def max(
        self, axis: Axis = None, out: Any = None, keepdims: bool = False, initial: Any = absent, where: Any = absent
    ) -> Any:
        """Largest element, over axes."""
        return numpy.max(self, axis=axis, **told(out=out, keepdims=keepdims, initial=initial, where=where))

    def min(
        self, axis: Axis = None, out: Any = None, keepdims: bool = False, initial: Any = absent, where: Any = absent
    ) -> Any:
        """Smallest element, over axes."""
        return numpy.min(self, axis=axis, **told(out=out, keepdims=keepdims, initial=initial, where=where))

    def all(
        self, axis: Axis = None, dtype: Any = None, out: Any = None, keepdims: bool = False, *, where: Any = absent
    ) -> Any:
        """Whether all elements hold, over axes."""
        return numpy.all(self, axis=axis, **told(dtype=dtype, out=out, keepdims=keepdims, where=where))

    def any(
        self, axis: Axis = None, dtype: Any = None, out: Any = None, keepdims: bool = False, *, where: Any = absent
    ) -> Any:
        """Whether any element holds, over axes."""
        return numpy.any(self, axis=axis, **told(dtype=dtype, out=out, keepdims=keepdims, where=where))

    def argmax(self, axis: SupportsIndex | None = None, out: Any = None, *, keepdims: bool = False) -> Any:
        """Place of the largest element."""
        return numpy.argmax(self, axis, **told(out=out, keepdims=keepdims))

    def argmin(self, axis: SupportsIndex | None = None, out: Any = None, *, keepdims: bool = False) -> Any:
        """Place of the smallest element."""
        return numpy.argmin(self, axis, **told(out=out, keepdims=keepdims))

    def argsort(
        self, axis: SupportsIndex | None = -1, kind: Any = None, order: Any = None, *, stable: bool | None = None
    ) -> Any:
        """The places that would sort."""
        return numpy.argsort(self, axis, **told(kind=kind, stable=stable))

    def cumsum(self, axis: SupportsIndex | None = None, dtype: Any = None, out: Any = None) -> Any:
        """Sums up to each element."""
        return numpy.cumsum(self, axis, **told(dtype=dtype, out=out))

    def cumprod(self, axis: SupportsIndex | None = None, dtype: Any = None, out: Any = None) -> Any:
        """Products up to each element."""
        return numpy.cumprod(self, axis, **told(dtype=dtype, out=out))

    def trace(
        self, offset: SupportsIndex = 0, axis1: SupportsIndex = 0, axis2: SupportsIndex = 1, dtype: Any = None,
        out: Any = None,
    ) -> Any:  # fmt: skip
        """Sum of a diagonal."""
        return numpy.trace(self, operator.index(offset), axis1, axis2, **told(dtype=dtype, out=out))

    def repeat(self, repeats: Any, axis: SupportsIndex | None = None) -> Any:
        """Each element so many times."""
        return numpy.repeat(self, repeats, axis)

    def take(self, indices: Any, axis: SupportsIndex | None = None, out: Any = None, mode: str = "raise") -> Any:
        """Elements at places along an axis."""
        indices = np.empty(0, int) if isinstance(indices, list) and not indices else indices
        return numpy.take(self, indices, axis, **told(out=out, mode=None if mode == "raise" else mode))

    def compress(self, condition: Any, axis: SupportsIndex | None = None, out: Any = None) -> Any:
        """The entries along an axis where a condition holds."""
        return numpy.compress(condition, self, axis, **told(out=out))

    def choose(self, choices: Any, *others: Any, out: Any = None, mode: str = "raise") -> Any:
        """From the arrays of a sequence, or beside ``others``, at each place the one that the number there says."""
        choices = (choices, *others) if others else choices
        return numpy.choose(self, choices, **told(out=out, mode=None if mode == "raise" else mode))

    def nonzero(self) -> Any:
        """The places of what is not zero, an array for each axis."""
        return numpy.nonzero(self)

    def searchsorted(self, v: Any, side: str = "left", sorter: Any = None) -> Any:
        """Where values belong in order."""
        return numpy.searchsorted(self, v, side, sorter)


@asking
class Shapes(Attributes):
    """The methods of `numpy.ndarray` that give its elements in another shape."""

    __slots__ = ()

    def reshape(self, *shape: Any, order: str = "C", copy: bool | None = None) -> Any:
        """The elements in another shape: lengths one by one, or a tuple, as ``shape``.

        Raises:
            ValueError: if they do not fit, or would have to be copied and must not be.
        """
        if not shape:
            raise TypeError("reshape() takes exactly 1 argument (0 given)")
        lengths = plain(shape[0] if len(shape) == 1 else shape)
        lengths = tuple(lengths) if isinstance(lengths, (tuple, list, np.ndarray)) else (lengths,)
        if resolved(self._tensor, order) == "F":
            return self.transpose().reshape(lengths[::-1], copy=copy).transpose()
        tensor = copied(self._tensor, "C") if copy else self._tensor
        made = ops.reshape(tensor, shape=tuple(map(operator.index, lengths)))
        if copy is False and made._memory() is not tensor._memory():
            raise ValueError("Unable to avoid creating a copy while reshaping.")
        return self._viewed(made)

    def ravel(self, order: str = "C") -> Any:
        """The elements in a row, a view where they lie so."""
        return self._viewed(in_a_row(self._tensor, order))

    def flatten(self, order: str = "C") -> Any:
        """A copy of the elements in a row."""
        return self._array(copied(in_a_row(self._tensor, order)))

    def transpose(self, *axes: Any) -> Any:
        """The array with its ``axes`` in another order, all reversed without, a view."""
        return self._viewed(numpy.transpose(self, axes[0] if len(axes) == 1 else axes or None)._tensor)

    def swapaxes(self, axis1: SupportsIndex, axis2: SupportsIndex) -> Any:
        """The array with two axes exchanged, a view."""
        return self._viewed(numpy.swapaxes(self, axis1, axis2)._tensor)

    def squeeze(self, axis: Axis = None) -> Any:
        """The array without axes of length 1, a view."""
        axis = axis if axis is None or isinstance(axis, tuple) else operator.index(axis)
        return self._viewed(numpy.squeeze(self, axis)._tensor)

    def diagonal(self, offset: SupportsIndex = 0, axis1: SupportsIndex = 0, axis2: SupportsIndex = 1) -> Any:
        """The elements on a diagonal, not to be written."""
        return numpy.diagonal(self, operator.index(offset), axis1, axis2)

    def copy(self, order: str = "C") -> Any:
        """A copy, in row-major order unless another is asked for."""
        return self._like(copied(self._tensor, order))

    def __copy__(self) -> Any:
        return self.copy("K")

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return memo.setdefault(id(self), self.copy("K"))


@asking
class ArraysAlone(Attributes):
    """The methods of `numpy.ndarray` that NumPy's scalars do not have."""

    __slots__ = ()

    def argpartition(
        self, kth: Any, axis: SupportsIndex | None = -1, kind: str = "introselect", order: Any = None
    ) -> Any:
        """The places that would partition."""
        return numpy.argpartition(self, kth, axis, kind)

    def dot(self, b: Any, out: Any = None) -> Any:
        """Product with a vector or matrix."""
        return numpy.dot(self, b, **told(out=out))


@asking
class Changes(Attributes):
    """The methods of `numpy.ndarray` that change it."""

    __slots__ = ()

    def __delitem__(self, index: Any) -> None:
        raise ValueError("cannot delete array elements")

    def fill(self, value: Any) -> None:
        """Set every element to one number."""
        self[...] = bool(value) if self.dtype.kind == "b" and isinstance(value, (list, tuple)) else value

    def put(self, indices: Any, values: Any, mode: str = "raise") -> None:
        """Values at places counted through the flattened array."""
        numpy.put(self, indices, values, mode)

    def sort(
        self, axis: SupportsIndex = -1, kind: Any = None, order: Any = None, *, stable: bool | None = None
    ) -> None:
        """Sort in place."""
        self[...] = numpy.sort(self, operator.index(axis), kind, stable=stable)

    def partition(self, kth: Any, axis: SupportsIndex = -1, kind: str = "introselect", order: Any = None) -> None:
        """Partition in place."""
        self[...] = numpy.partition(self, kth, operator.index(axis), kind)

    def resize(self, *new_shape: Any, refcheck: bool = True) -> None:
        """Another shape, ``new_shape``, for the same memory.

        Raises:
            ValueError: for another number of elements: memory that is recorded keeps its size.
        """
        shape = new_shape[0] if len(new_shape) == 1 else new_shape
        if numpy.empty(shape).size != self.size:
            raise note(ValueError("cannot resize an array that is recorded; use np.resize, which gives another one"))
        self.shape = shape

    def setfield(self, val: Any, dtype: Any, offset: SupportsIndex = 0) -> None:
        """Refused: part of an element's bytes has no derivative.

        Raises:
            TypeError: always.
        """
        raise refusal("setfield()")

    def setflags(self, write: Any = None, align: Any = None, uic: Any = None) -> None:
        """Whether the array can be written; what else it says of the memory cannot be changed.

        Raises:
            ValueError: if something else should be changed.
        """
        if uic or (align is not None and not align):
            raise note(ValueError("only the flag write of an array that is recorded can be changed"))
        if write is not None:
            writeable(self, bool(write))
