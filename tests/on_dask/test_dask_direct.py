"""Evaluations that go to the workers directly: the same bits, and a graph wherever a worker cannot do its part."""

import os
import signal
import threading
import time

import numpy as np
import pytest
from dask_cluster import MISSING

import tape

pytest.importorskip("distributed", reason=MISSING)
import dask
from distributed import wait, worker_client

import tape.dask
from tape.dask import batches, evaluation, parcel_programs
from tape.dask.batches import TASK_SECONDS

pytestmark = pytest.mark.cluster

W = np.random.default_rng(3).normal(size=4)
BLOCKS, ROWS = 6, 50


def rows(k):
    """A block, made where it is."""
    return np.random.default_rng(k).normal(size=(ROWS, 4))


def loss(w, X):
    return np.log1p(np.exp(-(X @ w))).sum()


def spread(client):
    """Blocks on all workers in turn, which may be made again elsewhere."""
    workers = sorted(client.nthreads())
    made = [
        client.submit(rows, k, workers=[workers[k % len(workers)]], allow_other_workers=True, pure=False)
        for k in range(BLOCKS)
    ]
    wait(made)
    return made


def bits(found):
    value, gradient = found
    return float(value).hex(), gradient.tobytes()


@pytest.fixture
def ways(monkeypatch):
    """What became of each evaluation that was handed out directly: whether the workers did their part."""
    found = []
    real = evaluation.run_directly

    def spied(client, tasks):
        parts = real(client, tasks)
        found.append(parts is not None)
        return parts

    monkeypatch.setattr(evaluation, "run_directly", spied)
    return found


def settled(client, ways, **options):
    """An evaluation that goes directly from now on, and the bits of what a graph gives.

    Dask may put most of the blocks on one worker, which has no thread for its part then; so there are several attempts.
    """
    for _ in range(10):
        evaluate = tape.dask.value_and_grad(loss, data=spread(client), **options)
        expected = bits(evaluate(W))
        for _ in range(6):
            evaluate._seconds = 0.0  # whatever else this machine does
            assert bits(evaluate(W)) == expected
            if True in ways:
                ways.clear()
                evaluate._seconds = 0.0
                return evaluate, expected
    raise AssertionError("no evaluation goes directly")


def transitions(client):
    """How many changes of tasks the scheduler has seen, once nothing is left to be forgotten."""
    seen, now = -1, 0
    while now != seen:
        time.sleep(0.1)
        seen, now = now, client.run_on_scheduler(lambda dask_scheduler: dask_scheduler.transition_counter)
    return now


def test_the_clients_own_update_hides_no_worker(client, monkeypatch):
    """It keeps an answer without workers, now and then just when somebody wants to read another."""
    without = property(lambda _: {"workers": {}}, lambda *_: None)
    monkeypatch.setattr(type(client), "_scheduler_identity", without, raising=False)
    assert batches.workers_of(client).keys() == client.nthreads().keys() != set()


def test_direct_evaluations_give_the_same_bits_and_make_no_tasks(client, ways):
    for _ in range(5):  # Dask may just have dropped a copy of a block that a task had taken to another worker
        evaluate, expected = settled(client, ways)
        made, replays = transitions(client), replays_of(evaluate)
        value, gradient = evaluate(W)
        assert bits((value, gradient)) == expected
        if ways == [True]:
            break
    assert ways == [True]
    assert gradient.flags.writeable
    assert transitions(client) == made
    assert replays_of(evaluate) - replays == BLOCKS


def replays_of(evaluate):
    return sum(path.replays for path in evaluate.paths())


def test_what_goes_into_a_graph(client, ways):
    """Evaluations that take long, are annotated, have not been seen to be where they should be, or decide something."""
    evaluate, expected = settled(client, ways)
    with dask.annotate(priority=1):
        assert bits(evaluate(W)) == expected
    evaluate._seconds = 2 * TASK_SECONDS
    assert bits(evaluate(W)) == expected
    evaluate._homes.forget()
    evaluate._seconds = 0.0
    assert bits(evaluate(W)) == expected
    branched = tape.dask.value_and_grad(lambda w, X: loss(w, X) if w[0] > -9 else 0.0 * loss(w, X), data=spread(client))
    for _ in range(5):
        branched._seconds = 0.0
        branched(W)
    assert ways == []
    many = tape.dask.gauss_newton(lambda w, X: X @ w, data=spread(client))
    heavy = np.zeros(evaluation.EMBEDDED // 64)
    assert many._heavy(2, (heavy,))
    assert not many._heavy(2, (W,))


def test_a_task_evaluates_by_a_graph(client, ways):
    """Its thread is one of those that would do the work."""
    evaluate, expected = settled(client, ways)
    data = list(evaluate._blocks.futures.values())

    def inner(*_):
        with worker_client() as own:
            again = tape.dask.value_and_grad(loss, data=[own.submit(rows, k, pure=False) for k in range(BLOCKS)])
            for _ in range(4):
                again._seconds = 0.0
                found = bits(again(W))
            return found, tape.dask.scheduling.Scheduler().watched

    assert client.submit(inner, *data, pure=False).result(timeout=60) == (expected, True)


def test_a_worker_with_other_work_declines(client, ways):
    """What occupies its only thread may take an hour; Dask finds somebody else for the graph."""
    evaluate, expected = settled(client, ways)
    occupied = client.submit(time.sleep, 2.0, workers=[next(iter(client.nthreads()))], pure=False)
    while occupied.key not in {key for keys in client.processing().values() for key in keys}:
        time.sleep(0.01)
    assert bits(evaluate(W)) == expected
    assert ways == [False]
    occupied.cancel()


def test_blocks_that_have_moved_are_looked_for(client, ways):
    evaluate, expected = settled(client, ways)
    futures = list(evaluate._blocks.futures.values())
    before = client.who_has(futures)
    moved = []
    deadline = time.monotonic() + 30
    while not moved and time.monotonic() < deadline:  # which of two copies goes is left to chance
        client.replicate(futures, n=2)
        client.replicate(futures, n=1)
        moved = [key for key, workers in client.who_has(futures).items() if before[key][0] not in workers]
    assert moved
    while client.run(lambda dask_worker: moved[0] in dask_worker.data, workers=before[moved[0]])[before[moved[0]][0]]:
        time.sleep(0.01)
    assert bits(evaluate(W)) == expected
    assert ways == [False]


def test_what_is_raised_names_the_block(client, ways):
    evaluate, expected = settled(client, ways, nan="raise")
    for _ in range(2):
        with pytest.raises(FloatingPointError, match=r"block \d of 6 of loss gives nan: there is none in its data"):
            evaluate(np.full(4, np.nan))
        evaluate._seconds = 0.0
        assert bits(evaluate(W)) == expected


def test_a_worker_that_has_forgotten_the_program_declines(client, ways):
    evaluate, expected = settled(client, ways)
    client.run(forget)
    assert bits(evaluate(W)) == expected
    assert ways == [False]


def forget():
    """Open all parcels anew."""
    parcel_programs._open.clear()


def stopped(client):
    """The process of one worker, which does nothing from now on."""
    pid = next(iter(client.run(os.getpid).values()))
    os.kill(pid, signal.SIGSTOP)
    return pid


def test_an_interrupt_of_a_direct_evaluation(client, ways):
    evaluate, expected = settled(client, ways)
    pid = stopped(client)
    try:
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            evaluate(W)
    finally:
        os.kill(pid, signal.SIGCONT)
    assert ways == []
    assert bits(evaluate(W)) == expected


def test_a_worker_is_killed_in_the_middle_of_a_direct_evaluation(client, ways):
    evaluate, expected = settled(client, ways)
    pid = stopped(client)
    threading.Timer(0.5, os.kill, (pid, signal.SIGKILL)).start()
    assert bits(evaluate(W)) == expected
    assert ways == [False]
    client.wait_for_workers(2, timeout=60)
    assert bits(evaluate(W)) == expected
