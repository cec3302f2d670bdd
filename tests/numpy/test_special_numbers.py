"""Recorded functions give NumPy's numbers at the edges too: of zeros with signs, huge and tiny ones, infinity, nan."""

from __future__ import annotations

import numpy as np
import pytest
from numpy_calls import CALLS, map_arrays, parts

import tape
from ops import REGISTRY

INF, NAN = np.inf, np.nan
POOLS = {
    "all": [0.0, -0.0, 1.0, -1.0, INF, -INF, NAN, 1e308, -1e308, 5e-324, -5e-324, 1e-300, 0.1, 3.0, 1e155, 1e-160],
    "huge": [1e308, -1e308, 1.0, 1e155, 1e300, -1e300], "zeros": [0.0, -0.0, 1.0], "alike": [0.1, 0.1, 0.1, 0.3],
    "infinite": [INF, -INF, 1.0, NAN, 0.0],
}  # fmt: skip
OTHERWISE = {
    "vecdot",
    "tensordot",
    "numpy_dot",
    "convolve",
    "correlate",  # added up in the order of another product
    "numpy_sort",
    "numpy_partition",
    "quantile",
    "nanmin",
    "nanmax",  # which of several zeros comes first
    "geomspace",  # refuses what goes through zero
    "interp",
    "numpy_gradient",  # infinite places
    "corrcoef",
    "cov",
    "vander",  # in rounding
    "numpy_prod",  # which begins with `initial`, where numbers are subnormal
    "piecewise",
    "apply_along_axis",
    "numpy_resize",  # call, or repeat without end
}
FACTORED = "numpy.linalg", "numpy.fft"
CASES = [
    (name, k)
    for name, calls in CALLS.items()
    if name not in OTHERWISE and not any(f.__module__.startswith(FACTORED) for f in REGISTRY[name].numpy)
    for k in range(len(calls))
]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("pool", POOLS)
@pytest.mark.parametrize(("name", "k"), CASES)
def test_values_are_numpys(name, k, pool):
    rng = np.random.default_rng(k)
    args, kwargs = CALLS[name][k]
    drawn = []
    args = map_arrays(lambda x: drawn.append(rng.choice(POOLS[pool], x.shape)) or drawn[-1], args)
    if not drawn:
        pytest.skip("nothing is recorded")
    for f in REGISTRY[name].numpy:
        try:
            expected = parts(f(*args, **kwargs))
        except (ValueError, TypeError):
            continue
        found = recorded(lambda *args, f=f: f(*args, **kwargs), args, drawn)
        for z, w in zip(found, expected, strict=True):
            np.testing.assert_allclose(z, w, rtol=1e-13, atol=0)
            if np.asarray(w).dtype.kind == "f":
                signs = ~np.isnan(w)
                np.testing.assert_array_equal(np.signbit(z)[signs], np.signbit(w)[signs])


def recorded(function, args, drawn):
    """What a function gives of recorded arrays, as plain ones."""
    held = []

    def program(*xs):
        following = iter(xs)
        z = function(*map_arrays(lambda _: next(following), args))
        held.extend([np.array(tape.stop_gradient(part)) for part in parts(z)])
        return held[-1].size * 1.0

    tape.func.grad(program, argnums=tuple(range(len(drawn))))(*drawn)
    return held


SPREADS = [
    np.array([1e308, 1e308, -1e308]), np.array([0.1, 0.1, 0.1]), np.array([1e16, 1e16 + 2, 1e16 + 6]),
    np.array([[1e308, 1e308, -1e308], [1.0, 2.0, 3.0]]), np.float32([3e38, 3e38, -3e38]), np.array([-0.0, 0.0, 5e-324]),
    np.array([1e308 + 1j, 1e308, -1e308j]), np.random.default_rng(1).normal(size=(3, 40)),
]  # fmt: skip
WAYS = {}, {"axis": -1}, {"ddof": 1}, {"keepdims": True}, {"axis": 0, "ddof": 2, "keepdims": True}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("how", WAYS, ids=str)
@pytest.mark.parametrize("f", [np.var, np.std, np.nanvar, np.nanstd, np.mean, np.nanmean])
def test_spreads_are_numpys_bit_for_bit(f, how):
    how = how if f not in (np.mean, np.nanmean) else {k: v for k, v in how.items() if k != "ddof"}
    for x in SPREADS:
        expected = np.asarray(f(x, **how))
        (found,) = recorded(lambda x: f(x, **how), (x,), [x])
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        np.testing.assert_array_equal(found, expected)
        if np.isfinite(expected).all():  # kernels add up in another order
            np.testing.assert_allclose(tape.compile(lambda x: f(x, **how))(x), expected, rtol=1e-6)


@pytest.mark.parametrize(
    "transformation", [tape.func.grad, lambda f: tape.compile(tape.func.grad(f)), tape.func.jacfwd]
)
def test_constants_have_no_spread_to_differentiate(transformation):
    np.testing.assert_array_equal(transformation(lambda x: np.std(x))(np.array([0.1, 0.1, 0.1])), np.zeros(3))
