"""What a function of arrays meets by name, wherever that stands: classes under bare names, `type`, its arguments."""

from __future__ import annotations

import sys
import types
import warnings

import numpy as np
import pytest
from differences import gradients
from numpy import float64, ndarray
from numpy.testing import assert_allclose

import tape

X = np.array([0.7, 1.3, 2.1])

APART = """
import numpy as np
from numpy import float32, float64, int64, ndarray, zeros

def of_a_class(x):
    return float64(x[0]) * x[1] + double(x[2]) ** 2 + int64(4) * x[0]

def double(v):
    return float64(v) * 2.0 if isinstance(v, (int, float64)) else 0.0

def of_memory(x):
    y = ndarray(3)
    y[:] = x * x
    return y.sum() if isinstance(y, ndarray) else x.sum()

def by_type(x):
    return (x * x).sum() if type(x) is np.ndarray else x.sum()

def filled(x):
    y = zeros(3)
    y[:] = x * x
    return y.sum()

def told_apart(x):
    return float32(x[0]) if x.dtype.type is float32 else x.sum()

class Called:
    def __init__(self):
        self.by = by_type

    def __call__(self, x):
        return self.by(x)
"""


@pytest.fixture
def apart():
    """A module of the user's that no function under test names."""
    module = types.ModuleType("users_module_apart")
    module.__file__ = "users_module_apart.py"
    exec(compile(APART, module.__file__, "exec"), vars(module))
    sys.modules[module.__name__] = module
    yield module
    del sys.modules[module.__name__]
    assert "type" not in vars(module)
    assert module.float64 is np.float64


@pytest.mark.parametrize("name", ["of_a_class", "of_memory"])
def test_classes_under_bare_names(apart, name):
    f = getattr(apart, name)
    expected = gradients(f, [X])[0]
    compiled = tape.compile(tape.func.grad(f))
    for found in (tape.func.grad(f)(X), compiled(X), compiled(X), tape.func.jacfwd(f)(X)):
        assert_allclose(found, expected, rtol=1e-7)
    assert_allclose(tape.vmap(f)(np.stack([X, X])), [f(X)] * 2)


def test_a_name_that_is_used_otherwise_stays_numpys(apart):
    assert_allclose(tape.func.grad(apart.told_apart)(X), np.ones(3))
    with pytest.raises(TypeError, match=r"(?s)float64\(\) needs plain numbers.*write np\.float64\(x\)"):
        tape.func.grad(lambda x: float64(x[0]) if x.dtype == float64 and isinstance(x, ndarray) else x.sum())(X)


@pytest.mark.parametrize("name", ["by_type", "filled"])
def test_functions_that_are_given(apart, name):
    given = getattr(apart, name)
    for found in (
        tape.func.grad(lambda x, g: g(x))(X, given),
        tape.func.grad(lambda x, *, g: g(x))(X, g=given),
        tape.func.grad(lambda x, held: held["g"][0](x))(X, {"g": [given]}),
        tape.compile(tape.func.grad(lambda x, g: g(x)))(X, given),
    ):
        assert_allclose(found, 2 * X)


def test_objects_that_are_given(apart):
    assert_allclose(tape.func.grad(lambda x, g: g(x))(X, apart.Called()), 2 * X)


def test_types_are_told_in_code_that_nobody_names(apart):
    assert_allclose(tape.func.grad(lambda x: sys.modules["users_module" + "_apart"].by_type(x))(X), 2 * X)
    assert_allclose(tape.func.grad(lambda x: getattr(sys.modules["users_module_apart"], "by_" + "type")(x))(X), 2 * X)


TOLD = {
    "is": lambda x: type(x) is float, "reflected": lambda x: float is type(x), "equal": lambda x: type(x) == float,  # noqa: E721
    "in": lambda x: type(x) in (int, float),
}  # fmt: skip


@pytest.mark.parametrize("way", TOLD)
def test_a_number_that_is_told_from_pythons_floats_is_warned_of(way):
    told = TOLD[way]
    with pytest.warns(UserWarning, match="Write isinstance"):
        tape.func.grad(lambda x: x * x if told(x) else x)(3.0)


def test_a_number_that_is_numpys_or_pythons_is_not():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tape.func.grad(lambda x: x * x if type(x) in (float, np.float64) else x)(3.0) == 6.0
        assert tape.func.grad(lambda x: x * x if isinstance(x, float) else x)(3.0) == 6.0
        assert tape.func.grad(lambda x: x if type(x) is int else x * x)(3.0) == 6.0


def test_where_memory_is_can_be_asked_but_not_told():
    def f(x):
        return (x * x).sum() if hasattr(x, "__array_interface__") and hasattr(x[0], "__array_struct__") else x.sum()

    assert_allclose(tape.func.grad(f)(X), 2 * X)
    for ask in (lambda x: x.__array_interface__["shape"], lambda x: getattr(x, "__array_interface__", None)):
        with pytest.raises(TypeError, match="__array_interface__"):
            tape.func.grad(lambda x: x.sum() if ask(x) else x[0])(X)  # noqa: B023
    assert_allclose(tape.func.grad(lambda x: (np.asarray(x) * 2).sum())(X), [2.0] * 3)


def test_what_was_kept_is_plain_afterwards():
    kept = {}

    def f(x):
        kept["a"], kept["b"], kept["c"] = x * x, x[0], np.zeros(3)
        kept["c"][:] = x
        return x.sum()

    for transform in (tape.func.grad, tape.func.jacfwd, tape.func.jacrev, tape.func.hessian):
        transform(f)(X)
        plain = np.zeros(3)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            plain[:] = kept["a"]
            assert_allclose(plain, X * X)
            plain[1] = kept["b"]
            assert (plain[1], float(kept["b"]), f"{kept['b']}") == (X[0], X[0], "0.7")
            assert_allclose(np.asarray(kept["c"]) + np.sqrt(kept["a"]), 2 * X)
            assert_allclose(tape.func.grad(lambda y: (y * tape.stop_gradient(kept["a"])).sum())(X), X * X)
    with pytest.warns(UserWarning, match="kept of an earlier call"):  # it may be that of a cache
        assert_allclose(tape.func.grad(lambda y: (y * kept["a"]).sum())(X), X * X)


def test_what_was_kept_is_not_plain_while_somebody_records():
    def outer(y):
        kept = []
        tape.func.grad(lambda x: (kept.append(x * y), x.sum())[1])(y)
        return np.asarray(np.array(kept[0])).sum()

    assert_allclose(tape.func.grad(outer)(X), 2 * X)
    plain = np.zeros(3)
    with pytest.raises(TypeError, match="needs plain numbers"):
        tape.func.grad(lambda y: (np.copyto(plain, y * y), plain.sum())[1])(X)
