"""Entries refuse calls once something around the function has changed."""

from __future__ import annotations

import dataclasses
import gc
import tracemalloc

import numpy as np
import pytest
from entries import at_once, compiled, entered  # noqa: F401  (at_once is a fixture)

import tape
from tape.program.entries import conditions
from tape.program.recorded import raising
from tape.program.world import watched

factor = 2.0
settings = {"factor": 2.0, "more": [1.0, 2.0]}


def test_a_changed_global_is_noticed(monkeypatch):
    fast = compiled(lambda x: x * factor, 3.0)
    assert entered(fast, 3.0) == 6.0
    monkeypatch.setitem(globals(), "factor", 5.0)
    assert entered(fast, 3.0) is NotImplemented
    assert [fast(3.0) for _ in range(3)] == [15.0] * 3
    monkeypatch.delitem(globals(), "factor")
    assert entered(fast, 3.0) is NotImplemented


def test_a_changed_cell_is_noticed():
    scale = 2.0

    def change(to):
        nonlocal scale
        scale = to

    fast = compiled(lambda x: x * scale, 3.0)
    assert entered(fast, 3.0) == 6.0
    change(4.0)
    assert entered(fast, 3.0) is NotImplemented
    assert fast(3.0) == 12.0


@pytest.mark.parametrize("key", ["factor", "more"])
def test_changed_containers_are_noticed(monkeypatch, key):
    monkeypatch.setitem(globals(), "settings", {"factor": 2.0, "more": [1.0, 2.0]})
    fast = compiled(lambda x: x * settings["factor"] + settings["more"][1], 3.0)
    assert entered(fast, 3.0) == 8.0
    if key == "more":
        settings["more"][1] = 7.0
    else:
        settings["factor"] = 3.0
    assert entered(fast, 3.0) is NotImplemented
    assert fast(3.0) == (13.0 if key == "more" else 11.0)


def test_large_containers_are_noticed():
    many = [float(k) for k in range(50)]
    fast = compiled(lambda x: x * many[40], 3.0)
    assert entered(fast, 3.0) == 120.0
    many[40] = 2.0
    assert entered(fast, 3.0) is NotImplemented
    assert fast(3.0) == 6.0


@pytest.mark.parametrize("count", [1, 3, 4000])
def test_changed_arrays_are_noticed(count):
    array = np.ones(count, np.float32)
    fast = compiled(lambda x: x * float(array[-1]), 3.0)
    assert entered(fast, 3.0) == 3.0
    array[-1] = 2.0
    assert entered(fast, 3.0) is NotImplemented
    assert fast(3.0) == 6.0


@pytest.mark.parametrize(
    ("values", "changed"),
    [
        (np.array([(1.0, 2), (1.0, 3)], dtype=[("scale", float), ("count", int)]), (2.0, 2)),
        (np.array(["2001-01-01", "2002-02-02"], dtype="M8[D]"), "2003-03-03"),
        (np.array([1, 2], dtype="m8[s]"), 3),
        (np.array(["one", "two"]), "six"),
        (np.array([b"one", b"two"]), b"six"),
        (np.array([1.0, [2.0]], dtype=object), 2.0),
        (np.ones(2, np.longdouble), 2.0),
        (np.ones(2, np.dtype(float).newbyteorder()), 2.0),
    ],
    ids=lambda x: str(x.dtype) if isinstance(x, np.ndarray) else "",
)
def test_changed_arrays_of_any_dtype_are_noticed(values, changed):
    """Of those too that no record can have."""
    first = values.tolist()[0]
    fast = compiled(lambda x: x * (1.0 if values.tolist()[0] == first else 2.0), 3.0)
    assert entered(fast, 3.0) == 3.0
    values[0] = changed
    assert entered(fast, 3.0) is NotImplemented
    assert fast(3.0) == 6.0


def test_changed_attributes_are_noticed():
    class Model:
        power = 2.0

        def __init__(self):
            self.scale = 3.0

        @tape.compile
        def __call__(self, x):
            return x * self.scale * self.power

    model = Model()
    fast = Model.__dict__["__call__"]
    for _ in range(3):
        assert model(2.0) == 12.0
    assert entered(fast, model, 2.0) == 12.0
    assert entered(fast, Model(), 2.0) is NotImplemented
    for change, expected in [
        (lambda: setattr(model, "scale", 4.0), 16.0),
        (lambda: setattr(Model, "power", 1.0), 8.0),
        (lambda: setattr(model, "power", 5.0), 40.0),
        (lambda: delattr(model, "power"), 8.0),
    ]:
        change()
        assert entered(fast, model, 2.0) is NotImplemented
        for _ in range(3):
            assert model(2.0) == expected
        assert entered(fast, model, 2.0) == expected


def check_noticed(change, fast, f):
    """An entry refuses the call after a change, and there is one for what is there now."""
    change()
    assert entered(fast, 2.0) is NotImplemented
    for _ in range(3):
        assert fast(2.0) == f(2.0)
    assert entered(fast, 2.0) == f(2.0)


class Slotted:
    __slots__ = ("more", "scale")

    def __init__(self):
        self.scale, self.more = 3.0, None


@dataclasses.dataclass
class Settings:
    scale: float = 3.0
    more: object = None


@dataclasses.dataclass(slots=True)
class SlottedSettings:
    scale: float = 3.0
    more: object = None


@pytest.mark.parametrize("kind", [Slotted, Settings, SlottedSettings])
def test_objects_with_slots_and_data_classes_are_looked_at_in_machine_code(kind, monkeypatch):
    """Each change that a call could see is noticed by the entry, and nothing is left to Python."""
    checks = []
    guarded = conditions.Conditions.guarded
    monkeypatch.setattr(
        conditions.Conditions, "guarded", lambda self, entry: checks.extend(self.checks) or guarded(self, entry)
    )
    thing = kind()

    def f(x):
        return x * thing.scale if thing.more is None else x * thing.scale * thing.more

    fast = compiled(f, 2.0)
    assert entered(fast, 2.0) == 6.0
    assert not checks
    changes = [
        lambda: setattr(thing, "scale", 4.0),
        lambda: setattr(thing, "more", 5.0),
        lambda: setattr(thing, "more", None),
        lambda: setattr(thing, "scale", np.float64(2.0)),
        lambda: setattr(thing, "scale", 2),
    ]
    for change in changes:
        check_noticed(change, fast, f)


@pytest.mark.parametrize("found", [True, False], ids=["found", "not found"])
def test_slots_that_are_emptied_and_filled(found, monkeypatch):
    monkeypatch.setattr(watched, "SLOTS", found and watched.SLOTS)
    thing = Slotted()
    del thing.more

    def f(x):
        return x * thing.more if hasattr(thing, "more") else x * thing.scale

    fast = compiled(f, 2.0)
    for _ in range(2):
        assert entered(fast, 2.0) == 6.0
        thing.more = 5.0
        assert entered(fast, 2.0) is NotImplemented
        assert [fast(2.0) for _ in range(3)] == [10.0] * 3
        assert entered(fast, 2.0) == 10.0
        del thing.more
        assert entered(fast, 2.0) is NotImplemented
        assert [fast(2.0) for _ in range(3)] == [6.0] * 3


@pytest.mark.parametrize("found", [True, False], ids=["found", "not found"])
def test_a_set_that_is_filled_and_print_options(found, monkeypatch):
    monkeypatch.setattr(conditions, "USED", conditions.USED if found else 0)
    chosen = set()
    fast = compiled(lambda x: x * (2.0 if chosen else 3.0), 2.0)
    assert entered(fast, 2.0) == 6.0
    chosen.add(1)
    assert entered(fast, 2.0) is NotImplemented
    assert fast(2.0) == 4.0
    chosen.clear()
    assert [fast(2.0) for _ in range(3)] == [6.0] * 3

    fast = compiled(lambda x: x * len(str(np.array([1 / 3]))), 2.0)
    wide = entered(fast, 2.0)
    with np.printoptions(precision=2):
        assert entered(fast, 2.0) is NotImplemented
        assert fast(2.0) < wide
    assert fast(2.0) == wide


def test_what_functions_and_classes_say_of_themselves():
    class Model:
        """Three."""

        def scale(self) -> float:
            """Say it."""
            return 3.0

    def f(x):
        texts = Model.__doc__, Model.__module__, Model.scale.__doc__, Model.scale.__module__, Model.__qualname__
        return x * len("".join(texts)) * len(Model.scale.__annotations__)

    fast = compiled(f, 2.0)
    assert entered(fast, 2.0) == f(2.0)
    changes = [
        lambda: setattr(Model, "__doc__", "Four"),
        lambda: setattr(Model, "__module__", "elsewhere"),
        lambda: setattr(Model.scale, "__doc__", "another text"),
        lambda: setattr(Model.scale, "__module__", "there"),
        lambda: setattr(Model, "__qualname__", "Another"),
        lambda: setattr(Model.scale, "__annotations__", {"a": int, "b": int}),
        lambda: Model.scale.__annotations__.update(c=float),
    ]
    for change in changes:
        check_noticed(change, fast, f)


def test_tensors_around_are_read_anew():
    weight, pair = tape.tensor([1.0, 2.0]), np.array([0.5, -1.5])
    fast = compiled(lambda x: x * weight, pair)
    weight.mul_(10.0)
    np.testing.assert_array_equal(entered(fast, pair), pair * [10.0, 20.0])
    three = np.array([0.5, -1.5, 2.0])
    weight.data = tape.tensor([1.0, 2.0, 3.0])
    assert entered(fast, pair) is NotImplemented
    np.testing.assert_array_equal(fast(three), three * [1.0, 2.0, 3.0])
    weight.requires_grad_()
    assert fast._entry is None or entered(fast, three) is NotImplemented


def test_what_is_equal_is_not_changed(monkeypatch):
    monkeypatch.setitem(globals(), "settings", {"factor": 2.0, "more": [1.0, 2.0]})
    fast = compiled(lambda x: x * settings["factor"] * factor + len(settings["more"]), 3.0)
    settings["factor"] = float("2.0")
    monkeypatch.setitem(globals(), "factor", float("2.0"))
    assert fast(3.0) == 14.0  # which looks again
    assert len(fast.programs) == 1
    assert entered(fast, 3.0) == 14.0
    settings["factor"] = 2
    assert entered(fast, 3.0) is NotImplemented


def test_the_sign_of_a_zero_and_a_cell_without_content():
    def make():
        scale = 0.0

        def change(to):
            nonlocal scale
            scale = to

        def empty():
            nonlocal scale
            del scale

        return compiled(lambda x: x * scale, 3.0), change, empty

    fast, change, empty = make()
    change(-0.0)
    assert entered(fast, 3.0) is NotImplemented
    assert np.signbit([fast(3.0) for _ in range(3)]).all()
    empty()
    assert entered(fast, 3.0) is NotImplemented
    with pytest.raises(NameError):
        fast(3.0)


def test_an_empty_array_of_another_shape():
    array = np.ones((0, 3))
    fast = compiled(lambda x: x * array.shape[1], 2.0)
    assert entered(fast, 2.0) == 6.0
    array.resize((0, 5), refcheck=False)
    assert entered(fast, 2.0) is NotImplemented
    assert fast(2.0) == 10.0


def test_settings_of_floating_point_errors():
    """What is harmless is harmless without a call of Python's, and what may raise goes the general way, every time."""
    fast = compiled(lambda x: x * 2.0, 3.0)
    for _ in range(300):  # the settings of one turn are where those of an earlier one were
        with np.errstate(all="raise", under="ignore"):
            assert entered(fast, 3.0) is NotImplemented
        with np.errstate(all="ignore"):
            assert entered(fast, 3.0) == 6.0
            assert raising.calm.value == (0 if raising.STATE is None else id(raising.STATE.get()))
            assert entered(fast, 3.0) == 6.0
        assert entered(fast, 3.0) == 6.0


OTHERWISE = {
    "transposed": lambda w: w.T,
    "backwards": lambda w: w[::-1],
    "every other": lambda w: w[:, ::2],
    "repeated": lambda w: np.broadcast_to(w[0], (3, 4)) if type(w) is np.ndarray else w[0].expand(3, 4),
}


@pytest.mark.parametrize("kind", [np.array, tape.tensor])
@pytest.mark.parametrize("name", OTHERWISE)
def test_what_is_around_may_lie_otherwise_than_in_rows(name, kind):
    """An entry is made, gives what is there now, and leaves none of its copies behind."""
    view, around = OTHERWISE[name], kind(np.arange(12.0).reshape(3, 4))
    seen = view(around)

    def function(x):
        return (x * view(around)).sum(), x * seen

    x = kind(np.ones(seen.shape))
    fast = compiled(function, x)
    for step in range(3):
        around += step
        for _ in range(3):
            fast(x)
        found = entered(fast, x)
        assert found is not NotImplemented
        for part, expected in zip(found, function(x)):
            np.testing.assert_array_equal(np.asarray(part), np.asarray(expected))
    assert memory_of(lambda: entered(fast, x)) < 20_000


def memory_of(call):
    """Bytes that a thousand calls leave behind."""
    gc.collect()
    tracemalloc.start()
    try:
        call()
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(1000):
            call()
        return tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()


def test_copies_of_what_is_around_go_where_an_entry_refuses():
    around = np.arange(1.0, 13.0).reshape(3, 4)
    fast = compiled(lambda x: x / around.T if (x * around.T).sum() > 0 else -x, np.ones((4, 3)))
    refused = -np.ones((4, 3))
    assert entered(fast, refused) is NotImplemented
    assert memory_of(lambda: entered(fast, refused)) < 20_000
