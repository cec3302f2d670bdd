"""Sums over blocks of data: value and gradient, products with the Hessian, the normal equations of Gauss and Newton.

Parameters of an evaluation are floating-point arrays in tuples, lists and dicts, and the same as one vector.  Its tasks
are the contributions of batches of blocks, and the sums of those.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
from dask.typing import Key

from ..base.tree import build, leaves_of, structure_of, transform
from .batches import BlockBatch, Homes
from .blocks import Blocks
from .direct import Parts, run_directly
from .parcel import Parcel, same
from .parcel_programs import PathReport
from .scheduling import Scheduler
from .source import UserFunction
from .tasks import Task, TaskRef
from .tree_sum import root
from .worker import contribution, total

EMBEDDED = 1 << 18
"""So many bytes of parameters in all are sent with the tasks; more go to one worker, which hands them on.

So many bytes of sums in all come back to the client; more are added up on the way."""


class Evaluation:
    """A function of parameters that is a sum, or a mean, over the blocks of some data.

    Attributes:
        blocks: how many there are.
    """

    kind: str
    of_a_block = "mean"
    """What a block gives where a mean is wanted: the "mean" over its rows, or the "sum"."""

    def __init__(
        self, function: Callable[..., Any], data: Any, *, reduction: str = "sum", nan: str = "propagate",
        tier: str = "optimised",
    ):  # fmt: skip
        who = f"tape.dask.{type(self).__name__}()"
        one_of(who, "reduction", reduction, ("sum", "mean"))
        one_of(who, "nan", nan, ("propagate", "raise"))
        self._source, self._blocks = UserFunction(function, self.kind, tier), Blocks(data, who)
        self._mean, self._nan = self.of_a_block if reduction == "mean" else None, nan
        self._label = f"{self._source.name}-{self.kind}"
        self._digests: dict[str, None] = {}
        self._homes = Homes(self._blocks)
        self._seconds: float | None = None

    @property
    def blocks(self) -> int:
        return len(self._blocks)

    def __repr__(self) -> str:
        what = "mean" if self._mean else "sum"
        return f"<tape.dask.{type(self).__name__} of {self._source.name}: {what} over {self.blocks} blocks>"

    def paths(self) -> list[PathReport]:
        """Which ways through the function the blocks took, on each worker that is there now."""
        return Scheduler().reports(self._digests)

    def _sum(self, *arguments: Any) -> list[Any]:
        """The leaves of the sum, or mean, of what the function gives for these arguments and each block."""
        engine = Scheduler()
        self._blocks.require_there(engine.client)
        self._blocks.learn(engine.get, self._source.name)
        batches, parcels = self._homes.batches(engine.client, self._seconds), self._parcels(engine, arguments)
        start = perf_counter()
        parts = self._directly(engine, batches, parcels, arguments)
        if parts is None:
            own = self._graph(engine, batches, parcels, arguments)
            parts = engine.compute({**self._blocks.graph, **own.tasks}, own.keys, self._blocks.largest)
            self._homes.learn(moved=any(moved for _, moved in parts))
        self._seconds = perf_counter() - start
        sums, _ = total(len(self._blocks), *parts)
        return self._finished(sums[root(len(self._blocks))])

    def _graph(
        self, engine: Scheduler, batches: Sequence[BlockBatch], parcels: Sequence[Parcel], arguments: tuple[Any, ...]
    ) -> SumGraph:
        """The tasks of one evaluation."""
        name = self._name()
        shared: Any = arguments
        tasks: dict[Key, Any] = {}
        if engine.client is not None and len(batches) * nbytes(arguments) > EMBEDDED:
            key: Key = f"parameters-of-{name}"
            tasks[key], shared = Task(key, same, *arguments), TaskRef(key)
        few = 1 if self._heavy(len(self._blocks), arguments) else FAN_IN
        references = [engine.reference(parcel) for parcel in parcels]
        made = sum_graph(name, self._blocks, batches, references, shared, self._mean, self._nan, few)
        return SumGraph({**tasks, **made.tasks}, made.keys)

    def _directly(
        self, engine: Scheduler, batches: Sequence[BlockBatch], parcels: Sequence[Parcel], arguments: tuple[Any, ...]
    ) -> list[Any] | None:
        """What batches come to where their tasks go to the workers without the scheduler; None if they have to.

        What has to be recorded, or runs as it is, where the data is may warn, and raise in the user's own lines; so it
        stays among Dask's tasks.
        """
        if (
            not self._homes.settled(batches, self._seconds)
            or any(parcel.function is not None for parcel in parcels)
            or engine.watched
            or self._heavy(len(batches), arguments)
        ):
            return None
        digests = [parcel.known() for parcel in parcels]
        few = len(batches)
        made = sum_graph(self._name(), self._blocks, batches, digests, arguments, self._mean, self._nan, few)
        parts = run_directly(engine.client, by_worker(made, batches))
        if parts is None:
            self._homes.forget()
        return parts

    def _name(self) -> str:
        """A name for the tasks of one evaluation."""
        return f"{self._label}-{uuid4().hex}"

    def _heavy(self, count: int, arguments: tuple[Any, ...]) -> bool:
        """Whether so many sums, or so many times these parameters, are too much for the client."""
        return count * max(self._result_bytes(arguments), nbytes(arguments)) > EMBEDDED

    def _parcels(self, engine: Scheduler, arguments: tuple[Any, ...]) -> list[Parcel]:
        """The program of each kind of block, as it travels."""
        parcels = [
            self._source.recorded((*arguments, *shapes), engine.travels).parcel for shapes in self._blocks.examples
        ]
        self._digests.update(dict.fromkeys(parcel.digest for parcel in parcels))
        return parcels

    def _result_bytes(self, arguments: tuple[Any, ...]) -> int:
        """The size of what one block adds."""
        return nbytes(arguments[0])

    def _finished(self, leaves: Any) -> list[Any]:
        if leaves is None:
            raise ValueError(f"{self!r}: there is no row in any block of the data.")
        if not self._mean:
            return list(leaves)
        return [leaf / leaves[-1] for leaf in leaves[:-1]]


class value_and_grad(Evaluation):
    """The value of a loss over blocks of data, and its gradient with respect to the parameters.

    ``value_and_grad(loss, data)(parameters)`` gives ``(value, gradient)``, as `scipy.optimize.minimize` takes it with
    ``jac=True``.  The data stays where it is; parameters travel there and gradients back.

    Args:
        function: ``loss(parameters, *blocks)``, a plain function of arrays that gives a number; parameters may be
            nested in tuples, lists and dicts.
        data: a Dask array, dataframe or bag, or a list of delayed values or futures; or a tuple of several, with the
            same rows in each block.  A bag's partition is an array of its items; of tuples or dicts, a tuple or dict of
            arrays.  A delayed value is an array, or a tuple or dict of arrays.
        reduction: ``"sum"`` of what the blocks give, or ``"mean"``, weighted by their rows, of a loss that is a mean
            itself.  A block without rows contributes nothing.
        nan: ``"propagate"``, or ``"raise"`` with the number of the block that gives one.
        tier: how programs are compiled, as for `tape.compile`.

    The function is recorded once per shape of a block, and its program travels: once to every worker, as the bytes of
    its file.  Where it takes decisions from the data, it travels itself, by cloudpickle, and each worker records the
    paths that its blocks take (see `paths`).  Sums are taken in a tree that depends on the order of the blocks alone,
    so that the result is bitwise the same whatever the number of workers (with processors of one kind).

    Where the data lies in the memory of up to eight workers and an evaluation takes less than 0.15 s, the next ones go
    to these workers without a graph (see `tape.dask.direct`): no tasks for the dashboard, but for one in ten seconds.
    Say ``with dask.annotate(priority=0):`` around an evaluation that must be one.

    Raises:
        TypeError, ValueError: if function, data or options are others.
        RuntimeError: when called, if the data was in the memory of a cluster and is there no more.
        Exception: when called, what the function raises on a block, with a note that says on which.

    >>> import dask.array as da, numpy as np, scipy.optimize, tape.dask
    >>> X = da.from_array(np.arange(12.0).reshape(6, 2) % 5, chunks=(4, 2))
    >>> y = da.from_array(np.arange(6.0), chunks=4)
    >>> loss = lambda w, X, y: np.mean((X @ w - y) ** 2)
    >>> value_and_gradient = tape.dask.value_and_grad(loss, data=(X, y), reduction="mean")
    >>> value_and_gradient
    <tape.dask.value_and_grad of lambda: mean over 2 blocks>
    >>> scipy.optimize.minimize(value_and_gradient, np.zeros(2), jac=True).success
    True
    """

    kind = "value-and-grad"

    def __call__(self, parameters: Any) -> tuple[Any, Any]:
        """Value and gradient, the latter built like the parameters.

        Raises:
            TypeError: if one of the parameters is no floating-point number or array.
        """
        parameters = numbers(parameters)
        value, *gradient = self._sum(parameters)
        return value, build(structure_of(parameters), gradient)


class hvp(Evaluation):
    """Products of a loss's Hessian with vectors, without forming it.

    ``hvp(loss, data)(parameters, vector)`` gives H v, built like the parameters; so it is what SciPy calls ``hessp``.
    ``operator(parameters)`` is H as a `scipy.sparse.linalg.LinearOperator`, for ``hess=``.  The arguments are those of
    `value_and_grad`.

    >>> import dask.array as da, numpy as np, tape.dask
    >>> X = da.ones((6, 2), chunks=(4, 2))
    >>> H = tape.dask.hvp(lambda w, X: np.exp(X @ w).sum(), data=X)
    >>> H(np.zeros(2), np.array([1.0, 2.0]))
    array([18., 18.])
    >>> H.operator(np.zeros(2)) @ np.array([1.0, 0.0])
    array([6., 6.])
    """

    kind = "hvp"

    def __call__(self, parameters: Any, vector: Any) -> Any:
        """H v.

        Raises:
            TypeError: if parameters or vector hold something else than floating-point numbers.
            ValueError: if the vector is not built like the parameters.
        """
        parameters, vector = numbers(parameters), numbers(vector)
        structure = structure_of(parameters)
        shapes = [[np.shape(x) for x in leaves_of(tree)] for tree in (parameters, vector)]
        if structure_of(vector) != structure or shapes[0] != shapes[1]:
            raise ValueError(
                f"hvp() requires a vector like the parameters, {structure} of shapes {shapes[0]}; got "
                f"{structure_of(vector)} of shapes {shapes[1]}."
            )
        dtypes = [x.dtype for x in leaves_of(parameters)]
        likewise = [x.astype(dtype) for x, dtype in zip(leaves_of(vector), dtypes, strict=True)]
        return build(structure, self._sum(parameters, build(structure, likewise)))

    def operator(self, parameters: Any) -> Any:
        """H at these parameters as a linear operator on vectors in which they are laid out one after another."""
        from scipy.sparse.linalg import LinearOperator

        parameters = numbers(parameters)
        flat = laid_flat(parameters)

        def product(v: np.ndarray) -> np.ndarray:
            return laid_flat(self(parameters, raised(v, parameters)))

        return LinearOperator((flat.size, flat.size), matvec=product, rmatvec=product, dtype=flat.dtype)


class gauss_newton(Evaluation):
    """The normal equations of least squares: JᵀJ and Jᵀr of residuals r over blocks of data.

    ``gauss_newton(residual, data)(parameters)`` gives ``(JᵀJ, Jᵀr)``, of shapes (n, n) and (n,) for n parameters, laid
    out one after another where they are nested.  ``residual(parameters, *blocks)`` gives an array; a step of the method
    is ``-np.linalg.solve(JTJ, JTr)``.  ``reduction="mean"`` divides both by the rows.  The other arguments are
    those of `value_and_grad`.

    >>> import dask.array as da, numpy as np, tape.dask
    >>> X, y = da.ones((6, 1), chunks=(4, 1)), da.full(6, 3.0, chunks=4)
    >>> JTJ, JTr = tape.dask.gauss_newton(lambda w, X, y: X @ w - y, data=(X, y))(np.zeros(1))
    >>> -np.linalg.solve(JTJ, JTr)
    array([3.])
    """

    kind = "gauss-newton"
    of_a_block = "sum"

    def _result_bytes(self, arguments: tuple[Any, ...]) -> int:
        sizes = sum(x.size for x in leaves_of(arguments))
        return 16 * sizes * (sizes + 1)

    def __call__(self, parameters: Any) -> tuple[Any, Any]:
        """JᵀJ and Jᵀr.

        Raises:
            TypeError: if one of the parameters is no floating-point number or array.
        """
        JTJ, JTr = self._sum(numbers(parameters))
        return JTJ, JTr


def one_of(who: str, name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Raise ValueError unless an option is one of some."""
    if value not in choices:
        raise ValueError(f"{who}: {name}= must be {' or '.join(map(repr, choices))}; got {value!r}.")


def numbers(parameters: Any) -> Any:
    """Parameters as arrays.

    Raises:
        TypeError: if one is no floating-point number or array.
    """
    found = transform(np.asarray, parameters)
    for x in leaves_of(found):
        if x.dtype.kind not in "fc":
            raise TypeError(
                f"parameters must be floating-point numbers or arrays, nested in tuples, lists and dicts; got "
                f"{x.dtype} in {parameters!r:.200}"
            )
    return found


def nbytes(arguments: Any) -> int:
    """The size of what is in some arguments."""
    return sum(x.nbytes for x in leaves_of(arguments))


def laid_flat(tree: Any) -> np.ndarray:
    """The leaves of a tree as one vector."""
    return np.concatenate([np.ravel(x) for x in leaves_of(tree)])


def raised(v: np.ndarray, like: Any) -> Any:
    """A vector as a tree of arrays like another."""
    leaves = leaves_of(like)
    parts = np.split(np.ravel(v), np.cumsum([x.size for x in leaves])[:-1])
    return build(structure_of(like), [np.reshape(p, x.shape) for p, x in zip(parts, leaves, strict=True)])


FAN_IN = 8
"""So many contributions are added up in one task."""


class SumGraph(NamedTuple):
    """Tasks, and the keys of what they come to; the caller adds up what is under them."""

    tasks: dict[Key, Any]
    keys: list[Key]


def sum_graph(
    name: str, blocks: Blocks, batches: Sequence[BlockBatch], parcels: Sequence[Any], arguments: Any,
    mean: str | None, nan: str, few: int,
) -> SumGraph:  # fmt: skip
    """The tasks that evaluate batches of blocks, and sum up, until there are but a `few` sums."""
    graph: dict[Key, Any] = {}
    level: list[Key] = []
    rules = (len(blocks), mean, nan)
    for batch in batches:
        key: Key = (name, batch.numbers[0])
        own = list(dict.fromkeys(blocks.kinds[k] for k in batch.numbers))
        kinds = tuple([own.index(blocks.kinds[k]) for k in batch.numbers])
        first, *others = (parcels[kind] for kind in own)
        parts = [part for k in batch.numbers for part in blocks.tasks[k]]
        graph[key] = Task(key, contribution, first, rules, batch.numbers, batch.home, kinds, arguments, *others, *parts)
        level.append(key)
    depth = 0
    while len(level) > few:
        above: list[Key] = [(f"sum-of-{name}", depth, k) for k in range(-(-len(level) // FAN_IN))]
        for k, key in enumerate(above):
            graph[key] = Task(key, total, len(blocks), *map(TaskRef, level[k * FAN_IN : (k + 1) * FAN_IN]))
        level, depth = above, depth + 1
    return SumGraph(graph, level)


def by_worker(graph: SumGraph, batches: Sequence[BlockBatch]) -> Parts:
    """The tasks of batches by the workers on which their blocks lie."""
    found: Parts = {}
    for key, batch in zip(graph.keys, batches, strict=True):
        found.setdefault(str(batch.home), []).append(graph.tasks[key])
    return found
