"""Fused kernels: a run of elementwise records as LLVM code, a vector of lanes at a time.

The code is written as text, one line for each instruction, because a program may have a hundred
thousand of them.  What an op's lines are is taken from what `tape.jit.emission.emit` builds for it once; only
the names of the values are filled in here.
"""

from __future__ import annotations

from .kernel_functions import KernelFunction, Shared
from .lines import F
from .loop import BlockSum, loop_text, total_text
from .task import COUNT, HEADER, OF_FEW, OF_ROWS, OF_SHORT_ROWS, SIZE, KernelTask
from .vector_functions import WRITTEN_OUT

SHORT = 150
"""Code of so many lines is written twice, for vectors that are full and for others."""


class KernelWriter:
    """Writes the code of a kernel, ``kernel(step)``; word 1 of the step is the address of its table.

    Attributes:
        width: lanes of a vector.
        parted: whether full vectors are to have a loop of their own, if the code is short.
        workspace_bytes: what the kernel needs to work in, at an address that is a multiple of 64.
    """

    def __init__(self, task: KernelTask, width: int | None = None, parted: bool = False):
        self.task, self.shared, self.parted = task, Shared(task, width), parted
        self.width = self.shared.width

    @property
    def workspace_bytes(self) -> int:
        return self.shared.slot_bytes * (self.shared.plan.slots + 2 * len(self.shared.accumulators))

    def text(self) -> str:
        segments = self.shared.plan.segments
        functions = [KernelFunction(self.shared, len(segments) == 1) for _ in segments]
        texts = [f.text(k, s) for k, (f, s) in enumerate(zip(functions, segments))]
        short = len(texts) == 1 and texts[0].count("\n") <= SHORT and WRITTEN_OUT not in texts[0]
        main = self.main(functions, self.parted and short)
        return "\n".join([*self.shared.declared, *texts, main])

    def main(self, functions: list[KernelFunction], parted: bool) -> str:
        """The loop over all lanes."""
        shared = self.shared
        sums = [
            BlockSum(n, self.total(k, n), self.task.outputs[k].how in OF_ROWS) for k, n in shared.accumulators.items()
        ]
        offset = shared.slot_bytes * shared.plan.slots
        once, by_block = (functions[0].once.lines, functions[0].by_block.lines) if len(functions) == 1 else ([], [])
        words = [f.words for f in functions]
        type_, in_order = shared.types[F], shared.in_order
        return loop_text(self.width, type_, words, sums, offset, once, by_block, parted, in_order)

    def total(self, k: int, n: int) -> str:
        """The lines that write the sum or mean of an accumulator, at the end or after each block."""
        output, shared = self.task.outputs[k], self.shared
        name = f"llvm.vector.reduce.fadd.v{self.width}f{self.task.bits}"
        if self.width > 1:
            shared.declare(f"declare {shared.real} @{name}({shared.real}, {shared.types[F]})")
        of_rows = output.how in OF_ROWS
        divisor = (COUNT if of_rows else SIZE) if output.how.startswith("mean") else None
        element = "%block" if of_rows else str(output.offset)
        return total_text(
            k, shared.real, shared.types[F], n, name if self.width > 1 else None, divisor,
            HEADER + output.memory, element, output.how in OF_SHORT_ROWS + OF_FEW,
        )  # fmt: skip
