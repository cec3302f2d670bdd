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
from ops.core.axis_order import Order, lies_in
from ops.shapes.overwriting import Steps, look

from ...recording.views import owner
from .cells import EVERYTHING, CellPlace, Cells, place_of
from .large.later import element_of, is_ordered, laid, lies_alike, lying, order, put_in_order
from .reach import origins
from .trace import Untraceable, escaped

if TYPE_CHECKING:
    from .traced_inplace import TracedMemory

RESHAPE, PUT_VIEW, SELECT, GETITEM, CLONE = (
    REGISTRY[name] for name in ("reshape", "put_view", "select", "getitem", "clone")
)
MAY_COPY = {RESHAPE, REGISTRY["view_as_complex"]}
"""Views that are copies where the memory does not lie as they need it."""
NOTHING: tuple[SharedMemory | None, Any] = None, None
DETACHED: Any = "detach", (), None
"""The step from a tensor to one that is detached from its history, and shares its memory."""
UNKNOWN_LAYOUT = "how an array lies in memory was asked for, which is not known while recording"
WHOLE: Steps = (("getitem", (("index", Ellipsis),), None),)
"""An array as a view of all of it."""
DEEPEST = 16
"""More looks than that through one another are not followed."""


class SharedMemory:
    """What some tensors of a recording share.

    Attributes:
        row: the record of the base's value, before what was written into `cells`, if that is not None.
        sealed: whether nobody may change it.
        first: an array that lies in memory as the base's first value did, and all later ones would; None if not known.
        sources: in a function of tensors, while cells are written, the bits of what a gradient flows to from any of it.
        judged: whether it was asked how that lies, which is as the arguments of the call did.
        copied: whether eager execution copies there what the record holds, so that no argument shares it.
        members: weakly, the tensors that look at it, their base included.
    """

    __slots__ = ("__weakref__", "_first", "_limit", "cells", "copied", "judged", "members", "row", "sealed", "sources")

    def __init__(self, base: TracedMemory):
        self.row, self.sealed = base._row, base._trace.code(base._row) < 0
        self._first = base._trace.values[base._row]
        self.cells: Cells | None = None
        self.judged, self.sources, self.copied = False, 0, getattr(base, "_copied", False)
        self.members: list[weakref.ref[TracedMemory]] = []
        self._limit = 16

    @property
    def first(self) -> Any:
        return lying(self._first)

    @first.setter
    def first(self, value: Any) -> None:
        self._first = value

    def add(self, view: TracedMemory) -> None:
        """Remember who looks at it; now and then forget those that are gone."""
        if not self.sealed:
            self.members.append(weakref.ref(view))
            if len(self.members) > self._limit:
                self.members = [weakref.ref(v) for v in self.living()]
                self._limit = max(16, 2 * len(self.members))

    def living(self) -> list[TracedMemory]:
        return [v for v in [r() for r in self.members] if v is not None]

    def whole(self, like: TracedMemory) -> int:
        """The record of the base's value, with all that was written; `like` is any tensor of the recording."""
        if self.cells is not None:
            cells, self.cells, trace = self.cells, None, like._trace
            still = trace.stopped.issuperset((self.row, *cells.written.values()))
            with trace.recording():
                self.row = written_over(like._at(self.row), cells.put_into(like._at(self.row)))
                lay_as_memory(trace, self.row, self)
            if still:
                trace.stopped.add(self.row)
            for base in self.living():
                if base._look[1] == ():
                    base._settle(self.row)
        return self.row

    def write(self, place: CellPlace, value: TracedMemory, held: bool = False) -> bool:
        """Remember what is written into a cell, if all look at the memory as a whole or at such cells.

        A value that somebody may hold is not the tensor of the cell, which others may hold as well.  What had a history
        keeps it, and gives it to all that look at the memory, as in eager execution.
        """
        bases: list[TracedMemory] = []
        same: list[TracedMemory] = []
        others: list[TracedMemory] = []
        shape = value._trace.spec(self.row).shape  # type: ignore[union-attr]
        for view in self.living():
            steps = view._look[1]
            if steps == ():
                bases.append(view)
                continue
            found = None if steps is None else seen_in(steps, shape)
            if found is None or found.axes != place.axes:
                return False
            (same if found == place else others).append(view)
        if self._loses_history(place, value):
            return False
        if self.cells is None or self.cells.axes != place.axes:
            self.whole(value)
            self.cells = Cells(place.axes)
            self.sources = _sources(value._at(self.row))
        gained = _sources(value) & ~self.sources
        self.sources |= gained
        self.cells.written[place.cell] = value._row
        for view in same:
            view._settle(CLONE(value)._row if held else value._row)
        for view in others if gained else ():
            view._settle(None)
        for base in bases:
            base._settle(None)
        return True

    def _loses_history(self, place: CellPlace, value: TracedMemory) -> bool:
        """Whether what is written over in a cell has a history that neither the value nor the other cells have."""
        before = None if self.cells is None or self.cells.axes != place.axes else self.cells.written.get(place.cell)
        if before is None:
            return False
        lost = _sources(value._at(before)) & ~_sources(value)
        return bool(lost and lost & ~_sources(value._at(self.row)))

    def read(self, place: CellPlace, base: TracedMemory) -> TracedMemory | None:
        """The tensor of a cell; None unless such cells were written, or if another one has a history that it lacks."""
        if self.cells is None or self.cells.axes != place.axes:
            return None
        if self.sources & ~_sources(base._at(self.cells.written.get(place.cell, self.row))):
            self.whole(base)
            return None
        index = tuple(place.cell[place.axes.index(k)] if k in place.axes else EVERYTHING for k in range(base.ndim))
        row = self.cells.written.get(place.cell)
        view: TracedMemory
        if base._spec.narrow or not base._trace.open:
            view = GETITEM(base._at(self.row), index=index) if row is None else CLONE(base._at(row))
        else:
            op, taken, params = (GETITEM, self.row, {"index": index}) if row is None else (CLONE, row, {})
            view = part(base, op, taken, params, len(place.axes) == len(base._spec.shape))
        self.show(view, (getitem_step(index),))
        return view

    def show(self, view: TracedMemory, steps: Any) -> None:
        """Note that a tensor looks at it in these steps."""
        view._look = self, steps
        self.add(view)


def memory_of(tensor: TracedMemory) -> tuple[SharedMemory, Any]:
    """What a tensor looks at, and in which steps, as `ops.put_view` takes them; None if it cannot look again."""
    try:
        return tensor._look
    except AttributeError:
        return _on_its_own(tensor)


def _on_its_own(tensor: TracedMemory) -> tuple[SharedMemory, Any]:
    """Let a tensor be the base of memory at which nobody else looks."""
    tensor._look = made = SharedMemory(tensor), ()
    made[0].add(tensor)
    return made


def link(view: TracedMemory, parent: TracedMemory, op: Op, params: dict[str, Any]) -> None:
    """Note that an op has made a tensor that looks at another one's memory, if it has: some may have copied."""
    memory, steps = memory_of(parent)
    known = op not in MAY_COPY or not parent._spec.shape
    if not known and steps is not None:
        shares = _shares(memory, steps, op, params)
        memory.judged = memory.judged or parent.ndim > 1 or op is not RESHAPE
        if shares is False:
            memory_of(view)[0].judged = True
            return
        steps, known = (steps, True) if shares else (None, False)
    if parent._readonly:
        view._readonly = True
    step = op.name, tuple(params.items()), None
    if steps is None:
        seal(view, parent, step if known else None)
    else:
        memory.show(view, (*steps, step) if len(steps) < DEEPEST else None)


def _shares(memory: SharedMemory, steps: Any, op: Op, params: dict[str, Any]) -> bool | None:
    """Whether an op makes another view of a view, and not a copy; None if that is not known."""
    if memory.first is None:
        return None
    x = look(memory.first, steps)
    return is_look(op.forward(x, **params), x)


def is_look(z: Any, x: Any) -> bool:
    """Whether an array that was made of another one looks at its memory, be it at no element of that."""
    return bool(np.may_share_memory(z, x)) or owner(z) is owner(x)


def judge(memory: SharedMemory, tensor: TracedMemory) -> None:
    """Note that it was asked how memory lies: in a row, if it was made here and has no more than one axis."""
    shape = tensor._trace.spec(memory.row).shape  # type: ignore[union-attr]
    memory.judged = memory.judged or memory.sealed or len(shape) > 1


def contiguous(tensor: TracedMemory) -> TracedMemory:
    """The tensor itself, if eager execution has it in row-major order, else a copy."""
    memory, steps = memory_of(tensor)
    judge(memory, tensor)
    known = memory.first is not None and steps is not None
    if known and np.asarray(look(memory.first, steps)).flags.c_contiguous:
        return tensor
    made: TracedMemory = CLONE(tensor)
    if known:
        copy = memory_of(made)[0]
        copy.judged = True
        if copy.first is not None and np.asarray(copy.first).flags.c_contiguous:
            return made
    made = RESHAPE(RESHAPE(made, shape=(-1,)), shape=tensor._spec.shape)
    order(made._trace.values[made._row])
    if known:
        _on_its_own(made)[0].judged = True  # nobody else has the clone; of another argument it may be the tensor
    else:
        seal(made, tensor)
    return made


def strides_of(tensor: TracedMemory) -> tuple[int, ...]:
    """Elements from one entry to the next along each axis, as eager execution has them.

    Raises:
        Untraceable: if that is not known.
    """
    memory, steps = memory_of(tensor)
    if memory.first is None or steps is None:
        raise Untraceable(UNKNOWN_LAYOUT)
    judge(memory, tensor)
    return tuple([n // tensor.dtype.itemsize for n in np.asarray(look(memory.first, steps)).strides])


def seal(view: TracedMemory, parent: TracedMemory, step: Any = None) -> None:
    """Note that a tensor looks at another one's memory in a way in which a change of it cannot be followed.

    Args:
        step: how it looks at the other tensor, if that can be done again.
    """
    memory, before = way_to(parent)
    memory.show(view, None)
    if before is not None and step is not None:
        view.__dict__["_through"] = *before, step


def way_to(tensor: TracedMemory) -> tuple[SharedMemory, Any]:
    """What a tensor looks at, and in which steps that can be done again, if not followed; None if in none."""
    memory, steps = memory_of(tensor)
    return memory, tensor.__dict__.get("_through") if steps is None else steps


def become(tensor: TracedMemory, view: TracedMemory) -> None:
    """Let a tensor look at its memory as a view of it does, whose shape it takes.

    Raises:
        Untraceable: if it is, or looks at, one of several views of one op, which eager execution may refuse.
    """
    steps = way_to(view)[1]
    if any(number is not None for _, _, number in steps or ()):
        raise Untraceable("one of several views of one op was given another shape in place")
    tensor._settle(view._row)
    tensor._look, tensor._spec = view._look, view._spec
    if view._look[1] is None:
        tensor.__dict__["_through"] = steps


def is_shared(tensor: TracedMemory) -> bool:
    """Whether others look at a tensor's memory."""
    seen = getattr(tensor, "_look", None)
    return seen is not None and (seen[0].sealed or any(v is not tensor for v in seen[0].living()))


def written_over(before: TracedMemory, result: TracedMemory) -> int:
    """The record of what is written over all of some memory, with the history that this had."""
    if not _sources(before) & ~_sources(result):
        return result._row
    row: int = PUT_VIEW(before, result, steps=WHOLE)._row
    return row


def _sources(tensor: TracedMemory) -> int:
    """The bits of what a gradient flows to from a tensor; of arrays, which do not require grad, nobody asks."""
    return origins(tensor._trace, tensor._row) if tensor._trace.tensors else 0


def lay_as_memory(trace: Any, row: int, memory: SharedMemory) -> None:
    """Let a record's value, which nobody else has, lie as the memory does into which it is written."""
    value = trace.values[row]
    if not lies_alike(value, memory._first):
        first = memory.first
        if first is None:
            trace.unsure = True
        else:
            trace.values[row] = laid(value, first)


def lay(tensor: TracedMemory, order: Order) -> None:
    """Let what a function has just made lie in memory in an order of its axes, as in eager execution."""
    values = tensor._trace.values
    value = values[tensor._row]
    if getattr(tensor, "_look", None) is None and not (is_ordered(value) if order is None else _lies_in(value, order)):
        values[tensor._row] = put_in_order(value, order)


def _lies_in(value: Any, order: Order) -> bool:
    """Whether a value of a list is known to lie in an order of its axes."""
    known = lying(value)
    return known is not None and lies_in(np.asarray(known), order)


def check_sure(trace: Any) -> None:
    """Raise if large arrays of a recording may lie in memory otherwise than in eager execution."""
    if trace.unsure:
        raise Untraceable(UNKNOWN_LAYOUT)


def read(tensor: TracedMemory, index: Any) -> TracedMemory | None:
    """``tensor[index]`` for plain integers; None if there is no short way."""
    shape, (memory, steps) = tensor._spec.shape, getattr(tensor, "_look", NOTHING)
    filled = steps == () and memory is not None and memory.cells is not None
    if type(index) is int and shape and not filled:
        if not -shape[0] <= index < shape[0]:
            raise IndexError(f"index {index} is out of range for an axis of length {shape[0]}")
        return _selected(tensor, {"index": index % shape[0]})
    if not filled and type(index) is tuple and slice in map(type, index):
        return None
    place = place_of(index, shape)
    found = memory.read(place, tensor) if filled and memory and place else None
    if found is not None or place is None or len(place.cell) < len(shape) or tensor.ndim == 1:
        return found
    return _element(tensor, place, index)


def _selected(tensor: TracedMemory, params: dict[str, Any]) -> TracedMemory:
    """A part along the first axis, which looks at the tensor's memory."""
    trace, row = tensor._trace, tensor._row
    if not trace.open:
        raise escaped()
    made: TracedMemory = tensor._at(trace.apply(SELECT, (row,), params))
    link(made, tensor, SELECT, params)
    return made


def _element(tensor: TracedMemory, place: CellPlace, index: Any) -> TracedMemory:
    """One element, which kernels read where it lies: out of the tensor without its shape, the same for all of them."""
    trace, (memory, steps) = tensor._trace, memory_of(tensor)
    key = tensor._row, trace.wengert.recording
    known, flat = tensor.__dict__.get("_flat", NOTHING)
    if known != key:
        flat = tensor._at(trace.apply(RESHAPE, (tensor._row,), {"shape": (-1,)}))
        tensor.__dict__["_flat"] = key, flat
    number = 0
    for n, k in zip(tensor._spec.shape, place.cell):
        number = number * n + k
    made = part(flat, SELECT, flat._row, {"index": number}, single=True)
    memory.show(made, None if steps is None else (*steps, getitem_step(index)))
    return made


def part(base: TracedMemory, op: Op, row: int, params: dict[str, Any], single: bool) -> TracedMemory:
    """What an op reads of a record; of a `single` element nothing is to be found out before it is computed."""
    trace = base._trace
    found = element_of(trace.values[row]) if single else None
    made: TracedMemory = base._at(
        trace.apply(op, (row,), params) if found is None else trace.append_op(op, (row,), params, found)
    )
    return made


def getitem_step(index: Any) -> Any:
    return GETITEM.name, (("index", index),), None


def seen_in(steps: Any, shape: tuple[int, ...]) -> CellPlace | None:
    """The cell of a base that a view is, if it is one."""
    if len(steps) != 1 or steps[0][0] not in ("select", "getitem"):
        return None
    return place_of(dict(steps[0][1])["index"], shape)
