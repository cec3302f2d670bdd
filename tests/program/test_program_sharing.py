"""Results of compiled functions share memory with arguments, arrays around them and each other as NumPy's do."""

import numpy as np
import pytest

import tape
from tape.base.tree import leaves_of

TABLE = np.arange(6.0).reshape(2, 3)


def doubled(x):
    z = x * 2
    return z, z[1:], z.T


def filled(x):
    z = np.zeros(3)
    z += x[0]
    z[0] = x[1, 1]
    return z, z[1:], x[0]


def once_and_again(x):
    v = x[1:]
    return v, x[1:], v


def in_each_place(x):
    v, z = x[:, 1:], (x * 2)[0]
    return {"a": v, "b": [v, (v, x.T)], "c": (z, z)}


class Keeps:
    def __init__(self, table):
        self.table = table


FUNCTIONS = {
    "itself": lambda x: x,
    "and a number": lambda x: (x, x.sum()),
    "twice": lambda x: [x, x],
    "all of it": lambda x: x[...],
    "a row": lambda x: x[1],
    "an element": lambda x: x[0, 0],
    "without axes": lambda x: x[0, 0, ...],
    "transposed": lambda x: {"a": x.T, "b": (x,)},
    "flat": lambda x: x.reshape(-1)[2:],
    "read-only": lambda x: np.diagonal(x),
    "broadcast": lambda x: np.broadcast_to(x, (2, 2, 3)),
    "backwards": lambda x: x[::-1, ::2],
    "no copy": lambda x: np.asarray(x),
    "a copy": lambda x: (np.array(x), x.copy(), x.flatten(), x + 0, x[[0, 1]]),
    "parts": lambda x: (x.reshape(-1)[:2], x.reshape(-1)[2:].reshape(2, 2)),
    "one of two": lambda x: x if x[0, 0] > 0 else x * 2,
    "split": lambda x: np.split(x, 3, axis=1),
    "around": lambda x: (TABLE, x),
    "part of what is around": lambda x: TABLE[0],
    "of each other": doubled,
    "of what was filled": filled,
    "one view twice": once_and_again,
    "one view in each place": in_each_place,
    "one of what was made": lambda x: [(x * 2)[1:]] * 2,
    "one read-only": lambda x: [np.broadcast_to(x, (2, 2, 3))] * 2,
}
LAYOUTS = {
    "rows": lambda a: a,
    "columns": np.asfortranarray,
    "strided": lambda a: np.repeat(a, 2, axis=1)[:, ::2],
    "backwards": lambda a: a[::-1, ::-1],
}


def arrays_in(result):
    if isinstance(result, dict):
        result = list(result.values())
    if isinstance(result, (tuple, list)):
        return [x for part in result for x in arrays_in(part)]
    return [result] if isinstance(result, np.ndarray) else []


def sharing(result, x):
    """What of a result is the same object as something else, and shares memory with what."""
    found, known = arrays_in(result), [x, TABLE]
    return [
        ([z is y for y in (*known, *found)], [np.shares_memory(z, y) for y in (*known, *found)], z.flags.writeable)
        for z in found
    ]


def fitting(number, seed):
    x = np.random.default_rng(seed).normal(size=(2, 3))
    return list(LAYOUTS.values())[number % len(LAYOUTS)](x)


def compare(function, compiled, number, seed):
    """Call both, write into what they give, and compare what became of their arguments."""
    x, y, table = fitting(number, seed), fitting(number, seed), TABLE.copy()
    expected = function(x)
    facts, values = sharing(expected, x), [z.copy() for z in arrays_in(expected)]
    got = compiled(y)
    assert sharing(got, y) == facts
    for z, value in zip(arrays_in(got), values):
        np.testing.assert_allclose(z, value, rtol=1e-14)
    for result in (expected, got):
        for z in arrays_in(result):
            if z.flags.writeable:
                z[...] = 7.0
    np.testing.assert_array_equal(y, x)
    TABLE[...] = table


@pytest.mark.parametrize("layouts", [(0,), (1,), (2,), (0, 1, 2, 3)])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_are_views_where_numpy_gives_views(name, layouts):
    compiled = tape.compile(FUNCTIONS[name])
    for seed in range(5):
        compare(FUNCTIONS[name], compiled, layouts[seed % len(layouts)], seed)
    assert compiled.programs


@pytest.mark.parametrize(
    "name", ["itself", "and a number", "twice", "transposed", "around", "one of two", "one view twice"]
)
def test_so_they_are_after_many_calls(name):
    compiled = tape.compile(FUNCTIONS[name])
    for seed in range(300):
        compare(FUNCTIONS[name], compiled, 0, seed)


def test_an_array_of_an_object_among_the_arguments_is_not_given_for_another_objects():
    compiled = tape.compile(lambda thing, x: (thing.table, x * 2))
    for _ in range(3):
        thing = Keeps(np.arange(3.0))
        found, _ = compiled(thing, np.ones(3))
        np.testing.assert_array_equal(found, thing.table)
        found[...] = 5.0
        np.testing.assert_array_equal(compiled(Keeps(np.arange(3.0)), np.ones(3))[0], np.arange(3.0))


def test_what_is_around_is_noticed_when_it_is_written_through_a_result():
    compiled = tape.compile(lambda x: (TABLE, (x * TABLE).sum()))
    before = TABLE.copy()
    for k in range(4):
        table, total = compiled(np.ones((2, 3)))
        assert total == TABLE.sum()
        table[0, 0] = k
    TABLE[...] = before


def test_gradients_through_a_compiled_function_that_gives_its_argument():
    compiled = tape.compile(lambda x: (x, tape.stop_gradient(x), x[1:]))
    x = np.array([1.0, 2.0, 3.0])

    def f(x):
        a, b, c = compiled(x)
        return (a * b).sum() + (c * c).sum()

    for _ in range(3):
        np.testing.assert_allclose(tape.func.grad(f)(x), [1.0, 6.0, 9.0])


ORDERS = {
    "rows": lambda a: a.copy(),
    "columns": lambda a: np.array(a, order="F"),
    "strided": lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
    "backwards": lambda a: a[::-1].copy()[::-1],
}
ASKING = {
    "in a row": lambda x: x.ravel(),
    "by columns": lambda x: x.ravel("F"),
    "flat": lambda x: x.reshape(-1),
    "part of it": lambda x: x[1:].ravel(),
    "contiguous": lambda x: np.ascontiguousarray(x),
    "columns": lambda x: np.asfortranarray(x),
    "required": lambda x: np.require(x, requirements="C"),
    "no copy": lambda x: x.astype(float, order="C", copy=False),
    "no copy by columns": lambda x: x.astype(float, order="F", copy=False),
    "a row of the function's own": lambda x: (y := x * 2, y[0].reshape(-1).ravel())[1],
}


def shares(f, x):
    z = f(x)
    z[...] = 7.0
    return np.shares_memory(z, x), x.tolist()


@pytest.mark.filterwarnings("ignore:tape.compile runs")
@pytest.mark.parametrize("shape", [(6,), (2, 3)])
@pytest.mark.parametrize("name", ASKING)
def test_a_view_for_one_order_is_a_copy_for_another_whichever_came_first(name, shape):
    f, x = ASKING[name], np.arange(6.0).reshape(shape)
    for first in ORDERS:
        giving, writing = tape.compile(f), tape.compile(lambda x: (f(x).fill(7.0), x.sum())[1])
        for order in (first, *ORDERS, first):
            given = [ORDERS[order](x) for _ in range(4)]
            assert shares(giving, given[0]) == shares(f, given[1]), (first, order)
            f(given[3]).fill(7.0)
            assert writing(given[2]) == given[3].sum(), (first, order)
            assert given[2].tolist() == given[3].tolist(), (first, order)


WITHOUT_AXES = {
    "chosen": lambda x: np.where(x[0] > 0, x[0], 2.0), "covariance": np.cov, "zeros": lambda x: np.zeros_like(x[0]),
    "squeezed": lambda x: np.squeeze(x[:1]), "copied": lambda x: np.copy(x[0]), "made": lambda x: np.array(x.sum()),
    "element": lambda x: x[0, ...], "with a number": lambda x: (np.array(x[0] * 2), x.sum()),
    "filled": lambda x: _filled(x), "and what it shows": lambda x: _and_what_it_shows(x), "sum": lambda x: x.sum(),
    "a constant": lambda x: (np.array(1.5), np.float64(2.5)), "as an array": lambda x: np.asarray(x.mean()),
    "broadcast": lambda x: np.broadcast_arrays(x[0], x[1]), "truth": lambda x: np.asarray(x[0] > x[1]),
    "read-only": lambda x: np.broadcast_to(x.sum(), ()),
}  # fmt: skip


def _filled(x):
    y = np.zeros(())
    y[()] = x.sum()
    return y


def _and_what_it_shows(x):
    y = np.array(x.sum())
    return y, y.reshape(1)


@pytest.mark.parametrize("f", WITHOUT_AXES.values(), ids=WITHOUT_AXES)
def test_results_without_axes_are_arrays_or_numbers_as_numpys_are(f):
    compiled = tape.compile(f)
    for seed in (*range(3), *([3] * 300)):
        x = np.random.default_rng(seed).normal(size=4)
        expected, found = f(x), compiled(x)
        pairs = list(zip(expected, found)) if isinstance(expected, tuple) else [(expected, found)]
        for y, z in pairs:
            assert type(z) is type(y)
            assert getattr(z, "flags", None) is None or z.flags.writeable == y.flags.writeable
            np.testing.assert_allclose(z, y, rtol=1e-12)
        arrays = [(y, z) for y, z in pairs if isinstance(y, np.ndarray) and y.flags.writeable]
        if arrays:
            arrays[-1][0][...] = arrays[-1][1][...] = 9.0
            for y, z in pairs:
                np.testing.assert_allclose(z, y, rtol=1e-12)
    program = tape.record(f, np.ones(4))
    kinds = [type(x) for x in arrays_and_numbers(f(np.ones(4)))]
    assert [type(x) for x in arrays_and_numbers(program(np.ones(4)))] == kinds


def arrays_and_numbers(result):
    return list(result) if isinstance(result, tuple) else [result]


def test_a_result_that_is_not_to_be_written_is_given_after_many_calls_too():
    def f(x):
        y = x * 2
        y.flags.writeable = False
        return y

    compiled = tape.compile(f)
    for k in range(400):
        found = compiled(np.arange(3.0) + k)
        assert not found.flags.writeable
        np.testing.assert_array_equal(found, (np.arange(3.0) + k) * 2)


OF_A_VECTOR = {
    "trim": lambda v: np.polynomial.Polynomial(v).trim().coef, "series": lambda v: np.polynomial.Polynomial(v).coef,
    "trimcoef": lambda v: np.polynomial.polyutils.trimcoef(v), "no differences": lambda v: np.diff(v, 0),
    "squeeze": np.squeeze, "real": np.real, "conj": np.conj, "float": lambda v: np.asarray(v, float),
    "require": lambda v: np.require(v, requirements="C"), "broadcast": lambda v: np.broadcast_to(v, (3,)),
    "trim_zeros": np.trim_zeros, "unwrap": np.unwrap, "in place": lambda v: np.nan_to_num(v, copy=False),
    "astype": lambda v: v.astype(float, copy=False), "rolled": lambda v: np.roll(v, 0),
    "tiled": lambda v: np.tile(v, 1),
    "padded": lambda v: np.pad(v, 0), "moved": lambda v: np.moveaxis(v, 0, 0), "flip": np.flip, "plus": lambda v: +v,
    "clip": lambda v: np.clip(v, None, 10), "einsum": lambda v: np.einsum("i->i", v),
    "poly1d": lambda v: np.poly1d(v).c,
    "no derivative": lambda v: np.polyder(v, 0), "split": lambda v: np.array_split(v, 1)[0], "all": lambda v: v[...],
    "key of none": lambda v: v[()], "shift": np.fft.fftshift, "sum of none": lambda v: np.sum(v, axis=()),
    "no number": lambda v: np.delete(v, []), "strided": lambda v: np.lib.stride_tricks.as_strided(v),
}  # fmt: skip
OF_A_MATRIX = {
    "first power": lambda m: np.linalg.matrix_power(m, 1), "no power": lambda m: np.linalg.matrix_power(m, 0),
    "T": lambda m: m.T, "diagonal": np.diagonal, "triangle": np.triu, "einsum": lambda m: np.einsum("ij->ji", m),
    "swapped": lambda m: m.swapaxes(0, 0), "chain": lambda m: np.linalg.multi_dot([m, m]),
}  # fmt: skip


@pytest.mark.parametrize(
    ("f", "x"),
    [(f, np.arange(1.0, 4.0)) for f in OF_A_VECTOR.values()] + [(f, 2 * np.eye(2)) for f in OF_A_MATRIX.values()],
    ids=[*OF_A_VECTOR, *OF_A_MATRIX],
)
@pytest.mark.filterwarnings("ignore:tape.compile runs:RuntimeWarning")
def test_results_are_arguments_or_views_where_numpys_are(f, x):
    def facts(g):
        y = x.copy()
        z = g(y)
        return z is y, np.shares_memory(z, y), z.flags.writeable, z.shape

    fast = tape.compile(f)
    assert facts(fast) == facts(fast) == facts(f)


EACH = {
    "alone": lambda x, y, k: np.broadcast_arrays(x),
    "of one shape": lambda x, y, k: np.broadcast_arrays(x, x),
    "spread": lambda x, y, k: np.broadcast_arrays(x, y),
    "with a number": lambda x, y, k: np.broadcast_arrays(x, k),
    "with what is made": lambda x, y, k: np.broadcast_arrays(x, np.ones(3), x * 2),
    "of classes": lambda x, y, k: np.broadcast_arrays(x, y, subok=True),
    "numbers": lambda x, y, k: np.broadcast_arrays(k, x[0]),
    "at least one axis": lambda x, y, k: np.atleast_1d(x, k, y),
    "at least two axes": lambda x, y, k: np.atleast_2d(x, y, k),
    "at least three axes": lambda x, y, k: np.atleast_3d(y, x),
    "a mesh": lambda x, y, k: np.meshgrid(x, x, copy=False),
    "spread to no axes": lambda x, y, k: [np.broadcast_to(x[0], ()) * 1, np.broadcast_to(k, ())],
}


@pytest.mark.filterwarnings("ignore:future versions will not create a writeable array:FutureWarning")
@pytest.mark.parametrize("name", EACH)
def test_what_is_given_for_each_of_several_arrays_is_theirs_where_it_is_numpys(name):
    x, y, k = np.array([1.0, 2.0, 3.0]), np.ones((2, 3)), np.float64(2.0)

    def told(f):
        found = f(x, y, k)
        shown = [(z is x, z is y, np.shares_memory(z, x), np.shares_memory(z, y)) for z in found]
        return type(found), shown, [(type(z), z.tolist(), z.flags.writeable) for z in found]

    compiled = tape.compile(EACH[name])
    for _ in range(20):
        assert told(compiled) == told(EACH[name])


@pytest.mark.parametrize("f", [lambda y: y[..., 0], lambda y: [y, y[..., 0]], lambda y: [y[1:], y.T, y[::2, None]]])
def test_views_of_what_is_repeated_and_not_to_be_written(f):
    y, compiled = np.broadcast_to(np.array(-3.0), (3,)), tape.compile(f)
    for x in (y, y.copy(), y, np.broadcast_to(y, (2, 3))[0]):
        found, expected = leaves_of(compiled(x)), leaves_of(f(x))
        assert [z.shape for z in found] == [z.shape for z in expected]
        assert [z.flags.writeable for z in found] == [z.flags.writeable for z in expected]


SPREAD = {
    "a number": lambda x: np.broadcast_arrays(x, 1)[1], "a list": lambda x: np.broadcast_arrays(x, [1.0, 2.0, 3.0])[1],
    "what is made": lambda x: np.broadcast_arrays(x * 2, np.ones(3))[1],
    "second derivatives": tape.func.hessian(lambda x: x.sum()),
    "derivatives of what is spread": tape.func.jacfwd(lambda x: np.broadcast_to(x[0], (4, 3))),
    "of several": tape.func.hessian(lambda x: x.sum() ** 2), "lanes": tape.func.vmap(lambda x: np.ones(2) * x.sum()),
}  # fmt: skip


@pytest.mark.parametrize("name", SPREAD)
def test_numbers_that_are_spread_may_be_written(name):
    """What a call gives is the caller's, and no number stands in two places."""
    x = np.arange(6.0).reshape(2, 3)
    compiled = tape.compile(SPREAD[name])
    for function in (SPREAD[name], compiled, compiled):
        if function is SPREAD[name] and "derivatives" not in name:
            continue
        found, again = function(x), function(x)
        assert found.flags.writeable
        if "derivatives" in name:
            assert found.flags.c_contiguous
        found.flat[0] = 7.0
        assert (found.ravel()[1:] == again.ravel()[1:]).all()
        assert found.dtype == SPREAD[name](x).dtype
