"""``tape.autograd.functional``: products with Jacobians and Hessians, and strict mode."""

from __future__ import annotations

import numpy as np
import pytest
from derivatives import V, X, value
from numpy.testing import assert_allclose

import tape
from tape.autograd.functional import hessian, hvp, jacobian, jvp, vhp, vjp

Y = tape.tensor([[1.0, 2.0, -1.0], [0.5, 0.1, 0.4]])
W = tape.tensor([[0.2, -1.0, 3.0], [1.0, 0.0, 0.3]])
SCALARS = {
    "one": (lambda x: (x.sin() * x**2).sum() + x.prod(), X, V),
    "two": (lambda x, y: (y @ x).exp().sum() * x.sum() + (y**3).mean(), (X, Y), (V, W)),
    "number": (lambda x: x**3, tape.tensor(2.0), tape.tensor(0.5)),
}
VECTORS = {
    "one": (lambda x: x.exp() * x.sum(), X),
    "matrix": (lambda y: y @ y.T, Y),
    "two in": (lambda x, y: y * x, (X, Y)),
    "two out": (lambda x: (x**2, x.sum()), X),
    "two in, two out": (lambda x, y: (y @ x, (x * y).sin(), x.sum()), (X, Y)),
    "one in a tuple": (lambda x: (x**2,), (X,)),
}


def flat(result):
    """All the numbers of nested results, and how they are nested."""
    if isinstance(result, tuple):
        parts = [flat(r) for r in result]
        return [x for numbers, _ in parts for x in numbers], tuple(shape for _, shape in parts)
    return value(result).ravel().tolist(), result.shape


def same(found, expected, **how):
    (a, shapes), (b, expected_shapes) = flat(found), flat(expected)
    assert shapes == expected_shapes
    assert_allclose(a, b, **{"rtol": 1e-9, "atol": 1e-10, **how})


def applied(h, v):
    """Σⱼ H[i][j] v[j]."""
    if not isinstance(v, tuple):
        return tape.tensordot(h, v, dims=v.ndim) if v.ndim else h * v
    return tuple(sum(tape.tensordot(b, x, dims=x.ndim) for b, x in zip(row, v)) for row in h)


@pytest.mark.parametrize("name", SCALARS)
def test_products_with_the_hessian(name):
    f, x, v = SCALARS[name]
    h = hessian(f, x)
    for product in (hvp, vhp):
        z, found = product(f, x, v)
        same(z, f(*x) if isinstance(x, tuple) else f(x))
        same(found, applied(h, v))
    same(hessian(f, x, outer_jacobian_strategy="forward-mode"), h)
    same(hessian(f, x, vectorize=True), h)
    same(hessian(f, x, create_graph=True), h)


@pytest.mark.parametrize("name", VECTORS)
def test_jacobians(name):
    f, x = VECTORS[name]
    found = jacobian(f, x)
    same(jacobian(f, x, strategy="forward-mode"), found)
    same(jacobian(f, x, vectorize=True, strategy="forward-mode"), found)
    same(jacobian(f, x, vectorize=True), found)
    same(jacobian(f, x, create_graph=True), found)
    outputs = f(*x) if isinstance(x, tuple) else f(x)
    assert isinstance(found, tuple) == (isinstance(x, tuple) or isinstance(outputs, tuple))


@pytest.mark.parametrize("name", VECTORS)
def test_products_with_the_jacobian(name):
    f, x = VECTORS[name]
    xs = x if isinstance(x, tuple) else (x,)
    rng = np.random.default_rng(3)
    v = tuple(tape.tensor(rng.standard_normal(t.shape)) for t in xs)
    z, moved = jvp(f, x, v if isinstance(x, tuple) else v[0])
    zs = z if isinstance(z, tuple) else (z,)
    assert isinstance(moved, tuple) == isinstance(z, tuple)
    u = tuple(tape.tensor(rng.standard_normal(t.shape)) for t in zs)
    again, pulled = vjp(f, x, u if isinstance(z, tuple) else u[0])
    same(again, z)
    moved, pulled = (r if isinstance(r, tuple) else (r,) for r in (moved, pulled))
    forward = sum(np.sum(value(a) * value(b)) for a, b in zip(u, moved))
    assert_allclose(forward, sum(np.sum(value(a) * value(b)) for a, b in zip(pulled, v)), rtol=1e-9)


@pytest.mark.parametrize("name", SCALARS)
def test_against_torch(name):
    torch = pytest.importorskip("torch")
    f, x, v = SCALARS[name]

    def theirs(t):
        return tuple(map(theirs, t)) if isinstance(t, tuple) else torch.tensor(t.tolist(), dtype=torch.float64)

    for product in ("hvp", "vhp", "jvp"):
        same(getattr(tape.autograd.functional, product)(f, x, v),
             getattr(torch.autograd.functional, product)(f, theirs(x), theirs(v)))  # fmt: skip
    same(hessian(f, x), torch.autograd.functional.hessian(f, theirs(x)))
    same(jacobian(f, x), torch.autograd.functional.jacobian(f, theirs(x)))


def test_results_have_a_history_only_if_asked_for():
    f, x, v = SCALARS["one"]
    x = x.clone().requires_grad_()
    for call in (
        lambda **how: vjp(f, x, **how), lambda **how: jvp(f, x, v, **how), lambda **how: hvp(f, x, v, **how),
        lambda **how: vhp(f, x, v, **how), lambda **how: (hessian(f, x, **how), jacobian(f, x, **how)),
    ):  # fmt: skip
        assert not any(r.requires_grad for r in call())
        assert all(r.requires_grad for r in call(create_graph=True))
        with tape.no_grad():
            same(call(), call(create_graph=True))
            assert not tape.is_grad_enabled()
    assert x.grad is None


@pytest.mark.parametrize("product", [hvp, vhp])
def test_third_order_through_products(product):
    f = lambda x: (x**4).sum()  # noqa: E731
    x, v = X.clone().requires_grad_(), V.clone().requires_grad_()
    product(f, x, v, create_graph=True)[1].sum().backward()
    assert_allclose(value(x.grad), 24 * value(X) * value(V), rtol=1e-12)
    assert_allclose(value(v.grad), 12 * value(X) ** 2, rtol=1e-12)


@pytest.mark.parametrize("strategy", ["reverse-mode", "forward-mode"])
def test_third_order_through_jacobian(strategy):
    x = X.clone().requires_grad_()
    jacobian(lambda x: x**3, x, create_graph=True, strategy=strategy).sum().backward()
    assert_allclose(value(x.grad), 6 * value(X), rtol=1e-12)


def test_jvp_is_differentiable_in_both_arguments():
    x, v = X.clone().requires_grad_(), V.clone().requires_grad_()
    _, moved = jvp(lambda x: x**3, x, v, create_graph=True)
    moved.sum().backward()
    assert_allclose(value(x.grad), 6 * value(X) * value(V), rtol=1e-12)
    assert_allclose(value(v.grad), 3 * value(X) ** 2, rtol=1e-12)


def test_a_captured_tensor_is_not_the_input():
    """Even if it is the same object: the function's own argument is a new tensor."""
    x = X.clone().requires_grad_()
    same(jacobian(lambda y: y * x, x), np_tensor(np.diag(value(X))))


def np_tensor(array):
    return tape.tensor(array)


def test_v_may_be_left_out_for_one_number():
    same(vjp(lambda x: x.sum(), X)[1], tape.ones(3))
    x = tape.tensor([2.0])
    for product in (hvp, vhp):
        same(product(lambda x: (x**3).sum(), x)[1], tape.tensor([12.0]))
    same(jvp(lambda x: x**3, x)[1], tape.tensor([12.0]))


def test_what_is_independent_has_zeros():
    same(vjp(lambda x, y: x.sum(), (X, V))[1], (tape.ones(3), tape.zeros(3)))
    same(jvp(lambda x: tape.ones(2), X, V)[1], tape.zeros(2))
    same(hvp(lambda x: x.sum(), X, V)[1], tape.zeros(3))
    same(vhp(lambda x: tape.tensor(1.0), X, V)[1], tape.zeros(3))
    same(jacobian(lambda x: tape.ones(2), X), tape.zeros(2, 3))
    same(hessian(lambda x, y: x.sum(), (X, V)), ((tape.zeros(3, 3),) * 2,) * 2)


CONSTANT, LINEAR, PARTLY = (lambda x: tape.tensor(1.0)), (lambda x: 3 * x.sum()), (lambda x, y: (x**2).sum())


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: vjp(CONSTANT, X, strict=True), "Output 0 .* does not require gradients"),
        (lambda: jvp(CONSTANT, X, V, strict=True), "Output 0 .* does not require gradients"),
        (lambda: hvp(CONSTANT, X, V, strict=True), "Output 0 .* does not require gradients"),
        (lambda: vhp(CONSTANT, X, V, strict=True), "Output 0 .* does not require gradients"),
        (lambda: jacobian(CONSTANT, X, strict=True), "Output 0 .* does not require gradients"),
        (lambda: hessian(CONSTANT, X, strict=True), "Output 0 .* does not require gradients"),
        (lambda: vjp(PARTLY, (X, V), strict=True), "independent of input 1"),
        (lambda: jvp(PARTLY, (X, V), (X, V), strict=True), "independent of input 1"),
        (lambda: hvp(PARTLY, (X, V), (X, V), strict=True), "independent of input 1"),
        (lambda: vhp(PARTLY, (X, V), (X, V), strict=True), "independent of input 1"),
        (lambda: jacobian(PARTLY, (X, V), strict=True), "Output 0 .*independent of input 1"),
        (lambda: hessian(PARTLY, (X, V), strict=True), "independent of input 1"),
        (lambda: hvp(LINEAR, X, V, strict=True), "jacobian .* input 0 is independent"),
        (lambda: vhp(LINEAR, X, V, strict=True), "jacobian .* input 0 is independent"),
        (lambda: hessian(LINEAR, X, strict=True), "jacobian .* input 0 is independent"),
        (lambda: hessian(PARTLY, (X, V), strict=True), "jacobian .* with respect to input 1 is independent"),
        (lambda: vjp(LINEAR, X, strict=True, create_graph=True), "jacobian .* independent of input 0.* create_graph"),
        (lambda: jvp(LINEAR, X, V, strict=True, create_graph=True), "jacobian .* independent of input 0"),
        (lambda: jacobian(LINEAR, X, strict=True, create_graph=True), "create_graph=True"),
        (lambda: jacobian(LINEAR, X, strict=True, vectorize=True), "not supported together"),
        (lambda: jacobian(LINEAR, X, strict=True, strategy="forward-mode"), "not supported together"),
        (lambda: vjp(lambda x: x, X), "v can only be None if the user-provided function returns"),
        (lambda: jvp(lambda x: x, X), "v can only be None if the input to the user-provided function"),
        (lambda: hvp(LINEAR, X), "v can only be None if the input to the user-provided function"),
        (lambda: vjp(lambda x: x, X, V[:2]), r"v has invalid size: should be .*3.*, but got .*2"),
        (lambda: vjp(lambda x: (x, x), X, (V,)), "invalid length: it needs 2.* got 1"),
        (lambda: jvp(PARTLY, (X, V), (V, V[:1])), "entry 1 of v has invalid size"),
        (lambda: jvp(LINEAR, X, (V, V)), "The given v should contain a single Tensor. It has 2"),
        (lambda: hvp(lambda x: (x.sum(), x.sum()), X, V), "should return a single Tensor"),
        (lambda: vhp(lambda x: x, X, V), "should contain a single element"),
        (lambda: hessian(lambda x: x, X), "should contain a single element"),
    ],
)
def test_mistakes(call, text):
    with pytest.raises(RuntimeError, match=f"(?s){text}"):
        call()


@pytest.mark.parametrize("strict_enough", [vjp, hvp, vhp])
def test_strict_lets_pass_what_depends(strict_enough):
    f, x, v = SCALARS["two"]
    expected = strict_enough(f, x, *([v] if strict_enough is not vjp else []))
    same(strict_enough(f, x, *([v] if strict_enough is not vjp else []), strict=True), expected)
    same(jvp(f, x, v, strict=True, create_graph=True), jvp(f, x, v))
    same(hessian(f, x, strict=True), hessian(f, x))


@pytest.mark.parametrize("function", [vjp, jvp, hvp, vhp, jacobian, hessian])
def test_types(function):
    with pytest.raises(TypeError, match=r"inputs given to .* has type str"):
        function(LINEAR, "1.0")
    with pytest.raises(TypeError, match="value at index 1 has type int"):
        function(LINEAR, (X, 1))
    with pytest.raises(TypeError, match=r"outputs of the user-provided function given to .* type float"):
        function(lambda x: 1.0, tape.tensor(1.0))


def test_strategy_is_checked():
    with pytest.raises(ValueError, match="forward-mode"):
        jacobian(LINEAR, X, strategy="sideways")


@pytest.mark.parametrize("how", [{}, {"vectorize": True}])
@pytest.mark.parametrize(
    "of",
    [lambda x, **how: jacobian(lambda y: y**3, x, **how), lambda x, **how: hessian(lambda y: (y**3).sum(), x, **how)],
)
def test_create_graph_records_under_no_grad_too(of, how):
    with tape.no_grad():
        assert of(X, create_graph=True, **how).requires_grad
        assert not of(X, **how).requires_grad


@pytest.mark.parametrize("how", [{}, {"vectorize": True}, {"strategy": "forward-mode", "vectorize": True}])
@pytest.mark.parametrize("of", [jacobian, hessian])
def test_a_jacobian_is_no_view_and_may_be_changed_where_operations_are_recorded(of, how):
    if of is hessian and "strategy" in how:
        how = {"vectorize": True, "outer_jacobian_strategy": "forward-mode"}
    found = of(lambda x: (x**3).sum(), X, **how)
    w = tape.ones_like(found).requires_grad_()
    assert not found._is_view()
    found.mul_(w)
    found.sum().backward()
    assert w.grad is not None


def test_without_recording_nothing_moves():
    """PyTorch takes J v and H v by the gradients of gradients, which `no_grad` stops."""

    def f(x):
        with tape.no_grad():
            y = x * x
        return (y * x).sum()

    x, v = tape.tensor([1.0, 2.0]), tape.tensor([1.0, 10.0])
    assert jvp(f, x, v)[1].item() == 41.0
    assert vjp(f, x)[1].tolist() == [1.0, 4.0]
    assert hvp(f, x, v)[1].tolist() == vhp(f, x, v)[1].tolist() == [0.0, 0.0]
