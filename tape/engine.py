"""Running a backward: which lists to sweep, what happens to the leaves, what is released after."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from . import sweep_python
from .native import jitted
from .propagate import key
from .tensor import Tensor
from .wengert import WengertList, current, list_of


class Adjoints(NamedTuple):
    """What a backward found, by `key`; and the leaves among the keys.

    The adjoints are arrays, or tensors with a history of their own.
    """

    found: dict[int, Any]
    leaves: dict[int, Tensor]


def differentiate(
    outputs: Sequence[Tensor],
    gradients: Sequence[Any],
    targets: Sequence[Tensor] | None,
    *,
    retain_graph: bool,
    create_graph: bool,
) -> Adjoints:
    """Adjoints of every leaf that the outputs depend on, or of the targets alone."""
    wanted = None if targets is None else {key(node_of(t)): node_of(t) for t in targets}
    adjoints: dict[int, Any] = {}
    leaves: dict[int, Tensor] = {}
    for output, g in zip(outputs, gradients):
        k = key(node_of(output))
        _add(adjoints, k, g if create_graph else g._data)
        if k < 0:
            leaves[k] = output
    recorder = current()
    recording, where = recorder.recording, recorder.where
    recorder.recording = create_graph
    try:
        found = _sweep_lists(adjoints, leaves, wanted, retain_graph, create_graph)
    finally:
        recorder.recording, recorder.where = recording, where
    return Adjoints(found, leaves)


def node_of(tensor: Tensor) -> Any:
    """What a row would hold for this tensor as an operand."""
    return tensor if tensor._node is True else tensor._node


def _sweep_lists(
    adjoints: dict[int, Any],
    leaves: dict[int, Tensor],
    wanted: dict[int, Any] | None,
    retain: bool,
    create_graph: bool,
) -> dict[int, Any]:
    """Sweep list after list until only leaves and targets are left.

    Rules are linear in the adjoint, so a list that is reached again later through another
    thread's list may be swept again from there, and the parts add up.
    """
    found: dict[int, Any] = {}
    consumed = []
    busy: list[WengertList] = []
    try:
        while adjoints:
            k = next(iter(adjoints))
            if k < 0:
                _add(found, k, adjoints.pop(k))
                continue
            wengert = list_of(k)
            roots = {h: adjoints.pop(h) for h in list(adjoints) if wengert.owns(h)}
            wengert.enter()
            busy.append(wengert)
            reached, runs = sweep(wengert, roots, leaves, wanted, create_graph)
            consumed.append((wengert, runs))
            for k, g in reached.items():
                _add(found if k < 0 or wengert.owns(k) else adjoints, k, g)
        if not retain:
            for wengert, runs in consumed:
                wengert.release(runs)
    finally:
        # Until here no row of these lists may move: the runs are positions.
        for wengert in busy:
            wengert.leave()
    for wengert, _ in consumed:
        wengert.scan_if_due()
    return found


def sweep(
    wengert: WengertList,
    roots: dict[int, Any],
    leaves: dict[int, Tensor],
    wanted: dict[int, Any] | None,
    create_graph: bool,
) -> tuple[dict[int, Any], list[tuple[int, int]]]:
    """Sweep one list: jitted on plain arrays, in Python where the sweep itself is to be recorded.

    Gives the adjoints it ends with by key, and the runs of rows it visited; adds to `leaves`.
    """
    room = None if create_graph else jitted("run")
    if room is None:
        return sweep_python.sweep(wengert, roots, leaves, wanted, create_graph)
    return room.sweep(wengert, roots, leaves, wanted)


def _add(adjoints: dict[int, Any], k: int, g: Any) -> None:
    adjoints[k] = adjoints[k] + g if k in adjoints else g
