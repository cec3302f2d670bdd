"""Arguments that are arrays without axes are that inside of a derivative too, and numbers are numbers."""

from __future__ import annotations

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
