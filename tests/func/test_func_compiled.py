"""``tape.func`` within ``tape.compile`` and around it: nested derivatives see through both, as they do without."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import tape
from tape.func import grad, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap

V = np.array([0.5, 0.3])
ONE, EYE = np.ones(2), np.eye(2)


def along_all(push):
    return np.stack([push(e) for e in EYE], -1)


FIRST = {
    "jacfwd": jacfwd,
    "jacrev": jacrev,
    "vjp": lambda f: lambda v: np.stack([vjp(f, v)[1](e)[0] for e in EYE]),
    "jvp": lambda f: lambda v: along_all(lambda e: jvp(f, (v,), (e,))[1]),
    "linearize": lambda f: lambda v: along_all(linearize(f, v)[1]),
    "vmap of jvp": lambda f: lambda v: vmap(lambda e: jvp(f, (v,), (e,))[1], out_dims=1)(EYE),
}
SECOND = {
    "hessian": hessian,
    "jacfwd of grad": lambda f: jacfwd(grad(f)),
    "jacrev of grad": lambda f: jacrev(grad(f)),
    "jacrev of jacfwd": lambda f: jacrev(jacfwd(f)),
    "linearize of grad": lambda f: lambda v: along_all(linearize(grad(f), v)[1]),
}


@pytest.mark.parametrize("second", SECOND)
@pytest.mark.parametrize("first", [name for name in FIRST if name != "vjp"])
@pytest.mark.filterwarnings("ignore:tape.compile runs:RuntimeWarning")
def test_second_derivatives_in_first_ones_that_depend_on_what_is_around(first, second):
    outer = FIRST[first](lambda v: SECOND[second](lambda a: (a**3 * v**2).sum())(v))
    expected = 18 * np.einsum("i,ij,ik->ijk", V**2, EYE, EYE)  # of 6 v³ on the diagonal
    np.testing.assert_allclose(outer(V), expected)
    compiled = tape.compile(outer)
    for _ in range(2):
        np.testing.assert_allclose(compiled(V), expected)
    np.testing.assert_allclose(compiled(2 * V), 4 * expected)


@pytest.mark.parametrize("first", FIRST)
def test_first_derivatives_compile(first):
    f = FIRST[first](lambda v: np.sin(v) * v[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compiled = tape.compile(f)
        for v in V, 2 * V:
            np.testing.assert_allclose(compiled(v), np.diag(np.cos(v) * v[0]) + np.outer(np.sin(v), [1, 0]))


@pytest.mark.parametrize("outer", [jacfwd, jacrev, vmap, lambda f: lambda v: jacfwd(jacrev(f))(v)[0]])
@pytest.mark.parametrize("given", [(), (2,), (2.0,), (np.float64(2.0),), (2 * ONE,), ("a", 2 * ONE)])
@pytest.mark.filterwarnings("ignore:tape.compile runs:RuntimeWarning")
def test_compiled_functions_read_what_a_derivative_around_them_is_taken_of(outer, given):
    bodies = (
        lambda v, *given: np.sin(v) * (given[-1] if given else 2.0),
        lambda v, *given: (v, given)[0],
        lambda v, *given: np.full(2, v[0]),
    )
    values = np.array([V, 2 * V]) if outer is vmap else V
    for body in bodies:
        found = outer(lambda v, body=body: tape.compile(lambda *given: body(v, *given))(*given) * v)(values)
        np.testing.assert_allclose(found, outer(lambda v, body=body: body(v, *given) * v)(values))


def into_rows(q):
    q, F = q.reshape(2, 2), np.zeros((2, 2))
    F[0] += q[1]
    F[1, 0] += q[0, 1]
    F[1] *= q[0]
    return F.ravel()


def through_turned_rows(q):
    q, F = q.reshape(2, 2), np.zeros((2, 2))
    a, b = F[0], F.T
    a += q[1]
    b[1] *= q[0]
    F[1] += b[0]
    return F.ravel() + b.ravel() + np.concatenate([a, a])


def row_by_row(q):
    F = np.zeros((3, 4))
    rows = list(F)
    first, second, third = rows
    first += q
    second += q * 2
    third += q * 3
    kept = {"F": F}
    F[0] = q**2
    return kept["F"].sum(0) + rows[0]


def through_a_view_of_a_view(q):
    F = np.zeros((3, 4))
    v = F[1:]
    v[0] += q
    w = v[1]
    w -= q * q
    F[:, 1:3] += q[0]
    return F.sum(0) + w


def apart_from_a_copy(q):
    F = np.zeros((2, 4))
    row = F[0].copy()
    row += q
    F[0] += row
    row *= 0
    return F[0] + row * q


def flat(q):
    F = np.zeros((2, 4))
    whole = F.reshape(-1)
    F[1] += q
    whole[2:6] += q
    return F.sum(0) + whole[:4]


IN_ROWS = into_rows, through_turned_rows, row_by_row, through_a_view_of_a_view, apart_from_a_copy, flat


@pytest.mark.parametrize("f", IN_ROWS, ids=lambda f: f.__name__)
def test_rows_begin_to_move_with_the_array_that_they_look_at(f):
    q = np.array([1.0, 2.0, 0.5, 3.0])
    differences = np.stack([(f(q + 1e-6 * e) - f(q - 1e-6 * e)) / 2e-6 for e in np.eye(4)], 1)
    np.testing.assert_allclose(jacfwd(f)(q), differences, atol=1e-7)
    of_squares = lambda q: (f(q) ** 2).sum()  # noqa: E731
    for g in (jacfwd(f), hessian(of_squares), jacfwd(jacfwd(f)), lambda q: jvp(f, (q,), (q,))[1]):
        compiled = tape.compile(g)
        for k in range(3):
            np.testing.assert_allclose(compiled(q + k), g(q + k), rtol=1e-12)
        assert "of which 0 run without compiling" in str(compiled.statistics())
