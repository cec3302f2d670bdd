"""How CPython and NumPy lay out the objects that the jitted code reads, checked before first use.

Every offset is confirmed on objects made for the purpose, by reading only inside them.  Where one
does not hold (another interpreter, a free-threaded build, 32 bits) `CHECKED` is False and the
Python sweep does the work.
"""

from __future__ import annotations

import ctypes
import struct
import sys
from typing import Any

import numpy as np

from ...base.spec import Spec
from ...base.tensor import Tensor
from ...base.untraced import UNCOUNTED

TYPE = 8
LIST_ITEMS = 24
INT_TAG, INT_DIGITS = 16, 24
ARRAY_DATA, ARRAY_NDIM, ARRAY_DIMS, ARRAY_STRIDES, ARRAY_DESCR, ARRAY_FLAGS = 16, 24, 32, 40, 56, 64
SCALAR_VALUE = 16
DIGIT_SHIFT = 0 if sys.version_info < (3, 12) else 3
PLAIN_ARRAY = 0x1 | 0x100
"""Flags of an array that is C-contiguous and aligned."""


def words(obj: Any) -> list[int]:
    """The machine words of an object."""
    return list((ctypes.c_int64 * (type(obj).__basicsize__ // 8)).from_address(id(obj)))


def _tuple_items() -> int:
    first, second = object(), object()
    content = list((ctypes.c_int64 * 6).from_address(id(probe := (first, second, first, second))))
    return 8 * content.index(id(probe[0])) if id(first) in content else 0


def slot_offset(cls: type, name: str) -> int:
    """Where an instance keeps one of its slots, 0 if it is not found."""
    mark = object()
    probe: object = object.__new__(cls)
    setattr(probe, name, mark)
    content = words(probe)
    return 8 * content.index(id(mark)) if content.count(id(mark)) == 1 else 0


def _ints_hold() -> bool:
    for value in (1, 77, (1 << 30) - 1, 1 << 30, (1 << 45) + 12345, (1 << 59) + 3):
        digits = 1 if value < 1 << 30 else 2
        content = bytes((ctypes.c_char * (24 + 4 * digits)).from_address(id(value)))
        tag = struct.unpack_from("q", content, INT_TAG)[0]
        parts = struct.unpack_from(f"{digits}I", content, INT_DIGITS)
        if tag >> DIGIT_SHIFT != digits or sum(d << (30 * i) for i, d in enumerate(parts)) != value:
            return False
    return True


def _arrays_hold() -> bool:
    for probe in (np.zeros(3), np.zeros((4, 4), np.float32)[::2], np.zeros((2, 3)).T):
        content = words(probe)
        if content[ARRAY_DATA // 8] != probe.ctypes.data or content[ARRAY_DESCR // 8] != id(probe.dtype):
            return False
        if content[ARRAY_NDIM // 8] & 0xFFFFFFFF != probe.ndim or content[ARRAY_DIMS // 8] != _dims_address(probe):
            return False
        if content[ARRAY_FLAGS // 8] & 0xFFFFFFFF != probe.flags.num:
            return False
    return True


def _dims_address(array: np.ndarray) -> int:
    """Address of an array's shape, as NumPy's own ctypes view of it would not tell: by its content."""
    address = words(array)[ARRAY_DIMS // 8]
    strides = words(array)[ARRAY_STRIDES // 8]
    return address if strides == address + 8 * array.ndim else 0


def _scalars_hold() -> bool:
    for value, form in ((1.25, "d"), (np.float64(-3.5), "d"), (np.float32(2.5), "f")):
        content = bytes((ctypes.c_char * (SCALAR_VALUE + 8)).from_address(id(value)))
        if struct.unpack_from(form, content, SCALAR_VALUE)[0] != value:
            return False
    return True


def _objects_hold() -> bool:
    probe = [None] * 3
    head = words(probe)
    known = [object()] * 6
    low = (ctypes.c_uint32).from_address(id(known[0])).value
    return head[TYPE // 8] == id(list) and head[2] == 3 and low == sys.getrefcount(known[0]) - UNCOUNTED == 6


TUPLE_ITEMS = _tuple_items()
TENSOR_SPEC = slot_offset(Tensor, "_spec")
SPEC_INDEX = slot_offset(Spec, "index")
SPEC_SHAPE = slot_offset(Spec, "shape")
CHECKED = (
    sys.implementation.name == "cpython"
    and struct.calcsize("P") == 8
    and sys.byteorder == "little"
    and all((TUPLE_ITEMS, TENSOR_SPEC, SPEC_INDEX, SPEC_SHAPE))
    and _ints_hold()
    and _arrays_hold()
    and _scalars_hold()
    and _objects_hold()
)
