"""How much a record amplifies a relative error of its operands: its condition number.

For z = f(x, …) the relative condition of element j is κⱼ = Σₖ |∂zⱼ/∂xₖ| |xₖ| / |zⱼ| over all elements
of all operands (Higham, *Accuracy and Stability of Numerical Algorithms*, 2002, §1.6; Rice 1966): of
x − y it is (|x| + |y|) / |x − y|, of a sum Σ|x| / |Σx|, of log x 1 / |log x|.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ops import Op

from .derivatives.subject import Array

FEW = 16
"""Of an op that is not elementwise, so many results are looked at: the smallest, because cancelling makes small."""


def amplification(op: Op, values: Sequence[Any], z: Any, wanted: Sequence[int], params: dict[str, Any]) -> float:
    """The largest κ of the elements of a result; 0 where there is none.

    Args:
        op: with one result.
        values: of its operands.
        z: its result.
        wanted: positions of the operands that have a derivative.
        params: its parameters.
    """
    result = np.asarray(z)
    if result.size == 0 or result.dtype.kind not in "fc":
        return 0.0
    with np.errstate(all="ignore"):
        if op.kind == "elementwise":
            sizes = _by_element(op, values, result, wanted, params)
            ratios = sizes / np.abs(result)
        else:
            ratios = np.array([_of_one(op, values, result, j, wanted, params) for j in _smallest(result)])
    ratios = ratios[np.isfinite(ratios)]
    return float(np.max(ratios, initial=0.0))


def _by_element(op: Op, values: Sequence[Any], result: Array, wanted: Sequence[int], params: dict[str, Any]) -> Array:
    """Σ |∂z/∂x| |x| for each element: its operands are spread out first, so that no adjoints are added up."""
    spread = [np.array(np.broadcast_to(v, result.shape))[()] for v in values]
    env = op.environment(tuple(spread), result[()], params)
    sizes = np.zeros(result.shape)
    for i in wanted:
        bar = op.vjp(i, np.ones(result.shape, result.dtype)[()], env, result.shape, np.asarray(values[i]).dtype)
        sizes += 0.0 if bar is None else np.abs(np.asarray(bar)) * np.abs(spread[i])
    return sizes


def _of_one(
    op: Op, values: Sequence[Any], result: Array, j: int, wanted: Sequence[int], params: dict[str, Any]
) -> float:
    """κ of one element of the result, by one sweep."""
    g = np.zeros(result.shape, result.dtype)
    g.flat[j] = 1.0
    env = op.environment(tuple(values), result[()], params)
    together = op.vjps(tuple(wanted), g[()], env) if op.joint is not None else None
    size = 0.0
    for i in wanted:
        x = np.asarray(values[i])
        bar = together[i] if together is not None else op.vjp(i, g[()], env, x.shape, x.dtype)
        size += 0.0 if bar is None else float(np.sum(np.abs(np.asarray(bar)) * np.abs(x)))
    return size / float(np.abs(result.flat[j]))


def _smallest(result: Array) -> list[int]:
    """The places of the smallest elements that are not zero: an exact zero is a result that lost nothing, or all."""
    sizes = np.abs(result).ravel()
    order = np.argsort(np.where(sizes > 0, sizes, np.inf), kind="stable")
    return [int(j) for j in order[:FEW] if sizes[j] > 0]
