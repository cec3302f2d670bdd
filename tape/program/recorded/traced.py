"""The tensors that a function gets while it is recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import ops
from ops import Op
from ops.algebra.sparse import yielding
from ops.shapes.index import is_basic
from ops.shapes.overwriting import look

from ...base.device import check_layout
from ...base.errors import warn_left
from ...base.spec import Spec
from ...base.tensor import Face, Narrow, Tensor
from ...history.hooks import RemovableHandle
from ...recording.indexing import without_faces
from ...recording.laying import laid_as_picked
from ...recording.level import Layer, innermost, live
from ...recording.numpy_bridge import numpy_error
from .aliases import DETACHED, check_sure, contiguous, link, memory_of, read, seal, strides_of
from .narrowing import in_32_bits
from .reach import has_history, reaches, require_history
from .trace import NUMBER, OUTPUT, Trace, Untraceable, escaped
from .trace_records import CODE
from .traced_index import AT_PLACES, basic_key, has_places, view_at
from .traced_inplace import TracedMemory, known, plain
from .traced_short_ways import OF_ONE_NUMBER, of_number, operators
from .unknown import CLASS, OWN, PERSONAL, SPACE, UNKNOWN, lacking, personal, read_as, told


class Traced(TracedMemory):
    """A tensor of a function that is being recorded."""

    __slots__ = ("_look", "_row", "_trace")
    _is_settled = True  # its record is known
    if not TYPE_CHECKING:
        __init__ = object.__init__  # so that calling the class makes one, in two thirds of the time of `new`

    def _refuse_recording(self, what: str) -> None:
        raise Untraceable(what)

    def _has_known_layout(self) -> bool:
        memory, steps = memory_of(self)
        return memory.first is not None and steps is not None

    def _leave_layout_open(self) -> None:
        self._trace.unsure = True

    def _is_of_class_of(self, operands: Sequence[Tensor]) -> None:
        self._trace.classes[self._row] = tuple([x._row for x in operands if isinstance(x, Traced)])

    def _stand_for_view(self, whole: Tensor) -> None:
        seal(self, whole)  # type: ignore[arg-type]

    def _tell_layout(self) -> None:
        check_sure(self._trace)
        self._trace.ordered = self._trace.ordered or self._spec.size > 1

    def _tell_owner(self) -> None:
        memory, _ = memory_of(self)
        if self._trace.code(memory.row) < 0:
            raise Untraceable("it asked whose memory an argument is, or whether it may be written into")

    @staticmethod
    def __bind__(op: Op, operands: Sequence[Any], params: dict[str, Any]) -> Any:
        if op in OF_ONE_NUMBER and operands[0]._spec is NUMBER and type(operands[0]) is Traced:
            of_one = of_number(op, operands[0])
            if of_one is not None:
                return of_one
        trace, narrow = None, False
        for x in operands:
            if isinstance(x, Traced):
                narrow = narrow or x._spec.narrow
                if not x._trace.open or (trace is not None and x._trace is not trace):
                    raise escaped()
                trace = x._trace
            elif type(x) is Narrow:
                narrow = True
            elif isinstance(x, Layer):
                level = innermost(operands)
                return op(*map(live, operands), **params) if level is None else level.apply(op, operands, params)
        assert trace is not None
        if type(operands[0]) is Filling and op in READING:
            found = read(operands[0], params["index"])
            if found is not None:
                return found
        if params and any(isinstance(x, Face) for x in params.values()):
            raise Untraceable(
                f"a number or array that is recorded is a parameter of {op.name}, which every call gives anew"
            )
        if op.name == "custom":
            raise Untraceable("a custom Function cannot be part of a recorded list")
        measure = getattr(op.batch, "measure", None)
        if measure is not None:
            guard_shape(operands, *measure)
        numbers = tuple([x._row if isinstance(x, Traced) else trace.operand(plain(x)) for x in operands])
        if narrow and trace.tensors is not False:
            rows = in_32_bits(trace, op, numbers, params)
        else:
            row = trace.apply(op, numbers, params)
            rows = (row,) if op.outputs == 1 else trace.outputs(row)
        if op.outputs == 1:
            made = traced(trace, rows[0])
            if op.view and op.is_view(params):
                link(made, operands[0], op, params)
            return made
        results = tuple([traced(trace, row) for row in rows])
        for i, z in enumerate(results) if op.view else ():
            seal(z, operands[0], (op.name, tuple(params.items()), i))
        return results

    # What the rest of the library reads of a tensor.

    @property
    def _data(self) -> Any:
        """The value, which whoever asks for it might act on: so the list holds for that value only."""
        return self._trace.guard(self._row, "reading its value")

    @property
    def _node(self) -> Any:
        return True

    @property
    def _version(self) -> int:
        return self._row

    @property
    def is_leaf(self) -> bool:
        return False

    @property  # type: ignore[misc]
    def requires_grad(self) -> bool:
        return self._spec.inexact

    @property
    def value(self) -> Any:
        """The value, for the library's own eyes."""
        return self._trace.value(self._row)

    def _carries_gradient(self) -> bool:
        targets = self._trace.awaited()
        return bool(targets) and reaches(self._trace, self._row, targets)

    def _may_have_history(self) -> bool:
        trace = self._trace
        tensors = [k for k, is_tensor in zip(trace.inputs, trace.given) if is_tensor]
        targets = [*tensors, *trace.captured_with_history()]
        return bool(targets) and reaches(trace, self._row, targets)

    def _lacks_history(self) -> bool:
        return not has_history(self._trace, self._row)

    def _seek(self, sought: bool) -> None:
        rows = self._trace.sought
        rows[self._row] = rows.get(self._row, 0) + (1 if sought else -1)

    def _at(self, row: int) -> Traced:
        """The tensor of another record."""
        made, trace = Traced(), self._trace
        made._trace, made._row = trace, row
        made._spec = trace.spec(row)  # type: ignore[assignment]
        return made

    def _settle(self, row: int | None) -> None:
        """Stand for a record; for none until somebody asks which, where what lies in memory is another now."""
        if row is None:
            if self._look[1] == ():
                self.__class__ = Filling
            elif type(self) is not Looking:
                self.__dict__["_still"] = self._row in self._trace.stopped
                self.__class__ = Looking
        else:
            self.__class__, self._row = Traced, row

    def _index_reader(self) -> Any:
        return AT_PLACES if self._spec.shape and self._spec.dtype.kind in "iu" else None

    # What Python may ask for.

    def __bool__(self) -> bool:
        if self._spec.size != 1:
            return Tensor.__bool__(self)
        truth = self if self._spec.dtype.kind == "b" else ops.ne(self, 0)
        return bool(np.asarray(truth._trace.guard(truth._row, "bool()")).item())

    def item(self) -> Any:
        if self._spec.size != 1:
            return Tensor.item(self)
        return np.asarray(self._trace.guard(self._row, "reading its number")).item()

    def __float__(self) -> float:
        value = float(self.item())
        if self._spec.inexact and self._carries_gradient():
            warn_left("float")
        return value

    def __int__(self) -> int:
        return int(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def numpy(self, *, force: bool = False) -> np.ndarray:
        if not force and self._spec.inexact and self._carries_gradient():
            raise numpy_error()
        how = "detach().numpy()" if force or not self._spec.inexact else LEFT
        value = np.asarray(self._trace.guard(self._row, how))
        value.flags.writeable = False  # what is written there would not reach the tensor
        return value

    @yielding
    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.asarray(self.numpy(), dtype=dtype)

    def __getitem__(self, index: Any) -> Tensor:
        z = self._read(index)
        return z if z._spec.ndim < 2 or is_basic(index) else laid_as_picked(z, self, index)

    def _read(self, index: Any) -> Tensor:
        index = int(index) if isinstance(index, np.integer) else index
        short = (type(index) is int or type(index) is tuple) and not self._spec.narrow
        found = read(self, index) if short else None
        if found is not None:
            return found
        key = basic_key(index) if self._is_settled and not self._spec.narrow and self._trace.open else None
        if key is not None:
            return view_at(self, index, key)
        index = without_faces(index)
        return AT_PLACES(self, index) if has_places(index) else ops.getitem(self, index=known(index))

    __dict__ = told("__dict__", SPACE.__get__, lambda self: True)

    __class__ = CLASS

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise Untraceable("a tensor that is being recorded cannot be copied or pickled")

    # What changes how gradients flow.

    def detach(self) -> Tensor:
        made = ops.reshape(self, shape=self._spec.shape)
        self._trace.stopped.add(made._row)
        seal(made, self, DETACHED)
        return made

    data = property(detach)

    def contiguous(self, memory_format: Any = None) -> Tensor:
        check_layout(memory_format)
        return contiguous(self)

    def stride(self, dim: int | None = None) -> Any:
        strides = strides_of(self)
        return strides if dim is None else strides[dim]

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        if not requires_grad:
            raise Untraceable("requires_grad was switched off")
        if not self._spec.inexact:
            raise Untraceable("integers or truth values were asked to require gradients")
        if self._row in self._trace.inputs:
            raise Untraceable("an argument was told to require gradients, which every call has to do")
        self._trace.leaves.add(self._row)
        return self

    def retain_grad(self) -> None:
        raise Untraceable("retain_grad() was called; use tape.autograd.grad inside a compiled function")

    def register_post_accumulate_grad_hook(self, hook: Callable[..., Any]) -> Any:
        raise Untraceable("register_post_accumulate_grad_hook() was called, and a recorded list accumulates nothing")

    def register_hook(self, hook: Callable[..., Any]) -> Any:
        require_history(self._trace, [self._row], "a hook was registered")
        if self._trace.record(self._row)[0][CODE] == OUTPUT.code:
            raise Untraceable("a hook was registered on one of several results of an operation, which runs with theirs")
        hooks = self._trace.hooks.setdefault(self._row, {})
        return RemovableHandle(hooks, hook)


def guard_shape(operands: Sequence[Any], measure: str, k: int) -> None:
    """Let a list hold for one number that an op gives of an operand: for another, the record has another shape."""
    x = operands[k]
    if isinstance(x, Traced) and x._spec.size:
        ops.REGISTRY[measure](x).item()


READING = ops.select, ops.getitem
LEFT = "numpy()"
"""How floating-point numbers were asked for of which a gradient may be asked in another call."""


class TracedArgument(Traced):
    """A tensor that a function was given, which may have attributes of the user's in another call.

    It is a class of its own so that the others pay nothing for `__getattr__`, which slows all that is read of a tensor.
    """

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        if name in OWN:
            raise AttributeError(name)
        return lacking(self, name)


class Filling(Traced):
    """A tensor some cells of which were written, which are put together when somebody asks for its record."""

    __slots__ = ()
    _is_settled = False

    @property
    def _row(self) -> int:  # type: ignore[override]
        return self._look[0].whole(self)


class Looking(Traced):
    """A view of memory that was changed, which looks at it again when somebody asks for its record."""

    __slots__ = ()
    _is_settled = False

    @property
    def _row(self) -> int:  # type: ignore[override]
        memory, steps = self._look
        wengert = self._trace.wengert
        before, wengert.recording = wengert.recording, True  # gradients flow through a view, whoever asks for it
        try:
            base = self._at(memory.whole(self))
            row: int = look(base, steps)._row
        finally:
            wengert.recording = before
        self._stay_still(base, row)
        self._settle(row)
        return row

    def _stay_still(self, base: Traced, row: int) -> None:
        """What was made under no_grad has no history when it looks again, as long as its base has none.

        Raises:
            Untraceable: if that was changed with a history, which eager execution tells of.
        """
        if self.__dict__["_still"]:
            if base._row not in self._trace.stopped:
                raise Untraceable("a view that was made under no_grad was used after a change of its base")
            self._trace.stopped.add(row)


def traced(trace: Trace, row: int) -> Traced:
    """The tensor of a record."""
    made = Traced()
    made._trace, made._row = trace, row
    made._spec = trace.spec(row)  # type: ignore[assignment]
    return made


def argument(trace: Trace, spec: Spec) -> Traced:
    """A further argument of a shape and dtype, whose numbers nobody asks for."""
    return traced(trace, trace.input(np.broadcast_to(np.ones((), spec.dtype), spec.shape)))


def _as_recorded(self: Traced) -> str:
    return f"tensor of shape {self._spec.shape} and dtype {self.dtype}, being recorded"


for _name, _method in operators(Traced, TracedArgument).items():
    setattr(Traced, _name, _method)
for _name in UNKNOWN:
    setattr(Traced, _name, told(_name, read_as(Traced, _name), lambda self: True))
for _name, _method in {**PERSONAL, "__repr__": _as_recorded, "__str__": _as_recorded}.items():
    setattr(Traced, _name, personal(_name, _method, lambda self: True))
