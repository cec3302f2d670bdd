"""One function of a fused kernel, written as LLVM code: rows one after another, or a loop of them."""

from __future__ import annotations

from collections import defaultdict
from functools import cache

import numpy as np

from ops import Op
from ops.core.registry import OPS
from ops.core.lane import Same, Select

from .lines import B, F, W, has_lane, hexadecimal, operand_kinds, result_kind
from .loop import ALIGNED
from ..machine.platform import target
from .kernel_memory import KernelMemory, addresses
from .function_plan import Body, Lines, FunctionPlan, Slots, Strided
from .task import HEADER, OF_FEW, OF_SHORT_ROWS, SUMS, WORKSPACE, Input, KernelTask

LOOP = """\
br label %before
before:
br label %body
body:
%i = phi i64 [0, %before], [%next, %last]
{lines}
br label %last
last:
%next = add i64 %i, 1
%more = icmp slt i64 %next, {iterations}
br i1 %more, label %body, label %done
done:"""

MOST_BEFORE = 64
"""So many numbers are read before a loop over vectors; as many vectors lie on the stack meanwhile."""


@cache
def kinds_of_results(count: int) -> np.ndarray:
    """By opcode, whether an op of a kernel gives numbers or truth values."""
    return np.array([result_kind(op) if has_lane(op) else F for op in OPS[:count]])


@cache
def may_fail(code: int) -> bool:
    """Whether an op makes a floating-point error of ordinary numbers: of zeros, ones, twos and their like."""
    op, tried = OPS[code], np.array([0.0, 0.5, 1.0, 2.0, -0.5, -1.0, -2.0])
    try:
        with np.errstate(all="raise", under="ignore"):
            op.forward(*np.meshgrid(*[tried] * op.arity))
    except Exception:  # also an op that takes more than its operands, of which it is not known
        return True
    return False


class Shared:
    """What the functions of a kernel have in common.

    Attributes:
        width: lanes of a vector.
        kinds: by value, whether it is a number or a truth value.
        plan: which functions there are, and the slots between them.
        accumulators: by number of an output that is a sum, its number among these.
        in_order: whether some of these add the lanes one after the other.
        may_fail: whether some number of a vector that is not there could make a floating-point error.
        declared: what the code calls.
    """

    def __init__(self, task: KernelTask, width: int | None):
        self.task, self.given = task, task.given
        self.width = width or (target().lanes(task.bits) if task.many else 1)
        self.real, self.item = ("double", 8) if task.bits == 64 else ("float", 4)
        wide = self.width > 1
        self.types = {
            F: f"<{self.width} x {self.real}>" if wide else self.real,
            B: f"<{self.width} x i1>" if wide else "i1",
        }
        self.kinds = [F if i.kind == W else i.kind for i in task.inputs]
        self.kinds += [B if isinstance(c, bool) else F for c in task.constants]
        self.kinds += kinds_of_results(len(OPS))[task.codes].tolist()
        wanted = [output.value for output in task.outputs]
        self.plan = FunctionPlan(task.operands, task.loops, task.sources(), wanted, task.sinks())
        sums = [k for k, output in enumerate(task.outputs) if output.how in SUMS]
        self.accumulators = {k: n for n, k in enumerate(sums)}
        self.in_order = any(task.outputs[k].how in OF_SHORT_ROWS + OF_FEW for k in sums)
        self.may_fail = wide and any(may_fail(code) for code in set(task.codes.tolist()))
        self.declared: dict[str, None] = {}

    @property
    def slot_bytes(self) -> int:
        return self.item * self.width

    def op(self, k: int) -> Op:
        """The op of a row."""
        return OPS[self.task.codes[k]]

    def operands(self, k: int) -> list[int]:
        """The values that a row takes."""
        return self.task.operands[3 * k : 3 * k + self.op(k).arity].tolist()

    def declare(self, text: str) -> None:
        self.declared[text] = None


class KernelFunction(KernelMemory):
    """A function that is being written.

    Attributes:
        known: the names of values that are there.
    """

    def __init__(self, shared: Shared, alone: bool = False):
        super().__init__(shared, alone)
        self.known: dict[int, str] = {}
        self._strides: dict[int, str] = {}

    def text(self, number: int, segment: Lines | Body) -> str:
        """The function of a segment."""
        if isinstance(segment, Body):
            self.loop(segment)
        else:
            self.straight(segment)
        mask = f", {self.types[B]} %mask, i1 %all, {self.types[B]} %added" if self.width > 1 else ""
        words = "i64 %table, ptr %sums, i64 %block, i64 %at, i64 %flat" + mask + self.words
        head = f"define internal void @chunk{number}({words})"
        kind = ("noinline" if self.once is self else "alwaysinline") + (ALIGNED if self.width > 1 else "")
        return "\n".join([f"{head} {kind} {{", "entry:", *self.lines, "ret void", "}"])

    @property
    def words(self) -> str:
        """The words that it is given besides."""
        return "".join(f", {type_} {name}" for name, type_ in self.passed.items())

    def straight(self, segment: Lines) -> None:
        shared, slots = self.shared, self.shared.plan.slot
        for x, slot in segment.fills:
            self.store_slot(slot, shared.kinds[x], self.value(x))
        soon, late = self._by_value(segment.outputs)
        for k in segment.rows:
            value = shared.given + k
            self.known[value] = self.row(k, [self.value(x) for x in shared.operands(k)])
            if value in slots:
                self.store_slot(slots[value], shared.kinds[value], self.known[value])
            for number in soon.get(value, ()):
                self.write(number, self.known[value])
        for number in late:
            self.write(number, self.value(self.task.outputs[number].value))
        self.store_all()

    def _by_value(self, outputs: list[int]) -> tuple[dict[int, list[int]], list[int]]:
        """The sums by the row's value that they add, which is added at once and not kept until the end; the others."""
        soon: dict[int, list[int]] = defaultdict(list)
        late: list[int] = []
        for number in outputs:
            value = self.task.outputs[number].value
            adds = number in self.shared.accumulators and value >= self.shared.given
            (soon[value] if adds else late).append(number)
        return soon, late

    def loop(self, segment: Body) -> None:
        """Rows of a body once; what changes from iteration to iteration is read when it is first wanted."""
        given, kinds = self.shared.given, self.shared.kinds
        names = {c: self.value(x) for c, x in enumerate(segment.columns) if isinstance(x, int)}
        self._prepare(segment)
        before, self.lines = self.lines, []
        for j, k in enumerate(segment.rows):
            operands = []
            for x, c in zip(self.shared.operands(k), segment.reads[j].tolist()):
                if c >= 0 and c not in names:
                    names[c] = self.column(segment.columns[c], kinds[x])
                operands.append(self.known[x] if c < 0 else names[c])
            self.known[given + k] = self.row(k, operands)
            if j in segment.writes:
                first, step = segment.writes[j]
                self.store_slot(first, kinds[given + k], self.known[given + k], step)
            for output in segment.outputs.get(j, ()):
                self.write(output.number, self.known[given + k], output.memory, output.offset)
        self.store_all()
        self.lines = [*before, LOOP.format(lines="\n".join(self.lines), iterations=segment.iterations)]

    def _prepare(self, segment: Body) -> None:
        """Have the addresses that are the same in all iterations."""
        self.address(WORKSPACE - HEADER)
        for read in segment.columns:
            if isinstance(read, Strided) and not read.memory:
                x = self.task.inputs[read.number]
                for memory in range(x.memory, x.memory + addresses(x.lies)):
                    self.address(memory)
        for written in (output for outputs in segment.outputs.values() for output in outputs):
            if not written.memory:
                self.address(self.task.outputs[written.number].memory)

    def column(self, source: int | Slots | Strided, kind: int) -> str:
        """What an iteration reads."""
        if isinstance(source, Strided):
            return self.load(self.task.inputs[source.number], source.memory, source.offset)
        assert isinstance(source, Slots)
        return self.load_slot(source.first, kind, source.step)

    def row(self, k: int, operands: list[str]) -> str:
        """The name of a row's result; truth values count as 1 and 0 where an op takes numbers."""
        op, kinds = self.shared.op(k), self.shared.kinds
        for i, (x, kind) in enumerate(zip(self.shared.operands(k), operand_kinds(op))):
            if kind == F and kinds[x] == B:
                operands[i] = self.counted(operands[i])
        if op.lane is None or isinstance(op.lane, Same):  # it keeps the numbers (`keeps_numbers`)
            return operands[0]
        if isinstance(op.lane, Select):
            arms = [self.done(x, name) for x, name in zip(self.shared.operands(k)[1:], operands[1:])]
            operands = [operands[0], *arms]
        return self.compute(op, self.task.bits, self.width, operands, self.shared.declared)

    def counted(self, name: str) -> str:
        """Truth values as 1 and 0: chosen by one instruction, where turning whole numbers into others takes four."""
        one, zero = self.constant(1.0), self.constant(0.0)
        return self.say(f"select {self.types[B]} {name}, {self.types[F]} {one}, {self.types[F]} {zero}")

    def done(self, x: int, name: str) -> str:
        """A value that is chosen in some lanes, and computed in all: the others make their errors as well.

        Without this LLVM leaves them out where one instruction computes and chooses.
        """
        return name if x < self.shared.given or self.shared.kinds[x] != F else self.fenced(name)

    def fenced(self, name: str) -> str:
        """The same number, of which LLVM knows nothing."""
        type_, vector = self.types[F], f"v{self.width}" if self.width > 1 else ""
        function = f'@"llvm.arithmetic.fence.{vector}f{self.task.bits}"'
        self.shared.declare(f'declare {type_} {function}({type_} %".1")')  # as llvmlite writes it for ops: once
        return self.say(f"call {type_} {function}({type_} {name})")

    # Values.

    def value(self, x: int) -> str:
        """The name of a value, which is fetched when it is first wanted."""
        found = self.known.get(x)
        if found is None:
            shared = self.shared
            if x < len(self.task.inputs):
                found = self.load(self.task.inputs[x])
            elif x < shared.given:
                number = self.task.constants[x - len(self.task.inputs)]
                found = self.constant(number)
                if number != number:  # else LLVM leaves out what it meets, and the errors of that
                    found = self.fenced(found)
            else:
                found = self.load_slot(shared.plan.slot[x], shared.kinds[x])
            self.known[x] = found
        return found

    def constant(self, value: float | bool) -> str:
        text = ("true" if value else "false") if isinstance(value, bool) else hexadecimal(value, self.task.bits)
        kind = "i1" if isinstance(value, bool) else self.shared.real
        return "<" + ", ".join([f"{kind} {text}"] * self.width) + ">" if self.width > 1 else text

    # Memory.

    def load(self, x: Input, memory: int = 0, offset: int = 0) -> str:
        """The value of an input; in a loop of one at so many steps from it.

        One number is read but once, or once for each block, and is then in every lane of a vector.

        Where that may matter, lanes that are not there have what the first one has: of zeros a quotient would be an
        error, of which the processor's flags would tell although nobody asked for it.
        """
        if x.lies in ("one", "repeat") and self.width > 1 and not (memory or offset) and self.before < MOST_BEFORE:
            return self.load_before(x)
        found = self._load(x, memory, offset)
        if not self.shared.may_fail or x.kind == B or x.lies in ("one", "repeat"):
            return found
        vector = self.types[F]
        first = self.say(f"shufflevector {vector} {found}, {vector} poison, <{self.width} x i32> zeroinitializer")
        filled = self.say(f"select {self.types[B]} %mask, {vector} {found}, {vector} {first}")
        return self.say(f"freeze {vector} {filled}")  # past which LLVM does not see that sums leave those lanes out

    def _load(self, x: Input, memory: int, offset: int) -> str:
        """The same, of lanes that are not there whatever is cheapest."""
        if x.lies == "strided":
            return self.load_strided(x, memory)
        if addresses(x.lies) > 1:
            return self.load_rows(x, memory)
        if x.lies in ("every", "tile") and self.width > 1:
            return self.load_vector(x, memory, offset)
        return self.load_number(self, x, self.pointer(x, x.kind, x.lies, memory, offset))

    def slot(self, slot: int, step: int) -> str:
        """Where a slot is, in the loop that of an iteration."""
        start, size = self.address(WORKSPACE - HEADER), self.shared.slot_bytes
        if step:
            if step not in self._strides:
                self._strides[step] = self.say(f"add i64 {start}, {self.say(f'mul i64 %i, {step * size}')}")
            start = self._strides[step]
        return self.say(f"inttoptr i64 {self.say(f'add i64 {start}, {slot * size}')} to ptr")

    def store_slot(self, slot: int, kind: int, value: str, step: int = 0) -> None:
        align = 1 if kind == B else self.shared.slot_bytes
        self.lines.append(f"store {self.types[kind]} {value}, ptr {self.slot(slot, step)}, align {align}")

    def load_slot(self, slot: int, kind: int, step: int = 0) -> str:
        align = 1 if kind == B else self.shared.slot_bytes
        return self.say(f"load {self.types[kind]}, ptr {self.slot(slot, step)}, align {align}")
