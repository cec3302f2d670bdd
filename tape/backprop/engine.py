"""Running a backward: which lists to sweep, what happens to the leaves, what is released after.

A custom function's backward may call backward again, as checkpoints do, and that may go thousands deep.
Python allows a thread some hundred frames of that; so every now and then the work is handed to a new
thread, which works on this thread's list, as this thread, while this one waits for it.
"""

from __future__ import annotations

import contextvars
import ctypes
import itertools
import threading
from _thread import get_ident
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ..base.jit_door import SWEEPS, jitted
from ..base.row import key
from ..base.tensor import Tensor
from ..history import propagate
from ..history.hooks import LEAVES
from ..levels.batch import Batch
from ..recording.level import Layer
from ..recording.packing import drop_later
from ..recording.recorder import wrap
from ..recording.wengert import LISTS, WengertList, current, list_of

DEPTH = 12
"""How many sweeps of a list may be nested on one stack."""

_working: dict[int, list[threading.Thread]] = {}
"""By the number of a list, the threads that stand in for its own, the one that is working last."""


def is_deep(wengert: WengertList) -> bool:
    """Whether the next sweep of a list is to begin on a fresh stack."""
    return wengert.busy % DEPTH == 0 and wengert.busy > DEPTH * len(_working.get(wengert.number, ()))


def on_fresh_stack(wengert: WengertList, function: Callable[[], Any]) -> Any:
    """What a function gives, or raises, when a new thread calls it in place of this one."""
    results: list[Any] = []
    errors: list[BaseException] = []
    context = contextvars.copy_context()
    done = threading.Lock()
    done.acquire()

    def work() -> None:
        LISTS[get_ident()] = wengert
        try:
            results.append(context.run(function))
        except BaseException as error:
            errors.append(error)
        finally:
            del LISTS[get_ident()]
            done.release()

    stack = _working.setdefault(wengert.number, [])
    worker = threading.Thread(target=work, name=f"{threading.current_thread().name}, depth {wengert.busy}")
    stack.append(worker)
    try:
        worker.start()
        _wait(done, stack)
    finally:
        stack.remove(worker)
        if not stack:
            _working.pop(wengert.number, None)
    if errors:
        raise errors.pop()
    return results.pop()


def _wait(done: Any, stack: list[threading.Thread]) -> None:
    """Wait until a thread is done; an interrupt is for the one that is working, and comes back from there.

    Not by ``Thread.join``, which takes a thread for ended once it was interrupted itself; and looking up now
    and then, because an interrupt does not end the wait everywhere.
    """
    while True:
        try:
            while not done.acquire(timeout=0.1):
                pass
            return
        except BaseException as error:
            ident = ctypes.c_ulong(stack[-1].ident or 0)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, ctypes.py_object(type(error)))


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
        return propagate.sweep(wengert, roots, leaves, wanted, True, early)
    if not SWEEPS.is_open:
        reached, work = propagate.reach(wengert, roots, limit := SWEEPS.left())
        if work >= limit and (limit := SWEEPS.left(work)) > work:
            reached, work = propagate.reach(wengert, roots, limit)
        if SWEEPS.defers(work):
            return propagate.sweep(wengert, roots, leaves, wanted, False, early, reached)
    room = jitted("sweeps.run")
    if room is None:
        return propagate.sweep(wengert, roots, leaves, wanted, False, early)
    found: tuple[dict[int, Any], list[tuple[int, int]]] = room.sweep(wengert, roots, leaves, wanted, early)
    if not SWEEPS.settled:
        SWEEPS.settle()
    return found


def _add(adjoints: dict[int, Any], k: int, g: Any) -> None:
    adjoints[k] = adjoints[k] + g if k in adjoints else g


def grad_batched(
    reverse: Callable[..., Any], outputs: Sequence[Tensor], weights: Sequence[Any], inputs: Sequence[Tensor],
    retain: bool, create: bool, unused: bool,
) -> list[Tensor | None]:  # fmt: skip
    """``reverse(outputs, weights, inputs, …)`` for weights with one more axis, the first, along which vectors lie.

    Raises:
        RuntimeError: unless every output has a weight, with the same number of vectors.
    """
    given = [None if w is None else w if isinstance(w, Tensor) else wrap(w) for w in weights]
    lengths = {w._spec.shape[0] for w in given if w is not None and w.ndim}
    if len(lengths) != 1 or any(w is None or not w.ndim for w in given):
        raise RuntimeError(
            "is_grads_batched=True needs a grad_outputs for every output, all with the same leading length; got shapes "
            f"{[None if w is None else tuple(w.shape) for w in given]}"
        )
    for i, (z, w) in enumerate(zip(outputs, given)):
        if w._spec.shape[1:] != z._spec.shape:  # type: ignore[union-attr]
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch "
                f"dimension: the gradients of output {i} must have its shape {z._spec.shape} behind that; got "
                f"{w._spec.shape}"  # type: ignore[union-attr]
            )
    return over_vectors(lengths.pop(), reverse, outputs, given, inputs, retain, create, unused)  # type: ignore[arg-type]


def over_vectors(
    n: int, reverse: Callable[..., Any], outputs: Sequence[Tensor], weights: Sequence[Tensor],
    inputs: Sequence[Tensor], *how: bool,
) -> list[Tensor | None]:  # fmt: skip
    """Gradients for n vectors at once, along the first axis of weights and results."""
    with Batch(n) as level:
        found = reverse(tuple(outputs), tuple(map(level.layer, weights)), tuple(inputs), *how)
        below = [(None, False) if g is None else level.parts(g) for g in found]
        return [None if g is None else g if has_lanes else level.full(g) for g, has_lanes in below]
