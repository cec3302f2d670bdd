"""Ops that move numbers without changing them, and their transposes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from .core import linear


def _cases(*shapes_and_params: tuple[tuple[int, ...], dict[str, Any]]):  # type: ignore[no-untyped-def]
    """Cases of a one-operand op: a shape and the parameters."""

    def cases(rng: np.random.Generator) -> Iterator[tuple[tuple[np.ndarray, ...], dict[str, Any]]]:
        for shape, params in shapes_and_params:
            yield (rng.standard_normal(shape),), params

    return cases


def _sum_to(x: Any, *, shape: tuple[int, ...]) -> Any:
    x = np.asarray(x)
    lead = x.ndim - len(shape)
    axes = (*range(lead), *(lead + k for k, n in enumerate(shape) if n == 1 and x.shape[lead + k] != 1))
    return np.sum(x, axis=axes).reshape(shape)[()] if axes else x.reshape(shape)[()]


sum_to = linear(
    "sum_to", _sum_to, lambda g, x_shape: broadcast_to(g, shape=x_shape),
    node="SumBackward1", cases=_cases(((2, 3), {"shape": (3,)}), ((2, 3), {"shape": (2, 1)}), ((3,), {"shape": ()})),
    doc="Sum over the axes that broadcasting added: the transpose of `broadcast_to`.",
)

broadcast_to = linear(
    "broadcast_to", lambda x, *, shape: np.broadcast_to(x, shape)[()], lambda g, x_shape: sum_to(g, shape=x_shape),
    node="ExpandBackward0", cases=_cases(((3,), {"shape": (2, 3)}), ((), {"shape": (4,)}), ((2, 1), {"shape": (2, 3)})),
    doc="A view of x repeated along new axes and axes of length 1.",
)

reshape = linear(
    "reshape", lambda x, *, shape: np.reshape(x, shape), lambda g, x_shape: reshape(g, shape=x_shape),
    node="ViewBackward0", cases=_cases(((2, 3), {"shape": (3, 2)}), ((6,), {"shape": (2, -1)}), ((), {"shape": (1,)})),
    doc="The same numbers in another shape; one length may be −1.",
)


def _inverse(axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(int(k) for k in np.argsort([a % len(axes) for a in axes]))


permute = linear(
    "permute", lambda x, *, axes: np.transpose(x, axes), lambda g, axes: permute(g, axes=_inverse(axes)),
    cases=_cases(((2, 3, 4), {"axes": (2, 0, 1)}), ((2, 3), {"axes": (-1, 0)})),
    doc="The axes in another order.",
)

flip = linear(
    "flip", lambda x, *, axes: np.flip(x, axes), lambda g, axes: flip(g, axes=axes),
    cases=_cases(((2, 3), {"axes": (0,)}), ((2, 3), {"axes": (0, 1)})),
    doc="The order of the elements reversed along some axes.",
)

clone = linear(
    "clone", lambda x: np.array(x)[()], lambda g: g, cases=_cases(((2, 3), {}), ((), {})),
    doc="A copy.",
)

cast = linear(
    "cast", lambda x, *, dtype: np.asarray(x).astype(dtype)[()], lambda g, x_dtype: cast(g, dtype=x_dtype),
    node="ToCopyBackward0", cases=_cases(((3,), {"dtype": np.dtype("float64")}),),
    doc="The same numbers in another dtype.",
)


def size_of(shape: tuple[int, ...], axes: tuple[int, ...]) -> int:
    """Number of elements along some axes."""
    return math.prod(shape[a] for a in axes)
