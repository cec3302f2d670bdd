"""Fused kernels: a run of elementwise records as straight-line LLVM code, a vector of lanes at a time.

The code is written as text, one line for each instruction, because a program may have a hundred
thousand of them.  What an op's lines are is taken from what `tape.jit.emit` builds for it once; only
the names of the values are filled in here.

A long run is cut into functions of a few hundred records (`CHUNK_ROWS`), since the time that LLVM
takes grows faster than the length of a function.  Values that one of them needs from another go
through the workspace.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from llvmlite import ir

from ops import Op, Symbol
from ops.lane import Compare, Mask, Same, Select, Via

from .emit import Emitter, NoLane
from .platform import target

CHUNK_ROWS = 400
HEADER = 6
FIRST, END, COUNT, WORKSPACE, FIRST_BLOCK, END_BLOCK = range(HEADER)
"""Words of a kernel's table; after them the addresses of its inputs, then of its outputs.

What a kernel goes through are blocks of COUNT elements; in each block it goes through the vectors from FIRST to END.
"""

INDEX = {"every": "%flat", "tile": "%at", "repeat": "%block"}
SUMS = ("sum", "mean")
F, B = 0, 1
"""Kinds of value in a kernel: a floating-point number, a truth value."""


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
    """A value that a kernel writes: ``each`` element, the ``one`` number (at an offset), the ``sum`` or ``mean`` of all."""

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


@cache
def result_kind(op: Op) -> int:
    """Whether an op with a lane gives numbers or truth values."""
    if isinstance(op.lane, (Compare, Mask)):
        return B
    if isinstance(op.lane, Via):
        found = op.lane.formula(*map(Symbol, "xyw"[: op.arity]))
        return result_kind(found.op) if isinstance(found, Symbol) and found.op is not None else F
    return F


@cache
def operand_kinds(op: Op) -> tuple[int, ...]:
    """Which kind of value an op with a lane takes for each operand."""
    if isinstance(op.lane, Mask):
        return (B,) * op.arity
    if isinstance(op.lane, Select):
        return B, F, F
    kinds = dict.fromkeys("xyw"[: op.arity], F)
    if isinstance(op.lane, Via):
        for s in op.lane.formula(*map(Symbol, kinds)).walk():
            for x, kind in zip(s.operands, operand_kinds(s.op) if s.op is not None else ()):
                if isinstance(x, Symbol) and x.op is None:
                    kinds[x.name] = kind
    return tuple(kinds.values())


def gives_back(op: Op) -> bool:
    """Whether an op gives real numbers back as they are."""
    if not isinstance(op.lane, Via) or op.arity != 1:
        return False
    found = op.lane.formula(Symbol("x"))
    return isinstance(found, Symbol) and found.op is None


@cache
def has_lane(op: Op) -> bool:
    """Whether an op can be part of a fused kernel."""
    if isinstance(op.lane, Same):
        return True
    if op.lane is None or op.params or op.variadic:
        return False
    if isinstance(op.lane, Via):
        found = op.lane.formula(*map(Symbol, "xyw"[: op.arity]))
        if not isinstance(found, Symbol) or found.op is None:
            return False
        return all(s.op is None or has_lane(s.op) for s in found.walk())
    return True


_NAME = re.compile(r'%"([^"]*)"')


@cache
def lines_of(op: Op, bits: int, width: int) -> tuple[Callable[..., str], int, tuple[str, ...]]:
    """The lines that compute an op: a function of (number of the first name, result, operands); how many names
    they use; and the declarations that they need."""
    module = ir.Module()
    names = "xyw"[: op.arity]
    emitter = Emitter(module, ir.IRBuilder(), bits, width)
    mask = ir.VectorType(ir.IntType(1), width) if width > 1 else ir.IntType(1)
    types = [mask if kind == B else emitter.type for kind in operand_kinds(op)]
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), types), "op")
    emitter.builder.position_at_end(function.append_basic_block())
    for argument, name in zip(function.args, names):
        argument.name = name
    result = emitter.apply(op, list(function.args))
    if isinstance(result, (ir.Argument, ir.Constant)):
        raise NoLane(op.name)
    instructions = [str(i).strip() for i in emitter.builder.block.instructions]
    text = "\n".join(instructions).replace("{", "{{").replace("}", "}}")
    inner: dict[str, int] = {}

    def rename(found: re.Match[str]) -> str:
        name = found.group(1)
        if name in names:
            return "{" + str(names.index(name) + 1) + "}"
        if name == result.name:
            return "{0}"
        return "%t{n[" + str(inner.setdefault(name, len(inner))) + "]}"

    template = _NAME.sub(rename, text) + "\n"
    declared = tuple(str(g) for name, g in module.globals.items() if name != "op")
    if not inner:
        return (lambda n, z, *xs: template.format(z, *xs)), 0, declared
    count = len(inner)
    return (lambda n, z, *xs: template.format(z, *xs, n=range(n, n + count))), count, declared


def hexadecimal(value: float, bits: int) -> str:
    """A floating-point constant as LLVM reads it."""
    if bits == 32:
        value = struct.unpack("f", struct.pack("f", value))[0]
    return f"0x{struct.unpack('Q', struct.pack('d', value))[0]:016X}"


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

    # The loop over all lanes.

    def main(self) -> str:
        w, lanes = self.width, ", ".join(f"i64 {k}" for k in range(self.width))
        lines = ["define void @kernel(i64 %step) {", "entry:", "%t0 = add i64 %step, 8", "%t1 = inttoptr i64 %t0 to ptr",
                 "%table = load i64, ptr %t1", "%t2 = inttoptr i64 %table to ptr"]  # fmt: skip
        words = {"first": FIRST, "end": END, "count": COUNT, "workspace": WORKSPACE, "opening": FIRST_BLOCK, "closing": END_BLOCK}
        for name, word in words.items():
            lines += [f"%p{name} = getelementptr i64, ptr %t2, i64 {word}", f"%{name} = load i64, ptr %p{name}"]
        for k, slot in self.accumulators.items():
            lines += [f"%z{k} = add i64 %workspace, {slot * self.slot_bytes}", f"%y{k} = inttoptr i64 %z{k} to ptr"]
            lines += [f"store {self.types[F]} {'zeroinitializer' if w > 1 else '0.0'}, ptr %y{k}"]
        lines += ["%full = icmp slt i64 %first, %end", "%blocks = icmp slt i64 %opening, %closing", "%some = and i1 %full, %blocks",
                  "br i1 %some, label %outer, label %done", "outer:",
                  "%block = phi i64 [%opening, %entry], [%nextblock, %after]", "%start = mul i64 %block, %count",
                  "br label %loop", "loop:", "%k = phi i64 [%first, %outer], [%next, %loop]", f"%at = mul i64 %k, {w}",
                  "%flat = add i64 %start, %at"]  # fmt: skip
        mask = ""
        if w > 1:
            lines += [f"%o1 = insertelement <{w} x i64> poison, i64 %at, i32 0",
                      f"%o2 = shufflevector <{w} x i64> %o1, <{w} x i64> poison, <{w} x i32> zeroinitializer",
                      f"%o3 = add <{w} x i64> %o2, <{lanes}>",
                      f"%o4 = insertelement <{w} x i64> poison, i64 %count, i32 0",
                      f"%o5 = shufflevector <{w} x i64> %o4, <{w} x i64> poison, <{w} x i32> zeroinitializer",
                      f"%mask = icmp slt <{w} x i64> %o3, %o5"]  # fmt: skip
            mask = f", {self.types[B]} %mask"
        lines += [f"call void @chunk{j}(i64 %table, i64 %block, i64 %at, i64 %flat{mask})" for j in range(len(self.chunks))]
        lines += ["%next = add i64 %k, 1", "%more = icmp slt i64 %next, %end", "br i1 %more, label %loop, label %after",
                  "after:", "%nextblock = add i64 %block, 1", "%again = icmp slt i64 %nextblock, %closing",
                  "br i1 %again, label %outer, label %done", "done:"]  # fmt: skip
        for k in self.accumulators:
            lines += self.total(k)
        return "\n".join([*lines, "ret void", "}"])

    def total(self, k: int) -> list[str]:
        """Write the sum of an accumulator's lanes."""
        output, t = self.run.outputs[k], self.types[F]
        lines = [f"%a{k} = load {t}, ptr %y{k}"]
        value = f"%a{k}"
        if self.width > 1:
            value, zero = f"%b{k}", "-0.0"
            name = f"llvm.vector.reduce.fadd.v{self.width}f{self.run.bits}"
            self.declare(f"declare {self.real} @{name}({self.real}, {t})")
            lines += [f"{value} = call reassoc {self.real} @{name}({self.real} {zero}, {t} %a{k})"]
        if output.how == "mean":
            lines += [f"%m{k} = fdiv {self.real} {value}, {hexadecimal(float(self.run.size), self.run.bits)}"]
            value = f"%m{k}"
        word = HEADER + output.memory
        return [*lines, f"%c{k} = getelementptr i64, ptr %t2, i64 {word}", f"%d{k} = load i64, ptr %c{k}",
                f"%e{k} = inttoptr i64 %d{k} to ptr", f"%f{k} = getelementptr {self.real}, ptr %e{k}, i64 {output.offset}",
                f"store {self.real} {value}, ptr %f{k}, align {self.item}"]  # fmt: skip

