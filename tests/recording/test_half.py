"""16-bit floating point: stored in 16 bits, computed in 32, rounded once; in every op, both ways, as in PyTorch."""

from __future__ import annotations

import copy
import pickle
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from samples import DIFFERENTIABLE, known, samples

import tape
from tape.autograd import Function, forward_ad, grad, gradcheck
from tape.base import dtypes
from tape.base.tensor import Narrow

ml_dtypes = pytest.importorskip("ml_dtypes")
HALF, BFLOAT = np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)
BOTH = pytest.mark.parametrize("dtype", [HALF, BFLOAT], ids=["half", "bfloat16"])
SINGLE = [op for op in DIFFERENTIABLE if op.name not in ("cast", "view_as_complex")]


@pytest.fixture(params=["jitted", "python"])
def either(request, monkeypatch):
    """Run a test with each of the two sweeps."""
    if request.param == "python":
        monkeypatch.setattr("tape.backprop.backward.jitted", lambda room: None)


def narrowed(x, dtype):
    """Floating numbers rounded to 16 bits; others as they are."""
    return np.asarray(x).astype(dtype) if np.asarray(x).dtype.kind == "f" else x


def applied(op, operands, params, dtype):
    """An op's floating results on tensors of rounded numbers of a dtype, and those that may have a gradient."""
    leaves = [tape.tensor(x) if np.asarray(x).dtype == dtype else x for x in operands]
    moving = [leaves[i].requires_grad_() for i in active_in(op, operands)]
    with np.errstate(all="ignore"):
        z = op(*leaves, **params)
    return [p for p in (z if isinstance(z, tuple) else (z,)) if tape.is_floating_point(p)], moving


def active_in(op, operands):
    return [i for i, x in enumerate(operands) if known(op.rule(i)) and dtypes.kind_of(np.asarray(x).dtype) == "f"]


def numbers(t):
    return np.asarray(t.detach().numpy(), np.float32)


@BOTH
@pytest.mark.parametrize("op", SINGLE, ids=lambda op: op.name)
def test_every_op_computes_in_32_bits_and_rounds_once(op, dtype):
    """Its values are exactly those of float32, rounded; its gradients are, but for what the result had lost."""
    rng = np.random.default_rng(4)
    for operands, params in samples(op):
        if any(map(np.iscomplexobj, operands)):
            continue
        small = [narrowed(x, dtype) for x in operands]
        wide = [x.astype(np.float32) if np.asarray(x).dtype == dtype else x for x in small]
        zs, moving = applied(op, small, params, dtype)
        exact, reference = applied(op, wide, params, np.dtype(np.float32))
        for z, e in zip(zs, exact):
            assert z.dtype == dtype
            assert_array_equal(z.detach().numpy(), e.detach().numpy().astype(dtype))
        if not moving or not any(z.requires_grad for z in zs):
            continue
        gs = [rng.standard_normal(z.shape).astype(dtype) for z in zs]
        _compare_gradients(zs, moving, exact, reference, gs, dtype)


def _compare_gradients(zs, moving, exact, reference, gs, dtype):
    kept = [k for k, z in enumerate(zs) if z.requires_grad]
    found = grad([zs[k] for k in kept], moving, [tape.tensor(gs[k]) for k in kept], allow_unused=True)
    weights = [tape.tensor(gs[k].astype(np.float32)) for k in kept]
    expected = grad([exact[k] for k in kept], reference, weights, allow_unused=True)
    for a, b in zip(found, expected):
        assert (a is None) == (b is None)
        if a is not None:
            assert a.dtype == dtype
            size = float(np.abs(numbers(b)).max(initial=0.0))
            assert_allclose(numbers(a), numbers(b), rtol=0.05, atol=0.05 * max(size, 1e-3))


@BOTH
def test_reductions_accumulate_in_32_bits(dtype):
    n = 5000
    x = tape.ones(n, dtype=dtype, requires_grad=True)
    expected = float(np.float32(n).astype(dtype))
    for total in (x.sum(), x.mean() * n, x @ x, x.cumsum(0)[-1], (x * x).sum(), tape.einsum("i,i->", x, x)):
        assert (total.dtype, total.item()) == (dtype, expected)
    x.sum().backward()
    assert (x.grad.dtype, x.grad[3].item()) == (dtype, 1.0)
    assert tape.full((100, 100), 300.0, dtype=tape.half).mean().item() == 300.0
    assert tape.full((4,), 300.0, dtype=tape.half).norm().item() == 600.0  # the squares do not fit


@BOTH
def test_gradients_have_the_dtype_of_their_leaf(dtype, either):
    x = tape.tensor([1.5, -2.0, 0.25], dtype=dtype, requires_grad=True)
    w = tape.tensor([1.0, 2.0, 3.0], dtype=tape.float32, requires_grad=True)
    y = x * 2
    y.retain_grad()
    seen = []
    y.register_hook(lambda g: seen.append(g.dtype))
    z = (y.float() * w).sin().sum()  # in float32 from here on
    assert z.dtype == tape.float32
    z.backward(retain_graph=True)
    z.backward()
    assert (x.grad.dtype, y.grad.dtype, w.grad.dtype, set(seen)) == (dtype, dtype, tape.float32, {dtype})
    inner = np.cos(2 * numbers(x) * numbers(w))
    assert_allclose(numbers(x.grad), 2 * 2 * inner * numbers(w), rtol=2e-2)
    assert_allclose(numbers(w.grad), 2 * inner * 2 * numbers(x), rtol=1e-5)


@BOTH
def test_rows_of_16_bits_among_those_that_the_jitted_sweep_lowers(dtype, either):
    """Chains of both kinds, with broadcasting, indexing and numbers without axes, against float64 throughout."""
    rng = np.random.default_rng(3)
    values = [rng.uniform(0.5, 1.5, shape).astype(dtype) for shape in ((3, 4), (4,), ())]

    def loss(x, y, s, cast):
        a = cast(x * y).exp() * s + x
        b = (cast(a[1]) * y + s).sum() * cast(x[0, 1])
        return (cast(a.mean(0)) @ y / 16).tanh() + b

    leaves = [tape.tensor(v, requires_grad=True) for v in values]
    wide = [tape.tensor(v.astype(np.float64), requires_grad=True) for v in values]
    found = grad(loss(*leaves, lambda t: t.float()), leaves)
    again = grad(loss(*leaves, lambda t: t), leaves)
    expected = grad(loss(*wide, lambda t: t), wide)
    for a, b, e in zip(found, again, expected):
        assert a.dtype == b.dtype == dtype
        assert_allclose(numbers(a), numbers(e), rtol=0.05)
        assert_allclose(numbers(b), numbers(e), rtol=0.05)


@BOTH
def test_higher_derivatives_and_forward_mode(dtype):
    x = tape.tensor([0.5, 2.0], dtype=dtype, requires_grad=True)
    (g,) = grad((x**3).sum(), x, create_graph=True)
    (h,) = grad(g.sum(), x)
    assert (g.dtype, h.dtype) == (dtype, dtype)
    assert_allclose(numbers(h), [3.0, 12.0], rtol=1e-2)
    with forward_ad.dual_level():
        tangent = forward_ad.unpack_dual(forward_ad.make_dual(x.detach(), tape.ones(2, dtype=dtype)).exp()).tangent
    assert tangent.dtype == dtype
    assert_allclose(numbers(tangent), np.exp([0.5, 2.0]), rtol=1e-2)
    jacobian = tape.func.jacrev(lambda x: x * x)(x.detach())
    assert jacobian.dtype == dtype
    assert_array_equal(numbers(jacobian), np.diag([1.0, 4.0]))


@BOTH
def test_custom_functions_get_what_they_would_without_us(dtype):
    class Twice(Function):
        @staticmethod
        def forward(ctx, x):
            assert x.dtype == dtype
            return x * 2

        @staticmethod
        def backward(ctx, g):
            assert g.dtype == dtype
            return g * 2

    x = tape.ones(3, dtype=dtype, requires_grad=True)
    Twice.apply(x).sum().backward()
    assert (x.grad.dtype, x.grad.tolist()) == (dtype, [2.0, 2.0, 2.0])


@BOTH
def test_a_gradient_of_another_precision_is_cast(dtype):
    x = tape.ones(2, dtype=dtype, requires_grad=True)
    (x * 3).backward(tape.tensor([1.0, 2.0], dtype=tape.float64))
    assert (x.grad.dtype, x.grad.tolist()) == (dtype, [3.0, 6.0])
    with pytest.raises(RuntimeError, match="dtype"):
        x.grad = tape.ones(2)


@BOTH
def test_conversions(dtype):
    x = tape.tensor([1.0, 2.5], requires_grad=True)
    small = x.half() if dtype == HALF else x.bfloat16()
    assert (small.dtype, small.to(x.dtype).dtype, small.float().dtype, small.double().dtype) == (
        dtype, tape.float64, tape.float32, tape.float64,
    )  # fmt: skip
    (small.double() * 3).sum().backward()
    assert (x.grad.dtype, x.grad.tolist()) == (tape.float64, [3.0, 3.0])
    assert x.to(dtype).dtype == small.type_as(small).dtype == dtype
    assert small.to(dtype) is small
    assert small.long().tolist() == [1, 2]
    assert small.is_floating_point()
    assert small.type() == {HALF: "tape.HalfTensor", BFLOAT: "tape.BFloat16Tensor"}[dtype]
    assert (small.element_size(), (small > 1).tolist()) == (2, [False, True])


@BOTH
def test_factories_and_data(dtype):
    for t in (
        tape.zeros(2, dtype=dtype), tape.ones(2, dtype=dtype), tape.full((2,), 1.5, dtype=dtype),
        tape.eye(2, dtype=dtype), tape.arange(4, dtype=dtype), tape.linspace(0, 1, 5, dtype=dtype),
        tape.randn(3, dtype=dtype),
        tape.tensor(1.5, dtype=dtype), tape.as_tensor([1.0], dtype=dtype), tape.tensor([[1, 2]], dtype=dtype),
    ):  # fmt: skip
        assert t.dtype == tape.zeros_like(t).dtype == t.new_tensor([1.0]).dtype == (t + t).dtype == dtype
        assert type(t) is Narrow
    x = tape.ones(2)
    x.data = tape.zeros(3, dtype=dtype)
    assert (x.dtype, (x + 1).dtype, (x + 1).tolist()) == (dtype, dtype, [1.0, 1.0, 1.0])
    x.data = tape.zeros(3)
    assert (x + 1).dtype == tape.float64


@BOTH
def test_the_default_dtype(dtype):
    tape.set_default_dtype(dtype)
    try:
        assert tape.get_default_dtype() == dtype
        assert tape.tensor([1.0]).dtype == tape.zeros(2).dtype == tape.Tensor([1.0]).dtype == dtype
        assert (tape.Tensor([2.0]) * 2).dtype == dtype
        assert repr(tape.tensor([1.0])) == "tensor([1.])"
    finally:
        tape.set_default_dtype(tape.float64)


@BOTH
def test_memory_is_shared_with_numpy_and_with_views(dtype):
    a = np.array([1.0, 2.0, 3.0]).astype(dtype)
    t = tape.from_numpy(a)
    a[0] = 5.0
    t[1:].add_(1)
    t.view(3, 1)[2, 0] = 7.0
    assert t.numpy() is a
    assert (t.dtype, t.tolist(), t[0].item()) == (dtype, [5.0, 3.0, 7.0], 5.0)
    assert np.asarray(t).dtype == dtype
    assert (np.asarray(a) * t).dtype == dtype
    assert np.exp(t).dtype == dtype
    t *= 2.5
    t[0] = 1
    assert (t.dtype, t.tolist()) == (dtype, [1.0, 7.5, 17.5])


@BOTH
def test_python_protocol(dtype):
    x = tape.tensor([1.5, -2.0], dtype=dtype, requires_grad=True)
    for twin in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):
        assert (twin.dtype, twin.tolist(), twin.requires_grad, (twin * 2).dtype) == (dtype, [1.5, -2.0], True, dtype)
    assert repr(x) == f"tensor([ 1.5000, -2.0000], dtype=tape.{dtype}, requires_grad=True)"
    assert [t.item() for t in x] == [1.5, -2.0]
    assert type(x[0].item()) is float
    assert (float(x[0].detach()), int(x[1].detach()), bool(x[0])) == (1.5, -2, True)
    assert x.allclose(x)
    assert x.equal(x.clone())
    assert (abs(x)).tolist() == [1.5, 2.0]
    assert -2.0 in x


@BOTH
def test_gradcheck_with_tolerances(dtype):
    x = tape.tensor([0.5, 0.75], dtype=dtype, requires_grad=True)
    tolerances = {"eps": 0.125, "atol": 0.1, "rtol": 0.1}
    with pytest.warns(UserWarning, match="not a double precision"):
        assert gradcheck(lambda x: x * x.float(), (x,), **tolerances)
    with pytest.warns(UserWarning, match="not a double precision"):
        assert not gradcheck(lambda x: x * x.detach(), (x,), **tolerances, raise_exception=False)


def test_bfloat16_without_its_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    dtypes.bfloat16.cache_clear()
    with pytest.raises(ImportError, match="needs the package ml_dtypes") as info:
        _ = tape.bfloat16
    assert "tape.float16" in str(info.value)
    with pytest.raises(ImportError, match="pip install"):
        tape.ones(2).bfloat16()
    monkeypatch.undo()
    dtypes.bfloat16.cache_clear()
    assert tape.bfloat16 == BFLOAT


def test_nothing_changes_for_other_dtypes():
    """Their tensors are of the class that the short ways take."""
    for dtype in (tape.float64, tape.float32, tape.int64, tape.bool, tape.complex128):
        assert type(tape.zeros(2, dtype=dtype)) is tape.Tensor
    assert type(tape.ones(2).half().float()) is tape.Tensor


def test_hooks_amid_a_function_of_arrays_compute_with_tensors():
    """A hook is given tensors: what it computes with their 16-bit numbers is rounded once per op, as anywhere."""
    found = []

    def pack(t):
        found.append(tape.softmax(t, 0).numpy())
        return t

    x = np.linspace(-3, 3, 50).astype(np.float16)
    with tape.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        tape.func.grad(lambda x: np.exp(x).sum())(x)
    expected = tape.softmax(tape.tensor(np.exp(x)), 0).numpy()
    assert any(np.array_equal(y, expected) for y in found)
