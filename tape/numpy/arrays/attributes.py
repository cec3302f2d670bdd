"""What an array is: its shape, its dtype, how it lies in memory, its parts; and what of that can be set."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

import numpy as np

import ops
from ops.core.differentiate import dtype_of

from ...base.tensor import Face, Tensor
from ...recording.level import memories
from ...recording.views import base_of
from ..names.callee import callee, is_attribute
from .explaining import has_lanes
from .face_base import Base, numpy
from .leaving import is_foreign, plain, refusal
from .memory_order import outline, shown, tell_layout, tell_owner
from .unwrapping import holds_face, tensor_of

OF_ORDER = {
    *("c_contiguous", "f_contiguous", "contiguous", "fortran", "fnc", "forc", "C_CONTIGUOUS", "F_CONTIGUOUS"),
    *("CONTIGUOUS", "FORTRAN", "FNC", "FORC", "C", "F"),
}
"""The flags that follow from how an array lies in memory, whose memory it is."""


class ArrayFlags:
    """What `numpy.ndarray.flags` says, of an array of the same layout; to be writeable or not is said of this one."""

    __slots__ = ("_of", "_shown")

    def __init__(self, of: Face, shown: Any):
        object.__setattr__(self, "_of", of)
        object.__setattr__(self, "_shown", shown)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return type(self._shown)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tell(name), name)

    def __getitem__(self, name: str) -> Any:
        return self._tell(name)[name]

    def _tell(self, name: Any = None) -> Any:
        if name not in OF_ORDER:
            tell_owner(self._of._tensor)
        return self._shown

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(np.empty(1).flags, name, value)  # NumPy's own error
        if name == "writeable":
            writeable(self._of, bool(value))

    def __setitem__(self, name: Any, value: Any) -> None:
        np.empty(1).flags[name] = value
        if name in ("W", "WRITEABLE"):
            writeable(self._of, bool(value))

    def __eq__(self, other: Any) -> bool:
        return bool(self._tell() == (other._tell() if type(other) is ArrayFlags else other))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self._tell())


def writeable(x: Any, value: bool) -> None:
    """Let an array be written, or not.

    Raises:
        ValueError: if it is a number, or a view of what must not be written.
    """
    if not x._is_array:
        raise ValueError("Cannot set flags on array scalars.")
    tensor = x._tensor
    above = base_of(tensor)
    if value and tensor._readonly and above is not tensor:
        raise ValueError("cannot set WRITEABLE flag to True of this array")
    tensor._readonly = not value


class Flat:
    """The elements of an array in row-major order: read and written by number, slice, mask or array of numbers."""

    __slots__ = ("_next", "base")

    def __init__(self, base: Any):
        self.base, self._next = base, 0

    def __len__(self) -> int:
        return self.base.size

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self._next >= self.base.size:
            raise StopIteration
        k = self._next
        found = self[k]
        self._next = k + 1
        return found

    @property
    def index(self) -> int:
        """The number of the element that comes next."""
        return self._next

    @property
    def coords(self) -> tuple[int, ...]:
        """Its place along each axis."""
        lengths = np.cumprod([1, *self.base.shape[:0:-1]])[::-1]
        return tuple([int(self._next // max(1, n) % max(1, k)) for n, k in zip(lengths, self.base.shape)])

    def copy(self) -> Any:
        """A copy of the elements in a row."""
        return self.base.flatten()

    def _places(self, index: Any) -> Any:
        return np.unravel_index(np.arange(self.base.size)[plain(index)], self.base.shape or (1,))

    def _whole(self) -> Any:
        """The array itself; one without axes as one of a single element on the same memory."""
        return self.base if self.base.ndim else self.base.reshape(1)

    def __getitem__(self, index: Any) -> Any:
        self._next = 0  # as NumPy's begins anew, too
        if holds_face(index) and not isinstance(index, tuple):
            numbers = self.base._array(tensor_of(index))
            if numbers.dtype.kind in "iu":  # an operand, which may be another in each lane of a batch and each replay
                return self.base.flatten()[numbers if numbers.ndim else index]
        return self._whole()[self._places(index)]

    def __setitem__(self, index: Any, value: Any) -> None:
        """Write; values begin anew where they run out.

        Raises:
            ValueError: if there are no values.
        """
        if type(index) is list and holds_face(index):
            index = self.base._array(tensor_of(index))
        differs = has_lanes(index) and index.dtype.kind in "iu"
        places: tuple[Any, ...] = () if differs else self._places(index)
        if isinstance(index, (int, slice)):
            self._next = 0
        shape = np.shape(index if differs else places[0])
        if isinstance(value, (list, tuple)):
            value = self.base._array(tensor_of(value))
        if np.ndim(value):
            n = math.prod(shape)
            if n and not np.size(value):
                raise ValueError("Error setting single item of array." if not shape else "no values to write")
            value = np.reshape(np.ravel(value)[np.arange(n) % max(1, np.size(value))], shape)
        if differs:
            row = self.base.flatten()
            row[index] = value
            self.base[...] = row.reshape(self.base.shape)
        else:
            self._whole()[places] = value

    def __lt__(self, other: Any) -> Any:
        return self.copy() < other

    def __le__(self, other: Any) -> Any:
        return self.copy() <= other

    def __gt__(self, other: Any) -> Any:
        return self.copy() > other

    def __ge__(self, other: Any) -> Any:
        return self.copy() >= other

    def __eq__(self, other: Any) -> Any:
        return self.copy() == other

    def __ne__(self, other: Any) -> Any:
        return self.copy() != other

    __hash__ = None  # type: ignore[assignment]

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.asarray(self.base.ravel(), dtype=dtype)


class Attributes(Base):
    """The attributes of `numpy.ndarray`."""

    __slots__ = ()

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of each axis; setting it gives the same memory another shape."""
        return self._tensor._spec.shape

    @shape.setter
    def shape(self, shape: Any) -> None:
        found: Tensor = self._array(self._tensor).reshape(shape)._tensor
        tell_layout(self._tensor)
        if memories(found) != memories(self._tensor):
            raise AttributeError(
                "Incompatible shape for in-place modification. Use `.reshape()` to make a copy with the desired shape."
            )
        self._tensor = found

    def _set_shape(self, shape: Any) -> None:
        """What NumPy 2.5 has for the assignment, which it deprecates."""
        self.shape = shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the elements."""
        return self._tensor._spec.dtype

    @dtype.setter
    def dtype(self, dtype: Any) -> None:
        if dtype_of(dtype) != self.dtype:
            raise refusal(f"setting .dtype to {dtype_of(dtype)}, which reads the same bytes as other numbers,")

    def _set_dtype(self, dtype: Any) -> None:
        """What NumPy 2.5 has for the assignment, which it deprecates."""
        self.dtype = dtype

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
        tell_layout(self._tensor)
        return tuple([n * self.itemsize for n in self._tensor.stride()])

    @strides.setter
    def strides(self, strides: Any) -> None:
        if tuple(strides) != self.strides:
            raise refusal("setting .strides, for which there is np.lib.stride_tricks.as_strided,")

    @property
    def flags(self) -> Any:
        """How it lies in memory."""
        tell_layout(self._tensor)
        strides, dtype = self._tensor.stride(), self.dtype
        in_order = np.empty(self.shape, dtype, "F" if self.ndim > 1 and 0 < strides[0] < strides[-1] else "C")
        owns = self._base() is None and in_order.strides == self.strides
        shown = in_order if owns else outline(self._tensor)
        shown.flags.writeable = self._is_array and not self._tensor._readonly
        return ArrayFlags(self, shown.flags)

    @property
    def device(self) -> str:
        """Where it is: always ``"cpu"``."""
        return "cpu"

    @property
    def base(self) -> Any:
        """The array that this is a view of, or None."""
        tell_owner(self._tensor)
        return self._base()

    def _base(self) -> Any:
        above = base_of(self._tensor) if self._is_array else self._tensor
        return None if above is self._tensor else self._array(above)

    @property
    def T(self) -> Any:
        """The array with its axes in reversed order, a view."""
        return numpy.transpose(self)

    @property
    def mT(self) -> Any:
        """The matrices transposed, a view.

        Raises:
            ValueError: if there are fewer than two axes.
        """
        if self.ndim < 2:
            raise ValueError("matrix transpose with ndim < 2 is undefined")
        return numpy.swapaxes(self, -1, -2)

    @property
    def real(self) -> Any:
        """The real parts, a view."""
        return self._like(ops.real(self._tensor)) if self.dtype.kind == "c" else self

    @real.setter
    def real(self, value: Any) -> None:
        self.real[...] = value

    @property
    def imag(self) -> Any:
        """The imaginary parts, a view; zeros of real numbers."""
        if self.dtype.kind == "c":
            return self._like(ops.imag(self._tensor))
        zeros = self._like(ops.zeros_like(self._tensor))
        return readonly(zeros)

    @imag.setter
    def imag(self, value: Any) -> None:
        if self.dtype.kind != "c":
            raise TypeError("array does not have imaginary part to set")
        self.imag[...] = value

    @property
    def flat(self) -> Flat:
        """The elements one after another, to be read, written or gone through."""
        return Flat(self)

    @flat.setter
    def flat(self, value: Any) -> None:
        Flat(self)[...] = value

    @property
    def data(self) -> memoryview:
        """The memory."""
        return shown(self, ".data").data

    @property
    def ctypes(self) -> Any:
        """The memory for ctypes."""
        return shown(self, ".ctypes").ctypes

    @property
    def __array_priority__(self) -> float:
        return 0.0 if self._is_array else -1000000.0

    @property
    def __array_interface__(self) -> Any:
        return _of_memory(self, "__array_interface__", sys._getframe(1))

    @property
    def __array_struct__(self) -> Any:
        return _of_memory(self, "__array_struct__", sys._getframe(1))

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
            raise ValueError(f'Version "{api_version}" of the Array API Standard is not supported.')
        return sys.modules[__package__.rpartition(".")[0]]

    def to_device(self, device: str, /, *, stream: Any = None) -> Any:
        """The array itself; there is one device, ``"cpu"``."""
        if stream is not None:
            raise ValueError("The stream argument in to_device() is not supported")
        if device != "cpu":
            raise ValueError(f'Unsupported device: "{device}". Only "cpu" is allowed.')
        return self


def _of_memory(x: Attributes, name: str, frame: FrameType) -> Any:
    """An attribute that says where the memory is, if the user's code asks for it; C code is to call ``__array__``.

    Raises:
        AttributeError: if it is other code that asks.
    """
    if is_foreign(frame) or not is_attribute(frame.f_code, frame.f_lasti, name):
        raise AttributeError(name)
    if callee(frame.f_code, frame.f_lasti) == ("global", "hasattr"):
        return True
    return getattr(shown(x, f".{name}"), name)


def readonly(x: Any) -> Any:
    """An array that must not be written into, as NumPy gives some."""
    x._tensor._readonly = True
    return x
