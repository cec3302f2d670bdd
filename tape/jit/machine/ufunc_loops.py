"""The compiled loops within NumPy's and SciPy's ufuncs, by address.

A ufunc keeps a loop for each combination of dtypes, a C function of the addresses of its operands, their sizes and
strides (``PyUFuncGenericFunction`` in NumPy's C API).  So what NumPy computes without Python can be a step of a sweep,
and gives the same bits.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ...base.locks import once
from .fenv import ALL, INVALID, fenv
from .frames import address_of
from .machine_code import compile_kernel

COUNTS, FUNCTIONS, DATA, COUNT, NAME, TYPES = 16, 32, 40, 48, 56, 64
"""Bytes from the beginning of a ufunc to what it says in ``numpy/ufuncobject.h``."""
FE_INVALID = 1
LOOP = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)


class UfuncLoop(NamedTuple):
    """The addresses of a loop and of what it wants to be given."""

    function: int
    data: int


def _word(address: int) -> int:
    return int(ctypes.c_int64.from_address(address).value)


@cache
def loop_of(ufunc: np.ufunc | None, types: str) -> UfuncLoop | None:
    """The loop of a ufunc for dtypes such as ``"dd->d"``; None if it has none, or its memory is not as expected."""
    if ufunc is None or types not in ufunc.types or not _laid_out(ufunc):
        return None
    functions, data, known = (_word(id(ufunc) + at) for at in (FUNCTIONS, DATA, TYPES))
    if not functions or not known:
        return None
    k = ufunc.types.index(types)
    wanted = bytes([np.dtype(c).num for c in types.replace("->", "")])
    loop = UfuncLoop(_word(functions + 8 * k), _word(data + 8 * k) if data else 0)
    if not loop.function or ctypes.string_at(known + k * ufunc.nargs, ufunc.nargs) != wanted:
        return None
    return _with_flags(loop) if ufunc.signature is None and takes_flags_down(loop, types) else loop


def takes_flags_down(loop: UfuncLoop, types: str) -> bool:
    """Whether a loop takes down flags that were raised before it, as NumPy's comparisons do: it is tried on ones."""
    known = fenv()
    if known is None or set(types) - {*"?bhilqBHILQefd", *"->"}:
        return False
    wanted = sum(known.bits.values())
    for n in (1, TRIED):
        ones = [np.ones(n, np.dtype(c)) for c in types.replace("->", "")]
        operands, steps = np.array([address_of(x) for x in ones]), np.array([x.itemsize for x in ones])
        known.clear(ALL)
        known.again(wanted)
        LOOP(loop.function)(address_of(operands), address_of(np.array([n])), address_of(steps), loop.data)
        left = known.test(wanted)
        known.clear(ALL)
        if left != wanted:
            return True
    return False


TRIED = 40
"""So many numbers are more than a few vectors."""
KEEPING = f"""
define void @kernel(i64 %operands, i64 %sizes, i64 %strides, i64 %data) {{
entry:
  %words = inttoptr i64 %data to ptr
  %loop = load ptr, ptr %words
  %at_given = getelementptr i64, ptr %words, i64 1
  %given = load i64, ptr %at_given
  %at_test = getelementptr i64, ptr %words, i64 2
  %test = load ptr, ptr %at_test
  %at_raise = getelementptr i64, ptr %words, i64 3
  %raise = load ptr, ptr %at_raise
  %before = call i32 %test(i32 {ALL})
  call void %loop(i64 %operands, i64 %sizes, i64 %strides, i64 %given)
  %some = icmp ne i32 %before, 0
  br i1 %some, label %again, label %done
again:
  %raised = call i32 %raise(i32 %before)
  br label %done
done:
  ret void
}}
"""
"""A loop that calls another one, and raises the flags again that were raised before."""
_kept: list[Any] = []
"""What such loops are given: their words."""


@once
def _keeping() -> tuple[Any, int]:
    return compile_kernel(KEEPING)


def _with_flags(loop: UfuncLoop) -> UfuncLoop:
    """A loop that keeps the flags that were raised before it."""
    known = fenv()
    assert known is not None, "it is asked first"
    _, test, again = known.addresses
    words = np.array([loop.function, loop.data, test, again])
    _kept.append(words)
    return UfuncLoop(_keeping()[1], address_of(words))


def _laid_out(ufunc: np.ufunc) -> bool:
    """Whether a ufunc's memory begins as NumPy's header says."""
    counts = list((ctypes.c_int32 * 3).from_address(id(ufunc) + COUNTS))
    if counts != [ufunc.nin, ufunc.nout, ufunc.nargs]:
        return False
    if ctypes.c_int32.from_address(id(ufunc) + COUNT).value != ufunc.ntypes:
        return False
    name, address = ufunc.__name__.encode(), _word(id(ufunc) + NAME)
    return bool(address) and ctypes.string_at(address, len(name)) == name


@once
def flags() -> list[int] | None:
    """The functions by which a loop is asked whether it failed (see `Fenv.addresses`): those of linear algebra tell
    by the flag of invalid operations.

    None if a matrix without an inverse does not raise the flag that is looked at.
    """
    known, found = fenv(), loop_of(linear_algebra("inv"), "d->d")
    if known is None or known.bits[INVALID] != FE_INVALID or found is None:
        return None
    seen = []
    for matrix in (np.eye(2), np.zeros((2, 2))):
        result = np.empty((2, 2))
        sizes, strides = np.array([1, 2]), np.array([0, 0, 16, 8, 16, 8])
        operands = np.array([address_of(matrix), address_of(result)])
        known.clear(FE_INVALID)
        LOOP(found.function)(address_of(operands), address_of(sizes), address_of(strides), found.data)
        seen.append(known.test(FE_INVALID) != 0)
    known.clear(FE_INVALID)
    return known.addresses if seen == [False, True] else None


def linear_algebra(name: str) -> Any:
    """The generalised ufunc that does the work in `numpy.linalg`, None if this NumPy has none of that name."""
    return getattr(getattr(np.linalg, "_umath_linalg", None), name, None)


def fourier(name: str) -> Any:
    """The same of `numpy.fft`."""
    return getattr(getattr(getattr(np.fft, "_pocketfft", None), "pfu", None), name, None)


@once
def holds() -> bool:
    """Whether loops can be called so: tried on a product of three numbers, of which every other one is taken."""
    found = loop_of(np.multiply, "dd->d")
    if found is None:
        return False
    x, y, z = np.arange(6.0), np.array(3.0), np.zeros(3)
    operands = np.array([address_of(x), address_of(y), address_of(z)])
    sizes, strides = np.array([3]), np.array([16, 0, 8])
    LOOP(found.function)(address_of(operands), address_of(sizes), address_of(strides), found.data)
    return bool((z == [0.0, 6.0, 12.0]).all())
