"""The different elements of a tensor, and where elements belong among sorted bounds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import ops

from ..base.tensor import Tensor
from ..recording.calls import adaptor, axis_of, function_only
from ..recording.creation import array_of
from ..recording.recorder import wrap


@adaptor
def unique(
    input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False,
    dim: int | None = None,
) -> Any:  # fmt: skip
    """The different elements, or the different entries along one dimension, in ascending order.

    With ``return_inverse`` also the place of each element among them, with ``return_counts`` how often each
    is there.  They are sorted whatever ``sorted`` says.  The gradient goes to the first of equals, as that of `sort`
    does along a dimension (PyTorch: it is not implemented).

    >>> import tape
    >>> tape.tensor([2, 1, 2]).unique(return_counts=True)
    (tensor([1, 2]), tensor([1, 2]))
    """
    axis = None if dim is None else axis_of(input, dim)
    _, first, inverse, counts = np.unique(input._data, True, True, True, axis=axis)
    return _chosen(input, axis, first, inverse, counts, return_inverse, return_counts)


@adaptor
def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The elements, or the entries along one dimension, without those that equal the one before.

    >>> import tape
    >>> tape.unique_consecutive(tape.tensor([2, 2, 1, 2]))
    tensor([2, 1, 2])
    """
    axis = None if dim is None else axis_of(input, dim)
    array = np.ravel(input._data) if axis is None else np.moveaxis(np.asarray(input._data), axis, 0)
    rows = array.reshape(len(array), math.prod(array.shape[1:]))
    new = np.ones(len(array), np.bool_)
    new[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    inverse = np.cumsum(new) - 1
    return _chosen(
        input, axis, np.flatnonzero(new), inverse, np.bincount(inverse), return_inverse, return_counts
    )  # fmt: skip


def _chosen(
    input: Tensor, axis: int | None, first: Any, inverse: Any, counts: Any, with_inverse: bool, with_counts: bool
) -> Any:
    """The entries at the first place of each, and what else was asked for, alone or in a tuple."""
    values = ops.take(ops.reshape(input, shape=(-1,)) if axis is None else input, first, axis=axis or 0)
    inverse = inverse.reshape(input._spec.shape if axis is None else (-1,))
    found = [*([inverse] if with_inverse else []), *([counts] if with_counts else [])]
    return (values, *(wrap(np.ascontiguousarray(x)) for x in found)) if found else values


@function_only
def bucketize(input: Any, boundaries: Any, *, right: bool = False) -> Tensor:
    """For each element the number of boundaries, which ascend, below it; with ``right``, also those equal to it.

    >>> import tape
    >>> tape.bucketize(tape.tensor([3, 6]), tape.tensor([1, 3, 5]))
    tensor([1, 3])
    """
    edges, values = array_of(boundaries), array_of(input)
    return wrap((edges.searchsorted(values, "right") if right else edges.searchsorted(values))[()])
