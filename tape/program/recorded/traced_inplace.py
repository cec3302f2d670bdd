"""Traced tensors in memory: one that is changed goes on as what the change made, and so do all that share it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, cast

import numpy as np

import ops
from ops.core.axis_order import Order
from ops.shapes.overwriting import look

from ...base.errors import view_error
from ...base.kind import Placement
from ...base.tensor import Tensor
from ...memory.storage import place_in
from ...memory.writing import check_fits
from ...recording.functionalising import functionalise
from ...recording.recorder import plain_array, plain_number
from .aliases import become, is_shared, lay, memory_of
from .cells import CellPlace, place_of
from .changes_in_place import check_free, fill, is_part, lies_there, put
from .large.later import strides_of
from .trace import CONSTANT, INPUT, Trace, Untraceable, escaped
from .traced_index import AT_PLACES, has_places


class TracedMemory(Tensor):
    """A tensor of a function that is being recorded, as far as it shares memory and is changed; `Traced` is the rest.

    Attributes:
        _trace: the list that the function is recorded on.
        _row: the number of the record that made it.
        _look: what memory it shares with others, and how it looks at that, if it does (see `aliases`).
    """

    __slots__ = ()

    _trace: Trace
    _row: int
    _look: Any

    def _at(self, row: int) -> Any:
        """The tensor of another record."""
        raise NotImplementedError

    def _settle(self, row: int | None) -> None:
        """Stand for another record."""
        raise NotImplementedError

    def _memory(self) -> Any:
        seen = getattr(self, "_look", None)
        return self if seen is None else seen[0]

    def _check_shown(self, view: Any) -> bool:
        memory, steps = memory_of(self)
        if self._trace.code(memory.row) == INPUT and view._spec.size > 1 and self._spec.ndim > 1:
            self._trace.ordered = True  # of an argument that lies otherwise there may be no such view
            if memory_of(view)[0] is not memory:
                raise Untraceable("it asks for a view of an argument that does not lie in memory as that needs")
        copied = bool(steps) and view._spec.size and memory_of(view)[0] is not memory
        is_known = memory.first is not None and (
            self._trace.code(memory.row) == CONSTANT or np.asarray(memory.first).flags.c_contiguous
        )
        if copied and is_known:
            raise view_error(self._spec.shape, view._spec.shape)
        if view._spec.size and memory_of(view)[0] is not memory:
            view._stand_for_view(self)
        return True

    def _lie(self, order: Order) -> None:
        lay(self, order)

    def _steps(self) -> tuple[int, ...] | None:
        found = strides_of(self._trace.values[self._row])
        memory, steps = getattr(self, "_look", (None, None))
        if found is None and memory is not None and steps is not None and memory.first is not None:
            return np.asarray(look(memory.first, steps)).strides
        return found

    def _lookers(self) -> Any:
        memory, _ = memory_of(self)
        found = [(view, view._look[1]) for view in memory.living()]
        if any(steps is None for _, steps in found):
            return None
        return self._at(memory.whole(self)), found

    def _is_shared(self) -> bool:
        return is_shared(self)

    def _with_own_memory(self) -> Tensor:
        made: Tensor = self._at(self._row)  # a change makes another record
        made._copied = True  # type: ignore[attr-defined]
        return made

    def _pinned(self) -> Tensor:
        return self._at(self._row)

    def _placements(self, lanes: int = 0) -> Iterator[Placement]:
        """How tensors of a recording would lie in memory is told, without a guard, by their first values."""
        memory, steps = memory_of(self)
        self._trace.ordered = True
        if steps is None:
            first = value = np.asarray(self._trace.value(self._row))
        else:
            first = np.asarray(self._trace.value(memory.row) if memory.first is None else memory.first)
            value = np.asarray(look(first, steps))
        place = place_in(value, value, lanes)
        if place is not None:
            yield Placement(self, *place)
        place = place_in(first, value, lanes) if steps and np.may_share_memory(first, value) else None
        if place is not None:
            base = self._at(memory.whole(self))
            memory.show(base, ())
            yield Placement(base, *place)

    def _check_free(self, operation: str) -> None:
        check_free(self)

    def _alter(
        self, operation: str, compute: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]
    ) -> Tensor:
        return functionalise(self, operation, compute, args, named)

    def _before_change(self) -> Tensor:
        return self

    def _assign(self, result: Any, operation: str, last: int) -> None:
        result = self._recorded(result)
        check_fits(self, result, operation)
        put(self, _fitted(result, self._spec.shape, self._spec.dtype))

    def _recorded(self, value: Any) -> Any:
        """A value as a record of its own."""
        trace = self._trace
        if isinstance(value, TracedMemory):
            if value._trace is not trace or not trace.open:
                raise escaped()
            if trace.code(value._row) >= 0:
                return value
        return ops.clone(value if isinstance(value, TracedMemory) else self._at(trace.operand(plain(value))))

    def _write_at(self, index: Any, value: Any) -> bool:
        """Write a value into a cell, if the index is that of one and the value fits in there as it is.

        What lies there anyway is written already.
        """
        if self._trace.wengert.recording and lies_there(value, self, index):
            check_free(self)
            return True
        place = place_of(index, self._spec.shape)
        return place is not None and self._write_cell(place, value)

    def _write_cell(self, place: CellPlace, value: Any) -> bool:
        if self._spec.narrow or (isinstance(value, Tensor) and not isinstance(value, TracedMemory)):
            return False
        shape, dtype, value = place.inside(self._spec.shape), self._spec.dtype, self._recorded(value)
        if not np.can_cast(value._spec.dtype, dtype, "same_kind") or len(value._spec.shape) > len(shape):
            return False
        if any(n not in (1, m) for n, m in zip(value._spec.shape[::-1], shape[::-1])):
            return False
        if not self._trace.wengert.recording:
            value = ops.clone(value)  # which has no history
        return fill(self, place, _fitted(value, shape, dtype))

    def _with_value_at(self, index: Any, value: Any) -> Tensor:
        if has_places(index):
            return AT_PLACES.write(self, index, value)
        if index is Ellipsis and self._takes(value):
            return cast(Tensor, value)
        return ops.index_put(self, value, index=known(index))

    def _takes(self, value: Any) -> bool:
        """Whether a value that is written into all of this one goes into its base as it is, without a record before."""
        trace = self._trace
        is_recorded = isinstance(value, TracedMemory) and value._trace is trace and trace.open
        return is_recorded and value._spec is self._spec and trace.wengert.recording and is_part(self)

    def _become(self, operation: str, compute: Callable[[], Any]) -> None:
        self._check_free(operation)
        become(self, compute())


def _fitted(value: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    if value._spec.shape != shape:
        value = ops.broadcast_to(value, shape=shape)
    return value if value._spec.dtype == dtype else ops.cast(value, dtype=dtype)


def plain(x: Any) -> Any:
    """An operand that is not being recorded, as a constant."""
    if isinstance(x, (Tensor, float, int, complex)) or type(x) is np.ndarray:
        return x
    if isinstance(x, np.generic):
        return np.asarray(x)[()]
    return plain_number(x) if isinstance(x, (int, float)) else plain_array(x)


def known(index: Any) -> Any:
    """An index with the values of the tensors in it."""
    if isinstance(index, (tuple, list)):
        parts = [i if type(i) is int or type(i) is slice else known(i) for i in index]
        return tuple(parts) if isinstance(index, tuple) else parts
    if isinstance(index, Tensor):
        index = index.numpy(force=True)[()]  # a single number is a plain one, with which reading gives a view
    return index.copy() if isinstance(index, np.ndarray) else index
