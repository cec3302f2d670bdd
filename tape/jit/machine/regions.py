"""What a plan consists of, and the block of memory that it is run in.

The block begins with the addresses of the regions that the program's memory lies in: the block itself, its data, its
workspace, a flag that a step raises when it refuses its operands, then what comes from outside: arrays that the caller
brings, and those that Python makes on the way.  After them come the words of the plan; each that is an address is
given as a region and an offset, because the regions lie elsewhere in every block.
"""

from __future__ import annotations

BLOCK, DATA, WORK, REFUSED, BROUGHT = range(5)
"""The regions, and the flag; those that the caller brings come last."""
(FIRST, WORDS, WORDS_AT, ADDRESSES, ADDRESSES_AT, STEPS, STEPS_AT, DATA_BYTES) = range(8)
"""Words of a plan: where its words begin in the block, then how many there are of each thing and where."""
ALIGN = 64
"""The workspace begins at a multiple of so many bytes."""
