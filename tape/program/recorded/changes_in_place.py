"""Changes in place of tensors of a recording: who may be changed, and what those that share the memory see then."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ops.core.batching_index import parts_of

from .aliases import (
    CLONE,
    NOTHING,
    PUT_VIEW,
    SharedMemory,
    check_sure,
    getitem_step,
    lay_as_memory,
    memory_of,
    seen_in,
    written_over,
)  # fmt: skip
from .cells import CellPlace
from .large.later import lies_alike
from .trace import Untraceable

if TYPE_CHECKING:
    from .traced_inplace import TracedMemory

OVERLAPPING = {"broadcast_to", "as_strided"}
"""Views in which one element of the base may be several."""
FIXED = frozenset((int, type(None), type(Ellipsis)))
"""What is in an index of integers and slices."""


def is_part(tensor: TracedMemory) -> bool:
    """Whether a tensor is a view that is put into its base, and not written into a cell of it."""
    memory, steps = memory_of(tensor)
    return bool(steps) and seen_in(steps, tensor._trace.spec(memory.row).shape) is None  # type: ignore[union-attr]


def put(target: TracedMemory, result: TracedMemory) -> None:
    """Let a tensor stand for a result of its shape and dtype, and those that share its memory for what they see then.

    Raises:
        Untraceable: if it cannot be followed who sees what.
    """
    memory, steps = _to_change(target)
    trace = target._trace
    place = seen_in(steps, trace.spec(memory.row).shape) if steps else None  # type: ignore[union-attr]
    if place is not None and memory.write(place, result):
        return
    row, living = memory.whole(target), memory.living()
    if any(v._look[1] is None for v in living):
        raise Untraceable("a tensor was changed in place that has views which cannot be followed, as several of one op")
    if any(name in OVERLAPPING for name, _, _ in steps):
        raise Untraceable("an expanded tensor was changed in place")
    if not steps and len(result._spec.shape) > 1:
        result = _lying_as_before(result, memory)
    if steps and target._spec.narrow:
        row = PUT_VIEW(target._at(row), result, steps=steps)._row
    elif steps:
        row = trace.apply(PUT_VIEW, (row, result._row), {"steps": steps})
    else:
        row = written_over(target._at(row), result)
    memory.row = row
    for view in living:
        view._settle(row if view._look[1] == () else None)


def _lying_as_before(result: TracedMemory, memory: SharedMemory) -> TracedMemory:
    """What is written over all of some memory, in the order of that: others may hold what lies otherwise."""
    trace = result._trace
    if lies_alike(trace.values[result._row], memory._first):
        return result
    made: TracedMemory = CLONE(result)
    lay_as_memory(trace, made._row, memory)
    return made


def fill(target: TracedMemory, place: CellPlace, value: TracedMemory) -> bool:
    """Write into a cell of a tensor that is no view, if the others who look at its memory allow that."""
    memory, steps = _to_change(target)
    return steps == () and memory.write(place, value, held=True)


def lies_there(value: Any, target: TracedMemory, index: Any) -> bool:
    """Whether a value is the view of a tensor at an index of integers and slices: ``y[i] += x`` writes into that, and
    then writes it where it is.
    """
    seen, there = getattr(value, "_look", NOTHING)
    memory, steps = getattr(target, "_look", NOTHING)
    if seen is None or seen is not memory or there is None or steps is None:
        return False
    return _is_fixed(index) and bool(there == (*steps, getitem_step(index)))


def _is_fixed(index: Any) -> bool:
    """Whether an index is made of integers and slices of integers, which are compared at once."""
    bounds = [b for p in parts_of(index) for b in ((p.start, p.stop, p.step) if type(p) is slice else (p,))]
    return FIXED.issuperset(map(type, bounds))


def _to_change(target: TracedMemory) -> tuple[SharedMemory, Any]:
    """What a tensor looks at, which is about to be changed."""
    check_free(target)
    memory, steps = memory_of(target)
    if memory.judged:
        check_sure(target._trace)
    target._trace.ordered = target._trace.ordered or memory.judged
    return memory, steps


def check_free(tensor: TracedMemory) -> None:
    """Raise unless a tensor may be changed in place, in a way that a recorded list can repeat."""
    trace, seen = tensor._trace, getattr(tensor, "_look", None)
    row = tensor._row if seen is None else seen[0].row if trace.wengert.recording else seen[0].whole(tensor)
    if trace.code(row) < 0:
        raise Untraceable("an argument, or a tensor from outside of the function, was changed in place")
    if row in trace.leaves:
        raise Untraceable("a leaf that requires grad was changed in place")
    if trace.wengert.recording and seen is not None and seen[1] != () and tensor._row in trace.stopped:
        raise Untraceable("a view that was made under no_grad was changed in place")
    if not trace.wengert.recording and row not in trace.stopped:
        raise Untraceable("a tensor was changed in place under no_grad, which leaves its history as it was")
