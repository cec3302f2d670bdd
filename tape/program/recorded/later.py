"""Large arrays of a function that is being recorded: they are computed when somebody looks at one, which is rare.

A recorded list is run right after it was recorded, so what its large arrays hold is computed there, in kernels
that keep none of the arrays in between.  While it is recorded, it is enough to know shapes and dtypes.  They follow
from the op where that works element by element, views or sums; of any other op one example is evaluated, on ones, and
what it gave holds for all operands of the same shapes and dtypes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import lru_cache
from itertools import repeat
from typing import Any

import numpy as np

from ops import Op
from ops.core.axis_order import Order, order_without_gaps
from ops.core.own import is_own
from ops.core.registry import OPS
from ops.shapes.index import is_basic

from ...base.locks import new_lock
from ...base.spec import Spec, spec, spec_of
from ...numpy.arrays.memory_order import lying_as
from ...recording.recorder import apart, forward_of
from .fingerprint import key_of

LARGE = 1 << 18
"""Bytes from which on an array is computed later."""
LARGE_INPUT = 1 << 14
"""So is what comes of an argument of so many bytes: a loop that changes it would keep an array for each round."""
SMALL = 1 << 31
"""Whole numbers of Python's below this have room in every dtype that is computed later, whatever they are."""
REDUCTIONS = {"spread", "average"}
"""How the adjoints of sums and means move."""


class Later:
    """A large array; NumPy does not take it.

    Attributes:
        value: the array, if it is known.
        ordered: whether it is known to lie in row-major order.
        strides: how it lies if that is known and is another order, or has gaps.
        like: an array that lies in memory as it does once it is known, if that is not as the op gives it.
    """

    __slots__ = ("like", "ordered", "spec", "strides", "value")
    __array_ufunc__ = None

    def __init__(self, spec: Spec, value: Any = None, ordered: bool = False):
        self.spec, self.value, self.ordered, self.like = spec, value, ordered, None
        self.strides: tuple[int, ...] | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        return self.spec.shape

    @property
    def dtype(self) -> Any:
        return self.spec.dtype


def later(value: Any) -> Any:
    """A value of a list: large arrays of floating-point numbers or truth values as such."""
    return _from(value, LARGE)


def later_input(value: Any) -> Any:
    """An argument: an array of some size as one that is computed later, and so whatever comes of it."""
    return _from(value, min(LARGE, LARGE_INPUT))


def _from(value: Any, least: int) -> Any:
    if type(value) is not np.ndarray or value.nbytes < least or value.dtype.kind not in "fcb":
        return value
    return Later(spec_of(value), value, value.flags.c_contiguous)


def given_now(op: Op, values: Sequence[Any], params: dict[str, Any]) -> Any:
    """What an op gives of values that are all known."""
    return unheld(evaluated(op, values, params))


def unheld(value: Any) -> Any:
    """What an op gave of small values, or picked out of several: a large array is not kept, as it can be made again."""
    found = later(value)
    if found is not value and value.base is None:
        found.value, found.strides = None, None if found.ordered else value.strides
    return found


def is_later(value: Any) -> bool:
    """Whether a value, or one of several that a record gives, is not known yet."""
    if type(value) is tuple:
        return any(map(is_later, value))
    return type(value) is Later and value.value is None


def value_of(value: Any) -> Any:
    """A value of a list; None if it is computed later and was not yet."""
    if type(value) is tuple:
        return tuple(map(value_of, value))
    return value.value if type(value) is Later else value


def lying(value: Any) -> Any:
    """An array that lies in memory as a value of a list does, whatever it holds; None if that is not known."""
    if type(value) is Later and value.value is None:
        if is_ordered(value):
            return np.empty(value.shape, value.dtype)
        return value.like if value.strides is None else lying_as(value.shape, value.dtype, value.strides)
    return value_of(value)


def strides_of(value: Any) -> tuple[int, ...] | None:
    """The strides of a value of a list, None if they are not known."""
    if type(value) is Later and value.value is None:
        if value.ordered:
            return _in_order(None, value.shape, value.dtype)
        return value.strides if value.like is None else value.like.strides
    return np.asarray(value_of(value)).strides


@lru_cache(1 << 10)
def _in_order(order: Order, shape: tuple[int, ...], dtype: Any) -> tuple[int, ...]:
    """The strides of an array that lies in an order of its axes."""
    strides, step = [0] * len(shape), dtype.itemsize
    for k in reversed(order or range(len(shape))):
        strides[k], step = step, step * shape[k]
    return tuple(strides)


def lies_alike(value: Any, other: Any) -> bool:
    """Whether two values of one shape lie in memory alike, or the second in a way that is not known."""
    if len(np.shape(value)) < 2 or np.shape(value) != np.shape(other):
        return True
    if is_ordered(value) and is_ordered(other):
        return True
    value, other = lying(value), lying(other)
    if value is None or other is None:
        return value is other
    return bool(value.strides == np.empty_like(other, value.dtype).strides)


def laid(value: Any, other: Any) -> Any:
    """A value that lies in memory as another array does, or will lie so once it is known."""
    if not is_later(value):
        return later(_laid(value_of(value), other))
    made = Later(value.spec, None, other.flags.c_contiguous)
    made.like = other
    return made


def put_in_order(value: Any, order: Order) -> Any:
    """A value that lies in memory in an order of its axes, or will lie so once it is known."""
    strides = _in_order(order, value.shape, value.dtype)
    outline = np.lib.stride_tricks.as_strided(np.empty(1, value.dtype), value.shape, strides)  # has no memory
    return laid(value, outline)


def _laid(value: np.ndarray, other: np.ndarray) -> np.ndarray:
    made = np.empty_like(other, value.dtype)
    made[...] = value
    return made


def order(value: Any) -> None:
    """Note of an array that is computed later that it lies in row-major order, as whoever made it has seen to."""
    if type(value) is Later:
        value.ordered = True


def evaluated(op: Op, values: Sequence[Any], params: dict[str, Any]) -> Any:
    """What an op gives of values, lying in memory as what eager execution makes does."""
    z = forward_of(op)(*values, **params)
    return apart(z, values) if not op.view and type(z) is np.ndarray and z.base is not None else z


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
    made.strides = None if order is None else _in_order(order, found.shape, found.dtype)
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


def layout_of(value: Later) -> Any:
    """What is known of how an array lies that is computed later."""
    known = value.like if value.value is None else value.value
    return value.ordered or (value.strides if known is None else known.strides)


def lying_like(part: Later) -> Later:
    """An array that is computed later, and of which is known what is known of another one."""
    made = Later(part.spec, None, part.ordered)
    made.strides = part.strides
    return made


def element_of(value: Any) -> Later | None:
    """One element of an array that is computed later, or a copy of such an element; None of any other value."""
    if type(value) is not Later or value.spec.dtype.kind not in "fcb":
        return None
    return Later(spec((), value.spec.dtype), None, is_ordered(value))


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


def is_ordered(value: Any) -> bool:
    """Whether an operand is known to lie in row-major order."""
    if type(value) is Later:
        return value.ordered or not value.spec.ndim
    return not isinstance(value, np.ndarray) or value.flags.c_contiguous


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


MOST = 1 << 28
"""Bytes of computed arrays that are kept, because the next look may need them; others are computed again."""


class Computing:
    """The large arrays of a recording that were computed.

    Attributes:
        most: so many bytes are kept at least; more while one look needs them.
        now, peak: the bytes of those that are kept, and the most that ever were.
    """

    def __init__(self, most: int = MOST):
        self.most = most
        self.now = self.peak = 0
        self._kept: deque[tuple[int, Any]] = deque()

    def value(self, trace: Any, row: int) -> Any:
        """What a record gave, and before that whatever it needs."""
        last, waiting = _needed(trace, row)
        values = trace.values
        for k in sorted(waiting):
            numbers, params = waiting[k]
            z = evaluated(OPS[trace.code(k)], [value_of(values[j]) for j in numbers], params)
            x = values[k]
            values[k] = tuple(map(self._known, repeat(k), x, z)) if type(x) is tuple else self._known(k, x, z)
            if self.now > self.most:
                self._let_go(last, k)
        return value_of(values[row])

    def _known(self, k: int, x: Later, z: Any) -> Any:
        """What stands for a value from now on: the array itself if it takes little, else what may let go of it again.

        The spec of what is waited for is known to others.
        """
        x.value = z = z if x.like is None else _laid(z, x.like)
        if z.nbytes < LARGE_INPUT and z.base is None:
            return z
        if z.base is None:
            self.now += z.nbytes
            self.peak = max(self.peak, self.now)
        self._kept.append((k, x))
        return x

    def _let_go(self, last: dict[int, int], now: int) -> None:
        """Forget the oldest values, unless what is computed now needs them, until few enough are kept."""
        for _ in range(len(self._kept)):
            k, x = self._kept.popleft()
            if last.get(k, -1) > now or k == now:
                self._kept.append((k, x))
                continue
            self.now -= _owned(x.value)
            x.value = None
            if self.now <= self.most:
                return


def _needed(trace: Any, row: int) -> tuple[dict[int, int], dict[int, tuple[Sequence[int], dict[str, Any]]]]:
    """By record that a record needs, the last of them that takes it; and what those take that are to be computed."""
    values, last, waiting = trace.values, {row: row}, [row]
    found: dict[int, tuple[Sequence[int], dict[str, Any]]] = {}
    while waiting:
        k = waiting.pop()
        found[k] = trace.arguments(k)
        for j in found[k][0]:
            if j not in last and is_later(values[j]):
                waiting.append(j)
            if last.get(j, -1) < k:
                last[j] = k
    return last, found


def _owned(value: Any) -> int:
    """Bytes of an array, none if it looks at another one's."""
    return value.nbytes if isinstance(value, np.ndarray) and value.base is None else 0
