"""What an op will give of large arrays that are computed later: shapes, dtypes, and how the results lie in memory.

They follow from the op where that works element by element, views or sums; of any other op one example is evaluated, on
ones, and what it gave holds for all operands of the same shapes and dtypes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ops import Op
from ops.core.axis_order import Order, order_without_gaps
from ops.core.own import is_own
from ops.shapes.index import is_basic

from ....base.locks import new_lock
from ....base.spec import Spec, spec, spec_of
from .fingerprint import key_of
from .later import Later, evaluated, in_order, is_ordered, lying, strides_of

SMALL = 1 << 31
"""Whole numbers of Python's below this have room in every dtype that is computed later, whatever they are."""
REDUCTIONS = {"spread", "average"}
"""How the adjoints of sums and means move."""


def foreseen(op: Op, values: Sequence[Any], params: dict[str, Any]) -> Any:
    """What an op gives of values of which some are computed later; None if that cannot be told, or is no such array.

    Raises:
        ValueError: if the shapes do not fit.
    """
    if op.broadcasts:
        return _broadcast(op, values, params)
    with np.errstate(all="ignore"):
        if op.is_view(params):
            return _viewed(op, values, params)
        if op.hints.motion in REDUCTIONS:
            found = op.forward(*map(_repeated, values), **params)
        elif op.kind == "linear" and "shape" in op.params and all(hasattr(v, "dtype") for v in values):
            return Later(spec(tuple(params["shape"]), np.result_type(*(v.dtype for v in values))), None, True)
        else:
            return _chosen(op, values, params) or _written(op, values, params) or _by_example(op, values, params)
    if not isinstance(found, (np.ndarray, np.generic)) or found.dtype.kind not in "fcb":
        return None
    return _laid_by_example(op, values, params, spec_of(found))


def _viewed(op: Op, values: Sequence[Any], params: dict[str, Any]) -> Any:
    """What a view of an array looks like: of one in row-major order it is known how it lies in memory, too."""
    looks = list(map(lying, values))
    known = all(x is not None for x in looks)
    found = op.forward(*(looks if known else map(_repeated, values)), **params)
    if isinstance(found, (tuple, list)):
        return tuple([_lying_so(z, known) for z in found])
    if not isinstance(found, (np.ndarray, np.generic)) or found.dtype.kind not in "fcb":
        return None
    return _lying_so(found, known)


def _lying_so(found: Any, known: bool) -> Later:
    """An array that is computed later, of which one like it was found; it lies so, too, if that is known."""
    made = Later(spec_of(found), None, known and found.flags.c_contiguous)
    if known and not made.ordered and isinstance(found, np.ndarray):
        made.strides = found.strides
    return made


def _broadcast(op: Op, values: Sequence[Any], params: dict[str, Any]) -> Later | None:
    """What an op that works element by element gives: its dtype is found on one element, once for operands alike."""
    key = None if params else (op, *[v.spec if type(v) is Later else _kind_of(v) for v in values])
    known = None if key is None or None in key else _EXAMPLES.get(key)
    if known is None:
        with np.errstate(all="ignore"):
            one = op.forward(*map(_one, values), **params)
        if not isinstance(one, (np.ndarray, np.generic)) or one.dtype.kind not in "fcb":
            return None
        found = spec(np.broadcast_shapes(*map(np.shape, values)), one.dtype)
        known = found, any(np.shape(v) == found.shape for v in values)
        if key is not None and None not in key:
            _keep(key, known)
    found, has_shape = known
    if not found.shape or (has_shape and all(map(is_ordered, values))):
        return Later(found, None, True)
    return _laid_by_example(op, values, params, found)


def of_pair(op: Op, x: Any, y: Any) -> Any:
    """`foreseen` of two operands of an op without parameters: what is known of others alike is looked up at once."""
    kinds = x.spec if type(x) is Later else _kind_of(x), y.spec if type(y) is Later else _kind_of(y)
    known = _EXAMPLES.get((op, *kinds)) if op.broadcasts else None
    if known is None:
        return foreseen(op, (x, y), {})
    found, has_shape = known
    if not found.shape or (has_shape and is_ordered(x) and is_ordered(y)):
        return Later(found, None, True)
    return _laid_by_example(op, (x, y), {}, found)


def _laid_by_example(op: Op, values: Sequence[Any], params: dict[str, Any], found: Spec) -> Later:
    """An array that is computed later by an op that works along each axis alike, however long that is.

    It lies as what the op gives of short arrays whose axes lie in the same order.
    """
    looks = [_short(v) for v in values]
    if len(found.shape) < 2 or any(x is None for x in looks):
        return Later(found, None, len(found.shape) < 2)
    return _laid_so(found, order_without_gaps(op.forward(*looks, **params)))


def _laid_so(found: Spec, order: Order) -> Later:
    """An array that is computed later, and lies in an order of its axes."""
    made = Later(found, None, order is None)
    made.strides = None if order is None else in_order(order, found.shape, found.dtype)
    return made


def _short(value: Any) -> Any:
    """An array of ones with axes of length 2 in the place of longer ones, in the same order; None if that is not known.

    What has no axes is itself.
    """
    shape = np.shape(value)
    if not shape:
        return _ones(value)
    strides = strides_of(value)
    steps = [abs(step) for step, n in zip(strides or (), shape) if step and n > 1]
    if strides is None or len(set(steps)) < len(steps):
        return None
    return _short_of(tuple([min(n, 2) for n in shape]), tuple(strides), value.dtype)


@lru_cache(1 << 10)
def _short_of(shape: tuple[int, ...], strides: tuple[int, ...], dtype: Any) -> np.ndarray:
    order = sorted(range(len(shape)), key=lambda k: -abs(strides[k]))
    moving = [shape[k] if strides[k] else 1 for k in order]
    ones = np.ones(moving, dtype).transpose(np.argsort(order))
    turned = ones[tuple([slice(None, None, -1 if step < 0 else 1) for step in strides])]
    return np.broadcast_to(turned, shape)


def _kind_of(value: Any) -> Any:
    """Of a known operand, what decides dtype and shape of what is computed element by element; None if numbers may."""
    kind = type(value)
    if kind is float or (kind is int and abs(value) < SMALL):
        return kind
    return spec_of(value) if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "fcb" else None


def part_at(value: Later, index: Any) -> Later | None:
    """What is at an index of integers and slices of an array that is computed later; None if that cannot be told."""
    if value.dtype.kind not in "fcb":
        return None
    try:
        look = lying(value)
        found = (_repeated(value) if look is None else look)[index]
    except IndexError:
        return None
    return _lying_so(found, look is not None)


def _chosen(op: Op, values: Sequence[Any], params: dict[str, Any]) -> Later | None:
    """A vector of the elements that an index of arrays or masks chooses from an array that takes no memory."""
    if op.hints.part is None or op.arity != 1 or type(values[0]) is not Later:
        return None
    found = op.forward(_repeated(values[0]), **params)
    return Later(spec_of(found), None, True) if isinstance(found, np.ndarray) and found.ndim == 1 else None


def _written(op: Op, values: Sequence[Any], params: dict[str, Any]) -> Later | None:
    """The array that something is put into, if it fits there and the place is made of integers and slices."""
    indices = op.part_of(params) if op.arity == 2 else None
    if indices is None or type(values[0]) is not Later or values[0].dtype.kind not in "fc":
        return None
    place = _repeated(Later(values[0].spec))
    for index in indices:
        place = place[index] if is_basic(index) else None
        if not isinstance(place, (np.ndarray, np.generic)):
            return None
    y = values[1]
    if type(y) is Later and y.dtype == values[0].dtype and y.shape == place.shape:
        return Later(values[0].spec, None, values[0].ordered)
    known = np.can_cast(getattr(y, "dtype", type(y)), values[0].dtype, "same_kind")
    fits = known and np.broadcast_shapes(np.shape(y), place.shape) == place.shape
    return Later(values[0].spec, None, values[0].ordered) if fits else None


_EXAMPLES: dict[Any, Any] = {}
"""By op, parameters and what is known of the operands: what one evaluation gave, and what keeps the key alive."""
_MOST_EXAMPLES = 4096
_lock = new_lock()


def _by_example(op: Op, values: Sequence[Any], params: dict[str, Any]) -> Any:
    """What an op gives of operands as these, found by evaluating it once on ones; None where numbers decide.

    An op that refuses ones is computed, and so is one of the user's own, about which nothing is promised.
    """
    if op.outputs < 1 or hasattr(op.batch, "measure") or is_own(op):
        return None
    known = [_known_of(v) for v in values]
    key = None if None in known else (op, key_of(op.code, params), *known)
    found = None if key is None else _EXAMPLES.get(key)
    if found is None:
        try:
            given = evaluated(op, list(map(_lying_ones, values)), params)
        except Exception:  # the numbers decide
            given = None
        found = _specs_of(given), params
        if key is not None:
            _keep(key, found)
    return _made_later(found[0], all(strides_of(v) is not None for v in values))


def _keep(key: Any, found: Any) -> None:
    """Remember what was found of an example."""
    with _lock:
        if len(_EXAMPLES) >= _MOST_EXAMPLES:
            _EXAMPLES.clear()
        _EXAMPLES[key] = found


def _known_of(value: Any) -> Any:
    """Of an operand, what decides the shape of the result; None if that is more than can be kept."""
    if type(value) is Later or (isinstance(value, np.ndarray) and value.dtype.kind in "fc"):
        return (value.spec if type(value) is Later else spec_of(value)), is_ordered(value) or strides_of(value)
    if isinstance(value, (np.ndarray, np.generic)):
        return spec_of(value) if value.dtype.kind in "fc" else None
    return type(value), repr(value)


def _specs_of(given: Any) -> Any:
    """The spec of an array, and its strides unless it is in row-major order; of several, a list; None for others."""
    if type(given) is tuple:
        found = [_specs_of(z) for z in given]
        return None if None in found else found
    if not isinstance(given, (np.ndarray, np.generic)) or given.dtype.kind not in "fcbiu":
        return None
    return spec_of(given), None if given.flags.c_contiguous else given.strides


def _made_later(found: Any, known: bool) -> Any:
    """Arrays that are computed later; as the examples do they lie if it is known how the operands do."""
    if type(found) is list:
        return tuple([_made_later(z, known) for z in found])
    if found is None:
        return None
    made = Later(found[0], None, known and found[1] is None)
    made.strides = found[1] if known else None
    return made


def _one(value: Any) -> Any:
    """A value with as many axes as another, and one element."""
    shape = np.shape(value)
    return np.ones((1,) * len(shape), value.dtype)[()] if shape or type(value) is Later else value


def _ones(value: Any) -> Any:
    """An array of ones that lies in row-major order, or a value that is known."""
    return np.ones(value.shape, value.dtype)[()] if type(value) is Later else value


def _lying_ones(value: Any) -> Any:
    """An array of ones that lies as a value does, or in row-major order where that is not known."""
    look = lying(value) if type(value) is Later else None
    return _ones(value) if look is None else np.full_like(look, 1, subok=False)


def _repeated(value: Any) -> Any:
    """An array of ones, or a value that is known; it takes no memory."""
    return _ones_of(value.shape, value.dtype) if type(value) is Later else value


@lru_cache(1 << 10)
def _ones_of(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """An array of ones that nobody can write to, and that takes no memory."""
    return np.broadcast_to(np.ones((), dtype), shape)
