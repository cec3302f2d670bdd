"""Node objects: the history as a graph that a user can walk, made from records when asked for."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any
from weakref import WeakValueDictionary, ref

from .hooks import RemovableHandle, chain_of, copy_of, register_hook
from .location import Location, locate
from .propagate import arguments, op_of, released, released_error, spec_of_operand
from .record import wrap
from .row import CODE, LASTI, SPEC, ZV
from .tensor import Tensor, attribute, settable
from .version import owner
from .wengert import row_of

SAVED_NAMES = {"self": 0, "input": 0, "other": 1, "exponent": 1}


class Node:
    """The record of one operation, as ``tensor.grad_fn`` shows it.

    While a node is alive it is the only one of its record, and keeps the record alive.
    """

    __slots__ = ("__weakref__", "_handle", "metadata")

    def __init__(self, handle: int):
        self._handle = handle
        self.metadata: dict[Any, Any] = {}

    def name(self) -> str:
        """The name as PyTorch spells it, such as ``MulBackward0``."""
        return type(self).__name__

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """Per operand, the node that made it and which of that node's results it is."""
        return tuple(map(edge_of, self._arguments()[0]))

    @property
    def location(self) -> Location:
        """The user's line that recorded the operation."""
        row = self._row()
        return locate(row[CODE], row[LASTI])

    def register_prehook(self, hook: Callable[..., Any]) -> Any:
        """Call ``hook(grad_outputs)`` before the node's rule runs; what it returns replaces them.

        Returns a handle whose ``remove()`` takes the hook away.
        """
        chain = chain_of(self._handle, self._row()[SPEC])
        return RemovableHandle(chain.hooks, lambda g: _only(hook((g,))))

    def _row(self) -> list[Any]:
        return row_of(self._handle)

    def _is_view(self) -> bool:
        """Whether the operation gave another look at its operand's memory."""
        return op_of(self._row()).is_view(self._arguments()[2])

    def _arguments(self) -> tuple[tuple[Any, ...], tuple[Any, ...], dict[str, Any]]:
        row = self._row()
        return arguments(row, op_of(row))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_saved_"):
            return self._saved(name.removeprefix("_saved_"))
        context = None if name.startswith("_") else self._context()
        if context is None:
            raise AttributeError(f"node {self.name()} has no attribute {name!r}")
        return getattr(context, name)

    def _context(self) -> Any:
        """The ctx of a custom function, whose attributes are the node's too."""
        return self._arguments()[2].get("ctx")

    def _saved(self, name: str) -> Any:
        row = self._row()
        op = op_of(row)
        refs, values, params = arguments(row, op)
        if name in params:
            return params[name]
        if name == "result" and row[ZV] is not None:
            return wrap(row[ZV], self._handle)
        names = SAVED_NAMES | {operand: i for i, operand in enumerate(op.operands)}
        position = names.get(name, len(refs))
        if position >= len(refs):
            raise AttributeError(f"node {self.name()} has no attribute '_saved_{name}'")
        if values[position] is None:
            if released(row):
                raise released_error(row)
            return None  # no rule needs it
        ref, value = refs[position], values[position]
        return ref if isinstance(ref, Tensor) else value if isinstance(value, float) else wrap(value, ref)

    def __repr__(self) -> str:
        return f"<{self.name()} object at {id(self):#x}>"


class AccumulateGrad(Node):
    """Where a sweep ends: it adds the adjoint to ``variable.grad``."""

    __slots__ = ("variable",)

    def __init__(self, variable: Tensor):
        self.variable = variable
        self.metadata = {}

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        return ()

    def _context(self) -> None:
        return None

    def register_prehook(self, hook: Callable[..., Any]) -> Any:
        return register_hook(self.variable, lambda g: _only(hook((g,))))


_nodes: WeakValueDictionary[int, Node] = WeakValueDictionary()


@cache
def _class_named(name: str) -> type[Node]:
    return type(name, (Node,), {"__slots__": (), "__module__": "tape.autograd.graph"})


def node_of(handle: int) -> tuple[Node, int]:
    """The node of a record, and which of the node's results the record is."""
    row = row_of(handle)
    op = op_of(row)
    refs, _, params = arguments(row, op)
    if op.name == "output":
        return node_of(refs[0])[0], params["i"]
    found = _nodes.get(handle)
    if found is None:
        found = _nodes[copy_of(handle)] = _class_named(op.node_name(params))(handle)
    return found, 0


def accumulator(leaf: Tensor) -> AccumulateGrad:
    """The node that stands for a leaf."""
    found = leaf._accumulator and leaf._accumulator()
    if found is None:
        found = AccumulateGrad(leaf)
        leaf._accumulator = ref(found)
    return found


def edge_of(operand: Any) -> tuple[Node | None, int]:
    """Node and result number of an operand as a row holds it."""
    if operand is None:
        return None, 0
    return (accumulator(operand), 0) if isinstance(operand, Tensor) else node_of(operand)


@attribute
def grad_fn(self: Tensor) -> Node | None:
    """The node that made this tensor; None for a leaf.

    >>> import tape
    >>> x = tape.ones(2, requires_grad=True)
    >>> (x * x).grad_fn.name(), x.grad_fn
    ('MulBackward0', None)
    """
    return None if self.is_leaf else node_of(self._node)[0]


@attribute
def _base(self: Tensor) -> Tensor | None:
    """The tensor that this is a view of; None where it is no view, or nothing was recorded.

    A base that was computed is given as a new tensor, on the same memory and at the same place in the history.
    """
    if self.is_leaf or not self._is_view():
        return None
    ref = self._node
    while type(ref) is int:
        row = row_of(ref)
        op = op_of(row)
        refs, _, params = arguments(row, op)
        if op.name != "output" and not op.is_view(params):
            break
        ref = refs[0]
    if not isinstance(ref, int):
        return ref
    memory, spec = owner(self._data), spec_of_operand(ref)
    return wrap(memory, ref, spec) if spec and (memory.shape, memory.dtype) == (spec.shape, spec.dtype) else None


def _read_only(self: Tensor, value: Any) -> None:
    raise AttributeError("grad_fn is read only; use .detach() for a tensor without history")


settable(grad_fn, _read_only)


@attribute
def creator(self: Tensor) -> Node | None:
    """What `grad_fn` was called once."""
    return self.grad_fn


@attribute
def output_nr(self: Tensor) -> int:
    """Which result of its node this tensor is."""
    return 0 if self.is_leaf else node_of(self._node)[1]


def _only(result: Any) -> Any:
    return result[0] if isinstance(result, tuple) else result
