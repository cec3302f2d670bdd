"""Adjoints in pieces: parts of arrays that are read and written cost what they are, and give what whole arrays give."""

from __future__ import annotations

import random

import numpy as np
import pytest
from products_of_parts import covariances

import ops
import tape
from tape.base.spec import spec
from tape.func import grad, hessian, jvp, vmap
from tape.program import record
from tape.program.adjoints.pieces import Pieces
from tape.program.plans.plan import Plan
from tape.program.plans.shifted import runs_of
from tape.program.recorded import indexmaps
from tape.program.recorded.boxes import index_of, region_of, shape_of, split
from tape.program.recorded.large import later


def some_index(pick, shape, steps=(None, 1, 1, 2, -1, -2)):
    """An index of integers and slices, not always one for each axis."""
    parts = []
    for n in shape[: pick.randint(1, len(shape))]:
        if pick.random() < 0.4:
            parts.append(pick.randrange(-n, n))
        else:
            parts.append(slice(*(pick.choice((None, pick.randrange(-n, n + 1))) for _ in range(2)), pick.choice(steps)))
    if pick.random() < 0.2:
        parts.append(...)
    return parts[0] if len(parts) == 1 and pick.random() < 0.5 else tuple(parts)


SHAPES = ((6,), (1,), (3, 4), (5, 5), (2, 3, 3))


@pytest.mark.parametrize("seed", range(60))
def test_regions_are_indices(seed):
    pick = random.Random(seed)
    shape = pick.choice(SHAPES)
    x = np.arange(np.prod(shape)).reshape(shape)
    first = some_index(pick, shape)
    region = region_of((first,), shape)
    np.testing.assert_array_equal(x[index_of(region)], x[first])
    assert shape_of(region) == x[first].shape
    if x[first].ndim and x[first].size:
        second = some_index(pick, x[first].shape)
        np.testing.assert_array_equal(x[index_of(region_of((first, second), shape))], x[first][second])


@pytest.mark.parametrize("index", [None, (0, None), np.array([0]), [0], True, (..., ...), (0, 0, 0)])
def test_other_indices_are_no_regions(index):
    assert region_of((index,), (2, 2)) is None


def test_a_region_is_cut_into_what_lies_inside_and_outside():
    seen = np.zeros((5, 6), dtype=int)
    outside, inside = split((range(0, 5, 2), range(6)), (range(1, 4), 3))
    for part in (*outside, inside):
        seen[index_of(part)] += 1
    assert inside == (range(2, 3), range(3, 4))
    np.testing.assert_array_equal(seen, np.repeat([[1], [0], [1], [0], [1]], 6, axis=1))


@pytest.mark.parametrize("seed", range(100))
def test_pieces_are_what_a_whole_array_is(seed):
    pick, rng = random.Random(seed), np.random.default_rng(seed)
    shape = pick.choice(SHAPES)
    pieces, whole = Pieces(shape, np.dtype(float)), np.zeros(shape)
    fewer = pick.choice(((None, 1), (None, 1, 2, -1)))
    for _ in range(pick.choice((3, 12, 60))):
        index = some_index(pick, shape, fewer)
        region, what = region_of((index,), shape), pick.random()
        if what < 0.5:
            g = rng.integers(-9, 10, whole[index].shape).astype(float)  # whose sums are exact
            pieces.add(region, g)
            whole[index] += g
        elif what < 0.55:
            several = rng.integers(0, shape[0], 3)
            g = rng.integers(-9, 10, whole[several].shape).astype(float)
            pieces.add_at(several, g)
            np.add.at(whole, several, g)
        elif what < 0.6:
            other = Pieces(shape, np.dtype(float))
            other.add(region, np.ones(whole[index].shape))
            pieces.absorb(other)
            whole[index] += 1
        else:
            emptied = pick.random() < 0.7
            found = pieces.take(region, True, emptied)
            np.testing.assert_array_equal(np.zeros(whole[index].shape) if found is None else found, whole[index])
            if emptied:
                whole[index] = 0
    found = pieces.total()
    np.testing.assert_array_equal(np.zeros(shape) if found is None else found, whole)


@pytest.mark.parametrize("seed", range(60))
def test_pieces_within_a_region_of_a_larger_array(seed):
    pick, rng = random.Random(seed), np.random.default_rng(seed)
    shape = (5, 6)
    region = region_of((some_index(pick, shape),), shape)
    inner, large, whole = Pieces(shape_of(region), np.dtype(float)), Pieces(shape, np.dtype(float)), np.zeros(shape)
    part = np.zeros(shape_of(region))
    for _ in range(3):
        index = some_index(pick, part.shape) if part.ndim and part.size else ()
        g = rng.integers(-9, 10, part[index].shape).astype(float)
        inner.add(region_of((index,), part.shape), g)
        part[index] += g
    whole[index_of(region)] = part
    for place, g in inner.within(region):
        large.add(place, g)
    found = large.total()
    np.testing.assert_array_equal(np.zeros(shape) if found is None else found, whole)


def cells(A):
    y = np.zeros(A.shape[0])
    for i in range(A.shape[0]):
        y[i] = np.tanh(A[i, i] + (A[i, :i] @ y[:i] if i else 0.0))
    return (y * y).sum()


def rows(A):
    A = A * 1.0
    for i in range(1, A.shape[0]):
        A[i, :] = np.sin(A[i, :]) + 0.5 * A[i - 1, ::-1] * A[i][0]
    return (A * A).sum()


def columns(A):
    y = np.zeros(A.shape)
    y[:, 0] = A[:, 0]
    for j in range(1, A.shape[1]):
        y[:, j] = A[:, j] * A[:, j - 1] + 0.7 * y[:, j - 1]
    return (y * y).sum()


def chunks(A):
    x, y = A.ravel(), np.zeros(A.size)
    for i in range(0, A.size - 3, 2):
        y[i : i + 3] = np.tanh(x[i : i + 3] + y[max(i - 3, 0) : max(i - 3, 0) + 3])
    return (y * y).sum()


def strided(A):
    x, y = A.ravel(), A.ravel() + 1.0
    for i in range(4):
        y[i : i + 6 : 2] = np.cos(x[i : i + 3]) * y[i + 5 : i : -2]
    return (y**3).sum()


def elimination(A):
    A = A + A.shape[0] * np.eye(A.shape[0])
    for i in range(A.shape[0]):
        for j in range(i):
            A[i, j] -= A[i, :j] @ A[:j, j]
            A[i, j] /= A[j, j]
        for j in range(i, A.shape[0]):
            A[i, j] -= A[i, :i] @ A[:i, j]
    return (A * A).sum()


def sweeps(A):
    A = A * 1.0
    for i in range(1, A.shape[0] - 1):
        A[i, 1:-1] += A[i - 1, :-2] + A[i - 1, 2:] * A[i + 1, 1:-1]
        for j in range(1, A.shape[1] - 1):
            A[i, j] += A[i, j - 1] ** 2
    return (A * A).sum()


def stencil(A):
    A = A * 1.0
    for _ in range(3):
        A[1:-1, 1:-1] = A[1:-1, 1:-1] * 0.5 + A[2:, 1:-1] * A[:-2, 1:-1] + 0.1 * A[1:-1, 2:] - A[1:-1, :-2]
    return (A * A).sum()


def broadcast(A):
    A = A * 1.0
    for i in range(A.shape[0] - 1):
        A[i] = A[i + 1, 0] ** 2
        A[i + 1, 1:3] = A[i, 2]
    return (A * A).sum()


def gathered(A):
    s = 0.0
    for i in range(4):
        s = s + (A[np.array([i, 0, i])] * A[0, i]).sum() ** 2
    return s


def masked(A):
    s = 0.0
    for i in range(4):
        s = s + A[A[0] > 0.5, i].sum() ** 2 + A[i][A[i] < 0.5].sum()
    return s


def overwritten(A):
    A = A * 1.0
    A[:2] = 0.0
    for i in range(2, A.shape[0]):
        A[i] = 0.0
    return (A * A).sum() + 0.0 * A[0, 0]


LOOPS = (
    cells, rows, columns, chunks, strided, elimination, sweeps, stencil, broadcast, gathered, masked, overwritten,
)  # fmt: skip


@pytest.mark.parametrize("loop", LOOPS)
def test_gradients_of_loops_over_parts(loop):
    A = np.random.default_rng(3).random((6, 6))
    expected = grad(loop)(A)
    compiled, program = tape.compile(grad(loop)), tape.record(loop, A)
    for B in (A, A + 0.0):
        np.testing.assert_allclose(compiled(B), expected, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(grad(program)(A), expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("loop", LOOPS)
def test_more_derivatives_of_loops_over_parts(loop):
    A = np.random.default_rng(4).random((5, 5))
    v = np.random.default_rng(5).random((5, 5))
    expected = np.tensordot(hessian(loop)(A), v, 2)
    for along in (
        lambda B: grad(lambda C: (grad(loop)(C) * v).sum())(B),
        lambda B: jvp(grad(loop), (B,), (v,))[1],
        lambda B: vmap(lambda u: jvp(grad(loop), (B,), (u * v,))[1])(np.ones(2))[1],
    ):
        np.testing.assert_allclose(tape.compile(along)(A), expected, rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("loop", [loop for loop in LOOPS if loop is not masked])
def test_batches_of_gradients_of_loops_over_parts(loop):
    A = np.random.default_rng(6).random((2, 5, 5))
    expected = np.stack([grad(loop)(B) for B in A])
    np.testing.assert_allclose(tape.compile(vmap(grad(loop)))(A), expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("loop", [rows, stencil, broadcast, sweeps])
def test_gradients_of_loops_over_parts_of_large_arrays(loop, monkeypatch):
    """Whose values are computed when somebody looks at them."""
    monkeypatch.setattr(later, "LARGE", 1)
    A = np.random.default_rng(7).random((5, 5))
    np.testing.assert_allclose(tape.compile(grad(loop))(A), grad(loop)(A), rtol=1e-12, atol=1e-13)


def test_a_value_that_does_not_fit_where_it_is_put_is_told_while_recording(monkeypatch):
    monkeypatch.setattr(later, "LARGE", 1)

    def f(A):
        A = A * 1.0
        A[1:3] = A[0, :2]
        return A.sum()

    with pytest.raises(ValueError, match="broadcast"):
        tape.record(f, np.ones((4, 4)))


def elements_made(loop, n):
    """How many numbers the records of the gradient hold, other than views."""
    listing = tape.record(grad(loop), np.random.default_rng(0).random((n, n))).listing
    shown = {k for k in range(len(listing)) if (op := listing.op(k)) and op.is_view(listing.parameters(k))}
    return sum(listing.spec_of(k).size for k in range(len(listing)) if listing.op(k) is not None and k not in shown)


@pytest.mark.parametrize("loop", [cells, columns])
def test_the_gradient_of_a_loop_costs_what_the_loop_does(loop):
    small, large = elements_made(loop, 16), elements_made(loop, 64)
    assert large < 16 * small * 1.5


def test_a_row_is_added_where_it_lies():
    def total(A):
        s = 0.0
        for i in range(A.shape[0]):
            s = s + (A[i] * A[i]).sum() + A[i, 0]
        return s

    assert elements_made(total, 32) < 8 * 32**2


def by_rows_and_columns(u):
    """What a loop over columns writes, a loop over rows reads, thrice and shifted, as in implicit steps of a grid."""
    n = len(u)
    v, q = u * 1.0, np.zeros(u.shape)
    for _ in range(2):
        for j in range(1, n - 1):
            q[1:-1, j] = np.sin(v[j, :-2] + 2.0 * v[j, 1:-1] + v[j, 2:]) - q[1:-1, j - 1]
        for j in range(n - 2, 0, -1):
            v[1:-1, j] = q[1:-1, j] * v[1:-1, j + 1]
    return (v * v).sum()


def test_columns_out_of_rows_cost_what_they_are():
    """Cut out of each row by itself, the columns of a square twice as wide would be four times as many records."""
    lengths = []
    for n in (10, 20):
        u = np.random.default_rng(0).uniform(-1, 1, (n, n))
        program = tape.record(grad(by_rows_and_columns), u, tier="interpret")
        np.testing.assert_allclose(program(u), grad(by_rows_and_columns)(u), 1e-10, 1e-12)
        lengths.append(len(program))
    assert lengths[1] < 2.5 * lengths[0], lengths


@pytest.mark.parametrize("seed", range(80))
def test_where_indices_put_operands_follows_from_them(seed, monkeypatch):
    """Without a trial, and what kernels read of it as runs are the same numbers."""
    pick, rng = random.Random(seed), np.random.default_rng(seed)
    shape = pick.choice(SHAPES)
    places = tuple([some_index(pick, shape) for _ in range(pick.randint(1, 3))])
    xs = [rng.integers(1, 9, np.empty(shape)[p].shape).astype(float) for p in places]
    if not all(x.size for x in xs):
        places, xs = (...,), [rng.normal(size=shape)]
    wanted, result = ops.collect(*xs, places=places, shape=shape), spec(shape, np.dtype(float))
    params, specs = {"places": places, "shape": shape}, [spec(x.shape, x.dtype) for x in xs]
    monkeypatch.setattr(indexmaps, "_tried", None)
    puts = indexmaps.puts_of(ops.collect, params, specs, result)
    z = np.zeros(shape)
    for x, view in zip(xs, puts.views):
        cells = np.indices(x.shape).reshape(x.ndim, x.size).T @ np.array(view.strides, dtype=int).reshape(x.ndim)
        np.add.at(z.reshape(-1), (view.offset + cells) // 8, x.ravel())
    np.testing.assert_array_equal(z, wanted)
    assert puts.complete == bool(ops.collect(*map(np.ones_like, xs), places=places, shape=shape).all())
    z = np.zeros(shape).reshape(-1, shape[-1])
    runs = runs_of(ops.collect, params, specs, result, [False] * len(xs))
    for run in runs:
        for row, (begin, first, end) in enumerate(run.table):
            z[row, first:end] = xs[run.operand].ravel()[begin // 8 + first : begin // 8 + end]
    if runs:
        np.testing.assert_array_equal(z.reshape(shape), wanted)
    assert not (runs and puts.adds)


def test_many_large_parts_are_added_where_they_belong(monkeypatch):
    x = np.random.default_rng(0).normal(size=(23, 30))
    monkeypatch.setattr(indexmaps, "_tried", None)
    squared = lambda x: (covariances(x) ** 2).sum()  # noqa: E731
    program = record(tape.func.grad_and_value(squared), x)
    assert program.statistics().numpy == 0
    gradient, value = program.replay.sweeper((x,))
    centred = x - x.mean(axis=0)
    np.testing.assert_allclose(value, ((centred.T @ centred) ** 2).sum(), rtol=1e-12)
    np.testing.assert_allclose(gradient, 4 * centred @ centred.T @ centred, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("seed", range(40))
def test_indices_of_numbers_and_slices_look_where_numpy_looks(seed):
    """The short way of index maps, and the long one that takes an ellipsis too."""
    pick = random.Random(seed)
    shape = pick.choice(SHAPES)
    x = np.arange(int(np.prod(shape)), dtype=np.float64).reshape(shape)
    if pick.random() < 0.5:
        x = x.T
    index = some_index(pick, x.shape, steps=(None, 1, 2, -1))
    wanted = x[index]
    found = indexmaps.part_of(x.shape, x.strides, [index])
    if not np.size(wanted):
        assert found is None
        return
    assert found is not None
    view, shape_found = found
    assert shape_found == np.shape(wanted)
    assert x.ravel(order="K")[view.offset // 8] == np.ravel(wanted)[0]
    assert isinstance(wanted, np.float64) or view.strides == wanted.strides


def test_an_index_beyond_an_axis_is_no_part():
    with pytest.raises(IndexError):
        indexmaps.part_of((3, 4), (32, 8), [(3, 0)])
    assert indexmaps.part_of((3, 4), (32, 8), [(slice(0, 0), 1)]) is None


def decomposed(a):
    """Lower and upper factor in place, with what is read of rows and columns that grow."""
    a = a * 1
    for i in range(len(a)):
        for j in range(i):
            a[i, j] -= a[i, :j] @ a[:j, j]
            a[i, j] /= a[j, j]
        for j in range(i, len(a)):
            a[i, j] -= a[i, :i] @ a[:i, j]
    return (a * np.arange(1.0, 1 + a.size).reshape(a.shape)).sum()


def rooted(a):
    """The factor of Cholesky in place: cells are read by the rounds after them, and by the result."""
    a = a * 1
    a[0, 0] = np.sqrt(a[0, 0])
    for i in range(1, len(a)):
        for j in range(i):
            a[i, j] = (a[i, j] - np.dot(a[i, :j], a[j, :j])) / a[j, j]
        a[i, i] = np.sqrt(a[i, i] - np.dot(a[i, :i], a[i, :i]))
    return (np.tril(a) ** 2).sum() + a[-1, 0] * a[0, 0]


@pytest.mark.parametrize("function", [decomposed, rooted])
def test_what_cells_get_from_several_readers_is_added_in_kernels(function, monkeypatch):
    a = np.random.default_rng(0).normal(size=(9, 9))
    a = a @ a.T + 9 * np.eye(9)
    program = record(tape.func.grad_and_value(function), a)
    codes = program.recorded.code
    shapes = [program.recorded.spec_of(k).shape for k in np.flatnonzero(codes == ops.collect.code).tolist()]
    assert () not in shapes
    monkeypatch.setattr(Plan.__init__, "__defaults__", (True,))  # with bytes behind each piece of memory
    for at in (a, a[::-1, ::-1] * 1.1):
        wanted = tape.func.grad(function)(at)
        gradient, value = program(at)
        np.testing.assert_allclose(value, function(at), rtol=1e-12)
        np.testing.assert_allclose(gradient, wanted, rtol=1e-9, atol=1e-9)
    way = np.random.default_rng(1).normal(size=a.shape)
    slope = (function(a + 1e-5 * way) - function(a - 1e-5 * way)) / 2e-5
    assert (program(a)[0] * way).sum() == pytest.approx(slope, rel=1e-6)
