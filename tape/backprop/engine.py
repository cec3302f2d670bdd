"""Running a backward: which lists to sweep, what happens to the leaves, what is released after."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ..base.jit_door import SWEEPS, jitted
from ..base.tensor import Tensor
from ..history import sweep_python
from ..history.hooks import LEAVES
from ..history.propagate import key
from ..recording.level import Layer
from ..recording.nesting import is_deep, on_fresh_stack
from ..recording.packing import drop_later
from ..recording.wengert import WengertList, current, list_of

Arrive = Callable[[Tensor, list[Any]], Any]
"""What becomes of a leaf's complete adjoint, in a box of one: what is left of it for the caller, or None."""

_numbers = itertools.count().__next__


class BackwardTask:
    """One backward under way.

    Attributes:
        number: different for every backward.
        roots: the keys of its outputs.
        wanted: what a row would hold for its targets, by key; None for all leaves.
        passing: whether the hooks of the targets' nodes are called, as in backward, or only those of the tensors.
        callbacks: what to call when it is done.
    """

    __slots__ = ("__weakref__", "callbacks", "number", "passing", "roots", "wanted")

    def __init__(self, roots: tuple[int, ...], wanted: dict[int, Any] | None, passing: bool = False):
        self.number = _numbers()
        self.roots, self.wanted, self.passing = roots, wanted, passing
        self.callbacks: list[Callable[[], Any]] = []

    def finish(self) -> None:
        """Call the callbacks, also those that callbacks add."""
        for callback in self.callbacks:
            callback()


def differentiate(
    outputs: Sequence[Tensor],
    gradients: Sequence[Any],
    targets: Sequence[Tensor] | None,
    arrive: Arrive,
    *,
    retain_graph: bool,
    create_graph: bool,
    passing: bool = False,
) -> dict[int, Any]:
    """The adjoints by key of the targets, and of the leaves for which `arrive` leaves one.

    They are arrays, or tensors with a history of their own.
    """
    recorder = current()
    if recorder.busy and is_deep(recorder):
        again = partial(differentiate, outputs, gradients, targets, arrive)
        how = {"retain_graph": retain_graph, "create_graph": create_graph, "passing": passing}
        return on_fresh_stack(recorder, partial(again, **how))
    wanted = None if targets is None else {key(node_of(t)): node_of(t) for t in targets}
    # Batched adjoints go through the sweep that can be recorded, also where it is not.
    as_tensors = create_graph or any(isinstance(g, Layer) for g in gradients)
    adjoints: dict[int, Any] = {}
    leaves: dict[int, Tensor] = {}
    for output, g in zip(outputs, gradients):
        k = key(node_of(output))
        _add(adjoints, k, g if as_tensors else g._data)
        if k < 0:
            leaves[k] = output
    outer = recorder.recording, recorder.where, recorder.task
    extend = recorder.extend
    try:
        recorder.recording, recorder.where = create_graph, None
        recorder.task = task = BackwardTask(tuple(adjoints), wanted, passing)
        kept: dict[int, Any] = {}
        early = partial(_keep, kept, arrive) if LEAVES else None
        found = _sweep_lists(adjoints, leaves, wanted, early, retain_graph, as_tensors)
        for k in [k for k in found if k < 0]:
            box = [found.pop(k)]
            if wanted is None or k in wanted:
                _keep(kept, arrive, leaves[k], box)
        if task.callbacks:
            task.finish()
        return found | kept
    finally:
        recorder.recording, recorder.where, recorder.task = outer
        if recorder.extend is not extend:
            drop_later(recorder, extend)


def _keep(kept: dict[int, Any], arrive: Arrive, leaf: Tensor, box: list[Any]) -> None:
    left = arrive(leaf, box)
    if left is not None:
        kept[key(leaf)] = left


def node_of(tensor: Tensor) -> Any:
    """What a row would hold for this tensor as an operand."""
    return tensor if tensor._node is True else tensor._node


def _sweep_lists(
    adjoints: dict[int, Any],
    leaves: dict[int, Tensor],
    wanted: dict[int, Any] | None,
    early: Arrive | None,
    retain: bool,
    create_graph: bool,
) -> dict[int, Any]:
    """Sweep list after list until only leaves and targets are left.

    Rules are linear in the adjoint, so a list that is reached again later through another
    thread's list may be swept again from there, and the parts add up.
    """
    found: dict[int, Any] = {}
    consumed: list[tuple[WengertList, list[tuple[int, int]]]] = []
    busy: list[WengertList] = []
    try:
        while adjoints:
            k = next(iter(adjoints))
            if k < 0:
                _add(found, k, adjoints.pop(k))
                continue
            wengert = list_of(k)
            roots = {h: adjoints.pop(h) for h in list(adjoints) if wengert.owns(h)}
            busy.append(wengert)
            wengert.enter(busy)
            alone = not (adjoints or found or consumed)
            reached, runs = sweep(wengert, roots, leaves, wanted, create_graph, early if alone else None)
            consumed.append((wengert, runs))
            for k, g in reached.items():
                _add(found if k < 0 or wengert.owns(k) else adjoints, k, g)
        if not retain:
            for wengert, runs in consumed:
                wengert.release(runs)
    finally:
        # Until here no row of these lists may move: the runs are positions.
        try:
            for wengert in busy:
                wengert.leave(busy)
        except BaseException:  # an interrupt
            for wengert in busy:
                wengert.leave(busy)
            raise
    for wengert, _ in consumed:
        wengert.scan_if_due()
    return found


def sweep(
    wengert: WengertList,
    roots: dict[int, Any],
    leaves: dict[int, Tensor],
    wanted: dict[int, Any] | None,
    create_graph: bool,
    early: Arrive | None = None,
) -> tuple[dict[int, Any], list[tuple[int, int]]]:
    """Sweep one list: jitted on plain arrays, in Python where that pays not yet or the sweep itself is recorded.

    Gives the adjoints it ends with by key, and the runs of rows it visited; adds to `leaves`.  With
    `early`, a leaf that has hooks gets its adjoint as soon as that is complete.
    """
    if create_graph:
        return sweep_python.sweep(wengert, roots, leaves, wanted, True, early)
    if not SWEEPS.is_open:
        reached, work = sweep_python.reach(wengert, roots, limit := SWEEPS.left())
        if work >= limit and (limit := SWEEPS.left(work)) > work:
            reached, work = sweep_python.reach(wengert, roots, limit)
        if SWEEPS.defers(work):
            return sweep_python.sweep(wengert, roots, leaves, wanted, False, early, reached)
    room = jitted("sweeps.run")
    if room is None:
        return sweep_python.sweep(wengert, roots, leaves, wanted, False, early)
    found: tuple[dict[int, Any], list[tuple[int, int]]] = room.sweep(wengert, roots, leaves, wanted, early)
    if not SWEEPS.settled:
        SWEEPS.settle()
    return found


def _add(adjoints: dict[int, Any], k: int, g: Any) -> None:
    adjoints[k] = adjoints[k] + g if k in adjoints else g
