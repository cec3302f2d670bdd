"""The interpreter: runs of scalar records without compiling anything for them.

An instruction is five 32-bit words: what to do, the place of the result, the places of up to three
operands.  Places are numbers in one array of values.  The interpreter is compiled once for all
programs, from the lanes that the ops declare; it is straight-line code for each op, and each op's
code ends with the jump to the next one's.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ops.core.registry import OPS
from ops import Op
from ops.core.lane import Same

from ...base.locks import once
from .lines import B, Code, has_lane, operand_kinds, result_kind
from ..machine.machine_code import compile_kernel

END, LOAD, STORE, FIRST_OP = 0, 1, 2, 3
"""LOAD puts number ``y`` at address ``x`` of the table into a place; STORE is its converse."""
INSTRUCTION = 5
CODE, VALUES, HEADER = 0, 1, 2
"""Words of the table: where the instructions and the values are; after them the addresses."""


@cache
def interpreted_ops(count: int) -> list[Op]:
    """The ops that have an instruction, in the order of their numbers, of so many that were declared."""
    return [op for op in OPS[:count] if has_lane(op) and not isinstance(op.lane, Same)]


@cache
def numbering(count: int) -> np.ndarray:
    """By opcode, the number of the op's instruction; −1 if it has none."""
    numbers = np.full(count, -1, dtype=np.int64)
    for k, op in enumerate(interpreted_ops(count)):
        numbers[op.code] = FIRST_OP + k
    return numbers


@once
def interpreter(bits: int, count: int) -> tuple[Any, int]:
    """The engine that owns the interpreter for numbers of that size, and its address."""
    return compile_kernel(module_text(bits, count), level=1)


def module_text(bits: int, count: int) -> str:
    """LLVM code of the interpreter, ``kernel(step)``; word 1 of the step is the address of its table."""
    return _InterpreterWriter(bits, count).text()


class _InterpreterWriter(Code):
    def __init__(self, bits: int, count: int):
        super().__init__()
        self.bits = bits
        self.real = "double" if bits == 64 else "float"
        self.item = bits // 8
        self.declared: dict[str, None] = {}
        self.ops = interpreted_ops(count)
        self.labels = ["end", "load", "store", *(f"op{k}" for k in range(len(self.ops)))]

    def text(self) -> str:
        table = ", ".join(f"ptr blockaddress(@kernel, %{label})" for label in self.labels)
        self.lines += ["define void @kernel(i64 %step) {", "entry:"]
        word = self.say(f"load i64, ptr {self.pointer(self.say('add i64 %step, 8'))}")
        self.lines.append(f"%table = add i64 {word}, 0")
        self.lines.append(f"%values = load i64, ptr {self.pointer(self.say(f'add i64 %table, {8 * VALUES}'))}")
        code = self.say(f"load i64, ptr {self.pointer('%table')}")
        self.jump(code)
        self.memory("load")
        self.memory("store")
        for k, op in enumerate(self.ops):
            self.operation(k, op)
        self.lines += ["end:", "ret void", "}"]
        self.phis()
        labels = f"@labels = internal constant [{len(self.labels)} x ptr] [{table}]"
        return "\n".join([*self.declared, labels, *self.lines])

    def pointer(self, address: str) -> str:
        return self.say(f"inttoptr i64 {address} to ptr")

    def jump(self, at: str) -> None:
        """Go on with the instruction at an address."""
        op = self.say(f"load i32, ptr {self.pointer(at)}")
        place = self.say(f"getelementptr [{len(self.labels)} x ptr], ptr @labels, i64 0, i32 {op}")
        target = self.say(f"load ptr, ptr {place}")
        self.lines.append(f"store i64 {at}, ptr %pc")
        self.lines.append(f"indirectbr ptr {target}, [{', '.join(f'label %{label}' for label in self.labels)}]")

    def phis(self) -> None:
        """The address of the instruction lives in a variable, which LLVM turns into a register."""
        self.lines.insert(2, "%pc = alloca i64")

    def begin(self, label: str) -> str:
        self.lines.append(f"{label}:")
        return self.say("load i64, ptr %pc")

    def word(self, at: str, k: int) -> str:
        """Word k of the instruction, as 64 bits."""
        narrow = self.say(f"load i32, ptr {self.pointer(self.say(f'add i64 {at}, {4 * k}'))}")
        return self.say(f"zext i32 {narrow} to i64")

    def place(self, at: str, k: int) -> str:
        """Pointer to the value whose place word k gives."""
        scaled = self.say(f"mul i64 {self.word(at, k)}, {self.item}")
        return self.pointer(self.say(f"add i64 %values, {scaled}"))

    def next(self, at: str) -> None:
        self.jump(self.say(f"add i64 {at}, {4 * INSTRUCTION}"))

    def memory(self, what: str) -> None:
        at = self.begin(what)
        scaled = self.say(f"mul i64 {self.word(at, 2)}, 8")
        base = self.say(f"load i64, ptr {self.pointer(self.say(f'add i64 %table, {scaled}'))}")
        offset = self.say(f"mul i64 {self.word(at, 3)}, {self.item}")
        outside, inside = self.pointer(self.say(f"add i64 {base}, {offset}")), self.place(at, 1)
        source, destination = (outside, inside) if what == "load" else (inside, outside)
        value = self.say(f"load {self.real}, ptr {source}")
        self.lines.append(f"store {self.real} {value}, ptr {destination}")
        self.next(at)

    def operation(self, k: int, op: Op) -> None:
        at = self.begin(f"op{k}")
        operands = []
        for i, kind in enumerate(operand_kinds(op)):
            value = self.say(f"load {self.real}, ptr {self.place(at, 2 + i)}")
            operands.append(self.say(f"fcmp une {self.real} {value}, 0.0") if kind == B else value)
        result = self.compute(op, self.bits, 1, operands, self.declared)
        if result_kind(op) == B:
            result = self.say(f"uitofp i1 {result} to {self.real}")
        self.lines.append(f"store {self.real} {result}, ptr {self.place(at, 1)}")
        self.next(at)
