"""Telling whether the numbers in an array are still the same, without keeping large ones."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

from ops.algebra.sparse import is_sparse

SMALL = 1 << 12


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
