"""Large arrays of a function that is being recorded: they are computed when somebody looks at one, which is rare.

A recorded list is run right after it was recorded, so what its large arrays hold is computed there, in kernels
that keep none of the arrays in between.  While it is recorded, it is enough to know shapes and dtypes (`.foreseen`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import lru_cache
from itertools import repeat
from typing import Any

import numpy as np

from ops import Op
from ops.core.axis_order import Order
from ops.core.registry import OPS

from ....base.spec import Spec, spec, spec_of
from ....numpy.arrays.memory_order import lying_as
from ....recording.recorder import apart, forward_of

LARGE = 1 << 18
"""Bytes from which on an array is computed later."""
LARGE_INPUT = 1 << 14
"""So is what comes of an argument of so many bytes: a loop that changes it would keep an array for each round."""


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
            return in_order(None, value.shape, value.dtype)
        return value.strides if value.like is None else value.like.strides
    return np.asarray(value_of(value)).strides


@lru_cache(1 << 10)
def in_order(order: Order, shape: tuple[int, ...], dtype: Any) -> tuple[int, ...]:
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
    strides = in_order(order, value.shape, value.dtype)
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


def is_ordered(value: Any) -> bool:
    """Whether an operand is known to lie in row-major order."""
    if type(value) is Later:
        return value.ordered or not value.spec.ndim
    return not isinstance(value, np.ndarray) or value.flags.c_contiguous


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
