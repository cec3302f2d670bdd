"""Functions of arrays at the edges of the floating-point numbers give what NumPy gives, or raise what it raises."""

import warnings

import numpy as np
import pytest

import tape
from tape.func import vjp

INF, NAN = np.inf, np.nan
FUNCTIONS = {
    "geomspace": (lambda x: np.geomspace(x[0], x[1], 3), [(NAN, 8), (1, NAN), (1, 8), (INF, 8), (8, INF)]),
    "geomspace without end": (lambda x: np.geomspace(x[0], x[1], 3, endpoint=False), [(NAN, 8), (1, NAN), (1, 8)]),
    "cond": (
        lambda x: np.linalg.cond(x.reshape(2, 2)),
        [(INF, 1, 2, 3), (NAN, 1, 2, 3), (NAN, INF, 2, 3), (4, 1, 2, 3), (0, 0, 0, 0)],
    ),
    "smallest cond": (lambda x: np.linalg.cond(x.reshape(2, 2), -2), [(INF, 1, 2, 3), (4, 1, 2, 3)]),
    "arange": (lambda x: np.arange(x[0], 5.0), [(1e308,), (-1e308,), (INF,), (-INF,), (NAN,), (1,), (7,)]),
    "arange by": (lambda x: np.arange(0.0, 5.0, x[0]), [(1e-308,), (2,), (-1,)]),
    "lstsq": (
        lambda x: np.linalg.lstsq(x.reshape(2, 2), np.ones(2), rcond=None)[0],
        [(INF, 1, 2, 3), (1, 2, 3, INF), (4, 1, 2, 3)],
    ),
    "eigvalsh": (lambda x: np.linalg.eigvalsh(np.diag(x)), [(INF, -INF, 1), (4, 5, 6)]),
    "repeat": (lambda x: np.repeat(x[0], 1, 0), [(1,)]),
    "repeat from behind": (lambda x: np.repeat(x[0], 3, -1), [(1,)]),
    "repeat beyond": (lambda x: np.repeat(x[0], 3, 1), [(1,)]),
}
CASES = [(name, numbers) for name, (_, several) in FUNCTIONS.items() for numbers in several]


def outcome(function, x):
    try:
        return np.asarray(function(x))
    except Exception as error:
        return type(error), str(error) if isinstance(error, ValueError) else ""


@pytest.mark.parametrize(("name", "numbers"), CASES)
def test_as_numpy(name, numbers):
    function, x = FUNCTIONS[name][0], np.array(numbers, float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected, found = outcome(function, x), outcome(lambda x: vjp(function, x)[0], x)
    if isinstance(expected, tuple):
        assert isinstance(found, tuple)
        assert issubclass(found[0], expected[0])
        assert found[1] == expected[1]
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.filterwarnings("ignore")
def test_compiled_eigenvalues_that_numpy_refuses_are_refused():
    fast = tape.compile(lambda a: np.linalg.eigvalsh(a))
    for _ in range(3):
        np.testing.assert_allclose(fast(np.diag([3.0, 1.0, 2.0])), [1, 2, 3])
        with pytest.raises(np.linalg.LinAlgError, match="Eigenvalues did not converge"):
            fast(np.diag([INF, -INF, 1.0]))
