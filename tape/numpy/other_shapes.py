"""NumPy's functions of arguments in shapes that no op takes: vectors for matrices, vectors in a plane, tensors.

Each is written in NumPy's functions that record; what it raises, NumPy raises of such shapes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .arrays.leaving import plain
from .constructors import as_array


def diagflat(v: Any, k: int = 0) -> Any:
    """`np.diagflat`."""
    return np.diag(np.ravel(as_array(v)), k)


def _triangle(part: Any) -> Callable[..., Any]:
    """`np.triu` or `np.tril` of a vector, which is repeated for each row."""

    def answer(m: Any, k: int = 0) -> Any:
        m = as_array(m)
        return part(np.broadcast_to(m, (len(m), len(m))), k) if m.ndim == 1 else NotImplemented

    return answer


def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: Any = None) -> Any:
    """`np.cross`, where one of the vectors lies in a plane: of two such, the component that stands on it."""
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = as_array(a), as_array(b)
    lengths = {x.shape[k] for x, k in ((a, axisa), (b, axisb)) if x.ndim}
    if 2 not in lengths or not lengths <= {2, 3}:
        return NotImplemented
    np.cross(np.zeros(a.shape), np.zeros(b.shape), axisa, axisb, axisc)  # what NumPy says of such
    a, b = np.moveaxis(a, axisa, -1), np.moveaxis(b, axisb, -1)
    last = a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    if lengths == {2}:
        return last
    if a.shape[-1] == 2:
        parts = [a[..., 1] * b[..., 2], -a[..., 0] * b[..., 2], last]
    else:
        parts = [-a[..., 2] * b[..., 1], a[..., 2] * b[..., 0], last]
    return np.moveaxis(np.stack(parts, axis=-1), -1, axisc)


def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    """`np.linalg.tensorsolve`."""
    a, b = as_array(a), as_array(b)
    np.linalg.tensorsolve(_regular(a, b.ndim, axes), np.zeros(b.shape), axes)  # what NumPy raises of such shapes
    if axes is not None:
        kept = [k for k in range(a.ndim) if k not in plain(axes)]
        a = np.transpose(a, (*kept, *plain(axes)))
    shape = a.shape[b.ndim :]
    return np.reshape(np.linalg.solve(np.reshape(a, (b.size, b.size)), np.ravel(b)), shape)


def _regular(a: Any, count: int, axes: Any) -> np.ndarray:
    """Numbers in the shape of a tensor that can be inverted, if one of that shape can be."""
    ordered = [k for k in range(a.ndim) if axes is None or k not in plain(axes)] + list(plain(axes) or ())
    shape = [a.shape[k] for k in ordered]
    size = int(np.prod(shape[:count]))
    made = np.eye(size, a.size // max(size, 1)) if size * (a.size // max(size, 1)) == a.size else np.zeros(a.size)
    return np.transpose(made.reshape(shape), np.argsort(ordered))


def tensorinv(a: Any, ind: int = 2) -> Any:
    """`np.linalg.tensorinv`."""
    a = as_array(a)
    if ind <= 0:
        raise ValueError("Invalid ind argument.")
    rows = int(np.prod(a.shape[:ind]))
    return np.reshape(np.linalg.inv(np.reshape(a, (rows, -1))), a.shape[ind:] + a.shape[:ind])


OTHER_SHAPES: dict[Any, Callable[..., Any]] = {
    np.diagflat: diagflat, np.triu: _triangle(np.triu), np.tril: _triangle(np.tril), np.cross: cross,
    np.linalg.tensorsolve: tensorsolve, np.linalg.tensorinv: tensorinv,
}  # fmt: skip
"""What answers for such a function of NumPy's; NotImplemented, if an op does for these arguments."""
