"""How results of tensors' functions lie in memory: as PyTorch's do, in row-major order or in the order of the operands.

NumPy lays what it sums, joins, picks or accumulates by rules of its own, and arrays that are recorded go by NumPy.
Which results are views of others, and which are copies, depends on it: of what lies in rows ``view`` and ``reshape``
give views.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from ops.core.axis_order import (
    AS_COMPUTED,
    COLUMNS,
    OPERAND,
    ROWS,
    Order,
    by_columns,
    copied_in,
    lies_in,
    order_at,
    order_of,
    order_without_gaps,
    spread,
)  # fmt: skip
from ops.core.registry import REGISTRY

from ..base.row import OP, WIDTH, ZV, X
from ..base.spec import Spec
from ..base.tensor import Face, Tensor
from .recorder import OUTPUT
from .recording_modes import enable_grad
from .wengert import list_of

CLONE = REGISTRY["clone"]


def in_rows(z: Any) -> Any:
    """What an op has just made, one tensor or several, in row-major order."""
    if type(z) is Tensor:
        if type(z._data) is np.ndarray and not z._data.flags.c_contiguous:
            z._lie(None)
    elif isinstance(z, Tensor):
        for part in z._components():
            part._lie(None)
    elif isinstance(z, (tuple, list)):
        for part in z:
            in_rows(part)
    return z


def laid(z: Any, how: str, operands: Iterable[Any]) -> Any:
    """What an op has just made of some operands, one tensor or several, as PyTorch would have it lie."""
    if how == AS_COMPUTED:
        return z
    if how == ROWS:
        return in_rows(z)
    if isinstance(z, Tensor):
        if z._spec.ndim > 1:
            _lay(z, how, operands)
    elif isinstance(z, (tuple, list)):
        for part in z:
            laid(part, how, operands)
    return z


def _is_in_rows(x: Any) -> bool:
    """Whether an operand is known to lie in row-major order, with all that it is made of, or is no array."""
    kind = type(x)
    if kind is Tensor:
        x, kind = x._data, type(x._data)
    if kind is np.ndarray:
        return bool(x.flags.c_contiguous)
    if isinstance(x, Tensor):
        return all(type(part) is Tensor and part._data.flags.c_contiguous for part in x._components())
    return not isinstance(x, (np.ndarray, Face))


def _lay(z: Tensor, how: str, operands: Iterable[Any]) -> None:
    if how == COLUMNS:
        lie_within(z, by_columns(z._spec.ndim))
        return
    if type(z) is Tensor and z._data.flags.c_contiguous and all(map(_is_in_rows, operands)):
        return
    arrays: list[Any] = [x for x in operands if isinstance(x, (Tensor, np.ndarray, Face))]
    if any(z is x for x in arrays):
        return
    shape, strides = z._spec.shape, []
    for x in arrays[:1] if how == OPERAND else arrays:
        steps = strides_of_tensor(x)
        if steps is None:
            next(x._components())._leave_layout_open()
            return
        if len(steps) <= len(shape):
            strides.append(spread(x.shape, steps, len(shape), shape))
    lie_within(z, order_of(shape, strides))


def laid_by(z: Any, operands: Sequence[Any], rule: Callable[..., Order]) -> Any:
    """What was computed of operands, in the order that a rule makes of their shapes and strides."""
    if isinstance(z, Tensor) and z._spec.ndim > 1:
        strides = list(map(strides_of_tensor, operands))
        if None not in strides:
            lie_within(z, rule([x.shape for x in operands], strides))
        else:
            for x in operands:
                if isinstance(x, Tensor):
                    next(x._components())._leave_layout_open()
    return z


def made_like(z: Tensor, x: Any) -> Tensor:
    """A tensor that was made after another one, whose numbers it does not depend on, in the order of that."""
    if z._spec.ndim > 1 and isinstance(x, Tensor):
        for part in x._components():
            part._tell_layout()
            if part._steps() is None:
                part._refuse_recording("a tensor was made like one of which it is not known how it lies in memory")
        laid(z, OPERAND, (x,))
    return z


def lie_within(z: Tensor, order: Order) -> None:
    """Let all that a tensor is made of lie in an order of its axes, those in front of them first."""
    for part in z._components():
        part._lie(_behind(order, part._spec.ndim))


def laid_as_target(g: Any, x: Tensor) -> Any:
    """A gradient with respect to a tensor, lying in memory as that does if it has no gaps, else in rows.

    So it does whichever way it was computed.  It is a copy if it lies otherwise, since others may hold it, or repeats
    a number.
    """
    if g is None or not x._spec.ndim:
        return g
    is_in_rows = _is_in_rows(g)
    if is_in_rows and _is_in_rows(x):
        return g
    steps = strides_of_tensor(x)
    if steps is None:
        next(x._components())._leave_layout_open()
        return g
    order = order_without_gaps(x._data if type(x) is Tensor else outlined(x._spec, steps))
    if is_in_rows and order is None:
        return g
    found = [(part._spec, part._steps()) for part in g._components()]
    fits = all(known is None or lies_in(outlined(spec, known), _behind(order, spec.ndim)) for spec, known in found)
    with enable_grad():  # as the sweep that made it, if it has a history
        z = g if fits else CLONE(g)
        lie_within(z, order)  # also where it is not known of a record, which a rule has just made
    return z


def outlined(spec: Spec, strides: tuple[int, ...]) -> np.ndarray:
    """What shows how an array lies in memory, and has none."""
    return np.lib.stride_tricks.as_strided(np.empty(1, spec.dtype), spec.shape, strides)


def _behind(order: Order, ndim: int) -> Order:
    """An order of the last axes, with the others in front of them."""
    return order if order is None else (*range(ndim - len(order)), *[k + ndim - len(order) for k in order])


def laid_as_picked(z: Any, x: Tensor, index: Any) -> Any:
    """What was read of a tensor at an index with arrays in it, as PyTorch would have it lie."""
    parts = index if type(index) is tuple else tuple(index) if type(index) is list and not is_array(index) else (index,)
    if type(x) is Tensor and x._data.flags.c_contiguous and all(map(_is_in_rows, parts)):
        return in_rows(z)
    steps = strides_of_tensor(x)
    if steps is None:
        next(x._components())._leave_layout_open()
        return z
    whole = np.lib.stride_tricks.as_strided(np.empty(1, np.int8), x._spec.shape, steps)
    order = order_at(whole, tuple(map(_index_part, parts)))
    lie_within(z, order if order is None or len(order) == z._spec.ndim else None)
    return z


def is_array(index: list[Any]) -> bool:
    """Whether a list as an index is an array of numbers, and not one index for each axis."""
    return not any(isinstance(i, (list, tuple, slice, np.ndarray, Tensor)) or i is None or i is Ellipsis for i in index)


def _index_part(part: Any) -> Any:
    """A part of an index, with an array in the place of a tensor; how it lies matters, or its truth values."""
    part = part._tensor if isinstance(part, Face) else part
    if isinstance(part, Tensor):
        if part._spec.dtype == np.bool_ or not part._spec.shape:
            return np.asarray(next(part._components())._data)[()]
        steps = strides_of_tensor(part)
        return (
            np.empty(part._spec.shape, np.intp)
            if steps is None
            else np.lib.stride_tricks.as_strided(np.empty(1, np.int8), part._spec.shape, steps)
        )
    return np.asarray(part) if isinstance(part, (list, tuple, range)) else part


def strides_of_tensor(x: Any) -> tuple[int, ...] | None:
    """From one entry to the next along each axis of a tensor, in all lanes; None if it is not known."""
    if isinstance(x, np.ndarray):
        return x.strides
    x = x._tensor if isinstance(x, Face) else x
    steps = next(x._components())._steps()
    return None if steps is None else steps[len(steps) - x._spec.ndim :]


def giving_rows(function: Any) -> Any:
    """A function whose results are put in row-major order."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return in_rows(function(*args, **kwargs))

    return call


def giving(how: str) -> Any:
    """For a function whose results lie so."""

    def giving_so(function: Any) -> Any:
        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            return laid(function(*args, **kwargs), how, (*args, *kwargs.values()))

        return call

    return giving_so


def steps_of(tensor: Tensor) -> tuple[int, ...]:
    """Bytes from one entry to the next along each axis of a plain tensor."""
    strides: tuple[int, ...] = np.asarray(tensor._data).strides
    return strides


def lie(tensor: Tensor, order: Order) -> None:
    """Put the memory of a plain tensor that was just made in an order of its axes; its record holds what it holds."""
    old = tensor._data
    if type(old) is not np.ndarray or lies_in(old, order):
        return
    new = tensor._data = copied_in(order, old)
    node = tensor._node
    if type(node) is not int:
        return
    wengert = list_of(node)
    with wengert.still():
        rows = wengert.rows
        for handle in _saving(wengert.record(node), node, wengert):
            place = wengert.locate(handle) * WIDTH + ZV
            saved = rows[place]
            if saved is old:
                rows[place] = new
            elif type(saved) is tuple:
                rows[place] = tuple([new if value is old else value for value in saved])


def _saving(row: list[Any], node: int, wengert: Any) -> tuple[int, ...]:
    """The records that may hold a result: its own, and that of the op of which it is one of several."""
    return (node, row[X]) if row[OP] == OUTPUT.code and wengert.owns(row[X]) else (node,)
