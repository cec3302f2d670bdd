"""Rows of memory inside `vmap`: a lane lies as it would alone, so that views of it are views."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import tape

BATCH = np.random.default_rng(3).normal(size=(2, 3, 4))

MADE = {
    "filled": lambda x: _filled(np.zeros(x.shape), x), "computed": lambda x: x * 2, "turned": lambda x: x.T * 2,
    "copied": lambda x: x.copy(), "in columns": lambda x: np.asfortranarray(x * 2), "like": np.zeros_like,
    "part": lambda x: (x * 2)[:, ::2], "outer": lambda x: np.outer(x[0], x[1]),
}  # fmt: skip
SEEN = {
    "ravel": lambda y: y.ravel(), "ravel F": lambda y: y.ravel("F"), "ravel K": lambda y: y.ravel("K"),
    "ravel A": lambda y: y.ravel("A"), "turned": lambda y: y.T.ravel(), "reshape": lambda y: y.reshape(-1),
    "reshape F": lambda y: y.reshape(-1, order="F"), "flatten": lambda y: y.flatten(),
    "turned reshape": lambda y: y.T.reshape(-1),
}  # fmt: skip


def _filled(y, x):
    y[:] = x
    return y


@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("seen", SEEN)
def test_a_write_through_a_row_reaches_what_it_reaches_alone(made, seen, axis):
    def program(x):
        y = MADE[made](x)
        SEEN[seen](y)[2] = 5.0 * x[0, 0]
        return y

    lanes = [np.ascontiguousarray(x) for x in np.moveaxis(BATCH, axis, 0)]
    assert_array_equal(tape.vmap(program, in_dims=axis)(BATCH), np.stack([program(x) for x in lanes]))


def through_a_part(x):
    y = np.zeros(3)
    part = y[:2]
    y[0] = x[0] * x[1]
    return part * x[2] + y.sum()


def into_a_part(x):
    y = np.zeros((3, 3))
    turned, below = y.T, y[1:]
    turned[0] = x
    below += x
    turned[1] *= x[0]
    return (y**2).sum(0)


def row_by_row(x):
    y = np.zeros((2, 3))
    for k, row in enumerate(y):
        row[:] = x * (k + 1)
    return (y**2).sum(0)


def by_a_mask(x):
    y = x.copy()
    y[x > 0.5] = 3.0
    return y * x


def by_an_index(x):
    y, part = np.zeros(3), np.zeros(3)[:2]
    y[np.argmax(x)] = x[0] ** 2
    part[np.argmin(x) // 2] += x[1] * y.sum()
    return y[:2] * x[:2] + part


def of_another_buffer(x):
    y = np.array(np.outer(C, C))
    corner = y[:2, :2]
    corner[...] = x[0] * x[1]
    corner[0] *= x[2]
    return y @ x


C = np.array([0.5, -1.5, 2.0])
FILLING = through_a_part, into_a_part, row_by_row, by_a_mask, by_an_index, of_another_buffer
DERIVATIVES = {
    "value": lambda f: f,
    "grad": lambda f: tape.func.grad(lambda x: f(x).sum()),
    "jacfwd": tape.func.jacfwd,
    "jvp of grad": lambda f: lambda x: tape.func.jvp(tape.func.grad(lambda x: f(x).sum()), (x,), (x,))[1],
    "hessian": lambda f: tape.func.hessian(lambda x: f(x).sum()),
}


@pytest.mark.parametrize("derivative", DERIVATIVES)
@pytest.mark.parametrize("filling", FILLING, ids=lambda f: f.__name__)
def test_buffers_gain_lanes_with_all_that_look_at_them(filling, derivative):
    transformed = DERIVATIVES[derivative](filling)
    rows = BATCH[0]
    expected = np.stack([transformed(x) for x in rows[:, :3]])
    assert_allclose(tape.vmap(transformed)(rows[:, :3]), expected, rtol=1e-12, atol=1e-13)
    assert_allclose(tape.compile(tape.vmap(transformed))(rows[:, :3]), expected, rtol=1e-12, atol=1e-13)


OLD = {"young": lambda: None, "older": lambda: gc.collect(0), "old": lambda: gc.collect(1), "set aside": gc.freeze}


@pytest.mark.parametrize("held", [1, 2], ids=["once", "twice"])
@pytest.mark.parametrize("filling", ["all", "a part", "a part of which all is gone"])
@pytest.mark.parametrize("age", OLD)
def test_arrays_gain_lanes_however_old_they_are(age, filling, held):
    def program(x):
        y = np.zeros(3)
        others = [y.T for _ in range(held)] if filling != "all" else []
        OLD[age]()
        part = y[1:]
        if filling == "all":
            y[0] = x[0]
            return y * x
        if filling == "a part":
            part[0] = x[0]
            return sum(others) + y * x
        del y
        part[0] = x[0]
        return sum(others) * 2

    expected = np.stack([program(x) for x in BATCH[0][:, :3]])
    try:
        assert_array_equal(tape.vmap(program)(BATCH[0][:, :3]), expected)
    finally:
        gc.unfreeze()


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("filling", FILLING, ids=lambda f: f.__name__)
def test_not_everything_there_is_is_looked_at_for_arrays_made_just_now(filling, compiled, monkeypatch):
    def everything(*of):
        raise AssertionError("all that the collector knows is looked at")

    monkeypatch.setattr(gc, "get_referrers", everything)
    mapped = tape.vmap(filling)
    (tape.compile(mapped) if compiled else mapped)(BATCH[0][:, :3])


def test_lanes_of_several_maps_and_tangents_around_them():
    outer = BATCH[:, :, :3]
    expected = np.stack([[into_a_part(x) for x in rows] for rows in outer])
    assert_allclose(tape.vmap(tape.vmap(into_a_part))(outer), expected)
    moved = tape.func.jvp(tape.vmap(into_a_part), (outer[0],), (outer[1],))[1]
    alone = [tape.func.jvp(into_a_part, (x,), (v,))[1] for x, v in zip(outer[0], outer[1])]
    assert_allclose(moved, np.stack(alone))


@pytest.mark.parametrize("compiled", [False, True])
def test_a_copy_of_what_is_the_same_in_all_lanes_gains_them_with_its_views(compiled):
    def program(x, same):
        y = same * 1
        part = y[:2]
        y[0] = x[0]
        return part * same[:2]

    mapped = tape.vmap(program, in_dims=(0, None))
    wanted = np.stack([program(x, C) for x in BATCH[0]])
    assert_allclose((tape.compile(mapped) if compiled else mapped)(BATCH[0], C), wanted)


def test_a_tangent_that_is_the_same_in_all_lanes_is_not_lost_where_a_lane_is_written():
    def mapped(b):
        def program(p):
            y = np.zeros(2)
            y[0] = p * 2
            y[1] = b
            return y * p

        return tape.func.jvp(program, (3.0,), (1.0,))[1]

    assert_allclose(tape.vmap(mapped)(np.array([1.0, 5.0])), [[12.0, 1.0], [12.0, 5.0]])


@pytest.mark.parametrize("compiled", [False, True])
def test_an_array_from_outside_of_the_map_is_not_left_with_lanes(compiled):
    def program(rows):
        kept = np.zeros(3)

        def lane(x):
            kept[0] = x[0]
            return x.sum()

        return tape.vmap(lane)(rows).sum() + kept.sum()

    gradient = tape.func.grad(program)
    with pytest.raises(RuntimeError, match="an array from outside of the function that is mapped"):
        (tape.compile(gradient) if compiled else gradient)(BATCH[0])


def test_plain_numbers_that_were_taken_of_an_array_do_not_miss_the_lanes():
    def lane(x):
        y = np.zeros(3)
        seen = y.__array__()
        y[0] = x[0]
        return y + seen

    with pytest.raises(TypeError, match="would not see the lanes"):
        tape.vmap(lane)(BATCH[0])


PLACES = np.array([[[0, -1, 0], [1, 1, 1]], [[2, 2, 2], [0, 1, -3]]])
LANES = np.random.default_rng(4).uniform(0.5, 1.5, size=(2, 2, 3))
AT = {
    "add": lambda y, x, i: np.add.at(y, i[0], x[0]), "rows": lambda y, x, i: np.add.at(y, (i, i[::-1] % 2), x),
    "subtract": lambda y, x, i: np.subtract.at(y, (i[0], 1), x[0, 0]), "sin": lambda y, x, i: np.sin.at(y, i[0]),
    "part": lambda y, x, i: np.add.at(y[1:], i % 2, 2),
    "turned": lambda y, x, i: np.maximum.at(y.T, (i[0] % 2, i[1]), x[1]),
    "multiply": lambda y, x, i: np.multiply.at(y, i[1], x[0, :, None]),
}  # fmt: skip


@pytest.mark.parametrize("way", AT)
def test_ufuncs_at_places_that_differ_from_lane_to_lane(way):
    def program(x, i):
        y = np.full((3, 3), 1.25)
        AT[way](y, x, i)
        return (y * y * np.arange(9.0).reshape(3, 3)).sum()

    expected = [tape.func.grad(program)(x, i) for x, i in zip(LANES, PLACES)]
    mapped = tape.vmap(tape.func.grad(program))
    assert_allclose(mapped(LANES, PLACES), expected)
    compiled = tape.compile(mapped)
    for i in (PLACES, PLACES[::-1].copy(), PLACES):
        assert_allclose(compiled(LANES, i), mapped(LANES, i))


def test_places_that_differ_from_lane_to_lane_are_looked_at_in_all_of_them():
    def program(x, i):
        y = np.zeros(3)
        np.add.at(y, i, x)
        return y

    with pytest.raises(IndexError, match="out of bounds"):
        tape.vmap(program)(LANES[:, 0], PLACES[:, 0] + [[0], [1]])


def test_powers_of_a_half_are_those_of_numbers():
    """Of a number −∞ NumPy's square root by a power is ∞ and that of −0 is 0; of arrays they are nan and −0."""
    x = np.array([-np.inf, np.inf, -0.0, 4.0, np.nan])
    with np.errstate(invalid="ignore"):
        expected = np.array([t**0.5 for t in x])
        for f in (tape.vmap(lambda t: t**0.5), tape.compile(tape.vmap(lambda t: t**0.5))):
            np.testing.assert_array_equal(f(x), expected)
            np.testing.assert_array_equal(np.signbit(f(x)[:3]), np.signbit(expected[:3]))


def rows_eliminated(x):
    y = x.copy()
    y[1] = y[1] - x[0] ** 2 * y[0]
    y[2] -= y[1] * y[0]
    return (y**3).sum()


@pytest.mark.parametrize(
    "twice",
    [tape.func.hessian, lambda f: tape.func.jacfwd(tape.func.grad(f)), lambda f: tape.func.jacrev(tape.func.grad(f))],
)
def test_second_derivatives_in_lanes_of_what_is_written_into_a_copy(twice):
    made, batch = twice(rows_eliminated), np.array([[1.0, 2.0, 3.0], [2.0, 3.0, 5.0]])
    expected = np.stack([made(x) for x in batch])
    mapped = tape.func.vmap(made)
    assert_allclose(mapped(batch), expected)
    fast = tape.compile(mapped)
    for _ in range(2):
        assert_allclose(fast(batch), expected)
