"""The history as a graph: nodes, edges, and, under PyTorch's names, what can be hung on them."""

from __future__ import annotations

from collections.abc import Sequence

from ..backprop.backward import node_of
from ..base.tensor import Tensor
from ..history.chain import RemovableHandle
from ..history.node import AccumulateGrad, GradientEdge, Node, edge_of
from ..recording.version import increment
from .multi_grad_hooks import register_multi_grad_hook
from .saved_values import (
    allow_mutation_on_saved_tensors,
    disable_saved_tensors_hooks,
    save_on_cpu,
    saved_tensors_hooks,
)

__all__ = [
    "AccumulateGrad", "GradientEdge", "Node", "RemovableHandle", "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks", "get_gradient_edge", "increment_version", "register_multi_grad_hook", "save_on_cpu",
    "saved_tensors_hooks",
]  # fmt: skip


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """Where in the graph a tensor's gradient is computed; `grad` and `backward` take it in the tensor's place.

    Raises:
        RuntimeError: if the tensor does not require grad.

    >>> import tape
    >>> x = tape.ones(2, requires_grad=True)
    >>> edge = get_gradient_edge(x * 3)
    >>> tape.autograd.grad(edge, x, grad_outputs=tape.ones(2))
    (tensor([3., 3.]),)
    """
    node, number = edge_of(node_of(tensor))
    if node is None:
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require gradients.\nCreate it with "
            "requires_grad=True, or compute it from tensors that require grad."
        )
    return GradientEdge(node, number)


def increment_version(tensor: Tensor | Sequence[Tensor]) -> None:
    """Count an in-place change that was made behind the library's back."""
    for t in (tensor,) if isinstance(tensor, Tensor) else tensor:
        t._refuse_recording("it counts a change of a tensor, which every call has to do")
        increment(t, "increment_version()")
