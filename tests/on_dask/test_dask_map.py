"""Maps over the blocks of Dask arrays, on Dask's threads in this process; which blocks go through one task."""

import itertools

import numpy as np
import pytest
from dask_cluster import MISSING, blocked
from hypothesis import given, strategies as st

import tape

pytest.importorskip("dask.array", reason=MISSING)
import dask
import dask.array as da

import tape.dask
from tape.dask import scenario_map, worker

draw = np.random.default_rng(5)
X = draw.normal(size=(203, 3))
y = X @ np.array([1.0, -2.0, 0.5]) + 0.1 * draw.normal(size=203)
W = np.array([0.3, -0.2, 0.1])


def test_map_takes_trees_several_arrays_and_arguments_that_all_blocks_share():
    def price(s, strike, rate):
        return {"value": np.exp(-rate) * np.tanh(s[0] - strike) * s[1]}

    def rows(S, K, rate):
        return tape.func.vmap(price, in_dims=(0, 0, None))(S, K, rate)

    S, K = blocked(X[:, :2], y, rows=60)
    found = tape.dask.map(rows, S, K, np.float64(0.1), fuse=False)
    assert list(found) == ["value"]
    assert (found["value"].chunks, found["value"].dtype) == (((60, 60, 60, 23),), np.float64)
    expected = np.exp(-0.1) * np.tanh(X[:, 0] - y) * X[:, 1]
    np.testing.assert_allclose(found["value"].compute(), expected, rtol=1e-13)
    some = S[S[:, 0] > 0]
    both = tape.dask.map(lambda S: (np.exp(S), S[:, 0]), some)
    np.testing.assert_allclose(both[0].sum().compute(), np.exp(X[X[:, 0] > 0, :2]).sum(), rtol=1e-13)
    np.testing.assert_allclose(both[1].compute(), X[X[:, 0] > 0, 0], rtol=0)


def test_map_goes_other_ways_on_other_blocks():
    def f(x):
        return np.where(x > 0, x, -x) if x[0] > 0 else x * 2.0

    (data,) = blocked(y, rows=7)
    expected = np.concatenate([f(y[k : k + 7]) for k in range(0, 203, 7)])
    np.testing.assert_array_equal(tape.dask.map(f, data).compute(), expected)


def test_map_requires_a_result_for_each_row():
    (data,) = blocked(y)
    totals = tape.dask.map(lambda x: x.sum(keepdims=True), data)
    with pytest.raises(
        ValueError, match=r"requires a result for each row; for block \d with \d+ rows, lambda returned"
    ):
        totals.compute()
    with pytest.raises(ValueError, match="requires a Dask array"):
        tape.dask.map(np.sin, y)
    with pytest.raises(ValueError, match=r"(?s)the same rows in each block.*Rechunk"):
        tape.dask.map(lambda a, b: a + b, data, blocked(y, rows=40)[0])


def test_functions_of_one_name_and_what_changes_around_them():
    """An array knows the function that it was made with, as it was then."""

    def times(k):
        def f(x):
            return x * k

        return f

    def loss(k):
        return lambda w, X: (X @ w).sum() * k

    X_blocks, (data,) = blocked(X), blocked(y)
    two, three = (tape.dask.map(times(k), data) for k in (2.0, 3.0))
    assert two.name != three.name
    np.testing.assert_allclose(dask.compute(two, three), [2.0 * y, 3.0 * y], rtol=1e-15)
    values = [tape.dask.value_and_grad(loss(k), data=X_blocks)(W)[0] for k in (2.0, 3.0)]
    np.testing.assert_allclose(values, [2.0 * (X @ W).sum(), 3.0 * (X @ W).sum()], rtol=1e-12)
    factor = [2.0]
    before = tape.dask.map(lambda x: x * factor[0], data)
    factor[0] = 5.0
    after = tape.dask.map(lambda x: x * factor[0], data)
    np.testing.assert_allclose(before.compute(), 2.0 * y, rtol=1e-15)
    np.testing.assert_allclose(after.compute(), 5.0 * y, rtol=1e-15)


@pytest.mark.parametrize("dtype", ["f4", "c16", "i8", "?"])
def test_map_keeps_dtypes_and_blocks_without_rows(dtype):
    x = (np.arange(10) - 4).astype(dtype)
    apart = da.concatenate([da.from_array(x[:3]), da.from_array(x[:0]), da.from_array(x[3:])])
    all_of_them = da.ones(10, chunks=apart.chunks) > 0
    for data, expected in ((apart, x + x), (apart[all_of_them], x + x), (apart[~all_of_them], []), (apart[:0], [])):
        found = tape.dask.map(lambda x: x + x, data)
        assert found.dtype == (x + x).dtype
        np.testing.assert_array_equal(found.compute(), expected)


def test_results_put_together_are_nobody_elses():
    """Memory is used again when nobody holds it any more, and not before; other dtypes make room for themselves."""
    large = np.ones((1 << 15, 2))

    def whole(factor, dtype=float):
        made = worker.Together(2 * len(large))
        made.add(((factor * large),))
        made.add(((factor * large).astype(dtype),))
        return made.leaves()[0]

    kept = [whole(k) for k in range(5)]
    assert [x[0, 0] for x in kept] == [x[-1, -1] for x in kept] == list(range(5))
    address = kept.pop().ctypes.data
    view = kept[-1][:, 0]
    kept.clear()
    again = [whole(k) for k in range(5, 8)]
    assert address in {x.ctypes.data for x in again}
    assert not any(np.may_share_memory(view, x) for x in again)
    assert (view == 3).all()
    assert whole(1, complex).dtype == np.complex128
    made = worker.Together(4)
    made.add((np.ones((2, 3)),))
    with pytest.raises(ValueError, match=r"one block gives rows of shape \(3,\), and another of \(4,\)"):
        made.add((np.ones((2, 4)),))


@given(homes=st.lists(st.sampled_from(["a", "b", None]), min_size=1, max_size=60), number=st.integers(1, 70))
def test_runs_of_blocks_are_all_blocks_in_order(homes, number):
    found = scenario_map.runs_of(homes, number)
    assert [k for run in found for k in run] == list(range(len(homes)))
    assert all(run for run in found)
    assert len(found) <= 3 * number + 1
    stretches = [len(list(same)) for _, same in itertools.groupby(homes)]
    if len(stretches) <= 2 * number:
        assert all(len({homes[k] for k in run}) == 1 for run in found)


def test_tasks_of_a_map_by_what_a_block_takes():
    """One for each thread where that is done at once, more where it takes long, or nobody knows."""
    source = tape.dask.source.UserFunction(np.exp, "map", "optimised")
    quick, large = (source.recorded([worker.Shape((n,), np.dtype(float))], True) for n in (10, 10_000_000))
    assert scenario_map.tasks_worth(100, 4, quick, 160.0) == 4
    assert scenario_map.tasks_worth(3, 4, quick, 160.0) == 3
    assert scenario_map.tasks_worth(1000, 4, quick, float(scenario_map.MOST_BYTES)) == 1000
    assert scenario_map.tasks_worth(1000, 4, large, 1.0) >= 16
    assert scenario_map.tasks_worth(1000, 4, source.left(True), 1.0) == 16
