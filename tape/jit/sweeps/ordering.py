"""Steps that put the elements along an axis in order, or find some of them; nan comes after all numbers.

Their words are those of `tape.jit.sweeps.strided`, where z is for whole numbers; x is gone through along the
first axis.
"""

from __future__ import annotations

from collections.abc import Callable
from math import copysign
from typing import Any

import numpy as np

from .address import get, load_byte, load_f32, load_f64, load_u32, put, store_u32
from .jitting import inner
from .numbers import C64, C128, F32, F64, NumberKind
from .strided import AXES, ITEM, NDIM, by_rows

FEW = 16
"""So many elements are put in order by insertion."""
KEYS = 256
"""So many keys are looked for together."""
CROWD = 16
"""Where more values are in one drawer, keys are looked for by halves."""


def _before(descending: bool) -> Any:
    """Whether a comes before b: nan last, or, where the order is descending, first."""
    if descending:
        return inner(lambda a, b: a > b or (a != a and b == b))
    return inner(lambda a, b: a < b or (a == a and b != b))


UP, DOWN = _before(False), _before(True)


def _order(load: Any, before: Any) -> Callable[[int], None]:
    """The positions of the elements in their order, equal ones as they stand.

    In the place of the bytes of a number is where there is memory for twice as many whole numbers as a row has
    elements; after the counters comes a flag that is raised if two elements are equal, 0 where that does not matter,
    and whether it is raised only where these are zeros of different signs.
    """

    @inner
    def insert(at, first, last, x, x_step):  # type: ignore[no-untyped-def]
        for i in range(first, last):
            value, j = load(x + i * x_step), i
            while j > first and before(value, load(x + get(at, j - 1) * x_step)):
                put(at, j, get(at, j - 1))
                j -= 1
            put(at, j, i)

    @inner
    def merge(source, to, first, middle, last, x, x_step):  # type: ignore[no-untyped-def]
        i, j = first, middle
        for k in range(first, last):
            left = i < middle
            if left and j < last:
                left = not before(load(x + get(source, j) * x_step), load(x + get(source, i) * x_step))
            if left:
                put(to, k, get(source, i))
                i += 1
            else:
                put(to, k, get(source, j))
                j += 1

    @inner
    def sort_row(at, n, x, x_step):  # type: ignore[no-untyped-def]
        other = at + 8 * n
        for first in range(0, n, FEW):
            insert(at, first, min(first + FEW, n), x, x_step)
        width = FEW
        while width < n:
            for first in range(0, n, 2 * width):
                merge(at, other, first, min(first + width, n), min(first + 2 * width, n), x, x_step)
            at, other = other, at
            width *= 2
        return at

    @inner
    def order(step, n, z, z_step, x, x_step):  # type: ignore[no-untyped-def]
        behind = AXES + 4 * get(step, NDIM)
        found, flag, alike = sort_row(get(step, ITEM), n, x, x_step), get(step, behind), get(step, behind + 1)
        for k in range(n):
            put(z + k * z_step, 0, get(found, k))
            if flag != 0 and k > 0:
                a, b = load(x + get(found, k - 1) * x_step), load(x + get(found, k) * x_step)
                if not before(a, b) and (alike == 0 or (a == 0 and copysign(1.0, a) != copysign(1.0, b))):
                    put(flag, 0, 1)

    return by_rows(order)


def _first(load: Any, before: Any) -> Callable[[int], None]:
    """The position of the first element that no other comes before; of the first nan where there is one."""

    @inner
    def first(_step, n, z, _z_step, x, x_step):  # type: ignore[no-untyped-def]
        place, best = 0, load(x)
        for k in range(1, n):
            value = load(x + k * x_step)
            if best == best and (value != value or before(value, best)):
                place, best = k, value
        put(z, 0, place)

    return by_rows(first)


def _running(load: Any, before: Any) -> Callable[[int], None]:
    """For each element the position of the extreme so far, the last one where several are equal."""

    @inner
    def run(_step, n, z, z_step, x, x_step):  # type: ignore[no-untyped-def]
        place, best = 0, load(x)
        for k in range(n):
            value = load(x + k * x_step)
            if value != value or (best == best and not before(best, value)):
                place, best = k, value
            put(z + k * z_step, 0, place)

    return by_rows(run)


def _recurrence(number: NumberKind) -> Callable[[int], None]:
    """z[k] += x[k] z[k − 1] along the first axis."""
    load, store = number.load, number.store

    @inner
    def recur(_step, n, z, z_step, x, x_step):  # type: ignore[no-untyped-def]
        for k in range(1, n):
            at = z + k * z_step
            store(at, load(at) + load(x + k * x_step) * load(at - z_step))

    return by_rows(recur)


order_f64, order_f32 = _order(load_f64, UP), _order(load_f32, UP)
order_down_f64, order_down_f32 = _order(load_f64, DOWN), _order(load_f32, DOWN)
least_f64, least_f32 = _first(load_f64, UP), _first(load_f32, UP)
greatest_f64, greatest_f32 = _first(load_f64, DOWN), _first(load_f32, DOWN)
least_so_far_f64, least_so_far_f32 = _running(load_f64, UP), _running(load_f32, UP)
greatest_so_far_f64, greatest_so_far_f32 = _running(load_f64, DOWN), _running(load_f32, DOWN)
recurrence_f64, recurrence_f32 = _recurrence(F64), _recurrence(F32)
recurrence_c128, recurrence_c64 = _recurrence(C128), _recurrence(C64)


def truths(step):  # type: ignore[no-untyped-def]
    """Where truth values are true: how many values, where they are, for how many places there is room, and where, the
    places along each axis after those along the one before; how many axes, and how long each is.

    Whoever counts them tells that there are as many; where there are fewer, places are 0.
    """
    n, x, room, z, ndim = get(step, 0), get(step, 1), get(step, 2), get(step, 3), get(step, 4)
    found = 0
    for k in range(n):
        if load_byte(x + k) != 0 and found < room:
            place = k
            for axis in range(ndim - 1, -1, -1):
                put(z, room * axis + found, place % get(step, 5 + axis))
                place //= get(step, 5 + axis)
            found += 1
    for k in range(found, room):
        for axis in range(ndim):
            put(z, room * axis + k, 0)


@inner
def in_order(n, x):  # type: ignore[no-untyped-def]
    """Whether an array is in order, and has no nan."""
    ordered = load_f64(x) == load_f64(x)
    for k in range(n - 1):
        ordered &= load_f64(x + 8 * k) <= load_f64(x + 8 * k + 8)
    return ordered


@inner
def behind(value, key, after):  # type: ignore[no-untyped-def]
    """1 where a key belongs behind a value that is not nan, else 0; nan belongs behind all."""
    return np.int64(not key < value) if after else np.int64(not value >= key)


@inner
def search_ordered(n, x, z, y, after, count):  # type: ignore[no-untyped-def]
    """Where keys belong in an array in order: a step of each of their searches, then the next of each.

    So none waits for another, and no branch depends on them.
    """
    for k in range(count):
        put(z, k, 0)
    while n > 1:
        half = n >> 1
        at = x + 8 * half - 8
        for k in range(count):
            low = get(z, k)
            put(z, k, low + half * behind(load_f64(at + 8 * low), load_f64(y + 8 * k), after))
        n -= half
    for k in range(count):
        low = get(z, k)
        put(z, k, low + behind(load_f64(x + 8 * low), load_f64(y + 8 * k), after))


@inner
def search_each(n, x, z, y, after, count):  # type: ignore[no-untyped-def]
    """Where keys belong, as `np.searchsorted` looks for them from NumPy 2.5 on, also where the array is in no order."""
    for k in range(count):
        key = load_f64(y + 8 * k)
        low, left = 0, n
        while left > 0:
            half = left >> 1
            value = load_f64(x + 8 * (low + half))
            if (not UP(key, value)) if after else UP(value, key):
                low += half or 1
            left = left - half if half else 0
        put(z, k, low)


@inner
def search_in_turn(n, x, z, y, after, count):  # type: ignore[no-untyped-def]
    """The same as NumPy looked for them before: a key begins where the one before it was found."""
    low, high = 0, n
    last = load_f64(y)
    for k in range(count):
        key = load_f64(y + 8 * k)
        if (not UP(key, last)) if after else UP(last, key):
            high = n
        else:
            low = 0
            high = high + 1 if high < n else n
        last = key
        while low < high:
            middle = low + ((high - low) >> 1)
            value = load_f64(x + 8 * middle)
            if (not UP(key, value)) if after else UP(value, key):
                low = middle + 1
            else:
                high = middle
        put(z, k, low)


@inner
def drawer(value, first, scale, last):  # type: ignore[no-untyped-def]
    """In which of the drawers a number is: never in one before that of a lesser number; nan is in the last."""
    at = (value - first) * scale
    if at < last:
        return np.int64(at) if at > 0.0 else 0
    return last


@inner
def fill_drawers(n, x, at, scale, last):  # type: ignore[no-untyped-def]
    """Where the values of each drawer begin in an array in order, and where the last ones end; the most in one."""
    first, made, most, alike = load_f64(x), 0, 0, 0
    for k in range(n):
        own = drawer(load_f64(x + 8 * k), first, scale, last)
        alike = 1 if own >= made else alike + 1
        most = max(most, alike)
        while made <= own:
            store_u32(at + 4 * made, k)
            made += 1
    while made <= last + 1:
        store_u32(at + 4 * made, n)
        made += 1
    return most


@inner
def search_drawers(x, z, y, after, count, at, scale, last):  # type: ignore[no-untyped-def]
    """Where keys belong in an array in order: all drawers before a key's are before it, all behind are behind it."""
    first = load_f64(x)
    for k in range(count):
        key = load_f64(y + 8 * k)
        own = at + 4 * drawer(key, first, scale, last)
        low = load_u32(own)
        for j in range(low, load_u32(own + 4)):
            low += behind(load_f64(x + 8 * j), key, after)
        put(z + 8 * k, 0, low)


@inner
def scale_of(n, x, last):  # type: ignore[no-untyped-def]
    """How many drawers there are for a difference of 1; 0 where drawers do not fit what is in the array."""
    span = load_f64(x + 8 * n - 8) - load_f64(x)
    scale = last / span if 0.0 < span < np.inf else 0.0
    return scale if scale < np.inf else 0.0


def search(step):  # type: ignore[no-untyped-def]
    """Where numbers belong in an array: how long it is, where it is, how many numbers, where z and they are, and
    whether after equal ones; whether NumPy looks for each by itself; how many drawers there is memory
    for, and where."""
    n, x, count, z, y, after = get(step, 0), get(step, 1), get(step, 2), get(step, 3), get(step, 4), get(step, 5)
    last, at = get(step, 7) - 1, get(step, 8)
    if n == 0 or 2 * count < n or not in_order(n, x):
        if get(step, 6):
            search_each(n, x, z, y, after, count)
        else:
            search_in_turn(n, x, z, y, after, count)
        return
    scale = scale_of(n, x, last) if last > 0 else 0.0
    if scale > 0.0 and fill_drawers(n, x, at, scale, last) <= CROWD:
        if after:
            search_drawers(x, z, y, 1, count, at, scale, last)
        else:
            search_drawers(x, z, y, 0, count, at, scale, last)
        return
    for k in range(0, count, KEYS):
        if after:
            search_ordered(n, x, z + 8 * k, y + 8 * k, 1, min(KEYS, count - k))
        else:
            search_ordered(n, x, z + 8 * k, y + 8 * k, 0, min(KEYS, count - k))
