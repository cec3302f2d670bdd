"""Values at ties and singular points, one by one: the gradient of the sum of the output."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from oracle import Traced, gradients

import ops
import tape

inf, nan = float("inf"), float("nan")


def grad(f, *values):
    """Gradients of the sum of f's (first) result."""
    xs = [Traced(np.asarray(v, dtype=float)) for v in values]
    with np.errstate(all="ignore"):
        z = f(*xs)
        z = z[0] if isinstance(z, tuple) else z
        bars = gradients([z], [np.ones(z.shape)], xs)
    bars = [np.zeros(x.shape) if b is None else b for x, b in zip(xs, bars)]
    return bars[0] if len(bars) == 1 else bars


def second(f, value):
    """Gradient of the sum of the gradient."""
    x = Traced(np.asarray(value, dtype=float))
    with np.errstate(all="ignore"):
        z = f(x)
        (bar,) = gradients([z], [Traced(np.ones(z.shape))], [x], create_graph=True)
        (twice,) = gradients([bar], [np.ones(bar.shape)], [x])
    return twice


@pytest.mark.parametrize(
    ("f", "x", "expected"),
    [
        (ops.max, [3, 1, 3], [0.5, 0, 0.5]),
        (ops.min, [1, 1, 3, 1], [1 / 3, 1 / 3, 0, 1 / 3]),
        (lambda x: ops.amax(x, axis=0), [[2, 1], [2, 5]], [[0.5, 0], [0.5, 1]]),
        (lambda x: ops.amin(x, axis=(0, 1)), [[2, 2], [2, 5]], [[1 / 3, 1 / 3], [1 / 3, 0]]),
        (lambda x: ops.max(x, axis=0), [3, 1, 3], [1, 0, 0]),
        (lambda x: ops.min(x, axis=1), [[1, 1], [2, 1]], [[1, 0], [0, 1]]),
        (lambda x: ops.max(x, axis=0), [1, nan, nan], [0, 1, 0]),
        (ops.amax, [1, nan, nan], [0, 0.5, 0.5]),
        (
            lambda x: ops.amin(x, axis=1),
            [[1, nan, 1], [2, 1, 1], [nan, nan, nan]],
            [[0, 1, 0], [0, 0.5, 0.5], [1 / 3] * 3],
        ),
        (lambda x: ops.smallest_number(x, axis=1), [[1, nan, 1], [nan, nan, nan]], [[0.5, 0, 0.5], [0, 0, 0]]),
        (lambda x: ops.min_and_max(x, axis=1), [[1, nan, 1], [2, 1, 1]], [[0, 1, 0], [0, 0.5, 0.5]]),
        (lambda x: ops.median(x, axis=0), [2, 1, 2, 7, 2], [1, 0, 0, 0, 0]),
        (lambda x: ops.median(x, axis=0), [4, 1, 2, 3], [0, 0, 1, 0]),
        (ops.median, [[4, 1], [2, 2]], [[0, 0], [0.5, 0.5]]),
        (ops.nanmedian, [[4, nan], [2, 2]], [[0, 0], [0.5, 0.5]]),
        (ops.nanmedian, [nan, nan], [0.5, 0.5]),
        (lambda x: ops.nanmedian(x, axis=1)[0], [[4, nan, 4], [nan, nan, nan]], [[1, 0, 0], [1, 0, 0]]),
        (lambda x: ops.sort(x)[0] * np.array([1.0, 10.0, 100.0]), [2, 1, 2], [10, 1, 100]),
        (lambda x: ops.sort(x, descending=True)[0] * np.array([1.0, 10.0, 100.0]), [2, 1, 2], [1, 100, 10]),
        (lambda x: ops.topk(x, k=1), [2, 1, 2], [1, 0, 0]),
        (lambda x: ops.kthvalue(x, k=2), [2, 1, 2], [1, 0, 0]),
        (lambda x: ops.clamp(x, -1.0, 1.0), [-2, -1, 0, 1, 2], [0, 1, 1, 1, 0]),
        (lambda x: ops.clip(x, None, 1.0), [0, 1, 2], [1, 1, 0]),
        (lambda x: ops.clip(x, 1.0), [0, 1, 2], [0, 1, 1]),
        (abs, [0, -0.0, -2], [0, 0, -1]),
        (ops.relu, [0, -1, 2], [0, 0, 1]),
        (ops.sign, [0, 3], [0, 0]),
        (ops.norm, [0, 0], [0, 0]),
        (lambda x: ops.norm(x, 1), [0, -2], [0, -1]),
        (lambda x: ops.norm(x, 3), [0, 0], [0, 0]),
        (lambda x: ops.norm(x, inf), [0, 0], [0, 0]),
        (lambda x: ops.norm(x, inf), [-2, 2, 1], [-0.5, 0.5, 0]),
        (lambda x: ops.norm(x, 0), [0, 5], [0, 0]),
        (lambda x: ops.norm(x, 0.5), [0, 4], [0, 1]),
        (lambda x: ops.norm(x, -1), [0, 4], [0, 0]),
        (ops.norm, [[0, 0], [0, 0]], [[0, 0], [0, 0]]),
        (ops.sqrt, [0, 4], [inf, 0.25]),
        (lambda x: x**0.5, [0, 4], [inf, 0.25]),
        (ops.log, [0, 2], [inf, 0.5]),
        (lambda x: x**0, [0, 3], [0, 0]),
        (lambda x: x**1, [0, 3], [1, 1]),
        (lambda x: x**2, [0, -3], [0, -6]),
        (ops.prod, [2, 0, 3], [0, 6, 0]),
        (ops.prod, [0, 0, 3], [0, 0, 0]),
        (lambda x: ops.prod(x, axis=1), [[2, 0], [0, 0]], [[0, 2], [0, 0]]),
        (lambda x: ops.prod(x, axis=(0, 2)), [[[2, 0]], [[3, 5]]], [[[0, 30]], [[0, 0]]]),
        (ops.cumprod, [2, 0, 3], [1, 8, 0]),
        (ops.cumprod, [0, 0, 3], [1, 0, 0]),
        (ops.floor, [0, 0.5, 1], [0, 0, 0]),
        (ops.ceil, [0, 0.5, 1], [0, 0, 0]),
        (ops.round, [0, 0.5, 1], [0, 0, 0]),
        (ops.trunc, [0, 0.5, 1], [0, 0, 0]),
        (ops.std, [0.1, 0.1, 0.1], [0, 0, 0]),
        (ops.var, [0.1, 0.1, 0.1], [0, 0, 0]),
        (lambda x: ops.std(x, axis=0, correction=0), [[1, 1], [1, 3]], [[0, -0.5], [0, 0.5]]),
        (ops.logsumexp, [-inf, -inf], [0, 0]),
        (ops.logsumexp, [-inf, 1], [0, 1]),
        (lambda x: ops.logsumexp(x, axis=1), [[-inf, -inf], [0, 0]], [[0, 0], [0.5, 0.5]]),
        (lambda x: ops.where(x > 0, ops.log(x), 0.0 * x), [-1, 0, 2], [0, 0, 0.5]),
        (lambda x: ops.where(x > 0, ops.sqrt(x), x), [-1, 0, 4], [1, 1, 0.25]),
        (ops.det, [[1, 2], [2, 4]], [[4, -2], [-2, 1]]),
        (ops.det, [[0, 0], [0, 0]], [[0, 0], [0, 0]]),
        (ops.det, [[0, 0, 0], [0, 2, 0], [0, 0, 3]], [[6, 0, 0], [0, 0, 0], [0, 0, 0]]),
        (lambda x: ops.nan_to_num(x, nan=3.0), [1, nan, inf], [1, 0, 0]),
        (lambda x: ops.median(ops.sort(x)[0], axis=0), [3, 1, 2], [0, 0, 1]),
        (lambda x: ops.svd(x)[1], [[1, 0], [0, 1]], [[1, 0], [0, 1]]),
        (lambda x: ops.eigh(x)[0], [[2, 0], [0, 2]], [[1, 0], [0, 1]]),
    ],
)
def test_gradient_of_one_argument(f, x, expected):
    assert_allclose(grad(f, x), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("f", "x", "y", "x_bar", "y_bar"),
    [
        (ops.maximum, [1, 2, 3, nan, 1], [1, 3, 2, 1, nan], [0.5, 0, 1, 1, 1], [0.5, 1, 0, 1, 1]),
        (ops.minimum, [1, 2, 3, nan, 1], [1, 3, 2, 1, nan], [0.5, 1, 0, 1, 1], [0.5, 0, 1, 1, 1]),
        (ops.fmax, [nan, 1, 2, nan], [1, nan, 2, nan], [0, 1, 1, 1], [1, 0, 0, 0]),
        (ops.atan2, [0, 1], [0, 0], [0, 0], [0, -1]),
        (ops.hypot, [0, 3], [0, 4], [0, 0.6], [0, 0.8]),
        (ops.xlogy, [0, 0, 2], [0, 2, 1], [0, np.log(2), 0], [0, 0, 2]),
        (ops.logaddexp, [-inf, -inf, 0], [-inf, 0, 0], [0, 0, 0.5], [0, 1, 0.5]),
        (ops.logaddexp, [inf, inf], [inf, 0], [0.5, 1], [0.5, 0]),
        (ops.logaddexp, [1e5], [1e5 + 0.1], [1 / (1 + np.exp(0.1))], [1 / (1 + np.exp(-0.1))]),
        (ops.logaddexp2, [-inf, 0], [-inf, 0], [0, 0.5], [0, 0.5]),
        (lambda x, y: x**y, [0, 0, 2], [0, 2, 0], [0, 0, 0], [0, 0, np.log(2)]),
    ],
)
def test_gradient_of_two_arguments(f, x, y, x_bar, y_bar):
    bars = grad(f, x, y)
    assert_allclose(bars[0], x_bar, rtol=1e-9, atol=1e-12)
    assert_allclose(bars[1], y_bar, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("f", "x", "expected"),
    [
        (lambda x: x**2, [0.0, 1.0], [2, 2]),
        (lambda x: x**3, [0.0, 1.0], [0, 6]),
        (ops.prod, [2, 0, 3], [3, 5, 2]),
        (ops.prod, [0, 0, 3], [3, 3, 0]),
        (ops.det, [[1, 2], [2, 4]], [[1, -1], [-1, 1]]),
        (lambda x: ops.where(x > 0, ops.log(x), x * x), [0, 2.0], [2, -0.25]),
        (ops.norm, [0.0, 0.0], [0, 0]),
    ],
)
def test_second_derivative(f, x, expected):
    assert_allclose(second(f, x), expected, atol=1e-9)


def test_second_derivative_of_det_of_a_singular_matrix():
    """Against the polynomial itself, written out."""
    x = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [5.0, 7.0, 9.0]])
    x[2] = x[0] + x[1]

    def sarrus(a):
        e = [[ops.getitem(a, index=(i, j)) for j in range(3)] for i in range(3)]
        return (
            e[0][0] * (e[1][1] * e[2][2] - e[1][2] * e[2][1])
            - e[0][1] * (e[1][0] * e[2][2] - e[1][2] * e[2][0])
            + e[0][2] * (e[1][0] * e[2][1] - e[1][1] * e[2][0])
        )

    singular = np.array([[1.0, 2.0, 4.0], [2.0, 4.0, 8.0], [1.0, 0.0, 0.0]])
    assert np.linalg.det(singular) == 0
    for a in (x, singular):
        assert_allclose(grad(ops.det, a), grad(sarrus, a), atol=1e-9)
        assert_allclose(second(ops.det, a), second(sarrus, a), atol=1e-8)


WEIGHTS = np.arange(9.0).reshape(3, 3)


def test_equal_singular_values_and_a_loss_that_does_not_depend_on_the_choice():
    """The orthogonal factor U Vᵀ, the values alone, and the projector on the space of equal eigenvalues."""

    def orthogonal_factor(a):
        u, _, vh = ops.svd(a)
        return ops.matmul(u, vh) * WEIGHTS

    # d(U Vᵀ) at x = c 1 is skew(dx) / c
    assert_allclose(grad(orthogonal_factor, 2.0 * np.eye(3)), (WEIGHTS - WEIGHTS.T) / 4, atol=1e-12)

    def projector(a):
        v = ops.getitem(ops.eigh(a)[1], index=(slice(None), slice(0, 2)))
        return ops.matmul(v, ops.mT(v)) * WEIGHTS

    # dP = −Σ (dx)ᵢ₂ / (w₂ − wᵢ) on the mixed places
    mixed = np.zeros((3, 3))
    mixed[:2, 2] = mixed[2, :2] = (WEIGHTS + WEIGHTS.T)[:2, 2] / -4
    assert_allclose(grad(projector, np.diag([1.0, 1.0, 3.0])), mixed, atol=1e-12)
    assert_allclose(grad(lambda a: ops.eigh(a)[0] ** 2, np.diag([2.0, 2.0, 3.0])), np.diag([4.0, 4.0, 6.0]), atol=1e-12)


@pytest.mark.parametrize(
    "f",
    [
        lambda a: ops.eigh(a)[1] * WEIGHTS,
        lambda a: ops.svd(a)[0] * WEIGHTS,
        lambda a: ops.svd(a)[2] * WEIGHTS,
    ],
)
def test_equal_values_and_a_loss_that_depends_on_the_choice(f):
    with pytest.raises(RuntimeError, match="depends on how they are turned; break the tie in the input"):
        grad(f, np.eye(3))


def test_equal_values_and_a_loss_of_values_and_vectors():
    """log(1) = 0 hides the vectors' adjoint altogether, so that no check of it could tell."""

    def logarithm(a):
        w, v = ops.eigh(a)
        return ops.matmul(v * ops.unsqueeze(ops.log(w), axis=0), ops.mT(v)) * WEIGHTS

    def rebuild(a):
        u, s, vh = ops.svd(a)
        return ops.matmul(u * ops.unsqueeze(s, axis=0), vh) * WEIGHTS

    for f in (logarithm, rebuild):
        with pytest.raises(RuntimeError, match="uses values and vectors together; break the tie"):
            grad(f, np.eye(3))
    with pytest.raises(RuntimeError, match="uses values and vectors together"):
        grad(rebuild, np.zeros((3, 3)))


def test_singular_values_of_a_singular_matrix():
    x = np.diag([2.0, 0.0])
    assert_allclose(grad(lambda a: ops.svd(a)[1] * np.array([1.0, 0.0]), x), [[1, 0], [0, 0]], atol=1e-12)


def test_repeated_index_keeps_the_last_value():
    index = np.array([1, 1, 0])
    x_bar, y_bar = grad(lambda x, y: ops.index_put(x, y, index=index), [1, 2, 3], [10, 20, 30])
    assert_array_equal(x_bar, [0, 0, 1])
    assert_array_equal(y_bar, [0, 1, 1])


def test_products_do_not_overflow_on_the_way():
    """A factor 0 before and after a long run of large ones."""
    x = np.r_[0.0, np.full(400, 10.0), 0.0]
    assert_array_equal(grad(ops.prod, x)[1:-1], 0.0)
    assert_allclose(grad(ops.cumprod, np.r_[1.0, np.zeros(1), np.full(300, 2.0)])[1], 2.0**301 - 1)


@pytest.mark.parametrize("copies", [1, 500], ids=["small", "in lanes"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_a_power_of_zero_does_not_depend_on_its_base(zero, dtype, copies):
    tiny = np.finfo(dtype).smallest_subnormal
    base = np.tile(np.array([nan, inf, -inf, 0.0, -0.0, tiny, -tiny, 8 * tiny, -3.0, 1.0], dtype), copies)
    for exponent in (tape.tensor(np.full(base.shape, zero, dtype)), zero):
        x = tape.tensor(base, requires_grad=True)
        (x**exponent).sum().backward()
        assert_array_equal(x.grad.numpy(), np.zeros(base.shape))


def test_the_mixed_second_derivative_of_a_power_of_zero_is_kept():
    """∂²x^y/∂x∂y = x^(y−1) (1 + y log x) is 1/x at y = 0, in either order."""
    x, y = tape.tensor([0.5, 4.0], requires_grad=True), tape.tensor([0.0, 0.0], requires_grad=True)
    for first, then in ((x, y), (y, x)):
        (bar,) = tape.autograd.grad((x**y).sum(), first, create_graph=True)
        (twice,) = tape.autograd.grad(bar.sum(), then)
        assert_allclose(twice.numpy(), [2.0, 0.25], rtol=1e-15)
