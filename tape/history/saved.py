"""What a node shows of the values that its record keeps: ``_saved_self``, ``_raw_saved_result`` and so on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ops import Op

from ..base.row import SPEC, WIDTH, XV, YV, ZV
from ..base.tensor import Tensor
from ..recording.functions import FIRST, SECOND, SPELLINGS
from ..recording.packing import Packed, PackHooks, opened
from ..recording.recorder import wrap
from ..recording.wengert import list_of, row_of, spec_of_operand
from .propagate import arguments, released, released_error

SIZES = "_sym_sizes"


class SavedTensor:
    """The place where a record keeps a value, whether it is put away or not; no ``args`` make one."""

    __slots__ = ("_field", "_handle", "_index", "_node")

    _node: Any
    _handle: int
    _field: int
    _index: int | None

    def __init__(self, *args: Any):
        raise RuntimeError(
            "Trying to create a SavedTensor object from Python is forbidden: it is where a record keeps a value.\n"
            "Take one from a node, such as y.grad_fn._raw_saved_self."
        )

    def _value(self) -> Any:
        value = row_of(self._handle)[self._field]
        return value if self._index is None or value is None else value[self._index]

    @property
    def data(self) -> Any:
        """What is kept: a tensor, or what a pack hook has made of it."""
        value = self._value()
        return value.held if type(value) is Packed else value if value is None else wrap(value)

    @property
    def unpack_hook(self) -> Callable[[Any], Any] | None:
        """The hook that gets the value back, if there is one."""
        value = self._value()
        return value.unpack if type(value) is Packed else None

    def unpack(self) -> Any:
        """The value as a tensor."""
        value = opened(self._value())
        if value is None:
            raise released_error(row_of(self._handle))
        return wrap(value)

    def register_hooks(self, pack: Callable[[Any], Any], unpack: Callable[[Any], Any]) -> None:
        """Put the value away with ``pack(tensor)`` now; ``unpack`` of what that gives gets it back in backward.

        Raises:
            TypeError: if these are not functions.
            RuntimeError: if the value was released, or is put away already.
        """
        if not (callable(pack) and callable(unpack)):
            raise TypeError("register_hooks(): incompatible function arguments; it takes two functions: pack, unpack")
        value = self._value()
        if value is None and row_of(self._handle)[self._field] is not None:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor with value None is forbidden: nothing is kept there"
            )
        if value is None:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor after it has been freed: a backward without "
                "retain_graph=True has released it"
            )
        if type(value) is Packed:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor whose hooks have already been set; only one pair is allowed"
            )
        self._replace(Packed(value, PackHooks(pack, unpack)))

    def _replace(self, value: Any) -> None:
        wengert = list_of(self._handle)
        with wengert.still():
            place = wengert.locate(self._handle) * WIDTH + self._field
            if self._index is not None:
                held = wengert.rows[place]
                value = (*held[: self._index], value, *held[self._index + 1 :])
            wengert.rows[place] = value


def _place_of(node: Any, handle: int, field: int, index: int | None) -> SavedTensor:
    made: SavedTensor = object.__new__(SavedTensor)
    made._node, made._handle, made._field, made._index = node, handle, field, index
    return made


def read(node: Any, handle: int, name: str, raw: bool) -> Any:
    """The attribute ``_saved_{name}``, or ``_raw_saved_{name}``, of a node.

    Raises:
        AttributeError: if its op has no operand or parameter of that name, or does not need its value.
        RuntimeError: if the value was released.
    """
    row = row_of(handle)
    op, refs, values, params = arguments(row)
    if not raw:
        if name.endswith(SIZES) and (i := _operand(op, name.removesuffix(SIZES), len(refs))) is not None:
            spec = spec_of_operand(refs[i]) if refs[i] is not None else None
            return spec.shape if spec else np.shape(values[i])
        for word in (name, *SPELLINGS.get(name, ())):
            if word in params:
                return params[word]
    field = _field(row, op, name, len(refs))
    if field is None:
        raise AttributeError(f"node {node.name()} has no attribute '{'_raw' * raw}_saved_{name}'")
    place, i = field
    value = values[i] if i is not None else row[ZV]
    if value is None and released(row):
        raise released_error(row)
    if raw:
        if value is None or isinstance(value, float):
            raise AttributeError(f"node {node.name()} keeps no tensor for '_raw_saved_{name}'")
        return _place_of(node, handle, place, i if type(row[place]) is tuple else None)
    if value is None or (isinstance(value, (int, float)) and not isinstance(value, np.generic)):
        return value
    ref: Any = handle if i is None else refs[i]
    if isinstance(ref, Tensor):
        return wrap(value.open(), True) if type(value) is Packed else ref
    return wrap(opened(value), ref)


def places_of(node: Any, handle: int, count: int) -> tuple[SavedTensor, ...]:
    """Where the record of a custom function keeps the tensors that were saved for backward.

    Raises:
        RuntimeError: if they were released.
    """
    if row_of(handle)[XV] is None and count:
        raise released_error(row_of(handle))
    return tuple([_place_of(node, handle, XV, i) for i in range(count)])


def _field(row: list[Any], op: Op, name: str, count: int) -> tuple[int, int | None] | None:
    """The field of a row that a value is in, and the position of the operand whose value that is."""
    if name == "result":
        return (ZV, None) if row[SPEC] is not None and _keeps_result(row, op) else None
    i = _operand(op, name, count)
    if i is None:
        return None
    return XV if op.arity not in (1, 2) or i == 0 else YV, i


def _keeps_result(row: list[Any], op: Op) -> bool:
    return row[ZV] is not None or any(rule and "z" in rule.names for rule in (*op.rules, op.joint))


def _operand(op: Op, name: str, count: int) -> int | None:
    """The position of the operand of that name, ours or PyTorch's."""
    if name in op.operands:
        return op.operands.index(name)
    for i, words in enumerate((FIRST, SECOND)):
        if name in words and i < min(count, len(op.operands)):
            return i
    return None


def saved_names(row: list[Any]) -> list[str]:
    """The attributes of a node that show what its record keeps."""
    op, _, values, params = arguments(row)
    words = ("self", "exponent" if op.name == "pow" else "other")
    names = [word for word, value in zip(words, values) if value is not None] if op.arity in (1, 2) else []
    if row[ZV] is not None and row[SPEC] is not None:
        names.append("result")
    spelled = [next((word for word, ours in SPELLINGS.items() if name in ours), name) for name in params]
    return [f"_saved_{name}" for name in (*names, *spelled)] + [f"_raw_saved_{name}" for name in names]
