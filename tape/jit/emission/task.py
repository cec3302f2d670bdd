"""What a fused kernel has to compute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from .segments import Loop

HEADER = 7
FIRST, END, COUNT, WORKSPACE, FIRST_BLOCK, END_BLOCK, SIZE = range(HEADER)
"""Words of a kernel's table; after them the addresses of its inputs, then of its outputs.

What a kernel goes through are blocks of COUNT elements; in each block it goes through the vectors from FIRST to END.
SIZE is of how many elements a mean is taken, whatever part of them the kernel goes through.  So no length stands in the
code: rows that grow from step to step have one kernel.
"""

IN_ORDER = 8
"""Fewer elements, of a row or of all of an array, are added one after the other, as NumPy adds them."""
OF_SHORT_ROWS = ("sum of short rows", "mean of short rows")
"""Sums of so few elements that they are added one after the other, as NumPy does."""
OF_ROWS = ("sum of rows", "mean of rows", *OF_SHORT_ROWS)
OF_FEW = ("sum of few", "mean of few")
"""Sums of all elements, which are so few."""
SUMS = ("sum", "mean", *OF_FEW, *OF_ROWS)
OF_COLUMNS = "sum of columns"


@dataclass(frozen=True)
class Input:
    """A value that a kernel reads.

    It has an element for ``every`` place, or the same elements in each block (``tile``), or one number for
    each block (``repeat``), or is ``one`` number, at an offset in elements.  Or its blocks are ``rows`` that lie
    anywhere, or consist of runs of elements (``runs n``) and of zeros: then two addresses of the table belong together,
    of the memory, and of what is said of each block (see `tape.program.plans.shifted`).  Or its elements lie at equal
    distances (``strided``): then the second word is that distance in bytes.
    """

    kind: int
    lies: str
    offset: int = 0
    memory: int = 0
    """Which address of the table it is read from."""


@dataclass(frozen=True)
class Output:
    """A value that a kernel writes: ``each`` element, the ``one`` number (at an offset), or the ``sum`` or ``mean``, of
    all elements (``of few`` in order) or ``of rows``, one for each block; or it is added to the ``sum of columns`` in
    memory that is zero at first: then two words of the table belong together, the memory, and after how many blocks it
    begins anew.
    """

    value: int
    how: str
    offset: int = 0
    memory: int = 0


@dataclass(frozen=True)
class KernelTask:
    """What a fused kernel computes.

    Values are numbered: first the inputs, then the constants, then the results of the rows.

    Attributes:
        bits: 64 or 32.
        many: whether it runs over several elements; how many those are, its table says.
        inputs, constants: what the first values are.
        codes: by row, which op.
        operands: three numbers of values for each row, −1 for none.
        loops: rows that are iterations of one body.
        outputs: what is written.
    """

    bits: int
    many: bool
    inputs: Sequence[Input]
    constants: Sequence[float | bool]
    codes: np.ndarray
    operands: np.ndarray
    loops: Sequence[Loop]
    outputs: Sequence[Output]

    @property
    def given(self) -> int:
        """How many values come from outside."""
        return len(self.inputs) + len(self.constants)

    def sources(self) -> np.ndarray:
        """The given values as a plan is told of them: kind, memory, offset."""
        ways = sorted({(x.kind, x.lies) for x in self.inputs})
        words = [(ways.index((x.kind, x.lies)), x.memory, x.offset) for x in self.inputs]
        return np.array(words + [(-1, 0, 0)] * len(self.constants), dtype=np.int64).reshape(-1, 3)

    def sinks(self) -> np.ndarray:
        """The outputs in the same words; of a sum it is the accumulator that counts."""
        sums = accumulate(output.how in SUMS for output in self.outputs)
        words = [
            (2, n - 1, 0)
            if output.how in SUMS
            else ({"each": 1, OF_COLUMNS: -1}.get(output.how, 0), output.memory, output.offset)
            for output, n in zip(self.outputs, sums)
        ]
        return np.array(words, dtype=np.int64).reshape(-1, 3)
