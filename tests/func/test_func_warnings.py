"""What NumPy warns of under derivatives: the same categories and texts, and as often."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import tape

ARRAYS = {
    "empty": np.zeros(0), "one": np.array([1.0]), "zeros": np.zeros(3), "nan": np.full(3, np.nan),
    "infinite": np.array([np.inf, -np.inf, 1.0]), "large": np.array([1e308, 1.0, 1e308]),
    "small": np.array([0.0, -1.0, 2.0]), "a row of nan": np.array([[np.nan, np.nan], [1.0, 2.0]]),
    "no columns": np.zeros((2, 0)), "a number": np.float64(-1.0),
}  # fmt: skip
FUNCTIONS = {
    **{name: getattr(np, name) for name in (
        "nanmean", "nanvar", "nanstd", "nanmedian", "nanmax", "nansum", "mean", "median", "cov", "corrcoef", "sqrt",
        "log", "sum", "prod", "exp", "ptp",
    )},
    "var": lambda x: x.var(ddof=2), "std along an axis": lambda x: np.std(x, axis=-1, ddof=2, keepdims=True),
    "covariance": lambda x: np.cov(x, ddof=9), "quantile": lambda x: np.nanquantile(x, 0.3),
    "several quantiles": lambda x: np.nanquantile(x, [0.2, 0.4]), "norm": np.linalg.norm,
    "product": lambda x: np.dot(x, x),
    "inner": lambda x: np.inner(x, 10.0 * x), "polynomial": np.poly, "where": lambda x: np.mean(x, where=x > 1e309),
    "quotient": lambda x: x / 0, "both": lambda x: np.divmod(x, x * 0), "raised": lambda x: _raised(x),
    "series": lambda x: np.geomspace(x, x + 1.0, 3), "not heeded": lambda x: _not_heeded(x),
    "convolved": lambda x: np.convolve(x, x),
}  # fmt: skip


def _not_heeded(x):
    with np.errstate(all="ignore"):
        return np.linalg.norm(x) + np.dot(x, x)


def _raised(x):
    with np.errstate(over="raise"):
        return np.dot(x, x)


def outcome(f, x):
    """What is warned of, and the class of what is raised."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        try:
            f(x)
        except Exception as error:
            return type(error).__mro__[-4:], []
    return None, sorted((w.category.__name__, str(w.message)) for w in found)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS)
def test_derivatives_warn_as_numpy_does(f, name):
    x = ARRAYS[name]
    expected = outcome(f, x)
    loss = lambda x: (np.sum(np.where(np.abs(x) < 9.0, x, 0.0)), f(x))  # noqa: E731
    for transform in (tape.func.grad, tape.func.jacfwd):
        assert outcome(transform(loss, has_aux=True), x) == expected


@pytest.mark.parametrize("name", ["empty", "one", "nan", "large"])
@pytest.mark.parametrize("f", [
    FUNCTIONS["covariance"], np.cov, np.nanvar, lambda x: np.nanstd(x, ddof=1), lambda x: np.nanvar(x[None], 1, ddof=2),
])  # fmt: skip
def test_compiled_functions_warn_of_too_few_numbers(f, name):
    x = ARRAYS[name]
    compiled = tape.compile(f)
    outcome(compiled, x)  # which may warn of that it is run as it is
    assert outcome(compiled, x) == outcome(f, x)
