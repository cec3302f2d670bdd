"""The history as a graph: nodes and edges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..engine import node_of
from ..node import AccumulateGrad, Node, edge_of
from ..tensor import Tensor
from ..version import increment

__all__ = ["AccumulateGrad", "GradientEdge", "Node", "get_gradient_edge", "increment_version"]


class GradientEdge(NamedTuple):
    """A node, and which of its results is meant."""

    node: Node
    output_nr: int


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """Where in the graph a tensor's gradient is computed.

    Raises:
        RuntimeError: if the tensor does not require grad.
    """
    node, number = edge_of(node_of(tensor))
    if node is None:
        raise RuntimeError("this tensor does not require grad, so it is not part of any graph")
    return GradientEdge(node, number)


def increment_version(tensor: Tensor | Sequence[Tensor]) -> None:
    """Count an in-place change that was made behind the library's back."""
    for t in (tensor,) if isinstance(tensor, Tensor) else tensor:
        increment(t, "increment_version()")
