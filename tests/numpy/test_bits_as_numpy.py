"""Functions give the very numbers that NumPy gives: signs of zeros, what is beside infinities, the order of sums."""

import math
from functools import partial

import numpy as np
import pytest
from differences import gradients

import tape
from tape.func import vjp

INF, NAN = np.inf, np.nan
RNG = np.random.default_rng(0)
CONTINUOUS = (
    "linear", "midpoint", "averaged_inverted_cdf", "interpolated_inverted_cdf", "hazen", "weibull", "median_unbiased",
    "normal_unbiased",
)  # fmt: skip
ZEROS = [np.full(n, zero) for n in (1, 2, 3, 5) for zero in (0.0, -0.0)]
MIXED = [RNG.choice([0.0, -0.0], n) for n in (2, 8, 9, 33, 100)] + [RNG.choice([0.0, -0.0, NAN, -1.0], 20)]
INFINITE = [
    np.array(v)
    for v in ([1, 2, INF], [-INF, 0.5, INF], [1, INF, INF, 3], [INF] * 4, [-INF, 1, 2, 4, 5], [INF, INF, -1.0])
]
ANY = [RNG.normal(size=n) for n in (3, 8, 17, 40)]
EVEN = [np.linspace(0.1, 1, n) for n in (3, 8)] + [np.arange(5) * 0.5, np.cumsum([0.5, 1.0, 0.25]), np.full(4, INF)]
UNEVEN = np.cumsum([0.5, 1.0, 0.25, 2.0, 0.5])
SHARES = (0, 0.3, 0.5, 1, [0.2, 0.9])


def by_shares(function, x, **options):
    return tuple([function(x, q, **options) for q in SHARES])


FUNCTIONS = {
    **{name: (getattr(np, name), [*MIXED, *INFINITE]) for name in ("nanmin", "nanmax", "sort", "max", "min", "median")},
    "sort of all": (lambda x: np.sort(x.reshape(1, -1), axis=None), MIXED),
    "stable": (lambda x: np.sort(x, kind="stable"), MIXED),
    "partition": (lambda x: np.partition(x, x.size // 2), [*MIXED, *ANY]),
    "fmax": (np.fmax.reduce, MIXED),
    **{
        f"{name}, {method}": (
            partial(by_shares, getattr(np, name), method=method),
            [*ZEROS, *INFINITE, *ANY],
        )
        for name in ("quantile", "percentile") for method in CONTINUOUS
    },
    **{
        name: (partial(by_shares, getattr(np, name)), [*ZEROS, *INFINITE, *ANY])
        for name in ("nanquantile", "nanpercentile")
    },
    "norm": (np.linalg.norm, [*ZEROS, *INFINITE, *ANY]), "norm of order 2": (lambda x: np.linalg.norm(x, 2), ANY),
    "norm of a matrix": (lambda x: np.linalg.norm(np.outer(x, x[:3])[::2].T, "fro"), ANY),
    "norm of complex numbers": (lambda x: np.linalg.norm((x + 1j * x[::-1]).reshape(-1, 1)[::-1]), ANY),
    "norm that keeps axes": (lambda x: np.linalg.norm(np.outer(x, x), keepdims=True), ANY),
    "corrcoef of complex numbers": (lambda x: np.corrcoef([x + 1j * x[::-1], x[::-1] - 2j * x, 1j * x]), ANY),
    **{
        f"gradient by coordinates, order {k}": (lambda x, k=k: np.gradient(np.sin(x), x, edge_order=k), [*EVEN, *ANY])
        for k in (1, 2)
    },
    "gradient by coordinates of two axes": (lambda x: np.gradient(np.outer(np.sin(x), x), x * x, x), EVEN),
    "steps": (lambda x: (np.spacing(x), np.nextafter(x, x[::-1]), np.nextafter(1.0, x)), [*MIXED, *INFINITE, *ANY]),
    "interp": (lambda x: np.interp(x, [-1.0, 0.0, 2.0], [1.0, INF, 3.0]), [np.array([NAN, -2, -1, -0.5, 0, 1, 5])]),
    "interp at one point": (lambda x: np.interp(x, [1.0], [4.0]), [np.array([NAN, 0, 1, 2])]),
    "interp of equal points": (lambda x: np.interp(x, [0.0, 0.0], [INF, INF]), [np.array([NAN, 0, 1, -1])]),
    "interp of complex numbers": (
        lambda x: np.interp(x, [-1.0, 0.0, 2.0], [1 + 2j, 3j, 4.0], left=1j), [np.array([NAN, -2, -0.5, 0, 1, 5])]
    ),
    **{
        f"gradient, order {k}, {name}": (lambda x, k=k, h=h: np.gradient(x, *h(x), edge_order=k), [*INFINITE, *ANY])
        for k in (1, 2)
        for name, h in {
            "1": lambda x: [], "0.3": lambda x: [0.3], "even": lambda x: [np.arange(x.size) * 0.5],
            "uneven": lambda x: [np.cumsum(np.arange(x.size) % 3 + 1)],
        }.items()
    },
}  # fmt: skip


def same(found, expected):
    if isinstance(expected, tuple):
        return all(map(same, found, expected))
    found, expected = np.asarray(found), np.asarray(expected)
    if expected.dtype.kind == "c" == found.dtype.kind:
        return same(found.real, expected.real) and same(found.imag, expected.imag)
    np.testing.assert_array_equal(found, expected)
    signs = [np.signbit(x[~np.isnan(x)]) for x in (found, expected)]
    return found.dtype == expected.dtype and np.array_equal(*signs)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_numbers_are_numpys(name, dtype):
    function, several = FUNCTIONS[name]
    with np.errstate(all="ignore"):
        for x in (v.astype(dtype) for v in several):
            assert same(vjp(function, x)[0], function(x)), x


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in FUNCTIONS
        if not any(part in name for part in ("gradient", "norm of", "norm that", "corrcoef"))
        and name not in ("max", "min", "nanmax", "nanmin", "fmax")
    ],
)
def test_compiled_numbers_are_numpys(name):
    function, several = FUNCTIONS[name]
    compiled = tape.compile(function)
    with np.errstate(all="ignore"):
        for x in several[:4] * 2:
            assert same(compiled(x), function(x)), x


SEVERAL = {
    name: getattr(np, name) for name in ("quantile", "percentile", "nanquantile", "nanpercentile")
}  # fmt: skip


@pytest.mark.parametrize("q", [0.4, np.array(0.4), np.float32(0.4), np.array(0.4, "f4"), [0.4], np.array([0.4], "f4")])
@pytest.mark.parametrize("name", SEVERAL)
def test_one_quantile_that_is_nan_has_its_dtype(name, q):
    """NumPy gives the nan that it found, in its dtype, where it writes others into the dtype of both."""
    function = SEVERAL[name]
    compiled = tape.compile(lambda x: function(x, q))
    for dtype in "efd":
        for first in (NAN, 1.0, NAN):
            for shape in ((4,), (2, 2)):
                x = np.array([first, 3.0, 2.0, 5.0], dtype).reshape(shape)
                expected = function(x, q)
                for found in (vjp(lambda x: function(x, q), x)[0], compiled(x)):
                    assert same(found, expected)
                    assert found.dtype == expected.dtype


@pytest.mark.parametrize("order", [1, 2])
def test_slopes_depend_on_each_coordinate_also_where_these_are_even(order):
    weights = np.arange(1.0, 6.0) ** 2

    def f(x):
        return np.sum(np.gradient(np.sin(3 * x), x, edge_order=order) * weights)

    for x in (np.linspace(0, 1, 5), np.linspace(0, 1, 5) ** 2):
        expected = gradients(f, [x])[0]
        for gradient in (tape.func.grad(f), tape.func.jacfwd(f), tape.compile(tape.func.grad(f))):
            np.testing.assert_allclose(gradient(x), expected, rtol=1e-6, atol=1e-6)
        second = gradients(lambda x: tape.func.grad(f)(x)[0], [x])[0]
        np.testing.assert_allclose(tape.func.hessian(f)(x)[0], second, rtol=1e-5, atol=1e-5)
    both = np.stack([np.linspace(0, 1, 5), np.linspace(0, 1, 5) ** 2])
    np.testing.assert_allclose(tape.func.vmap(f)(both), [f(x) for x in both], rtol=1e-13)
    slopes = tape.compile(lambda x: np.gradient(x * x, x, edge_order=order))
    for x in (both[0], both[1], 3 * both[0], both[1]):
        assert same(slopes(x), np.gradient(x * x, x, edge_order=order))


def test_the_next_number_has_the_slope_of_the_number():
    x = np.array([0.3, -0.7, 2.0])
    programs = [
        (lambda x: np.sum(np.nextafter(x * x, 9.0)), 2 * x),
        (lambda x: np.sum(np.nextafter(1.0, x)), 0 * x),
        (lambda x: np.sum(x * np.spacing(x)), np.spacing(x)),
        (lambda x: math.nextafter(x[0], 9.0), np.eye(3)[0]),
    ]
    for f, expected in programs:
        for gradient in (tape.func.grad(f), tape.compile(tape.func.grad(f)), tape.func.jacfwd(f)):
            for _ in range(2):
                np.testing.assert_array_equal(gradient(x), expected)
    assert tape.func.vjp(lambda x: math.nextafter(x[0], 9.0), x)[0] == math.nextafter(0.3, 9.0)


PAIRS = {
    "convolve": np.convolve, "convolve same": lambda x, y: np.convolve(x, y, "same"),
    "convolve valid": lambda x, y: np.convolve(x, y, "valid"), "correlate": np.correlate,
    "correlate full": lambda x, y: np.correlate(x, y, "full"),
    "correlate same": lambda x, y: np.correlate(x, y, "same"),
    "vecdot": lambda x, y: np.vecdot(np.stack([x, -x]), x), "vecdot of columns": lambda x, y: np.vecdot(
        np.stack([y, -y], 1), np.stack([y, y * y], 1), axis=0
    ),
    "cov": lambda x, y: np.cov(np.stack([x, x * x])), "corrcoef": lambda x, y: np.corrcoef(np.stack([x, x * x])),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:Degrees of freedom")
@pytest.mark.parametrize("name", PAIRS)
def test_sums_are_taken_in_numpys_order(name):
    for n, m in ((1, 1), (5, 3), (3, 5), (40, 17), (33, 33), (7, 64)):
        for dtype in "fd" if name == "corrcoef" else "fdD":
            x, y = ((RNG.normal(size=(k, 2)) @ [1, 1j if dtype == "D" else 1]).astype(dtype) for k in (n, m))
            with np.errstate(all="ignore"):
                assert same(vjp(PAIRS[name], x, y)[0], PAIRS[name](x, y)), (n, m, dtype)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("function", [np.convolve, np.correlate])
def test_convolutions_of_lanes(function, mode):
    X, Y = RNG.normal(size=(4, 6)), RNG.normal(size=(4, 3))
    each = np.array([function(x, y, mode) for x, y in zip(X, Y)])
    np.testing.assert_allclose(tape.func.vmap(lambda x, y: function(x, y, mode))(X, Y), each)
    one = tape.func.vmap(lambda y: function(X[0], y, mode))(Y)
    np.testing.assert_allclose(one, [function(X[0], y, mode) for y in Y])


def test_nothing_flows_to_nan():
    x = np.array([[NAN, NAN], [2.0, NAN], [3.0, 3.0]])
    with pytest.warns(RuntimeWarning, match="All-NaN"):
        slope = tape.func.grad(lambda x: np.nanmax(x, axis=1)[1:].sum() + 0 * np.nanmin(x))(x)
    np.testing.assert_array_equal(slope, [[0, 0], [1, 0], [0.5, 0.5]])


def test_steps_that_may_have_a_gradient_all_count():
    """The formula for equal steps is another function of them."""
    f = np.array([1.0, 4.0, 2.0, 7.0])
    slope = tape.func.jacrev(lambda x: np.gradient(f, x))(np.arange(4.0))
    step = 1e-6 * np.eye(4)
    differences = [(np.gradient(f, np.arange(4.0) + e) - np.gradient(f, np.arange(4.0) - e)) / 2e-6 for e in step]
    np.testing.assert_allclose(slope, np.transpose(differences), atol=1e-6)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("function", [np.convolve, np.correlate])
def test_gradients_of_sliding_products_cost_what_the_products_do(function, mode):
    n, m = 400, 5
    x, w = RNG.normal(size=n), RNG.normal(size=m)
    program = tape.record(tape.func.grad(lambda x, w: (function(x, w, mode) ** 2).sum(), argnums=(0, 1)), x, w)
    largest = max(spec.size for spec in program.listing.specs)
    assert largest < 3 * n * m
    for found, k in zip(program(x, w), (0, 1), strict=True):
        step = RNG.normal(size=(n, m)[k])
        moved = [[x, w][i] + 1e-20j * step if i == k else [x, w][i] for i in range(2)]
        slope = (function(moved[0], moved[1].conj() if function is np.correlate else moved[1], mode) ** 2).sum().imag
        np.testing.assert_allclose(found @ step, slope / 1e-20, rtol=1e-10)


@pytest.mark.parametrize(
    ("shape", "bound"),
    [((1,), (1,)), ((1,), ()), ((), ()), ((), (1,)), ((1, 1), (1,)), ((1, 1), (1, 1)), ((2,), (1,)), ((3, 2), (2,))],
)
def test_a_zero_at_a_bound_that_is_zero_has_the_sign_that_numpy_gives_it(shape, bound):
    for sign in (1.0, -1.0):
        x, end = np.zeros(shape) * sign, np.zeros(bound) * -sign

        def f(x, end):
            return np.clip(x, end, end)

        expected = np.signbit(f(x, end))
        for g in (f, tape.compile(f), lambda x, end: tape.func.jvp(lambda y: f(y, end), (x,), (x,))[0]):
            assert np.array_equal(np.signbit(g(x, end)), expected)
