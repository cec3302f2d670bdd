"""What a function made while it was recorded that nobody can reach any more: arrays and tensors.

Nobody can change them, so they are constants for good: what depends on them alone is computed once.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

from ...base.tensor import Narrow, Tensor
from ...base.untraced import untraced
from ...recording.views import ViewStep
from .large.later import Later
from .trace import Trace, value_in

KINDS = (np.ndarray, Tensor, Narrow)
"""What is known to keep its numbers in its own parts alone."""


def settle_constants(trace: Trace) -> None:
    """Put read-only arrays in the place of a finished trace's constants that nobody else holds."""
    constants = trace.constants
    where = [i for i, c in enumerate(constants) if type(c) in KINDS and not (isinstance(c, Tensor) and c._node)]
    for i in _unreachable(trace, where) if where else ():
        constants[i] = value_in(constants[i])
        array = constants[i]
        while isinstance(array, np.ndarray):
            array.flags.writeable = False
            array = array.base


def _unreachable(trace: Trace, where: list[int]) -> list[int]:
    """Which of the constants nothing holds but the trace, and what is itself held by such alone."""
    nodes, edges = _graph(trace, where)
    held = [0] * len(nodes)
    for parts in edges:
        for k in parts:
            held[k] += 1
    for k in _values(trace, nodes):
        held[k] += 1
    kinds = [type(x) for x in nodes]
    reached = [
        kind not in (*KINDS, ViewStep, tuple) or _holders(nodes, k) > held[k] + (k < len(where))
        for k, kind in enumerate(kinds)
    ]
    pairs = [(k, part) for k, parts in enumerate(edges) for part in parts]
    while spread := [pair for pair in pairs if reached[pair[0]] != reached[pair[1]]]:
        for k, part in spread:
            reached[k] = reached[part] = True
    return [i for k, i in enumerate(where) if not reached[k]]


def _graph(trace: Trace, where: list[int]) -> tuple[list[Any], list[list[int]]]:
    """The constants, what they consist of, and values on that memory; for each of these the numbers of its parts."""
    nodes = [trace.constants[i] for i in where]
    number = {id(x): k for k, x in enumerate(nodes)}
    edges: list[list[int]] = []
    for x in nodes:  # which grows
        for part in _parts(x):
            if id(part) not in number:
                number[id(part)] = len(nodes)
                nodes.append(part)
        edges.append([number[id(part)] for part in _parts(x)])
    for v in map(_held, trace.values):
        if type(v) is np.ndarray and id(v.base) in number and id(v) not in number:
            number[id(v)] = len(nodes)
            nodes.append(v)
            edges.append([number[id(v.base)]])
    return nodes, edges


def _parts(x: Any) -> Iterable[Any]:
    """What something keeps its numbers in."""
    if isinstance(x, Tensor):
        return [
            part for part in (value_in(x), getattr(x, "_of", None)) if isinstance(part, (np.ndarray, tuple, Tensor))
        ]
    if isinstance(x, tuple):  # of a view, whose parent comes first
        return [part for part in x[:1] if isinstance(part, Tensor)]
    return [x.base] if isinstance(x, np.ndarray) and x.base is not None else []


def _values(trace: Trace, nodes: list[Any]) -> Iterable[int]:
    """The numbers of the nodes that the trace's values are, each as often as it is one."""
    number = {id(x): k for k, x in enumerate(nodes)}
    return [number[id(v)] for v in map(_held, trace.values) if id(v) in number]


def _held(value: Any) -> Any:
    """What the trace holds as the value of a record."""
    return value.value if type(value) is Later else value


def _holders(things: list[Any], k: int) -> int:
    """How many hold one of some things, beside the list."""
    return sys.getrefcount(things[k]) - _ALONE


_ALONE = 0
_ALONE = untraced(lambda: _holders([np.empty(1)], 0))
