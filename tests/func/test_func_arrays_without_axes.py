"""Arrays without axes are that inside of a derivative and as its results too, and numbers are numbers, whoever's."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tape

WAYS = {
    "grad": lambda f, x: tape.func.grad(f)(x), "jacrev": lambda f, x: tape.func.jacrev(f)(x),
    "jacfwd": lambda f, x: tape.func.jacfwd(f)(x), "jvp": lambda f, x: tape.func.jvp(f, (x,), (np.array(1.0),))[1],
    "vjp": lambda f, x: tape.func.vjp(f, x)[1](1.0)[0], "compiled": lambda f, x: tape.compile(tape.func.grad(f))(x),
    "of a dict": lambda f, x: tape.func.grad(lambda d: f(d["x"]))({"y": 2.0, "x": x})["x"],
    "nested": lambda f, x: tape.func.grad(lambda y: tape.func.vjp(f, y)[0])(x),
    "beside lanes": lambda f, x: tape.func.vmap(lambda y, x: tape.func.grad(f)(x) * y, (0, None))(np.ones(2), x)[0],
}  # fmt: skip


def written(x):
    """What an array makes of changes in place, which change no number."""
    y = x
    y += 1.0
    if isinstance(x, np.ndarray):
        x[...] = x * 2.0
    return 1.0 * x * y


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_an_array_without_axes_is_written_in_place_and_a_number_is_not(way):
    assert way(written, np.array(1.5)) == pytest.approx(20.0)  # of (2 (x + 1))²
    assert way(written, np.float64(1.5)) == pytest.approx(4.0)  # of x (x + 1)


def test_the_callers_array_is_not_written():
    x = np.array(1.5)
    tape.func.grad(written)(x)
    assert x == 1.5


RETURNED = {
    "an array": lambda x: x[0, ...], "of a number": lambda x: np.asarray(x.sum()),
    "a choice": lambda x: np.where(x[0] > 0, x[0], 1.0),
    "made": lambda x: np.zeros(()), "of numbers": lambda x: np.array([x[0], x[1] * 2]), "a number": lambda x: x.sum(),
    "one of Python's": lambda x: x[0].item(), "of math": lambda x: math.exp(x[1]), "a constant": lambda x: 2.5,
    "complex": lambda x: complex(2.0, 1.0), "a constant of NumPy's": lambda x: np.float32(2.5), "covariance": np.cov,
    "a list": lambda x: x.tolist(),
    "several": lambda x: {"a": (x[0], x[0, ...], x[0].item()), "b": [np.array(3.0), 1.0]},
    "filled": lambda x: np.add(x[0], 1.0, out=np.empty(())), "of a spectrum": lambda x: np.fft.fftn(x[0]),
}  # fmt: skip
PLACES = {
    "grad": lambda f, x: tape.func.grad(lambda y: (y.sum(), f(y)), has_aux=True)(x)[1],
    "value_and_grad": lambda f, x: tape.func.value_and_grad(lambda y: (y.sum(), f(y)), has_aux=True)(x)[0][1],
    "vjp": lambda f, x: tape.func.vjp(f, x)[0],
    "vjp's aux": lambda f, x: tape.func.vjp(lambda y: ((y, y.sum()), f(y)), x, has_aux=True)[2],
    "jvp": lambda f, x: tape.func.jvp(f, (x,), (x,))[0],
    "jvp's aux": lambda f, x: tape.func.jvp(lambda y: ((y, y.sum()), f(y)), (x,), (x,), has_aux=True)[2],
    "jacrev": lambda f, x: tape.func.jacrev(lambda y: (y, f(y)), has_aux=True)(x)[1],
    "jacfwd": lambda f, x: tape.func.jacfwd(lambda y: (y, f(y)), has_aux=True)(x)[1],
    "linearize": lambda f, x: tape.func.linearize(f, x)[0],
    "nested": lambda f, x: tape.func.jvp(lambda y: tape.func.vjp(f, y)[0], (x,), (x,))[0],
}  # fmt: skip


def kinds(result):
    if isinstance(result, dict):
        return {name: kinds(part) for name, part in result.items()}
    if isinstance(result, (tuple, list)):
        return [type(result), *map(kinds, result)]
    return type(result), getattr(result, "dtype", None), np.shape(result), np.asarray(result).tolist()


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", RETURNED)
def test_what_the_function_returns_is_given_as_what_it_is(name, place):
    x = np.array([0.5, 2.0, 1.0])

    def function(x):
        return PLACES[place](RETURNED[name], x)

    expected = kinds(RETURNED[name](x))
    assert kinds(function(x)) == expected
    compiled = tape.compile(function)
    assert kinds(compiled(x)) == kinds(compiled(x)) == expected
