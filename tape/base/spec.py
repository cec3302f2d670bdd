"""Specs: the shape and dtype of a value, interned so that equal specs are the same object.

Two tensors with the same spec need no broadcasting and no promotion; one identity test tells.
A spec's `index` is its row in `TABLE`, where the jitted passes read its size and kind.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from .dtypes import NUMERIC, is_narrow, kind_of
from .locks import new_lock
from .tensor import Face, Narrow, Size, Tensor

FLOAT64, FLOAT32, OTHER = 0, 1, 2
OF_ARRAY, OF_NUMBER, OF_WHOLE = 0, 1, 2
KINDS = {np.dtype(np.float64): FLOAT64, np.dtype(np.float32): FLOAT32}


class Spec:
    """Shape and dtype of an array; get one from `spec_of` or `spec`.

    Attributes:
        narrow: whether the numbers are of 16 bits.
        one: the cotangent with which a backward from one real number begins; None for anything else.
        tensor: the class of tensors with this spec.
        face: which of `OF_FACES` their faces are of.
    """

    __slots__ = (
        "complex", "dtype", "face", "index", "inexact", "narrow", "nbytes", "ndim", "one", "shape", "size", "tensor",
    )  # fmt: skip

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any], index: int):
        self.shape = shape
        self.dtype = dtype
        self.ndim = len(shape)
        self.size = math.prod(shape)
        self.nbytes = self.size * dtype.itemsize
        self.inexact = kind_of(dtype) in "fc"
        self.narrow = is_narrow(dtype)
        self.tensor = Narrow if self.narrow else Tensor
        self.complex = dtype.kind == "c"
        self.one = np.ones((), dtype)[()] if self.inexact and not (shape or self.complex) else None
        self.face = OF_ARRAY if shape else OF_WHOLE if dtype.kind in "iu" else OF_NUMBER
        self.index = index

    def __repr__(self) -> str:
        return f"{self.dtype}{list(self.shape)}"


OF_FACES: list[type[Face]] = []
"""The classes of faces, of arrays, of numbers and of integers; put here by their room."""


class OfArray(Spec):
    """The spec of an array without axes where that is told from a number, which has the same."""

    __slots__ = ()


@cache
def of_array(spec: Spec) -> Spec:
    """The spec of an array; that of one without axes is not the number's."""
    return spec if spec.shape else OfArray(spec.shape, spec.dtype, spec.index)


class OfFile(OfArray):
    """The spec of an array whose memory is a file's, told from others, as what moves its numbers gives such arrays."""

    __slots__ = ()


@cache
def of_file(spec: Spec) -> Spec:
    """The spec of an `np.memmap`."""
    return OfFile(spec.shape, spec.dtype, spec.index)


class _Specs(dict[tuple[tuple[int, ...], "np.dtype[Any]"], Spec]):
    """Specs by shape and dtype; what is not there yet gets its row in the table."""

    def __missing__(self, key: tuple[tuple[int, ...], np.dtype[Any]]) -> Spec:
        return TABLE.add(key)


class _Table:
    """Rows (size, kind) of all specs, grown by doubling; rows never move once handed out."""

    def __init__(self) -> None:
        self.rows = np.zeros((64, 2), dtype=np.int64)
        self.lock = new_lock()
        self.interned = _Specs()

    def add(self, key: tuple[tuple[int, ...], np.dtype[Any]]) -> Spec:
        if kind_of(key[1]) not in NUMERIC:
            raise TypeError(f"arrays of dtype {key[1]} are not recorded, only numbers and truth values are")
        with self.lock:
            found = self.interned.get(key)
            if found is not None:
                return found
            index = len(self.interned)
            if index == len(self.rows):
                self.rows = np.concatenate([self.rows, np.zeros_like(self.rows)])
            made = Spec(*key, index)
            self.rows[index] = made.size, KINDS.get(made.dtype, OTHER)
            return self.interned.setdefault(key, made)


TABLE = _Table()


SPECS = TABLE.interned
"""The spec of each shape and dtype, made when it is first asked for: ``SPECS[shape, dtype]``."""


def spec(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Spec:
    """The spec of that shape and dtype."""
    return SPECS[shape, dtype]


def row_major(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """The strides of an array that lies in row-major order."""
    strides, step = [], itemsize
    for n in reversed(shape):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))


def spec_of(value: Any) -> Spec:
    """The spec of an array or NumPy scalar."""
    return SPECS[value.shape, value.dtype]


# Cotangents of outputs, with which a reverse sweep of any kind of tensor begins.


def implicit(spec: Spec, which: str = "this one") -> Any:
    """The cotangent of an output for which none is given: 1, if it is one real number.

    Raises:
        RuntimeError: if it is not.
    """
    if spec.size != 1:
        raise RuntimeError(
            f"grad can be implicitly created only for scalar outputs, of one element; {which} has shape {spec.shape}.\n"
            "Reduce it first (for example .sum()), or pass gradient= a tensor of that shape."
        )
    if spec.dtype.kind == "c":
        raise RuntimeError(
            f"grad can be implicitly created only for real scalar outputs but got {spec.dtype}.\n"
            "Differentiate z.real, z.imag or abs(z), or say what is summed: gradient= of backward, tape.func.vjp."
        )
    return np.ones(spec.shape, spec.dtype)[()]


def check_fits(cotangent: Spec, output: Spec, i: int) -> None:
    """Raise unless a cotangent has the shape of output number `i`, and is complex where that is.

    Raises:
        RuntimeError: if not.
    """
    if cotangent.shape != output.shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{i}] has a shape of {Size(cotangent.shape)} and output[{i}] has a shape "
            f"of {Size(output.shape)}."
        )
    if cotangent.complex is not output.complex:
        kind, advice = ("complex", "its .to(output.dtype)") if output.complex else ("real", "its .real")
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same dtype: output "
            f"{i} is {kind} ({output.dtype}), its gradient {cotangent.dtype}. Pass {advice}."
        )
