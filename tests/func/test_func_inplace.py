"""``tape.func``: tensors that move are changed in place."""

from __future__ import annotations

import numpy as np
from derivatives import X, close, value

import tape
from tape.func import jacfwd, jacrev, jvp


def test_in_place_changes_are_followed():
    def f(x):
        y = x.clone()
        y += x
        y *= x
        y[0] = y[1] * x[2]
        y[1:].mul_(x[0])
        view = y.reshape(3, 1)
        view.exp_()
        y.sub_(1.0)
        return y

    def plain(x):
        y = (x + x) * x
        rest = y[1:] * x[0]
        return tape.cat([(y[1] * x[2]).reshape(1), rest]).exp() - 1.0

    for derive in (jacfwd, lambda g: lambda x: jacfwd(jacfwd(g))(x)):
        close(derive(f)(X), derive(plain)(X))


def test_a_buffer_is_filled():
    def f(x):
        y = tape.zeros(3)
        y[0] = x[1] ** 2
        y[1:] = x[:2]
        z = tape.ones(3)
        z *= y
        z.add_(1.0)
        return z

    def plain(x):
        return tape.stack([x[1] ** 2, x[0], x[1]]) + 1.0

    close(jacfwd(f)(X), jacfwd(plain)(X))
    close(jacfwd(jacfwd(f))(X), jacfwd(jacfwd(plain))(X))


def test_a_buffer_is_filled_through_a_view():
    def f(x):
        y = tape.zeros(3)
        view, last = y[1:], y[2]
        view[0] = x[0] ** 2
        last += x[2]
        return y

    def plain(x):
        return tape.stack([x[1] * 0.0, x[0] ** 2, x[2]])

    close(jacfwd(f)(X), jacfwd(plain)(X))
    close(jacfwd(jacfwd(f))(X), jacfwd(jacfwd(plain))(X))
    close(jacfwd(jacrev(f))(X), jacfwd(jacrev(plain))(X))
    close(jacrev(jacfwd(f))(X), jacrev(jacfwd(plain))(X))


def test_filling_forgets_the_tangent():
    def f(x):
        y = x * 2
        y[0] = 5.0
        y[1:2].fill_(1.0)
        z = x * 3
        z.zero_()
        w = x * 1
        w.copy_(y)
        return w + z

    close(jacfwd(f)(X), np.diag([0.0, 0.0, 2.0]))


def test_an_inner_tangent_arrives_in_an_outer_tensor():
    def outer(x):
        def inner(y):
            z = x * 2
            z[0] = y[0] * x[0]
            return z

        return jvp(inner, (x,), (x,))[1]

    close(jacfwd(outer)(X), np.diag([2 * value(X)[0], 0.0, 0.0]))


def test_a_sum_has_a_tangent_of_its_own():
    """What is written into z leaves the operands' tangents alone, though that of z equals one of them."""
    for add in (lambda x: x + 1.0, lambda x: tape.zeros(3) + x, lambda x: x - 1.0, lambda x: tape.ones(3) + x[0]):

        def f(x, add=add):
            z = add(x)
            z[1] = 7.0
            return (z * x).sum() + 100.0 * x.sum()

        close(jacfwd(f)(X), jacrev(f)(X))
