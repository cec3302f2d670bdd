"""Looking at the numbers of an array with other strides."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..core.batching import Application
from ..core.domain import cases_of
from ..core.op import linear
from .index import scatter
from .shape import reshape


def _as_strided(x: Any, *, size: tuple[int, ...], stride: tuple[int, ...], offset: int = 0) -> Any:
    x = np.asarray(x)
    if not math.prod(size):
        return np.ascontiguousarray(x).reshape(-1)[offset:offset].reshape(size)
    memory = dense(x)
    steps = None if memory is None else _steps(x, size, stride, offset)
    writeable = x.flags.writeable and steps is not None  # what would be written to a copy is lost
    if steps is None:
        memory = np.ascontiguousarray(x)
        steps = offset * x.itemsize, tuple(s * x.itemsize for s in stride)
    z: Any = np.ndarray(size, x.dtype, memory, *steps)
    z.flags.writeable = writeable
    return z[()]


def _steps(x: Any, size: Any, stride: Any, offset: int) -> tuple[int, tuple[int, ...]] | None:
    """Where in the memory of x a view begins, and its strides, in bytes; None if these elements are no view of x.

    x may lie in row-major order, or what lies along its first axis may, apart from each other: the lanes of a batch.
    """
    if x.flags.c_contiguous:
        return offset * x.itemsize, tuple(s * x.itemsize for s in stride)
    step = spacing(x)
    if step is not None:
        return offset * step, tuple(s * step for s in stride)
    reach = offset + sum((n - 1) * s for n, s in zip(size[1:], stride[1:]))
    if size[:1] != x.shape[:1] or stride[0] != x[0].size or reach >= stride[0]:
        return None
    inside = _steps(x[0], size[1:], stride[1:], offset)
    return None if inside is None else (inside[0], (x.strides[0], *inside[1]))


def dense(x: Any) -> Any:
    """The array with its axes in the order in which it lies in memory; None if it lies there with gaps."""
    turned = x.transpose(sorted(range(x.ndim), key=lambda k: -x.strides[k]))
    return turned if turned.flags.c_contiguous else None


def spacing(x: Any) -> int | None:
    """Bytes from one element of an array to the next in row-major order, if they lie that far apart everywhere."""
    axes = [k for k, n in enumerate(x.shape) if n != 1]
    step = x.strides[axes[-1]] if axes else x.itemsize
    even = step > 0 and all(x.strides[k] == step * math.prod(x.shape[k + 1 :]) for k in axes)
    return step if even else None


def cells(shape: tuple[int, ...], size: tuple[int, ...], stride: tuple[int, ...], offset: int) -> Any:
    """Which elements of the flattened operand are read."""
    return np.asarray(_as_strided(np.arange(math.prod(shape)), size=size, stride=stride, offset=offset))


def _transpose(g: Any, x_shape: tuple[int, ...], size: Any, stride: Any, offset: int) -> Any:
    flat = scatter(g, index=cells(x_shape, size, stride, offset), shape=(math.prod(x_shape),))
    return reshape(flat, shape=x_shape)


def _in_lanes(a: Application) -> Any:
    size, stride = (a.n, *a.params["size"]), (math.prod(a.shape(0)), *a.params["stride"])
    return a.again(a.full(0), size=size, stride=stride)


as_strided = linear(
    "as_strided", _as_strided, _transpose,
    view=True, batch=_in_lanes,
    cases=cases_of(
        ((6,), {"size": (3, 2), "stride": (1, 2)}),
        ((2, 3), {"size": (2, 2), "stride": (1, 1), "offset": 2}),
        ((4,), {"size": (), "stride": (), "offset": 3}),
        ((3,), {"size": (2, 0), "stride": (1, 1)}),
    ),
    doc="""z[i, j, …] = the element of the flattened x at offset + i stride[0] + j stride[1] + …

    Elements that are read several times get the sum of the adjoints.
    """,
)
