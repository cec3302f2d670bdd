"""``vmap``: a function of one example as a function of a whole batch."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import ops

from ..base.errors import unswallowed
from ..base.signatures import named_after
from ..base.tensor import Tensor
from ..base.tree import LEAF, Mismatch, Structure, build, leaves_of, structure_of
from ..numpy.inside import Inside, arrays_inside
from ..random import current
from ..recording.kept_values import tell_of_kept
from ..recording.level import is_kept, live
from .batch import Batch, lanes_of

Dims = Any
"""An axis, or None, or a nested structure of these."""


@arrays_inside
def vmap(
    func: Callable[..., Any], in_dims: Dims = 0, out_dims: Dims = 0, randomness: str = "error", *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:  # fmt: skip
    """The function that applies `func` to every lane of its arguments, in one application of each op.

    Args:
        func: takes tensors without the mapped axis, or nested tuples, lists and dicts of tensors.
        in_dims: the mapped axis of each argument, or None for one that is the same in all lanes: a number for
            all arguments, or a tuple built like the arguments or like their outer containers.
        out_dims: where the lanes go in the results: a number, or a structure built like them.
        randomness: what random numbers in `func` do: ``"error"``, ``"same"`` in all lanes, ``"different"``.
        chunk_size: how many lanes to compute at a time; all of them if None.

    Arguments by name are not mapped.  Maps nest, with each other and with the derivatives of `tape.func`.

    Raises:
        ValueError: if in_dims or out_dims do not fit, if lengths differ, or if nothing is mapped.
        RuntimeError: by ``if``, ``float()`` and the like on what differs from lane to lane.

    >>> import tape
    >>> vmap(tape.dot)(tape.tensor([[1.0, 2.0], [3.0, 4.0]]), tape.tensor([[1.0, 0.0], [0.0, 1.0]]))
    tensor([1., 4.])
    >>> vmap(tape.func.grad(lambda x: x**3))(tape.arange(3.0))
    tensor([ 0.,  3., 12.])
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"randomness: only allowed values are 'error', 'different' and 'same'; got {randomness!r}")
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    def mapped(*args: Any, **kwargs: Any) -> Any:
        name = getattr(func, "__name__", type(func).__name__)
        leaves, dims = _in_dims(name, in_dims, args)
        n = _lanes(name, leaves, dims)
        run = functools.partial(_run, func, name, structure_of(args), kwargs, out_dims, randomness)
        if chunk_size is None or chunk_size >= n:
            return run(leaves, dims, n)[0]
        return _in_chunks(run, leaves, dims, n, chunk_size, randomness)

    return named_after(func, mapped, "vmap")


def _run(
    func: Callable[..., Any], name: str, structure: Structure, kwargs: dict[str, Any], out_dims: Dims, randomness: str,
    leaves: Sequence[Any], dims: Sequence[int | None], n: int,
) -> tuple[Any, list[int | None]]:  # fmt: skip
    """The results for these lanes, and the axes along which they lie in each."""
    with Batch(n, randomness) as level:
        args = build(structure, [lanes_of(x, level, d) for x, d in zip(leaves, dims)])
        with unswallowed():
            output = func(*args, **kwargs)
        if any(map(is_kept, leaves_of(output))):
            tell_of_kept()
        made, where = _out_dims(name, out_dims, output)
        of_arrays = isinstance(func, Inside)
        results = [_taken_out(name, level, z, d, of_arrays) for z, d in zip(leaves_of(output), where)]
    return build(made, results), where


def _taken_out(name: str, level: Batch, z: Any, axis: int | None, of_arrays: bool) -> Any:
    """A result with its lanes along an axis; an array that is the same in all of them has memory for each."""
    below, has_lanes = level.parts(z) if isinstance(z, Tensor) else (z, False)
    if axis is None:
        if has_lanes:
            raise ValueError(
                f"vmap({name}): `{name}` can not return a BatchedTensor when out_dim is None, which is for results "
                "that are the same in all lanes.\nSay where its lanes shall go, such as out_dims=0."
            )
        return z
    if not isinstance(z, Tensor):
        raise ValueError(
            f"vmap({name}): `{name}` must only return Tensors, got type {type(z)}. Use None in out_dims for a result "
            "that is no tensor."
        )
    if not has_lanes:
        below = level.full(below)
        if of_arrays:
            below = ops.clone(ops.reshape(ops.reshape(below, shape=(-1,)), shape=below._spec.shape))
    ndim = below.ndim
    if not -ndim <= axis < ndim:
        raise IndexError(
            f"vmap({name}): out_dims: Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but "
            f"got {axis})"
        )
    return below if axis % ndim == 0 else ops.movedim(below, 0, axis)


def _in_chunks(
    run: Callable[..., Any], leaves: Sequence[Any], dims: Sequence[int | None], n: int, size: int, randomness: str
) -> Any:
    """The results of some lanes at a time, put together; each time with the same random numbers where asked for."""
    state = current().bit_generator.state if randomness == "same" else None
    chunks: list[list[Any]] = []
    for start in range(0, n, size):
        if state is not None:
            current().bit_generator.state = state
        stop = min(start + size, n)
        some = [x if d is None else _narrow(x, d, start, stop) for x, d in zip(leaves, dims)]
        output, where = run(some, dims, stop - start)
        chunks.append(leaves_of(output))
        structure = structure_of(output)
    joined = [z[0] if d is None else ops.cat(z, axis=d) for z, d in zip(zip(*chunks), where)]
    return build(structure, joined)


def _narrow(x: Tensor, axis: int, start: int, stop: int) -> Tensor:
    return ops.getitem(x, index=(slice(None),) * axis + (slice(start, stop),))


def _in_dims(name: str, in_dims: Dims, args: tuple[Any, ...]) -> tuple[list[Any], list[int | None]]:
    """The leaves of the arguments, and the mapped axis of each, counted from the front."""
    if not (isinstance(in_dims, tuple) or (isinstance(in_dims, int) and not isinstance(in_dims, bool))):
        raise ValueError(
            f"vmap({name}, in_dims={in_dims}): expected `in_dims` to be int or a (potentially nested) tuple built "
            f"like the inputs, got: {type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"vmap({name}): got no inputs. At least one argument is needed, whose lanes the function is mapped over."
        )
    leaves = leaves_of(args)
    try:
        dims = list(_spread(in_dims, args, structure_of(args)))
    except Mismatch:
        raise ValueError(
            f"vmap({name}, in_dims={in_dims}): in_dims is not compatible with the structure of `inputs`: it has "
            f"structure {structure_of(in_dims)}, the inputs {structure_of(args)}."
        ) from None
    return leaves, [_axis(name, in_dims, x, d) for x, d in zip(leaves, dims)]


def _axis(name: str, in_dims: Dims, x: Any, axis: Any) -> int | None:
    """A mapped axis, counted from the front."""
    if axis is None:
        return None
    if not isinstance(axis, int) or isinstance(axis, bool):
        raise ValueError(
            f"vmap({name}, in_dims={in_dims}): Got in_dim={axis} for an input, but an axis is an int, or None."
        )
    if not isinstance(x, Tensor):
        raise ValueError(
            f"vmap({name}, in_dims={in_dims}): Got in_dim={axis} for an input but the input is of type {type(x)}, "
            "which has no axis to map over. Say None for it, or convert it with tape.tensor()."
        )
    ndim = live(x).ndim
    if not -ndim <= axis < ndim:
        raise ValueError(
            f"vmap({name}, in_dims={in_dims}): Got in_dim={axis} for some input, but that input is a Tensor of "
            f"dimensionality {ndim}: only -{ndim} <= in_dim < {ndim} exist."
        )
    return axis % ndim


def _lanes(name: str, leaves: Sequence[Any], dims: Sequence[int | None]) -> int:
    """The number of lanes."""
    lengths = [live(x)._spec.shape[d] for x, d in zip(leaves, dims) if d is not None]
    if not lengths:
        raise ValueError(f"vmap({name}): Expected at least one Tensor to vmap over; every in_dim is None")
    if len(set(lengths)) > 1:
        raise ValueError(
            f"vmap({name}): Expected all tensors to have the same size in the mapped dimension, got sizes {lengths} "
            "for the mapped dimension"
        )
    return lengths[0]


def _spread(dims: Any, tree: Any, structure: Structure) -> Iterator[Any]:
    """For each leaf of a tree what a prefix of the tree says.

    Raises:
        Mismatch: if it is no prefix.
    """
    if not isinstance(dims, (tuple, list, dict)):
        yield from [dims] * len(leaves_of(tree))
        return
    if structure is LEAF or structure.container is None or type(dims) is not structure.container:
        raise Mismatch
    if len(dims) != len(structure.inside):
        raise Mismatch
    if isinstance(dims, dict):
        if set(dims) != set(structure.keys):
            raise Mismatch
        dims, tree = [dims[k] for k in structure.keys], [tree[k] for k in structure.keys]
    for d, part, inside in zip(dims, tree, structure.inside):
        yield from _spread(d, part, inside)


def _out_dims(name: str, out_dims: Dims, output: Any) -> tuple[Structure, list[int | None]]:
    """The structure of what was returned, and where the lanes go in each of its leaves."""
    structure = structure_of(output)
    if not all(d is None or (isinstance(d, int) and not isinstance(d, bool)) for d in leaves_of(out_dims)):
        raise ValueError(
            f"vmap({name}, out_dims={out_dims}): `out_dims` must be an int, None or a python collection of ints: "
            "where the lanes go in each output."
        )
    if structure == LEAF and isinstance(out_dims, tuple) and len(out_dims) == 1:
        out_dims = out_dims[0]
    try:
        return structure, list(_spread(out_dims, output, structure))
    except Mismatch:
        raise ValueError(
            f"vmap({name}, out_dims={out_dims}): out_dims is not compatible with the structure of `outputs`: it has "
            f"structure {structure_of(out_dims)}, the outputs {structure}."
        ) from None
