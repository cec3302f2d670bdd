"""Sums on a cluster: logistic regression by `tape.dask` and by its peers, what is sent, and the first evaluation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np

from ..kinds import Sampler, agree
from . import clusters
from .clusters import jitted, nothing, timed


def loss(w: Any, X: Any, y: Any) -> Any:
    """Negative log-likelihood, labels ±1."""
    return np.log1p(np.exp(-y * (X @ w))).sum()


def torch_block(w: Any, X: Any, y: Any) -> Any:
    import torch

    torch.set_num_threads(1)
    w = torch.tensor(w, requires_grad=True)
    value = torch.log1p(torch.exp(-torch.from_numpy(y) * (torch.from_numpy(X) @ w))).sum()
    value.backward()
    return value.item(), w.grad.numpy()


def jax_loss() -> Any:
    import jax
    import jax.numpy as jnp

    return jax.jit(jax.value_and_grad(lambda w, X, y: jnp.log1p(jnp.exp(-y * (X @ w))).sum()))


def jax_block(w: Any, X: Any, y: Any) -> Any:
    value, gradient = jitted("loss", jax_loss)(w, X, y)
    return np.asarray(value), np.asarray(gradient)


def shaped_alike(
    client: Any, block: Callable[..., Any], total: Callable[..., Any], data: Sequence[Any],
    shape: Callable[[], Sequence[Sequence[int]]] | None = None,
) -> Any:  # fmt: skip
    """An evaluation by a graph of one task for each block and sums of eight, with some work in its tasks.

    If there is a `shape`, there is instead one task for each list of numbers of blocks that it gives.
    """
    from dask._task_spec import Task, TaskRef
    from distributed import futures_of

    from tape.dask.evaluation import FAN_IN

    futures = list(zip(*(futures_of(x) for x in data), strict=True))  # which keep the data there

    def evaluate(w: Any) -> Any:
        token = np.random.default_rng().bytes(16).hex()
        graph: dict[Any, Any] = {}
        for k, numbers in enumerate([[k] for k in range(len(futures))] if shape is None else shape()):
            key: Any = (f"block-{token}", k)
            graph[key] = Task(key, block, w, *(TaskRef(future.key) for n in numbers for future in futures[n]))
        level, depth, few = list(graph), 0, 1 if shape is None else FAN_IN
        while len(level) > few:
            above = [(f"sum-{token}", depth, k) for k in range(-(-len(level) // FAN_IN))]
            for key in above:
                k = key[2] * FAN_IN
                graph[key] = Task(key, total, *map(TaskRef, level[k : k + FAN_IN]))
            level, depth = above, depth + 1
        with client.as_current():
            return client.get(graph, level if shape else level[0])

    return evaluate


def read(w: Any, *parts: Any) -> tuple[float]:
    """A task that does no more than read its blocks once, as quickly as this processor can."""
    return (sum(float(np.dot(x.ravel(), x.ravel())) for x in parts),)


def batches_of(way: tuple[Any, Any]) -> list[tuple[int, ...]]:
    """The blocks of each task of the next evaluation that `tape.dask` makes."""
    client, evaluate = way
    return [batch.numbers for batch in evaluate._homes.batches(client, evaluate._seconds)]


def read_alike(way: tuple[Any, Any], data: Sequence[Any]) -> Any:
    """An evaluation that reads the data once, in the tasks of `tape.dask`'s next one, which go the same way."""
    from distributed import futures_of

    from tape.dask.direct import run_directly
    from tape.dask.tasks import Task, TaskRef

    client, ours = way
    futures = list(zip(*(futures_of(x) for x in data), strict=True))
    by_graph = shaped_alike(client, read, summed, data, partial(batches_of, way))

    def evaluate(w: Any) -> Any:
        batches = ours._homes.batches(client, ours._seconds)
        if not ours._homes.settled(batches, ours._seconds):
            return by_graph(w)
        tasks: dict[str, list[Any]] = {}
        for batch in batches:
            parts = [TaskRef(future.key) for n in batch.numbers for future in futures[n]]
            tasks.setdefault(batch.home, []).append(Task(("read", *batch.numbers), read, w, *parts))
        return run_directly(client, tasks) or by_graph(w)

    return evaluate


def summed(*parts: Any) -> Any:
    """Values and gradients summed up."""
    return tuple(map(sum, zip(*parts, strict=True)))


def by_hand(X: Any, y: Any) -> Callable[[Any], Any]:
    """Value and gradient as one writes them in `dask.array`."""
    import dask
    import dask.array as da

    def evaluate(w: Any) -> Any:
        e = da.exp(-y * (X @ w))
        return dask.compute(da.log1p(e).sum(), X.T @ (-y * e / (1.0 + e)))

    return evaluate


def rows(client: Any, count: int, columns: int, blocks: int) -> Any:
    """Features and labels in the memory of a cluster."""
    import dask.array as da
    from distributed import wait

    draw = da.random.default_rng(20)
    X = draw.normal(size=(count, columns), chunks=(-(-count // blocks), columns))
    data = client.persist([X, da.sign(X[:, 0] + 0.5)])
    with client.as_current():
        wait(data)
    return data


def logistic(stack: ExitStack, peers: Sequence[str], count: int, columns: int, blocks: int) -> dict[str, Sampler]:
    """Value and gradient at the same parameters, by each peer."""
    import tape.dask

    w = 0.1 * np.random.default_rng(20).normal(size=columns)
    two = clusters.cluster(stack, 2)
    X, y = rows(two, count, columns, blocks)
    ways: dict[str, tuple[Any, Callable[[Any], Any]]] = {}
    for peer in peers:
        if peer == "tape.dask, one process":
            one = clusters.cluster(stack, 1)
            there = tuple(rows(one, count, columns, blocks))
            ways[peer] = one, tape.dask.value_and_grad(loss, data=there)
        elif peer == "dask, the data read once":
            ways[peer] = two, read_alike(ways["tape.dask"], (X, y))
        elif peer == "dask, the data read once by one process":
            ways[peer] = one, read_alike(ways["tape.dask, one process"], there)
        elif peer.startswith("tape"):
            ways[peer] = two, tape.dask.value_and_grad(loss, data=(X, y))
        elif peer.startswith("numpy"):
            ways[peer] = two, by_hand(X, y)
        elif peer.startswith("dask"):
            shape = partial(batches_of, ways["tape.dask"]) if "same" in peer else None
            ways[peer] = two, shaped_alike(two, nothing, nothing, (X, y), shape)
        else:
            block = torch_block if peer.startswith("torch") else jax_block
            ways[peer] = two, shaped_alike(two, block, summed, (X, y))
    found = {}
    for peer, (client, evaluate) in ways.items():
        with client.as_current():
            found[peer] = evaluate(w)
    for peer, result in found.items():
        if not peer.startswith("dask"):
            agree([np.asarray(x) for x in result], [np.asarray(x) for x in found[peers[0]]], peer)
    return {peer: timed(lambda f=evaluate: f(w), client) for peer, (client, evaluate) in ways.items()}


# What is sent.


def count_bytes(dask_worker: Any = None) -> None:
    """From now on, count what this process sends."""
    from distributed.comm.tcp import TCP

    if not hasattr(TCP, "sent"):
        write = TCP.write

        async def counted(self: Any, *args: Any, **kwargs: Any) -> Any:
            sent = await write(self, *args, **kwargs)
            TCP.sent += sent or 0
            return sent

        TCP.write, TCP.sent = counted, 0


def sent_bytes(dask_worker: Any = None) -> int:
    """What was sent since."""
    from distributed.comm.tcp import TCP

    return TCP.sent


def traffic(stack: ExitStack, peers: Sequence[str], count: int, columns: int, blocks: int) -> dict[str, Sampler]:
    """Bytes that client, scheduler and workers send for one evaluation, all together."""
    import tape.dask

    two = clusters.cluster(stack, 2)
    w = np.zeros(columns)
    X, y = rows(two, count, columns, blocks)
    ways = {"tape.dask": tape.dask.value_and_grad(loss, data=(X, y)), "numpy": by_hand(X, y)}
    ways["dask"] = shaped_alike(two, nothing, nothing, (X, y))
    count_bytes()
    two.run(count_bytes)

    def sampler(evaluate: Callable[[Any], Any], times: int = 20) -> Sampler:
        def sample() -> float:
            with two.as_current():
                evaluate(w)
                before = sent_bytes() + sum(two.run(sent_bytes).values())
                for k in range(times):
                    evaluate(w + k)
                return (sent_bytes() + sum(two.run(sent_bytes).values()) - before) / times

        return sample

    return {peer: sampler(ways[peer.partition(",")[0]]) for peer in peers}


def first(stack: ExitStack, peers: Sequence[str], count: int, columns: int, blocks: int) -> dict[str, Sampler]:
    """Seconds of the first evaluation on a fresh cluster over those of the second: record, send, import, compile."""
    import tape.dask

    def sample() -> float:
        with ExitStack() as inner:
            client = clusters.cluster(inner, 2)
            evaluate = tape.dask.value_and_grad(loss, data=tuple(rows(client, count, columns, blocks)))
            one = timed(lambda: evaluate(np.zeros(columns)), client)
            return one() - one()

    return dict.fromkeys(peers, sample)
