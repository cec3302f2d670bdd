"""Compiled functions of tensors are what the functions themselves are: their numbers, dtypes, gradients and errors."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import tape

W = tape.tensor([3.0, 4.0])
FLOAT = tape.tensor([1.0, 2.0, 3.0])
COMPLEX = tape.tensor([1 + 2j, 3.0])


def outcome(f, *args):
    """What a call gives: the dtype and the numbers, or the class of the error."""
    try:
        z = f(*args)
    except Exception as error:
        return type(error)
    return z.dtype, z.requires_grad, z.detach().double().tolist() if z.dtype.kind != "c" else z.tolist()


HALVES = {
    "wider": lambda x: x.double() / 3 * 70000,
    "of integers": lambda x: x.to(tape.int32) / 7,
    "complex": lambda x: tape.complex(x.float(), x.float()).abs(),
    "with others": lambda x: x * W,
    "narrow": lambda x: x * x / 3,
    "back": lambda x: (x.double() * 1.01).to(x.dtype),
}


@pytest.mark.parametrize("dtype", [tape.float16, tape.bfloat16], ids=["float16", "bfloat16"])
@pytest.mark.parametrize("f", HALVES.values(), ids=HALVES)
def test_halves_that_require_grad_are_rounded_where_the_function_rounds(f, dtype):
    x = tape.tensor([10.0, 2.0], dtype=dtype, requires_grad=True)
    expected = outcome(f, x)
    for g in (tape.compile(f), tape.record(f, x)):
        assert outcome(g, x) == expected
        if expected[1]:
            (found,), (wanted,) = (tape.autograd.grad((h(x) ** 2).double().sum(), x) for h in (g, f))
            assert found.dtype == wanted.dtype
            assert_allclose(found.double().numpy(), wanted.double().numpy(), rtol=0.01)


WITHOUT_MEANING = {
    "compared": lambda z: z > 2,
    "compared with another": lambda z: z < z * 2,
    "a real number compared": lambda z: z.real >= 2j,
    "greatest": lambda z: z.max(),
    "maximum": lambda z: tape.maximum(z, z),
    "sorted": lambda z: z.sort()[0],
    "softmax": lambda z: z.softmax(0),
    "rounded": lambda z: z.round(),
    "clamped": lambda z: z.clamp(0, 1),
    "in a loop of tensors": lambda z: sum(v.relu() for v in z),
    "tried": lambda z: tried(lambda: z.max(), lambda: z.sum()),
}


def tried(first, second):
    try:
        return first()
    except TypeError:
        return second()


@pytest.mark.filterwarnings("ignore:tape.compile runs:RuntimeWarning")
@pytest.mark.parametrize("f", WITHOUT_MEANING.values(), ids=WITHOUT_MEANING)
def test_what_has_no_meaning_for_complex_numbers_is_refused(f):
    expected = outcome(f, COMPLEX)
    assert outcome(tape.compile(f), COMPLEX) == expected == outcome(tape.compile(f), COMPLEX)


def test_numpy_orders_complex_arrays():
    z = COMPLEX.numpy()
    for f in (lambda z: z > 2, lambda z: np.sort(z), lambda z: np.maximum(z, z[::-1])):
        assert tape.compile(f)(z).tolist() == f(z).tolist()


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


def put(index, value):
    def f(x):
        t = x * 2
        t[index] = value(x)
        return t

    return f


PUTS = {
    "a number with an axis": put((..., 0), lambda x: x[:1]),
    "a row": put(slice(0, 1), lambda x: x.reshape(1, 3)[:, :1]),
    "a row at places": put(np.array([0, 2]), lambda x: x.reshape(1, 3)[:, :2]),
    "spread": put(slice(None), lambda x: x.reshape(1, 1, 3)[:, :, :1]),
    "all": put(..., lambda x: x.reshape(1, 1, 3)),
}


@pytest.mark.filterwarnings("error:tape.compile runs")
@pytest.mark.parametrize("f", PUTS.values(), ids=PUTS)
def test_a_value_that_is_put_may_have_more_axes_than_its_place(f):
    x = FLOAT.detach().requires_grad_()
    found = []
    for g in (f, tape.compile(f)):
        (first,) = tape.autograd.grad((g(x) ** 3).sum(), x, create_graph=True)
        (second,) = tape.autograd.grad((first * first).sum(), x)
        found.append([first.tolist(), second.tolist(), tape.func.jacfwd(g)(x.detach()).tolist()])
    assert found[0] == found[1]


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
