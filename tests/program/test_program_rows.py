"""What goes by rows, by places and by products of matrices: compiled programs give what NumPy and eager code give."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import tape
from ops import REGISTRY
from tape.jit.emission.loop import FEW
from tape.program import record
from tape.program.plans.plan import Plan

RNG = np.random.default_rng(5)
FLOATS = pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=lambda d: d.__name__)


@pytest.fixture(autouse=True)
def _checked(monkeypatch):
    """Every piece of memory is followed by bytes that nobody may write to."""
    monkeypatch.setattr(Plan.__init__, "__defaults__", (True,))


def both(f, *xs, argnums=0):
    """Gradient and value of a program of arrays, replayed by the sweep."""
    with np.errstate(all="ignore"):
        program = record(tape.func.grad_and_value(f, argnums=argnums), *xs)
    sweeper = program.replay.sweeper
    sweeper(xs)
    return sweeper(xs)


def agrees(f, *xs, rtol=1e-12):
    """The compiled gradient and value are those of the eager tape, and the value is NumPy's."""
    with np.errstate(all="ignore"):
        wanted = tape.func.grad_and_value(f)(*xs)
        plain = f(*xs)
    found = both(f, *xs)
    for z, w in zip(found, wanted, strict=True):
        scale = float(np.abs(w, where=np.isfinite(w), out=np.zeros(np.shape(w))).max(initial=0.0))
        narrow = xs[0].dtype == np.float32
        close = {"rtol": 2e-5, "atol": 1e-5 * scale + 1e-6} if narrow else {"rtol": rtol, "atol": 1e-13}
        assert (np.shape(z), np.asarray(z).dtype) == (np.shape(w), np.asarray(w).dtype)
        assert_allclose(z, w, **close)
    assert_allclose(found[-1], plain, **close)


# Indices that are recorded.


def test_other_places_need_no_new_recording():
    """The minibatch of the next step, and the knots between which a number lies now."""

    def loss(x, i):
        return (x[i] * np.arange(1.0, 5.0)).sum()

    step = tape.compile(tape.func.grad(loss))
    x = RNG.standard_normal(6)
    for places in ([0, 1, 2, 3], [5, 5, 5, 0], [-1, -6, 2, 2]):
        wanted = np.zeros(6)
        np.add.at(wanted, places, np.arange(1.0, 5.0))
        assert_array_equal(step(x, np.array(places)), wanted)
    assert len(step.programs) == 1

    def between(values, late):
        t = np.linspace(0.0, 3.5, 7) + late
        k = np.clip(np.searchsorted(np.arange(5.0), t) - 1, 0, 3)
        return (values[k] * (k + 1.0 - t) + values[k + 1] * (t - k)).sum()

    slope = tape.compile(tape.func.grad(between, argnums=(0, 1)))
    values = RNG.standard_normal(5)
    for late in (0.0, 0.25, 0.4):
        for found, wanted in zip(slope(values, late), tape.func.grad(between, argnums=(0, 1))(values, late)):
            assert_allclose(found, wanted, rtol=1e-13)
    assert len(slope.programs) == 1


@FLOATS
@pytest.mark.parametrize(
    ("form", "shape"),
    [
        (lambda i, j: i, (5,)),
        (lambda i, j: (slice(None), i), (2, 5)),
        (lambda i, j: (i, j), (5, 5)),
        (lambda i, j: (i, slice(1, None), j), (5, 3, 5)),
        (lambda i, j: (Ellipsis, i[:, None], j), (3, 5, 5)),
        (lambda i, j: (i, None, 1), (5, 3)),
        (lambda i, j: (np.array([True, False, True]), i[:2]), (3, 5)),
    ],
)
def test_recorded_indices(form, shape, dtype):
    x, i, j = RNG.standard_normal(shape).astype(dtype), np.array([0, 4, -1, 0]), np.array([2, 2, 0, -5])

    def read(x, i, j):
        return (x[form(i, j)] ** 2).sum()

    def written(x, i, j):
        y = x * 1.0
        y[form(i, j)] = x[form(i, j)] ** 2
        y[form(j, i)] += 1.0
        return (y * y).sum()

    agrees(read, x, i, j)
    with np.errstate(all="ignore"):
        agrees(written, x, i, j)


def test_a_recorded_index_out_of_range():
    step = tape.compile(lambda x, i: x[i] * 2.0)
    x = np.arange(3.0)
    assert_array_equal(step(x, np.array([2, -3])), [4.0, 0.0])
    for _ in range(2):
        with pytest.raises(IndexError, match="out of bounds"):
            step(x, np.array([0, 3]))
        assert_array_equal(step(x, np.array([1, 1])), [2.0, 2.0])
    assert step(x, np.zeros(0, int)).shape == (0,)


def test_second_derivatives_and_lanes_through_recorded_indices():
    x, i = RNG.standard_normal(4), np.array([0, 0, 3])
    f = lambda x, i: (x[i] ** 3).sum()  # noqa: E731
    assert_allclose(tape.compile(tape.func.hessian(f))(x, i), np.diag([12.0, 0.0, 0.0, 6.0] * x), rtol=1e-13)
    rows = np.array([[0, 1, 2], [3, 3, 3]])
    found = tape.compile(tape.func.vmap(tape.func.grad(f), in_dims=(None, 0)))(x, rows)
    assert_allclose(found, [3 * x**2 * [1, 1, 1, 0], 3 * x**2 * [0, 0, 0, 3]], rtol=1e-13)


ORDERED = {
    "read": lambda x: (x[np.argsort(x)] * np.arange(4)).sum(),
    "of a number": lambda x: (x[np.floor(0.5 * x).astype(int)] * x).sum(),
    "written": lambda x: (put(x, np.argsort(x)) ** 2).sum(),
    "in lanes": lambda x: tape.func.vmap(lambda y: (y[np.argsort(x)] * x).sum())(np.outer(x, x)).sum(),
}


def put(x, places):
    y = x * 1.0
    y[places[:2]] = x[places[2:]] ** 2
    y[places[1:3]] += x[0]
    return y


@pytest.mark.parametrize("name", ORDERED)
@pytest.mark.parametrize("way", ["grad", "jacfwd", "jacrev", "hessian"])
def test_places_that_are_computed(name, way):
    """Other numbers, in another order: no derivative goes through the places, and what only reads is recorded once."""
    transformed = getattr(tape.func, way)(ORDERED[name])
    compiled = tape.compile(transformed)
    for x in ([3.0, 1.0, 2.0, 5.0], [0.5, 4.0, 7.0, 0.1], [3.0, 1.0, 2.0, 5.5]):
        assert_allclose(compiled(np.array(x)), transformed(np.array(x)), rtol=1e-13)
    assert name == "written" or len(compiled.programs) == 1


def test_tangents_of_programs_with_places():
    x, u = np.array([3.0, 1.0, 2.0, 5.0]), np.arange(4.0)
    for name in ("read", "of a number", "written"):
        f = ORDERED[name]
        found = tape.compile(lambda x, u, f=f: tape.func.jvp(f, (x,), (u,))[1])(x, u)
        assert_allclose(found, tape.func.grad(f)(x) @ u, rtol=1e-13)


@FLOATS
def test_gathers_and_sums_at_places_in_every_layout(dtype):
    """Along any axis, with rows of any stride, bit for bit."""
    x, places = RNG.standard_normal((6, 5, 4)).astype(dtype), RNG.integers(-2, 2, (3, 2))
    for array in (x, x[::2, ::-1], x.transpose(2, 0, 1)):
        for axis in (0, 1, 2):
            op, params = REGISTRY["take"], {"axis": axis}
            found = record(lambda x, i, op=op, p=params: op(x, i, **p), array, places).replay.sweeper((array, places))[
                0
            ]
            assert_array_equal(found, np.take(array, places, axis))
    for array in (x[0, :, 0], x[0].T):
        many = RNG.integers(-3, 3, array.shape[0])
        f = lambda y, i, array=array: (y[i] * array).sum()  # noqa: E731
        base = RNG.standard_normal((3, *array.shape[1:])).astype(dtype)
        wanted = np.zeros_like(base)
        np.add.at(wanted, many, array)
        assert_array_equal(both(f, base, many)[0], wanted)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("n", [0, 1, 2, 7, 300])
def test_searches(n, side):
    """Numbers in order and not, equal ones, nan and infinity, in the array and among the keys: NumPy's places."""
    array = np.sort(RNG.integers(0, max(n, 1), n).astype(float))
    keys = np.concatenate([RNG.uniform(-1, n + 1, 700), array, [np.nan, np.inf, -np.inf, 0.0, -0.0]])
    arrays = [array, RNG.permutation(array)]
    if n > 1:
        arrays += [np.append(array[:-1], np.nan), np.append(array[:-1], np.inf), np.full(n, np.nan)]
    for x in arrays:
        for y in (keys, keys[::-3], keys[:2], keys[:1]):
            op = REGISTRY["searchsorted"]
            found = record(lambda x, y, op=op: op(x, y, side=side), x, y).replay.sweeper((x, y))[0]
            assert_array_equal(found, np.searchsorted(x, y, side))


UNEVEN = {
    "at equal distances": np.linspace(-3.0, 4.0, 101),
    "random": np.sort(RNG.standard_normal(500)),
    "equal ones": np.sort(RNG.integers(0, 9, 90).astype(float)),
    "all equal": np.full(40, 2.5),
    "powers": 10.0 ** np.arange(-300, 301, 10),
    "one far away": np.append(np.arange(60.0), 1e300),
    "all of them": np.arange(-25, 26) * 7e306,
    "subnormal": np.arange(64) * 5e-324,
    "zeros of both signs": np.sort(np.append(np.arange(-20.0, 20.0), [-0.0, 0.0, -0.0])),
    "neighbours": 1.0 + np.arange(70) * np.finfo(float).eps,
    "infinite": np.concatenate([[-np.inf], np.arange(30.0), [np.inf, np.inf]]),
}


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("name", UNEVEN)
def test_searches_at_any_distances(name, side):
    """NumPy's places, however the numbers of the array lie; keys at them, beside them, between them and far away."""
    x = UNEVEN[name]
    with np.errstate(all="ignore"):
        keys = np.concatenate(
            [x, np.nextafter(x, np.inf), np.nextafter(x, -np.inf), 0.5 * x[1:] + 0.5 * x[:-1], 1.1 * x]
        )
    keys = RNG.permutation(np.concatenate([keys, [np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, -0.0]]))
    op = REGISTRY["searchsorted"]
    program = record(lambda x, y: op(x, y, side=side), x, keys)
    assert_array_equal(program.replay.sweeper((x, keys))[0], np.searchsorted(x, keys, side))
    assert program.statistics().stops == 0


EVEN = {
    "one after another": np.arange(3, 9),
    "backwards": np.arange(9, 2, -2),
    "windows": np.add.outer(np.arange(7), np.arange(4)),
    "repeated": np.full((2, 3), 5),
    "one": np.array([[4]]),
    "uneven": np.array([0, 1, 3]),
    "uneven in a row": np.array([[0, 1, 2], [3, 4, 6]]),
    "negative": np.arange(-3, 3),
}


@FLOATS
@pytest.mark.parametrize("name", EVEN)
def test_places_at_equal_distances(name, dtype):
    """Known places are strides where they can be, also when what they were read from is written later."""
    places, x = EVEN[name].copy(), RNG.standard_normal((10, 10)).astype(dtype)
    places.flags.writeable = False

    def f(x):
        y = np.tanh(x)
        z = np.take(y, places, axis=1)
        y[:, 2:6] = 0.5
        y[places] *= 2.0
        return (z * z).sum() + (np.take(y, places, axis=0) * y[0]).sum()

    agrees(f, x)
    agrees(f, x.T)
    found = record(lambda x: np.take(x, places, axis=0), x).replay.sweeper((x,))[0]
    assert_array_equal(found, x[places])
    assert not np.shares_memory(found, x)


@FLOATS
@pytest.mark.parametrize("n", [3, 4, 40, 300])
def test_windows(n, dtype):
    x, w = RNG.standard_normal(n).astype(dtype), RNG.standard_normal(3).astype(dtype)
    windows = np.lib.stride_tricks.sliding_window_view
    for f in (
        lambda w, x: np.tanh(windows(x, 3) @ w).sum(),
        lambda w, x: (w @ windows(x, 3).T).sum(),
        lambda w, x: (x[: n - 2] @ windows(x, 3) * w).sum(),
        lambda w, x: (windows(x, 3) @ np.outer(w, w)).sum(),
        lambda w, x: (windows(np.outer(w, x), (2, 3)) ** 2).sum(),
    ):
        agrees(f, w, x)
        agrees(lambda x, w, f=f: f(w, x), x, w)
        agrees(lambda x, w, f=f: f(w, x), np.repeat(x, 2)[::2], w)


def test_bounds_of_whole_numbers():
    f = lambda x, i: (x[np.clip(i, 0, 2)] + x[np.maximum(i, 1)] + x[np.minimum(i, 0)]).sum()  # noqa: E731
    agrees(f, RNG.standard_normal(4), np.array([-2, 0, 3, 1]))


# Rows.

ROWS = {
    "usual": lambda: RNG.standard_normal((5, 40)),
    "one row": lambda: RNG.standard_normal((1, 33)),
    "one column": lambda: RNG.standard_normal((7, 1)),
    "no rows": lambda: np.zeros((0, 20)),
    "strided": lambda: RNG.standard_normal((10, 80))[::2, ::-2],
    "turned": lambda: RNG.standard_normal((33, 6)).T,
    "ties": lambda: np.repeat(RNG.integers(0, 2, (6, 17)).astype(float), 2, axis=1),
    "infinite": lambda: np.where(RNG.uniform(size=(8, 20)) < 0.1, np.inf, RNG.standard_normal((8, 20))),
    "-infinite": lambda: np.where(RNG.uniform(size=(8, 20)) < 0.1, -np.inf, RNG.standard_normal((8, 20))),
    "nan": lambda: np.where(RNG.uniform(size=(8, 20)) < 0.05, np.nan, RNG.standard_normal((8, 20))),
}
BY_ROWS = {
    "most": lambda x: x.max(axis=1).sum(),
    "least": lambda x: (x.min(axis=1, keepdims=True) * x).sum(),
    "softmax": lambda x: (softmax(x) * np.cos(np.arange(x.shape[1]))).sum(),
    "log-sum-exp": lambda x: log_sum_exp(x).sum(),
    "normalised": lambda x: ((normalised(x) + 0.5) ** 3).sum(),
    "columns": lambda x: ((x / (1.0 + (x * x).sum(axis=1)[:, None])) ** 2).sum(),
    "over columns": lambda x: ((x - x.mean(axis=0)) ** 2 * (x * x).sum(axis=0)).sum(),
}


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def log_sum_exp(x):
    most = x.max(axis=1)
    return most + np.log(np.exp(x - most[:, None]).sum(axis=1))


def normalised(x):
    centred = x - x.mean(axis=1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 0.1)


@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:invalid value")
@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("program", BY_ROWS)
def test_rows(program, rows):
    x = ROWS[rows]()
    if rows == "no rows" and program == "over columns":
        x = np.zeros((3, 0))
    for dtype in (np.float64, np.float32):
        agrees(BY_ROWS[program], x.astype(dtype, copy=False))


def test_ties_share_the_gradient():
    x = np.array([[1.0, 2.0, 2.0, 0.0] * 5, [3.0] * 20])
    found = both(lambda x: (x.max(axis=1) * np.array([1.0, 2.0])).sum(), x)[0]
    assert_array_equal(found, [[0.0, 0.1, 0.1, 0.0] * 5, [0.1] * 20])


def test_rows_that_are_read_several_times():
    """Squared distances of all pairs, of points that lie anyhow."""
    points, centres = RNG.standard_normal((9, 40)), RNG.standard_normal((20, 4))
    f = lambda c, x: ((x[:, None, :] - c[None, :, :]) ** 2).sum(axis=2).min(axis=1).sum()  # noqa: E731
    for x, c in (
        (points[:, :20], centres.T),
        (points[::2, ::2], centres.T[::-1]),
        (points.T[:, ::-1], np.repeat(centres[:3, :1], 9, axis=1)),
    ):
        for dtype in (np.float64, np.float32):
            agrees(f, c.astype(dtype), x.astype(dtype, copy=False))
            agrees(f, np.asfortranarray(c.astype(dtype)), x.astype(dtype, copy=False))


# Truth values as numbers.


@FLOATS
def test_truth_values_are_numbers(dtype):
    x = RNG.standard_normal((6, 20)).astype(dtype)
    x[0, :3] = np.nan, np.inf, 0.0
    for f in (
        lambda x: ((x > 0) * x).sum(),
        lambda x: ((x > 0) * (x < 1) * x).sum(axis=1).sum(),
        lambda x: (np.isnan(x) * 2.0 + np.where(x > 0.5, x > 1, x)).sum(),
        lambda x: ((x > 0).mean() * x[1:] * (x[1:] > 0)).sum(),
        lambda x: ((x > 0) + (x > 1) - np.float32(0.5) * (x < 0)).sum() + 0.0 * x[1].sum(),
        lambda x: np.maximum(x[1:] > 0, x[1:]).sum(),
    ):
        agrees(f, x)


def test_a_mask_from_outside_is_numbers_too():
    x, mask = RNG.standard_normal((4, 20)), RNG.uniform(size=(4, 20)) < 0.5
    agrees(lambda x, m: (m * x**2 + (x > 0) * m).sum(axis=1).sum(), x, mask)
    agrees(lambda x, m: (x * m[0]).sum() * m[1, 2], x, mask)


@pytest.mark.parametrize("count", [1, FEW, FEW + 1, 3 * FEW])
def test_few_sums_and_many(count):
    """Those in registers and those in memory."""
    x = RNG.standard_normal(1000)
    f = lambda x: sum(((x + k) ** 2).sum() * (k + 1.0) for k in range(count))  # noqa: E731
    agrees(f, x)
    program = record(lambda x: tuple(((x + k) ** 2).sum() for k in range(count)), x)
    assert_allclose(program.replay.sweeper((x,)), [((x + k) ** 2).sum() for k in range(count)], rtol=1e-13)
    rows = x.reshape(10, 100)
    program = record(lambda x: tuple(((x + k) ** 2).sum(axis=1) for k in range(count)), rows)
    for found, k in zip(program.replay.sweeper((rows,)), range(count)):
        assert_allclose(found, ((rows + k) ** 2).sum(axis=1), rtol=1e-13)


# Products.

CONTRACTIONS = [
    ("ij,jk->ik", (3, 4), (4, 5)), ("ij,jk->ki", (3, 4), (4, 5)), ("ji,kj->ik", (4, 3), (5, 4)),
    ("kij,nkj->nki", (3, 4, 4), (9, 3, 4)), ("nki,nkj->kij", (9, 3, 4), (9, 3, 4)),
    ("nki,kij->nkj", (9, 3, 4), (3, 4, 4)), ("i,j->ij", (3,), (4,)), ("i,j->ji", (3,), (4,)),
    ("ij,ij->", (3, 4), (3, 4)), ("ij,j->i", (3, 4), (4,)), ("i,ij->j", (3,), (3, 4)),
    ("bij,bj->bi", (6, 3, 4), (6, 4)), ("ijk,jkl->il", (2, 3, 4), (3, 4, 5)),
    ("ijk,kl->ijl", (2, 3, 4), (4, 5)), ("ij,ij->ij", (3, 4), (3, 4)), ("bi,bi->b", (70, 3), (70, 3)),
    ("ij,jk->ik", (1, 4), (4, 1)), ("ij,ij->ij", (1, 4), (3, 4)), ("ijk,jl->lik", (2, 3, 4), (3, 5)),
    (",i->i", (), (3,)), ("ij,jk->ik", (40, 30), (30, 20)), ("ij,jk->ik", (0, 4), (4, 5)),
    ("ij,jk->ik", (3, 0), (0, 5)), ("ij,k->k", (3, 2), (4,)),
]  # fmt: skip


@FLOATS
@pytest.mark.parametrize(("subscripts", "left", "right"), CONTRACTIONS, ids=lambda x: str(x))
def test_contractions(subscripts, left, right, dtype):
    x, y = RNG.standard_normal(left).astype(dtype), RNG.standard_normal(right).astype(dtype)
    f = lambda x, y: (np.einsum(subscripts, x, y) ** 2).sum()  # noqa: E731
    agrees(f, x, y)
    agrees(lambda y, x: f(x, y), y, x)
    wide = RNG.standard_normal((*left[:-1], 2 * left[-1]) if left else ()).astype(dtype)
    spaced = wide[..., ::2] if left else wide
    found = record(lambda x, y: np.einsum(subscripts, x, y), spaced, np.asfortranarray(y)).replay
    wanted, rtol = np.einsum(subscripts, spaced, y), 2e-4 if dtype == np.float32 else 1e-12
    assert_allclose(found.sweeper((spaced, np.asfortranarray(y)))[0], wanted, rtol=rtol, atol=1e-5)


@pytest.mark.parametrize("n", [1, 5, 7, 30])
def test_systems_with_a_factor(n):
    """By substitution, in any direction: what NumPy finds by elimination, but for rounding."""
    a = RNG.standard_normal((n, n))
    a = a @ a.T + n * np.eye(n)
    vector, columns = RNG.standard_normal(n), RNG.standard_normal((n, 3))
    for f in (
        lambda a, b: (np.linalg.solve(np.linalg.cholesky(a), b) ** 2).sum(),
        lambda a, b: (np.linalg.solve(np.linalg.cholesky(a).T, b) ** 2).sum(),
        lambda a, b: (np.linalg.solve(np.linalg.cholesky(a).T.T, b) ** 2).sum(),
        lambda a, b: (np.linalg.solve(np.swapaxes(np.linalg.cholesky(a), 0, 1), b) ** 2).sum(),
        lambda a, b: (np.linalg.inv(np.linalg.cholesky(a)) @ b).sum(),
        lambda a, b: (np.linalg.solve(2.0 * np.linalg.cholesky(a), b) ** 2).sum(),
    ):
        agrees(f, a, vector, rtol=1e-9)
        agrees(f, a, columns, rtol=1e-9)
    stack = np.stack([a, 2.0 * a])
    f = lambda a, b: (np.linalg.solve(np.swapaxes(np.linalg.cholesky(a), 1, 2), b) ** 2).sum()  # noqa: E731
    agrees(f, stack, columns, rtol=1e-9)
    agrees(f, stack, vector, rtol=1e-9)
