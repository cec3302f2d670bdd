"""The words that the jitted passes share, by name; what a step and a slot hold."""

from __future__ import annotations

# Where the rows are and how far lowering has come.
(ROWS, SHIFT, NUMBER, POSITION, PENDING, COUNT, REQUEST, RUNS, FREE_SLOT, SLOTS, SLOT_LIMIT, DROPPED,
 ARENA_NEXT, ARENA_END, LEAVES, LEAF_MASK, TARGETED, STOPPING) = range(18)  # fmt: skip
# Addresses of the tables that they work on.
(STEPS, SLOT_TABLE, SLOT_OF, LEAF_TABLE, RUN_TABLE, FLAG_TABLE, SPEC_TABLE, OP_TABLE, OP_COUNT,
 KERNEL_TABLE) = range(18, 28)  # fmt: skip
# Addresses of the types and descriptors that an operand may have, and offsets into objects.
(NONE, TENSOR_TYPE, INT_TYPE, TUPLE_TYPE, ARRAY_TYPE, FLOAT_TYPE, FLOAT64_TYPE, FLOAT32_TYPE,
 FLOAT64_DESCR, FLOAT32_DESCR, TUPLE_ITEMS, TENSOR_SPEC, SPEC_INDEX, SPEC_SHAPE) = range(28, 42)  # fmt: skip
# How the result of the row being lowered is cut into blocks (see `tape.jit.sweeps.broadcast`); CUT is the
# position of the row for which the cut was worked out, because its operands differ in shape.
BLOCKS, LENGTH, CUT, PATTERNS = 42, 43, 44, 45
# How far the number of digits is shifted in an int: of all that is known of objects what differs between versions of
# Python has to stand here, as the code is compiled for all of them.
DIGIT_SHIFT = 48
# Free slots by size: CLASS_BYTES[k] is a size, CLASS_HEAD[k] the first free slot of that size.
CLASS_BYTES, CLASS_HEAD, MAX_CLASSES = 64, 128, 64
STATE_WORDS = 192

# A step is one call of a kernel: out (=, +=) the kernel's formula in g, x, y, z.  Each value has an
# address and the bytes from one element to the next: its own size, or 0 for a repeated scalar.
# MODE has two bits: whether the output is overwritten, and whether it is one number, the sum.  SOURCE is
# four times the position of the record, plus 2 for a matrix product, plus 1 for float32.
(KERNEL, ELEMENTS, OUT, MODE, G, G_STRIDE, XV, XV_STRIDE, YV, YV_STRIDE, ZV, ZV_STRIDE,
 CONSTANT, SOURCE) = range(14)  # fmt: skip
STEP_WORDS = 14
STEP_BYTES = 8 * STEP_WORDS
# A step of a matrix product has its own words after MODE: strides are in bytes, ELEMENTS are rows.
LEFT, LEFT_ROW, LEFT_COLUMN, RIGHT, RIGHT_ROW, RIGHT_COLUMN, INNER, COLUMNS = range(4, 12)
MOST_PRODUCTS = 1 << 13
STORE, SUM = 1, 2
CHUNK = 1024

# A slot is an adjoint under construction.  NEXT links free slots; ADOPTED says that its memory is
# an array that Python made.
ADDRESS, BYTES, SIZE, KIND, FRESH, NEXT, ADOPTED = range(7)
SLOT_WORDS = 8

OTHER = 2  # a slot's KIND where it is neither float64 (0) nor float32 (1)

# What is known of an op, by opcode: how its adjoint moves, and which values each side needs.
MOTION, NEEDS = 0, 1
OP_WORDS = 3

# Kernels by number: two that many ops share, then four for each opcode (side, kind).
PLAIN = 0  # out += g
SCALED = 2  # out += g y
PRODUCT = 4  # out += left right, matrices
FIRST_OWN = 6

# Flags of a row, where there are targets or hooks.
VISITED, LEADS, STOPS = 1, 2, 4


# How an op's adjoint reaches its operands (MOTION).
PYTHON = 0  # through its rule, in Python
LANES = 1  # element by element, through lane kernels
SPREAD = 2  # x̄ += g for every element of x: a sum
AVERAGE = 3  # x̄ += g / n for every element of x: a mean
SAME = 4  # x̄ += g in the same order: a reshape, a copy
BLOCK = 5  # x̄[i] += g at an integer index along the first axis
MATRIX = 6  # x̄ += g yᵀ and ȳ += xᵀ g, small matrices

# Why lowering returned.
DONE = 0
FULL = 1  # the chunk is full: run it
STOP = 2  # the record at POSITION is propagated in Python
LEAF = 3  # operand REQUEST of the record at POSITION is not a record of this list and has no slot yet
MEMORY = 4  # the arena is used up: REQUEST more bytes are wanted
CAPACITY = 5  # more slots are wanted
ABSENT = 6  # kernel REQUEST is wanted for the first time
RELEASED = 7  # a value that the record at POSITION needs was released
SHAPES = 8  # the operands of the record at POSITION differ in shape: cut its result into blocks
MATRICES = 9  # the record at POSITION is a matrix product

GO = -1  # not a reason: the row can be lowered
PARTS = 3  # x, y and z: the values that a row may hold

# How an operand lies in a result (see `tape.jit.sweeps.broadcast`).
EVERY, TILE, REPEAT, SCALAR, NO_PATTERN = range(5)
