"""Plain tensors as a kind: what they answer to the library, which `tape.base.kind` says it may ask."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import ops
from ops.shapes.overwriting import Steps

from ..base.errors import view_error
from ..base.kind import Placement, TensorKind
from ..base.tensor import Narrow, Tensor, Theme
from ..recording.functionalising import functionalise, stay_on_the_line
from ..recording.indexing import plain_index
from ..recording.laying import lie, steps_of
from ..recording.packing import before_overwriting
from ..recording.recorder import bind, wrap
from ..recording.version import is_shared
from ..recording.views import base_of, materialise, owners, path_to
from ..recording.wengert import current
from .adopting import views_below
from .assignment import write_at
from .grad_and_data import put_under
from .inplace import Compute, become, overwrite, put
from .rebase import afresh, check_free, is_tracked
from .repeated import repeats
from .storage import place_in


class EagerKind(Theme, TensorKind):
    """A tensor that holds numbers, and is recorded on the list of its thread."""

    __slots__ = ()

    __bind__ = staticmethod(bind)
    _memory = base_of
    _is_shared = is_shared
    _check_free = check_free
    _assign = put
    _repeats = repeats
    _write_at = write_at
    _become = become
    _lie = lie
    _steps = steps_of

    def _lookers(self) -> tuple[Tensor, list[tuple[Tensor, Steps]]] | None:
        base = base_of(self)
        found = list(views_below(base))
        if any(type(x) not in (Tensor, Narrow) or len(owners(x)) > 1 for x in (base, *[view for view, _ in found])):
            return None
        return base, [(base, ()), *[(view, path_to(view)[1]) for view, _ in found]]

    def _carries_gradient(self) -> bool:
        return self._node is not None

    def _placements(self, lanes: int = 0) -> Iterator[Placement]:
        array = materialise(self)
        for origin in (self, base_of(self)):
            place = place_in(materialise(origin), array, lanes)
            if place is not None:
                yield Placement(origin, *place)

    def _check_shown(self, view: Tensor) -> bool:
        base = base_of(self)
        if not view._spec.size or base_of(view) is base:
            return True
        if base is not self or type(self) not in (Tensor, Narrow) or _is_ordered(self._data) or is_shared(self):
            raise view_error(self._spec.shape, view._spec.shape)
        put_under(self, np.ascontiguousarray(self._data), self._spec)
        return False

    def _with_own_memory(self) -> Tensor:
        return ops.clone(self)

    def _pinned(self) -> Tensor:
        return self if self._node is True else wrap(self._data, self._node, self._spec)

    def _alter(self, operation: str, compute: Compute, args: tuple[Any, ...], named: dict[str, Any]) -> Tensor:
        tracked = is_tracked(self, (*args, *named.values()) if named else args)
        return (functionalise if tracked else overwrite)(self, operation, compute, args, named)

    def _before_change(self) -> Tensor:
        wengert = current()
        stay_on_the_line(wengert)
        before_overwriting(wengert, self._data)
        return afresh(self)

    def _with_value_at(self, index: Any, value: Any) -> Tensor:
        return ops.index_put(self, value, index=plain_index(index, own=True))


def _is_ordered(value: Any) -> bool:
    """Whether a value lies in memory in row-major order."""
    return not isinstance(value, np.ndarray) or value.flags.c_contiguous
