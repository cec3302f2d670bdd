"""Programs called from jitted code and through C function pointers."""

from __future__ import annotations

import gc
import threading

import numba
import numpy as np
import pytest
import scipy.integrate
from numpy.testing import assert_allclose, assert_array_equal

import tape
from tape.program import NotNative, record


def f(x, a):
    return (x.exp() * a).sum() + x[0] * x[1].sin()


def gradient(x, a):
    return np.array([a * np.exp(x[0]) + np.sin(x[1]), a * np.exp(x[1]) + x[0] * np.cos(x[1])])


@pytest.fixture(scope="module")
def native():
    return record(tape.func.grad_and_value(f), np.ones(2), 1.0).njit()


def test_values_and_gradients(native):
    rng = np.random.default_rng(0)
    for _ in range(5):
        x, a = rng.random(2), rng.random()
        g, value = native(x, a)
        assert_allclose(g, gradient(x, a))
        assert_allclose(value, np.sum(np.exp(x) * a) + x[0] * np.sin(x[1]))


def test_within_jitted_code_and_after_the_program_is_gone(native):
    @numba.njit(nogil=True)
    def descend(x, steps):
        for _ in range(steps):
            g, _value = native(x, 1.0)
            x = x - 0.01 * g
        return x

    gc.collect()
    x = np.array([0.3, 0.2])
    expected = x
    for _ in range(1000):
        expected = expected - 0.01 * gradient(expected, 1.0)
    assert_allclose(descend(x, 1000), expected)
    found = {}
    threads = [threading.Thread(target=lambda k=k: found.update({k: descend(x, 1000 + k)})) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    for k in range(4):
        assert_array_equal(found[k], descend(x, 1000 + k))


@pytest.mark.parametrize("view", [lambda x: x[::2], lambda x: x[::-1][:2], lambda x: x[:2]])
def test_any_layout(native, view):
    x = view(np.array([0.1, 0.2, 0.3, 0.4]))
    assert_allclose(native(x, 2.0)[0], gradient(x, 2.0))


def test_several_kernels_broadcasting_and_truth_values():
    def g(x, y):
        total = (x * y).sum()
        return tape.where(x > y, x * total, y), x > y, (x + total).mean()

    x, y = np.random.default_rng(0).random((5, 3)), np.random.default_rng(1).random(3)
    z, truth, mean = record(g, x, y).njit()(x, y)
    total = np.sum(x * y)
    assert_allclose(z, np.where(x > y, x * total, y))
    assert_array_equal(truth, x > y)
    assert_allclose(mean, np.mean(x + total))


def test_wrong_arguments_are_refused(native):
    with pytest.raises(TypeError):
        native(np.ones(2, np.float32), 1.0)
    with pytest.raises(ValueError, match=r"argument 0 of the program must have shape \(2,\)"):
        native(np.ones(3), 1.0)


def test_guards_are_verified():
    made = record(lambda x: x * 2 if x > 0 else -x, 1.0).njit()
    assert made(3.0) == 6
    with pytest.raises(RuntimeError, match=r"only while bool\(\) gives True at .*test_program_native"):
        made(-3.0)


def test_programs_that_need_python_say_so():
    with pytest.raises(NotNative, match=r"inv, recorded at .*test_program_native.py:\d+"):
        record(lambda x: np.linalg.inv(x), np.eye(2)).njit()
    w = np.ones(2)
    with pytest.raises(NotNative, match="from outside"):
        record(lambda x: x * w, np.ones(2)).njit()


def test_low_level_callables():
    one = record(lambda t: t.sin() * t.exp(), 1.0).low_level_callable()
    assert_allclose(scipy.integrate.quad(one, 0, 1)[0], 0.9093306736314786)
    two = record(lambda t, a: t.sin() * a, 1.0, 2.0).low_level_callable()
    assert_allclose(scipy.integrate.quad(two, 0, 1, args=(3.0,))[0], 3 * (1 - np.cos(1)))
    vector = record(lambda x: x[0] * x[1], np.ones(2)).low_level_callable()
    assert_allclose(scipy.integrate.quad(vector, 0, 1, args=(3.0,))[0], 1.5)
    with pytest.raises(NotNative, match="one float64 number"):
        record(lambda x: x * 2, np.ones(2)).low_level_callable()
    with pytest.raises(NotNative, match="one vector"):
        record(lambda x: (x * 2).sum(), np.ones((2, 2))).low_level_callable()
