"""Many matrices times the same one, as one product: BLAS reads the one matrix once, and not for each of the others."""

from __future__ import annotations

import math
from typing import Any

from .loop_steps import one_stride
from .plan_places import PlanValue
from .step_memory import axes, view

MOST_APART = 64
"""More matrices that do not lie one after another are copied to where they do."""


def joined(plan: Any, operands: tuple[int, int], x: PlanValue, y: PlanValue) -> tuple[PlanValue, PlanValue] | None:
    """The matrix of all rows of the matrices x and the matrix y, or of all columns where each of y has one: zᵀ = yᵀ xᵀ.

    None unless they are multiplied by the same one.  `operands` are the records of x and y.
    """
    many, k = x, operands[0]
    if math.prod(y.spec.shape[:-2]) != 1:
        if y.spec.shape[-1] != 1 or math.prod(x.spec.shape[:-2]) != 1:
            return None
        (many, k), y = (_turned(y), operands[1]), _turned(x)
    rows = one_stride(many.spec.shape[:-1], many.strides[:-1])
    if rows is None:
        if math.prod(many.spec.shape[:-2]) <= MOST_APART or many.spec.dtype != plan.spec(k).dtype:
            return None
        many = plan.flat(k) if many is x else _turned(plan.flat(k))
        rows = one_stride(many.spec.shape[:-1], many.strides[:-1])
        assert rows is not None
    count, (inner, step) = math.prod(many.spec.shape[:-1]), axes(many)[-1]
    return view(many, [(count, rows), (inner, step)]), view(y, axes(y)[-2:])


def _turned(x: PlanValue) -> PlanValue:
    """Matrices with their rows as columns, where they lie."""
    return view(x, [*axes(x)[:-2], *axes(x)[:-3:-1]])
