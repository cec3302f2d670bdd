"""Scenarios on a cluster: prices and Greeks by `tape.dask.map`, and by jax for each block."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from ..kinds import Sampler, agree
from . import clusters
from .clusters import jitted, kept, nothing


def price(s: Any) -> Any:
    """Black and Scholes' price of a call: spot, strike, time, rate, volatility."""
    root = np.sqrt(s[2])
    d = (np.log(s[0] / s[1]) + (s[3] + 0.5 * s[4] * s[4]) * s[2]) / (s[4] * root)
    cdf = lambda d: 0.5 + 0.5 * np.tanh(0.7978845608 * (d + 0.044715 * d * d * d))  # noqa: E731
    return s[0] * cdf(d) - s[1] * np.exp(-s[3] * s[2]) * cdf(d - s[4] * root)


def jax_price() -> Any:
    import jax
    import jax.numpy as jnp

    def price(s: Any) -> Any:
        root = jnp.sqrt(s[2])
        d = (jnp.log(s[0] / s[1]) + (s[3] + 0.5 * s[4] * s[4]) * s[2]) / (s[4] * root)
        cdf = lambda d: 0.5 + 0.5 * jnp.tanh(0.7978845608 * (d + 0.044715 * d * d * d))  # noqa: E731
        return s[0] * cdf(d) - s[1] * jnp.exp(-s[3] * s[2]) * cdf(d - s[4] * root)

    return jax.jit(jax.vmap(lambda s: jnp.append(*jax.value_and_grad(price)(s)[::-1])))


def jax_greeks(S: Any) -> Any:
    """Greeks and price side by side."""
    return np.asarray(jitted("price", jax_price)(S))


def greeks_and_price(S: Any) -> Any:
    """Greeks and price side by side."""
    import tape

    gradient, value = tape.func.vmap(tape.func.grad_and_value(price))(S)
    return np.concatenate([gradient, value[:, None]], axis=1)


def emptied(made: Any) -> Any:
    """A Dask array of the same tasks on the same blocks, with nothing to do."""
    import dask.array as da
    from dask.highlevelgraph import HighLevelGraph

    from tape.dask.tasks import Task, TaskRef

    name, layer = f"empty-{made.name}", {}
    for (_, *place), task in made.dask.layers[made.name].items():
        key = (name, *place)
        layer[key] = Task(key, nothing, *(x for x in task.args if isinstance(x, TaskRef)))
    return da.Array(HighLevelGraph.from_collections(name, layer), name, made.chunks, dtype=made.dtype)


def scenarios(stack: ExitStack, peers: Sequence[str], count: int, blocks: int) -> dict[str, Sampler]:
    """Prices and Greeks of scenarios that lie on the cluster and stay there."""
    import dask.array as da
    from distributed import wait

    import tape.dask

    low, high = np.array([80, 80, 0.5, 0.01, 0.1]), np.array([120, 120, 2.0, 0.05, 0.4])
    two = clusters.cluster(stack, 2)
    one = clusters.cluster(stack, 1) if any("one process" in peer for peer in peers) else two
    ways, found = {}, {}
    for peer in peers:
        client = one if "one process" in peer else two
        drawn = da.random.default_rng(20).random((count, 5), chunks=(-(-count // blocks), 5))
        S = low + drawn * (high - low)
        with client.as_current():
            S = client.persist(S)
            wait(S)
            if peer.startswith("tape"):
                made = tape.dask.map(greeks_and_price, S, fuse="one task" not in peer)
            elif peer.startswith("dask"):
                ways[peer] = kept(client, emptied(tape.dask.map(greeks_and_price, S)))
                continue
            else:
                made = S.map_blocks(jax_greeks, dtype=S.dtype, chunks=(S.chunks[0], (6,)))
            found[peer] = client.compute(made.sum(axis=0)).result()
        ways[peer] = kept(client, made)
    for peer, result in found.items():
        agree([result], [found[peers[0]]], peer)
    return ways
