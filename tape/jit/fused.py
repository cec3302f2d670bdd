"""Fused kernels: a run of elementwise records as straight-line LLVM code, a vector of lanes at a time.

The code is written as text, one line for each instruction, because a program may have a hundred
thousand of them.  What an op's lines are is taken from what `tape.jit.emit` builds for it once; only
the names of the values are filled in here.

A long run is cut into functions of a few hundred records (`CHUNK_ROWS`), since the time that LLVM
takes grows faster than the length of a function.  Values that one of them needs from another go
through the workspace.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ops import Op
from ops.lane import Same

from .lines import B, F, hexadecimal, lines_of, result_kind
from .loop import loop_text, total_text
from .platform import target

CHUNK_ROWS = 400
HEADER = 6
FIRST, END, COUNT, WORKSPACE, FIRST_BLOCK, END_BLOCK = range(HEADER)
"""Words of a kernel's table; after them the addresses of its inputs, then of its outputs.

What a kernel goes through are blocks of COUNT elements; in each block it goes through the vectors from FIRST to END.
"""

INDEX = {"every": "%flat", "tile": "%at", "repeat": "%block"}
SUMS = ("sum", "mean")


@dataclass(frozen=True)
class Input:
    """A value that a kernel reads.

    It has an element for ``every`` place, or the same elements in each block (``tile``), or one number for
    each block (``repeat``), or is ``one`` number, at an offset in elements.
    """

    kind: int
    lies: str
    offset: int = 0
    memory: int = 0
    """Which address of the table it is read from."""


@dataclass(frozen=True)
class Output:
    """A value that a kernel writes: ``each`` element, the ``one`` number (at an offset), or the ``sum`` or ``mean``."""

    value: int
    how: str
    offset: int = 0
    memory: int = 0


@dataclass(frozen=True)
class Run:
    """What a fused kernel computes.

    Values are numbered: first the inputs, then the constants, then the results of the rows.

    Attributes:
        bits: 64 or 32.
        size: over how many elements it runs.
        inputs, constants: what the first values are.
        rows: ops with the numbers of their operands.
        outputs: what is written.
        addresses: how many addresses the table holds.
    """

    bits: int
    size: int
    inputs: Sequence[Input]
    constants: Sequence[float | bool]
    rows: Sequence[tuple[Op, tuple[int, ...]]]
    outputs: Sequence[Output]


def module_text(run: Run, width: int | None = None) -> str:
    """LLVM code of a kernel, ``kernel(step)``; word 1 of the step is the address of its table."""
    return Writer(run, width).text()


@dataclass
class _Chunk:
    """A function with some of the rows."""

    rows: range
    lines: list[str] = field(default_factory=list)
    known: dict[int, str] = field(default_factory=dict)
    addresses: dict[int, str] = field(default_factory=dict)
    outputs: list[Output] = field(default_factory=list)


class Writer:
    """Writes the code of a kernel.

    Attributes:
        width: lanes of a vector.
        workspace_bytes: what the kernel needs to work in, at an address that is a multiple of 64.
    """

    def __init__(self, run: Run, width: int | None = None):
        if width is None:
            width = target().lanes(run.bits) if run.size != 1 else 1
        self.run, self.width = run, width
        self.real = "double" if run.bits == 64 else "float"
        self.item = run.bits // 8
        wide = width > 1
        self.types = {
            F: f"<{width} x {self.real}>" if wide else self.real,
            B: f"<{width} x i1>" if wide else "i1",
        }
        self.declared: dict[str, None] = {}
        self.names = 0
        self.kinds = [i.kind for i in run.inputs] + [B if isinstance(c, bool) else F for c in run.constants]
        self.kinds += [result_kind(op) for op, _ in run.rows]
        self.base = len(run.inputs)
        self.first_row = self.base + len(run.constants)
        self.chunks = self.cut()
        self.slots = self.crossing()
        self.accumulators = {
            k: len(self.slots) + n for n, k in enumerate(k for k, o in enumerate(run.outputs) if o.how in SUMS)
        }

    @property
    def workspace_bytes(self) -> int:
        return self.slot_bytes * (len(self.slots) + len(self.accumulators))

    @property
    def slot_bytes(self) -> int:
        return self.item * self.width

    def cut(self) -> list[_Chunk]:
        n = len(self.run.rows)
        starts = range(0, max(n, 1), CHUNK_ROWS)
        chunks = [_Chunk(range(s, min(s + CHUNK_ROWS, n))) for s in starts]
        for output in self.run.outputs:
            row = output.value - self.first_row
            chunks[row // CHUNK_ROWS if row >= 0 else 0].outputs.append(output)
        return chunks

    def crossing(self) -> dict[int, int]:
        """The values that one chunk needs from another, and the slot of the workspace that each has."""
        slots: dict[int, int] = {}
        if len(self.chunks) == 1:
            return slots
        for k, (_, operands) in enumerate(self.run.rows):
            for x in operands:
                if x >= self.first_row and (x - self.first_row) // CHUNK_ROWS != k // CHUNK_ROWS:
                    slots.setdefault(x, len(slots))
        return slots

    def text(self) -> str:
        functions = [self.function(j, chunk) for j, chunk in enumerate(self.chunks)]
        main = self.main()
        return "\n".join([*self.declared, *functions, main])

    def declare(self, text: str) -> None:
        self.declared[text] = None

    def name(self) -> str:
        self.names += 1
        return f"%t{self.names - 1}"

    # One chunk.

    def function(self, number: int, chunk: _Chunk) -> str:
        self.names = 0
        inline = " alwaysinline" if len(self.chunks) == 1 else " noinline"
        mask = f", {self.types[B]} %mask" if self.width > 1 else ""
        head = f"define internal void @chunk{number}(i64 %table, i64 %block, i64 %at, i64 %flat{mask}){inline} {{"
        for k in chunk.rows:
            op, operands = self.run.rows[k]
            value = self.first_row + k
            if isinstance(op.lane, Same):
                chunk.known[value] = self.value(chunk, operands[0])
                if value in self.slots:
                    self.store_slot(chunk, self.slots[value], self.kinds[value], chunk.known[value])
                continue
            write, count, declared = lines_of(op, self.run.bits, self.width)
            for d in declared:
                self.declare(d)
            names = [self.value(chunk, x) for x in operands]
            result = self.name()
            chunk.lines.append(write(self.names, result, *names))
            self.names += count
            chunk.known[value] = result
            if value in self.slots:
                self.store_slot(chunk, self.slots[value], self.kinds[value], result)
        for output in chunk.outputs:
            self.write(chunk, output)
        return "\n".join([head, "".join(chunk.lines) + "ret void", "}"])

    def value(self, chunk: _Chunk, x: int) -> str:
        """The name of a value in a chunk, which is fetched when it is first wanted."""
        found = chunk.known.get(x)
        if found is None:
            if x < self.base:
                found = self.load(chunk, self.run.inputs[x])
            elif x < self.first_row:
                found = self.constant(self.run.constants[x - self.base])
            else:
                found = self.load_slot(chunk, self.slots[x], self.kinds[x])
            chunk.known[x] = found
        return found

    def constant(self, value: float | bool) -> str:
        text = ("true" if value else "false") if isinstance(value, bool) else hexadecimal(value, self.run.bits)
        kind = "i1" if isinstance(value, bool) else self.real
        return "<" + ", ".join([f"{kind} {text}"] * self.width) + ">" if self.width > 1 else text

    def address(self, chunk: _Chunk, memory: int) -> str:
        """The address in a word of the table, loaded once in a chunk."""
        if memory not in chunk.addresses:
            at, pointer, word = self.name(), self.name(), self.name()
            chunk.lines.append(
                f"{at} = add i64 %table, {8 * (HEADER + memory)}\n{pointer} = inttoptr i64 {at} to ptr\n"
                f"{word} = load i64, ptr {pointer}\n"
            )
            chunk.addresses[memory] = word
        return chunk.addresses[memory]

    def pointer(self, chunk: _Chunk, memory: int, kind: int, lies: str, offset: int) -> str:
        """Where an input or output is: its element for the first lane, or its one number."""
        base, place, pointer = self.address(chunk, memory), self.name(), self.name()
        item = self.item if kind == F else 1
        if lies == "one":
            chunk.lines.append(f"{place} = add i64 {base}, {item * offset}\n")
        else:
            scaled = self.name()
            start = base
            if offset:
                start = self.name()
                chunk.lines.append(f"{start} = add i64 {base}, {item * offset}\n")
            chunk.lines.append(f"{scaled} = mul i64 {INDEX[lies]}, {item}\n{place} = add i64 {start}, {scaled}\n")
        chunk.lines.append(f"{pointer} = inttoptr i64 {place} to ptr\n")
        return pointer

    def load(self, chunk: _Chunk, x: Input) -> str:
        pointer = self.pointer(chunk, x.memory, x.kind, x.lies, x.offset)
        element = self.real if x.kind == F else "i8"
        each = x.lies in ("every", "tile") and self.width > 1
        loaded = self.name()
        if each:
            vector = f"<{self.width} x {element}>"
            suffix = f"v{self.width}" + (f"f{self.run.bits}" if x.kind == F else "i8")
            self.declare(f"declare {vector} @llvm.masked.load.{suffix}.p0(ptr, i32, {self.types[B]}, {vector})")
            chunk.lines.append(
                f"{loaded} = call {vector} @llvm.masked.load.{suffix}.p0(ptr {pointer}, "
                f"i32 {self.item if x.kind == F else 1}, {self.types[B]} %mask, {vector} zeroinitializer)\n"
            )
        else:
            chunk.lines.append(f"{loaded} = load {element}, ptr {pointer}, align {self.item if x.kind == F else 1}\n")
            if self.width > 1:
                loaded = self.splat(chunk, loaded, element)
        if x.kind == F:
            return loaded
        truth = self.name()
        vector = f"<{self.width} x i8>" if self.width > 1 else "i8"
        zero = "zeroinitializer" if self.width > 1 else "0"
        chunk.lines.append(f"{truth} = icmp ne {vector} {loaded}, {zero}\n")
        return truth

    def splat(self, chunk: _Chunk, scalar: str, element: str) -> str:
        one, all_ = self.name(), self.name()
        vector = f"<{self.width} x {element}>"
        chunk.lines.append(
            f"{one} = insertelement {vector} poison, {element} {scalar}, i32 0\n"
            f"{all_} = shufflevector {vector} {one}, {vector} poison, <{self.width} x i32> zeroinitializer\n"
        )
        return all_

    def slot(self, chunk: _Chunk, slot: int) -> str:
        start, place, pointer = self.address(chunk, WORKSPACE - HEADER), self.name(), self.name()
        chunk.lines.append(
            f"{place} = add i64 {start}, {slot * self.slot_bytes}\n{pointer} = inttoptr i64 {place} to ptr\n"
        )
        return pointer

    def store_slot(self, chunk: _Chunk, slot: int, kind: int, value: str) -> None:
        pointer = self.slot(chunk, slot)
        align = 1 if kind == B else self.slot_bytes
        chunk.lines.append(f"store {self.types[kind]} {value}, ptr {pointer}, align {align}\n")

    def load_slot(self, chunk: _Chunk, slot: int, kind: int) -> str:
        pointer, loaded = self.slot(chunk, slot), self.name()
        align = 1 if kind == B else self.slot_bytes
        chunk.lines.append(f"{loaded} = load {self.types[kind]}, ptr {pointer}, align {align}\n")
        return loaded

    def write(self, chunk: _Chunk, output: Output) -> None:
        value, kind = self.value(chunk, output.value), self.kinds[output.value]
        if output.how in SUMS:
            self.accumulate(chunk, output, value)
            return
        if kind == B:
            wide = f"<{self.width} x i8>" if self.width > 1 else "i8"
            byte = self.name()
            chunk.lines.append(f"{byte} = zext {self.types[B]} {value} to {wide}\n")
            value, type_, suffix, align = byte, wide, f"v{self.width}i8", 1
        else:
            type_, suffix, align = self.types[F], f"v{self.width}f{self.run.bits}", self.item
        pointer = self.pointer(chunk, output.memory, kind, "every" if output.how == "each" else "one", output.offset)
        if self.width > 1:
            self.declare(f"declare void @llvm.masked.store.{suffix}.p0({type_}, ptr, i32, {self.types[B]})")
            chunk.lines.append(
                f"call void @llvm.masked.store.{suffix}.p0({type_} {value}, ptr {pointer}, i32 {align}, "
                f"{self.types[B]} %mask)\n"
            )
        else:
            chunk.lines.append(f"store {type_} {value}, ptr {pointer}, align {align}\n")

    def accumulate(self, chunk: _Chunk, output: Output, value: str) -> None:
        """Add the lanes that are there to a sum."""
        slot = self.accumulators[self.run.outputs.index(output)]
        if self.width > 1:
            chosen = self.name()
            zero = f"{self.types[F]} zeroinitializer"
            chunk.lines.append(f"{chosen} = select {self.types[B]} %mask, {self.types[F]} {value}, {zero}\n")
            value = chosen
        before, after = self.load_slot(chunk, slot, F), self.name()
        chunk.lines.append(f"{after} = fadd {self.types[F]} {before}, {value}\n")
        self.store_slot(chunk, slot, F, after)

    def main(self) -> str:
        """The loop over all lanes."""
        totals = [self.total(k, slot) for k, slot in self.accumulators.items()]
        places = [self.slot_bytes * slot for slot in self.accumulators.values()]
        return loop_text(self.width, self.types[F], len(self.chunks), places, totals)

    def total(self, k: int, slot: int) -> str:
        """The lines that write the sum or mean of an accumulator."""
        output = self.run.outputs[k]
        name = f"llvm.vector.reduce.fadd.v{self.width}f{self.run.bits}"
        if self.width > 1:
            self.declare(f"declare {self.real} @{name}({self.real}, {self.types[F]})")
        count = hexadecimal(float(self.run.size), self.run.bits) if output.how == "mean" else None
        return total_text(
            k, self.real, self.types[F], self.slot_bytes * slot, name if self.width > 1 else None, count,
            HEADER + output.memory, output.offset,
        )  # fmt: skip
