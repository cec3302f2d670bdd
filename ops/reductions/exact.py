"""Sums and inner products that are rounded once, at the end, as `math` has them."""

from __future__ import annotations

import functools
import math
import operator
from typing import Any

import numpy as np

from ..core.batching import along
from ..core.domain import cases_of
from ..core.hints import Hints
from ..core.op import general
from ..pointwise.arithmetic import mul
from ..shapes.sums import spread


def _exact_sum(x: Any) -> Any:
    """Sums over the last axis, rounded once: `math.fsum`, with what that raises."""
    rows = np.reshape(x, (math.prod(x.shape[:-1]), x.shape[-1]))
    return np.array([math.fsum(row) for row in rows.tolist()], x.dtype).reshape(x.shape[:-1])[()]


exact_sum = general(
    "exact_sum", _exact_sum, lambda g, x_shape: spread(g, x_shape, -1),
    cases=cases_of(((4,), {}), ((2, 3), {})), batch=along(), hints=Hints(raises=slice(0, 1)),
)  # fmt: skip


def _exact_dot(x: Any, y: Any) -> Any:
    """Sums of products over the last axis, rounded once.

    Raises:
        OverflowError: where that is too large for a float.
    """
    shape = x.shape[:-1]
    rows = [np.reshape(a, (math.prod(shape), a.shape[-1])).tolist() for a in (x, y)]
    return np.array([_dot(p, q) for p, q in zip(*rows)], np.result_type(x, y)).reshape(shape)[()]


def _ratio(x: float) -> tuple[int, int]:
    return x.as_integer_ratio()


def _dot(p: list[float], q: list[float]) -> float:
    rounded = functools.reduce(operator.add, map(operator.mul, p, q), -0.0)
    if not all(map(math.isfinite, (*p, *q))):
        return rounded
    ratios = [(m * n, over * under) for (m, over), (n, under) in zip(map(_ratio, p), map(_ratio, q))]
    common = max([below for _, below in ratios], default=1)  # all are powers of two
    exact = sum([above * (common // below) for above, below in ratios])
    return exact / common if exact else rounded  # which has the sign of the zero


exact_dot = general(
    "exact_dot", _exact_dot,
    lambda g, y: mul(spread(g, y.shape, -1), y), lambda g, x: mul(spread(g, x.shape, -1), x),
    cases=cases_of(([(4,), (4,)], {}), ([(2, 3), (2, 3)], {})), batch=along(), hints=Hints(raises=slice(0, 2)),
)  # fmt: skip
