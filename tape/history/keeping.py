"""What a custom function keeps, and how it gets its place in the history back.

What is kept belongs to the record of one application, and lives as long as that.  So it never
holds a handle, which would keep the record alive for ever: saved values lie in the record, like
those of any op, and are given their place in the history when they are asked for.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.row import CODE, HANDLE, LASTI, SPEC, XV, X
from ..base.spec import Spec
from ..base.tensor import Tensor
from ..recording.packing import Packed
from ..recording.recorder import output, wrap
from ..recording.version import count, count_of
from ..recording.wengert import current, row_of
from .hooks import copy_of
from .rule_values import at_leaf

if TYPE_CHECKING:
    from ..custom.function import Function

Row = list[Any]
Saved = tuple[int, Any, int, "weakref.ref[Tensor] | None"]
"""Where a saved tensor came from: kind, tensor, version and object.

INPUT or OUTPUT, of which the second is the number; OTHER, where it is the tensor itself if that has a
place in the history, and None in place of a plain value.  The version says how often its memory had
been changed in place.  The object, if it is still there, is what the function gets back, except for outputs.
"""
INPUT, OUTPUT, OTHER = range(3)
PLAIN = (int, float, str, bool, type(None), np.ndarray)


class Keeper:
    """The saved tensors of one application, and those among its attributes that have a history."""

    __slots__ = (
        "__dict__", "_forward", "_handle", "_kept", "_outputs", "_present", "_present_row", "_saved", "_values",
    )  # fmt: skip

    _function: type[Function]
    _outputs: tuple[Spec | None, ...]

    def __init__(self) -> None:
        self._handle: int | None = None
        self._saved: tuple[Any, ...] = ()
        self._forward: tuple[Any, ...] | None = None
        self._values: tuple[Any, ...] | None = None
        self._kept: dict[str, tuple[Any, Saved]] | None = None
        self._present: tuple[Any, Any] | None = None
        self._present_row: Row | None = None

    def __getattr__(self, name: str) -> Any:
        kept = self._kept.get(name) if self._kept and not name.startswith("__") else None
        if kept is None:
            raise AttributeError(
                f"the ctx of {self._title} has no attribute {name!r}; set it in forward: ctx.{name} = …"
            )
        value, saved = kept
        return self._restore(saved, value, self._row())

    @property
    def _title(self) -> str:
        return self._function.__name__

    def _settle(self, inputs: Sequence[Tensor], outputs: Sequence[Any]) -> None:
        """Replace the tensors that were kept by their values, and by where they belong."""
        saved, forward = self._saved, self._forward
        tensors = saved if forward is None else (*saved, *forward)
        self._values = ()
        if tensors:
            self._values = tuple([None if x is None else x._data for x in tensors])
            places = tuple([_place(x, inputs, outputs) for x in tensors])
            self._saved = places[: len(saved)]
            if forward is not None:
                self._forward = places[len(saved) :]
        if self.__dict__:
            self._settle_attributes(inputs, outputs)

    def _settle_attributes(self, inputs: Sequence[Tensor], outputs: Sequence[Any]) -> None:
        """The same for the attributes that are inputs or outputs."""
        self._kept = {}
        for name, x in list(self.__dict__.items()):
            saved = _place(x, inputs, outputs) if isinstance(x, Tensor) else None
            if saved is not None and saved[0] != OTHER:
                self._kept[name] = x._data, saved
                del self.__dict__[name]

    def _recorded(self, handle: int) -> None:
        """The values lie in this record from now on."""
        self._handle = copy_of(handle)
        self._values = None

    def _entangled(self) -> bool:
        """Whether something that was kept may itself hold a place in the history."""
        for saved in self._saved if self._forward is None else (*self._saved, *self._forward):
            if saved is not None and saved[0] == OTHER and not _is_plain(saved[1]):
                return True
        return not all(map(_is_plain, self.__dict__.values())) if self.__dict__ else False

    def _row(self) -> Row | None:
        if self._handle is None or self._present_row is not None:
            return self._present_row
        try:
            return row_of(self._handle)
        except RuntimeError:
            raise RuntimeError(
                f"the ctx of {self._title} was used after the record that it belongs to was gone.\nUse it in forward "
                "and backward only, or through the grad_fn of an output."
            ) from None

    def _unpack(self, saved: tuple[Any, ...], start: int) -> tuple[Tensor | None, ...]:
        row = self._row()
        values = self._values if row is None else row[XV]
        if row is None and values is None:
            return saved  # forward is still running
        if values is None and saved:
            raise RuntimeError(
                f"Trying to backward through {self._title} a second time (or directly access saved tensors after they "
                "have already been freed): they were released by the first backward.\nSpecify retain_graph=True there, "
                "or compute the output again."
            )
        return tuple([self._restore(s, values[start + i], row) for i, s in enumerate(saved)])  # type: ignore[index]

    def _restore(self, saved: Saved | None, value: Any, row: Row | None) -> Tensor | None:
        """A saved tensor, in its place in the history."""
        if saved is None:
            return None
        kind, tensor, version, there = saved
        if self._present is not None and kind != OTHER:
            return self._present[kind][tensor]
        ref = row[X][tensor] if row is not None and kind == INPUT else None
        found = ref if isinstance(ref, Tensor) else tensor if isinstance(tensor, Tensor) else None
        if type(value) is Packed:
            value = value.open()
            if found is not None:
                return _in_place_of(found, value)
        elif (count_of(value) if found is None else count(found)) != version:
            raise RuntimeError(
                f"a tensor of shape {value.shape} that {self._title} saved was changed in place since, so its backward "
                "would compute with other numbers.\nCall backward() before the change, or change a copy: x.clone()."
            )
        elif found is not None:
            return found
        same = None if there is None else there()
        if same is not None and same._data is value and same._node == ref:
            return same
        if row is None or kind != OUTPUT:
            return wrap(value, ref)
        if row[SPEC] is not None:
            return wrap(value, row[HANDLE], row[SPEC])
        return output(current(), row[HANDLE], self._tensor_outputs()[tensor], value, row[CODE], row[LASTI])

    def _tensor_outputs(self) -> list[int]:
        return [i for i, spec in enumerate(self._outputs) if spec is not None]


def _in_place_of(tensor: Tensor, value: Any) -> Tensor:
    """A value that hooks have given back, at a tensor's place in the history; for a leaf it is not the leaf."""
    if tensor._node is not True:
        return wrap(value, tensor._node)
    return at_leaf(tensor, value) if current().recording else wrap(value)


def _is_plain(x: Any) -> bool:
    if type(x) is tuple:
        return all(map(_is_plain, x))
    return isinstance(x, PLAIN) or (isinstance(x, Tensor) and x.is_leaf)


def _place(x: Any, inputs: Sequence[Tensor], outputs: Sequence[Any]) -> Saved | None:
    """Where a tensor that was saved belongs; outputs come first, because a changed input is both."""
    if x is None:
        return None
    for i, y in enumerate(outputs):
        if x is y:
            return OUTPUT, i, count_of(x._data), None
    for i, y in enumerate(inputs):
        if x is y:
            return (INPUT, i, count(x), None) if x._node is True else (INPUT, i, count_of(x._data), weakref.ref(x))
    if x._node is not None:
        return OTHER, x, count(x), None
    return OTHER, None, count_of(x._data), weakref.ref(x)
