"""How arrays lie in memory, and whether they may be written, under derivatives and `vmap`."""

from __future__ import annotations

import itertools
import pickle
import warnings

import numpy as np
import pytest
from differences import jacobians
from numpy.testing import assert_allclose

import tape
from tape.numpy.arrays.memory_order import visited

IN_ORDERS = {
    "asfortranarray": lambda x: np.asfortranarray(np.outer(x, x) * 1.0),
    "order": lambda x: np.array(np.outer(x, x) * 1.0, order="F"),
    "filled": lambda x: _into(np.zeros((3, 3), order="F"), np.outer(x, x)),
    "turned": lambda x: (np.outer(x, x) * 1.0).T,
}  # fmt: skip


def _into(y, value):
    y[...] = value
    return y


@pytest.mark.parametrize("order", IN_ORDERS)
@pytest.mark.parametrize("look", [lambda y: y.ravel("F"), lambda y: y.T.reshape(-1), lambda y: y.reshape(9, order="F")])
def test_tangents_lie_in_memory_as_what_they_belong_to(order, look):
    """Otherwise a view of one would be a copy of the other, and what is written there be lost."""

    def program(x):
        y = IN_ORDERS[order](x)
        row = look(y)
        row[1] = 7.0 * x[2]
        row[4:] *= x[0]
        return y.reshape(-1) * row

    x = np.array([0.5, 2.0, 3.0])
    expected = jacobians(program, [x])[0]
    for found in (
        tape.func.jacfwd(program)(x),
        tape.compile(tape.func.jacfwd(program))(x),
        tape.func.jacrev(program)(x),
    ):
        assert_allclose(found, expected, rtol=1e-6, atol=1e-7)


def test_arrays_without_axes_are_written_after_they_were_read():
    def program(x):
        y = np.array(x[0])
        y *= x[1]
        y *= x[2]
        before = y * y
        y[...] = x[2]
        return before + y

    x = np.array([0.5, 2.0, 3.0])
    assert_allclose(tape.func.grad(program)(x), jacobians(program, [x])[0], rtol=1e-6)


@pytest.mark.parametrize(
    "close", [lambda y: setattr(y.flags, "writeable", False), lambda y: y.flags.__setitem__("WRITEABLE", False),
              lambda y: y.setflags(write=False)],
)  # fmt: skip
def test_what_is_not_to_be_written_is_not(close):
    def program(x):
        y = x * 1
        close(y)
        assert not y.flags.writeable
        assert not y[1:].flags["W"]
        with pytest.raises(ValueError, match="read-only"):
            y[1:][0] = x[0]
        y.setflags(write=True)
        y[0] = x[1]
        return (y * y).sum()

    x = np.array([0.5, 2.0, 3.0])
    assert_allclose(tape.func.grad(program)(x), [0.0, 8.0, 6.0])


def test_what_is_not_to_be_written_is_not_compiled_either():
    def program(x):
        y = x * 1
        y.flags.writeable = False
        try:
            y[0] = x[1]
        except ValueError:
            return y[2] * y[1]
        return y[0]

    x = np.array([0.5, 2.0, 3.0])
    assert_allclose(tape.compile(tape.func.grad(program))(x), [0.0, 3.0, 2.0])


def _spread(w):
    return np.broadcast_to(w, (2, 3, 3))


def _locked(w):
    y = w[:2]
    y.flags.writeable = False
    return y


LOOKS = {
    "itself": lambda y: y, "a part": lambda y: y[:1], "turned": lambda y: y.T,
    "as it is": lambda y: y.view(), "with an axis": lambda y: np.expand_dims(y, 0),
}  # fmt: skip
THROUGH = {
    "plain": lambda f: f, "grad": tape.func.grad, "jacfwd": tape.func.jacfwd, "compiled": tape.compile,
    "jvp": lambda f: lambda x: tape.func.jvp(f, (x,), (x,)), "vmap": lambda f: lambda x: tape.vmap(f)(x[None]),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:tape.compile runs")
@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("make", [_spread, np.diagonal, _locked])
def test_views_of_what_is_not_to_be_written_are_not_either(make, look):
    """Also where their memory begins to move, or to differ from lane to lane, after they were made."""

    def program(x):
        w = np.zeros((3, 3))
        y = LOOKS[look](make(w))
        w[:] = x
        y[0] = x[0]
        return w.sum()

    for through in THROUGH.values():
        with pytest.raises(ValueError, match="read-only"):
            through(program)(np.array([0.5, 2.0, 3.0]))


def test_copies_of_what_is_not_to_be_written_are():
    def program(x):
        spread = np.broadcast_to(x, (2, 3))
        for y in (spread.copy(), spread.ravel(), spread.reshape(-1), spread + 0, spread[[0]], np.array(spread)):
            y[0] = x[1]
        return y.sum()

    assert_allclose(tape.func.grad(program)(np.array([0.5, 2.0, 3.0])), [1.0, 4.0, 1.0])


def test_flags_answer_as_numpys():
    def program(x):
        y = np.asfortranarray(np.outer(x, x))
        assert repr(y.flags) == repr(np.asfortranarray(np.outer(np.ones(3), np.ones(3))).flags)
        assert y.flags.f_contiguous
        assert not y.flags["C_CONTIGUOUS"]
        assert isinstance(y.flags, type(np.empty(0).flags))
        with pytest.raises(AttributeError):
            y.flags.owndata = False
        return y.sum()

    tape.func.grad(program)(np.ones(3))


@pytest.mark.parametrize("compiled", [False, True])
def test_a_refusal_of_lanes_is_not_swallowed(compiled):
    """The function would go another way because of us, and give what it gives there."""

    def program(x):
        try:
            return x * 2 if x[0] > 0 else x
        except RuntimeError:
            return x * 100

    mapped = tape.vmap(program)
    with pytest.raises(RuntimeError, match="vmap: this asks for the truth of numbers"):
        (tape.compile(mapped) if compiled else mapped)(np.array([[1.0, 2.0], [-1.0, 0.5]]))


LAID_OUT = (
    lambda x: x.ravel("K"), lambda x: x.ravel("A"), lambda x: x.flags.c_contiguous * x.sum(),
    lambda x: x[:, 0].flags.contiguous * x, lambda x: x.strides[0] * x, lambda x: np.empty_like(x).strides[0] * x,
    lambda x: (2 * x).strides[0] * x, lambda x: x.reshape(-1, order="A"), lambda x: x.T.ravel("K") * x.sum(),
)  # fmt: skip


@pytest.mark.parametrize("function", LAID_OUT)
def test_what_depends_on_the_layout_is_not_replayed_for_another(function):
    x = np.arange(12.0).reshape(4, 3)
    layouts = (x, np.asfortranarray(x), x[::-1].copy()[::-1], np.repeat(x, 2, 0)[::2], np.broadcast_to(x[:1], (4, 3)))
    for first in layouts:
        compiled = tape.compile(function)
        for y in (first, *layouts, first):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)
                np.testing.assert_array_equal(compiled(y), function(y))


def turned_and_written(x):
    y = np.asfortranarray(x) * 1.0
    y[y > 2.0] = 0.1
    y.reshape(-1)[1] = 0.5  # of a copy: they lie in columns
    return y.sum() + y.ravel()[2]


def turned_and_told(x):
    y = x.copy("F")
    if y[0, 0] > 100.0:
        return x * 0.0
    return y.strides[0] * x


@pytest.mark.parametrize("function", [turned_and_written, turned_and_told])
@pytest.mark.parametrize("n", [4, 48, 200])
def test_copies_in_columns_lie_so_when_somebody_has_looked(function, n):
    """Arrays of any size: of large ones values are computed when somebody looks, and only then."""
    x = np.random.default_rng(n).normal(size=(n, n))
    compiled = tape.compile(function)
    for _ in range(3):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            np.testing.assert_allclose(compiled(x), function(x), rtol=1e-13)


def in_order_and_written(x):
    y = np.ascontiguousarray(x.T)
    y[1:] += x[1:]
    y.reshape(-1)[:7] *= 2.0
    return y * y.strides[0]


def in_order_and_told(x):
    y = np.ascontiguousarray(x.T)
    return y * y.strides[0] if y[0, 0] < 100.0 else x


@pytest.mark.parametrize("function", [in_order_and_written, in_order_and_told, turned_and_told])
@pytest.mark.parametrize("n", [4, 48, 200])
def test_copies_in_order_are_known_to_lie_so(function, n):
    """Of large arrays, too, of which it is not known how they lie, before and after somebody has looked."""
    x = np.random.default_rng(n).normal(size=(n, n))
    compiled = tape.compile(function)
    for _ in range(3):
        np.testing.assert_allclose(compiled(x), function(x), rtol=1e-13)
    assert len(compiled.programs) == 1


ORDERED = {
    "sort": lambda y: np.sort(y, axis=0), "partition": lambda y: np.partition(y, 1, axis=0),
    "pad by nothing": lambda y: np.pad(y, 0), "pad": lambda y: np.pad(y, 1, mode="edge"),
    "pad by means": lambda y: np.pad(y, 1, mode="mean"),
    "select": lambda y: np.select([y > 0], [y], 0.0), "choose": lambda y: np.choose((y > 0).astype(int), [y * 2, y]),
    "full_like": lambda y: np.full_like(y, 2.0) * y, "gradient": lambda y: np.gradient(y, axis=0),
    "unwrap": lambda y: np.unwrap(y * 9, axis=0), "polyval": lambda y: np.polyval([1.0, 2.0], y),
    "insert": lambda y: np.insert(y, 1, 5.0, axis=1), "delete": lambda y: np.delete(y, 0, axis=0),
    "delete some": lambda y: np.delete(np.vstack([y, y]), [0, 2], axis=0),
    "stack": lambda y: np.stack([y, y + 1]), "stack at last": lambda y: np.stack([y, y + 1], axis=-1),
    "array of list": lambda y: np.array([y, y]), "sum": lambda y: np.stack([y, 2 * y]).sum(0),
    "median": lambda y: np.median(np.stack([y, 2 * y]), axis=0),
    "average": lambda y: np.average(np.stack([y, 2 * y]), axis=0, weights=[1.0, 2.0]),
    "nanmax": lambda y: np.nanmax(np.stack([y, 2 * y]), axis=0),
    "nanquantile": lambda y: np.nanquantile(np.stack([y, 2 * y]), 0.3, axis=0),
    "round": lambda y: np.round(y, 1) + 0 * y.sum(), "vectorize": lambda y: np.vectorize(lambda v: v * 2)(y),
    "vectorize of two": lambda y: np.vectorize(lambda v, w: v * w)(y, y[0]),
    "cholesky": lambda y: np.linalg.cholesky(y @ y.T + np.eye(len(y)), upper=True),
    "repeated rows": lambda y: np.broadcast_to(y[0], (2, y.shape[1])), "repeated": lambda y: y[:, :, None] * np.ones(2),
    "written in rows": lambda y: _in_rows(np.zeros(y.shape, order="F"), y) * 2,
    "written whole": lambda y: _into(np.zeros(y.shape), y) * 2,
    "written in columns": lambda y: _into(np.zeros(y.shape, order="F"), y) * 2,
}  # fmt: skip


def _in_rows(z, y):
    for k in range(len(y)):
        z[k] = y[k]
    return z


@pytest.mark.parametrize("turn", [lambda x: x, lambda x: x.T, lambda x: x.T[::-1], lambda x: x[:, ::2].T])
@pytest.mark.parametrize("make", ORDERED)
def test_results_lie_in_memory_as_numpys_do(make, turn):
    def program(x):
        row = ORDERED[make](turn(x)).ravel("K")
        return (row * np.arange(1.0, row.size + 1)).sum()

    x = np.array([[0.3, -0.7, 0.9], [1.1, 0.4, -0.2], [0.6, -0.1, 0.8]])
    value = program(x)
    found = tape.func.grad_and_value(program)
    compiled = tape.compile(found)
    for z in (found(x)[1], compiled(x)[1], compiled(x)[1]):
        assert_allclose(z, value, rtol=1e-12)
    if make != "choose":  # which chooses by numbers that differ from lane to lane
        assert_allclose(tape.vmap(program)(np.stack([x, 2 * x]))[0], value, rtol=1e-12)


@pytest.mark.parametrize("make", ["sort", "stack", "full_like", "pad by nothing"])
def test_results_that_lie_otherwise_have_memory_of_their_own(make):
    def program(x):
        y = ORDERED[make](x.T)
        assert y.base is None
        return y.sum()

    tape.func.grad(program)(np.ones((2, 2)))


def padded(x):
    return np.pad(x.T * 2.0, 0)


def sorted_(x):
    return np.sort(x.T * 2.0, axis=0)


def filled_in_columns(x):
    return _into(np.zeros(x.shape, order="F"), x) * 2.0


def filled_in_order(x):
    return _into(np.zeros(x.shape), (x * 1.0).T) * 2.0


def filled_by_rows(x):
    return _in_rows(np.zeros(x.shape, order="F"), x) * 2.0


@pytest.mark.filterwarnings("ignore:tape.compile runs")
@pytest.mark.parametrize("look", [False, True])
@pytest.mark.parametrize("make", [padded, sorted_, filled_in_columns, filled_in_order, filled_by_rows])
def test_large_results_lie_in_memory_as_numpys_do_or_are_not_compiled(make, look):
    def program(x):
        y = make(x)
        if look and y[1, 2] > 1e6:
            return y.sum()
        return (y.ravel("K")[:300] * np.arange(300.0)).sum()

    x = np.random.default_rng(0).normal(size=(200, 200))
    compiled = tape.compile(tape.func.grad_and_value(program))
    for _ in range(2):
        assert_allclose(compiled(x)[1], program(x), rtol=1e-12)


SEEING = [
    lambda x: x.tobytes("A"), lambda x: x.data.contiguous, lambda x: x.ctypes.strides[0], lambda x: pickle.dumps(x),
    lambda x: np.lib.stride_tricks.as_strided(x, (2, 2), (8, 8)).tolist(), lambda x: x.view(np.int64).tolist(),
    lambda x: x.__array_interface__["strides"], lambda x: (x * 1).view(np.uint8).shape, lambda x: x.view(complex) * 1,
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:tape.compile runs")
@pytest.mark.parametrize("see", SEEING)
def test_who_gets_plain_numbers_sees_how_they_lie(see):
    """The same numbers may lie otherwise at the next call, and where they do, NumPy may refuse to show them so."""

    def program(x):
        seen = see(x)
        return seen if isinstance(seen, np.ndarray) else x * (hash(str(seen)) % 1000)

    compiled = tape.compile(program)
    wide = np.zeros((4, 12))
    for place in (slice(None, None, 3), slice(0, 4)):
        wide[:, place] = np.arange(16.0).reshape(4, 4)
        for x in (wide[:, place].copy(), np.asfortranarray(wide[:, place]), wide[:, place], wide[:, place].copy()):
            try:
                expected = program(x)
            except ValueError as error:
                with pytest.raises(ValueError, match=str(error)[:30]):
                    compiled(x)
            else:
                assert_allclose(compiled(x), expected)


@pytest.mark.parametrize("shape", [(2, 3), (3, 1, 2), (2, 2, 2)])
def test_axes_are_visited_in_numpys_order(shape):
    memory = np.arange(200.0)
    for steps in itertools.product((0, 1, 3, 9, -3), repeat=len(shape)):
        x = np.lib.stride_tricks.as_strided(memory[100:], shape, [8 * step for step in steps])
        assert_allclose(x.transpose(visited(shape, steps)).ravel(), x.ravel("K"))


def _sealed(x):
    x = x * 1.0
    x.flags.writeable = False
    return x


VIEWS_OF_SEALED = {
    "transposed": lambda x: x.T, "reshaped": lambda x: x.reshape(-1), "an axis more": lambda x: np.expand_dims(x, 0),
    "moved": lambda x: np.moveaxis(x, 0, -1), "real": np.real, "part": lambda x: x[1:], "raveled": np.ravel,
    "turned": np.rot90, "as einsum has it": lambda x: np.einsum("ij->ji", x), "more axes": np.atleast_3d,
    "squeezed": np.squeeze, "of another view": lambda x: x.T[1:].T,
    "broadcast": lambda x: np.broadcast_arrays(x, np.ones((4, 2, 3)))[0],
}  # fmt: skip


@pytest.mark.parametrize("look", VIEWS_OF_SEALED.values(), ids=VIEWS_OF_SEALED)
def test_no_way_of_looking_at_what_is_sealed_lets_it_be_written(look):
    def f(x):
        y = look(_sealed(x))
        try:
            y[...] = 7.0
        except ValueError as error:
            return y.flags.writeable, str(error), y
        return y.flags.writeable, "written", y

    x = np.arange(6.0).reshape(2, 3)
    expected = f(x)
    compiled = tape.compile(f)
    taken = lambda transform: transform(lambda x: (x.sum(), f(x)), has_aux=True)(x)[1]  # noqa: E731
    for found in (compiled(x), compiled(x), taken(tape.func.grad), taken(tape.func.jacfwd)):
        assert found[:2] == expected[:2] == (False, "assignment destination is read-only")
        assert_allclose(found[2], expected[2])


@pytest.mark.parametrize("part", [np.imag, lambda x: x.imag, np.real], ids=["np.imag", "attribute", "np.real"])
def test_parts_of_real_numbers_share_memory_as_numpys_do(part):
    def f(x):
        x = x * 1.0
        y = part(x)
        try:
            y[...] = 7.0
        except ValueError:
            return x, y, y.flags.writeable
        return x, y, y.flags.writeable

    x = np.arange(3.0)
    expected = f(x)
    for found in (tape.compile(f)(x), tape.func.grad(lambda x: (x.sum(), f(x)), has_aux=True)(x)[1]):
        assert found[2] == expected[2]
        assert_allclose(found[0], expected[0])
        assert_allclose(found[1], expected[1])


def test_numbers_are_not_written_through_arrays_that_are_made_of_them():
    def f(x):
        total = x.sum()
        a, b = np.broadcast_arrays(total, x[0])
        a[...] = 9.0
        try:
            total.flags.writeable = False
        except ValueError:
            return total, a, b, np.frexp(x[1])[1]
        return None

    x = np.arange(3.0)
    expected = f(x)
    compiled = tape.compile(f)
    for found in (compiled(x), compiled(x), tape.func.grad(lambda x: (x.sum(), f(x)), has_aux=True)(x)[1]):
        assert_allclose(found, expected)
    assert [type(z) for z in compiled(x)] == [type(z) for z in expected]
