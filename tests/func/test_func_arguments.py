"""``tape.func``: arguments and results, which of them, in which structures, and what comes beside them."""

from __future__ import annotations

from collections import namedtuple

import numpy as np
from derivatives import V, X, bumpy, close, value

import tape
from tape.func import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, value_and_grad, vjp


def test_argnums():
    def f(x, y, z):
        return (x * y**2 * z**3).sum()

    args = tape.tensor(2.0), tape.tensor(3.0), tape.tensor(0.5)
    close(grad(f)(*args), 9 / 8)
    close(grad(f, -1)(*args), 2 * 9 * 3 / 4)
    found = grad(f, argnums=(2, 0))(*args)
    assert isinstance(found, tuple)
    close(found[0], 2 * 9 * 3 / 4)
    close(found[1], 9 / 8)
    blocks = hessian(f, argnums=(0, 1))(*args)
    close(blocks[0][1], 2 * 3 / 8)
    close(blocks[1][1], 2 * 2 / 8)
    close(jacfwd(f, (1,))(*args)[0], jacrev(f, 1)(*args))


def test_keyword_arguments_are_passed_on():
    close(grad(lambda x, *, power: x**power)(tape.tensor(2.0), power=3), 12.0)


def test_nested_structures():
    pair = namedtuple("pair", ("left", "right"))
    tree = {"w": [X, pair(V, tape.tensor(2.0))], "b": (tape.tensor(1.0),)}

    def f(t):
        return (t["w"][0] * t["w"][1].left * t["w"][1].right).sum() * t["b"][0]

    found = grad(f)(tree)
    assert list(found) == ["w", "b"]
    assert isinstance(found["w"][1], pair)
    close(found["w"][0], 2 * value(V))
    close(found["w"][1].right, np.sum(value(X) * value(V)))
    close(found["b"][0], value(f(tree)))
    z, z_dot = jvp(f, (tree,), (tree,))
    close(z_dot, 4 * value(z))
    jac = jacrev(lambda t: {"out": t["w"][0] * t["b"][0]})(tree)
    close(jac["out"]["w"][0], np.eye(3))
    close(jac["out"]["b"][0], X)
    forward = jacfwd(lambda t: {"out": t["w"][0] * t["b"][0]})(tree)
    close(forward["out"]["b"][0], X)
    assert forward["out"]["w"][1].left.shape == (3, 3)


def test_a_dict_in_another_order_fits():
    z, pull = vjp(lambda x: {"a": x, "b": 2 * x}, X)
    close(pull({"b": V, "a": X})[0], 2 * value(V) + value(X))
    assert list(z) == ["a", "b"]


def test_has_aux():
    def f(x):
        return (x**2).sum(), {"twice": x * 2, "note": "text"}

    found, aux = grad(f, has_aux=True)(X)
    close(found, 2 * value(X))
    close(aux["twice"], 2 * value(X))
    assert not aux["twice"].requires_grad
    assert aux["note"] == "text"
    found, (z, aux) = grad_and_value(f, has_aux=True)(X)
    close(z, np.sum(value(X) ** 2))
    (z, aux), found = value_and_grad(f, has_aux=True)(X)
    close(found, 2 * value(X))
    for jac in (jacrev, jacfwd):
        found, aux = jac(f, has_aux=True)(X)
        close(found, 2 * value(X))
        assert "tangent" not in repr(aux["twice"])
    assert jvp(f, (X,), (V,), has_aux=True)[2]["note"] == "text"
    _, pull, aux = vjp(f, X, has_aux=True)
    close(pull(tape.tensor(1.0))[0], 2 * value(X))


def test_vjp_can_be_called_again_and_recorded():
    x = tape.tensor([1.0, 2.0], requires_grad=True)
    _, pull = vjp(lambda x: x**3, x)
    (first,), (again,) = pull(tape.ones(2)), pull(tape.ones(2))
    close(first, again)
    first.sum().backward()
    close(x.grad, [6.0, 12.0])
    assert not pull(tape.ones(2), create_graph=False)[0].requires_grad


def test_values_agree_with_what_is_called():
    close(value_and_grad(bumpy)(X)[0], bumpy(X))
    assert grad(bumpy).__name__ == "grad(bumpy)"
    assert grad(bumpy).__doc__ == bumpy.__doc__
