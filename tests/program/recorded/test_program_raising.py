"""What raises eagerly raises compiled, also where nobody reads its result."""

from __future__ import annotations

import numpy as np
import pytest

import ops
import tape
from tape.program import GuardMissed

X, SINGULAR, LOST = np.array([1.0, 2.0, 3.0]), np.zeros(3), np.array([np.nan, 1.0, 1.0])
RAISING = {
    "inv": (lambda x: np.linalg.inv(np.diag(x)), SINGULAR),
    "solve": (lambda x: np.linalg.solve(np.diag(x), np.ones(3)), SINGULAR),
    "cholesky": (lambda x: np.linalg.cholesky(np.diag(x)), SINGULAR),
    "eigh": (lambda x: np.linalg.eigh(np.diag(x) + np.outer(x, x)), LOST),
    "eigvalsh": (lambda x: np.linalg.eigvalsh(np.diag(x) + np.outer(x, x)), LOST),
    "eig": (lambda x: np.linalg.eig(np.diag(x) + np.outer(x, x)), LOST),
    "svd": (lambda x: np.linalg.svd(np.outer(x, x)), LOST),
    "pinv": (lambda x: np.linalg.pinv(np.outer(x, x)), LOST),
    "the spectral norm": (lambda x: np.linalg.norm(np.outer(x, x), 2), LOST),
}


def outcome(function, *args):
    try:
        return function(*args)
    except Exception as error:
        return type(error)


@pytest.mark.parametrize("transform", [lambda f: f, tape.func.grad, tape.func.grad_and_value])
@pytest.mark.parametrize(("call", "bad"), RAISING.values(), ids=RAISING)
def test_of_a_matrix(call, bad, transform):
    def f(x):
        call(x)
        return (x * x).sum()

    compiled = tape.compile(transform(f))
    for _ in range(3):
        np.testing.assert_equal(compiled(X), transform(f)(X))
    assert outcome(compiled, bad) is outcome(f, bad) is np.linalg.LinAlgError


def read(x, i):
    x[i]


def write(x, i):
    np.zeros(3)[i] = x[0]


@pytest.mark.parametrize("call", [read, write, np.take, lambda x, i: np.take_along_axis(x, i, 0)])
def test_of_an_index(call):
    def f(x, i):
        call(x, i)
        return (x * x).sum()

    for transform in (lambda f: f, tape.func.grad):
        compiled = tape.compile(transform(f))
        for _ in range(3):
            np.testing.assert_equal(compiled(X, np.array([0, 2])), transform(f)(X, np.array([0, 2])))
        assert outcome(compiled, X, np.array([0, 7])) is IndexError


def test_of_an_index_that_is_constant_nothing_is_kept():
    places = np.array([0, 2])
    places.setflags(write=False)
    assert len(tape.record(lambda x: (np.take(x, places), (x * x).sum())[1], X)) == 3


def test_of_ones_own_ops():
    def checked(x):
        if (x < 0).any():
            raise ArithmeticError("negative")
        return x.copy()

    ops.general("raising_checked", checked, lambda g: g)
    try:
        compiled = tape.compile(lambda x: (ops.raising_checked(x), (x * x).sum())[1])
        assert [compiled(X), compiled(X)] == [14.0, 14.0]
        assert outcome(compiled, -X) is ArithmeticError
    finally:
        ops.remove("raising_checked")


@pytest.mark.parametrize("tier", ["interpret", "optimised"])
def test_a_guard_before_what_raises_comes_first(tier):
    def f(x, m):
        z = np.tanh(x @ x.T).sum()
        return z if z > 1e3 else z + np.linalg.inv(m)[0, 0]

    program = tape.record(f, 1e-3 * np.ones((40, 40)), np.eye(2), tier=tier)
    for _ in range(3):
        with pytest.raises(GuardMissed):
            program(np.ones((40, 40)), np.zeros((2, 2)))
        with pytest.raises(np.linalg.LinAlgError):
            program(1e-3 * np.ones((40, 40)), np.zeros((2, 2)))


def test_products_are_not_joined_across_what_may_raise():
    def f(x, m):
        total = 0.0
        for i in range(20):
            product = x[:, i] @ x[:, : 40 - i]
            total = total + (product.sum() if product[0] < 1e3 else 1.0)
            if i == 9:
                total = total + np.linalg.inv(m)[0, 0]
        return total

    x = np.random.default_rng(0).standard_normal((400, 40))
    program = tape.record(f, x, np.eye(2))
    for _ in range(3):
        np.testing.assert_allclose(program(x, np.eye(2)), f(x, np.eye(2)), rtol=1e-12)
        with pytest.raises(GuardMissed):
            program(1e3 * x, np.zeros((2, 2)))
        with pytest.raises(np.linalg.LinAlgError):
            program(x, np.zeros((2, 2)))
