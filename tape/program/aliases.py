"""Tensors of a recording that share memory, so that a change of one is a change of all.

A recorded list has values and no memory.  A change in place becomes a new value: of the tensor that all others
look at, their base, with what changed put into it (`ops.put_view`).  Those that look at it, and are still
alive, then look at that.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from ops import REGISTRY, Op

from .trace import Untraceable

if TYPE_CHECKING:
    from .traced import Traced

RESHAPE, PUT_VIEW = REGISTRY["reshape"], REGISTRY["put_view"]
OVERLAPPING = {"broadcast_to", "as_strided"}
"""Views in which one element of the base may be several."""
DEEPEST = 16
"""More looks than that through one another are not followed."""


class Memory:
    """What some tensors of a recording share.

    Attributes:
        row: the record of the base's value.
        sealed: whether nobody may change it.
        plain: whether NumPy has it in one piece, in order; so it has it then when it was changed.
        changed: whether it was.
        members: weakly, the tensors that look at it, their base included.
    """

    __slots__ = ("_limit", "changed", "members", "plain", "row", "sealed")

    def __init__(self, base: Traced):
        value = base._trace.values[base._row]
        self.row, self.sealed = base._row, base._trace.code(base._row) < 0
        self.plain = bool(value.flags.c_contiguous) if isinstance(value, np.ndarray) else not np.ndim(value)
        self.changed = False
        self.members: list[weakref.ref[Traced]] = []
        self._limit = 16

    def add(self, view: Traced) -> None:
        """Remember who looks at it; now and then forget those that are gone."""
        if not self.sealed:
            self.members.append(weakref.ref(view))
            if len(self.members) > self._limit:
                self.members = [weakref.ref(v) for v in self.living()]
                self._limit = max(16, 2 * len(self.members))

    def living(self) -> list[Traced]:
        return [v for v in [r() for r in self.members] if v is not None]


def memory_of(tensor: Traced) -> tuple[Memory, Any]:
    """What a tensor looks at, and in which steps, as `ops.put_view` takes them; None if it cannot look again."""
    try:
        return tensor._look
    except AttributeError:
        tensor._look = made = Memory(tensor), ()
        made[0].add(tensor)
        return made


def link(view: Traced, parent: Traced, op: Op, params: dict[str, Any]) -> None:
    """Note that an op has made a tensor that looks at another one's memory, if it has: ``reshape`` may have copied."""
    memory, steps = memory_of(parent)
    values = view._trace.values
    x, z = values[parent._row], values[view._row]
    known = memory.plain or not memory.changed
    if op is RESHAPE and isinstance(x, np.ndarray) and isinstance(z, np.ndarray) and known:
        if not np.may_share_memory(x, z):
            return
    elif op is RESHAPE and np.ndim(x):
        steps = None
    if steps is not None:
        steps = (*steps, (op.name, tuple(params.items()), None)) if len(steps) < DEEPEST else None
    view._look = memory, steps
    memory.add(view)


def seal(view: Traced, parent: Traced) -> None:
    """Note that a tensor looks at another one's memory in a way in which a change of it cannot be followed."""
    memory = memory_of(parent)[0]
    view._look = memory, None
    memory.add(view)


def is_shared(tensor: Traced) -> bool:
    """Whether others look at a tensor's memory."""
    look = getattr(tensor, "_look", None)
    return look is not None and (look[0].sealed or any(v is not tensor for v in look[0].living()))


def put(target: Traced, result: Traced) -> None:
    """Let a tensor stand for a result of its shape and dtype, and those that share its memory for what they see then.

    Raises:
        Untraceable: if it cannot be followed who sees what.
    """
    check_free(target)
    look = getattr(target, "_look", None)
    if look is None:
        target._row = result._row
        return
    memory, steps = look
    living = memory.living()
    if any(v._look[1] is None for v in living):
        raise Untraceable("a tensor was changed in place that has views which cannot be followed, as several of one op")
    if any(name in OVERLAPPING for name, _, _ in steps):
        raise Untraceable("an expanded tensor was changed in place")
    base = PUT_VIEW(target._at(memory.row), result, steps=steps) if steps else result
    memory.row, memory.changed = base._row, True
    for view in living:
        view._row = _seen(base, view._look[1])._row


def _seen(base: Any, steps: Any) -> Any:
    for name, params, _ in steps:
        base = REGISTRY[name](base, **dict(params))
    return base


def check_free(tensor: Traced) -> None:
    """Raise unless a tensor may be changed in place, in a way that a recorded list can repeat."""
    trace, look = tensor._trace, getattr(tensor, "_look", None)
    row = tensor._row if look is None else look[0].row
    if trace.code(row) < 0:
        raise Untraceable("an argument, or a tensor from outside of the function, was changed in place")
    if row in trace.leaves:
        raise Untraceable("a leaf that requires grad was changed in place")
    if not trace.wengert.recording and row not in trace.stopped:
        raise Untraceable("a tensor was changed in place under no_grad, which leaves its history as it was")
