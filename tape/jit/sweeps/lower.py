"""Lowering: rows of the list, latest first, become steps of a straight-line program.

Only rows whose adjoint something contributed to are touched, so what the output does not depend
on costs one look at a word.  Lowering returns when the chunk of steps is full or when it needs
Python: for a leaf's memory, a kernel that was never used before, or a record with no kernel.
"""

from __future__ import annotations

from ...base.row import OP, SPEC, XV, X
from .address import get, load_word, put
from .steps import pattern_size, uncut
from .jitting import inner
from ..machine.object_layout import TYPE
from .objects import field, int_value, locate, owned
from .slots import claim, find_slot, free_position, leaf_slot, rounded, slot_of, spec_row
from ..machine.state import (
    ABSENT, ARENA_END, ARENA_NEXT, BLOCK, BLOCKS, CAPACITY, CHUNK, COUNT, CUT, DONE, FLAG_TABLE, FULL, GO, INT_TYPE,
    KERNEL_TABLE, LANES, LEADS, LEAF, MATRICES, MATRIX, MEMORY, MOTION, NEEDS, NONE, OP_COUNT, OTHER, PARTS,
    PENDING, POSITION, PYTHON, RELEASED, REQUEST, RUN_TABLE, RUNS, SAME, SHAPES, SLOT_LIMIT, SLOTS, STOP, STOPPING,
    STOPS, TARGETED,
)  # fmt: skip
from .steps import block_index_holds, emit_lanes, emit_linear, fact, kernel_index, operand_value
from .values import readable, value_size


@inner
def wanted(state, ref, before):  # type: ignore[no-untyped-def]
    """Whether an operand's adjoint is of use."""
    if ref == get(state, NONE):
        return False
    if not get(state, TARGETED):
        return True
    if owned(state, ref):
        return get(get(state, FLAG_TABLE), locate(state, ref, before)) & LEADS != 0
    return load_word(ref + TYPE) == get(state, INT_TYPE) or leaf_slot(state, ref) >= 0


@inner
def check_values(state, position, needs, size, kind):  # type: ignore[no-untyped-def]
    """Whether a kernel can read the values that a row's rules need."""
    for part in range(PARTS):
        if needs >> part & 1:
            value = operand_value(state, position, part) if part < 2 else field(state, position, XV + part)
            if value == get(state, NONE):
                return RELEASED
            if not readable(state, value, kind):
                return STOP
            if part == 2 and value_size(state, value) != size:
                return STOP
    return GO


@inner
def moves(motion, size, kind, target_size, target_kind):  # type: ignore[no-untyped-def]
    """Whether an adjoint of one size can reach an operand of another by this motion."""
    if kind != target_kind:
        return False
    if motion == LANES or motion == MATRIX:
        return True
    if motion == SAME:
        return size == target_size
    if motion == BLOCK:
        return size > 0 and target_size % size == 0
    return size == 1


@inner
def steps_for(state, motion):  # type: ignore[no-untyped-def]
    """How many steps a row takes at most."""
    return 2 * get(state, BLOCKS) if motion == LANES else 2


@inner
def check(state, position):  # type: ignore[no-untyped-def]
    """Whether a row can be lowered now, and if not, why."""
    if get(state, STOPPING) and get(get(state, FLAG_TABLE), position) & STOPS:
        return STOP
    code = int_value(state, field(state, position, OP))
    motion = fact(state, code, MOTION) if code < get(state, OP_COUNT) else PYTHON
    if motion == PYTHON:
        return STOP
    spec = spec_row(state, field(state, position, SPEC))
    size, kind = get(spec, 0), get(spec, 1)
    if kind == OTHER:
        return STOP
    if motion == LANES and size == 0:
        return STOP
    if motion == LANES and get(state, CUT) != position and not uncut(state, position, size):
        return SHAPES
    if get(state, COUNT) + steps_for(state, motion) > CHUNK:
        return FULL
    needs, room = 0, 0
    for side in range(2):
        ref = field(state, position, X + side)
        if wanted(state, ref, position):
            status, bytes_ = check_side(state, position, code, side, ref, size, kind)
            if status != GO:
                return status
            room += bytes_
            needs |= fact(state, code, NEEDS + side)
    if room > get(state, ARENA_END) - get(state, ARENA_NEXT):
        put(state, REQUEST, room)
        return MEMORY
    if get(state, SLOTS) + 2 > get(state, SLOT_LIMIT):
        return CAPACITY
    return check_values(state, position, needs, size, kind)


@inner
def check_side(state, position, code, side, ref, size, kind):  # type: ignore[no-untyped-def]
    """Whether a row's adjoint can be carried to one operand, and the bytes that takes."""
    where, slot, target_size, target_kind = find_slot(state, ref, position)
    if where < 0 and slot < 0:
        put(state, REQUEST, side)
        return LEAF, 0
    motion = fact(state, code, MOTION)
    if not moves(motion, size, kind, target_size, target_kind):
        return STOP, 0
    if motion == BLOCK and not block_index_holds(state, position, target_size // size):
        return STOP, 0
    if motion == LANES and target_size != pattern_size(state, side):
        return STOP, 0
    kernel = kernel_index(state, code, side, kind)
    if get(get(state, KERNEL_TABLE), kernel) == 0:
        put(state, REQUEST, kernel)
        return ABSENT, 0
    return GO, rounded(target_size, kind) if slot < 0 else 0


@inner
def log_run(state, position):  # type: ignore[no-untyped-def]
    """Note that a row was consumed, as part of a run [start, stop) of neighbours."""
    n = get(state, RUNS)
    last = get(state, RUN_TABLE) + 16 * (n - 1)
    if n > 0 and get(last, 0) == position + 1:
        put(last, 0, position)
    else:
        put(last, 2, position)
        put(last, 3, position + 1)
        put(state, RUNS, n + 1)


@inner
def leave(state):  # type: ignore[no-untyped-def]
    """Give the slot of the record at POSITION back, and go on below."""
    free_position(state, get(state, POSITION))
    put(state, POSITION, get(state, POSITION) - 1)


@inner
def consume(state):  # type: ignore[no-untyped-def]
    """The record at POSITION is done: note it, and leave it."""
    log_run(state, get(state, POSITION))
    leave(state)


def finish(state):  # type: ignore[no-untyped-def]
    """The record at POSITION, which Python has propagated, is done."""
    consume(state)


def abandon(state):  # type: ignore[no-untyped-def]
    """The record at POSITION is not consumed: a target that leads no further."""
    leave(state)


def lower(state):  # type: ignore[no-untyped-def]
    """Lower rows from POSITION downwards until done or until Python is needed; says which."""
    while get(state, PENDING) > 0:
        position = get(state, POSITION)
        own = slot_of(state, position)
        if own < 0:
            put(state, POSITION, position - 1)
            continue
        status = check(state, position)
        if status != GO:
            return status
        code = int_value(state, field(state, position, OP))
        if fact(state, code, MOTION) == MATRIX:
            return MATRICES
        for side in range(2):
            ref = field(state, position, X + side)
            if wanted(state, ref, position):
                target = claim(state, ref, position)
                if fact(state, code, MOTION) == LANES:
                    emit_lanes(state, position, code, side, own, target)
                else:
                    emit_linear(state, position, code, side, own, target)
        consume(state)
    return DONE
