"""The history as a graph to walk: node objects, made from records when asked for, and edges, places at a node."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple
from weakref import WeakValueDictionary, ref

import numpy as np

from ..base.location import Location, locate
from ..base.row import CODE, LASTI, OP, PARAMS, SPEC, X
from ..base.spec import Spec
from ..base.tensor import Tensor, Theme
from ..recording.recorder import OUTPUT, output, wrap
from ..recording.wengert import THREAD_SHIFT, current, list_of, row_of, spec_of_operand
from .bars import Barred
from .chain import Chain, RemovableHandle
from .hooks import chain_of, chain_of_leaf, copy_of
from .propagate import arguments, node_name, result_count
from .saved import SavedTensor, places_of, read, saved_names


class GradientEdge(NamedTuple):
    """A node, and which of its results is meant."""

    node: Node
    output_nr: int
    ownership_token: Node | None = None


class EdgeTensor(Tensor):
    """A place in the history, given by an edge: a tensor of zeros, because the value is not known."""

    __slots__ = ()


def tensor_at(edge: GradientEdge) -> Tensor:
    """The leaf at an edge, or a `EdgeTensor`.

    Raises:
        TypeError: if this is no edge of our graph.
    """
    node, i = edge[:2]
    if isinstance(node, AccumulateGrad):
        return node.variable
    if not isinstance(node, Node):
        raise TypeError(f"a GradientEdge needs a node, such as tensor.grad_fn; got {type(node).__name__}")
    handle: Any = node._handle
    row = row_of(handle)
    spec = spec_of_result(handle, i)
    blank = np.broadcast_to(np.zeros((), spec.dtype), spec.shape)[()]
    if row[SPEC] is None:
        known = record_of_result(handle, i)
        handle = output(current(), handle, i, blank, row[CODE], row[LASTI])._node if known is None else known
    place: EdgeTensor = object.__new__(EdgeTensor)
    place._data, place._node, place._spec = blank, handle, spec
    return place


BackwardHook = Callable[[tuple[Tensor | None, ...]], tuple[Tensor | None, ...] | None]
RuleHook = Callable[[tuple[Tensor | None, ...], tuple[Tensor | None, ...]], tuple[Tensor | None, ...] | None]


class Metadata(NamedTuple):
    """What is known of one of a node's results."""

    shape: tuple[int, ...]
    dtype: Any


IN_ITS_ROOM = frozenset({"AccumulateGrad", "CopyBackwards", "CopySlices"})
"""Nodes whose names PyTorch tells with the room that they are in."""


class Node:
    """The record of one operation, as ``tensor.grad_fn`` shows it.

    While a node is alive it is the only one of its record, and keeps the record alive.
    """

    __slots__ = ("__weakref__", "_handle", "_loan")

    def __init__(self, handle: int):
        self._handle = handle

    def name(self) -> str:
        """The name as PyTorch spells it, such as ``MulBackward0``."""
        name = type(self).__name__
        return f"torch::autograd::{name}" if name in IN_ITS_ROOM else name

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """Per operand, the node that made it and which of that node's results it is."""
        return tuple(map(edge_of, arguments(self._row())[1]))

    @property
    def requires_grad(self) -> bool:
        """Always true: where no gradient flows there is no node."""
        return True

    @property
    def location(self) -> Location:
        """The user's line that recorded the operation."""
        row = self._row()
        return locate(row[CODE], row[LASTI])

    @property
    def metadata(self) -> dict[Any, Any]:
        """Whatever the user wants to note at this operation."""
        return self._chain().metadata

    def register_prehook(self, hook: BackwardHook) -> RemovableHandle:
        """Call ``hook(grad_outputs)`` before the rule of the operation runs.

        It gets a tuple with a gradient, or None, for each result, and may return another one.
        Returns a handle whose ``remove()`` takes the hook away.
        """
        return RemovableHandle(self._chain().before, hook)

    def register_hook(self, hook: RuleHook) -> RemovableHandle:
        """Call ``hook(grad_inputs, grad_outputs)`` when the rule of the operation has run.

        It gets tuples with a gradient, or None, for each operand and for each result, and may
        return another tuple for the operands.  Returns a handle whose ``remove()`` takes the hook away.

        >>> import tape
        >>> x = tape.ones(2, requires_grad=True)
        >>> y = x * 3
        >>> handle = y.grad_fn.register_hook(lambda grad_inputs, grad_outputs: (grad_inputs[0] * 10, None))
        >>> y.sum().backward()
        >>> x.grad
        tensor([30., 30.])
        """
        return RemovableHandle(self._chain().after, hook)

    def _chain(self) -> Chain:
        return chain_of(self._handle, self._row()[SPEC])

    def _sequence_nr(self) -> int:
        """A number that is greater for what was recorded later."""
        return self._handle & ((1 << THREAD_SHIFT) - 1)

    @property
    def _input_metadata(self) -> tuple[Metadata, ...]:
        """Shape and dtype of the gradients that come in: one for each result of the operation."""
        specs = [spec_of_result(self._handle, i) for i in range(result_count(self._row()))]
        return tuple([Metadata(spec.shape, spec.dtype) for spec in specs])

    def _row(self) -> list[Any]:
        return row_of(self._handle)

    @property
    def _raw_saved_tensors(self) -> tuple[SavedTensor, ...]:
        """Where the tensors lie that a custom function has saved for backward."""
        context = self._context()
        if context is None:
            raise AttributeError(
                f"node {self.name()} has no attribute '_raw_saved_tensors': it is of no custom function"
            )
        return places_of(self, self._handle, len(context._saved))

    def __getattr__(self, name: str) -> Any:
        for prefix, raw in (("_saved_", False), ("_raw_saved_", True)):
            if name.startswith(prefix) and not (self._context() and name.endswith("saved_tensors")):
                return read(self, self._handle, name.removeprefix(prefix), raw)
        context = None if name.startswith("_") else self._context()
        if context is None:
            raise AttributeError(f"node {self.name()} has no attribute {name!r}")
        return getattr(context, name)

    def _context(self) -> Any:
        """The ctx of a custom function, whose attributes are the node's too."""
        return arguments(self._row())[3].get("ctx")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *saved_names(self._row())]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {id(self):#x}>"


class AccumulateGrad(Node):
    """Where a sweep ends: it adds the adjoint to ``variable.grad``."""

    __slots__ = ("variable",)

    def __init__(self, variable: Tensor):
        self.variable = variable

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        return ()

    def _context(self) -> None:
        return None

    def _chain(self) -> Chain:
        return chain_of_leaf(self.variable)

    def _sequence_nr(self) -> int:
        return (1 << 64) - 1

    @property
    def _input_metadata(self) -> tuple[Metadata, ...]:
        return (Metadata(self.variable._spec.shape, self.variable.dtype),)

    def __dir__(self) -> list[str]:
        return list(object.__dir__(self))


_nodes: WeakValueDictionary[int, Node] = WeakValueDictionary()


class FunctionNode(Node):
    """The record of a custom function: what is set on the node is set on the function's ctx."""

    __slots__ = ()

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "_handle":
            object.__setattr__(self, name, value)
            return
        list_of(self._handle).entangled = True  # what is kept there from now on may hold a place in the history
        setattr(self._context(), name, value)


@cache
def _class_named(name: str, base: type[Node]) -> type[Node]:
    return type(name, (base,), {"__slots__": (), "__module__": "tape.autograd.graph"})


def node_of(handle: int) -> tuple[Node, int]:
    """The node of a record, and which of the node's results the record is."""
    row = row_of(handle)
    op, refs, _, params = arguments(row)
    if op.name == "output":
        return node_of(refs[0])[0], params["i"]
    found = _nodes.get(handle)
    if found is None:
        base = FunctionNode if "ctx" in params else Node
        found = _nodes[copy_of(handle)] = _class_named(node_name(row), base)(handle)
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


def spec_of_result(handle: int, i: int) -> Spec:
    """Shape and dtype of one result of a record."""
    row = row_of(handle)
    if row[SPEC] is not None:
        return row[SPEC]
    made = record_of_result(handle, i)
    if made is not None:
        return row_of(made)[SPEC]
    op, refs, _, params = arguments(row)
    if op.name == "custom":
        return params["ctx"]._outputs[i]
    given = [np.zeros(spec.shape, spec.dtype) for spec in map(spec_of_operand, refs) if spec]
    return wrap(op.forward(*given, **params)[i])._spec


def record_of_result(handle: int, i: int) -> int | None:
    """The record that stands for one result of a record with several, if it is still there."""
    wengert = list_of(handle)
    with wengert.still():
        for position in range(wengert.locate(handle) + 1, len(wengert)):
            row = wengert.row(position)
            if row[OP] != OUTPUT.code or row[X] != handle:
                return None
            if row[PARAMS] == (i,):
                return row[0]
    return None


class NodeMethods(Theme):
    """Which node of the history made a tensor."""

    __slots__ = ()

    @property
    def grad_fn(self) -> Node | None:
        """The node that made this tensor; None for a leaf.

        Raises:
            RuntimeError: for a view that has no place in the history any more, because its base was
                changed (`tape.history.bars`).

        >>> import tape
        >>> x = tape.ones(2, requires_grad=True)
        >>> (x * x).grad_fn.name(), x.grad_fn
        ('MulBackward0', None)
        """
        if self.is_leaf:
            return None
        node = node_of(self._node)[0]
        if isinstance(context := node._context(), Barred):
            raise context.error()
        return node

    @grad_fn.setter
    def grad_fn(self, value: Any) -> None:
        raise AttributeError("grad_fn is read only; use .detach() for a tensor without history")

    @grad_fn.deleter
    def grad_fn(self) -> None:
        raise RuntimeError("the history of a tensor cannot be deleted; use .detach() for a tensor without one")

    @property
    def _grad_fn(self) -> Node | None:
        """`grad_fn` under the name that PyTorch keeps for itself."""
        return self.grad_fn

    @_grad_fn.setter
    def _grad_fn(self, value: Any) -> None:
        self.grad_fn = value

    @_grad_fn.deleter
    def _grad_fn(self) -> None:
        del self.grad_fn

    @property
    def creator(self) -> Node | None:
        """What `grad_fn` was called once."""
        return self.grad_fn

    @property
    def output_nr(self) -> int:
        """Which result of its node this tensor is."""
        return 0 if self.is_leaf else node_of(self._node)[1]
