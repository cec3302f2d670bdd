"""Mistakes with ``tape.func``: each raises with a message that says what is required."""

from __future__ import annotations

import numpy as np
import pytest
from derivatives import V, X, bumpy

import tape
from tape.func import grad, jacrev, jvp, linearize, vjp


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: grad(lambda x: x)(X), RuntimeError, "without axes; this one returned a tensor of shape \\(3,\\)"),
        (lambda: grad(lambda x: x)(X), RuntimeError, r"Reduce it, as with .sum\(\)"),
        (lambda: grad(lambda x: 1.0)(X), RuntimeError, r"returned float.\nThat has no history: return the tensor"),
        (lambda: grad(lambda x: np.ones(3))(X), RuntimeError, r"returned ndarray.\nThat has no history"),
        (lambda: grad(lambda x: None)(X), RuntimeError, "returned NoneType.\nLet it return.*without a return"),
        (lambda: grad(lambda x: [x.sum(), 2])(X), RuntimeError, "returned list.\n.*has_aux=True"),
        (lambda: grad(lambda x: (x > 0).sum())(X), RuntimeError, "floating point or complex; got int64"),
        (lambda: grad(bumpy)("1.0"), ValueError, "must be tensors.*got str"),
        (lambda: grad(bumpy)(3), ValueError, r"got int.*Write it as a float, 3\.0"),
        (lambda: grad(bumpy)([True]), ValueError, r"got bool.*as a float, 1\.0"),
        (lambda: grad(bumpy)((X, None)), ValueError, "got NoneType.*argnums="),
        (lambda: grad(bumpy)(np.ones(2, dtype=object)), ValueError, r"dtype object.*\.astype\(float\)"),
        (lambda: grad(bumpy)(range(3)), ValueError, "got range.*of an object, give what it is made of"),
        (lambda: grad(lambda x: x.sum() * 1j)(np.ones(2)), RuntimeError, r"real scalar.*abs\(z\).*tape\.func\.vjp"),
        (lambda: grad(bumpy)([]), ValueError, "at least one tensor"),
        (lambda: grad(lambda x: x.sum())(tape.arange(3)), RuntimeError, "floating point and complex dtype"),
        (lambda: grad(bumpy, 1)(X), RuntimeError, "argnums 1 does not exist.*1 positional"),
        (lambda: grad(bumpy, ())(X), RuntimeError, "at least one argument"),
        (lambda: grad(bumpy, (0, -1))(X), RuntimeError, "each argument once"),
        (lambda: grad(bumpy, 0.5)(X), RuntimeError, "int or Tuple"),
        (lambda: grad(bumpy, has_aux=True)(X), RuntimeError, r"should be a tuple \(output, aux\)"),
        (lambda: jvp(bumpy, X, (V,)), RuntimeError, "primals as a tuple"),
        (lambda: jvp(bumpy, (X,), (V, V)), RuntimeError, r"structure of the primals, \(\*,\)"),
        (lambda: jvp(bumpy, (X,), (V[:2],)), RuntimeError, r"number 0 must have \(3,\), has \(2,\)"),
        (lambda: jvp(bumpy, (X,), (V.float(),)), RuntimeError, "must be float64, is float32"),
        (lambda: jvp(bumpy, (X,), (1.0,)), RuntimeError, "number 0 is float"),
        (lambda: jvp(lambda x: tape.ones(2), (X,), (V,), strict=True), RuntimeError, "does not depend"),
        (lambda: jvp(lambda x: "text", (X,), (V,)), RuntimeError, "got str"),
        (lambda: vjp(lambda x: x, X)[1]((V,)), RuntimeError, "structure of the output"),
        (lambda: vjp(lambda x: x, X)[1](V[:1]), RuntimeError, "shapes of the outputs"),
        (lambda: vjp(lambda x: (), X), RuntimeError, "at least one tensor"),
        (lambda: jacrev(bumpy, chunk_size=0), ValueError, "greater than 0"),
        (lambda: jacrev(lambda x: x > 0)(X), RuntimeError, "has_aux"),
        (lambda: linearize(bumpy, X)[1](V, V), RuntimeError, "structure of the primals"),
        (lambda: jvp(lambda x: x.numpy(), (X,), (V,)), RuntimeError, "carries a tangent"),
        (lambda: jvp(lambda x: np.asarray(x), (X,), (V,)), RuntimeError, "carries a tangent"),
    ],
)  # fmt: skip
def test_mistakes(call, error, text):
    with pytest.raises(error, match=f"(?s){text}"):
        call()


def total(x):
    return (x * (1.0 + 2.0j)).sum()


@pytest.mark.parametrize(
    "derivative",
    [
        tape.func.grad(total),
        tape.func.grad_and_value(total),
        lambda x: tape.autograd.functional.hessian(total, x),
        lambda x: tape.autograd.functional.hvp(total, x, x)[1],
        lambda x: tape.autograd.functional.vhp(total, x, x)[1],
        lambda x: tape.func.vmap(tape.func.grad(total))(x[None]),
        lambda x: tape.func.jvp(tape.func.grad(total), (x,), (x,))[1],
    ],
)
@pytest.mark.parametrize("kind", [np.array, tape.tensor])
def test_the_gradient_of_a_complex_number_is_refused_wherever_it_is_taken(derivative, kind):
    x = kind([1.0, 2.0])
    for call in (derivative, tape.compile(derivative)):
        with pytest.raises(RuntimeError, match="only for real scalar outputs but got complex128"):
            call(x)


@pytest.mark.parametrize(
    ("weight", "message"),
    [(np.ones(3), "Mismatch in shape"), (np.ones((1, 2)), "Mismatch in shape"), (np.ones(2) * 1j, "Pass its .real")],
)
def test_a_cotangent_that_does_not_fit_is_refused_wherever_it_is_given(weight, message):
    weight = tape.tensor(weight)

    def pulled(x):
        return tape.autograd.grad(x * x, x, weight)[0]

    for call in (pulled, tape.compile(pulled)):
        with pytest.raises(RuntimeError, match=message):
            call(tape.tensor([1.0, 2.0], requires_grad=True))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: grad(lambda i: (i * 1.0).sum())(np.array([1, 2])), r"floats.*an array with \.astype\(float\)"),
        (lambda: vjp(lambda i: i * 1.0, np.array([True])), r"floats.*an array with \.astype\(float\)"),
        (lambda: vjp(lambda y: y, np.ones(2))[1](np.ones(2, np.float32)), r"an array with \.astype\('float64'\)"),
        (lambda: linearize(lambda y: y, np.ones(2))[1](np.array([1, 2])), r"an array with \.astype\('float64'\)"),
        (
            lambda: jvp(lambda i: i * 1.0, (np.array([1, 2]),), (np.ones(2),)),
            "must be floating point.*Write its numbers",
        ),
        (lambda: jvp(lambda i: i * 1.0, (np.ones(2),), (np.array([1, 2]),)), r"an array with \.astype\('float64'\)"),
        (lambda: tape.autograd.functional.jacobian(lambda y: 3, np.ones(2)), r"tape\.tensor\(\) or np\.array\(\)"),
    ],
)
def test_messages_say_what_to_write_of_an_array(call, text):
    with pytest.raises((RuntimeError, TypeError), match=f"(?s){text}"):
        call()


@pytest.mark.parametrize("write", ["a view", "in the place of it"])
def test_a_view_in_directions_that_gets_lanes_is_refused_with_what_to_write(write):
    x, ws = np.array([0.5, 0.3]), np.array([[1.0, 2.0], [3.0, 4.0]])

    def accumulated(y, w):
        b = y * 1.0
        if write == "a view":
            b[:1] += w[1:] * b[1:] * y[:1]
        else:
            b[:1] = b[:1] + w[1:] * b[1:] * y[:1]
        return b

    def blocks():
        return tape.func.vmap(lambda w: tape.func.jacfwd(lambda y: accumulated(y, w))(x))(ws)

    if write == "a view":
        with pytest.raises(TypeError, match=r"y\[:1\] = y\[:1\] \+ x in the place of y\[:1\] \+= x"):
            blocks()
    else:
        expected = [[[1 + w[1] * x[1], w[1] * x[0]], [0, 1]] for w in ws]
        np.testing.assert_allclose(blocks(), expected)
