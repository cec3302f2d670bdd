"""Slots: where adjoints are summed up, found by operand, their memory used again."""

from __future__ import annotations

from ...base.row import SPEC
from .address import get, load_word, put
from .jitting import inner
from ..machine.object_layout import ARRAY_DATA
from .objects import field, int_value, locate, owned
from ..machine.state import (
    ADDRESS, ADOPTED, ARENA_NEXT, BYTES, CLASS_BYTES, CLASS_HEAD, DROPPED, FREE_SLOT, FRESH, KIND, LEAF_MASK,
    LEAF_TABLE, MAX_CLASSES, NEXT, NONE, NUMBER, OTHER, PENDING, POSITION, ROWS, SHIFT, SIZE, SLOT_OF, SLOT_TABLE,
    SLOT_WORDS, SLOTS, SPEC_INDEX, SPEC_TABLE,
)  # fmt: skip
from .values import array_size

ALIGN = 64


@inner
def slot_at(state, slot):  # type: ignore[no-untyped-def]
    """Address of a slot's words."""
    return get(state, SLOT_TABLE) + 8 * SLOT_WORDS * slot


@inner
def slot_of(state, position):  # type: ignore[no-untyped-def]
    """The slot of a record's adjoint, or −1."""
    return get(get(state, SLOT_OF), position) - 1


@inner
def spec_row(state, spec):  # type: ignore[no-untyped-def]
    """Address of the row (size, kind) of a spec object."""
    return get(state, SPEC_TABLE) + 16 * int_value(state, load_word(spec + get(state, SPEC_INDEX)))


@inner
def rounded(size, kind):  # type: ignore[no-untyped-def]
    """Bytes of an adjoint, in whole cache lines."""
    return (size * (8 >> kind) + ALIGN - 1) // ALIGN * ALIGN


@inner
def leaf_entry(state, ref):  # type: ignore[no-untyped-def]
    """Address of the entry (operand, slot) of an operand off this list, or of the free entry for it."""
    mask = get(state, LEAF_MASK)
    k = (ref >> 4) & mask
    while True:
        entry = get(state, LEAF_TABLE) + 16 * k
        if get(entry, 0) == ref or get(entry, 0) == 0:
            return entry
        k = (k + 1) & mask


@inner
def leaf_slot(state, ref):  # type: ignore[no-untyped-def]
    """Slot of an operand that is not a record of this list, or −1."""
    entry = leaf_entry(state, ref)
    return get(entry, 1) if get(entry, 0) else -1


def find_leaf(state, ref):  # type: ignore[no-untyped-def]
    """The same, for Python."""
    return leaf_slot(state, ref)


@inner
def size_class(state, nbytes):  # type: ignore[no-untyped-def]
    """The free list for blocks of that size, or −1 when there are too many sizes."""
    for k in range(MAX_CLASSES):
        known = get(state, CLASS_BYTES + k)
        if known == nbytes:
            return k
        if known < 0:
            put(state, CLASS_BYTES + k, nbytes)
            return k
    return -1


@inner
def bare_slot(state):  # type: ignore[no-untyped-def]
    """A slot without memory."""
    slot = get(state, FREE_SLOT)
    if slot >= 0:
        put(state, FREE_SLOT, get(slot_at(state, slot), NEXT))
        return slot
    slot = get(state, SLOTS)
    put(state, SLOTS, slot + 1)
    return slot


@inner
def new_slot(state, size, kind):  # type: ignore[no-untyped-def]
    """A slot with memory for an adjoint; the caller has seen to it that there is room."""
    nbytes = rounded(size, kind)
    k = size_class(state, nbytes)
    slot = get(state, CLASS_HEAD + k) if k >= 0 else -1
    if slot >= 0:
        words = slot_at(state, slot)
        put(state, CLASS_HEAD + k, get(words, NEXT))
    else:
        slot = bare_slot(state)
        words = slot_at(state, slot)
        put(words, ADDRESS, get(state, ARENA_NEXT))
        put(words, BYTES, nbytes)
        put(state, ARENA_NEXT, get(state, ARENA_NEXT) + nbytes)
    put(words, SIZE, size)
    put(words, KIND, kind)
    put(words, FRESH, 1)
    put(words, ADOPTED, 0)
    return slot


@inner
def free_slot(state, slot):  # type: ignore[no-untyped-def]
    """Give a slot back, its memory for adjoints of the same size."""
    words = slot_at(state, slot)
    if get(words, ADOPTED):
        put(words, NEXT, get(state, DROPPED))
        put(state, DROPPED, slot)
        return
    k = size_class(state, get(words, BYTES))
    if k >= 0:
        put(words, NEXT, get(state, CLASS_HEAD + k))
        put(state, CLASS_HEAD + k, slot)


@inner
def hold(state, position, slot):  # type: ignore[no-untyped-def]
    """A record's adjoint is in this slot from now on, and the record is to be visited."""
    put(get(state, SLOT_OF), position, slot + 1)
    put(state, PENDING, get(state, PENDING) + 1)


@inner
def free_position(state, position):  # type: ignore[no-untyped-def]
    """A record is done: its adjoint is not needed any more."""
    free_slot(state, slot_of(state, position))
    put(get(state, SLOT_OF), position, 0)
    put(state, PENDING, get(state, PENDING) - 1)


@inner
def find_slot(state, ref, before):  # type: ignore[no-untyped-def]
    """Position (−1 off this list), slot (−1 if none yet), size and kind of an operand's adjoint."""
    position = -1
    if owned(state, ref):
        position = locate(state, ref, before)
        slot = slot_of(state, position)
        if slot < 0:
            spec = field(state, position, SPEC)
            if spec == get(state, NONE):
                return position, slot, 0, OTHER
            row = spec_row(state, spec)
            return position, slot, get(row, 0), get(row, 1)
    else:
        slot = leaf_slot(state, ref)
        if slot < 0:
            return position, slot, 0, OTHER
    words = slot_at(state, slot)
    return position, slot, get(words, SIZE), get(words, KIND)


@inner
def claim(state, ref, before):  # type: ignore[no-untyped-def]
    """The slot of an operand, made if this is the first contribution to it."""
    position, slot, size, kind = find_slot(state, ref, before)
    if slot < 0:
        slot = new_slot(state, size, kind)
        hold(state, position, slot)
    return slot


def adopt(state, ref, position, array, kind, fresh):  # type: ignore[no-untyped-def]
    """A slot around an array that Python made, for a record (`position`) or another operand (−1).

    A result of another kind than float32 and float64 has a slot too, which no kernel reads.
    """
    slot = bare_slot(state)
    words = slot_at(state, slot)
    put(words, ADDRESS, load_word(array + ARRAY_DATA) if kind != OTHER else 0)
    put(words, BYTES, -1)
    put(words, SIZE, array_size(array) if kind != OTHER else 0)
    put(words, KIND, kind)
    put(words, FRESH, fresh)
    put(words, ADOPTED, 1)
    if position >= 0:
        hold(state, position, slot)
    else:
        entry = leaf_entry(state, ref)
        put(entry, 0, ref)
        put(entry, 1, slot)
    return slot


def begin(state, rows, shift, number, position):  # type: ignore[no-untyped-def]
    """Say which list is swept, and from where."""
    put(state, ROWS, rows)
    put(state, SHIFT, shift)
    put(state, NUMBER, number)
    put(state, POSITION, position)
