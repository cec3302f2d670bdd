"""Telling whether values are the same, without keeping large ones: numbers in arrays, and parameters of records."""

from __future__ import annotations

import zlib
from hashlib import sha256
from typing import Any

import numpy as np

from ops.algebra.sparse import is_sparse

SMALL = 1 << 12
"""Bytes of an array that are kept as they are."""


def fingerprint(value: Any) -> Any:
    """Something that is equal as long as an array, a number or a sparse matrix is the same in every bit."""
    if is_sparse(value):
        return type(value), value.shape, [fingerprint(part) for part in _parts(value)]
    value = np.asarray(value)
    if value.dtype.hasobject:
        return value.shape, list(value.flat)
    if value.nbytes <= SMALL:
        return value.shape, value.dtype, value.tobytes()
    content: Any = np.ascontiguousarray(value).reshape(-1).view(np.uint8)
    return value.shape, value.dtype, zlib.crc32(content)


def _parts(matrix: Any) -> list[Any]:
    """The arrays that a sparse matrix keeps its elements in."""
    if matrix.format in ("dok", "lil"):  # a dict, and lists
        matrix = matrix.tocoo()
    named = [getattr(matrix, name) for name in ("indptr", "indices", "offsets") if hasattr(matrix, name)]
    return [matrix.data, *named, *getattr(matrix, "coords", ())]


def key_of(code: int, params: dict[str, Any]) -> Any:
    """Something hashable that is equal for equal opcodes and parameters only, while the parameters live."""
    return (code, *[(name, _key(value)) for name, value in params.items()])


_PLAIN = frozenset({int, bool, str, type(None), type(Ellipsis)})
"""The commonest kinds of what is hashable and equal for equal values only."""


def _key(value: Any) -> Any:
    """Something hashable that is equal for equal parameters only."""
    kind = type(value)
    if kind in _PLAIN:
        return kind, value
    if kind is slice:
        start, stop, step = value.start, value.stop, value.step
        if type(start) in _PLAIN and type(stop) in _PLAIN and type(step) in _PLAIN:
            return slice, type(start), start, type(stop), stop, type(step), step
    if isinstance(value, (tuple, list)):
        return kind, tuple([_key(part) for part in value])
    if isinstance(value, np.ndarray):
        return value.dtype, value.shape, _content(value)
    if isinstance(value, float):
        return float, repr(value)
    if isinstance(value, (complex, np.inexact)):  # of which zeros of both signs are equal too
        return kind, repr(value)
    if isinstance(value, slice):
        return slice, _key(value.start), _key(value.stop), _key(value.step)
    try:
        hash(value)
    except TypeError:
        return object, id(value)
    return type(value), value


def _content(value: np.ndarray) -> bytes:
    """The bytes of an array; of a large one a digest, since keys live as long as the programs that they are of."""
    if value.nbytes <= SMALL or value.dtype.hasobject:
        return value.tobytes()
    return sha256(np.ascontiguousarray(value).reshape(-1).view(np.uint8).data).digest()
