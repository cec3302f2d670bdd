"""Which ops leave machine code in a replay: everything else in the registry is steps, or part of a kernel."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from samples import DIFFERENTIABLE, active, noise, results, samples

import tape
from ops import REGISTRY
from tape import autograd
from tape.program import record
from tape.program.plans.replay import NumPyStep

MAY_STOP = frozenset(
    """
    angle cofactor complex contract copy_over cummax cummin digamma elimination fill lgamma log_ndtr
    logcumsumexp masked_choice masked_place matrix_exp median_all median_along nan_to_num nanmedian_all nanmedian_along
    ndtr pinv polar polygamma round scatter_extreme sparse_product sparse_solve special_ai special_aip special_bi
    special_bip special_chi special_ci special_fresnelc special_fresnels special_shi special_si special_zeta std_mean
    var_mean vector_norm view_as_complex view_as_real zero all allclose any anywhere argwhere array_equal array_equiv
    count_nonzero digitize empty_like flatnonzero isclose isin nonzero pivot_order
    """.split()  # noqa: SIM905
)
"""Those that NumPy or SciPy evaluates from Python for some operand."""
OF_COMPLEX = frozenset({"cast", "matmul", "where"})
"""Those that stop for complex numbers, which adjoints of others make."""
PLAIN = [op for op in REGISTRY.values() if op.kind == "plain" and op.arity in (1, 2)]


def stops(program):
    """The ops of the records at which a replay goes back to Python."""
    steps, plan = program.replay.steps, program.replay.sweeper.plan
    return {s.op.name for s in steps if isinstance(s, NumPyStep) and not plan.stopped.isdisjoint(s.makes)} - {"output"}


def adjoints(op, params, positions):
    """A program of the adjoints of an op's operands."""

    def run(xs, gs):
        z = op(*xs, **params)
        zs = [p for p in (z if isinstance(z, tuple) else (z,)) if p.dtype.kind in "fc"]
        return autograd.grad(zs, [xs[i] for i in positions], gs, materialize_grads=True)

    return run


@pytest.mark.parametrize("op", DIFFERENTIABLE, ids=lambda op: op.name)
def test_only_these_stop(op):
    found = set()
    for k, (operands, params) in enumerate(samples(op)):
        xs = [tape.tensor(np.asarray(x)) for x in operands]
        found |= stops(record(lambda *xs, params=params: op(*xs, **params), *xs))
        if k:
            continue
        gs = [noise(z, np.random.default_rng(0)) for z in results(op.forward(*operands, **params)) if z is not None]
        made = record(adjoints(op, params, active(op, operands)), xs, [tape.tensor(g) for g in gs])
        assert stops(made) <= MAY_STOP | OF_COMPLEX
    assert found <= MAY_STOP
    assert (op.name in found) == (op.name in MAY_STOP)


@pytest.mark.parametrize("op", PLAIN, ids=lambda op: op.name)
def test_only_these_stop_without_derivative(op):
    rng = np.random.default_rng(0)
    found, tried = set(), 0
    for shape in ((5, 3), (4,)):
        xs = [3 * rng.standard_normal(shape) for _ in range(op.arity)]
        xs = [np.sort(x) for x in xs] if op.name in ("searchsorted", "digitize") else xs
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                op.forward(*xs)
        except (TypeError, ValueError):
            continue
        tried += 1
        found |= stops(record(lambda *xs: op(*xs), *map(tape.tensor, xs)))
    if tried:
        assert (op.name in found) == (op.name in MAY_STOP)
