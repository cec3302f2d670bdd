"""What is watched around a compiled function is compared as words in memory: what these stand for."""

from __future__ import annotations

import types

import numpy as np
import pytest
from numpy.testing import assert_allclose

import tape
from tape.program.recorded.raising import raises
from tape.program.world.looking import surroundings
from tape.program.world.watched import BUSY, TAGS

FACTOR = 2.0


def scaled(x):
    return FACTOR * x


def around_of(factor):
    def inner(x, y=1.0):
        return factor * x + y

    def set_factor(value):
        nonlocal factor
        factor = value

    return inner, set_factor


def test_cells_defaults_and_code():
    inner, set_factor = around_of(2.0)
    around = surroundings(inner)
    assert around.unchanged()
    set_factor(float("2"))  # another object, the same number
    assert around.unchanged()
    assert around.unchanged()
    set_factor(3.0)
    assert not around.unchanged()
    set_factor(2.0)
    assert around.unchanged()
    inner.__defaults__ = (2.0,)
    assert not around.unchanged()
    inner.__defaults__ = (1.0,)
    assert around.unchanged()
    code, inner.__code__ = inner.__code__, around_of(1.0)[1].__code__
    assert not around.unchanged()
    inner.__code__ = code
    assert around.unchanged()


def test_other_names_of_a_module_may_change_as_often_as_they_like():
    space = {"factor": 2.0, "np": np, "other": 0}
    function = types.FunctionType(compile("factor * x", "<test>", "eval"), space)
    around = surroundings(function)
    for k in range(2 * BUSY):
        space["other"] = k
        assert around.unchanged()
    assert around.busy == TAGS
    space["factor"] = 3.0
    assert not around.unchanged()
    space["factor"] = 2.0
    assert around.unchanged()
    del space["factor"]
    assert not around.unchanged()


def test_what_the_library_made_itself_is_not_watched():
    around = surroundings(tape.func.grad(scaled))
    assert [f.ask.args[0] for f in around.facts] == [scaled] * 3
    assert not around.cells


def test_floating_point_errors_that_raise_are_noticed_whatever_was_said_before():
    for how in ("ignore", "raise", "warn", "raise", "print", "ignore"):
        with np.errstate(over=how):
            assert raises() == raises() == (how in ("raise", "print"))
    assert not raises()


@pytest.mark.parametrize(
    "function", [lambda x: x * x, lambda x: 2.0 * x, lambda x: x**2, lambda x: x**3.0, lambda x: -x, np.sin, np.add]
)
def test_operators_and_ufuncs_of_recorded_arrays_name_the_line(function):
    x = np.arange(1.0, 4.0)
    both = (lambda x: function(x, x)) if function is np.add else (lambda x: function(x))
    listing = tape.record(both, x).recorded
    places = [listing.location(k) for k in range(len(listing)) if listing.op(k) is not None]
    assert places
    assert {place.file for place in places} == {__file__}
    assert_allclose(tape.compile(both)(x), both(x))
    with pytest.raises(ValueError, match="could not be broadcast"):
        tape.record(lambda x: np.add(x, np.ones(4)), x)
