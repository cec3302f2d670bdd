"""Calling a node of the history: the rule of one operation, on gradients of the user's."""

from __future__ import annotations

from typing import Any

from ops.core.bundle import Bundle

from ..base.row import SPEC, X, Y
from ..base.tensor import Tensor
from ..recording.recorder import wrap
from ..recording.wengert import current, operands
from .node import AccumulateGrad, Node
from .propagate import contributions, result_count


def step(node: Node, *grads: Tensor | None) -> Any:
    """The gradients of the operands from those of the results, or one alone; hooks are not called.

    Raises:
        TypeError: unless there is a gradient, or None, for each result.

    >>> import tape
    >>> x = tape.tensor([1.0, 2.0], requires_grad=True)
    >>> node = (x * x).grad_fn
    >>> with tape.no_grad():
    ...     node(tape.ones(2))
    (tensor([1., 2.]), tensor([1., 2.]))
    """
    row = node._row()
    _check(node, grads, result_count(row))
    record = current().recording
    given = [g if record or g is None else g._data.copy() for g in grads]
    g = given[0] if row[SPEC] is not None else Bundle({i: part for i, part in enumerate(given) if part is not None})
    bars: list[Any] = [None] * len(node.next_functions)
    positions = tuple([i for i, ref in enumerate(operands(row[X], row[Y])) if ref is not None])
    for i, _, bar in contributions(row, g, positions, record) if any(x is not None for x in grads) else ():
        bars[i] = bar if isinstance(bar, Tensor) else wrap(bar)
    return tuple(bars) if len(bars) != 1 else bars[0]


def accumulate(node: AccumulateGrad, *grads: Tensor | None) -> None:
    """Add a gradient to the leaf's."""
    _check(node, grads, 1)
    if (g := grads[0]) is not None:
        before = node.variable.grad
        node.variable.grad = g.clone() if before is None else before + g


def _check(node: Node, grads: tuple[Any, ...], count: int) -> None:
    if len(grads) != count:
        raise TypeError(f"{node.name()} expected {count} arguments, got {len(grads)} instead: a gradient per result")
    for g in grads:
        if g is not None and not isinstance(g, Tensor):
            raise TypeError(f"{node.name()} takes tensors or None; got a {type(g).__name__}")


Node.__call__ = step  # type: ignore[method-assign]
AccumulateGrad.__call__ = accumulate  # type: ignore[method-assign]
