"""Ordinary tensors that stand for records while a function is recorded.

A tensor that the function finds around itself is not an argument, and Python would see its value, or
compute with it, without anything being recorded.  So its class is `Outside` meanwhile: it behaves as the traced
tensor of the constant that it is.  An ordinary tensor that the function makes itself, and writes a traced
value into, becomes an `Outside` too, and stands for what the changes made of it.
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

import ops
from ops import Op
from ops.algebra.sparse import yielding
from ops.shapes.overwriting import look as shown

from ...base.errors import view_error
from ...base.locks import new_lock
from ...base.tensor import Face, Tensor
from ...memory.adopting import views_below
from ...recording.leaf import RECORDED
from ...recording.recorder import bind, lift
from ...recording.version import holders, is_shared
from ...recording.views import base_of, look_of, owner
from .aliases import is_look, memory_of
from .large.later import value_of
from .trace import Trace, Untraceable, value_in
from .traced import Traced, traced
from .traced_inplace import TracedMemory
from .unknown import CLASS, PERSONAL, SPACE, UNKNOWN, attributes_of, lacking, personal, put_back, read_as, told

_OPEN: dict[int, list[Trace]] = {}
_lock = new_lock()


class Outside(Tensor):
    """A tensor that stands for a record of the trace that its thread is recording; elsewhere an ordinary one."""

    __slots__ = ()

    @staticmethod
    def __bind__(op: Op, operands: Sequence[Any], params: dict[str, Any]) -> Any:
        trace = recorded_here()
        if trace is None:
            return bind(op, operands, params, lift=_lift)
        return Traced.__bind__(op, [stand_in(x, trace) for x in operands], params)

    @property
    def _data(self) -> Any:
        trace = recorded_here()
        return value_in(self) if trace is None else stand_in(self, trace)._data

    @_data.setter
    def _data(self, value: Any) -> None:
        if recorded_here() is not None:
            raise changed_outside("had its value set")
        Tensor.__dict__["_data"].__set__(self, value)

    @property
    def _node(self) -> Any:
        own = self._own()
        return Tensor.__dict__["_node"].__get__(self) if own is None else own._node

    @_node.setter
    def _node(self, value: Any) -> None:
        Tensor.__dict__["_node"].__set__(self, value)

    @property
    def _version(self) -> int:
        own = self._own()
        return Tensor._version.fget(self) if own is None else own._version  # type: ignore[attr-defined]

    __dict__ = told("__dict__", SPACE.__get__, lambda self: recorded_here() is not None)

    def __getattr__(self, name: str) -> Any:
        if recorded_here() is None:
            raise AttributeError(f"'Tensor' object has no attribute {name!r}")
        return lacking(self, name)

    __class__ = CLASS

    def _own(self) -> Traced | None:
        """The traced tensor that this one stands for, if the function made it."""
        trace = recorded_here()
        return None if trace is None or id(self) not in trace.own else trace.own[id(self)][1]

    def _adopt(self, target: Tensor) -> bool:
        trace = recorded_here()
        return trace is not None and adopt(stand_in(self, trace), target)

    def _memory(self) -> Any:
        own = self._own()
        return Tensor._memory(self) if own is None else own._memory()

    def _check_shown(self, view: Tensor) -> bool:
        trace = recorded_here()
        if trace is None:
            return Tensor._check_shown(self, view)
        if id(self) not in trace.own:
            _check_lies(self, view)
        return bool(stand_in(self, trace)._check_shown(view))

    def _check_histories(self, tensors: Sequence[Any]) -> None:
        trace = recorded_here()
        if trace is not None:
            stand_in(self, trace)._check_histories(tensors)

    def _refuse_recording(self, what: str) -> None:
        if recorded_here() is not None:
            raise Untraceable(what)

    def _changed(self, operation: str) -> Any:
        """What a change of this tensor is done to: the traced tensor that it stands for; None outside of recordings."""
        trace = recorded_here()
        if trace is not None and id(self) not in trace.own:
            raise changed_outside(f"had its {operation} called")
        return None if trace is None else stand_in(self, trace)

    def _alter(
        self, operation: str, compute: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]
    ) -> Tensor:
        now = self._changed(operation)
        if now is None:
            return Tensor._alter(self, operation, compute, args, named)
        now._alter(operation, compute, args, named)
        return self

    def _assign(self, result: Tensor, operation: str, last: int) -> None:
        now = self._changed(operation)
        if now is None:
            Tensor._assign(self, result, operation, last)
        else:
            now._assign(result, operation, last)

    def _write_at(self, index: Any, value: Any) -> bool:
        now = self._changed("__setitem__()")
        return Tensor._write_at(self, index, value) if now is None else now._write_at(index, value)

    def _become(self, operation: str, compute: Callable[[], Tensor]) -> None:
        now = self._changed(operation)
        if now is None:
            Tensor._become(self, operation, compute)
        else:
            now._become(operation, compute)


def _detached(self: Any) -> Any:
    trace = recorded_here()
    return Tensor.data.fget(self) if trace is None else stand_in(self, trace).detach()  # type: ignore[attr-defined]


def _replaced(self: Any, value: Any) -> None:
    if recorded_here() is not None:
        raise changed_outside("had its data set")
    Tensor.data.fset(self, value)  # type: ignore[attr-defined]


Outside.data = property(_detached, _replaced)  # type: ignore[method-assign,assignment]


def _lift(x: Any) -> Any:
    return value_in(x) if type(x) is Outside else lift(x)


def recorded_here() -> Trace | None:
    """The trace that this thread is recording, the innermost if there are several."""
    traces = _OPEN.get(threading.get_ident())
    return traces[-1] if traces else None


def _check_lies(x: Tensor, view: Tensor) -> None:
    """Check that a tensor from around can be seen in the shape of another one without a copy.

    Raises:
        RuntimeError: if it cannot.
        Untraceable: if it is laid anew where the function runs as it is, since nobody else sees its memory.
    """
    array = value_in(x)
    if not view._spec.size or is_look(np.reshape(array, view._spec.shape), array):
        return
    if base_of(x) is not x or is_shared(x):
        raise view_error(x._spec.shape, view._spec.shape)
    raise Untraceable("it asks for a view of a tensor around it, which is laid anew in memory for that")


def stand_in(x: Any, trace: Trace) -> Any:
    """The traced tensor that an ordinary one stands for; anything else is itself."""
    if type(x) is not Outside:
        return x
    own = trace.own.get(id(x))
    return traced(trace, trace.capture(x)) if own is None else own[1]


def _recorded(x: Tensor) -> Tensor:
    """A plain tensor as a constant of the trace: what a derivative with respect to it goes through is recorded."""
    trace = recorded_here()
    if trace is None or not trace.open or type(x) not in (Tensor, Outside) or x._node is not None:
        return x
    return traced(trace, trace.operand(x)) if type(x) is Tensor else stand_in(x, trace)


def adopt(value: Traced, target: Tensor) -> bool:
    """Let a tensor that the function made stand for a record, because a traced value is written into it.

    So do all tensors that share its memory.
    """
    trace = value._trace
    if isinstance(target, (Traced, Outside)) or not trace.open:
        return False
    base = base_of(target)
    family = [base, *(view for view, _ in views_below(base))]
    if any(type(t) is not Tensor or t._node is not None for t in family):
        raise Untraceable("a traced value is written into a tensor from outside")
    look = look_of(target)
    if look is not None and look.bar is not None:
        raise Untraceable(f"a traced value is written into a view made {look.bar}")
    if _held_by_others(base, family, trace):
        raise Untraceable("a traced value is written into memory that others hold too")
    for t in family:
        above = look_of(t)
        if above is None:
            held = value_in(t)
            twin = ops.cast(traced(trace, trace.operand(held.copy())), dtype=t.dtype)
            memory_of(twin)[0].first = held
        else:
            if not above.steps:
                raise Untraceable("a traced value is written into a tensor of which a custom function returned a view")
            twin = shown(trace.own[id(above.parent)][1], above.steps)
        trace.own[id(t)] = t, twin
    for t in family:
        t.__class__ = Outside
    return True


def _held_by_others(base: Tensor, family: list[Tensor], trace: Trace) -> bool:
    """Whether something else than these tensors holds the memory, such as an array of the user's, or a twin."""
    if not isinstance(value_in(base), np.ndarray):
        return False
    found, known = holders(lambda: owner(value_in(base))), [*map(value_in, family)]
    if found <= _references(base, known):
        return False
    # What the list itself holds is looked through only if that explains the rest: what was read as a constant before
    # it is written, which a replay reads from memory that nothing is written into.
    read = [thing for thing in trace.constants if isinstance(thing, np.ndarray)]
    return found > _references(base, [*known, *map(value_of, trace.values), *read])


def _references(base: Tensor, values: Iterable[Any]) -> int:
    """How many references to the memory of a tensor are those of some values, or of arrays that are looks at it."""
    looks, held = set(), 0
    for value in values:
        if value is owner(value_in(base)):
            held += 1
        elif getattr(value, "base", None) is owner(value_in(base)):
            looks.add(id(value))
    return held + len(looks)


def changed_outside(what: str) -> Untraceable:
    return Untraceable(f"a tensor from outside of the function {what}, which every replay would repeat")


@contextmanager
def standing(tensors: Iterable[Tensor], trace: Trace) -> Iterator[None]:
    """These tensors stand for constants of the trace meanwhile, in this thread."""
    mine = [t for t in tensors if type(t) is Tensor or type(t) is Outside]
    before = [(t, attributes_of(t)) for t in mine]
    traces = _OPEN.setdefault(threading.get_ident(), [])
    with _lock:
        for t in mine:
            _HELD[id(t)] = _HELD.get(id(t), 0) + 1
            t.__class__ = Outside
    traces.append(trace)
    try:
        yield
        if any(attributes_of(t) != attributes for t, attributes in before):
            raise changed_outside("got an attribute")
    finally:
        for t, attributes in before:
            put_back(t, attributes)
        traces.pop()
        if not traces:
            _OPEN.pop(threading.get_ident(), None)
        with _lock:
            for t in mine:
                _HELD[id(t)] -= 1
                if not _HELD[id(t)]:
                    del _HELD[id(t)]
                    t.__class__ = Tensor
            for t, _ in trace.own.values():
                t.__class__ = Tensor


_HELD: dict[int, int] = {}
"""By identity, how many recordings a tensor stands for something in."""


def _asked(name: str) -> Callable[..., Any]:
    """A method that a traced tensor has in its own way."""
    plain = getattr(Tensor, name)

    @functools.wraps(plain)
    def ask(self: Any, *args: Any, **kwargs: Any) -> Any:
        trace = recorded_here()
        if trace is None:
            return plain(self, *args, **kwargs)
        now = stand_in(self, trace)
        found = getattr(now, name)(*args, **kwargs)
        return self if found is now else found

    return ask


def _changing(name: str) -> Callable[..., Any]:
    """A method that changes a tensor in place, or how gradients flow through it."""
    plain = getattr(Tensor, name)

    @functools.wraps(plain)
    def change(self: Any, *args: Any, **kwargs: Any) -> Any:
        trace = recorded_here()
        if trace is None:
            return plain(self, *args, **kwargs)
        if id(self) not in trace.own:
            raise changed_outside(f"had its {name}() called")
        args = tuple([x._tensor if isinstance(x, Face) else x for x in args])
        now = stand_in(self, trace)
        found = getattr(now, name)(*args, **kwargs)
        return self if found is now else found

    return change


def _fact(name: str) -> property:
    """An attribute that a tensor which stands for a record cannot tell; some of one from outside are others later."""
    plain, read = inspect.getattr_static(Outside, name), read_as(Outside, name)

    def lacks(self: Any) -> bool:
        trace = recorded_here()
        return trace is not None and (name in OF_ITS_MEMORY or id(self) in trace.own)

    def stands(self: Any) -> Any:
        """The record's own answer, which this library may ask for."""
        trace = recorded_here()
        own = None if trace is None else trace.own.get(id(self))
        return read(self) if own is None else getattr(own[1], name)

    def put(self: Any, value: Any) -> None:
        if recorded_here() is not None:
            raise changed_outside(f"had its {name} set")
        plain.__set__(self, value)

    return told(name, stands, lacks).setter(put)


OF_ITS_MEMORY = {
    "_base", "_version", "data_ptr", "grad", "is_contiguous", "storage", "storage_offset", "stride", "untyped_storage",
}  # fmt: skip
"""What is another thing of a tensor from outside when that was changed, or its gradient computed."""
HISTORY = {"retain_grad", "register_hook", "register_post_accumulate_grad_hook"}
"""What changes how gradients flow through a tensor."""
ASKED = {
    "__bool__", "__float__", "__int__", "__complex__", "__array__", "__getitem__", "_check_free", "_is_shared",
    "_may_have_history", "_pinned", "_placements",
}  # fmt: skip


for _name, _own in {**vars(TracedMemory), **vars(Traced)}.items():
    if callable(_own) and hasattr(Tensor, _name):
        if (_name.endswith("_") and not _name.startswith("_")) or _name in HISTORY:
            setattr(Outside, _name, _changing(_name))
        elif _name in ASKED or not _name.startswith("_"):
            setattr(Outside, _name, yielding(_asked(_name)) if _name == "__array__" else _asked(_name))
for _name in UNKNOWN:
    setattr(Outside, _name, _fact(_name))
for _name, _method in PERSONAL.items():
    if _name != "__hash__":
        setattr(Outside, _name, personal(_name, _method, lambda self: self._own() is not None))
RECORDED.append(_recorded)
Traced._adopt = adopt  # type: ignore[method-assign,assignment]
