"""Running a whole program within jitted code: its block of memory is linked, then its kernels are called in order.

A plan says how (see `tape.jit.machine.regions`).
"""

from __future__ import annotations

from collections.abc import Callable

from .address import (
    call, get, load_byte, load_f64, load_u32, load_word, put, store_byte, store_f64, store_u32,
)  # fmt: skip
from .jitting import inner
from .numbers import C64, C128, F32, NumberKind
from ..machine.regions import (
    ADDRESSES, ADDRESSES_AT, ALIGN, BLOCK, DATA, DATA_BYTES, FIRST, REFUSED, STEPS, STEPS_AT, WORDS, WORDS_AT, WORK,
)  # fmt: skip


@inner
def run(block, plan):  # type: ignore[no-untyped-def]
    """Run a plan in a block, up to a step that refuses."""
    first, words = get(plan, FIRST), get(plan, WORDS_AT)
    count = get(plan, WORDS)
    put(block, BLOCK, block)
    put(block, DATA, block + 8 * (first + count))
    put(block, WORK, (block + 8 * (first + count) + get(plan, DATA_BYTES) + ALIGN - 1) // ALIGN * ALIGN)
    put(block, REFUSED, 0)
    for k in range(count):
        put(block, first + k, get(words, k))
    addresses = get(plan, ADDRESSES_AT)
    for k in range(0, 3 * get(plan, ADDRESSES), 3):
        put(block, get(addresses, k), get(block, get(addresses, k + 1)) + get(addresses, k + 2))
    steps = get(plan, STEPS_AT)
    for k in range(0, 2 * get(plan, STEPS), 2):
        call(get(steps, k), block + get(steps, k + 1))
        if get(block, REFUSED) != 0:
            return


def link(step):  # type: ignore[no-untyped-def]
    """Tell words where a region is: how many, the block, the number of the region, then each word and its offset."""
    block = get(step, 1)
    base = get(block, get(step, 2))
    for k in range(3, 3 + 2 * get(step, 0), 2):
        put(block, get(step, k), base + get(step, k + 1))


@inner
def move_bytes(to, source, count):  # type: ignore[no-untyped-def]
    """Copy bytes."""
    whole = count // 8
    for k in range(whole):
        put(to, k, load_word(source + 8 * k))
    for k in range(8 * whole, count):
        store_byte(to + k, load_byte(source + k))


def copy(step):  # type: ignore[no-untyped-def]
    """Copies: how many, then for each to where, from where, and how many bytes."""
    for k in range(1, 3 * get(step, 0), 3):
        move_bytes(get(step, k), get(step, k + 1), get(step, k + 2))


def move(step):  # type: ignore[no-untyped-def]
    """z[i] = x[j] for pairs of i and j: how many, bytes of an element, where z, x, the i and the j are."""
    size, z, x, to, source = get(step, 1), get(step, 2), get(step, 3), get(step, 4), get(step, 5)
    if size == 8:
        for k in range(get(step, 0)):
            put(z, get(to, k), get(x, get(source, k)))
    elif size == 4:
        for k in range(get(step, 0)):
            store_u32(z + 4 * get(to, k), load_u32(x + 4 * get(source, k)))
    else:
        for k in range(get(step, 0)):
            move_bytes(z + size * get(to, k), x + size * get(source, k), size)


def repeat(step):  # type: ignore[no-untyped-def]
    """Steps again and again: how often, how many steps and how many words that move; then for each step its kernel and
    where its words are, and for each word where it is and how many bytes further on the next round finds it.

    All words are in the end as they were.
    """
    times, steps, words = get(step, 0), step + 24, step + 24 + 16 * get(step, 1)
    end = words + 16 * get(step, 2)
    for _ in range(times):
        for at in range(steps, words, 16):
            call(load_word(at), load_word(at + 8))
        for at in range(words, end, 16):
            put(load_word(at), 0, load_word(load_word(at)) + load_word(at + 8))
    for at in range(words, end, 16):
        put(load_word(at), 0, load_word(load_word(at)) - times * load_word(at + 8))


PIECE = 128
"""So many numbers are added one after another; sums of pieces are added to one another, which rounds less."""


def sum_f64(step):  # type: ignore[no-untyped-def]
    """zᵢ = Σⱼ xⱼ / n over the j of i: how many i, where z and x are, where the j of each i begin, the j, and n.

    The last word says whether the sums begin with 0.0: one of nothing but −0.0 is 0.0 then.
    """
    z, x, first, places, n = get(step, 1), get(step, 2), get(step, 3), get(step, 4), get(step, 5)
    nothing = 0.0 if get(step, 6) else -0.0
    for i in range(get(step, 0)):
        begin, end = get(first, i), get(first, i + 1)
        total = load_f64(x + 8 * get(places, begin)) + nothing if end > begin else 0.0
        for piece in range(begin + 1, end, PIECE):
            part = 0.0
            for k in range(piece, min(piece + PIECE, end)):
                part += load_f64(x + 8 * get(places, k))
            total += part
        store_f64(z + 8 * i, total / n)


def _summing(number: NumberKind) -> Callable[[int], None]:
    """The same for other dtypes, summed in double precision."""
    item, load, store, zero = number
    negative = -zero

    def sums(step):  # type: ignore[no-untyped-def]
        z, x, first, places, n = get(step, 1), get(step, 2), get(step, 3), get(step, 4), get(step, 5)
        nothing = zero if get(step, 6) else negative
        for i in range(get(step, 0)):
            begin, end = get(first, i), get(first, i + 1)
            total = zero
            if end > begin:
                total = load(x + item * get(places, begin)) + nothing
            for k in range(begin + 1, end):
                total += load(x + item * get(places, k))
            store(z + item * i, total / n)

    return sums


sum_f32, sum_c128, sum_c64 = _summing(F32), _summing(C128), _summing(C64)
