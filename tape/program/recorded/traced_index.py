"""What is read of tensors that are being recorded at an index.

Arrays of whole numbers in it that are being recorded are operands, so that others serve as well.  What else it consists
of, masks and single numbers too, is part of the program, and holds for its values only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import ops
from ops.core.batching_index import SLOT

from ...base.spec import spec
from ...base.tensor import Tensor
from ...recording.level import innermost, read, write
from .aliases import link
from .large.foreseen import part_at
from .large.later import Later, layout_of, lying_like, unheld

if TYPE_CHECKING:
    from .traced_inplace import TracedMemory


class ArrayIndex:
    """Reads and writes where such arrays are part of an index."""

    def __call__(self, x: Any, index: Any) -> Any:
        """``x[index]``."""
        if innermost(index if type(index) is tuple else (index,)) is not None:
            return read(x, index)
        form, arrays = _form(index)
        return ops.lookup(x, *arrays, form=form)

    def write(self, x: Any, index: Any, value: Any) -> Any:
        """`x` with a value put at an index."""
        if innermost(index if type(index) is tuple else (index,)) is not None:
            return write(x, index, value)
        form, arrays = _form(index)
        return ops.overwrite(x, value, *arrays, form=form)


AT_PLACES = ArrayIndex()
BOUNDS = frozenset({int, type(None)})
"""The kinds of ends of slices, and of the steps in them, that are themselves in every way if they are equal."""


def basic_key(index: Any) -> Any:
    """Something hashable that is equal for equal indices of integers and slices only; None for others."""
    if type(index) is slice:
        kinds = {type(index.start), type(index.stop), type(index.step)}
        return (slice, index.start, index.stop, index.step) if kinds <= BOUNDS else None
    if type(index) is not tuple:
        return None
    key: list[Any] = []
    for p in index:
        if type(p) is slice and {type(p.start), type(p.stop), type(p.step)} <= BOUNDS:
            key.append((p.start, p.stop, p.step))
        elif type(p) is int:
            key.append(p)
        else:
            return None
    return tuple(key)


def part_of(x: Any, index: Any, shape: tuple[int, ...]) -> TracedMemory | None:
    """The part of a large array at an index of integers and slices, which has that shape; None if it is no such array.

    `ops.getitem` gives the same, after it has found out the shape.
    """
    if not getattr(x, "_is_settled", False) or x._spec.narrow or not x._trace.open:
        return None
    trace, row, params = x._trace, x._row, {"index": index}
    if type(trace.values[row]) is not Later or x._spec.dtype.kind not in "fcb":
        return None
    op = ops.select if type(index) is int else ops.getitem
    made: TracedMemory = x._at(trace.append_op(op, (row,), params, Later(spec(shape, x._spec.dtype))))
    link(made, x, op, params)
    return made


def view_at(x: TracedMemory, index: Any, key: Any) -> TracedMemory:
    """The part of a tensor at an index of integers and slices; what is known of one is, of others that look alike."""
    trace, row = x._trace, x._row
    value = trace.values[row]
    kind = (layout_of(value) if type(value) is Later else None), x._spec, key
    known = trace.parts.get(kind)
    if known is None:
        part = part_at(value, index) if type(value) is Later else None
        if part is None:  # which also says what is wrong with an index
            whole: TracedMemory = ops.getitem(x, index=index)
            if type(value) is not Later:
                trace.parts[kind] = {"index": index}, None
            return whole
        known = trace.parts[kind] = {"index": index}, part
    params, part = known
    z = lying_like(part) if type(value) is Later else unheld(ops.getitem.forward(value, **params))
    made: TracedMemory = x._at(trace.append(ops.getitem.code, -1, -1, ((row,), params), z))
    link(made, x, ops.getitem, params)
    return made


def is_places(part: Any) -> bool:
    """Whether a part of an index is an array of whole numbers whose values are not known while a function is recorded.

    A number without axes is not: with it reading gives a view, and loops that count are unrolled.
    """
    return isinstance(part, Tensor) and part._index_reader() is AT_PLACES


def has_places(index: Any) -> bool:
    """Whether such an array is part of an index, or one that differs from lane to lane."""
    parts = index if type(index) is tuple else (index,)
    return any(isinstance(part, Tensor) and part._index_reader() is not None for part in parts)


def _form(index: Any) -> tuple[tuple[Any, ...], list[Any]]:
    """The form of an index (see `ops.shapes.places`), and its arrays; masks as the numbers that they mean."""
    form: list[Any] = []
    arrays: list[Any] = []
    for part in index if type(index) is tuple else (index,):
        if is_places(part):
            found: tuple[Any, ...] = (part,)
        elif isinstance(part, (Tensor, np.ndarray, list)):
            value = np.array(part.numpy(force=True) if isinstance(part, Tensor) else part)
            if not value.ndim and value.dtype != np.bool_:
                form.append(value[()])
                continue
            found = np.nonzero(value) if value.dtype == np.bool_ and value.ndim else (value,)
        else:
            form.append(part)
            continue
        arrays += found
        form += [SLOT] * len(found)
    return tuple(form), arrays
