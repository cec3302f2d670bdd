"""Places in the history that are given by a node and the number of its result, in place of a tensor."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..base.row import CODE, LASTI, SPEC
from ..base.tensor import Tensor
from ..recording.recorder import output
from ..recording.wengert import current, row_of
from .node import AccumulateGrad, Node, record_of_result, spec_of_result


class GradientEdge(NamedTuple):
    """A node, and which of its results is meant."""

    node: Node
    output_nr: int
    ownership_token: Node | None = None


class EdgeTensor(Tensor):
    """A place in the history, given by an edge: a tensor of zeros, because the value is not known."""

    __slots__ = ()


def tensor_at(edge: GradientEdge) -> Tensor:
    """The leaf at an edge, or a `EdgeTensor`.

    Raises:
        TypeError: if this is no edge of our graph.
    """
    node, i = edge[:2]
    if isinstance(node, AccumulateGrad):
        return node.variable
    if not isinstance(node, Node):
        raise TypeError(f"a GradientEdge needs a node, such as tensor.grad_fn; got {type(node).__name__}")
    handle: Any = node._handle
    row = row_of(handle)
    spec = spec_of_result(handle, i)
    blank = np.broadcast_to(np.zeros((), spec.dtype), spec.shape)[()]
    if row[SPEC] is None:
        known = record_of_result(handle, i)
        handle = output(current(), handle, i, blank, row[CODE], row[LASTI])._node if known is None else known
    place: EdgeTensor = object.__new__(EdgeTensor)
    place._data, place._node, place._spec = blank, handle, spec
    return place
