"""``tape.func``: derivatives of derivatives, in all orders of modes, of functions that change arrays in place."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose

import tape
from tape.func import grad, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap

A = np.array([0.7, 0.4, -0.6])


def products(a):
    w = a * 1
    w *= a
    return (w**3).sum()


def columns(a):
    w = np.zeros((2, 3), a.dtype)
    w[0] = a
    w[:, 1] *= a[0]
    return (w[0] ** 3).sum()


def slices(a):
    w = a * 1
    w[1:] *= a[:1]
    w[:2] += w[1:] * a[0]
    return (w**3).sum()


def out(a):
    w = a * a
    np.multiply(w, a, out=w)
    np.add(w[:2], a[1:], out=w[1:])
    return (w * w).sum()


def repeated_places(a):
    w = a * 2
    np.add.at(w, [0, 2, 0], a * a)
    w[2] *= w[0]
    return (w**2).sum()


def views_of_views(a):
    w = a * a
    v = w[::-1]
    u = v[:2]
    u *= a[1:]
    v[1] += w[0] * a[2]
    return (w**2).sum()


def read_again(a):
    w = a.copy()
    before = w * a
    w[0] = w[1] * a[2]
    between = w * before
    w *= between
    return (w * before + between).sum()


def rounds(a):
    w = np.ones(3, a.dtype)
    for k in range(2):
        w[k] = a[k] * w[k - 1]
        w[1:] *= a[k]
    return (w * w).sum()


PROGRAMS = products, columns, slices, out, repeated_places, views_of_views, read_again, rounds


ORDERS = [
    *([jacfwd, jacfwd, jacfwd], [jacrev, jacrev, jacrev], [jacfwd, jacrev, jacrev], [jacrev, jacfwd, jacfwd]),
    *([jacrev, jacfwd, jacrev], [jacfwd, jacrev, jacfwd], [jacrev, jacrev, jacfwd], [jacfwd, jacfwd, jacrev]),
]
"""All of three modes; of every second one, and of the others, any two meet in all ways."""


def by_jvp(f):
    return lambda x: np.moveaxis(vmap(lambda v: jvp(f, (x,), (v,))[1])(np.eye(3)), 0, -1)


def by_pushing(f):
    return lambda x: np.moveaxis(vmap(linearize(f, x)[1])(np.eye(3)), 0, -1)


def by_pulling(f):
    def jacobian(x):
        z, pull = vjp(f, x)
        weights = np.eye(z.size).reshape(z.size, *z.shape)
        return np.stack([pull(g)[0] for g in weights]).reshape(*z.shape, 3)

    return jacobian


def nested(modes, f):
    for mode in reversed(modes):
        f = mode(f)
    return f


def differences(f, x, h=1e-20, step=1e-3):
    """Third derivatives of a function that also takes complex numbers: differences of its gradient by complex steps."""

    def gradient(x):
        return np.array([f(x + 1j * h * e).imag / h for e in np.eye(3)])

    def along(d, e):
        return gradient(x + step * (d + e)) - gradient(x + step * (d - e))

    return np.array([[(along(d, e) + along(-d, -e)) / (4 * step**2) for e in np.eye(3)] for d in np.eye(3)])


@pytest.fixture(params=PROGRAMS, ids=lambda f: f.__name__)
def program(request):
    return request.param


def in_turn(ways, program):
    """Every second way, and for the next program the others."""
    return list(ways)[PROGRAMS.index(program) % 2 :: 2]


def test_all_orders_of_modes_give_the_same(program):
    third = jacrev(jacrev(jacrev(program)))(A)
    assert_allclose(third, differences(program, A), rtol=1e-4, atol=1e-4)
    for modes in in_turn(ORDERS, program):
        assert_allclose(nested(modes, program)(A), third, rtol=1e-9, atol=1e-9, err_msg=str(modes))
    assert_allclose(jacfwd(hessian(program))(A), third, rtol=1e-9, atol=1e-9)


def test_so_do_other_ways_to_the_same_derivatives(program):
    second, third = jacrev(jacrev(program))(A), jacrev(jacrev(jacrev(program)))(A)
    pairs = itertools.product((jacfwd, jacrev), (by_jvp, by_pushing, by_pulling))
    for mode, other in pairs:
        (modes,) = in_turn([(mode, other), (other, mode)], program)
        assert_allclose(nested(modes, program)(A), second, rtol=1e-9, atol=1e-9, err_msg=str(modes))
    for modes in in_turn(
        [(by_jvp, by_jvp, jacrev), (by_pushing, jacfwd, jacrev), (jacfwd, by_jvp, by_pulling)], program
    ):
        assert_allclose(nested(modes, program)(A), third, rtol=1e-9, atol=1e-9, err_msg=str(modes))


def test_tensors_too():
    def f(a):
        w = tape.zeros(3, dtype=tape.float64)
        w.copy_(a * a)
        w[1:].mul_(a[:2])
        v = w.flip(0) * a
        v.index_add_(0, tape.tensor([0, 2, 0]), a * w)
        v *= a
        return (v**2).sum()

    x = tape.tensor(A)
    third = jacrev(jacrev(jacrev(f)))(x).numpy()
    for modes in itertools.product((jacfwd, jacrev), repeat=3):
        assert_allclose(nested(modes, f)(x).numpy(), third, rtol=1e-9, atol=1e-9, err_msg=str(modes))


def test_what_moves_in_two_directions_alike_is_not_confused():
    """The same value with the same tangent, of two derivatives, gets lanes in `vmap` for each of them."""
    x, v = tape.tensor([0.7, 0.4], requires_grad=True), tape.tensor([1.0, 0.5])
    ones, lanes = tape.ones(2), tape.tensor([2.0, 3.0])

    def outer(a):
        def within(b):
            return vmap(lambda s: grad(lambda c: (s * c * a * b * b).sum())(ones))(lanes).sum()

        return jvp(within, (x,), (v,))[1]

    once, twice = jvp(outer, (x,), (v,))
    assert_allclose(once.detach().numpy(), (10 * x**2 * v).sum().detach().numpy(), rtol=1e-6)
    assert_allclose(twice.detach().numpy(), (10 * x * v**2).sum().detach().numpy(), rtol=1e-6)
