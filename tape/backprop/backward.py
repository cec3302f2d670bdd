"""``backward``: from a tensor to the ``.grad`` of its leaves; which lists are swept, and what is released after."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ops import REGISTRY
from ops.core.axis_order import laid_in, order_without_gaps

from ..base.errors import moved_error, unused_error
from ..base.jit_door import SWEEPS, jitted
from ..base.locks import new_lock
from ..base.tensor import Narrow, Tensor, Theme
from ..base.untraced import untraced
from ..history import propagate
from ..history.chain import Chain, apply
from ..history.changes import DOUBTS, check_unchanged
from ..history.hooks import LEAVES
from ..history.hooks_in_sweeps import hooked_results, take_results
from ..history.node import EdgeTensor
from ..memory.writing import put
from ..recording.laying import laid_as_target, lie_within
from ..recording.level import Layer
from ..recording.packing import drop_later
from ..recording.recorder import wrap
from ..recording.wengert import THREAD_SHIFT, WengertList, current, list_of
from .cotangents import Tensors, as_cotangent, check_inputs, renamed, sequence
from .fresh_stacks import is_deep, on_fresh_stack


class BackwardMethods(Theme):
    """Reverse mode from a tensor."""

    __slots__ = ()

    def backward(
        self,
        gradient: Tensor | None = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Tensors | None = None,
        *,
        retain_variables: bool | None = None,
    ) -> None:
        """Add vᵀJ to the ``.grad`` of every leaf this tensor depends on, where v is ``gradient``.

        Args:
            gradient: v, of this tensor's shape; 1 if left out, which needs a tensor of one element.
            retain_graph: keep what the rules need, so that backward can run again; as ``create_graph`` if None.
            create_graph: record the backward pass itself, for higher derivatives.
            inputs: accumulate into these tensors only.
            retain_variables: old name of ``retain_graph``.

        Raises:
            RuntimeError: if the tensor does not require grad, ``gradient`` does not fit, or the graph was released.

        >>> import tape
        >>> x = tape.tensor([1.0, 2.0], requires_grad=True)
        >>> (x**2).backward(tape.tensor([1.0, 0.1]))
        >>> x.grad
        tensor([2.0000, 0.4000])
        """
        if retain_variables is not None:
            retain_graph = renamed("retain_variables", retain_variables, "retain_graph", retain_graph)
        run((self,), (gradient,), retain_graph, create_graph, inputs)


def run(
    outputs: Sequence[Tensor], weights: Sequence[Any], retain: bool | None, create: bool, inputs: Tensors | None
) -> None:
    for t in outputs:
        if type(t) is not Tensor:
            t._refuse_recording(
                "backward() was called; use tape.autograd.grad or tape.func.grad inside a compiled function"
            )
    targets = None if inputs is None else sequence(inputs)
    if targets is not None:
        check_inputs(targets, "backward()")
    gradients = cotangents(outputs, weights, create)
    if any(DOUBTS):
        check_unchanged(outputs, targets)
    for t in targets or ():
        if type(t) is not EdgeTensor:
            t.retain_grad()
    retain = create if retain is None else retain
    differentiate(outputs, gradients, targets, _receive, retain_graph=retain, create_graph=create, passing=True)


def cotangents(outputs: Sequence[Tensor], weights: Sequence[Any], create: bool) -> list[Tensor]:
    """What a backward begins with: the gradient argument of each output, as a tensor of its shape and dtype."""
    found = []
    for i, (t, weight) in enumerate(zip(outputs, weights)):
        if t._node is None:
            raise RuntimeError(
                f"element {i} of tensors does not require grad and does not have a grad_fn, so there is nothing to "
                "differentiate.\n"
                "Create the tensors it is computed from with requires_grad=True, and compute it outside no_grad()."
            )
        spec = t._spec
        if weight is None and spec.one is not None:
            found.append(wrap(spec.one, None, spec))
        else:
            fits = isinstance(weight, Tensor) and weight._spec is spec
            found.append(weight if fits else as_cotangent(weight, spec, i, create))
    return found


def gradients(
    outputs: Sequence[Tensor], weights: Sequence[Any], inputs: Sequence[Tensor],
    retain: bool, create: bool, unused: bool, settled: bool = False,
) -> list[Tensor | None]:  # fmt: skip
    """Gradients of checked outputs, None for an `unused` input, where that is allowed.

    Each transformation that tensors belong to differentiates at its level, unless that is `settled`.
    """
    taking_part = outputs if settled else (*outputs, *weights, *inputs)
    kinds = [t for t in taking_part if type(t) is not Tensor and isinstance(t, Tensor) and t._differentiate is not None]
    if kinds:  # levels lie within what is being recorded, so that they come first
        inner = next((t for t in kinds if isinstance(t, Layer)), kinds[0])
        return inner._differentiate(gradients, outputs, weights, inputs, retain, create, unused)  # type: ignore[misc]
    fitted = cotangents(outputs, weights, create)
    if any(DOUBTS):
        check_unchanged(outputs, inputs)
    found = differentiate(outputs, fitted, inputs, _hooked, retain_graph=retain, create_graph=create)
    return [_result(t, i, found, unused) for i, t in enumerate(inputs)]


def _result(tensor: Tensor, i: int, found: dict[int, Any], unused: bool) -> Tensor | None:
    """The gradient of input ``i``, out of what a sweep found."""
    k = key_of(tensor)
    if k not in found:
        if unused:
            return None
        raise unused_error(i, tensor._spec.shape)
    g = found[k]
    if isinstance(g, Tensor):
        return laid_as_target(g, tensor)
    z = wrap(np.array(g)[()])
    return z if tensor._spec.ndim < 2 else laid_as_target(z, tensor)


def _hooked(leaf: Tensor, box: list[Any]) -> Any:
    """The adjoint of a leaf that is a target of `grad`, after the hooks of the tensor."""
    g, chain = box.pop(), leaf._chain
    if chain is None or not chain.hooks:
        return g
    return apply(chain.hooks, g if isinstance(g, Tensor) else wrap(np.array(g)[()]), leaf._spec)


Arrive = Callable[[Tensor, list[Any]], Any]
"""What becomes of a leaf's complete adjoint, in a box of one: what is left of it for the caller, or None."""

_numbers = itertools.count().__next__


class BackwardTask:
    """One backward under way.

    Attributes:
        number: different for every backward.
        roots: the keys of its outputs, as often as these were given.
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
    if recorder.sweeps and is_deep(recorder):
        again = partial(differentiate, outputs, gradients, targets, arrive)
        how = {"retain_graph": retain_graph, "create_graph": create_graph, "passing": passing}
        return on_fresh_stack(recorder, partial(again, **how))
    wanted = None if targets is None else {key_of(t): node_of(t) for t in targets}
    results = None
    if wanted and max(wanted) >= 0 and (results := hooked_results(wanted)):  # leaves have negative keys
        wanted |= {op: op for op, _ in results.values()}
    # Batched adjoints go through the sweep that can be recorded, also where it is not.
    as_tensors = create_graph or any(isinstance(g, Layer) for g in gradients)
    adjoints: dict[int, Any] = {}
    leaves: dict[int, Tensor] = {}
    for output, g in zip(outputs, gradients):
        k = key_of(output)
        _add(adjoints, k, g if as_tensors else g._data)
        if k < 0:
            leaves[k] = output
    outer = recorder.recording, recorder.where, recorder.task
    extend = recorder.extend
    try:
        recorder.recording, recorder.where = create_graph, None
        recorder.task = task = BackwardTask(tuple(map(key_of, outputs)), wanted, passing)
        kept: dict[int, Any] = {}
        early = partial(_keep, kept, arrive) if LEAVES else None
        found = _sweep_lists(adjoints, leaves, wanted, early, retain_graph, as_tensors)
        for k in [k for k in found if k < 0]:
            box = [found.pop(k)]
            if wanted is None or k in wanted:
                _keep(kept, arrive, leaves[k], box)
            elif task.roots == (k,):
                _hooked(leaves[k], box)
        if results:
            take_results(found, results)
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
        kept[-id(leaf)] = left


def node_of(tensor: Tensor) -> Any:
    """What a row would hold for this tensor as an operand."""
    return tensor if tensor._node is True else tensor._node


def key_of(tensor: Tensor) -> int:
    """The key of a tensor among adjoints: that of `node_of` it."""
    return -id(tensor) if tensor._node is True else tensor._node


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
            roots = {h: adjoints.pop(h) for h in list(adjoints) if h >> THREAD_SHIFT == wengert.number}
            busy.append(wengert)
            wengert.enter(busy)
            alone = not (adjoints or found or consumed)
            reached, runs = sweep(wengert, roots, leaves, wanted, create_graph, early if alone else None, retain)
            consumed.append((wengert, runs))
            for k, g in reached.items():
                _add(found if k < 0 or k >> THREAD_SHIFT == wengert.number else adjoints, k, g)
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
    retain: bool = False,
) -> tuple[dict[int, Any], list[tuple[int, int]]]:
    """Sweep one list: jitted on plain arrays, in Python where that pays not yet or the sweep itself is recorded.

    Gives the adjoints it ends with by key, and the runs of rows it visited; adds to `leaves`.  With
    `early`, a leaf that has hooks gets its adjoint as soon as that is complete.
    """
    if create_graph:
        return propagate.sweep(wengert, roots, leaves, wanted, True, early, None, retain)
    if not SWEEPS.is_open:
        limit = SWEEPS.free
        reached = propagate.reach(wengert, roots, wanted, limit)
        work = reached.work
        if work < limit:
            SWEEPS.free -= work
            return propagate.sweep(wengert, roots, leaves, wanted, False, early, reached, retain)
        while work >= limit and (limit := SWEEPS.left(work)) > work:  # more may be left of what is more work
            reached = propagate.reach(wengert, roots, wanted, limit)
            work = reached.work
        if SWEEPS.defers(work):
            everything = reached if work < limit else None
            return propagate.sweep(wengert, roots, leaves, wanted, False, early, everything, retain)
    room = jitted("driving.run")
    if room is None:
        return propagate.sweep(wengert, roots, leaves, wanted, False, early, None, retain)
    found: tuple[dict[int, Any], list[tuple[int, int]]] = room.sweep(wengert, roots, leaves, wanted, early)
    if not SWEEPS.settled:
        SWEEPS.settle()
    return found


def _add(adjoints: dict[int, Any], k: int, g: Any) -> None:
    adjoints[k] = adjoints[k] + g if k in adjoints else g


def _receive(leaf: Tensor, box: list[Any]) -> None:
    """Add an adjoint to a leaf's ``.grad``; it is taken out of its box, so that nothing else holds it.

    A leaf that has stopped requiring grad since it was used gets none.
    """
    chain = leaf._chain
    if chain is None and leaf._node is True:
        with _adding:
            _accumulate(leaf, box)
    elif type(leaf._node) is int:
        raise moved_error()
    elif chain is not None:
        _pass_through(chain, leaf, box)


def _pass_through(chain: Chain, leaf: Tensor, box: list[Any]) -> None:
    """`_receive` for a leaf with hooks."""
    g = box.pop()
    plain = not isinstance(g, Tensor)
    g = apply(chain.hooks, wrap(g) if plain else g, leaf._spec)
    (g,) = chain.enter((g,))
    if g is None or leaf._node is None:
        return
    kept = (g,) if chain.after else ()
    box.append(g._data if plain else g)
    del g
    with _adding:
        _accumulate(leaf, box)
    for hook in tuple(chain.accumulated.values()):
        if (result := hook(leaf)) is not None:
            raise (RuntimeError if isinstance(result, Tensor) else TypeError)(
                "Tensor post accumulate grad hooks should return None: what they return is not used.\nTo change the "
                "gradient, write to .grad, or use register_hook()."
            )
    chain.leave((), kept)


_adding = new_lock()
"""Held while a gradient is added, because leaves are shared between threads."""


def _accumulate(tensor: Tensor, box: list[Any]) -> None:
    """Add an adjoint to ``.grad``: in place, or out of place if a history is being recorded.

    In place too if ``.grad`` has a history from an earlier pass, which stays: whoever saved the value is found out.  A
    new one lies in memory as the leaf does, if that is without gaps, else in rows.
    """
    held = tensor._grad
    if held is not None and held._spec.shape != tensor._spec.shape:
        raise RuntimeError(
            f"the gradient of a tensor of shape {tensor._spec.shape} cannot be added to its .grad, which has shape "
            f"{held._spec.shape}, as the tensor had when .grad was made.\nSet .grad to None when the shape changes."
        )
    if isinstance(box[0], Tensor):
        g = box.pop()
        if held is not None:
            tensor._grad = held + g
            return
        tensor._grad = REGISTRY["clone"](g)
        if g._spec.ndim > 1:
            lie_within(tensor._grad, order_without_gaps(tensor._data))
    elif held is None:
        value = own(box)
        if value.ndim > 1 and not (value.flags.c_contiguous and tensor._data.flags.c_contiguous):
            value = laid_in(order_without_gaps(tensor._data), value)
        tensor._grad = wrap(value)
    elif held._node is None or type(held) is Tensor or type(held) is Narrow:
        is_array = type(held._data) is np.ndarray
        is_alone = _holders(held) <= _LEAF_ALONE and (not is_array or held._data.base is None)
        if is_alone and is_array:
            np.add(held._data, box[0], out=held._data)
        elif is_alone and type(box[0]) is type(held._data) and getattr(held, "_among", None) is None:
            held._data = held._data + box[0]
        else:  # whoever looks there is to see it, and a record that saved it to tell
            put(held, held._data + box[0], "backward()")
    else:
        tensor._grad = held + wrap(box.pop())


def _holders(tensor: Tensor) -> int:
    return sys.getrefcount(tensor) + sys.getrefcount(tensor._data)


def _holders_of_gradient(tensor: Tensor) -> int:
    held: Any = tensor._grad
    return _holders(held)


def _with_gradient() -> Tensor:
    leaf = wrap(np.empty(1))
    leaf._grad = wrap(np.empty(1))
    return leaf


_LEAF_ALONE = untraced(lambda: _holders_of_gradient(_with_gradient()))
"""What `_holders` says of a gradient that its leaf alone holds, and whose array it alone holds."""


def _references(box: list[Any]) -> int:
    value = box.pop()
    return sys.getrefcount(value)


_ALONE = untraced(lambda: _references([np.empty(1)]))
"""What `sys.getrefcount` says of an array that was alone in its box."""


def own(box: list[Any]) -> Any:
    """The array in a box of one, copied if anything else may hold its memory."""
    value = box.pop()
    if not isinstance(value, np.ndarray):
        return value
    alone = value.base is None and value.flags.writeable and sys.getrefcount(value) <= _ALONE
    return value if alone else value.copy()
