"""Compiled derivatives of functions that return an array which they have filled, or a view of one."""

from __future__ import annotations

import warnings

import differences
import numpy as np
import pytest
from numpy.testing import assert_allclose

import tape

X = np.array([0.7, 1.3, 2.1])


def by_cells(x):
    y = np.zeros(3)
    for i in range(3):
        y[i] = x[i] * x[i - 1]
    return y


def by_slices(x):
    y = np.empty(3)
    y[0] = x[0]
    y[1:] = 2 * x[1:]
    return y


def last_row(x):
    rows = np.zeros((4, 3))
    rows[0] = x
    for i in range(3):
        rows[i + 1] = rows[i] + 0.1 * np.sin(rows[i])
    return rows[-1]


def changed_copy(x):
    y = x.copy()
    y[1:] -= x[:-1]
    y *= y
    return y


def two_of_them(x):
    y, z = np.zeros(3), np.ones(2)
    y[::2] = x[:2] ** 2
    z += x[1:] * y[0]
    return y, z


BUFFERS = (by_cells, by_slices, last_row, changed_copy)


def along(function):
    return lambda x: tape.func.jvp(function, (x,), (np.array([1.0, -2.0, 0.5]),))[1]


def back(function):
    return lambda x: tape.func.vjp(function, x)[1](np.array([1.0, -2.0, 0.5]))[0]


def curved(function):
    return tape.func.hessian(lambda x: function(x)[0])


@pytest.mark.parametrize("function", BUFFERS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("transform", [tape.func.jacrev, tape.func.jacfwd, along, back, curved, tape.vmap])
def test_compiled_is_eager(transform, function):
    x = X if transform is not tape.vmap else np.stack([X, 2 * X])
    compiled = tape.compile(transform(function))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for k in range(3):
            assert_allclose(compiled(x + k), transform(function)(x + k), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("function", BUFFERS, ids=lambda f: f.__name__)
def test_the_jacobian_is_that_of_differences(function):
    (wanted,) = differences.jacobians(function, (X,))
    for jacobian in (tape.func.jacrev, tape.func.jacfwd):
        assert_allclose(tape.compile(jacobian(function))(X), wanted, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_rows_in_chunks(size):
    found = tape.compile(tape.func.jacrev(by_slices, chunk_size=size))(X)
    assert_allclose(found, np.diag([1.0, 2.0, 2.0]))


def test_several_buffers():
    for found, wanted in zip(tape.compile(tape.func.jacrev(two_of_them))(X), tape.func.jacrev(two_of_them)(X)):
        assert_allclose(found, wanted)
        assert found.any()


def test_a_buffer_of_tensors():
    def filled(x):
        y = tape.zeros(3)
        y[:2] = x[1:] * x[0]
        return y

    x = tape.tensor(X)
    assert tape.equal(tape.compile(tape.func.jacrev(filled))(x), tape.func.jacrev(filled)(x))
    assert tape.func.jacrev(filled)(x).any()
