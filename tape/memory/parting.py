"""Tensors cut into parts and joined, as PyTorch spells it: ``split``, ``chunk``, ``narrow``, ``cat``, ``stack``."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import ops
from ops.core.bounds import OutOfRange

from ..base.signatures import like
from ..base.tensor import Size, Tensor
from ..recording.calls import adaptor, also, as_derived, axis_of, derived, function_only
from ..recording.indexing import unbound
from ..recording.short_views import TENSORS, WHOLE, is_plain, joined, views

GROUPS = frozenset({tuple, list, Size})
"""What several sizes are given in."""


def along(axis: int, index: Any) -> tuple[Any, ...]:
    """The index that is ``index`` along one axis, and everything along those before it."""
    return (slice(None),) * axis + (index,)


@adaptor
def narrow(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """``length`` entries along one axis, from ``start`` on, which counts from the end where it is negative.

    Raises:
        IndexError, RuntimeError: both in one, if the axis has not so many entries.
    """
    axis = axis_of(input, dim)
    size, first = input.shape[axis], operator.index(start)
    begin = first + size if first < 0 else first
    if begin < 0 or length < 0 or begin + length > size:
        raise OutOfRange(
            f"narrow() takes entries within a dimension of length {size}; got start={start} and length={length}"
        )
    return input[along(axis, slice(begin, begin + length))]


@adaptor
def select(input: Tensor, dim: int, index: int) -> Tensor:
    """One entry along one axis, which goes away."""
    axis = axis_of(input, dim)
    return input[along(axis, operator.index(index)) if axis else operator.index(index)]


@adaptor
def split(tensor: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Parts along one axis: of one length (the last may be shorter), or of the lengths given."""
    axis = axis_of(tensor, dim)
    n = tensor._spec.shape[axis]
    if isinstance(split_size_or_sections, (tuple, list)):
        lengths = list(split_size_or_sections)
        if sum(lengths) != n:
            raise RuntimeError(f"split() needs lengths that add up to {n}, that of dimension {dim}; got {lengths}")
    else:
        step = operator.index(split_size_or_sections)
        if step < 0 or (step == 0 and n):
            raise RuntimeError(f"split() needs parts of at least 1 entry, to cut {n} in dimension {dim}; got {step}")
        step = step or 1
        lengths = [min(step, n - start) for start in range(0, n, step)] or [0]
    at = tuple(itertools.accumulate(lengths[:-1]))
    if is_plain(tensor):
        ahead = (slice(None),) * axis
        parts = [tensor._data[(*ahead, slice(begin, end))] for begin, end in zip((0, *at), (*at, n))]
        return views(ops.split, tensor, parts, {"indices_or_sections": at, "axis": axis})
    return ops.split(tensor, indices_or_sections=at, axis=axis)


@adaptor
def split_with_sizes(input: Tensor, split_sizes: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """`split` into parts of the given lengths."""
    return split(input, list(split_sizes), dim)


@adaptor
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most ``chunks`` parts of equal length along one axis."""
    return split(input, max(1, -(-input._spec.shape[axis_of(input, dim)] // chunks)), dim)


def _apart(cut: Callable[..., tuple[Tensor, ...]]) -> Callable[..., tuple[Tensor, ...]]:
    def parts(*args: Any, **kwargs: Any) -> tuple[Tensor, ...]:
        return tuple(map(ops.clone, cut(*args, **kwargs)))

    parts.__doc__ = f"`{cut.__name__}` into parts with memory of their own, each of which may be changed in place."
    return like(parts, cut, gives=None)


for _name, _cut in {"split": split, "chunk": chunk, "split_with_sizes": split_with_sizes}.items():
    also(f"unsafe_{_name}", _apart(_cut))


@as_derived(adaptor)
def unbind(*args: Any, **named: Any) -> tuple[Tensor, ...]:
    if 0 < len(args) < 3 and not named and is_plain(args[0]) and WHOLE.issuperset(map(type, args[1:])):
        return unbound(*args)
    return derived["unbind"](*args, **named)


@as_derived(function_only)
def cat(*args: Any, **named: Any) -> Tensor:
    if not named and (xs := _alike(args)):
        axis = args[1] if len(args) > 1 else 0
        lengths = [x._spec.shape[axis] for x in xs[:-1]]
        return joined(ops.join, xs, {"starts": (0, *itertools.accumulate(lengths)), "axis": axis})
    return derived["cat"](*args, **named)


@as_derived(function_only)
def stack(*args: Any, **named: Any) -> Tensor:
    if not named and (xs := _alike(args)):
        return joined(ops.stack, xs, {"axis": args[1] if len(args) > 1 else 0})
    return derived["stack"](*args, **named)


def _alike(args: tuple[Any, ...]) -> Sequence[Tensor]:
    """The tensors of a call, and maybe an axis of theirs, if all are plain and have axes, equally many; else ()."""
    if len(args) > 2 or not args or type(args[0]) not in GROUPS or not TENSORS.issuperset(map(type, args[0])):
        return ()
    xs = args[0]
    n = xs[0]._spec.ndim if xs and is_plain(xs[0]) else 0
    axis = args[1] if len(args) > 1 else 0
    return xs if type(axis) is int and -n <= axis < n and {x._spec.ndim for x in xs} == {n} else ()
