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
