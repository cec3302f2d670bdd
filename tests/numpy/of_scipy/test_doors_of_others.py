"""Where somebody has put something of his own in the place of a library's function, method or class, no door stands."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
import scipy.special
import scipy.stats

import tape

X = np.array([0.5, 1.5, 2.5])


def replaced_density(self, x):
    return x * 9.0


def of_density(x):
    return scipy.stats.norm.pdf(x).sum()


def test_a_method_that_somebody_has_replaced_is_his_and_stays(monkeypatch):
    before = tape.func.grad(of_density)(X)
    original = scipy.stats.rv_continuous.pdf
    with monkeypatch.context() as patch:
        patch.setattr(scipy.stats.rv_continuous, "pdf", replaced_density)
        np.testing.assert_allclose(tape.func.grad(of_density)(X), 9.0)
        assert scipy.stats.rv_continuous.pdf is replaced_density
        np.testing.assert_allclose(tape.func.grad(of_density)(X), 9.0)
    assert scipy.stats.rv_continuous.pdf is original
    np.testing.assert_array_equal(tape.func.grad(of_density)(X), before)


def test_a_method_replaced_while_a_function_is_recorded_stays():
    def f(x):
        json.JSONDecoder.decode = mine
        return (x * json.JSONDecoder().decode("")).sum()

    def mine(self, text):
        return 3.0

    original = json.JSONDecoder.decode
    try:
        np.testing.assert_allclose(tape.func.grad(f)(X), 3.0)
        assert json.JSONDecoder.decode is mine
    finally:
        json.JSONDecoder.decode = original
    assert json.loads("[1]") == [1]


def test_a_class_of_numpys_that_somebody_has_replaced_is_called(monkeypatch):
    monkeypatch.setattr(np, "float64", np.float32)
    assert tape.func.vjp(lambda x: x * np.float64(1.0).itemsize, X)[0][0] == 4 * X[0]


@pytest.mark.parametrize("target", ["scipy.special.logsumexp", "np.zeros", "math.sin", "np.linalg.det"])
def test_a_function_replaced_before_anything_was_recorded(target):
    """The doors are made at the first recording, of what stands there then."""
    code = f"""
import functools, math, numpy as np, scipy.special, tape
original = {target}
@functools.wraps(original)
def mine(x):
    return np.asarray(7.0)
{target} = mine
print(float(tape.func.vjp(lambda x: x * {target}(2), np.array(1.0))[0]))
print(float(tape.func.vjp(lambda x: x[0] * {target}(x[0]), np.array([1.0]))[0]))
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["7.0", "7.0"]
