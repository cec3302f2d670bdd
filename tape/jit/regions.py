"""What a plan consists of, and the block of memory that it is run in.

The block begins with the addresses of the regions that the program's memory lies in: the block itself, its data, its
workspace, then the arrays that the caller brings.  After them come the words of the plan; each that is an address is
given as a region and an offset, because the regions lie elsewhere in every call.
"""

from __future__ import annotations

BLOCK, DATA, WORK, BROUGHT = range(4)
"""The regions; those that the caller brings come last."""
(FIRST, WORDS, WORDS_AT, ADDRESSES, ADDRESSES_AT, STEPS, STEPS_AT, GUARDS, GUARDS_AT, DATA_BYTES) = range(10)
"""Words of a plan: where its words begin in the block, then how many there are of each thing and where."""
ALIGN = 64
"""The workspace begins at a multiple of so many bytes."""
BITS = 0
"""The kind of a guard that compares bytes; other kinds are the bytes of a floating-point number."""
GUARD_WORDS = 4
"""The address of what there is, the kind, how many numbers or bytes, the address of what was seen."""
