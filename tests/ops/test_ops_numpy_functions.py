"""The composites: each called as NumPy calls the function it answers for, and differentiated."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy_calls import CALLS, MASK, SQUARE, A, B, T, V, W, map_arrays, parts, rng
from oracle import Traced, gradients
from samples import inner, noise, slope

import ops
import tape
from ops import REGISTRY

ANSWERING = [op for op in REGISTRY.values() if op.kind == "composite" and op.numpy]
CASES = [(name, i) for name, calls in CALLS.items() for i in range(len(calls))]


def test_every_composite_that_answers_for_numpy_is_called():
    assert {op.name for op in ANSWERING} == set(CALLS)


@pytest.mark.parametrize(("name", "i"), CASES)
def test_value_is_numpys(name, i):
    args, kwargs = CALLS[name][i]
    for f in REGISTRY[name].numpy:
        if f is np.linalg.outer and args[0].ndim > 1:
            continue  # it takes vectors alone
        expected, found = parts(f(*args, **kwargs)), parts(REGISTRY[name](*args, **kwargs))
        for z, w in zip(found, expected, strict=True):
            assert np.shape(z) == np.shape(w)
            assert_allclose(z, w, rtol=1e-10, atol=1e-12)


def of_complex(args):
    """Arguments with complex numbers in the place of real ones."""
    return map_arrays(lambda x: x * (1 + 0.3j) + 0.2j * x * x, args)


@pytest.mark.parametrize(("name", "i"), CASES)
def test_value_of_complex_numbers_is_numpys_or_refused(name, i):
    args, kwargs = CALLS[name][i]
    args = of_complex(args)
    for f in REGISTRY[name].numpy:
        try:
            expected = parts(f(*args, **kwargs))
            found = parts(REGISTRY[name](*args, **kwargs))
        except (TypeError, ValueError, RuntimeError, np.linalg.LinAlgError, np.exceptions.ComplexWarning):
            continue
        for z, w in zip(found, expected, strict=True):
            assert np.shape(z) == np.shape(w)
            assert_allclose(z, w, rtol=1e-10, atol=1e-12)


STATISTICS = (
    "average", "corrcoef", "cov", "diff", "float_power", "nanmean", "nanprod", "nanstd", "nansum", "nanvar",
    "numpy_mean", "numpy_prod", "numpy_std", "numpy_sum", "numpy_var", "trapezoid",
)  # fmt: skip


@pytest.mark.parametrize(("name", "i"), [case for case in CASES if case[0] in STATISTICS])
def test_gradient_of_complex_numbers_agrees_with_differences(name, i):
    check_gradient(name, of_complex(CALLS[name][i][0]), CALLS[name][i][1])


@pytest.mark.parametrize(("name", "i"), CASES)
def test_gradient_agrees_with_differences(name, i):
    check_gradient(name, *CALLS[name][i], seed=i)


def check_gradient(name, args, kwargs, seed=0):
    """Compare a gradient with a difference along a random direction."""
    generator = np.random.default_rng(seed)
    leaves = []

    def leaf(x):
        leaves.append(Traced(x))
        return leaves[-1]

    zs = [z for z in parts(REGISTRY[name](*map_arrays(leaf, args), **kwargs)) if isinstance(z, Traced)]
    assert zs, "the history is lost"
    gs, ts = ([noise(x.value, generator) for x in xs] for xs in (zs, leaves))
    if name in ("numpy_cholesky", "eigvalsh"):
        ts = [t + t.T for t in ts]
    with np.errstate(all="ignore"):
        bars = gradients(zs, gs, leaves)

    def along(h):
        moved = iter(ts)
        z = parts(REGISTRY[name](*map_arrays(lambda x: x + h * next(moved), args), **kwargs))
        return inner(gs, z)

    found = sum(np.nansum(np.real(np.conj(bar) * t)) for bar, t in zip(bars, ts) if bar is not None)
    assert_allclose(found, slope(along, 1e-4), rtol=1e-6, atol=1e-7)


INF, NAN = np.inf, np.nan


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (np.modf, ([1.25, -2.5, INF, -INF, NAN],)),
        (np.heaviside, ([0.0, -0.0, INF, -INF, NAN], 0.5)),
        (np.heaviside, (np.float32([0.0, -2.0, NAN]), np.float32(0.5))),
        (np.interp, ([0.0, 1.0, 2.0, -INF, INF, NAN], [0.0, 1.0, 1.0, 2.0], [5.0, 6.0, 7.0, 8.0])),
        (np.nanmax, ([[NAN, 1.0], [3.0, 2.0]], 0)),
        (np.nanstd, ([[NAN, 1.0], [3.0, 2.0]], 1)),
        (np.linspace, (0.1, 0.7, 7)),
        (np.linspace, (0.1, 0.7, 0)),
        (np.polyval, ([], [1.0, 2.0])),
        (np.vander, ([0.0, 1.0],)),
        (np.sum, ([[1, 2], [3, 4]],)),
        (np.mean, (np.float32([1.0, 2.0]),)),
        (np.prod, ([True, False],)),
    ],
)
def test_values_where_no_gradient_is_compared(f, args):
    (op,) = (op for op in ANSWERING if f in op.numpy)
    arrays = [np.array(x) if isinstance(x, list) else x for x in args]
    for z, w in zip(parts(op(*arrays)), parts(f(*arrays)), strict=True):
        assert_array_equal(z, w)
        assert np.asarray(z).dtype == np.asarray(w).dtype


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ops.einsum("ij,j", A), "1 operands for the 2 terms"),
        (lambda: ops.einsum("...ijk->", V), "does not fit"),
        (lambda: ops.diag(T), "takes a vector or a matrix"),
        (lambda: ops.cat([]), "at least one array"),
        (lambda: ops.tensordot(A, B, 1), "equal lengths"),
        (lambda: ops.mm(V, A), "use matmul"),
        (lambda: ops.numpy_norm(T, 1), "one axis for a vector or two"),
        (lambda: ops.numpy_norm(A, 5), "'fro', 'nuc'"),
        (lambda: ops.norm(T, "nuc"), "two axes of matrices"),
        (lambda: ops.norm(A, "max"), "'fro', 'nuc' or a number"),
        (lambda: ops.matrix_power(A, 2), "square matrices"),
        (lambda: ops.quantile(V, 1.5), "from 0 to 1"),
        (lambda: ops.topk(V, k=9), "0 ≤ k ≤ 4"),
        (lambda: ops.kthvalue(V, k=0), "1 ≤ k ≤ 4"),
        (lambda: ops.cross(V, W), "length 3"),
        (lambda: ops.average(A, 0, V), "needs weights of shape"),
        (lambda: ops.pad(A, 1, "mean"), "mode 'constant'"),
        (lambda: ops.interp(V, A, A), "vectors xp and fp of one length"),
        (lambda: ops.interp(V, V, W, period=0), "other than 0"),
        (lambda: ops.numpy_gradient(V[:1]), "needs 2 elements"),
        (lambda: ops.numpy_gradient(A, 1.0, 1.0, 1.0), "one for each of the 2 axes"),
        (lambda: ops.convolve(A, V), "two vectors that are not empty"),
        (lambda: ops.numpy_select([], []), "at least one"),
        (lambda: ops.choose(np.array([3]), [V, W]), "from 0 to 1"),
        (lambda: ops.piecewise(V, [V > 0], []), "needs 1 functions"),
        (lambda: ops.block([[V], V]), "same depth"),
        (lambda: ops.numpy_max(A, where=MASK), "`initial` number"),
        (lambda: ops.cumulative_sum(A), "needs `axis`"),
        (lambda: ops.meshgrid(V, indexing="zz"), "'xy' or 'ij'"),
        (lambda: ops.gelu(V, "exact"), "approximate='none'"),
        (lambda: ops.numpy_qr(A, "complete"), "'reduced' and 'r'"),
        (lambda: ops.diag_embed(V, 0, 1, 1), "two different axes"),
    ],
)
def test_mistakes(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    ("f", "oracle"),
    [
        (lambda x: ops.max(x, axis=1)[0], lambda x: x.max(1)),
        (lambda x: ops.min(x, axis=0)[0], lambda x: x.min(0)),
        (lambda x: ops.flatten(x), np.ravel),
        (lambda x: ops.diag_embed(x, 1), lambda x: np.stack([np.diag(row, 1) for row in x])),
        (lambda x: ops.masked_select(x, MASK), lambda x: x[MASK]),
        (lambda x: ops.masked_select(x, MASK[:, :1]), lambda x: x[MASK[:, 0]].ravel()),
        (lambda x: ops.matrix_power(ops.matmul(x, B.T), 3), lambda x: np.linalg.matrix_power(x @ B.T, 3)),
        (lambda x: ops.silu(x), lambda x: x / (1 + np.exp(-x))),
        (lambda x: ops.gelu(x, "tanh"), lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))),
        (lambda x: ops.elu(x, 0.7), lambda x: np.where(x > 0, x, 0.7 * np.expm1(x))),
        (lambda x: ops.leaky_relu(x, 0.1), lambda x: np.where(x > 0, x, 0.1 * x)),
        (lambda x: ops.lerp(x, B, 0.3), lambda x: 0.7 * x + 0.3 * B),
        (lambda x: ops.addcmul(B, x, x, 2.0), lambda x: B + 2 * x * x),
        (lambda x: ops.addcdiv(x, B, x, 2.0), lambda x: x + 2 * B / x),
        (lambda x: ops.addmm(SQUARE, x, B.T, 2.0, 0.5), lambda x: 2 * SQUARE + 0.5 * x @ B.T),
        (lambda x: ops.unbind(x, axis=1)[2], lambda x: x[:, 2]),
        (lambda x: ops.split(x, indices_or_sections=2, axis=1)[1], lambda x: x[:, 2:]),
    ],
)  # fmt: skip
def test_torch_spelling(f, oracle):
    assert_allclose(f(A), oracle(A), rtol=1e-12, atol=1e-14)
    x, t = Traced(A), rng.normal(size=A.shape)
    z = f(x)
    g = rng.normal(size=z.shape)
    (bar,) = gradients([z], [g], [x])
    assert_allclose(np.sum(bar * t), slope(lambda h: np.sum(g * oracle(A + h * t)), 1e-4), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("f", [
    lambda x: np.take(x, [0.0, 1.9]), lambda x: np.take(x, x), lambda x: x.take(np.array([0.0])),
    lambda x: np.choose([0.0, 1.0], [x, x]), lambda x: np.choose(x, [x, x]), lambda x: x.choose([x, x]),
    lambda x: np.choose(x > 0.5, [x, -x]), lambda x: np.take_along_axis(x, x, 0), lambda x: x[x], lambda x: x[[0.0]],
    lambda x: np.linalg.matrix_power(np.outer(x, x), 2.0), lambda x: np.linalg.matrix_power(x, 2),
])  # fmt: skip
def test_places_that_are_no_whole_numbers(f):
    def outcome(function):
        try:
            return function(x)
        except Exception as error:
            return type(error)

    x = np.array([0.0, 1.0])
    wanted = outcome(f)
    for found in (outcome(tape.compile(f)), outcome(lambda x: tape.func.vjp(f, x)[0])):
        assert_array_equal(found, wanted)


SINGULAR, ZERO, REGULAR = np.array([[1.0, 2.0], [2.0, 4.0]]), np.zeros((2, 2)), np.array([[2.0, 1.0], [0.0, 3.0]])


@pytest.mark.parametrize("dtype", [float, np.float32, complex])
@pytest.mark.parametrize("p", [1, -1, 2, -2, np.inf, "fro", "nuc"])
def test_condition_numbers_of_singular_matrices(p, dtype):
    def outcome(function, x):
        try:
            return function(x)
        except np.linalg.LinAlgError as error:
            return type(error)

    def f(x):
        return np.linalg.cond(x, p)

    matrices = ZERO, REGULAR, np.stack([REGULAR, ZERO]), *([] if p in (2, -2) else [SINGULAR])
    for x in [x.astype(dtype) for x in matrices]:
        wanted = outcome(f, x)
        for found in (outcome(tape.compile(f), x), outcome(lambda x: tape.func.vjp(f, x)[0], x)):
            assert getattr(found, "dtype", None) == getattr(wanted, "dtype", None)
            if found is not wanted:
                assert_allclose(found, wanted, rtol=1e-5)
    slope_there = tape.func.grad(lambda x: np.where(np.isinf(f(x)), 0.0, f(x)).sum())
    if p != "nuc" and dtype is float:
        assert_array_equal(slope_there(ZERO), ZERO)


QUANTILES = {
    "percentile": lambda x: np.percentile(x, 30),
    "quantile": lambda x: np.quantile(x, [0.1, 0.55, 1.0]),
    "median": np.median,
    "midpoint": lambda x: np.percentile(x, 80, method="midpoint"),
    "nanpercentile": lambda x: np.nanpercentile(x, 30),
}


@pytest.mark.parametrize("function", QUANTILES.values(), ids=QUANTILES)
@pytest.mark.parametrize("dtype", list("bhilBHIQ"))
def test_quantiles_of_integers_overflow_where_numpys_do(function, dtype):
    least, most, fast = np.iinfo(dtype).min, np.iinfo(dtype).max, tape.compile(function)
    for numbers in ([least, most, 1], [5, 3, 9, 7], [most, most - 3, least + 1, 0]):
        x = np.array(numbers, dtype)
        with np.errstate(over="ignore"):
            assert repr(fast(x)) == repr(function(x))  # the last are replayed


@pytest.mark.parametrize("dtype", [np.longdouble, np.clongdouble])
@pytest.mark.parametrize(
    "function", [lambda x: np.interp(0.5, [0.0, 1.0], x), lambda x: np.interp(x, [0.0, 1.0], [1, 2])]
)
def test_interp_of_more_than_64_bits_is_refused_as_by_numpy(function, dtype):
    x = np.ones(2, dtype)
    for call in (function, tape.compile(function), lambda x: tape.func.jvp(function, (x,), (x,))):
        with pytest.raises(TypeError):
            call(x)
