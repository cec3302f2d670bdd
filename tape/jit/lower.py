"""Lowering: rows of the list, latest first, become steps of a straight-line program.

Only rows whose adjoint something contributed to are touched, so what the output does not depend
on costs one look at a word.  Lowering returns when the chunk of steps is full or when it needs
Python: for a leaf's memory, a kernel that was never used before, or a record with no kernel.
"""

from __future__ import annotations

from ..row import OP, PARAMS, SPEC, XV, X
from .address import get, load_f64, load_word, put, store_f32, store_f64
from .broadcast import FULL as EVERY
from .broadcast import block_stride, cut, element_stride
from .compiled import entry, inner
from .layout import SCALAR_VALUE, TYPE
from .objects import field, int_value, is_small, locate, owned
from .slots import claim, find_leaf, find_slot, free_position, rounded, slot_at, slot_of, spec_row
from .state import (
    ABSENT, ADDRESS, ARENA_END, ARENA_NEXT, AVERAGE, BLOCK, BLOCKS, CAPACITY, CHUNK, CONSTANT, COUNT, DONE, ELEMENTS,
    FIRST_OWN, FLAG_TABLE, FLOAT_TYPE, FRESH, FULL, G, INT_TYPE, KERNEL, KERNEL_TABLE, KIND, LANES, LEADS, LEAF, LENGTH,
    MEMORY, MODE, MOTION, NEEDS, NONE, OP_COUNT, OP_TABLE, OP_WORDS, OTHER, OUT, PATTERNS, PENDING, PLAIN, POSITION, PYTHON,
    RELEASED, REQUEST, RUN_TABLE, RUNS, SAME, SCALED, SIZE, SLOT_LIMIT, SLOTS, STEP_WORDS, STEPS, STOP, STOPPING,
    STOPS, STORE, SUM, TARGETED, TUPLE_ITEMS,
)  # fmt: skip
from .state import XV as STEP_XV
from .values import readable, value_address, value_size

GO = -1
PARTS = 3


@inner
def fact(state, code, word):  # type: ignore[no-untyped-def]
    """What is known of an op."""
    return get(get(state, OP_TABLE) + 8 * OP_WORDS * code, word)


@inner
def wanted(state, ref, before):  # type: ignore[no-untyped-def]
    """Whether an operand's adjoint is of use."""
    if ref == get(state, NONE):
        return False
    if not get(state, TARGETED):
        return True
    if owned(state, ref):
        return get(get(state, FLAG_TABLE), locate(state, ref, before)) & LEADS != 0
    return load_word(ref + TYPE) == get(state, INT_TYPE) or find_leaf(state, ref) >= 0


@inner
def number_of(state, position, value):  # type: ignore[no-untyped-def]
    """The plain number that stands in for an operand without a saved value, or NONE."""
    params = field(state, position, PARAMS)
    return params if value == get(state, NONE) and load_word(params + TYPE) == get(state, FLOAT_TYPE) else value


@inner
def check_values(state, position, needs, size, kind):  # type: ignore[no-untyped-def]
    """Whether a kernel can read the values that a row's rules need."""
    for part in range(PARTS):
        if needs >> part & 1:
            value = field(state, position, XV + part)
            if part < 2:
                value = number_of(state, position, value)
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
    if motion == LANES:
        return True
    if motion == SAME:
        return size == target_size
    if motion == BLOCK:
        return size > 0 and target_size % size == 0
    return size == 1


@inner
def kernel_index(state, code, side, kind):  # type: ignore[no-untyped-def]
    """Which kernel an op's side uses: its own, or the shared ones that add and that scale."""
    motion = fact(state, code, MOTION)
    if motion == LANES:
        return FIRST_OWN + code * 4 + side * 2 + kind
    return SCALED + kind if motion == AVERAGE else PLAIN + kind


@inner
def steps_for(state, motion):  # type: ignore[no-untyped-def]
    """How many steps a row takes at most."""
    return 2 * get(state, BLOCKS) if motion == LANES else 2


@inner
def check(state, position):  # type: ignore[no-untyped-def]
    """Whether a row can be lowered now, and if not, why."""
    if get(state, STOPPING) and get(get(state, FLAG_TABLE), position) & STOPS:
        return STOP
    code = int_value(field(state, position, OP))
    motion = fact(state, code, MOTION) if code < get(state, OP_COUNT) else PYTHON
    if motion == PYTHON:
        return STOP
    spec = spec_row(state, field(state, position, SPEC))
    size, kind = get(spec, 0), get(spec, 1)
    if kind == OTHER:
        return STOP
    if motion == LANES and not cut(state, position, size):
        return STOP
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
    kernel = kernel_index(state, code, side, kind)
    if get(get(state, KERNEL_TABLE), kernel) == 0:
        put(state, REQUEST, kernel)
        return ABSENT, 0
    return GO, rounded(target_size, kind) if slot < 0 else 0


@inner
def block_index_holds(state, position, blocks):  # type: ignore[no-untyped-def]
    """Whether the index of a block is an int in range(blocks)."""
    index = load_word(field(state, position, PARAMS) + get(state, TUPLE_ITEMS))
    return load_word(index + TYPE) == get(state, INT_TYPE) and is_small(index) and int_value(index) < blocks


@inner
def block_index(state, position):  # type: ignore[no-untyped-def]
    """The index of a block."""
    return int_value(load_word(field(state, position, PARAMS) + get(state, TUPLE_ITEMS)))


@inner
def begin_step(state, kernel, size, out, mode):  # type: ignore[no-untyped-def]
    """Append a step; the address of its words."""
    step = get(state, STEPS) + 8 * STEP_WORDS * get(state, COUNT)
    put(state, COUNT, get(state, COUNT) + 1)
    put(step, KERNEL, get(get(state, KERNEL_TABLE), kernel))
    put(step, ELEMENTS, size)
    put(step, OUT, out)
    put(step, MODE, mode)
    return step


@inner
def put_input(step, word, address, stride):  # type: ignore[no-untyped-def]
    """Where a step finds one of its inputs."""
    put(step, word, address)
    put(step, word + 1, stride)


@inner
def put_constant(step, word, value, kind):  # type: ignore[no-untyped-def]
    """Give a step a number as one of its inputs, kept in the step itself."""
    address = step + 8 * CONSTANT
    if kind == 0:
        store_f64(address, value)
    else:
        store_f32(address, value)
    put_input(step, word, address, 0)


@inner
def put_values(state, step, position, needs, block, kind):  # type: ignore[no-untyped-def]
    """Write where a step finds the values of x, y and z in a block."""
    length, item = get(state, LENGTH), 8 >> kind
    for part in range(PARTS):
        if needs >> part & 1:
            value = field(state, position, XV + part)
            lies = EVERY
            if part < 2:
                value = number_of(state, position, value)
                lies = get(state, PATTERNS + part)
            if load_word(value + TYPE) == get(state, FLOAT_TYPE):
                put_constant(step, STEP_XV + 2 * part, load_f64(value + SCALAR_VALUE), kind)
            else:
                address = value_address(state, value) + block * block_stride(lies, length, item)
                put_input(step, STEP_XV + 2 * part, address, element_stride(lies, item))


@inner
def emit_lanes(state, position, code, side, own, target):  # type: ignore[no-untyped-def]
    """Append the steps that carry an elementwise row's adjoint, in slot `own`, to slot `target`."""
    g, x_bar = slot_at(state, own), slot_at(state, target)
    kind, length, lies = get(x_bar, KIND), get(state, LENGTH), get(state, PATTERNS + side)
    item = 8 >> kind
    mode = SUM if element_stride(lies, item) == 0 else 0
    kernel = kernel_index(state, code, side, kind)
    for block in range(get(state, BLOCKS)):
        first = block == 0 or block_stride(lies, length, item) != 0
        out = get(x_bar, ADDRESS) + block * block_stride(lies, length, item)
        step = begin_step(state, kernel, length, out, mode | (STORE if first and get(x_bar, FRESH) else 0))
        put_input(step, G, get(g, ADDRESS) + block * length * item, item)
        put_values(state, step, position, fact(state, code, NEEDS + side), block, kind)
    put(x_bar, FRESH, 0)


@inner
def emit_linear(state, position, code, side, own, target):  # type: ignore[no-untyped-def]
    """Append the steps that move a row's adjoint, in slot `own`, to slot `target` unchanged or scaled."""
    g, x_bar = slot_at(state, own), slot_at(state, target)
    motion, kind = fact(state, code, MOTION), get(x_bar, KIND)
    out, size, store, item = get(x_bar, ADDRESS), get(x_bar, SIZE), get(x_bar, FRESH), 8 >> kind
    put(x_bar, FRESH, 0)
    if motion == BLOCK:
        if store:
            put_constant(begin_step(state, PLAIN + kind, size, out, STORE), G, 0.0, kind)
        size, store = get(g, SIZE), 0
        out += block_index(state, position) * size * item
    step = begin_step(state, kernel_index(state, code, side, kind), size, out, STORE if store else 0)
    put_input(step, G, get(g, ADDRESS), item if get(g, SIZE) == size else 0)
    if motion == AVERAGE:
        put_constant(step, STEP_XV + 2, 1.0 / size, kind)


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


@entry
def finish(state):  # type: ignore[no-untyped-def]
    """The record at POSITION is done: give its slot back, note it, go on below."""
    position = get(state, POSITION)
    free_position(state, position)
    log_run(state, position)
    put(state, POSITION, position - 1)


@entry
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
        code = int_value(field(state, position, OP))
        for side in range(2):
            ref = field(state, position, X + side)
            if wanted(state, ref, position):
                target = claim(state, ref, position)
                if fact(state, code, MOTION) == LANES:
                    emit_lanes(state, position, code, side, own, target)
                else:
                    emit_linear(state, position, code, side, own, target)
        finish(state)
    return DONE
