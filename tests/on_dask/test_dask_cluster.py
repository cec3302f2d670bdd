"""Programs on a real cluster of processes: right and bitwise the same, whoever computes, joins, fails or is killed."""

import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from functools import reduce

import numpy as np
import pytest
from dask_cluster import MISSING

import tape

pytest.importorskip("distributed", reason=MISSING)
import dask
import dask.array as da
from distributed import Client, wait

import tape.dask
from tape.dask import source, tree_sum

pytestmark = pytest.mark.cluster

draw = np.random.default_rng(3)
X = draw.normal(size=(1003, 5))
y = np.sign(draw.normal(size=1003))
W = {"w": draw.normal(size=5), "b": [np.float64(0.3)]}


def logistic(p, X, y):
    return np.log1p(np.exp(-y * (X @ p["w"] + p["b"][0]))).sum()


def branched(w, X):
    if X[0, 0] > 0:
        return (X @ w).sum()
    return np.exp(X @ w).sum()


def persisted(client, *arrays, rows=100, workers=None):
    """Arrays in the memory of some workers, under names of their own, so that none is found elsewhere."""
    made = client.persist([da.from_array(x, (rows, *x.shape[1:]), name=False) for x in arrays], workers=workers)
    wait(made)
    return tuple(made)


def slow(x, seconds=0.2):
    """A Dask array whose blocks take their time."""

    def pause(block):
        time.sleep(seconds)
        return block

    return da.from_array(x, chunks=(100, *x.shape[1:])).map_blocks(pause, dtype=x.dtype, meta=x[:0])


def one_machine(function, parameters, *data):
    """Value and gradient of the data in one piece, by an eager sweep."""
    gradient, value = tape.compile(tape.func.grad_and_value(function))(parameters, *data)
    return value, gradient


def by_hand(function, parameters, *data, rows=100):
    """The same block by block, summed up pair by pair in their order."""
    program = tape.record(tape.func.value_and_grad(function), parameters, *(x[:rows] for x in data), tier="optimised")
    rest = tape.record(
        tape.func.value_and_grad(function), parameters, *(x[-(len(x) % rows) :] for x in data), tier="optimised"
    )
    parts = []
    for k in range(0, len(data[0]), rows):
        block = [x[k : k + rows] for x in data]
        parts.append((program if len(block[0]) == rows else rest)(parameters, *block))
    while len(parts) > 1:
        pairs = [added(*parts[k : k + 2]) for k in range(0, len(parts) - 1, 2)]
        parts = pairs + parts[len(parts) - len(parts) % 2 :]
    return parts[0]


def added(a, b):
    (v, g), (w, h) = a, b
    return v + w, {"w": g["w"] + h["w"], "b": [g["b"][0] + h["b"][0]]}


def bits(value, gradient):
    return float(value).hex(), gradient["w"].tobytes(), float(gradient["b"][0]).hex()


def test_value_and_gradient_are_those_of_one_machine(client):
    found = tape.dask.value_and_grad(logistic, data=persisted(client, X, y))(W)
    value, gradient = one_machine(logistic, W, X, y)
    np.testing.assert_allclose(found[0], value, rtol=1e-14)
    np.testing.assert_allclose(found[1]["w"], gradient["w"], rtol=1e-12)
    assert bits(*found) == bits(*by_hand(logistic, W, X, y))


def test_bits_do_not_depend_on_who_computes(client):
    """Data on one worker, on both, not there yet, in this process; the first evaluation and the twelfth."""
    expected = bits(*by_hand(logistic, W, X, y))
    here = tuple(da.from_array(x, chunks=(100, *x.shape[1:])) for x in (X, y))
    first, *_ = client.nthreads()
    for data in (persisted(client, X, y, workers=[first]), persisted(client, X, y), here):
        evaluate = tape.dask.value_and_grad(logistic, data=data)
        assert {bits(*evaluate(W)) for _ in range(3)} == {expected}
    assert {bits(*evaluate(W)) for _ in range(12)} == {expected}
    with dask.config.set(scheduler="threads"):
        assert bits(*evaluate(W)) == expected


def test_the_program_travels_and_not_the_function(client):
    """The function is of a module that no worker can import."""
    space = {"__name__": "nowhere", "np": np}
    exec("def loss(w, X): return np.tanh(X @ w).sum()", space)
    value, _ = tape.dask.value_and_grad(space["loss"], data=persisted(client, X))(np.ones(5))
    np.testing.assert_allclose(value, np.tanh(X @ np.ones(5)).sum(), rtol=1e-12)


def test_another_path_is_recorded_where_the_block_is(client):
    data = persisted(client, X)
    evaluate = tape.dask.value_and_grad(branched, data=data)
    expected = reduce(np.add, [branched(np.ones(5), X[k : k + 100]) for k in range(0, 1003, 100)])
    for _ in range(3):
        np.testing.assert_allclose(evaluate(np.ones(5))[0], expected, rtol=1e-13)
    paths = evaluate.paths()
    assert {path.decisions[0].split(" at ")[0] for path in paths} == {"bool() gives True", "bool() gives False"}
    assert all("in branched: if X[0, 0] > 0:" in path.decisions[0] and path.recorded_there for path in paths)
    assert sum(path.replays for path in paths) == 33


def test_a_decision_by_the_parameters_is_recorded_here_and_others_there(client):
    def loss(w, X):
        return (X @ w).sum() if w[0] > 0 else (X @ w * 2.0).sum()

    evaluate = tape.dask.value_and_grad(loss, data=persisted(client, X))
    for w, factor in ((np.ones(5), 1), (-np.ones(5), 2), (np.ones(5), 1)):
        np.testing.assert_allclose(evaluate(w)[1], factor * X.sum(axis=0), rtol=1e-10)
    assert {path.recorded_there for path in evaluate.paths()} == {False, True}


def test_what_the_function_reads_around_it_is_looked_at_again(client):
    scale, offsets = [2.0], np.zeros(5)

    def loss(w, X):
        return (X @ (w + offsets)).sum() * scale[0]

    evaluate = tape.dask.value_and_grad(loss, data=persisted(client, X))
    once = evaluate(np.ones(5))[0]
    scale[0] = 3.0
    np.testing.assert_allclose(evaluate(np.ones(5))[0], 1.5 * once, rtol=1e-12)
    offsets += 1.0
    np.testing.assert_allclose(evaluate(np.ones(5))[0], 3.0 * once, rtol=1e-12)


def test_a_function_that_cannot_be_recorded_travels_with_a_warning(client):
    def loss(w, X):
        return (X @ w).sum() + 0.0 * np.random.normal()  # noqa: NPY002

    evaluate = tape.dask.value_and_grad(loss, data=persisted(client, X))
    with pytest.warns(RuntimeWarning, match=r"loss runs as it is where the data is, and travels by cloudpickle: "):
        _, gradient = evaluate(np.ones(5))
    np.testing.assert_allclose(gradient, X.sum(axis=0), rtol=1e-10)
    assert all("runs as it is" in path.decisions[0] for path in evaluate.paths())


def test_a_worker_is_killed_in_the_middle_of_everything(client):
    """Value and gradient, products with the Hessian, normal equations and a map, all at once."""

    def residual(p, X, y):
        return np.tanh(X @ p["w"] + p["b"][0]) - y

    def work(data):
        return (
            lambda: bits(*tape.dask.value_and_grad(logistic, data=data)(W)),
            lambda: bits(0.0, tape.dask.hvp(logistic, data=data)(W, W)),
            lambda: [x.tobytes() for x in tape.dask.gauss_newton(residual, data=data)(W)],
            lambda: tape.dask.map(lambda X: np.tanh(X) * 2.0, data[0]).compute().tobytes(),
        )

    expected = [call() for call in work(tuple(da.from_array(x, chunks=(100, *x.shape[1:])) for x in (X, y)))]
    assert expected[0] == bits(*by_hand(logistic, W, X, y))
    victims = list(client.run(os.getpid).values())[:1]
    killer = threading.Timer(0.6, lambda: [os.kill(pid, signal.SIGKILL) for pid in victims])
    killer.start()
    with ThreadPoolExecutor(4) as pool:
        found = [call.result() for call in [pool.submit(call) for call in work((slow(X), slow(y, 0.0)))]]
    assert found == expected
    killer.join()
    client.wait_for_workers(2, timeout=60)
    assert victims[0] not in client.run(os.getpid).values()


def test_all_workers_are_started_again(client):
    """What workers knew of programs is gone; data that was with them is said to be gone, other data is made again."""
    here = tuple(da.from_array(x, chunks=(100, *x.shape[1:])) for x in (X, y))
    evaluate, there = (tape.dask.value_and_grad(logistic, data=data) for data in (here, persisted(client, X, y)))
    double = tape.dask.map(lambda X: X * 2.0, here[0])
    expected = bits(*evaluate(W))
    assert bits(*there(W)) == expected
    client.restart()
    assert bits(*evaluate(W)) == expected
    np.testing.assert_array_equal(double.compute(), 2.0 * X)
    with pytest.raises(
        RuntimeError, match=r"22 of 22 pieces of the data are no longer .* the cluster was started again"
    ):
        there(W)


def test_a_worker_of_another_kind_is_added(client):
    """It has no vector math library, so its last bits may differ."""
    evaluate = tape.dask.value_and_grad(logistic, data=persisted(client, X, y))
    value, _ = evaluate(W)
    present = client.nthreads().keys()
    environment = {**os.environ, "TAPE_VECTOR_MATH": "0", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-m", "distributed.cli.dask_worker", client.scheduler.address, "--nthreads=1"]
    options = ["--no-nanny", "--no-dashboard", "--name=added", "--host=127.0.0.1"]
    with subprocess.Popen([*command, *options], env=environment, stderr=subprocess.DEVNULL) as process:
        try:
            client.wait_for_workers(3, timeout=60)
            (added,) = client.nthreads().keys() - present
            again = tape.dask.value_and_grad(logistic, data=persisted(client, X, y, workers=[added]))
            np.testing.assert_allclose(again(W)[0], value, rtol=1e-13)
            assert added in {path.worker for path in again.paths()}
            del again
        finally:
            process.terminate()
    np.testing.assert_allclose(evaluate(W)[0], value, rtol=1e-13)


def test_another_version_is_refused_by_name(client):
    def loss(w, X):
        return (X @ w * 3.0).sum()

    def pretend(version):
        from tape import release

        release.__version__ = version

    evaluate = tape.dask.value_and_grad(loss, data=persisted(client, X))
    client.run(pretend, "9.9")
    try:
        with pytest.raises(RuntimeError, match=rf"client has version {tape.__version__}, .* tcp://.* has 9\.9"):
            evaluate(np.ones(5))
    finally:
        client.run(pretend, tape.__version__)
    np.testing.assert_allclose(evaluate(np.ones(5))[1], 3.0 * X.sum(axis=0), rtol=1e-10)


def test_what_a_function_raises_says_where(client):
    poisoned = X.copy()
    poisoned[305, 2] = 1e9

    def loss(w, X):
        if np.max(X) > 1e8:
            raise ZeroDivisionError("too large")
        return (X @ w).sum()

    evaluate = tape.dask.value_and_grad(loss, data=persisted(client, poisoned))
    with pytest.raises(ZeroDivisionError, match="too large") as caught:
        evaluate(np.ones(5))
    assert "in block 3 of 11 (counted from 0) of loss" in caught.value.__notes__[0]
    assert "(100, 5)" in caught.value.__notes__[0]
    raised = loss.__code__.co_firstlineno + 2  # by its number: where a worker's traceback says the file lies is Dask's
    assert raised in [line.lineno for line in traceback.extract_tb(caught.tb) if line.name == "loss"]
    np.testing.assert_allclose(tape.dask.value_and_grad(loss, data=persisted(client, X))(np.ones(5))[1], X.sum(axis=0))


def test_what_numpy_raises_in_a_program_says_the_line(client):
    blocks = np.zeros((4, 2, 2))
    blocks[2] = -np.eye(2)

    def loss(w, A):
        return (np.linalg.inv(A + np.eye(2)) @ w).sum()

    with pytest.raises(np.linalg.LinAlgError) as caught:
        tape.dask.value_and_grad(loss, data=persisted(client, blocks, rows=1))(np.ones(2))
    assert "in inv, recorded at" in caught.value.__notes__[0]
    assert "in loss: return (np.linalg.inv(A + np.eye(2)) @ w).sum()" in caught.value.__notes__[0]
    assert "in block 2 of 4" in caught.value.__notes__[1]


def test_nan_is_propagated_or_raised_with_its_block(client):
    poisoned = X.copy()
    poisoned[205, 2] = np.nan

    def loss(w, X):
        return np.tanh(X @ w).sum()

    data = persisted(client, poisoned)
    value, gradient = tape.dask.value_and_grad(loss, data=data)(np.ones(5))
    assert np.isnan(value)
    assert np.isnan(gradient).all()
    with pytest.raises(
        FloatingPointError, match=r"block 2 of 11 of loss gives nan: array 0 of its data has nan at \(5, 2"
    ):
        tape.dask.value_and_grad(loss, data=data, nan="raise")(np.ones(5))


def test_an_interrupt_leaves_the_cluster_usable(client):
    evaluate = tape.dask.value_and_grad(logistic, data=(slow(X, 0.5), slow(y, 0.0)))
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    start = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        evaluate(W)
    assert time.monotonic() - start < 2.5, "the whole evaluation takes longer"
    evaluate = tape.dask.value_and_grad(logistic, data=persisted(client, X, y))
    assert bits(*evaluate(W)) == bits(*by_hand(logistic, W, X, y))


def test_a_damaged_program_is_refused_there(client, monkeypatch):
    def damaged(program):
        whole = bytearray(to_bytes(program))
        whole[-3] ^= 1
        return bytes(whole)

    to_bytes = source.to_bytes
    monkeypatch.setattr(source, "to_bytes", damaged)
    with pytest.raises(tape.program.ProgramFileError, match="the file is damaged"):
        tape.dask.value_and_grad(lambda w, X: (X @ w).sum(), data=persisted(client, X))(np.ones(5))


def test_large_parameters_go_to_each_worker_once(client, monkeypatch):
    monkeypatch.setattr("tape.dask.evaluation.EMBEDDED", 0)
    found = tape.dask.value_and_grad(logistic, data=persisted(client, X, y))(W)
    assert bits(*found) == bits(*by_hand(logistic, W, X, y))


@pytest.mark.parametrize("fuse", [False, True])
def test_map_gives_dask_arrays(client, fuse):
    """Neighbours that take little go through one task, one for each thread; where they lie apart, or on one worker."""

    def price(s):
        return np.exp(-s[0] * s[0]) * s[1]

    first, *_ = client.nthreads()
    (scenarios,) = persisted(client, X[:, :2], workers=[first])
    delta, value = tape.dask.map(tape.func.vmap(tape.func.grad_and_value(price)), scenarios, fuse=fuse)
    rows = (500, 503) if fuse else (100,) * 10 + (3,)
    assert (delta.chunks, value.chunks, delta.dtype) == ((rows, (2,)), (rows,), X.dtype)
    delta, value = dask.compute(delta, value)
    e = np.exp(-(X[:, 0] ** 2))
    np.testing.assert_allclose(value, e * X[:, 1], rtol=1e-13)
    np.testing.assert_allclose(delta, np.stack([-2 * X[:, 0] * e * X[:, 1], e], axis=1), rtol=1e-13)


def test_neighbours_in_one_task_are_blocks_still(client):
    """Decisions are taken block by block, with the arguments that all share; what is raised names the block."""

    def f(x, scale):
        if x[-1] > 1e8:
            raise ZeroDivisionError("too large")
        return (np.abs(x) if x[0] > 0 else 2.0 * x) * scale

    first, *_ = client.nthreads()
    (data,) = persisted(client, y * np.arange(1003), rows=20, workers=[first])
    found = tape.dask.map(f, data, np.float64(3.0))
    assert found.numblocks == (8,)  # a program that is not known here may take long
    apart = tape.dask.map(f, data, np.float64(3.0), fuse=False)
    assert apart.numblocks == (51,)
    expected = np.concatenate([f((y * np.arange(1003))[k : k + 20], 3.0) for k in range(0, 1003, 20)])
    np.testing.assert_array_equal(found.compute(), expected)
    np.testing.assert_array_equal(apart.compute(), expected)
    (large,) = persisted(client, np.repeat([1.0, 1e9, 1.0], [279, 1, 723]), rows=20)
    with pytest.raises(ZeroDivisionError, match="too large") as caught:
        tape.dask.map(f, large, np.float64(1.0)).compute()
    assert "in block 13 of 51" in caught.value.__notes__[0]


def test_data_of_a_client_that_is_gone_is_refused(client):
    """Nothing hangs: what the cluster has forgotten is said to be gone."""
    with Client(client.scheduler.address, set_as_default=False) as other:
        data = persisted(other, X, y)
        with other.as_current():
            evaluate = tape.dask.value_and_grad(logistic, data=data)
            value, _ = evaluate(W)
        assert evaluate(W)[0] == value
    with pytest.raises(RuntimeError, match=r"22 of 22 pieces of the data are no longer in the memory of the cluster"):
        evaluate(W)


def test_data_moves_between_evaluations(client):
    """The bits stay, and where the blocks lie is asked again after a task that ran elsewhere."""
    first, second, *_ = client.nthreads()
    data = persisted(client, X, y, workers=[first])
    evaluate = tape.dask.value_and_grad(logistic, data=data)
    expected = bits(*evaluate(W))
    client.replicate(list(data), n=2)
    evaluate._homes.forget()
    assert bits(*evaluate(W)) == expected
    assert set(evaluate._homes._home) == {first, second}
    client.rebalance(list(data))
    assert bits(*evaluate(W)) == expected


def test_compiled_functions_and_programs_work_in_dasks_own_collections(client):
    def f(x):
        return np.sin(x) * x

    (array,) = persisted(client, y, rows=501)
    for function in (tape.compile(f), tape.record(f, y[:501])):
        found = array[:1002].map_blocks(function, dtype=y.dtype, meta=y[:0]).compute()
        np.testing.assert_allclose(found, f(y[:1002]), rtol=1e-14)


def test_tasks_have_readable_names(client):
    """One for each worker where the data lies there, two where most is; otherwise one for each block, and sums."""
    here = tuple(da.from_array(x, chunks=(100, *x.shape[1:])) for x in (X, y))
    for data, blocks, sums in ((persisted(client, X, y), 3, 0), (here, 11, 2)):
        evaluate = tape.dask.value_and_grad(logistic, data=data)
        for _ in range(4):
            evaluate(W)
        engine = tape.dask.scheduling.Scheduler()
        batches = evaluate._homes.batches(engine.client, 0.0)  # whatever else this machine does
        own = evaluate._graph(engine, batches, evaluate._parcels(engine, (W,)), (W,)).tasks
        names = [dask.utils.key_split(key) for key in own]
        assert names.count("logistic-value-and-grad") <= blocks
        assert names.count("sum-of-logistic-value-and-grad") == sums
        assert len(names) <= blocks + sums


@pytest.mark.parametrize("count", [*range(1, 18), 31, 32, 33, 40])
def test_blocks_are_added_up_the_same_whoever_has_which(count):
    """The oracle adds neighbours level by level; the sums are of blocks dealt out at will, in any order."""
    parts = [(np.float64(x),) for x in draw.normal(size=count)]
    hands, order = draw.integers(0, 5, count).tolist(), draw.permutation(5).tolist()
    sums = [tree_sum.merged(count, {(0, k): parts[k] for k in range(count) if hands[k] == hand}) for hand in order]
    found = tree_sum.merged(count, tree_sum.merged(count, *sums[:2]), *sums[2:])
    level = parts
    while len(level) > 1:
        pairs = [tree_sum.added(*level[k : k + 2]) for k in range(0, len(level) - 1, 2)]
        level = pairs + level[len(level) - len(level) % 2 :]
    assert found == {tree_sum.root(count): level[0]}
