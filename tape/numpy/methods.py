"""What `numpy.ndarray` has, on arrays that are recorded: each method is NumPy's function of that name."""

from __future__ import annotations

import builtins
import operator
from collections.abc import Iterator, Sequence
from typing import Any, SupportsIndex

import numpy as np

import ops

from ..dtypes import kind_of
from ..level import Layer
from ..tensor import Face, Tensor
from ..views import base_of
from .creation import NUMERIC, clone
from .face import Array, Number, array, bare, face, plain
from .flat import Flat
from .leaving import carries, number_of, refusal, value_of

Shape = SupportsIndex | Sequence[SupportsIndex]
Axis = SupportsIndex | tuple[SupportsIndex, ...] | None
absent: Any = np._NoValue  # type: ignore[attr-defined]


class Methods:
    """The attributes and methods of `numpy.ndarray` that read."""

    __slots__ = ()

    _tensor: Tensor

    # What it is.

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of each axis."""
        return self._tensor._spec.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the elements."""
        return self._tensor._spec.dtype

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self._tensor._spec.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return self._tensor._spec.size

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element to the next along each axis."""
        return tuple([n * self.itemsize for n in self._tensor.stride()])

    @property
    def flags(self) -> Any:
        """How it lies in memory."""
        return self._outline().flags

    @property
    def device(self) -> str:
        """Where it is: always ``"cpu"``."""
        return "cpu"

    @property
    def base(self) -> Any:
        """The array that this is a view of, or None."""
        above = base_of(self._tensor)
        return None if above is self._tensor else array(above)

    @property
    def T(self) -> Any:
        """The array with its axes in reversed order, a view."""
        return self.transpose()

    @property
    def mT(self) -> Any:
        """The matrices transposed, a view."""
        if self.ndim < 2:
            raise ValueError("matrix transpose with ndim < 2 is undefined")
        return self.swapaxes(-1, -2)

    @property
    def real(self) -> Any:
        """The real parts, a view."""
        return type(self)._of(ops.real(self._tensor)) if self.dtype.kind == "c" else self

    @property
    def imag(self) -> Any:
        """The imaginary parts, a view."""
        if self.dtype.kind == "c":
            return type(self)._of(ops.imag(self._tensor))
        return np.zeros_like(self)  # type: ignore[call-overload]

    @property
    def flat(self) -> Flat:
        """The elements one after another, to be read, written or gone through."""
        return Flat(self)

    @classmethod
    def _of(cls, tensor: Tensor) -> Any:
        made = object.__new__(cls)
        made._tensor = tensor
        return made

    def _outline(self) -> np.ndarray:
        """A plain array that lies in memory as this one does."""
        made = np.empty(self.shape, self.dtype)
        return made

    # Shapes: views where NumPy gives views.

    def reshape(self, *shape: Any, order: str = "C", copy: bool | None = None) -> Any:
        """The elements in another shape."""
        lengths = shape[0] if len(shape) == 1 else shape
        lengths = plain(lengths)
        if order in ("F", "A") and order == "F":
            lengths = (lengths,) if isinstance(lengths, int) else tuple(lengths)
            return self.transpose().reshape(lengths[::-1]).transpose()
        found = np.reshape(self, lengths)  # type: ignore[call-overload]
        return array(bare(found)) if copy is not True else array(ops.clone(bare(found)))

    def ravel(self, order: str = "C") -> Any:
        """The elements in a row, a view where they lie so."""
        return self.reshape(-1, order="F" if order == "F" else "C")

    def flatten(self, order: str = "C") -> Any:
        """A copy of the elements in a row."""
        return self.ravel(order).copy()

    def transpose(self, *axes: Any) -> Any:
        """The array with its axes in another order, a view."""
        order = axes[0] if len(axes) == 1 else axes or None
        return array(bare(np.transpose(self, order)))  # type: ignore[call-overload]

    def swapaxes(self, axis1: SupportsIndex, axis2: SupportsIndex) -> Any:
        """The array with two axes exchanged, a view."""
        return array(bare(np.swapaxes(self, axis1, axis2)))  # type: ignore[call-overload]

    def squeeze(self, axis: Axis = None) -> Any:
        """The array without axes of length 1, a view."""
        return array(bare(np.squeeze(self, axis)))  # type: ignore[call-overload]

    def diagonal(self, offset: SupportsIndex = 0, axis1: SupportsIndex = 0, axis2: SupportsIndex = 1) -> Any:
        """The elements on a diagonal."""
        return np.diagonal(self, offset, axis1, axis2)  # type: ignore[call-overload]

    # Copies and conversions.

    def copy(self, order: str = "C") -> Any:
        """A copy."""
        return array(ops.clone(self._tensor)) if type(self) is Array else clone(self._tensor)

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self.copy()

    def astype(
        self, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True
    ) -> Any:
        """The numbers in another dtype.

        Raises:
            TypeError: if `casting` does not allow it, or the dtype is none of numbers and a gradient would be lost.
        """
        wanted = np.dtype(dtype)
        if not np.can_cast(self.dtype, wanted, casting):  # type: ignore[arg-type]
            raise TypeError(f"Cannot cast array data from {self.dtype!r} to {wanted!r} according to the rule {casting!r}")
        if kind_of(wanted) not in NUMERIC:
            return value_of(self, f"astype({wanted})").astype(wanted)  # type: ignore[arg-type]
        if wanted == self.dtype:
            return self.copy() if copy else self
        if self.dtype.kind == "c" and wanted.kind != "c":
            from .writing import cast

            return type(self)._of(cast(self._tensor, wanted))
        return type(self)._of(ops.cast(self._tensor, dtype=wanted))

    def view(self, dtype: Any = None, type: Any = None) -> Any:
        """A view of the same memory; not as another dtype, whose numbers have no derivative.

        Raises:
            TypeError: for another dtype, where a gradient would be lost.
        """
        if dtype is None or dtype is np.ndarray or (not isinstance(dtype, builtins.type) and dtype == self.dtype):
            return self[...]
        if np.dtype(dtype) == self.dtype:
            return self[...]
        if self.dtype.kind == "c" and np.dtype(dtype) == self.real.dtype:
            found = ops.view_as_real(self._tensor)
            return array(ops.reshape(found, shape=(*self.shape[:-1], -1)))
        return value_of(self, f"view({dtype})").view(dtype)  # type: ignore[arg-type]

    def tolist(self) -> Any:
        """The elements as nested lists of numbers, which are recorded still."""
        return [x.tolist() for x in self] if self.ndim else face(self._tensor)

    def item(self, *args: Any) -> Any:
        """One element, as a number that is recorded still.

        Raises:
            ValueError: if no element is named and there is not exactly one.
        """
        place = args[0] if len(args) == 1 else args
        if args:
            return self.flat[operator.index(place)] if not isinstance(place, tuple) else self[place]
        if self.size != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        return self.reshape(1)[0] if self.ndim or type(self) is Array else self

    def tobytes(self, order: str = "C") -> bytes:
        """The memory as bytes."""
        return value_of(self, "tobytes()").tobytes(order)  # type: ignore[arg-type]

    def tofile(self, fid: Any, /, sep: str = "", format: str = "%s") -> None:
        """Write the numbers to a file."""
        value_of(self, "tofile()").tofile(fid, sep, format)  # type: ignore[arg-type]

    def dump(self, file: Any) -> None:
        """Pickle the numbers to a file."""
        value_of(self, "dump()").dump(file)  # type: ignore[arg-type]

    def dumps(self) -> bytes:
        """The numbers pickled."""
        return value_of(self, "dumps()").dumps()  # type: ignore[arg-type]

    def byteswap(self, inplace: bool = False) -> Any:
        """The numbers with their bytes in reversed order, which have no derivative."""
        return value_of(self, "byteswap()").byteswap(inplace)  # type: ignore[arg-type]

    def getfield(self, dtype: Any, offset: SupportsIndex = 0) -> Any:
        """Part of each element's bytes, which has no derivative."""
        return value_of(self, "getfield()").getfield(dtype, offset)  # type: ignore[arg-type]

    def to_device(self, device: str, /, *, stream: Any = None) -> Any:
        """The array itself; there is one device, ``"cpu"``."""
        if device != "cpu":
            raise ValueError(f'Unsupported device: "{device}". Only "cpu" is allowed.')
        return self

    # Elementwise, sums, extremes, sorting: NumPy's functions.

    def conj(self) -> Any:
        """Complex conjugates."""
        return np.conjugate(self) if self.dtype.kind == "c" else self  # type: ignore[call-overload]

    def conjugate(self) -> Any:
        """Complex conjugates."""
        return self.conj()

    def round(self, decimals: SupportsIndex = 0, out: Any = None) -> Any:
        """Rounded to so many decimals."""
        return np.round(self, decimals, out=out)  # type: ignore[call-overload]

    def clip(self, min: Any = absent, max: Any = absent, out: Any = None, **kwargs: Any) -> Any:
        """Limited to an interval."""
        low, high = (None if x is absent else x for x in (min, max))
        return np.clip(self, low, high, out=out, **kwargs)  # type: ignore[call-overload]

    def sum(
        self, axis: Axis = None, dtype: Any = None, out: Any = None, keepdims: bool = False, initial: Any = absent,
        where: Any = absent,
    ) -> Any:  # fmt: skip
        """Sum over axes."""
        return np.sum(self, axis=axis, **_told(dtype=dtype, out=out, keepdims=keepdims, initial=initial, where=where))  # type: ignore[call-overload]

    def prod(
        self, axis: Axis = None, dtype: Any = None, out: Any = None, keepdims: bool = False, initial: Any = absent,
        where: Any = absent,
    ) -> Any:  # fmt: skip
        """Product over axes."""
        return np.prod(self, axis=axis, **_told(dtype=dtype, out=out, keepdims=keepdims, initial=initial, where=where))  # type: ignore[call-overload]

    def mean(
        self, axis: Axis = None, dtype: Any = None, out: Any = None, keepdims: bool = False, *, where: Any = absent
    ) -> Any:
        """Mean over axes."""
        return np.mean(self, axis=axis, **_told(dtype=dtype, out=out, keepdims=keepdims, where=where))  # type: ignore[call-overload]

    def var(
        self, axis: Axis = None, dtype: Any = None, out: Any = None, ddof: float = 0, keepdims: bool = False, *,
        where: Any = absent, mean: Any = absent, correction: Any = absent,
    ) -> Any:  # fmt: skip
        """Variance over axes."""
        return np.var(self, axis=axis, **_told(dtype=dtype, out=out, ddof=ddof, keepdims=keepdims, where=where, mean=mean, correction=correction))  # type: ignore[call-overload]  # fmt: skip

    def std(
        self, axis: Axis = None, dtype: Any = None, out: Any = None, ddof: float = 0, keepdims: bool = False, *,
        where: Any = absent, mean: Any = absent, correction: Any = absent,
    ) -> Any:  # fmt: skip
        """Standard deviation over axes."""
        return np.std(self, axis=axis, **_told(dtype=dtype, out=out, ddof=ddof, keepdims=keepdims, where=where, mean=mean, correction=correction))  # type: ignore[call-overload]  # fmt: skip

    def max(
        self, axis: Axis = None, out: Any = None, keepdims: bool = False, initial: Any = absent, where: Any = absent
    ) -> Any:
        """Largest element, over axes."""
        return np.max(self, axis=axis, **_told(out=out, keepdims=keepdims, initial=initial, where=where))  # type: ignore[call-overload]

    def min(
        self, axis: Axis = None, out: Any = None, keepdims: bool = False, initial: Any = absent, where: Any = absent
    ) -> Any:
        """Smallest element, over axes."""
        return np.min(self, axis=axis, **_told(out=out, keepdims=keepdims, initial=initial, where=where))  # type: ignore[call-overload]

    def all(self, axis: Axis = None, out: Any = None, keepdims: bool = False, *, where: Any = absent) -> Any:
        """Whether all elements hold, over axes."""
        return np.all(self, axis=axis, **_told(out=out, keepdims=keepdims, where=where))  # type: ignore[call-overload]

    def any(self, axis: Axis = None, out: Any = None, keepdims: bool = False, *, where: Any = absent) -> Any:
        """Whether any element holds, over axes."""
        return np.any(self, axis=axis, **_told(out=out, keepdims=keepdims, where=where))  # type: ignore[call-overload]

    def argmax(self, axis: SupportsIndex | None = None, out: Any = None, *, keepdims: bool = False) -> Any:
        """Place of the largest element."""
        return np.argmax(self, axis, **_told(out=out, keepdims=keepdims))  # type: ignore[call-overload]

    def argmin(self, axis: SupportsIndex | None = None, out: Any = None, *, keepdims: bool = False) -> Any:
        """Place of the smallest element."""
        return np.argmin(self, axis, **_told(out=out, keepdims=keepdims))  # type: ignore[call-overload]

    def argsort(
        self, axis: SupportsIndex | None = -1, kind: Any = None, order: Any = None, *, stable: bool | None = None
    ) -> Any:
        """The places that would sort."""
        return np.argsort(self, axis, **_told(kind=kind, stable=stable))  # type: ignore[call-overload]

    def argpartition(self, kth: Any, axis: SupportsIndex | None = -1, kind: str = "introselect", order: Any = None) -> Any:
        """The places that would partition."""
        return np.argpartition(self, kth, axis, kind)  # type: ignore[call-overload]

    def cumsum(self, axis: SupportsIndex | None = None, dtype: Any = None, out: Any = None) -> Any:
        """Sums up to each element."""
        return np.cumsum(self, axis, **_told(dtype=dtype, out=out))  # type: ignore[call-overload]

    def cumprod(self, axis: SupportsIndex | None = None, dtype: Any = None, out: Any = None) -> Any:
        """Products up to each element."""
        return np.cumprod(self, axis, **_told(dtype=dtype, out=out))  # type: ignore[call-overload]

    def trace(
        self, offset: SupportsIndex = 0, axis1: SupportsIndex = 0, axis2: SupportsIndex = 1, dtype: Any = None,
        out: Any = None,
    ) -> Any:  # fmt: skip
        """Sum of a diagonal."""
        return np.trace(self, offset, axis1, axis2, **_told(dtype=dtype, out=out))  # type: ignore[call-overload]

    def dot(self, b: Any, out: Any = None) -> Any:
        """Product with a vector or matrix."""
        return np.dot(self, b, **_told(out=out))  # type: ignore[call-overload]

    def repeat(self, repeats: Any, axis: SupportsIndex | None = None) -> Any:
        """Each element so many times."""
        return np.repeat(self, repeats, axis)  # type: ignore[call-overload]

    def take(self, indices: Any, axis: SupportsIndex | None = None, out: Any = None, mode: str = "raise") -> Any:
        """Elements at places along an axis."""
        return np.take(self, indices, axis, **_told(out=out, mode=None if mode == "raise" else mode))  # type: ignore[call-overload]

    def compress(self, condition: Any, axis: SupportsIndex | None = None, out: Any = None) -> Any:
        """The entries along an axis where a condition holds."""
        return np.compress(condition, self, axis, **_told(out=out))  # type: ignore[call-overload]

    def choose(self, choices: Any, out: Any = None, mode: str = "raise") -> Any:
        """From the arrays of a sequence, at each place the one that the number there says."""
        return np.choose(self, choices, **_told(out=out, mode=None if mode == "raise" else mode))  # type: ignore[call-overload]

    def nonzero(self) -> Any:
        """The places of what is not zero, an array for each axis."""
        return np.nonzero(self)  # type: ignore[call-overload]

    def searchsorted(self, v: Any, side: str = "left", sorter: Any = None) -> Any:
        """Where values belong in order."""
        return np.searchsorted(self, v, side, sorter)  # type: ignore[call-overload]

    # What Python asks.

    def __getitem__(self, index: Any) -> Any:
        return self._read(index)

    def _read(self, index: Any) -> Any:
        from .reading import read

        return read(self, index)

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        if not self.ndim:
            raise TypeError("iteration over a 0-d array")
        return iter([self[k] for k in range(len(self))])

    def __contains__(self, element: Any) -> bool:
        return bool((self == element).any())

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError(
                "The truth value of an empty array is ambiguous. Use `array.size > 0` to check that an array is not empty."
                if not self.size else
                "The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()"
            )  # fmt: skip
        return bool(self._tensor)

    def __float__(self) -> float:
        return number_of(self, float)  # type: ignore[arg-type]

    def __int__(self) -> int:
        return number_of(self, int)  # type: ignore[arg-type]

    def __complex__(self) -> complex:
        return number_of(self, complex)  # type: ignore[arg-type]

    def __index__(self) -> int:
        if self.ndim or self.dtype.kind not in "iu":
            raise TypeError("only integer scalar arrays can be converted to a scalar index")
        return number_of(self, int)  # type: ignore[arg-type]

    def __round__(self, ndigits: int | None = None) -> Any:
        if self.ndim:
            raise TypeError("type numpy.ndarray doesn't define __round__ method")
        return number_of(np.round(self), int) if ndigits is None else np.round(self, ndigits)  # type: ignore[arg-type,call-overload]

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other  # type: ignore[operator]

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    # What other libraries ask: bare numbers, or nothing.

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        numbers = np.asarray(value_of(self, "an array of its numbers"))  # type: ignore[arg-type]
        if dtype is not None and numbers.dtype != dtype:
            return numbers.astype(dtype)
        return numbers.copy() if copy else numbers

    @property
    def __array_interface__(self) -> Any:
        raise AttributeError("__array_interface__")

    @property
    def __array_struct__(self) -> Any:
        raise AttributeError("__array_struct__")

    def __dlpack__(self, **kwargs: Any) -> Any:
        return value_of(self, "dlpack").__dlpack__(**kwargs)  # type: ignore[arg-type]

    def __dlpack_device__(self) -> Any:
        return np.empty(0).__dlpack_device__()

    @property
    def data(self) -> memoryview:
        """The memory."""
        return value_of(self, ".data").data  # type: ignore[arg-type]

    @property
    def ctypes(self) -> Any:
        """The memory for ctypes."""
        return value_of(self, ".ctypes").ctypes  # type: ignore[arg-type]

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        from .. import numpy

        return numpy

    def __reduce_ex__(self, protocol: Any) -> Any:
        return value_of(self, "a pickle").__reduce_ex__(protocol)  # type: ignore[arg-type]

    # Its printed form is NumPy's.

    def __repr__(self) -> str:
        return repr(self._shown())

    def __str__(self) -> str:
        return str(self._shown())

    def __format__(self, spec: str) -> str:
        return format(self._shown(), spec)

    def _shown(self) -> Any:
        tensor = self._tensor
        if isinstance(tensor, Layer):
            return tensor
        value = np.asarray(tensor.detach().numpy(force=True))
        return value if type(self) is Array else value[()]


def _told(**named: Any) -> dict[str, Any]:
    """The arguments that say something."""
    return {k: v for k, v in named.items() if v is not None and v is not absent and not (v is False and k == "keepdims")}


class Writing:
    """The methods of `numpy.ndarray` that change it."""

    __slots__ = ()

    _tensor: Tensor

    def __setitem__(self, index: Any, value: Any) -> None:
        from .writing import assign

        assign(self, index, value)  # type: ignore[arg-type]

    def __delitem__(self, index: Any) -> None:
        raise ValueError("cannot delete array elements")

    def fill(self, value: Any) -> None:
        """Set every element to one number."""
        self[...] = value

    def put(self, indices: Any, values: Any, mode: str = "raise") -> None:
        """Values at places counted through the flattened array."""
        np.put(self, indices, values, mode)  # type: ignore[call-overload]

    def sort(
        self, axis: SupportsIndex = -1, kind: Any = None, order: Any = None, *, stable: bool | None = None
    ) -> None:
        """Sort in place."""
        self[...] = np.sort(self, axis, kind)  # type: ignore[call-overload]

    def partition(self, kth: Any, axis: SupportsIndex = -1, kind: str = "introselect", order: Any = None) -> None:
        """Partition in place."""
        places = np.argpartition(self, kth, axis, kind)  # type: ignore[call-overload]
        self[...] = np.take_along_axis(self, places, axis)  # type: ignore[call-overload]

    def resize(self, *new_shape: Any, refcheck: bool = True) -> None:
        """Refused: memory that is recorded keeps its size.

        Raises:
            ValueError: always.
        """
        raise ValueError("cannot resize an array that is recorded; use np.resize, which gives another one")

    def setfield(self, val: Any, dtype: Any, offset: SupportsIndex = 0) -> None:
        """Refused: part of an element's bytes has no derivative.

        Raises:
            TypeError: always.
        """
        raise refusal("setfield()")

    def setflags(self, write: Any = None, align: Any = None, uic: Any = None) -> None:
        """Flags of the memory; only what changes nothing is taken.

        Raises:
            ValueError: if it should become read-only, which a recorded array cannot.
        """
        if write is False or write == 0 and write is not None:
            raise ValueError("an array that is recorded cannot be made read-only; take a copy before")


def _given(cls: type, of: type) -> None:
    for name, value in vars(of).items():
        if name not in ("__module__", "__slots__", "__doc__", "__annotations__", "__dict__", "__weakref__"):
            setattr(cls, name, value)


_given(Face, Methods)
_given(Array, Writing)
Face.__hash__ = None  # type: ignore[assignment]
Number.__hash__ = lambda self: hash(self._tensor.item())  # type: ignore[method-assign,assignment]
_ = carries
