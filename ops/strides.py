"""Looking at the numbers of an array with other strides."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .batching import Application, apply
from .core import linear
from .index import scatter
from .shape import cases_of, reshape


def _as_strided(x: Any, *, size: tuple[int, ...], stride: tuple[int, ...], offset: int = 0) -> Any:
    x = np.ascontiguousarray(x)
    if not math.prod(size):
        return x.reshape(-1)[:0].reshape(size)
    z: Any = np.ndarray(size, x.dtype, x, offset * x.itemsize, tuple(s * x.itemsize for s in stride))
    z.flags.writeable = x.flags.writeable
    return z[()]


def cells(shape: tuple[int, ...], size: tuple[int, ...], stride: tuple[int, ...], offset: int) -> Any:
    """Which elements of the flattened operand are read."""
    return np.asarray(_as_strided(np.arange(math.prod(shape)), size=size, stride=stride, offset=offset))


def _transpose(g: Any, x_shape: tuple[int, ...], size: Any, stride: Any, offset: int) -> Any:
    flat = scatter(g, index=cells(x_shape, size, stride, offset), shape=(math.prod(x_shape),))
    return reshape(flat, shape=x_shape)


def _in_lanes(a: Application) -> Any:
    shape, n = a.shape(0), a.n
    flat = apply("reshape", a.full(0), shape=(n, math.prod(shape)))
    return apply("getitem", flat, index=(slice(None), cells(shape, **{k: a.params[k] for k in STRIDES})))


STRIDES = ("size", "stride", "offset")

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
