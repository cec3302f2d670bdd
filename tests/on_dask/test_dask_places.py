"""Who evaluates, and from where: several threads, tasks, another cluster, an asynchronous client, data on disk."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from dask_cluster import MISSING, blocked, running

import tape

pytest.importorskip("distributed", reason=MISSING)
import dask
import dask.array as da
from distributed import Client, KilledWorker, LocalCluster, wait, worker_client

import tape.dask

pytestmark = pytest.mark.cluster

draw = np.random.default_rng(3)
X = draw.normal(size=(203, 5))
y = np.sign(draw.normal(size=203))
W = draw.normal(size=5)


def logistic(w, X, y):
    return np.log1p(np.exp(-y * (X @ w))).sum()


def persisted(client, *arrays):
    made = client.persist(list(blocked(*arrays)))
    wait(made)
    return tuple(made)


def test_several_threads_evaluate_at_once(client):
    """With other parameters each, by one evaluation."""
    evaluate = tape.dask.value_and_grad(logistic, data=persisted(client, X, y))
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(evaluate, [k * W for k in range(6)]))
    np.testing.assert_allclose([value for value, _ in found], [logistic(k * W, X, y) for k in range(6)], rtol=1e-13)


def test_a_task_evaluates(client):
    """Its own worker may compute the blocks meanwhile."""

    def inner():
        with worker_client():
            return tape.dask.value_and_grad(logistic, data=blocked(X, y))(W)[0]

    np.testing.assert_allclose(client.submit(inner, pure=False).result(timeout=60), logistic(W, X, y), rtol=1e-13)


def test_data_of_another_cluster_is_refused(client):
    evaluate = tape.dask.value_and_grad(logistic, data=persisted(client, X, y))
    value, _ = evaluate(W)
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,
        Client(cluster, set_as_default=False) as other,
        other.as_current(),
        pytest.raises(
            RuntimeError, match=r"(?s)in the memory of the cluster at tcp://.*of another, at inproc://.*with"
        ),
    ):
        evaluate(W)
    assert evaluate(W)[0] == value


def test_an_asynchronous_client_is_refused(client):
    async def evaluate():
        async with Client(client.scheduler.address, asynchronous=True, set_as_default=False) as other:
            with other.as_current():
                return tape.dask.value_and_grad(logistic, data=blocked(X, y))(W)

    with pytest.raises(RuntimeError, match="asynchronous Client in a synchronous context"):
        asyncio.run(evaluate())


def test_blocks_on_disk(client, tmp_path):
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    opened = dask.delayed(np.load)(tmp_path / "X.npy", mmap_mode="r")
    for data in ((da.from_array(mapped, chunks=(50, 5)), *blocked(y)), ([opened], [dask.delayed(y)])):
        value, _ = tape.dask.value_and_grad(logistic, data=data)(W)
        np.testing.assert_allclose(value, logistic(W, X, y), rtol=1e-13)


def test_a_function_that_changes_its_block_leaves_the_data_as_it_is(client):
    def doubling(w, X):
        X *= 2.0
        return (X @ w).sum()

    (data,) = persisted(client, X)
    evaluate = tape.dask.value_and_grad(doubling, data=data)
    with pytest.warns(RuntimeWarning, match="changed in place"):
        values = [evaluate(W)[0] for _ in range(3)]
    np.testing.assert_allclose(values, 2.0 * (X @ W).sum(), rtol=1e-12)
    np.testing.assert_array_equal(data.compute(), X)


def test_chunks_of_a_map_follow_from_the_arguments_and_the_cluster_alone(client):
    """Not from what was recorded, mapped or computed before, nor from how long that took."""

    def root(x):
        return np.sqrt(np.abs(x)) * x

    def chunks():
        return tape.dask.map(root, data).chunks[0]

    (data,) = persisted(client, X[:, 0])
    first = chunks()
    assert len(first) < 5
    made = tape.dask.map(root, data)
    np.testing.assert_allclose(made.compute(), root(X[:, 0]), rtol=1e-13)
    tape.dask.map(lambda x: np.exp(x) + x, data, fuse=False).compute()
    assert chunks() == made.chunks[0] == first
    with ThreadPoolExecutor(4) as pool:
        assert {call.result() for call in [pool.submit(chunks) for _ in range(4)]} == {first}
    with dask.config.set(scheduler="threads"):
        assert chunks() == (50, 50, 50, 50, 3)


def test_a_worker_with_less_memory_than_a_block():
    """It is ended by its nanny, and the error says why; blocks that fit go on."""
    large = da.ones(75_000_000, chunks=75_000_000)
    with dask.config.set({"distributed.scheduler.allowed-failures": 0}), running(1, memory_limit="400MiB") as client:
        with pytest.raises(KilledWorker) as caught:
            tape.dask.value_and_grad(lambda w, x: (w * x).sum(), data=large)(np.float64(2.0))
        assert (
            "A block of the data has up to 572.2 MiB, and that worker might use 400.0 MiB" in caught.value.__notes__[0]
        )
        client.wait_for_workers(1, timeout=60)
        value, _ = tape.dask.value_and_grad(lambda w, x: (w * x).sum(), data=large[:100_000])(np.float64(2.0))
        assert value == 200_000
