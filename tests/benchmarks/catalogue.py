"""The benchmarks: work, who does it, what is reported of it, and what it must reach."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from . import processes
from .cluster.clusters import Clustered
from .cluster.scenarios import scenarios
from .cluster.sums import first, logistic as logistic_on_cluster, traffic
from .compiled import COMPILED
from .goal import at_most, faster, within
from .kinds import Fresh, Sampler, Timed
from .models.rows import MODELS
from .work import chain, elementwise, indexing, logistic, matmul, moving, square


def _chains() -> Iterator[Timed]:
    """The same chain at three shapes, in whole and in part."""
    parts = (
        ("chain", "both", "forward + backward", ("tape", "torch", "autograd"), faster("torch", 3)),
        ("backward", "backward", "backward alone", ("tape", "torch", "autograd"), faster("torch", 12)),
    )
    for name, part, text, peers, goal in parts:
        for shape in ((), (4,), (100,)):
            yield Timed(
                f"{name} {shape}", f"`y = y*x + x`, shape `{shape}`: {text}, per operation", chain, (shape, 500),
                (shape, 3), peers, part, goal, per=lambda _, steps: 2 * steps,
            )  # fmt: skip


def _forwards() -> Iterator[Timed]:
    """What recording costs, beside NumPy alone."""
    peers = "tape", "tape, no_grad", "numpy", "torch", "torch, no_grad"
    for shape in ((), (100,)):
        yield Timed(
            f"forward {shape}", f"`y = y*x + x`, shape `{shape}`: forward alone, per operation", chain, (shape, 500),
            (shape, 3), peers, "forward", per=lambda _, steps: 2 * steps,
        )  # fmt: skip


def _import_seconds(peer: str) -> Sampler:
    return processes.import_seconds(peer)


def _first_gradient(peer: str, caches: Callable[[], str] | None) -> Sampler:
    return lambda: processes.first_gradient(peer, caches and caches())


def _first_check(peer: str, caches: Callable[[], str] | None) -> Sampler:
    return lambda: processes.first_check(caches and caches())


def _bytes_per_record(peer: str, records: int) -> Sampler:
    return lambda: processes.bytes_per_record(peer, records)


ALL = ("tape.dask", "tape.dask, one process", "numpy, by dask.array", "torch.dask", "jax.dask")

READING = ("dask, the data read once", "dask, the data read once by one process")
"""How much sooner two processes have read it than one: more the machine's memory does not allow."""

CLUSTERED: tuple[Clustered, ...] = (
    Clustered(
        "dask logistic", "logistic regression, 10⁷ × 20 on a cluster of 2 processes: value and gradient",
        logistic_on_cluster, (10**7, 20, 32), (1000, 3, 5), (*ALL, *READING),
        goal=faster("tape.dask, one process", 1.7) & faster("numpy, by dask.array", 1 / 0.7), rounds=11,
    ),
    Clustered(
        "dask overhead", "the same on 8 blocks of 10 rows; dask: empty tasks, one for each block or as many as ours",
        logistic_on_cluster, (80, 20, 8), (80, 3, 8), ("tape.dask", "dask, empty tasks", "dask, the same empty tasks"),
        goal=within("dask, the same empty tasks", 1.3), rounds=30,
    ),
    Clustered(
        "dask bytes", "the same: bytes sent by all processes for one evaluation", traffic, (80, 20, 8), (80, 3, 8),
        ("tape.dask", "numpy, by dask.array", "dask, empty tasks"), unit="B", rounds=3,
    ),
    Clustered(
        "dask scenarios", "Black–Scholes price and 5 Greeks of 10⁶ options in 100 blocks on the same cluster",
        scenarios, (10**6, 100), (100, 5),
        (
            "tape.dask", "tape.dask, one process", "tape.dask, one task a block", "jax.dask",
            "dask, the same empty tasks", "dask, the same empty tasks of one process",
        ),
        goal=faster("tape.dask, one process", 1.7) & faster("jax.dask", 5), rounds=15,
    ),
    Clustered(
        "dask more scenarios", "the same for 4·10⁶ options", scenarios, (4 * 10**6, 100), (100, 5),
        ("tape.dask", "tape.dask, one process", "jax.dask", "dask, the same empty tasks"), rounds=7,
    ),
    Clustered(
        "dask first", "the first evaluation on a fresh cluster, over the second", first, (10_000, 20, 8), (80, 3, 4),
        ("tape.dask",), goal=at_most(2.0), rounds=3,
    ),
)  # fmt: skip

BENCHMARKS: tuple[Timed | Fresh | Clustered, ...] = (
    *_chains(),
    *_forwards(),
    Timed("tiny", "`y = x*x` on one number: the call `y.backward()`", square, (), (), ("tape", "torch"), "backward"),
    Timed(
        "indexing", "`s = s + x[i]*x[i]` over 1000 elements, per element", indexing, (1000,), (4,),
        ("tape", "torch", "autograd"), goal=faster("torch", 5), per=lambda n: n,
    ),
    Timed(
        "moving", "`y = concatenate([y[1:], y[:1]]).T + y.mean(0)`, shape `(4, 4)`: forward + backward, per operation",
        moving, ((4, 4), 100), ((3, 3), 2), ("tape", "torch", "autograd"), per=lambda _, steps: 6 * steps,
    ),
    Timed(
        "elementwise float64", "`sum(sin(tanh(log(exp(x) + 1))))` on 10⁶ float64", elementwise, (10**6, "float64"),
        (5, "float64"), ("tape", "torch", "autograd", "jax.jit"), goal=faster("torch", 1),
    ),
    Timed(
        "elementwise float32", "the same on 10⁶ float32", elementwise, (10**6, "float32"), (5, "float32"),
        ("tape", "torch", "jax.jit"), goal=faster("torch", 1),
    ),
    Timed(
        "matmul", "`x @ y`, 1000×1000", matmul, (1000,), (3,), ("tape", "torch", "jax.jit"), goal=within("torch", 1.2)
    ),
    Timed(
        "logistic", "logistic regression, 10⁴ × 20: loss and gradient", logistic, (10_000, 20), (7, 3),
        ("tape", "torch", "autograd", "jax.jit"),
    ),
    Fresh(
        "import", "the import, in a fresh process", _import_seconds, ("tape", "numpy", "numba", "torch", "jax"),
        within("numpy", 2.5),
    ),
    Fresh(
        "first gradient, warm",
        "a fresh process with one gradient, start to end; compiled code on disk; SciPy: `import numpy, scipy.special`",
        _first_gradient, ("tape", "scipy", "torch", "autograd", "jax"), within("scipy", 1.3),
        setting=lambda: processes.folder(True),
    ),
    Fresh(
        "first gradient, cold", "the same, nothing on disk", _first_gradient, ("tape", "scipy"), within("scipy", 1.3),
        setting=lambda: processes.folder(False),
    ),
    Fresh(
        "first gradcheck", "the first `gradcheck` above, start to end, nothing on disk", _first_check, ("tape",),
        at_most(1.5), setting=lambda: processes.folder(False),
    ),
    Fresh(
        "memory", "memory per recorded operation on one number", _bytes_per_record, ("tape", "torch", "autograd"),
        unit="B", size=(200_000,), small=(20_000,),
    ),
    *COMPILED,
    *MODELS,
    *CLUSTERED,
)  # fmt: skip
"""In the order in which they are shown; the first peer is always one of ours."""


def chosen(prefixes: Sequence[str]) -> list[Timed | Fresh | Clustered]:
    """The benchmarks whose names begin with one of these; all, where there are none.

    Raises:
        ValueError: if no benchmark's name begins so.
    """
    for prefix in prefixes:
        if not any(b.name.startswith(prefix) for b in BENCHMARKS):
            known = ", ".join(repr(b.name) for b in BENCHMARKS)
            raise ValueError(f"no benchmark's name begins with {prefix!r}; there are {known}")
    return [b for b in BENCHMARKS if not prefixes or b.name.startswith(tuple(prefixes))]
