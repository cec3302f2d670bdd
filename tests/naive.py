"""Reverse mode the slow, obvious way: every value is a Python object that knows its parents.

No list, no sweep, no rules shared with the library: a node keeps, for each parent, the function
that carries its adjoint there.  The state machine compares the Wengert list with this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

Carry = Callable[[np.ndarray], np.ndarray]


class Released(Exception):
    """A value that was needed had been given up by an earlier backward."""


class Edge:
    """From a node to one parent; `saves` says whether carrying reads a value that a backward releases."""

    def __init__(self, parent: Node, carry: Carry, saves: bool):
        self.parent, self.carry, self.saves = parent, carry, saves


class Node:
    """A value, where it came from, and what was asked of its gradient.

    Attributes:
        together: the results of the operation that it is a result of.
        watched: whether a hook was ever registered here, or the gradient retained.
    """

    def __init__(self, value: Any, edges: Iterable[Edge] = (), requires: bool = False):
        self.value = np.asarray(value)
        edges = list(edges)
        self.operands = [e.parent for e in edges]
        self.edges = [e for e in edges if e.parent.requires]
        self.requires = requires or bool(self.edges)
        self.grad: np.ndarray | None = None
        self.hooks: list[Callable[[np.ndarray], np.ndarray]] = []
        self.retains = False
        self.released = False
        self.together: list[Node] = [self]
        self.watched = False


def sum_to(a: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Sum the axes that broadcasting added or stretched."""
    while a.ndim > len(shape):
        a = a.sum(axis=0)
    for axis, n in enumerate(shape):
        if n == 1 and a.shape[axis] != 1:
            a = a.sum(axis=axis, keepdims=True)
    return a


def elementwise(value: Any, *parts: tuple[Node, Any, bool]) -> Node:
    """A node whose adjoint reaches each parent times a partial derivative."""

    def carry(parent: Node, partial: Any) -> Carry:
        return lambda g: sum_to(np.asarray(g * partial), parent.value.shape).astype(parent.value.dtype)

    return Node(value, [Edge(p, carry(p, partial), saves) for p, partial, saves in parts])


def through(value: Any, parent: Node, function: Callable[[np.ndarray], Any]) -> Node:
    """A node that is linear in its parent: the transpose is applied by brute force, basis vector by basis vector."""

    def carry(g: np.ndarray) -> np.ndarray:
        x_bar = np.zeros(parent.value.size)
        for k in range(parent.value.size):
            basis = np.zeros(parent.value.size)
            basis[k] = 1.0
            x_bar[k] = np.sum(g * function(basis.reshape(parent.value.shape)))
        return x_bar.reshape(parent.value.shape).astype(parent.value.dtype)

    return Node(value, [Edge(parent, carry, False)])


def joint(value: Any, *parts: tuple[Node, Carry]) -> Node:
    """A node of several parents that saves nothing."""
    return Node(value, [Edge(p, carry, False) for p, carry in parts])


def order(outputs: Sequence[Node]) -> list[Node]:
    """All nodes below the outputs, consumers first."""
    seen: set[int] = set()
    finished: list[Node] = []
    stack = [(node, False) for node in outputs]
    while stack:
        node, done = stack.pop()
        if done:
            finished.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack += [(e.parent, False) for e in node.edges]
    return finished[::-1]


def leading(outputs: Sequence[Node], targets: Sequence[Node] | None) -> list[Node]:
    """The nodes that matter: all of them, or those from which a target can be reached."""
    nodes = order(outputs)
    if targets is None:
        return nodes
    useful = set(map(id, targets))
    for node in reversed(nodes):
        if any(id(e.parent) in useful for e in node.edges):
            useful.add(id(node))
    return [node for node in nodes if id(node) in useful]


def in_vain(outputs: Sequence[Node], nodes: Sequence[Node]) -> list[Node]:
    """A single output that is not among the nodes that matter: its hooks see an adjoint all the same."""
    return [node for node in outputs if node not in nodes and len(outputs) == 1]


def adjoints(
    outputs: Sequence[Node], gs: Sequence[Any], targets: Sequence[Node] | None, arrived: dict[int, Any] | None = None
) -> dict[int, np.ndarray]:
    """The finished adjoint of every node that matters, by identity.

    Args:
        arrived: gets those of targets that lead to others as well, as they are before hooks.

    Raises:
        Released: if a value is missing.
    """
    nodes = leading(outputs, targets)
    useful = set(map(id, nodes))
    for node in nodes:
        if node.released and any(e.saves and id(e.parent) in useful for e in node.edges):
            raise Released
    bars: dict[int, np.ndarray] = {}
    for output, g in zip(outputs, gs):
        bars[id(output)] = bars.get(id(output), 0) + np.asarray(g)
    for node in (*nodes, *in_vain(outputs, nodes)):
        if id(node) not in bars:
            continue
        if arrived is not None and node in (targets or ()) and any(id(e.parent) in useful for e in node.edges):
            arrived[id(node)] = bars[id(node)]
        for hook in node.hooks:
            bars[id(node)] = hook(bars[id(node)])
        for e in node.edges:
            if id(node) in useful and id(e.parent) in useful:
                bars[id(e.parent)] = bars.get(id(e.parent), 0) + e.carry(bars[id(node)])
    return bars


def backward(
    outputs: Sequence[Node], gs: Sequence[Any], targets: Sequence[Node] | None, retain: bool
) -> dict[int, Any]:
    """Run a backward: what it gives by identity; what was retained is kept, what was consumed is released."""
    arrived: dict[int, Any] = {}
    bars = adjoints(outputs, gs, targets, arrived)
    nodes = leading(outputs, targets)
    useful = set(map(id, nodes))
    for node in (*nodes, *in_vain(outputs, nodes)):
        if node.retains and id(node) in bars and node.edges:
            node.grad = bars[id(node)] if node.grad is None else node.grad + bars[id(node)]
        if not retain and any(id(e.parent) in useful for e in node.edges):
            node.released = True
    return bars | arrived


def accumulate(nodes: Iterable[Node], bars: dict[int, Any]) -> None:
    """Add adjoints to ``grad``."""
    for node in nodes:
        if id(node) in bars:
            node.grad = bars[id(node)] if node.grad is None else node.grad + bars[id(node)]
