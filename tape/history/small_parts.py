"""Adjoints of large arrays of which a record reads, or overwrites, a small part: that part alone is moved.

By its rule a record that reads ``x[i]`` contributes zeros of the size of x with a few numbers in them, and one that
writes ``x[i] = y`` a copy of the adjoint with a few zeros in it.  A loop that does so for each element would take the
square of the time that it should.  Where nothing is recorded (`create_graph`) and no hook looks on, a sweep adds the
numbers where they belong, and takes them out where they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ops.core.differentiate import in_dtype
from ops.core.op import Op
from ops.core.registry import REGISTRY
from ops.shapes.index import is_basic

from ..base.row import SPEC
from ..base.spec import Spec
from ..recording.wengert import spec_of_operand

LARGE = 1 << 8
"""Arrays of fewer elements are moved as a whole."""
PART = 4
"""So are those of which a part is more than this fraction."""


class PartAlone(NamedTuple):
    """A contribution that is 0 but for a part: the indices of that, one after the other, and what is there."""

    indices: tuple[Any, ...]
    bar: Any

    def put_into(self, zeros: np.ndarray) -> None:
        """Begin an adjoint; not by adding, for 0.0 + −0.0 is 0.0."""
        _around(zeros, self.indices)[self.indices[-1]] = self.bar

    def add_to(self, total: np.ndarray) -> None:
        place = _around(total, self.indices)
        place[self.indices[-1]] += self.bar


class Moved(NamedTuple):
    """A contribution that is an array which nobody else holds."""

    bar: np.ndarray


Contributions = list[tuple[int, Any, Any]]
"""By position, the operand, and what is contributed to its adjoint."""


def in_parts(
    row: list[Any], arguments: tuple[Op, Sequence[Any], Any, dict[str, Any]], whole: Spec, g: Any,
    positions: tuple[int, ...], is_free: bool,
) -> Contributions | None:  # fmt: skip
    """What a record contributes that reads or overwrites a part of a large array; None where its rules are to say it.

    Args:
        whole: what the array is.
        g: its adjoint, which is changed if it is free: if nobody else holds it.
    """
    op, refs, _, params = arguments
    spec = row[SPEC]
    indices = op.part_of(params)
    if not indices or spec is None or spec.narrow or not all(map(is_basic, indices)):
        return None
    if whole.dtype != g.dtype:
        return None
    if op.arity == 1:
        return [(0, refs[0], PartAlone(indices, g))] if PART * np.size(g) <= whole.size else None
    return _overwritten(refs, g, positions, indices, is_free)


def _overwritten(
    refs: Sequence[Any], g: np.ndarray, positions: tuple[int, ...], indices: tuple[Any, ...], is_free: bool
) -> Contributions | None:
    """The adjoint of what was written, and that of the rest."""
    around = _around(g, indices)
    if type(around) is not np.ndarray:  # of one element, which is no view of it
        return None
    part = around[indices[-1]]
    if PART * np.size(part) > g.size:
        return None
    found: Contributions = []
    if 1 in positions:
        spec = spec_of_operand(refs[1])
        if spec is None or len(spec.shape) > np.ndim(part):
            return None
        bar = np.array(part)[()]
        bar = bar if bar.shape == spec.shape else REGISTRY["sum_to"](bar, shape=spec.shape)
        found.append((1, refs[1], in_dtype(bar, spec.dtype)))
    if 0 in positions:
        rest = g if is_free else np.array(g, order="C")
        _around(rest, indices)[indices[-1]] = 0.0
        found.append((0, refs[0], Moved(rest)))
    return found


def _around(array: Any, indices: tuple[Any, ...]) -> Any:
    """The view that the last of some indices is one of."""
    for index in indices[:-1]:
        array = array[index]
    return array
