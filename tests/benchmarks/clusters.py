"""Work on a Dask cluster of processes with a thread each: `tape.dask` beside the same done by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from .goal import Goal, at_most, faster, within
from .kinds import Sampler, agree

Setting = Callable[..., Iterator[dict[str, Sampler]]]


@dataclass(frozen=True)
class Clustered:
    """Work on a cluster; a peer is ``library.dask``, and ``tape.dask, one process`` has a cluster of one process.

    Attributes:
        start: gives samplers of the peers, within a context in which clusters run and data lies there.
    """

    name: str
    text: str
    start: Callable[..., Any]
    size: tuple[Any, ...]
    small: tuple[Any, ...]
    peers: tuple[str, ...]
    goal: Goal | None = None
    unit: str = "s"
    rounds: int = 5

    @contextmanager
    def samplers(self, peers: Sequence[str], small: bool = False) -> Iterator[dict[str, Sampler]]:
        """A sampler for each peer, after a check that all of them find the same."""
        with ExitStack() as stack:
            yield self.start(stack, peers, *(self.small if small else self.size))


def cluster(stack: ExitStack, workers: int) -> Any:
    """The client of a cluster that runs as long as a context."""
    import dask
    import distributed

    stack.enter_context(dask.config.set({"distributed.scheduler.work-stealing": False}))
    started = distributed.LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=":0",
        silence_logs=50,
    )  # fmt: skip
    return stack.enter_context(distributed.Client(stack.enter_context(started), set_as_default=False))


def timed(call: Callable[[], Any], client: Any) -> Sampler:
    """A sampler of the seconds of a call on a cluster."""

    def sample() -> float:
        with client.as_current():
            start = perf_counter()
            call()
            return perf_counter() - start

    return sample


# Logistic regression.


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


_jitted: dict[str, Any] = {}


def jax_block(w: Any, X: Any, y: Any) -> Any:
    if "loss" not in _jitted:
        import jax
        import jax.numpy as jnp

        jax.config.update("jax_enable_x64", True)
        _jitted["loss"] = jax.jit(jax.value_and_grad(lambda w, X, y: jnp.log1p(jnp.exp(-y * (X @ w))).sum()))
    value, gradient = _jitted["loss"](w, X, y)
    return np.asarray(value), np.asarray(gradient)


def nothing(*_: Any) -> None:
    """An empty task."""


def shaped_alike(
    client: Any, block: Callable[..., Any], total: Callable[..., Any], data: Sequence[Any],
    shape: Callable[[], Sequence[Sequence[int]]] | None = None,
) -> Any:  # fmt: skip
    """An evaluation by a graph of one task for each block and sums of eight, with some work in its tasks.

    If there is a `shape`, there is instead one task for each list of numbers of blocks that it gives.
    """
    from dask._task_spec import Task, TaskRef
    from distributed import futures_of

    from tape.dask.sum_graph import FAN_IN

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


def batches_of(way: tuple[Any, Any]) -> list[tuple[int, ...]]:
    """The blocks of each task of the next evaluation that `tape.dask` makes."""
    client, evaluate = way
    return [batch.numbers for batch in evaluate._homes.batches(client, evaluate._seconds)]


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
    two = cluster(stack, 2)
    X, y = rows(two, count, columns, blocks)
    ways: dict[str, tuple[Any, Callable[[Any], Any]]] = {}
    for peer in peers:
        if peer == "tape.dask, one process":
            one = cluster(stack, 1)
            ways[peer] = one, tape.dask.value_and_grad(loss, data=tuple(rows(one, count, columns, blocks)))
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

    two = cluster(stack, 2)
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


# Scenarios.


def price(s: Any) -> Any:
    """Black and Scholes' price of a call: spot, strike, time, rate, volatility."""
    root = np.sqrt(s[2])
    d = (np.log(s[0] / s[1]) + (s[3] + 0.5 * s[4] * s[4]) * s[2]) / (s[4] * root)
    cdf = lambda d: 0.5 + 0.5 * np.tanh(0.7978845608 * (d + 0.044715 * d * d * d))  # noqa: E731
    return s[0] * cdf(d) - s[1] * np.exp(-s[3] * s[2]) * cdf(d - s[4] * root)


def jax_greeks(S: Any) -> Any:
    """Greeks and price side by side."""
    if "price" not in _jitted:
        import jax
        import jax.numpy as jnp

        jax.config.update("jax_enable_x64", True)

        def price(s: Any) -> Any:
            root = jnp.sqrt(s[2])
            d = (jnp.log(s[0] / s[1]) + (s[3] + 0.5 * s[4] * s[4]) * s[2]) / (s[4] * root)
            cdf = lambda d: 0.5 + 0.5 * jnp.tanh(0.7978845608 * (d + 0.044715 * d * d * d))  # noqa: E731
            return s[0] * cdf(d) - s[1] * jnp.exp(-s[3] * s[2]) * cdf(d - s[4] * root)

        _jitted["price"] = jax.jit(jax.vmap(lambda s: jnp.append(*jax.value_and_grad(price)(s)[::-1])))
    return np.asarray(_jitted["price"](S))


def greeks_and_price(S: Any) -> Any:
    """Greeks and price side by side."""
    import tape

    gradient, value = tape.func.vmap(tape.func.grad_and_value(price))(S)
    return np.concatenate([gradient, value[:, None]], axis=1)


def scenarios(stack: ExitStack, peers: Sequence[str], count: int, blocks: int) -> dict[str, Sampler]:
    """Prices and Greeks of scenarios that lie on the cluster and stay there."""
    import dask.array as da
    from distributed import wait

    import tape.dask

    low, high = np.array([80, 80, 0.5, 0.01, 0.1]), np.array([120, 120, 2.0, 0.05, 0.4])
    ways = {}
    two = cluster(stack, 2)
    for peer in peers:
        client = cluster(stack, 1) if peer == "tape.dask, one process" else two
        draw = da.random.default_rng(20).random((count, 5), chunks=(-(-count // blocks), 5))
        S = client.persist(low + draw * (high - low))
        with client.as_current():
            wait(S)

        with client.as_current():
            made = (
                tape.dask.map(greeks_and_price, S)
                if peer.startswith("tape")
                else S.map_blocks(jax_greeks, dtype=S.dtype, chunks=(S.chunks[0], (6,)))
            )

        def work(client: Any = client, made: Any = made) -> Any:
            there = client.persist(made)
            wait(there)
            return there

        ways[peer] = client, work
    found = {}
    for peer, (client, work) in ways.items():
        with client.as_current():
            found[peer] = client.compute(work()[: 10 * (count // blocks)].sum(axis=0)).result()
    for peer, result in found.items():
        agree([result], [found[peers[0]]], peer)
    return {peer: timed(work, client) for peer, (client, work) in ways.items()}


# The first evaluation.


def first(stack: ExitStack, peers: Sequence[str], count: int, columns: int, blocks: int) -> dict[str, Sampler]:
    """Seconds of the first evaluation on a fresh cluster over those of the second: record, send, import, compile."""
    import tape.dask

    def sample() -> float:
        with ExitStack() as inner:
            client = cluster(inner, 2)
            evaluate = tape.dask.value_and_grad(loss, data=tuple(rows(client, count, columns, blocks)))
            one = timed(lambda: evaluate(np.zeros(columns)), client)
            return one() - one()

    return dict.fromkeys(peers, sample)


ALL = ("tape.dask", "tape.dask, one process", "numpy, by dask.array", "torch.dask", "jax.dask")

CLUSTERED: tuple[Clustered, ...] = (
    Clustered(
        "dask logistic", "logistic regression, 10⁷ × 20 on a cluster of 2 processes: value and gradient", logistic,
        (10**7, 20, 32), (1000, 3, 5), ALL,
        goal=faster("tape.dask, one process", 1.7) & faster("numpy, by dask.array", 1 / 0.7),
    ),
    Clustered(
        "dask overhead", "the same on 8 blocks of 10 rows; dask: empty tasks, one for each block or as many as ours",
        logistic, (80, 20, 8), (80, 3, 8), ("tape.dask", "dask, empty tasks", "dask, the same empty tasks"),
        goal=within("dask, the same empty tasks", 1.3), rounds=30,
    ),
    Clustered(
        "dask bytes", "the same: bytes sent by all processes for one evaluation", traffic, (80, 20, 8), (80, 3, 8),
        ("tape.dask", "numpy, by dask.array", "dask, empty tasks"), unit="B", rounds=3,
    ),
    Clustered(
        "dask scenarios", "Black–Scholes price and 5 Greeks of 10⁶ options in 100 blocks on the same cluster",
        scenarios, (10**6, 100), (100, 5), ("tape.dask", "tape.dask, one process", "jax.dask"),
        goal=faster("tape.dask, one process", 1.7) & faster("jax.dask", 5),
    ),
    Clustered(
        "dask first", "the first evaluation on a fresh cluster, over the second", first, (10_000, 20, 8), (80, 3, 4),
        ("tape.dask",), goal=at_most(2.0), rounds=3,
    ),
)  # fmt: skip
