"""``ufunc.at`` at places of all kinds, ``ufunc.reduce`` with all its arguments, and functions of other shapes."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from differences import gradients
from numpy.testing import assert_allclose

import tape

X = np.array([0.53, 1.07, 2.13])
WEIGHTS = np.arange(9.0).reshape(3, 3)


def check(f, x=X):
    """A function's gradient, eager, in forward mode and compiled, against differences."""
    expected = gradients(f, [x])[0]
    for transformed in (tape.func.grad(f), tape.func.jacfwd(f), tape.compile(tape.func.grad(f))):
        assert_allclose(transformed(x), expected, rtol=2e-5, atol=1e-6)


def at_pairs(x):
    made = np.zeros((3, 3))
    rows, columns = np.array([0, 1, 2, 0]), np.array([1, 2, 0, 1])
    np.add.at(made, (rows, columns), x[0])
    np.add.at(made, (rows, columns), np.array([x[0], x[1], x[2], 1.0]))
    np.multiply.at(made, (rows[:3], columns[:3]), x)
    return made


def at_slices(x):
    made = np.zeros((3, 3))
    np.add.at(made, np.s_[:, 1], x)
    np.add.at(made, np.s_[1:, ::2], x[0])
    np.subtract.at(made, (Ellipsis, np.array([0, 0])), x[:, None] * np.ones((3, 2)))
    np.add.at(made, (slice(None), np.array([0, 2])), x[:2])
    return made


def at_masks(x):
    made, mask = np.ones((3, 3)), np.array([True, False, True])
    np.add.at(made, mask, x)
    np.add.at(made, (mask, np.array([0, 2])), x[:2])
    np.square.at(made, (x > 1.0, 1))
    return made


def at_lists(x):
    made = np.zeros((3, 3))
    np.add.at(made, [0, 0, 1], x[1])
    np.add.at(made, ([0, 1], [1, 2]), [x[0], x[1]])
    return made


@pytest.mark.parametrize("fill", [at_pairs, at_slices, at_masks, at_lists])
def test_at_puts_where_numpy_does(fill):
    check(lambda x: (fill(x) * WEIGHTS).sum())


FUNCTIONS = ("add", "multiply", "maximum", "minimum", "fmax", "logaddexp", "hypot", "subtract", "divide")
NAMED = (
    {}, {"initial": 1.5}, {"keepdims": True}, {"axis": 1}, {"axis": -1, "initial": 2.0, "keepdims": True},
    {"axis": (0, 1)}, {"axis": None, "initial": 0.5}, {"dtype": float}, {"initial": None},
    {"initial": 1.5, "where": np.array([True, False, True])},
)  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_reduce_with_all_its_arguments(name):
    ufunc, tried = getattr(np, name), 0
    for named in NAMED:
        A = np.outer(X, X[::-1]) + 1.0
        try:
            expected = ufunc.reduce(A, **named)
        except ValueError as error:  # an order that has a meaning, or no number to begin with
            with pytest.raises(ValueError, match=str(error)[:20]):
                tape.func.grad(lambda x, named=named: ufunc.reduce(np.outer(x, x), **named).sum())(X)
            continue
        tried += 1
        found = []

        def f(x, named=named, found=found):
            found.append(ufunc.reduce(np.outer(x, x[::-1]) + 1.0, **named))
            return (found[-1] * np.ones(1)).sum()

        assert_allclose(tape.func.grad(f)(X), gradients(f, [X])[0], rtol=2e-5, atol=1e-6)
        assert found[0].shape == np.shape(expected)
    assert tried >= 6


def test_a_fold_of_a_function_without_a_rule_is_refused():
    with pytest.raises(TypeError, match="needs plain numbers"):
        tape.func.grad(lambda x: np.frompyfunc(max, 2, 1).reduce(x))(X)
    assert tape.func.grad(lambda x: x.sum() * np.logical_and.reduce(x > 0))(X).tolist() == [1.0] * 3


PROGRAMS = {
    "diagflat": lambda x: (np.diagflat(np.outer(x, x), 1) ** 2).sum(),
    "triangles of a vector": lambda x: (np.triu(x) * WEIGHTS).sum() + (np.tril(x, -1) @ x)[2],
    "tensorsolve": lambda x: np.linalg.tensorsolve(np.diag(x).reshape(3, 1, 3) + 0.1, np.outer(x, [1.0])).prod(),
    "tensorsolve along axes": lambda x: np.linalg.tensorsolve(np.diag(x)[:, :, None] + 0.1, x[:, None], (0,)).prod(),
    "tensorinv": lambda x: np.linalg.tensorinv(np.diag(x).reshape(3, 1, 3) + 0.1, ind=2)[0, 1, 0],
    "real_if_close": lambda x: np.real_if_close(x + 0j).prod() + np.abs(np.real_if_close(x + 1j)).sum(),
}
IN_A_PLANE = {
    "cross": lambda x: np.cross(x[:2], [1.0, 3.0]) * np.cross(x, x[:2] * 2.0).prod(),
    "cross with an axis": lambda x: np.cross(np.stack([x[:2], x[1:]], 1), x[:2], axisa=0).prod(),
}
"""What NumPy computes until 2.4, and refuses from 2.5 on."""


@pytest.mark.parametrize("name", PROGRAMS)
def test_functions_of_other_shapes(name):
    check(PROGRAMS[name])


@pytest.mark.filterwarnings("ignore:Arrays of 2-dimensional vectors:DeprecationWarning")
@pytest.mark.parametrize("name", IN_A_PLANE)
def test_vectors_in_a_plane(name):
    if np.lib.NumpyVersion(np.__version__) < "2.5.0":
        check(IN_A_PLANE[name])
        return
    for call in (tape.func.grad(IN_A_PLANE[name]), tape.compile(IN_A_PLANE[name])):
        with pytest.raises(ValueError, match="3-dimensional vectors"):
            call(np.array([0.5, 1.5, 2.5]))


@pytest.mark.parametrize(
    ("program", "advice"),
    [
        (lambda x: np.exp([x[0], x[1]]).sum(), r"write np\.exp\(np\.array\(\[…\]\)\)"),
        (lambda x: np.frompyfunc(lambda a: a * 2, 1, 1)(x).sum(), r"np\.vectorize\(f\) records"),
        (lambda x: np.random.default_rng(0).choice(x), r"x\[rng\.choice\(len\(x\)\)\]"),
    ],
)
def test_a_refusal_says_what_to_write(program, advice):
    with pytest.raises(TypeError, match=advice):
        tape.func.grad(program)(X)


ACCUMULATED = np.subtract, np.divide, np.logaddexp, np.hypot, np.fmod, np.fmax


@pytest.mark.parametrize("ufunc", ACCUMULATED, ids=lambda ufunc: ufunc.__name__)
def test_any_function_of_two_numbers_accumulates(ufunc):
    check(lambda x: (ufunc.accumulate(x) * X).sum() + (ufunc.accumulate(np.outer(x, X), axis=1) * WEIGHTS).sum())
    out = np.zeros((0, 2))
    np.testing.assert_array_equal(tape.func.vjp(lambda x: ufunc.accumulate(x), out)[0], out)


METHODS = (
    "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf", "hazen", "weibull",
    "median_unbiased", "normal_unbiased", "lower", "higher", "midpoint", "nearest",
)  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
def test_quantiles_by_every_method(method):
    def program(x):
        both = np.outer(x, np.sin(9 * X))
        parts = np.quantile(both, [0.0, 0.3, 0.5], axis=1, method=method), np.percentile(both, 77, method=method)
        return (parts[0] * WEIGHTS[1:2]).sum() + parts[1] ** 2

    check(program)
    assert_allclose(tape.compile(program)(X), program(X), rtol=1e-13)


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "mean"])
def test_what_is_chosen_adds_no_elements(name):
    """A mask larger than the array, and an array to begin with, are refused as NumPy does."""
    function, start = getattr(np, name), {"initial": 0.5} if name in ("max", "min") else {}
    for choice in (np.ones((2, X.size), bool), np.ones(X.size + 1, bool)):
        for each in (lambda x: x, tape.func.grad):
            with pytest.raises(ValueError):  # noqa: PT011 (NumPy's text, and ours)
                each(lambda x: function(x, where=choice, **start))(X)  # noqa: B023
    if name != "mean":
        for each in (lambda x: x, tape.func.grad):
            with pytest.raises(ValueError):  # noqa: PT011
                each(lambda x: function(x, initial=X))(X)


INFINITE = (
    [-np.inf, 0.5, np.inf], [1.0, 2.0, np.inf], [1.0, np.inf, np.inf, 3.0], [np.inf] * 4, [-np.inf, 1.0, 2.0, 4.0, 5.0],
)  # fmt: skip


@pytest.mark.parametrize("method", ["linear", *METHODS])
def test_quantiles_beside_infinite_elements_are_numpys(method):
    """Where NumPy's are not nan; that they are of what is at a place and has an infinite neighbour."""
    for q in (0.0, 0.1, 0.25, 0.5, 0.75, 1.0, [0.2, 0.6, 1.0]):
        for numbers in INFINITE:
            x = np.array(numbers)
            with np.errstate(all="ignore"):
                expected = np.quantile(x, q, method=method)
                found = tape.record(partial(np.quantile, q=q, method=method), x)(x)
            known = ~np.isnan(expected) | (method == "linear")
            assert_allclose(np.where(known, found, 0.0), np.where(known, expected, 0.0), rtol=1e-14)


@pytest.mark.parametrize("median", [np.median, np.nanmedian, lambda x: np.nanquantile(x, [0.0, 0.3, 0.5, 1.0])])
def test_medians_beside_infinite_elements_are_numpys(median):
    for numbers in INFINITE:
        x = np.array(numbers)
        with np.errstate(all="ignore"):
            assert_allclose(tape.record(median, x)(x), median(x), rtol=1e-14)
    np.testing.assert_array_equal(tape.func.grad(np.median)(np.array(INFINITE[1])), [0.0, 1.0, 0.0])


@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_quantiles_have_numpys_dtype(dtype):
    x = np.arange(7).astype(dtype)
    for method in ("linear", "lower", "hazen", "nearest"):
        for q in (0.4, [0.4, 0.6], np.float64(0.4), np.array([0.4], np.float32)):
            for f in (np.quantile, np.percentile):
                expected = f(x, q, method=method)
                found = tape.record(partial(f, q=q, method=method), x)(x)
                assert found.dtype == expected.dtype
                assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("ufunc", [np.arctan2, np.power, np.logical_or], ids=lambda ufunc: ufunc.__name__)
def test_what_numpy_folds_in_another_order_is_numpys_own(ufunc):
    for x in (WEIGHTS + 0.5, WEIGHTS[:, 0] + 0.5):
        for f in (ufunc.reduce, lambda x: ufunc.reduceat(x, [0, 1, 0])):
            np.testing.assert_array_equal(tape.record(f, x)(x), f(x))
    if ufunc is not np.logical_or:
        with pytest.raises(TypeError, match="needs plain numbers"):
            tape.func.grad(lambda x: ufunc.reduceat(x, [0, 1]).sum())(X)
