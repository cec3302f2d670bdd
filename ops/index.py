"""Reading by index and its transpose, adding at an index."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .core import general, linear


def _scatter(x: Any, *, index: Any, shape: tuple[int, ...]) -> Any:
    z = np.zeros(shape, dtype=np.asarray(x).dtype)
    np.add.at(z, index, x)
    return z


select = linear(
    "select", lambda x, *, index: x[index], lambda g, x_shape, index: scatter(g, index=index, shape=x_shape),
    cases=lambda rng: iter([((rng.standard_normal(4),), {"index": 2}), ((rng.standard_normal((3, 2)),), {"index": -1})]),
    doc="x[i] for one integer i along the first axis.",
)

scatter = linear(
    "scatter", _scatter, lambda g, index: getitem(g, index=index),
    node="IndexPutBackward0",
    cases=lambda rng: iter([((rng.standard_normal((2,)),), {"index": np.array([1, 1]), "shape": (3,)})]),
    doc="Zeros of the given shape with x added at an index; repeated indices add up.",
)


def _index_cases(rng: np.random.Generator) -> Iterator[tuple[tuple[np.ndarray, ...], dict[str, Any]]]:
    x = rng.standard_normal((3, 4, 2))
    for index in (
        (1, slice(None, None, 2)), (Ellipsis, 0), (None, slice(1, None)), np.array([0, 2, 2]),
        x[..., 0] > 0, (slice(None), np.array([[0, 1], [1, 1]])), (np.array([0, 1]), slice(None), np.array([1, 1])),
        slice(None, None, -1),
    ):
        yield (x,), {"index": index}


getitem = linear(
    "getitem", lambda x, *, index: x[index], lambda g, x_shape, index: scatter(g, index=index, shape=x_shape),
    node="IndexBackward0", cases=_index_cases,
    doc="x[index] for any index that NumPy takes: slices, integers, arrays, masks, mixed.",
)
