"""Gradients of compiled functions of tensors: twice, within transformations, many at once, linearised."""

from __future__ import annotations

import pytest
from numpy.testing import assert_allclose

import tape

V = tape.tensor([1 + 2j, 0.5 - 1j], requires_grad=True)
REAL = tape.tensor([1.0, 2.0], requires_grad=True)
Z = tape.tensor([1 + 0.5j, 2 - 1j], requires_grad=True)
OF_COMPLEX = {
    "a complex number": (lambda x: x * (1 + 2j), REAL),
    "a complex tensor from outside": (lambda x: (x * V) ** 2, REAL),
    "a real one from outside": (lambda z: z * z * REAL, Z),
    "absolute": (lambda z: (z * z).abs(), Z),
    "conjugate": (lambda z: z.conj() * z.real, Z),
    "elementary": (lambda z: z.exp() * z.sqrt(), Z),
    "matmul": (lambda z: z @ z, Z),
}


def squares(z):
    return (z * z.conj()).real.sum() if z.dtype.kind == "c" else (z * z).sum()


@pytest.mark.filterwarnings("error:tape.compile runs")
@pytest.mark.parametrize(("f", "x"), OF_COMPLEX.values(), ids=OF_COMPLEX)
def test_programs_with_complex_numbers_are_differentiated_twice(f, x):
    inputs = [x, V, REAL]
    found = []
    for g in (f, tape.compile(f)):
        first = tape.autograd.grad(squares(g(x)) + g(x).real.sum(), inputs, create_graph=True, materialize_grads=True)
        second = tape.autograd.grad(sum(map(squares, first)), inputs, materialize_grads=True)
        tangent = tape.func.jvp(g, (x.detach(),), (x.detach() * 2 + 1,))
        found.append([t.detach().numpy() for t in (*first, *second, *tangent)])
    for a, b in zip(*found, strict=True):
        assert a.dtype == b.dtype
        assert_allclose(a, b, rtol=1e-12)


W = tape.tensor([3.0, 4.0])
LANES = tape.tensor([[1.0, 2.0], [3.0, 4.0]])
WITHIN = {
    "vmap": lambda c: tape.func.vmap(lambda x: c(lambda z: (z * x * x).sum())(W))(LANES),
    "vmap of arrays": lambda c: tape.func.vmap(lambda x: c(lambda z: (z * x * x).sum())(W.numpy()))(LANES),
    "hessian": lambda c: tape.func.hessian(lambda x: c(lambda z: (z * x * x).sum())(W))(LANES[0]),
    "grad within": lambda c: tape.func.vmap(
        lambda x: c(lambda z: tape.func.grad(lambda q: (q * x * q).sum())(z))(W)
    )(LANES),
    "returned": lambda c: tape.func.vmap(lambda x: c(lambda z: x)(W))(LANES),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:tape.compile runs:RuntimeWarning")
@pytest.mark.parametrize("f", WITHIN.values(), ids=WITHIN)
def test_a_compiled_function_within_a_transformation_runs_as_it_is_where_it_captures_its_values(f):
    assert f(tape.compile).tolist() == f(lambda g: g).tolist()


PAIRS = {
    "all": lambda x, y: x * y,
    "one": lambda x, y: x * 2 + 1,
    "the other": lambda x, y: y.sin(),
    "detached": lambda x, y: x.detach() * y,
    "one of each": lambda x, y: (x * 2, y * 3)[0],
    "sorted": lambda x, y: x.sort()[0] * y.exp(),
    "a gradient": lambda x, y: tape.func.grad(lambda u: (u * u * y).sum())(x),
}


@pytest.mark.parametrize("f", PAIRS.values(), ids=PAIRS)
def test_many_gradients_at_once_are_those_of_the_function(f):
    """Of a batch, of `vmap` and of `jacrev`, with the history that they have of their own."""

    def found(g):
        x, y = (tape.tensor(v, requires_grad=True) for v in ([1.0, 2.0], [3.0, 4.0]))
        z = g(x, y)
        eye = tape.eye(2)
        options = {"allow_unused": True, "retain_graph": True}
        batched = tape.autograd.grad(z, [x, y], eye, is_grads_batched=True, **options)
        y_only = tape.func.jacrev(g, argnums=1)(x, y)
        back = tape.vmap(tape.func.vjp(lambda y: g(x.detach(), y), y.detach())[1])(eye)
        vectorised = tape.autograd.functional.jacobian(g, (x, y), vectorize=True)
        results = [*batched, y_only, *back, *vectorised]
        return [None if r is None else (r.requires_grad, r.detach().numpy().round(12).tolist()) for r in results]

    c = tape.compile(f)
    expected = found(f)
    assert found(c) == expected
    assert found(c) == expected


@pytest.mark.parametrize("f", PAIRS.values(), ids=PAIRS)
def test_hooks_of_several_tensors_are_called(f):
    def seen_by(g):
        x, y = (tape.tensor(v, requires_grad=True) for v in ([1.0, 2.0], [3.0, 4.0]))
        seen = []
        tape.autograd.graph.register_multi_grad_hook((x, y), seen.append)
        g(x, y).sum().backward()
        return [[None if g is None else g.numpy().round(12).tolist() for g in grads] for grads in seen]

    assert seen_by(tape.compile(f)) == seen_by(f)
    both = tape.compile(lambda x, y: (x * 2, y * 3))
    assert seen_by(lambda x, y: both(x, y)[1]) == [[None, [3.0, 3.0]]]


def newton(x):
    z, push = tape.func.linearize(lambda u: u * u * u - 1, x)
    for _ in range(3):
        x = push(x) + z
    return x


LINEAR = {
    "at its own point": lambda x: tape.func.linearize(lambda u: u * u, x)[1](x),
    "twice": lambda x: sum(map(tape.func.linearize(lambda u: u.sin(), x)[1], (x, x * x))),
    "again and again": newton,
    "of what has a history": lambda x: tape.func.linearize(lambda u: u * u * x, 1 - x)[1](x),
    "in all directions": lambda x: tape.vmap(tape.func.linearize(lambda u: u * u, x)[1])(tape.eye(2)),
    "nested": lambda x: tape.func.linearize(lambda u: tape.func.linearize(lambda v: v**3, u)[1](u), x)[1](x),
    "with a cotangent that is differentiated": lambda x: by_cotangent(x, tape.ones(2, requires_grad=True)),
}


def by_cotangent(x, v):
    (u,) = tape.autograd.grad(x**3, x, v, create_graph=True)
    return tape.autograd.grad(u, v, x, create_graph=True)[0]


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("f", LINEAR.values(), ids=LINEAR)
def test_linearised_functions_are_what_they_are(f, requires_grad):
    if not requires_grad and f is LINEAR["with a cotangent that is differentiated"]:
        pytest.skip("the gradient that is asked for needs it")
    c = tape.compile(f)
    for numbers in ([0.5, 2.0], [-1.0, 3.0], [0.25, -0.5]):
        found = []
        for g in (f, c):
            x = tape.tensor(numbers, requires_grad=requires_grad)
            z = g(x)
            assert z.requires_grad == requires_grad
            first = tape.autograd.grad(z.sum(), x, create_graph=True)[0] if requires_grad else x
            second = tape.autograd.grad(first.sum(), x)[0] if first.requires_grad and requires_grad else x
            found.append([t.detach().numpy() for t in (z, first, second)])
        for ours, theirs in zip(*found, strict=True):
            assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)
