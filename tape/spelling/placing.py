"""Functions that put values at places of a tensor, as PyTorch spells them, and in place."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import ops
from ops.core.axis_order import OPERAND
from ops.shapes.index import cells_along

from ..base.signatures import passing_on
from ..base.tensor import Tensor
from ..memory.choosing import check_source, number_for
from ..memory.inplace import inplace
from ..memory.parting import along
from ..recording.calls import adaptor, axis_of, counted, derived, method
from ..recording.creation import as_tensor
from ..recording.functions import FUNCTIONS
from ..recording.indexing import plain_index
from ..recording.laying import giving_rows, laid


@adaptor
def index_put(input: Tensor, indices: Any = None, values: Any = None, accumulate: bool = False, **named: Any) -> Tensor:
    """The input with values put at ``indices``, a tuple of index tensors, or added there with ``accumulate``.

    >>> import tape
    >>> tape.zeros(3).index_put((tape.tensor([0, 2]),), tape.tensor([1.0, 2.0]))
    tensor([1., 0., 2.])
    """
    if named:
        return derived["index_put"](input, indices if values is None else values, accumulate=accumulate, **named)
    if not isinstance(indices, (tuple, list)):
        raise TypeError(f"index_put() takes a tuple of index tensors; got {type(indices).__name__}. Write (index,).")
    check_source(input, values, "index_put()")
    z = ops.index_put(input, values, index=plain_index(tuple(indices), own=True), accumulate=accumulate)
    return laid(z, OPERAND, (input,))


passing_on(index_put, derived["index_put"])


@adaptor
@giving_rows
def index_copy(input: Tensor, dim: int, index: Any, source: Any) -> Tensor:
    """The input with the entries of ``source`` put at a vector of indices, which count from zero, along one axis."""
    places = counted(input, dim, plain_index(index, own=True), "index_copy()")
    check_source(input, source, "index_copy()")
    return ops.index_put(input, source, index=along(axis_of(input, dim), places))


@adaptor
@giving_rows
def masked_scatter(input: Tensor, mask: Any, source: Any) -> Tensor:
    """The input with elements of ``source``, in order, where the mask holds.

    Raises:
        RuntimeError: if there are too few of them.

    >>> import tape
    >>> tape.zeros(3).masked_scatter(tape.tensor([True, False, True]), tape.tensor([1.0, 2.0, 3.0]))
    tensor([1., 0., 2.])
    """
    holds = np.broadcast_to(mask._data if isinstance(mask, Tensor) else mask, input._spec.shape)
    check_source(input, source, "masked_scatter()")
    source, count = as_tensor(source), int(np.count_nonzero(holds))
    if source._spec.size < count:
        raise RuntimeError(
            f"masked_scatter() needs {count} elements, one for each place where the mask holds; got {source._spec.size}"
        )
    flat = ops.reshape(source, shape=(-1,))
    return ops.where(holds, ops.masked_place(ops.getitem(flat, index=slice(0, count)), holds.copy()), input)


@adaptor
def put(input: Tensor, index: Any, source: Any, accumulate: bool = False) -> Tensor:
    """The input with values put at places that are counted through the flattened tensor."""
    check_source(input, source, "put()")
    flat = ops.reshape(input, shape=(-1,))
    places = plain_index(index, own=True)
    z = ops.reshape(ops.index_put(flat, source, index=places, accumulate=accumulate), shape=input._spec.shape)
    return laid(z, OPERAND, (input,))


def _reaching(input: Tensor, dim: int, index: Any, src: Any, name: str) -> tuple[np.ndarray, Tensor]:
    """Indices as an array, and values for them: of a larger source its first ones, or one number again and again.

    Raises:
        IndexError, RuntimeError: both in one, if an index is negative or too large.
    """
    check_source(input, src, name)
    places, source = counted(input, dim, plain_index(index, own=True), name), as_tensor(src)
    if not source._spec.shape:
        source = ops.broadcast_to(source, shape=places.shape)
    elif places.shape != source._spec.shape:
        source = ops.getitem(source, index=tuple(map(slice, places.shape)))
    return places, source


@adaptor
@giving_rows
def scatter(
    input: Tensor, dim: int, index: Any, src: Any = None, *, value: Any = None, reduce: str | None = None
) -> Tensor:
    """The input with ``src``, or one number, put at ``z[index[i, j], j]`` for dimension 0, and so on.

    ``reduce`` may be ``"add"`` or ``"multiply"``.  Where an index repeats the last value stays.

    >>> import tape
    >>> tape.zeros(2, 3).scatter(1, tape.tensor([[0], [2]]), 5.0)
    tensor([[5., 0., 0.],
            [0., 0., 5.]])
    """
    number = value if src is None else src
    src = number if isinstance(number, Tensor) and number._spec.shape else number_for(input, number, "scatter()")
    places, source = _reaching(input, dim, index, src, "scatter()")
    axis = axis_of(input, dim)
    if reduce is not None:
        _check_reduction("scatter", reduce, ("add", "multiply"))
        return ops.scatter_reduce(input, axis, places, source, "sum" if reduce == "add" else "prod", True)
    return ops.index_put(input, source, index=cells_along(places, axis))


@adaptor
@giving_rows
def scatter_add(input: Tensor, dim: int, index: Any, src: Any) -> Tensor:
    """The input with ``src`` added at ``z[index[i, j], j]`` for dimension 0, and so on."""
    return ops.scatter_add(input, *_reaching(input, dim, index, src, "scatter_add()"), axis=axis_of(input, dim))


REDUCTIONS = ("sum", "prod", "mean", "amax", "amin")


def _check_reduction(name: str, reduce: str, known: tuple[str, ...]) -> None:
    if reduce not in known:
        raise RuntimeError(f"{name}(): reduce must be one of {', '.join(known)}; got {reduce!r}")


@adaptor
@giving_rows
def scatter_reduce(input: Tensor, dim: int, index: Any, src: Any, reduce: str, *, include_self: bool = True) -> Tensor:
    """The input with what ``src`` sends to each place reduced there.

    Args:
        reduce: ``"sum"``, ``"prod"``, ``"mean"``, ``"amax"`` or ``"amin"``; equals share the gradient of an extreme.
        include_self: whether the element that the input has there counts too.

    >>> import tape
    >>> x, k = tape.tensor([1.0, 2.0, 3.0]), tape.tensor([0, 0, 2])
    >>> x.scatter_reduce(0, k, tape.tensor([5.0, 7.0, 4.0]), "amax")
    tensor([7., 2., 4.])
    """
    _check_reduction("scatter_reduce", reduce, REDUCTIONS)
    places, source = _reaching(input, dim, index, src, "scatter_reduce()")
    return ops.scatter_reduce(input, axis_of(input, dim), places, source, reduce, include_self)


@adaptor
@giving_rows
def index_reduce(input: Tensor, dim: int, index: Any, source: Any, reduce: str, *, include_self: bool = True) -> Tensor:
    """`scatter_reduce` of whole entries along one axis: ``"prod"``, ``"mean"``, ``"amax"`` or ``"amin"``."""
    _check_reduction("index_reduce", reduce, REDUCTIONS[1:])
    places = counted(input, dim, plain_index(index, own=True), "index_reduce()")
    check_source(input, source, "index_reduce()")
    return ops.index_reduce(input, axis_of(input, dim), places, as_tensor(source), reduce, include_self)


for _name in (
    "scatter", "scatter_add", "scatter_reduce", "index_reduce", "index_put", "index_copy", "masked_scatter", "put",
):  # fmt: skip
    method(inplace(_name, FUNCTIONS[_name]))


@method
def fill_diagonal_(self: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    """Set the main diagonal to one number; with ``wrap`` it starts anew after each block of a tall matrix."""
    shape = self._spec.shape
    if len(shape) < 2 or (len(shape) > 2 and len(set(shape)) > 1):
        raise RuntimeError(f"fill_diagonal_() needs a matrix, or axes that are equally long; got shape {shape}")
    stop = None if wrap or len(shape) > 2 else shape[1] * min(shape)
    cells = np.arange(math.prod(shape))[: stop : sum(math.prod(shape[k + 1 :]) for k in range(len(shape)))]
    self[np.unravel_index(cells, shape)] = number_for(self, fill_value, "fill_diagonal_()")
    return self
