"""Steps that read, write or add at places given by whole numbers, which come from memory.

Their words: bytes of a number, how many axes and how many arrays of numbers of places, where z and x are, how many
elements, the flag that is raised for a number out of range; for each array of numbers where it is, how long the axis is
that they are for, the bytes from one place to the next, and how far the array has been gone through; for each axis, the
outermost first, a counter, how many elements, and the bytes from one to the next in z, in x and in each array.
Counters are 0 before and after.
"""

from __future__ import annotations

from collections.abc import Callable

from ..machine.address import get, load_byte, load_word, put, store_byte
from ..machine.jitting import inner
from ..machine.numbers import C64, C128, F32, F64, NumberKind

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
    else:
        for k in range(item):
            store_byte(to + k, load_byte(source + k))


def _at_places(how: int, number: NumberKind) -> Callable[[int], None]:
    """One element after the other; nothing is done where a number is out of range, but the flag is raised.

    Where one array says the places, the innermost axis is gone through without counters.
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
    def same_place(count, z, z_step, x, x_step, place, item):  # type: ignore[no-untyped-def]
        """A row of elements at one place."""
        for k in range(count):
            do(z + k * z_step, x + k * x_step, place, item)

    @inner
    def along(step, count, z, z_step, x, x_step, at, step_on, n, stride, item):  # type: ignore[no-untyped-def]
        """A row of elements, each at its place."""
        for k in range(count):
            i = load_word(at + k * step_on)
            i = i + n if i < 0 else i
            if i < 0 or i >= n:
                put(get(step, FLAG), 0, 1)
            else:
                do(z + k * z_step, x + k * x_step, i * stride, item)

    @inner
    def by_rows(step, z, x, item):  # type: ignore[no-untyped-def]
        axis = HEAD + ARRAY + (AXIS + 1) * (get(step, NDIM) - 1)
        count, z_step, x_step, step_on = (
            get(step, axis + 1), get(step, axis + 2), get(step, axis + 3), get(step, axis + AXIS)
        )  # fmt: skip
        numbers, n, stride = get(step, HEAD), get(step, HEAD + 1), get(step, HEAD + 2)
        for _ in range(get(step, COUNT) // count):
            at = numbers + get(step, HEAD + 3)
            if step_on == 0:
                place = place_of(step)
                if place < 0:
                    put(get(step, FLAG), 0, 1)
                elif item == 8:
                    same_place(count, z, z_step, x, x_step, place, 8)
                else:
                    same_place(count, z, z_step, x, x_step, place, item)
            elif item == 8:
                along(step, count, z, z_step, x, x_step, at, step_on, n, stride, 8)
            else:
                along(step, count, z, z_step, x, x_step, at, step_on, n, stride, item)
            z, x = advance(step, z, x, 1)

    def go(step):  # type: ignore[no-untyped-def]
        z, x, item = get(step, Z), get(step, X), get(step, ITEM)
        if get(step, ARRAYS) == 1 and get(step, NDIM) > 0 and get(step, COUNT) > 0:
            by_rows(step, z, x, item)
            return
        for _ in range(get(step, COUNT)):
            place = place_of(step)
            if place < 0:
                put(get(step, FLAG), 0, 1)
            else:
                do(z, x, place, item)
            z, x = advance(step, z, x, 0)

    return go


read, write = _at_places(READ, F64), _at_places(WRITE, F64)
add_f64, add_f32 = _at_places(ADD, F64), _at_places(ADD, F32)
add_c128, add_c64 = _at_places(ADD, C128), _at_places(ADD, C64)
