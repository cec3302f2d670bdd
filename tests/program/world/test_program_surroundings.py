"""What is watched around a compiled function is compared as words in memory: what these stand for."""

from __future__ import annotations

import collections
import copy
import copyreg
import gc
import importlib
import itertools
import sys
import types
import weakref

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import tape
from tape.program.recorded.raising import raises
from tape.program.world import known
from tape.program.world.known import is_written_in_python
from tape.program.world.looking import surroundings
from tape.program.world.object_places import IN_OBJECTS, TAGS
from tape.program.world.watched import BUSY, Space

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


class Thing:
    k = 1.0


def reading_attribute(holder):
    return lambda x: holder.factor * x


def reading_global(holder):
    return types.FunctionType((lambda x: factor * x).__code__, vars(holder))  # noqa: F821


HOLDERS = {
    "module": (types.ModuleType("holder"), reading_attribute),
    "globals": (types.ModuleType("globals"), reading_global),
    "object": (Thing(), reading_attribute),
    "class": (type("Holding", (), {}), reading_attribute),
}


@pytest.mark.parametrize(("holder", "reading"), HOLDERS.values(), ids=HOLDERS)
def test_what_a_function_does_not_read_is_not_kept_alive(holder, reading):
    holder.factor, holder.other = 2.0, Thing()
    other = weakref.ref(holder.other)
    compiled = tape.compile(reading(holder))
    for _ in range(3):
        assert_allclose(compiled(np.ones(2)), [2.0, 2.0])
    del holder.other
    assert other() is None
    assert_allclose(compiled(np.ones(2)), [2.0, 2.0])
    holder.factor = 3.0
    assert_allclose(compiled(np.ones(2)), [3.0, 3.0])


def test_a_function_that_runs_as_it_is_for_good_keeps_nothing_alive():
    holder = Thing()
    holder.factor = Thing()
    compiled = tape.compile(lambda x: x * holder.factor.k, most_paths=2)

    def call_with_others():
        for k in range(12):
            holder.factor.k = float(k)
            assert_allclose(compiled(np.ones(2)), [k, k])

    with pytest.warns(RuntimeWarning, match="new in every call"):
        call_with_others()
    factor = weakref.ref(holder.factor)
    del holder.factor
    gc.collect()
    assert factor() is None


def test_attributes_are_noticed_each_time_they_change():
    """They lie in the object itself, and Python goes ever shorter ways to them."""
    thing = Thing()
    thing.k = 0.0
    around = surroundings(lambda x: x * thing.k)

    def put(k):
        thing.k = k

    for k in range(1, 60):
        put(float(k))
        assert not around.unchanged()
        put(0.0)
        assert around.unchanged()
    del thing.k
    assert not around.unchanged()


def test_dicts_that_no_attributes_lie_beside_count_their_changes_up_to_python_3_13():
    assert (sys.version_info < (3, 14)) == TAGS
    assert (sys.version_info < (3, 13)) == IN_OBJECTS
    thing = Thing()
    thing.k = 0.0
    assert Space({"k": 1.0}, None, set()).counted == TAGS
    assert Space(vars(thing), None, set()).counted == IN_OBJECTS


def test_classes_that_add_nothing_to_their_objects_but_what_can_be_looked_at():
    class Bare:
        __slots__ = ("k",)

    class Referred(Bare):
        __slots__ = ("__weakref__",)

    class Whole(Referred):
        pass

    kinds = [type(f"Of{kind.__name__}", (kind,), {}) for kind in (int, float, tuple, list, dict, Thing)]
    assert all(is_written_in_python(kind) for kind in (Thing, Bare, Referred, Whole, *kinds))
    assert not any(is_written_in_python(kind) for kind in (int, collections.deque, itertools.count))


def test_what_the_library_made_itself_is_not_watched():
    around = surroundings(tape.func.grad(scaled))
    assert [f.ask.args[0] for f in around.facts] == [scaled] * 4
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


def test_a_function_that_reads_too_much_runs_as_it_is_and_watches_nothing(monkeypatch):
    monkeypatch.setattr("tape.program.world.looking.MOST", 20)
    tables = [[float(k)] for k in range(50)]
    fast = tape.compile(lambda x: x * tables[3][0])
    with pytest.warns(RuntimeWarning, match="more things than can be watched"):
        assert fast(2.0) == 6.0
    tables[3][0] = 4.0
    assert fast(2.0) == 8.0
    assert not list(fast._surroundings.watched())


def test_tuples_that_cannot_change_are_not_counted_among_what_is_watched():
    steps = tuple((k % 3, k / 7) for k in range(50_000))
    fast = tape.compile(lambda x: x * steps[3][1])
    assert fast(7.0) == 3.0
    assert fast.statistics().programs


class Hiding(dict):
    """A dict that does not tell of all that is in it."""

    def items(self):
        return [(k, v) for k, v in super().items() if not k.startswith("_")]


def test_a_dict_that_hides_what_it_holds_is_watched():
    settings = Hiding(a=1.0, _scale=2.0)
    fast = tape.compile(lambda x: x * settings["_scale"])
    assert (fast(3.0), fast(3.0)) == (6.0, 6.0)
    settings["_scale"] = 5.0
    assert fast(3.0) == 15.0


PARCELS = """
class Parcel:
    size = 1.0
"""
COPYING = """
import copyreg

from parcels import Parcel

SIZE = 2.0


def opened(size):
    parcel = Parcel()
    parcel.size = size
    return parcel


copyreg.pickle(Parcel, lambda parcel: (opened, (SIZE,)))
"""


def test_how_a_package_copies_its_objects_is_looked_at_where_they_are_met(tmp_path, monkeypatch):
    package = tmp_path / "parcels"
    package.mkdir()
    (package / "__init__.py").write_text(PARCELS)
    (package / "copying.py").write_text(COPYING)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(known, "_INSTALLED", (str(tmp_path),))
    copying = importlib.import_module("parcels.copying")
    try:
        parcel, other, x = copying.Parcel(), [1.0], np.arange(3.0)
        assert "opened" not in [f.__name__ for f in surroundings(lambda x: x * copy.copy(other)[0]).functions]
        assert "opened" in [f.__name__ for f in surroundings(lambda x: x * copy.copy(parcel).size).functions]
        fast = tape.compile(lambda x: x * copy.copy(parcel).size)
        for size in (2.0, 3.0, 3.0):
            copying.SIZE = size
            assert_array_equal(fast(x), size * x)
    finally:
        del copyreg.dispatch_table[copying.Parcel], sys.modules["parcels"], sys.modules["parcels.copying"]
