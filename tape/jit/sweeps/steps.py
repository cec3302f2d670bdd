"""Steps: calls of kernels that carry the adjoint of a row to its operands, in blocks where shapes differ.

The patterns of blocks are explained in `tape.jit.sweeps.broadcast`, which finds them; here it is seen whether operands
differ in shape.
"""

from __future__ import annotations

from ...base.row import PARAMS, XV, X
from .address import get, load_f64, load_word, put, store_f32, store_f64
from .jitting import inner
from ..machine.object_layout import SCALAR_VALUE, TYPE
from .objects import field, int_value, is_small
from .slots import slot_at
from ..machine.state import (
    ADDRESS, AVERAGE, BLOCK, BLOCKS, CONSTANT, COUNT, ELEMENTS, EVERY, FIRST_OWN, FLOAT_TYPE, FRESH, INT_TYPE,
    KERNEL, KERNEL_TABLE, KIND, LANES, LENGTH, MATRIX, MODE, MOTION, NEEDS, NONE, OP_TABLE, OP_WORDS, OUT, PARTS,
    PATTERNS, PLAIN, POSITION, PRODUCT, SCALED, SIZE, SOURCE, STEP_WORDS, STEPS, STORE, SUM, TUPLE_ITEMS,
    XV as STEP_XV, G,
)  # fmt: skip
from .values import value_address
from ...base.row import SPEC
from .objects import locate, owned
from .slots import spec_row
from ..machine.state import ARRAY_TYPE, REPEAT, SCALAR, TENSOR_SPEC, TENSOR_TYPE, TILE
from .values import array_size


@inner
def spec_of_ref(state, ref, before):  # type: ignore[no-untyped-def]
    """The spec object of an operand, or NONE."""
    if owned(state, ref):
        return field(state, locate(state, ref, before), SPEC)
    if load_word(ref + TYPE) == get(state, TENSOR_TYPE):
        return load_word(ref + get(state, TENSOR_SPEC))
    return get(state, NONE)


@inner
def operand_size(state, position, side):  # type: ignore[no-untyped-def]
    """Number of elements of an operand, −1 if it cannot be told."""
    ref, value = field(state, position, X + side), field(state, position, XV + side)
    if load_word(value + TYPE) == get(state, ARRAY_TYPE):
        return array_size(value)
    if ref == get(state, NONE) or value != get(state, NONE):
        return 1
    spec = spec_of_ref(state, ref, position)
    return get(spec_row(state, spec), 0) if spec != get(state, NONE) else -1


@inner
def uncut(state, position, size):  # type: ignore[no-untyped-def]
    """Whether one block will do: each operand has an element for each of the result's, or one for all."""
    for side in range(2):
        n = operand_size(state, position, side)
        if n != size and n != 1:
            return False
        put(state, PATTERNS + side, EVERY if n == size else SCALAR)
    put(state, LENGTH, size)
    put(state, BLOCKS, 1)
    return True


@inner
def pattern_size(state, side):  # type: ignore[no-untyped-def]
    """Number of elements of an operand that lies as the cut says: not so if its ``.data`` was replaced."""
    kind = get(state, PATTERNS + side)
    size = get(state, LENGTH) if kind == EVERY or kind == TILE else 1
    return size * get(state, BLOCKS) if kind == EVERY or kind == REPEAT else size


@inner
def block_stride(kind, length, item):  # type: ignore[no-untyped-def]
    """Bytes from an operand's part in one block to its part in the next."""
    return length * item if kind == EVERY else item if kind == REPEAT else 0


@inner
def element_stride(kind, item):  # type: ignore[no-untyped-def]
    """Bytes from one element of an operand to the next within a block."""
    return item if kind == EVERY or kind == TILE else 0


@inner
def fact(state, code, word):  # type: ignore[no-untyped-def]
    """What is known of an op."""
    return get(get(state, OP_TABLE) + 8 * OP_WORDS * code, word)


@inner
def operand_value(state, position, side):  # type: ignore[no-untyped-def]
    """The saved value of an operand, or the plain number that the record has in its place, or NONE."""
    value, params = field(state, position, XV + side), field(state, position, PARAMS)
    absent = value == get(state, NONE) and field(state, position, X + side) == get(state, NONE)
    return params if absent and load_word(params + TYPE) == get(state, FLOAT_TYPE) else value


@inner
def kernel_index(state, code, side, kind):  # type: ignore[no-untyped-def]
    """Which kernel an op's side uses: its own, or the shared ones that add and that scale."""
    motion = fact(state, code, MOTION)
    if motion == LANES:
        return FIRST_OWN + code * 4 + side * 2 + kind
    if motion == MATRIX:
        return PRODUCT + kind
    return SCALED + kind if motion == AVERAGE else PLAIN + kind


@inner
def begin_step(state, kernel, size, out, mode):  # type: ignore[no-untyped-def]
    """Append a step; the address of its words."""
    step = get(state, STEPS) + 8 * STEP_WORDS * get(state, COUNT)
    put(state, COUNT, get(state, COUNT) + 1)
    put(step, KERNEL, get(get(state, KERNEL_TABLE), kernel))
    put(step, ELEMENTS, size)
    put(step, OUT, out)
    put(step, MODE, mode)
    put(step, SOURCE, get(state, POSITION) << 2 | (2 if kernel >> 1 == PRODUCT >> 1 else 0) | kernel & 1)
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
            value = operand_value(state, position, part) if part < 2 else field(state, position, XV + part)
            lies = get(state, PATTERNS + part) if part < 2 else EVERY
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
def block_index_holds(state, position, blocks):  # type: ignore[no-untyped-def]
    """Whether the index of a block is an int in range(blocks)."""
    index = load_word(field(state, position, PARAMS) + get(state, TUPLE_ITEMS))
    return (
        load_word(index + TYPE) == get(state, INT_TYPE) and is_small(state, index) and int_value(state, index) < blocks
    )


@inner
def block_index(state, position):  # type: ignore[no-untyped-def]
    """The index of a block."""
    return int_value(state, load_word(field(state, position, PARAMS) + get(state, TUPLE_ITEMS)))
