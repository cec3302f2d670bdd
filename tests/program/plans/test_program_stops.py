"""Which ops leave machine code in a replay: everything else in the registry is steps, or part of a kernel."""

from __future__ import annotations

import contextlib
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from samples import DIFFERENTIABLE, active, in_the_plane, noise, results, samples, single, single_params

import tape
from ops import REGISTRY
from tape import autograd
from tape.program import record
from tape.program.plans.in_python import NumPyStep
from tape.program.plans.plan import Plan

RNG = np.random.default_rng(7)
MAY_STOP = frozenset(
    """
    all any anywhere array_equiv cofactor contract cummax cummin digitize eig elimination empty_like exact_dot
    exact_sum exchanged exchanges frexp function_of_matrix isin logcumsumexp masked_choice masked_place matrix_exp
    median_all median_along min_and_max mode nanmedian_all nanmedian_along numpy_i0 partitioned pinv pivot_order
    row_dot scatter_extreme solve_banded sparse_product sparse_solve special_ai special_aip special_bi special_bip
    special_chi special_ci special_fresnelc special_fresnels special_shi special_si std_mean sylvester var_mean
    vector_norm
    """.split()  # noqa: SIM905
)
"""Those that NumPy or SciPy evaluates from Python for some operand."""
OF_COMPLEX = frozenset({"erfc", "sigmoid"})
"""Those that stop for complex numbers alone."""
WITH_PHASES = frozenset({"eigh", "svd"})
"""Those whose complex results are differentiated only in losses that do not see their phases."""
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
        assert stops(made) <= MAY_STOP
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


TRUTHS = {
    "vectors": RNG.standard_normal(9) > 0,
    "matrices": RNG.standard_normal((4, 5)) > 0,
    "three axes": RNG.standard_normal((2, 3, 4)) > 0.5,
    "turned": (RNG.standard_normal((3, 4)) > 0).T,
    "numbers": np.array([[0.0, -0.0, np.nan], [1.0, 5e-324, -np.inf]]),
    "nothing": np.zeros((3, 2), dtype=bool),
    "everything": np.ones((2, 2), dtype=bool),
}


@pytest.mark.parametrize("name", TRUTHS)
def test_places_of_truths_need_no_stop(name):
    x = TRUTHS[name]
    for function in (np.nonzero, np.flatnonzero, np.argwhere):
        program = record(lambda x, function=function: function(x), x)
        assert not stops(program)
        for found, wanted in zip(several(program(x)), several(function(x)), strict=True):
            assert found.dtype == wanted.dtype
            assert found.strides == wanted.strides or not found.size
            assert_array_equal(found, wanted)


def test_another_number_of_truths_is_another_program():
    """A step has room for as many places as there were, and never writes past it."""
    fast = tape.compile(lambda x: (x[np.nonzero(x > 0)] * np.flatnonzero(x > 0)).sum(), threads=1)
    for _ in range(3):
        for x in (np.array([1.0, -1.0, 2.0]), np.ones(3), -np.ones(3), np.array([-1.0, 3.0, 2.0]), np.zeros(3)):
            assert fast(x) == (x[np.nonzero(x > 0)] * np.flatnonzero(x > 0)).sum()
    assert fast.statistics().eager == 0


@pytest.mark.parametrize("right", [False, True])
def test_known_edges_of_bins_need_no_stop(right):
    """Whole numbers too, and equal ones; edges in falling order go to NumPy."""
    x = np.array([[-2.0, 0.0, 0.5, 1.0], [1.5, 3.0, np.nan, 9.0]])
    for edges in ([0.0, 1.0, 1.0, 3.0], [0, 1, 3], [1.0]):
        program = record(lambda x, e=edges: np.digitize(x, np.array(e), right) * x, x)
        assert not stops(program)
        assert_array_equal(program(x), np.digitize(x, edges, right) * x)
    program = record(lambda x: np.digitize(x, np.array([3.0, 1.0, 0.0]), right) * x, x)
    assert stops(program) == {"digitize"}
    assert_array_equal(program(x), np.digitize(x, [3.0, 1.0, 0.0], right) * x)


OTHER = [
    *((op, np.complex128) for op in DIFFERENTIABLE if op.complex is not None),
    *((op, np.complex64) for op in DIFFERENTIABLE if op.complex is not None and op.kind != "elementwise"),
    *((op, np.float32) for op in DIFFERENTIABLE if op.kind != "elementwise"),
]
"""In single precision elementwise ops call other loops of NumPy's, and there is nothing else to go wrong."""


def operands_of(op, dtype):
    """The first sample of an op that has operands of a dtype if it takes any, and its parameters."""
    for operands, params in [*(in_the_plane(op) if dtype != np.float32 else ()), *samples(op)]:
        xs, how = operands, params
        if dtype != np.complex128:
            xs, how = tuple(map(single, operands)), single_params(op, params, dtype)
        with contextlib.suppress(RuntimeError), np.errstate(all="ignore"):
            op.forward(*xs, **how)
            return xs, how
    raise AssertionError(f"{op.name} takes no sample")


@pytest.mark.parametrize(("op", "dtype"), OTHER, ids=lambda x: getattr(x, "name", None) or x.__name__)
def test_other_dtypes_are_steps_as_well(op, dtype, monkeypatch):
    """They stop where float64 does, and give what NumPy and the eager adjoints give."""
    monkeypatch.setattr(Plan.__init__, "__defaults__", (True,))  # with bytes that nobody may write to
    operands, params = operands_of(op, dtype)
    xs = [tape.tensor(np.asarray(x)) for x in operands]
    tolerance = 1e-12 if dtype is np.complex128 else 2e-4
    forward = record(lambda *xs: op(*xs, **params), *xs)
    with np.errstate(all="ignore"):
        compare(forward.replay.sweeper([x._data for x in xs]), several(op.forward(*operands, **params)), tolerance)
    assert stops(forward) <= MAY_STOP | OF_COMPLEX
    if op.name in WITH_PHASES and dtype is not np.float32:
        return
    rng = np.random.default_rng(0)
    gs = [tape.tensor(noise(z, rng).astype(np.asarray(z).dtype)) for z in given(op, operands, params)]
    run = adjoints(op, params, active(op, operands))
    backward = record(run, xs, gs)
    for x in xs:
        x.requires_grad_(x.dtype.kind in "fc")
    compare(backward.replay.sweeper([x.detach()._data for x in [*xs, *gs]]), [z._data for z in run(xs, gs)], tolerance)
    assert stops(backward) <= MAY_STOP | OF_COMPLEX


def given(op, operands, params):
    """The floating results of an op."""
    with np.errstate(all="ignore"):
        return [z for z in results(op.forward(*operands, **params)) if z is not None]


def several(z):
    return z if isinstance(z, tuple) else (z,)


def compare(found, wanted, tolerance):
    for z, w in zip(found, wanted, strict=True):
        assert (np.shape(z), np.asarray(z).dtype) == (np.shape(w), np.asarray(w).dtype)
        if np.asarray(z).dtype.kind in "fc":
            size = np.abs(np.where(np.isfinite(w), w, 0.0)).max(initial=1e-300)
            assert_allclose(z, w, rtol=tolerance, atol=tolerance * size)
        else:
            assert_array_equal(z, w)
