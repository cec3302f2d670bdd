"""Functions of NumPy's that are made of others: their values, and their derivatives beside differences."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from differences import gradients
from numpy.lib.stride_tricks import sliding_window_view
from numpy.testing import assert_allclose, assert_array_equal

import tape
import tape.numpy

X = np.array([1.3, 0.7, 2.1, 0.4])
T = np.linspace(0, 1, 4)
LOWER = np.array([[5.0, 100.0], [0.3, 4.0]])


def spread(*parts):
    """One number of several results, in which each counts otherwise."""
    return sum((np.asarray(z).ravel() * (1 + k + np.arange(np.size(z)))).sum() for k, z in enumerate(parts))


HOLES = np.array([[np.nan, 1.0, 1.0, np.nan], [1.0, 1.0, 1.0, 1.0], [np.nan, np.nan, 1.0, np.nan]])


def _turned(x):
    """Complex numbers of which two have the same real part."""
    return np.round(x) * 2 + 1j * x * x[::-1]


PROGRAMS = {
    "nanmedian": lambda x: spread(np.nanmedian(x * HOLES), np.nanmedian(np.outer(x, x)[:3] * HOLES, axis=1)),
    "nanquantile": lambda x: spread(
        np.nanquantile(x * HOLES, [0.3, x[1] / 2], axis=0), np.nanpercentile(x * HOLES, 40.0, (0, 1), keepdims=True)
    ),
    "emath": lambda x: spread(np.emath.sqrt(x), np.emath.log(x), np.emath.power(x, 2.5), np.emath.logn(2.0, x)),
    "emath, complex": lambda x: spread(
        np.abs(np.emath.sqrt(x - 1.0)), np.emath.arcsin(x).imag, np.emath.arccos(x).imag, np.emath.arctanh(x).real,
        np.emath.log2(-x).real, np.emath.log10(1 - x).real, np.emath.power(-x, [1.5]).imag,
    ),
    "mantissa and exponent": lambda x: spread(
        *np.frexp(x * 3), np.ldexp(x, [2, -3, 0, 1]), np.ldexp(x, np.argsort(x)), np.frexp(np.append(x, 0.0))[0],
        math.frexp(x[2])[0] * math.frexp(x[2])[1], math.ldexp(x[0], -2), *math.modf(-x[2]),
    ),
    "of math": lambda x: spread(
        math.gamma(x[0]), math.gamma(-x[1]), *[math.remainder(a, b) for a in (x[0], -x[2]) for b in (x[1], 0.9)],
        math.ulp(x[0]) + x[3],
    ),
    "vectorize, signature": lambda x: spread(
        np.vectorize(lambda row, e: row.sum() * e, signature="(n),()->()")(np.outer(x, x), x),
        *np.vectorize(lambda a, b: (a @ b, a * 2), signature="(m,n),(n)->(m),(m,n)")(np.outer(x[:2], x), x),
        np.vectorize(lambda a, *, b: a * b.sum(), signature="(n)->(n)", excluded={"b"})(x, b=x),
        np.vectorize(lambda a: np.stack([a, a]), signature="(n)->(k,n)", otypes=[float])(np.outer(x, x)),
    ),
    "complex in order": lambda x: spread(
        np.sort(_turned(x)).imag, np.sort_complex(x * 1j).imag, np.max(_turned(x)).imag, _turned(x).min(0).imag,
        np.sort(np.outer(x, _turned(x)), axis=0).imag, np.max(np.outer(x, _turned(x)), axis=1, keepdims=True).real,
    ),
    "pad by pairs": lambda x: spread(
        np.pad(x, (1, 2), constant_values=(x[0], 3.0)),
        np.pad(np.outer(x, x), ((1, 0), (0, 2)), constant_values=((1.0, x[2]), (3.0, 4.0))),
    ),
    "pad by ramps and statistics": lambda x: spread(
        np.pad(x, 2, "linear_ramp", end_values=(5.0, x[1])), np.pad(x, 2, "mean"),
        np.pad(x.reshape(2, 2), ((1, 2), (0, 1)), "maximum", stat_length=1), np.pad(x, (0, 3), "median"),
    ),
    "lists of numbers": lambda x: spread(
        [1.0, 2.0] * x[:2] + [x[0], x[1]], np.array([1.0, 2.0]) * [x[2], x[3]], np.eye(2) @ [x[0], x[1]],
        np.hypot(x[0], [x[1], x[2]]), np.concatenate([x, [x[0], 2.0]]), np.stack([x[:2], (x[2], 1.0)]),
    ),
    "lstsq": lambda x: spread(*np.linalg.lstsq(np.vander(T, 3), x, rcond=None)[:2]),
    "lstsq of the matrix": lambda x: spread(*np.linalg.lstsq(np.stack([np.ones(4), x], 1), T**2 + 1, rcond=None)),
    "lstsq, wide": lambda x: spread(np.linalg.lstsq(x.reshape(1, 4), np.ones((1, 2)), rcond=None)[0]),
    "polyfit": lambda x: spread(np.polyfit(T, x, 2), np.polyfit(x, T, 1, w=[1.0, 2.0, x[0], 1.0])),
    "polyfit with cov": lambda x: spread(*np.polyfit(T, x**2, 1, cov=True), *np.polyfit(T, x, 1, full=True)[:2]),
    "polynomials": lambda x: spread(np.polyder(x), np.polyint(x, 2), np.polyadd(x, x[:2]), np.polysub(x[1:], x),
                                    np.polymul(x, x[:2]), np.poly(x), np.poly1d(x)(0.3)),
    "roots": lambda x: spread(np.sort(np.roots([1.0, -5.0 - x[0], 6.0 * x[1]]))),
    "trim_zeros": lambda x: spread(np.trim_zeros(np.concatenate([[0.0], x, [0.0, 0.0]])), np.trim_zeros(x, "f")),
    "partition": lambda x: spread(np.sort(np.partition(x, 2)[:2]), x[np.argpartition(x, 1)[1]], np.partition(x, 0)[0]),
    "unique": lambda x: spread(np.unique(x), np.unique(x.reshape(2, 2), axis=0), np.unique(np.tile(x, 2))),
    "unique, all": lambda x: spread(*[u[i] * c[i] for u, i, c in [np.unique(x, False, True, True)]]),
    "sets": lambda x: spread(np.union1d(x, x[:2]), np.intersect1d(x, x[1:]), np.setdiff1d(x, x[:1])),
    "histogram": lambda x: spread(*[n * e[1:] for n, e in [np.histogram(x, 3)]]),
    "histogram with weights": lambda x: spread(*np.histogram(T, 3, weights=x**2), np.histogram(T, 2, None, True, x)[0]),
    "histogram2d": lambda x: spread(*np.histogram2d(T, T[::-1], 2, weights=x**2)),
    "cholesky": lambda x: spread(np.linalg.cholesky(LOWER + x.reshape(2, 2))),
    "cholesky, upper": lambda x: spread(np.linalg.cholesky(LOWER.T + x.reshape(2, 2), upper=True)),
    "eigh": lambda x: spread(np.linalg.eigh(LOWER + x.reshape(2, 2))[0], np.linalg.eigvalsh(x.reshape(2, 2), "U")),
    "eigvals": lambda x: spread(np.sort(np.linalg.eigvals(np.array([[x[0], x[1]], [x[1], x[2]]])).real)),
    "sliding windows": lambda x: spread(sliding_window_view(x, 2) ** 2, sliding_window_view(np.outer(x, x), (2, 3))),
    "take": lambda x: spread(np.take(x, [5, -1], mode="wrap"), x.take([9, 0], mode="clip") ** 2),
    "cov": lambda x: spread(np.cov(x, T), np.corrcoef(x, T**2), np.cov(x.reshape(2, 2), x.reshape(2, 2), False)),
    "reduceat": lambda x: spread(np.add.reduceat(x**2, [0, 2, 1]), np.multiply.reduceat(np.outer(x, x), [1, 3], 1)),
    "arange": lambda x: spread(np.arange(x[3], 2.0, x[1]), np.arange(0, x[0], 0.5) * x[0], np.arange(x[2]) * x[1]),
    "spaces": lambda x: spread(np.linspace(x[0], x[1], 4), np.geomspace(x[0], x[2], 3), np.logspace(x[1], x[2], 3)),
    "r_ and c_": lambda x: spread(np.r_[x, x[0], 1:3, [x[1], 2.0]], np.c_[x, x**2], np.r_["-1", x, [1.0]]),
    "grids": lambda x: spread(np.mgrid[0:2, 0:2] * x.reshape(2, 2), np.ogrid[0:4:4j] * x, x[np.s_[1:3]]),
    "a grid written into": lambda x: spread(_into(np.mgrid[0:2:1.0, 0:2], x)),
    "ndenumerate": lambda x: sum(i * v**2 for (i,), v in np.ndenumerate(x)) + sum(x[i] ** 3 for i in np.ndindex(4)),
    "lists": lambda x: spread(np.diag([x[0], 1.0]), np.tile([x[1], 2.0], 2), np.average([1.0, 2.0], weights=[x[2], 3])),
    "average with its weights": lambda x: spread(
        *np.average(x, weights=x**2, returned=True), *np.average(np.outer(x, x), returned=True),
        *np.average(np.outer(x, x), 1, x, True), *np.average(np.outer(x, x), 0, x, returned=True, keepdims=True),
    ),
    "average over several axes": lambda x: spread(
        np.average(np.outer(x, x), (0,), x), np.average(np.outer(x, x), (1, 0), np.outer(x, x + 1).T, returned=0),
        *np.average(np.outer(x, x), (1, 0), np.outer(x, x + 1).T, returned=True),
    ),
    "compressed by what is no number": lambda x: spread(
        np.compress(["a", "", "b", "c"], x), np.compress([None, 1, 0, "x"], x), np.compress([b"", b"a"], x),
        np.transpose(x, np.array(0)),
    ),
    "transposed vector, compressed by numbers": lambda x: spread(
        np.transpose(x, 0), x.transpose(-1) ** 2, x.compress(x - x[1])
    ),
    "mapped": lambda x: sum(map(math.sin, x)) + math.fsum(map(math.exp, x)),
    "fractions": lambda x: x[0] * _half() + _half() * x[1] + x[2] ** _half(),
}  # fmt: skip


def _into(grid, x):
    grid[0] = x.reshape(2, 2) ** 2
    return grid


def _half():
    from fractions import Fraction

    return Fraction(1, 2)


@pytest.mark.filterwarnings("ignore:tape.compile runs")
@pytest.mark.parametrize("name", PROGRAMS)
def test_derivatives(name):
    program = PROGRAMS[name]
    expected = gradients(program, [X])[0]
    v = np.array([0.3, -1.0, 0.5, 2.0])
    compiled = tape.compile(tape.func.grad(program))
    for found in (tape.func.grad(program)(X), compiled(X), compiled(X), tape.func.jacfwd(program)(X)):
        assert_allclose(found, expected, rtol=1e-6, atol=1e-7)
    value, slope = tape.func.jvp(program, (X,), (v,))
    assert_allclose(value, program(X), rtol=1e-12)
    assert_allclose(slope, expected @ v, rtol=1e-6, atol=1e-7)
    other = X * 1.01 + 0.003
    assert_allclose(compiled(other), gradients(program, [other])[0], rtol=1e-6, atol=1e-7)


VALUES = {
    "unique": lambda np, x: np.unique(np.round(x), True, True, True),
    "unique of rows": lambda np, x: np.unique(np.round(x).reshape(2, 2), True, True, True, axis=1),
    "unique of nans": lambda np, x: np.unique(np.where(x > 1, np.nan, x), return_counts=True),
    "sets": lambda np, x: (*np.unique_counts(x), np.setxor1d(x, x[:2]), np.isin(x, x[:2])),
    "trim_zeros": lambda np, x: (np.trim_zeros(x * 0), np.trim_zeros(np.floor(x).reshape(2, 2)), np.trim_zeros(x - 1)),
    "partition": lambda np, x: (np.partition(np.tile(x, 150), 7), np.argpartition(np.tile(x, 150), [3, 9])),
    "lstsq": lambda np, x: np.linalg.lstsq(x.reshape(2, 2) * [[1, 2], [1, 2]] * 0 + 1, x[:2], rcond=None),
    "roots": lambda np, x: (np.roots(x * 0), np.roots([0.0, x[0], 1.0, 0.0]), np.roots([x[0], 0.0, 1.0])),
    "poly": lambda np, x: (np.poly(x.reshape(2, 2)), np.poly([1j, -1j, x[0]])),
    "histogram": lambda np, x: (*np.histogram(x), *np.histogram(x, [0.0, 1.0, 2.0]), *np.histogram(x, 4, (0, 1))),
    "dtypes": lambda np, x: (
        np.gradient(x), np.gradient(x, 0.5), np.cov(x), np.corrcoef(x), np.vander(x), np.percentile(x, [30, 40]),
        np.percentile(x, 30), np.linspace(x[0], x[1], 3), np.insert(x, 1, 2.0), np.polyfit(x, x, 1),
    ),
    "refused by NumPy": lambda np, x: np.linalg.cholesky(x),
    "of other lengths": lambda np, x: np.linalg.lstsq(np.eye(3), x),
    "polydiv": lambda np, x: (*np.polydiv(x, x[:2]), *np.polydiv(x[:2], x), *np.polydiv(x, x)),
    "pad": lambda np, x: (
        np.pad(x, (2, 1), constant_values=(1, 2)),
        np.pad(x.reshape(2, 2), 2, "linear_ramp", end_values=((1, 2), (3, 4))),
        *(np.pad(x.reshape(2, 2), ((1, 0), (2, 3)), how) for how in ("mean", "median", "maximum", "minimum")),
        np.pad(np.arange(4) * 3, 2, "linear_ramp"), np.pad(x, 3, "mean", stat_length=(2, 3)),
    ),
    "pad, refused": lambda np, x: np.pad(x, ((1, 2), (3, 4)), constant_values=(1, 2)),
    "nanquantile": lambda np, x: (
        np.nanquantile(x, [0.2, 0.9]), np.nanmedian(np.where(x > 1, x, np.nan)),
        np.nanpercentile(x.reshape(2, 2), 30, 0),
        np.nanmedian(x.reshape(2, 2), axis=1, keepdims=True), np.nanquantile(x[:0].reshape(1, 0), 0.5, axis=0),
    ),
    "nanquantile, refused": lambda np, x: np.nanquantile(x, 1.5),
    "emath": lambda np, x: (
        np.emath.sqrt(x), np.emath.sqrt(-x), np.emath.log(x - 1), np.emath.power(x, -2), np.emath.arcsin(x / 2),
    ),
}  # fmt: skip


def outcome(program, module, x):
    try:
        with np.errstate(all="ignore"):
            return program(module, x)
    except Exception as error:
        return type(error).__mro__[-4:]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", VALUES)
def test_values_are_numpys(name, dtype):
    x = X.astype(dtype)
    expected, found = outcome(VALUES[name], np, x), outcome(VALUES[name], tape.numpy, tape.numpy.array(x))
    assert type(found) in (tuple, type(expected))
    for z, w in zip(found, expected, strict=True):
        if isinstance(w, type):
            assert z is w
            continue
        assert_allclose(np.asarray(z), w, rtol=3e-5 if dtype is np.float32 else 1e-12, atol=1e-6)
        assert (np.asarray(z).dtype, np.shape(z)) == (np.asarray(w).dtype, np.shape(w))


def test_lanes_that_numbers_would_decide_about_are_refused():
    batch = np.stack([X, X[::-1]])
    for program in (np.unique, lambda x: np.histogram(x)[1], lambda x: np.trim_zeros(x)):
        with pytest.raises(RuntimeError, match="vmap"):
            tape.vmap(program)(batch)
    assert_array_equal(tape.vmap(lambda x: np.partition(x, 1)[1])(batch), [0.7, 0.7])


def test_an_initial_number_may_be_recorded():
    def f(x):
        return np.max(x, initial=x[0] * 3, where=x < 1) * np.min(x, initial=x[1]) + np.sum(x, initial=x[2], where=x > 0)

    x = np.array([0.5, 0.75, 2.0])
    expected = [(f(x + h) - f(x - h)) / 2e-6 for h in 1e-6 * np.eye(3)]
    np.testing.assert_allclose(tape.func.grad(f)(x), expected, rtol=1e-6)


@pytest.mark.parametrize("x", [0.0, -0.0, 0.5, 1.0, -3.7, 1e-320, 1.7e308, np.inf, -np.inf])
def test_mantissas_are_numpys(x):
    seen = []
    tape.func.grad(lambda a: (seen.extend(np.frexp(a * x)), seen.append(np.ldexp(a * x, -3)), a)[2])(1.0)
    with np.errstate(all="ignore"):
        expected = [*np.frexp(x), np.ldexp(x, -3)]
    assert_array_equal([float(z) for z in map(tape.stop_gradient, seen)], expected)


@pytest.mark.parametrize(("x", "y"), [(5.0, 2.0), (7.0, 2.0), (-5.0, 2.0), (3.0, np.inf), (1e17, 3.0), (2.5, -1.0)])
def test_remainders_are_exact(x, y):
    value = tape.func.grad_and_value(lambda a: math.remainder(a, y))(x)[1]
    assert value == math.remainder(x, y)


def test_calls_that_do_not_fit_a_signature():
    dot = np.vectorize(lambda a, b: a @ b, signature="(n),(n)->()")
    for arguments in ((X, X[:2]), (X[0], X), (X,)):
        with pytest.raises((TypeError, ValueError)) as theirs:
            dot(*arguments)
        with pytest.raises(theirs.type):
            tape.func.grad(lambda x, arguments=arguments: dot(*[x[: a.size] if a.ndim else x[0] for a in arguments]))(X)
    two = np.vectorize(lambda a: (a, a), signature="(n)->(n)")
    with pytest.raises(ValueError, match="wrong number of outputs"):
        tape.func.grad(lambda x: two(x).sum())(X)


OUT_OF_PLAIN = {
    "cumsum": lambda P, y: P.cumsum(out=y), "dot": lambda P, y: P.dot(np.eye(4), out=y),
    "take": lambda P, y: P.take([0, 1, 2, 3], out=y), "round": lambda P, y: P.round(1, out=y),
}  # fmt: skip


@pytest.mark.parametrize("name", OUT_OF_PLAIN)
def test_methods_of_plain_arrays_say_that_they_do_not_write_into_recorded_ones(name):
    def program(x):
        y = x * 1
        OUT_OF_PLAIN[name](T, y)
        return (y * x).sum()

    for gradient in (tape.func.grad(program), tape.func.jacfwd(program)):
        with pytest.raises(TypeError, match=rf"\.{name}\(out=…\) of a plain array(.|\n)*Write np\.{name}\("):
            gradient(X)


def test_methods_of_plain_arrays_that_are_made_of_ufuncs_write_into_recorded_ones():
    plain = np.arange(8.0).reshape(2, 4)

    def program(x):
        y, total = np.zeros((3, 4)), x * 1
        for row, name in zip(y, ("mean", "std", "var")):
            getattr(plain, name)(0, out=row)
        plain.sum(0, out=total)
        np.multiply(x, 1.7, out=y[0].reshape(4), casting="unsafe", subok=False)
        return (y * x).sum() + (total * x).sum()

    assert_allclose(tape.func.grad(program)(X), gradients(program, [X])[0], rtol=1e-6)


def test_values_that_lie_in_the_array_they_are_placed_in_are_refused():
    def program(x):
        y = x * 1
        np.place(y, y > 1, y)
        return y.sum()

    def of_a_copy(x):
        y = x * 1
        np.place(y, y > 1, y * x)
        return y.sum()

    for transform in (tape.func.grad, tape.func.jacfwd):
        with pytest.raises(TypeError, match=r"vals\.copy\(\)"):
            transform(program)(X)
        assert_allclose(transform(of_a_copy)(X), gradients(of_a_copy, [X])[0], rtol=1e-6)


PIECES = {
    "of some elements": lambda x: np.piecewise(x, [x < 0, x >= 0], [lambda v: v.sum(), lambda v: v * v.max()]),
    "with methods": lambda x: np.piecewise(x, [x < 0], [lambda v: v.size * v, lambda v: np.sqrt(v)]),
    "with more": lambda x: np.piecewise(x, [x < 0], [lambda v, a, b=0: v * a + b, 7.0], x[0], b=2.0),
    "of none": lambda x: np.piecewise(x, [x > 100], [lambda v: 1 / 0, np.exp]),
    "of a number": lambda x: np.piecewise(x[0], [x[0] < 0], [lambda v: v * v, 1.0]),
    "overlapping": lambda x: np.piecewise(x, [x < 1, x < 0], [np.exp, np.sin, 1.0]),
}
OF_ARRAYS = PIECES["with methods"], PIECES["with more"]
"""Written with what tensors have not: ``size`` is a method of theirs, and the op takes no names of the user's."""


@pytest.mark.parametrize("f", PIECES.values(), ids=PIECES)
def test_pieces_are_given_their_elements(f):
    def loss(x):
        return (np.atleast_1d(f(x)) * np.arange(1.0, np.size(f(x)) + 1.0)).sum()

    value, slope = tape.compile(f), tape.compile(tape.func.grad(loss))
    for x in ([-1.5, 2.0, 3.0, -4.0], [1.25, 2.0, -3.0, 0.5], [1.25, 2.0, 3.0, 4.0], [-1.5, 2.0, 3.0, -4.0]):
        at = np.array(x)
        assert_allclose(value(at), f(at), rtol=1e-14)
        assert_allclose(tape.func.vjp(f, at)[0], f(at), rtol=1e-14)
        if f not in OF_ARRAYS:
            assert_allclose(f(tape.tensor(at)), f(at), rtol=1e-14)
        expected = [(loss(at + h) - loss(at - h)) / 2e-6 for h in 1e-6 * np.eye(4)]
        assert_allclose(slope(at), expected, rtol=1e-6, atol=1e-6)


WARNING = {
    "astype": lambda x: (x * 1j).astype(float), "written": lambda x: _written(np.zeros(3), x * 1j),
    "an element": lambda x: _written(np.zeros(3), (x * 1j)[0]), "polyfit": lambda x: np.polyfit(x * 0 + 1, x, 2),
    "nanmedian": lambda x: np.nanmedian(x * np.nan), "nanmax": lambda x: np.nanmax(x * np.nan),
    "nanmin of rows": lambda x: np.nanmin(np.outer(np.log(x - 1) * np.inf * 0, x), axis=0) + x,
    "sum": lambda x: np.sum(x * 1j, dtype=float), "mean": lambda x: (x * 1j).mean(dtype=np.float32),
    "cumsum": lambda x: np.cumsum(x * 1j, dtype=float), "var": lambda x: x[:1].var(ddof=1) + x,
    "std": lambda x: np.std(x[:0]) + x, "std of rows": lambda x: np.std(np.outer(x, x), 0, ddof=3) + x,
}  # fmt: skip


def _written(y, value):
    y[...] = value
    return y


@pytest.mark.parametrize("name", WARNING)
def test_what_numpy_warns_of_is_warned_of_at_every_call(name):
    compiled = tape.compile(WARNING[name])
    for _ in range(3):
        seen = []
        for f in (WARNING[name], compiled):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                warnings.filterwarnings("ignore", message="tape.compile runs")
                f(np.array([1.0, 2.0, 3.0]))
            seen.append({(str(w.message), w.category, w.filename) for w in caught})
        assert seen[0] == seen[1] != set()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("endpoint", [True, False])
@pytest.mark.parametrize("num", [0, 1, 2, 5])
def test_the_ends_of_geometric_series_are_what_they_were_said_to_be(num, endpoint):
    start, stop = np.array([-1.0, 2.0, 0.1]), np.array([2.0, 7.0, 0.7])
    expected = np.geomspace(start, stop, num, endpoint)
    fast = tape.compile(lambda start, stop: np.geomspace(start, stop, num, endpoint))
    for found in (fast(start, stop), fast(start, stop)):
        assert_allclose(found, expected, rtol=1e-14)
        np.testing.assert_array_equal(
            found[[0, -1][: min(num, 1 + endpoint)]], expected[[0, -1][: min(num, 1 + endpoint)]]
        )
