"""Second derivatives by recording the rules, against differences of the first."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose
from oracle import Traced, gradients, value_of
from samples import along, inner, moved, slope, vjps


def second_order_agrees(op, operands, params, ts, us, gs):
    """∂⟨x_bar, t⟩ along u for adjoints g: against the change of x_bar along u and the tangent of z along t."""
    xs = [Traced(x) if i in ts else x for i, x in enumerate(operands)]
    z = op(*xs, **params)
    seeds = [(p, Traced(g)) for p, g in zip(z if isinstance(z, tuple) else (z,), gs) if g is not None]
    inputs = [xs[i] for i in ts]
    with np.errstate(all="ignore"):
        bars = gradients([p for p, _ in seeds], [g for _, g in seeds], inputs, create_graph=True)
        pairs = [(bar, t) for bar, t in zip(bars, ts.values()) if isinstance(bar, Traced)]
        everything = [*inputs, *(g for _, g in seeds)]
        found = gradients([b for b, _ in pairs], [t for _, t in pairs], everything)
    found = [np.zeros(x.shape) if f is None else value_of(f) for x, f in zip(everything, found)]

    def first_order(h):
        return inner(vjps(op, moved(operands, us, h), params, gs, list(ts)), ts.values())

    curvature = inner(found[: len(inputs)], us.values())
    assert_allclose(curvature, slope(first_order), rtol=1e-5, atol=1e-6, err_msg=f"{params}")
    tangent = along(op, operands, params, ts, gs)
    assert_allclose(inner(found[len(inputs) :], [g for g in gs if g is not None]), tangent, rtol=2e-6, atol=1e-7)
