"""Compiled functions of tensors are what the functions themselves are: their numbers, dtypes and errors."""

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


VIEWED = {
    "transposed": lambda x: x.view(2, 2).t().view(4),
    "as another": lambda x: x.view(2, 2).t().view_as(x),
    "spread": lambda x: x.view(1, 4).expand(2, 4).view(8),
    "made within": lambda x: (x * 2).view(2, 2).t().view(4),
}


@pytest.mark.filterwarnings("ignore:tape.compile runs:RuntimeWarning")
@pytest.mark.parametrize("f", VIEWED.values(), ids=VIEWED)
def test_a_view_that_memory_does_not_allow_is_refused(f):
    for g in (f, tape.compile(f)):
        with pytest.raises(RuntimeError, match="view size"):
            g(tape.arange(4.0))


def filled(z):
    z.view(2, 2).t()[:1].view(2).fill_(7.0)
    return z


def test_reshaping_copies_and_views_show_their_memory():
    x = tape.arange(4.0)
    assert x.view(2, 2).t().reshape(4).tolist() == x.view(2, 2).t().reshape_as(x).tolist() == [0, 2, 1, 3]
    for g in (written := lambda x: filled(x * 1), tape.compile(written)):
        assert g(tape.arange(4.0)).tolist() == [7, 1, 7, 3]


@pytest.mark.parametrize("mode", ["trunc", "floor"])
def test_rounded_quotients_of_integers_are_integers(mode):
    x, y = tape.tensor([5, -5, 0, 7]), tape.tensor([2, 2, 1, -3])
    expected = np.trunc(x.numpy() / y.numpy()) if mode == "trunc" else x.numpy() // y.numpy()
    for f in (quotient := lambda x, y: tape.div(x, y, rounding_mode=mode), tape.compile(quotient)):
        z = f(x, y)
        assert (z.dtype, z.tolist()) == (tape.int64, expected.tolist())
        assert f(x.double(), y).dtype == tape.float64
