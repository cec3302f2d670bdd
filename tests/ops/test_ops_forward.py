"""Values: each op against the NumPy functions it answers for, on every kind of array."""

from __future__ import annotations

import inspect

import hypothesis.extra.numpy as st_numpy
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from samples import DIFFERENTIABLE, ELEMENTWISE, active, adjoints_for, draw, results, samples, vjps

import ops
from ops import REGISTRY
from ops.core.lane import Via
from ops.core.op import answers

ANSWERING = [(op, f) for op in REGISTRY.values() if op.kind != "composite" for f in op.numpy]
SPECIAL = np.array([0.0, -0.0, 1.0, -1.5, 2.5, 700.0, -700.0, 1e-300, np.inf, -np.inf, np.nan])
HAVE_LANES = [op for op in REGISTRY.values() if isinstance(op.lane, Via)]


def same(found, expected):
    found, expected = (tuple(x) if isinstance(x, (tuple, list)) else (x,) for x in (found, expected))
    for z, w in zip(found, expected, strict=True):
        assert np.shape(z) == np.shape(w)
        assert np.asarray(z).dtype == np.asarray(w).dtype
        assert_allclose(z, w, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(("op", "f"), ANSWERING, ids=lambda x: getattr(x, "name", getattr(x, "__name__", "")))
def test_gives_what_numpy_gives(op, f):
    if op.differentiable:
        for operands, params in samples(op):
            arrays = (list(operands),) if op.variadic else operands
            expected = f(*arrays, *params.values()) if op.name == "cast" else f(*arrays, **params)
            same(op(*operands, **params), expected)
    else:
        whole = op.name in ("gcd", "lcm", "bincount") or op.name.startswith("bitwise")
        x, y = np.array([1, 1, 2, 4, 9]), np.array([1, 2, 3, 4, 9])
        operands = (x, y)[: op.arity] if whole else (x / 2.0, y / 2.0)[: op.arity]
        params = {"kth": 1} if "kth" in op.params else {}
        found, expected = op(*operands, **params), f(*operands, **params)
        if op.name == "empty_like":
            assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        else:
            same(found, expected)


@pytest.mark.parametrize(
    ("op", "f"), [(op, f) for op in ELEMENTWISE for f in op.numpy if op.name != "where"],
    ids=lambda x: getattr(x, "name", getattr(x, "__name__", "")),
)  # fmt: skip
def test_nan_and_infinities_pass_through_as_in_numpy(op, f):
    operands = np.meshgrid(*[SPECIAL] * len(op.domain))
    with np.errstate(all="ignore"):
        assert_array_equal(op(*operands), f(*operands))


@pytest.mark.parametrize("op", HAVE_LANES, ids=lambda op: op.name)
def test_the_formula_of_a_lane_is_the_op(op):
    """The formula, evaluated by NumPy, at ordinary and special points."""
    with np.errstate(all="ignore"):
        for points in (SPECIAL, np.linspace(-3.0, 3.0, 13), np.linspace(0.05, 0.95, 7)):
            operands = list(np.meshgrid(*[points] * op.arity))
            if op.name in ("where", "masked_fill"):
                at = op.operands.index("condition" if op.name == "where" else "mask")
                operands[at] = operands[at] > 0
            assert_allclose(op.lane.formula(*operands), op.forward(*operands), rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("op", ELEMENTWISE, ids=lambda op: op.name)
def test_broadcasts_as_numpy_does(op):
    n = len(op.domain)

    @settings(max_examples=12, deadline=None, derandomize=True, database=None)
    @given(st_numpy.mutually_broadcastable_shapes(num_shapes=n, max_dims=3, max_side=3, min_side=0), st.integers(0, 99))
    def check(shapes, seed):
        operands = draw(op, np.random.default_rng(seed), shapes.input_shapes)
        z = op(*operands)
        assert np.shape(z) == shapes.result_shape
        whole = [np.broadcast_to(x, shapes.result_shape).copy() for x in operands]
        assert_allclose(z, op(*whole), rtol=1e-14)
        g = np.asarray(np.random.default_rng(seed).standard_normal(shapes.result_shape))
        positions = active(op, operands)
        spread = vjps(op, whole, {}, [g], positions)
        for i, bar, part in zip(positions, vjps(op, operands, {}, [g], positions), spread):
            assert bar.shape == operands[i].shape
            assert_allclose(bar, ops.sum_to(part, shape=operands[i].shape), rtol=1e-12, atol=1e-13)

    check()


def _strided(x):
    wide = np.empty((*x.shape, 2), x.dtype)
    wide[..., 0] = x
    return wide[..., 0]


LAYOUTS = {
    "read-only": lambda x: np.lib.stride_tricks.as_strided(x, writeable=False),
    "strided": _strided,
    "reversed": lambda x: np.flip(np.flip(x).copy()),
    "column-major": lambda x: np.asfortranarray(x).reshape(x.shape, order="F") if x.ndim else x,
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("op", DIFFERENTIABLE, ids=lambda op: op.name)
def test_memory_layout_makes_no_difference_and_inputs_stay(op, layout):
    rng = np.random.default_rng(0)
    operands, params = samples(op)[0]
    positions = active(op, operands)
    laid = tuple(LAYOUTS[layout](x) if i in positions else x for i, x in enumerate(operands))
    before = [np.array(x) for x in laid]
    z = op(*operands, **params)
    gs = adjoints_for(z, rng)
    laid_gs = [None if g is None else LAYOUTS[layout](g) for g in gs]
    for p, q in zip(results(op(*laid, **params)), results(z)):
        assert p is None or assert_allclose(p, q, rtol=1e-12, atol=1e-13) is None
    bars = vjps(op, laid, params, laid_gs, positions)
    for bar, expected in zip(bars, vjps(op, operands, params, gs, positions)):
        assert_allclose(bar, expected, rtol=1e-10, atol=1e-12)
    for x, kept in zip(laid, before):
        assert_array_equal(x, kept)
    for g, kept in zip(laid_gs, gs):
        assert g is None or assert_array_equal(g, kept) is None


def test_every_declaration_is_complete():
    for op in REGISTRY.values():
        assert (op.__doc__ or "").strip(), f"{op.name} has no docstring"
        assert op.name.isidentifier()
        assert getattr(ops, op.name) is op
        if not op.differentiable:
            continue
        if op.kind == "elementwise":
            assert len(op.domain or ()) == len(op.operands), f"{op.name} declares no domain"
        elif op in DIFFERENTIABLE:  # not `output` and `custom`, which mean nothing without the record they belong to
            assert op.cases is not None, f"{op.name} declares no cases"
        assert op.variadic or op.joint or len(op.rules) == len(op.operands), f"{op.name} lacks a rule for an operand"
        known = {*op.operands, *op.params, "z", "g", "xs", "wanted" if op.joint else "i"}
        known |= {f"{name}_{fact}" for name in (*op.operands, "x") for fact in ("shape", "dtype")}
        for rule in filter(None, (*op.rules, op.joint)):
            assert set(rule.names) <= known, f"{op.name}: a rule asks for {set(rule.names) - known}"
        if op.jvp_rule is not None:
            names = set(inspect.signature(op.jvp_rule).parameters)
            assert names <= known | {f"{name}_dot" for name in op.operands} | {"x_dots"}


def test_a_numpy_function_is_answered_once():
    for composites in (False, True):
        answered = [f for op in REGISTRY.values() if (op.kind == "composite") is composites for f in op.numpy]
        assert {f.__name__ for f in answered if sum(f is other for other in answered) > 1} == set()


def test_a_composite_answers_before_the_op_that_it_calls():
    assert answers()[np.power] is REGISTRY["numpy_power"]
    assert answers()[np.exp] is REGISTRY["exp"]


def test_an_op_declared_twice_is_refused():
    with pytest.raises(ValueError, match="'exp' is an op that others depend on"):
        ops.elementwise("exp", np.exp, lambda z: z)
