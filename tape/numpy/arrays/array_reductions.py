"""Elementwise work, sums, extremes, sorting of arrays: each method is NumPy's function of that name."""

from __future__ import annotations

from typing import Any, SupportsIndex

from .attributes import Attributes
from .face_base import Axis, absent, numpy, told


class Reductions(Attributes):
    """The methods of `numpy.ndarray` that compute."""

    __slots__ = ()

    def conj(self) -> Any:
        """Complex conjugates."""
        return numpy.conjugate(self) if self.dtype.kind == "c" else self

    def conjugate(self) -> Any:
        """Complex conjugates."""
        return self.conj()

    def round(self, decimals: SupportsIndex = 0, out: Any = None) -> Any:
        """Rounded to so many decimals."""
        return numpy.round(self, decimals, out=out)

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
        where: Any = absent, mean: Any = absent, correction: Any = absent,
    ) -> Any:  # fmt: skip
        """Variance over axes."""
        how = told(dtype=dtype, out=out, ddof=ddof, keepdims=keepdims, where=where, mean=mean, correction=correction)
        return numpy.var(self, axis=axis, **how)

    def std(
        self, axis: Axis = None, dtype: Any = None, out: Any = None, ddof: float = 0, keepdims: bool = False, *,
        where: Any = absent, mean: Any = absent, correction: Any = absent,
    ) -> Any:  # fmt: skip
        """Standard deviation over axes."""
        how = told(dtype=dtype, out=out, ddof=ddof, keepdims=keepdims, where=where, mean=mean, correction=correction)
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

    def all(self, axis: Axis = None, out: Any = None, keepdims: bool = False, *, where: Any = absent) -> Any:
        """Whether all elements hold, over axes."""
        return numpy.all(self, axis=axis, **told(out=out, keepdims=keepdims, where=where))

    def any(self, axis: Axis = None, out: Any = None, keepdims: bool = False, *, where: Any = absent) -> Any:
        """Whether any element holds, over axes."""
        return numpy.any(self, axis=axis, **told(out=out, keepdims=keepdims, where=where))

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

    def argpartition(
        self, kth: Any, axis: SupportsIndex | None = -1, kind: str = "introselect", order: Any = None
    ) -> Any:
        """The places that would partition."""
        return numpy.argpartition(self, kth, axis, kind)

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
        return numpy.trace(self, offset, axis1, axis2, **told(dtype=dtype, out=out))

    def dot(self, b: Any, out: Any = None) -> Any:
        """Product with a vector or matrix."""
        return numpy.dot(self, b, **told(out=out))

    def repeat(self, repeats: Any, axis: SupportsIndex | None = None) -> Any:
        """Each element so many times."""
        return numpy.repeat(self, repeats, axis)

    def take(self, indices: Any, axis: SupportsIndex | None = None, out: Any = None, mode: str = "raise") -> Any:
        """Elements at places along an axis."""
        return numpy.take(self, indices, axis, **told(out=out, mode=None if mode == "raise" else mode))

    def compress(self, condition: Any, axis: SupportsIndex | None = None, out: Any = None) -> Any:
        """The entries along an axis where a condition holds."""
        return numpy.compress(condition, self, axis, **told(out=out))

    def choose(self, choices: Any, out: Any = None, mode: str = "raise") -> Any:
        """From the arrays of a sequence, at each place the one that the number there says."""
        return numpy.choose(self, choices, **told(out=out, mode=None if mode == "raise" else mode))

    def nonzero(self) -> Any:
        """The places of what is not zero, an array for each axis."""
        return numpy.nonzero(self)

    def searchsorted(self, v: Any, side: str = "left", sorter: Any = None) -> Any:
        """Where values belong in order."""
        return numpy.searchsorted(self, v, side, sorter)
