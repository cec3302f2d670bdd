"""Element types and memory: ``to``, ``float()``, ``type_as``, ``contiguous``."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

import ops
from ops.core.axis_order import OPERAND, ROWS

from ..base import dtypes
from ..base.device import check_device, check_layout, contiguous_format, is_device
from ..base.dtypes import check_dtype
from ..base.tensor import Tensor, Theme
from ..recording.calls import adaptor, function_only
from ..recording.creation import array_of
from ..recording.functions import METHODS
from ..recording.laying import laid
from ..recording.views import materialise


class DtypeMethods(Theme):
    """The elements of a tensor in another dtype, and how they lie."""

    __slots__ = ()

    def to(
        self, *args: Any, dtype: Any = None, device: Any = None, non_blocking: bool = False, copy: bool = False,
        memory_format: Any = None,
    ) -> Tensor:  # fmt: skip
        """The same numbers in another dtype, or that of another tensor; the tensor itself if nothing changes.

        By position, ``args`` are a dtype, a tensor or a device, and then truth values for ``non_blocking`` and
        ``copy``.  A device is taken where it is the CPU; ``non_blocking`` then changes nothing.
        """
        check_device(device)
        check_layout(memory_format)
        flags = [arg for arg in args if isinstance(arg, builtins.bool)]
        for arg in args[: len(args) - len(flags)]:
            if isinstance(arg, Tensor):
                dtype = arg.dtype
            elif is_device(arg):
                check_device(arg)
            else:
                dtype = arg
        copy = copy or flags[1:] == [True]
        wanted = check_dtype(dtype)
        if wanted is None or wanted == self.dtype:
            return laid(ops.clone(self), OPERAND, (self,)) if copy else self
        return laid(ops.cast(self, dtype=wanted), OPERAND, (self,))

    def type_as(self, other: Tensor) -> Tensor:
        """The same numbers in another tensor's dtype."""
        return self.to(other.dtype)

    def astype(self, dtype: Any, copy: bool = True) -> Tensor:
        """As NumPy's: the same numbers in another dtype, copied unless ``copy`` is false."""
        return self.to(dtype, copy=copy)

    def type(self, dtype: Any = None) -> Any:
        """The old name of the tensor's type, such as ``'tape.DoubleTensor'``; with a dtype, `to`."""
        return f"tape.{OLD_NAMES.get(self.dtype, 'BFloat16Tensor')}" if dtype is None else self.to(dtype)

    def float(self) -> Tensor:
        """The same numbers as float32."""
        return self.to(np.float32)

    def double(self) -> Tensor:
        """The same numbers as float64."""
        return self.to(np.float64)

    def half(self) -> Tensor:
        """The same numbers as float16."""
        return self.to(np.float16)

    def long(self) -> Tensor:
        """The same numbers as int64."""
        return self.to(np.int64)

    def int(self) -> Tensor:
        """The same numbers as int32."""
        return self.to(np.int32)

    def short(self) -> Tensor:
        """The same numbers as int16."""
        return self.to(np.int16)

    def char(self) -> Tensor:
        """The same numbers as int8."""
        return self.to(np.int8)

    def byte(self) -> Tensor:
        """The same numbers as uint8."""
        return self.to(np.uint8)

    def bool(self) -> Tensor:
        """The same numbers as bool."""
        return self.to(np.bool_)

    def bfloat16(self) -> Tensor:
        """The same numbers as bfloat16.

        Raises:
            ImportError: if ml_dtypes is not installed.
        """
        return self.to(dtypes.bfloat16())

    def contiguous(self, memory_format: Any = None) -> Tensor:
        """The tensor itself if its memory is in row-major order, else a copy that is."""
        check_layout(memory_format)
        if self.is_contiguous():
            return self
        made = ops.clone(self)  # which lies as this does, if that is without gaps
        return made if made.is_contiguous() else ops.reshape(ops.reshape(made, shape=(-1,)), shape=self._spec.shape)

    def is_contiguous(self, memory_format: Any = None) -> builtins.bool:
        """Whether the memory is in row-major order."""
        check_layout(memory_format)
        return builtins.bool(np.asarray(self._data).flags.c_contiguous)

    def stride(self, dim: builtins.int | None = None) -> Any:
        """Elements from one entry to the next, along each axis or one."""
        strides = tuple(s // self.dtype.itemsize for s in np.asarray(self._data).strides)
        return strides if dim is None else strides[dim]

    def element_size(self) -> builtins.int:
        """Bytes of one element."""
        return self.dtype.itemsize

    @property
    def itemsize(self) -> builtins.int:
        """Bytes of one element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> builtins.int:
        """Bytes of all elements."""
        return self._spec.size * self.dtype.itemsize

    def data_ptr(self) -> builtins.int:
        """Address of the first element."""
        return builtins.int(materialise(self).ctypes.data)


OLD_NAMES = {
    np.dtype(kind): f"{name}Tensor"
    for kind, name in {
        "f4": "Float", "f8": "Double", "f2": "Half", "i8": "Long", "i4": "Int", "i2": "Short", "i1": "Char",
        "u1": "Byte", "?": "Bool", "c8": "ComplexFloat", "c16": "ComplexDouble",
    }.items()
}  # fmt: skip
"""What PyTorch calls a tensor of each dtype."""


@adaptor
def clone(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """A copy that stays in the history and lies in memory as the tensor does, in a ``contiguous_format`` in rows."""
    check_layout(memory_format)
    return laid(ops.clone(input), ROWS if memory_format == contiguous_format else OPERAND, (input,))


@adaptor
def positive(input: Tensor) -> Tensor:
    """+x: the tensor itself.

    Raises:
        RuntimeError: for truth values, which have no sign.
    """
    if input.dtype.kind == "b":
        raise RuntimeError("positive() needs numbers; got a tensor of bool. Use .long() to count its truths.")
    return input


METHODS["__pos__"] = positive


@adaptor
def is_floating_point(input: Tensor) -> bool:
    """Whether the elements are real floating-point numbers."""
    return dtypes.kind_of(input.dtype) == "f"


@adaptor
def is_signed(input: Tensor) -> bool:
    """Whether the elements may be negative."""
    return input.dtype.kind in "ifcV"


@adaptor
def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape."""
    return input._spec.shape == other._spec.shape


@adaptor
def is_nonzero(input: Tensor) -> bool:
    """The truth of a tensor of one element."""
    return builtins.bool(input)


@adaptor
def is_complex(input: Tensor) -> bool:
    """Whether the elements are complex numbers."""
    return input.dtype.kind == "c"


@adaptor
def allclose(input: Any, other: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Whether |input − other| ≤ atol + rtol |other| everywhere."""
    return builtins.bool(np.allclose(array_of(input), array_of(other), rtol, atol, equal_nan))


@adaptor
def equal(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape and elements."""
    return builtins.bool(np.array_equal(input._data, other._data))


@function_only
def is_inference(input: Tensor) -> bool:
    """Whether a tensor was made in `inference_mode`."""
    return builtins.bool(input.is_inference())


@function_only
def is_tensor(obj: Any) -> bool:
    """Whether something is a tensor."""
    return isinstance(obj, Tensor)
