"""Steps that read, write or add at places given by whole numbers, which come from memory.

Their words: bytes of a number, how many axes and how many arrays of numbers of places, where z and x are, how many
elements, the flag that is raised for a number out of range; for each array of numbers where it is, how long the axis is
that they are for, the bytes from one place to the next, and how far the array has been gone through; for each axis, the
outermost first, a counter, how many elements, and the bytes from one to the next in z, in x and in each array.
Counters are 0 before and after.
"""

from __future__ import annotations

from collections.abc import Callable

from .address import get, load_byte, load_u32, load_word, put, store_byte, store_u32
from .jitting import inner
from .numbers import C64, C128, F32, F64, NumberKind

ITEM, NDIM, ARRAYS, Z, X, COUNT, FLAG, HEAD = range(8)
READ, WRITE, ADD = range(3)
ARRAY, AXIS = 4, 4


@inner
def place_of(step):  # type: ignore[no-untyped-def]
    """How far the place that the numbers give is from the first; −1 if one is out of range."""
    place = 0
    for j in range(get(step, ARRAYS)):
        array = HEAD + ARRAY * j
        i, n = load_word(get(step, array) + get(step, array + 3)), get(step, array + 1)
        if i < 0:
            i += n
        if i < 0 or i >= n:
            return -1
        place += i * get(step, array + 2)
    return place


@inner
def advance(step, z, x, inner_axes):  # type: ignore[no-untyped-def]
    """Count one on along the axes but for so many inner ones; where z and x are then."""
    arrays = get(step, ARRAYS)
    width = AXIS + arrays
    first = HEAD + ARRAY * arrays
    for d in range(get(step, NDIM) - 1 - inner_axes, -1, -1):
        axis = first + width * d
        count = get(step, axis) + 1
        last = count >= get(step, axis + 1)
        by = 1 - count if last else 1
        put(step, axis, 0 if last else count)
        z += by * get(step, axis + 2)
        x += by * get(step, axis + 3)
        for j in range(arrays):
            offset = HEAD + ARRAY * j + 3
            put(step, offset, get(step, offset) + by * get(step, axis + AXIS + j))
        if not last:
            break
    return z, x


@inner
def move_number(to, source, item):  # type: ignore[no-untyped-def]
    """Copy a number."""
    if item % 8 == 0:
        for k in range(item // 8):
            put(to, k, get(source, k))
    elif item == 4:
        store_u32(to, load_u32(source))
    else:
        for k in range(item):
            store_byte(to + k, load_byte(source + k))


@inner
def within(i, n):  # type: ignore[no-untyped-def]
    """A number of a place along an axis of length n, counted from the first; −1 if it is out of range."""
    i = i + n if i < 0 else i
    return i if 0 <= i < n else -1


def _at_places(how: int, number: NumberKind) -> Callable[[int], None]:
    """One element after the other; nothing is done where a number is out of range, but the flag is raised.

    Where one or two arrays say the places, the innermost axis is gone through without counters; so are rows of
    elements that one array says the places of.
    """
    load, store = number.load, number.store

    @inner
    def do(z, x, place, item):  # type: ignore[no-untyped-def]
        if how == READ:
            move_number(z, x + place, item)
        elif how == WRITE:
            move_number(z + place, x, item)
        else:
            store(z + place, load(z + place) + load(x))

    @inner
    def rows(step, z, x, item):  # type: ignore[no-untyped-def]
        """The two innermost axes: rows of elements that lie side by side, each row at its place."""
        row = HEAD + ARRAY + (AXIS + 1) * (get(step, NDIM) - 2)
        axis = row + AXIS + 1
        count, z_step, x_step = get(step, axis + 1), get(step, axis + 2), get(step, axis + 3)
        z_row, x_row, step_on = get(step, row + 2), get(step, row + 3), get(step, row + AXIS)
        at, n, stride = get(step, HEAD) + get(step, HEAD + 3), get(step, HEAD + 1), get(step, HEAD + 2)
        for r in range(get(step, row + 1)):
            i = within(load_word(at + r * step_on), n)
            if i < 0:
                put(get(step, FLAG), 0, 1)
                continue
            to, source, place = z + r * z_row, x + r * x_row, i * stride
            for k in range(count):
                do(to + k * z_step, source + k * x_step, place, item)

    @inner
    def along(step, z, x, item):  # type: ignore[no-untyped-def]
        """The innermost axis, each element at its place."""
        axis = HEAD + ARRAY + (AXIS + 1) * (get(step, NDIM) - 1)
        z_step, x_step, step_on = get(step, axis + 2), get(step, axis + 3), get(step, axis + AXIS)
        at, n, stride = get(step, HEAD) + get(step, HEAD + 3), get(step, HEAD + 1), get(step, HEAD + 2)
        for k in range(get(step, axis + 1)):
            i = within(load_word(at + k * step_on), n)
            if i < 0:
                put(get(step, FLAG), 0, 1)
            else:
                do(z + k * z_step, x + k * x_step, i * stride, item)

    @inner
    def by_two(step, z, x, item):  # type: ignore[no-untyped-def]
        """The same where two arrays say the places."""
        other = HEAD + ARRAY
        axis = HEAD + 2 * ARRAY + (AXIS + 2) * (get(step, NDIM) - 1)
        z_step, x_step = get(step, axis + 2), get(step, axis + 3)
        i_step, j_step = get(step, axis + AXIS), get(step, axis + AXIS + 1)
        i_at, m, i_stride = get(step, HEAD) + get(step, HEAD + 3), get(step, HEAD + 1), get(step, HEAD + 2)
        j_at, n, j_stride = get(step, other) + get(step, other + 3), get(step, other + 1), get(step, other + 2)
        for k in range(get(step, axis + 1)):
            i, j = within(load_word(i_at + k * i_step), m), within(load_word(j_at + k * j_step), n)
            if i < 0 or j < 0:
                put(get(step, FLAG), 0, 1)
            else:
                do(z + k * z_step, x + k * x_step, i * i_stride + j * j_stride, item)

    @inner
    def each(step, z, x, item):  # type: ignore[no-untyped-def]
        """One element."""
        place = place_of(step)
        if place < 0:
            put(get(step, FLAG), 0, 1)
        else:
            do(z, x, place, item)

    @inner
    def all_of(step, item):  # type: ignore[no-untyped-def]
        arrays, ndim, z, x = get(step, ARRAYS), get(step, NDIM), get(step, Z), get(step, X)
        axis = HEAD + ARRAY * arrays + (AXIS + arrays) * (ndim - 1)  # the innermost
        in_rows = ndim > 1 and arrays == 1 and get(step, axis + AXIS) == 0
        inner_axes = 2 if in_rows else 1 if ndim > 0 and arrays < 3 else 0
        together = 1
        if inner_axes > 0:
            together = get(step, axis + 1)
        if inner_axes > 1:
            together *= get(step, axis - AXIS - arrays + 1)
        for _ in range(get(step, COUNT) // together):
            if in_rows:
                rows(step, z, x, item)
            elif inner_axes == 0:
                each(step, z, x, item)
            elif arrays == 1:
                along(step, z, x, item)
            else:
                by_two(step, z, x, item)
            z, x = advance(step, z, x, inner_axes)

    def go(step):  # type: ignore[no-untyped-def]
        if get(step, COUNT) == 0:
            return
        if get(step, ITEM) == 8:
            all_of(step, 8)
        else:
            all_of(step, get(step, ITEM))

    return go


read, write = _at_places(READ, F64), _at_places(WRITE, F64)
add_f64, add_f32 = _at_places(ADD, F64), _at_places(ADD, F32)
add_c128, add_c64 = _at_places(ADD, C128), _at_places(ADD, C64)
