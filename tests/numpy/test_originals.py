"""The library's rooms call NumPy and `math` as they are, whatever stands in these modules for the user's code."""

from __future__ import annotations

import importlib.util
import math
import sys
import types

import numpy as np
import pytest

import tape
from tape.numpy import array_writing
from tape.numpy.opening import opened
from tape.recording import recorder


@pytest.mark.parametrize("transform", [tape.func.grad, tape.func.jacrev])
def test_rooms_see_no_doors(transform):
    seen, same = [], []

    def f(x):
        doors = np.zeros, np.linalg.norm, math.sin, type(np)
        same.extend(id(door) == original for door, original in zip(doors, known, strict=True))
        seen.extend((recorder.np.zeros, array_writing.np.linalg.norm, math_of_a_room().sin, type(recorder.np)))
        return (x * x).sum()

    def math_of_a_room():
        return next(m for n, m in vars(sys.modules["tape.base.spec"]).items() if n == "math")

    originals = np.zeros, np.linalg.norm, math.sin, types.ModuleType
    known = list(map(id, originals))
    transform(f)(np.ones(3))
    assert same == [False] * 4
    assert seen == list(originals)
    assert (np.zeros, np.linalg.norm, math.sin, type(np)) == originals


def test_a_room_that_is_imported_later_sees_none_either():
    tape.func.grad(lambda x: (x * x).sum())(np.ones(2))
    room = types.ModuleType("tape.of_tomorrow")
    room.__file__, room.np, room.whatever = recorder.__file__, np, math
    theirs = types.ModuleType("ops.of_the_user")
    theirs.__file__, theirs.np = __file__, np
    sys.modules.update({room.__name__: room, theirs.__name__: theirs})
    try:
        tape.func.grad(lambda x: (x * x).sum())(np.ones(2))
        assert room.np is recorder.np
        assert room.np is not np
        assert room.whatever is not math
        assert theirs.np is np
    finally:
        del sys.modules[room.__name__], sys.modules[theirs.__name__]


def test_the_names_in_a_module_stay_while_doors_stand_in_it():
    before = dict(vars(np)), dict(vars(math))
    seen = []

    def f(x):
        doors, named = (np.zeros, math.sin), (vars(np)["zeros"], vars(math)["sin"])
        seen.extend((doors[0] is named[0], doors[1] is named[1], named))
        return x.sum()

    tape.func.grad(f)(np.ones(2))
    assert seen == [False, False, (before[0]["zeros"], before[1]["sin"])]
    assert before == (dict(vars(np)), dict(vars(math)))


def test_what_a_function_puts_into_a_module_is_what_it_finds_there():
    def f(x):
        door, original = np.zeros, vars(np)["zeros"]
        np.zeros = np.ones
        try:
            y = np.zeros(2) * x
        finally:
            np.zeros = door
        assert vars(np)["zeros"] is original
        del np.zeros
        try:
            with pytest.raises(AttributeError):
                _ = np.zeros
        finally:
            np.zeros = original
        assert np.zeros is door
        return (y * x).sum()

    assert tape.func.grad(f)(np.ones(2)).tolist() == [2.0, 2.0]


def test_a_room_that_is_imported_while_another_thread_records_knows_functions_of_numpy():
    spec = importlib.util.find_spec("tape.program.world.known")
    fresh = importlib.util.module_from_spec(spec)
    with opened(lambda x: x):
        assert [np.sum][0] is not vars(np)["sum"]  # a door
        spec.loader.exec_module(fresh)
    assert (type(np.sum), type(np.dot)) == fresh.DISPATCHERS
