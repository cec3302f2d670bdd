"""How a function of a kernel reads and writes: vectors, and what does not lie as its lanes do (rows, runs, distances).

Of most vectors all lanes are there, and those are stored as they are: stores with a mask take some processors (AMD's
before AVX-512) twelve cycles each, and truth values have none, so that each would be a branch of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from . import prefetch
from .lines import B, Code, F, W
from .task import COUNT, HEADER, IN_ORDER, OF_COLUMNS, OF_FEW, OF_SHORT_ROWS, SUMS, Input, Output

if TYPE_CHECKING:
    from .kernel_functions import Shared


def addresses(lies: str) -> int:
    """How many addresses of the table belong to an input."""
    return 2 if lies in ("rows", "strided") else 2 * int(lies.split()[1]) if lies.startswith("runs") else 1


INDEX = {"every": "%flat", "tile": "%at", "repeat": "%block"}


class VectorStore(NamedTuple):
    """A vector that is to be stored: its type as a suffix of names, and written out."""

    suffix: str
    type: str
    value: str
    pointer: str
    align: int


class KernelMemory(Code):
    """A function that is being written, as far as it reads and writes.

    Vectors are stored together, after all else that the function or an iteration does.

    Attributes:
        once, by_block: what is done once, and once for each block: by itself, where the function is the only one.
        passed: the names of what of these it is given, and their types.
        before: how many numbers are read there.
    """

    def __init__(self, shared: Shared, alone: bool):
        super().__init__()
        self.shared, self.task, self.width, self.types = shared, shared.task, shared.width, shared.types
        self.once, self.by_block = (Code("once"), Code("row")) if alone else (self, self)
        self.passed: dict[str, str] = {}
        self.before = 0
        self._addresses: dict[int, str] = {}
        self._stores: list[VectorStore] = []

    def given(self, name: str, type_: str = "i64") -> str:
        """A word, or another value, that was worked out before."""
        if self.once is not self:
            self.passed[name] = type_
        return name

    def address(self, memory: int, step: int = 0) -> str:
        """The address in a word of the table, loaded once; in a loop another word in each iteration."""
        word = 8 * (HEADER + memory)
        if step:
            at = self.say(f"mul i64 %i, {8 * step}")
            return self.load_word(self.say(f"add i64 %table, {at}"), word)
        found = self._addresses.get(memory)
        if found is None:
            found = self._addresses[memory] = self.once.load_word("%table", word)
        return self.given(found)

    def pointer(self, what: Input | Output, kind: int, lies: str, memory: int, offset: int) -> str:
        """Where an input or output is: its element for the first lane, or its one number; in a loop with steps."""
        place, item = self.address(what.memory, memory), {F: self.shared.item, B: 1, W: 8}[kind]
        if what.offset:
            place = self.say(f"add i64 {place}, {item * what.offset}")
        if offset:
            place = self.say(f"add i64 {place}, {self.say(f'mul i64 %i, {item * offset}')}")
        if lies != "one":
            place = self.say(f"add i64 {place}, {self.say(f'mul i64 {INDEX[lies]}, {item}')}")
        return self.say(f"inttoptr i64 {place} to ptr")

    def load_lanes(self, suffix: str, vector: str, pointer: str, item: int) -> str:
        """The lanes that are there, of neighbours in memory; zeros for the others."""
        name, mask = f"@llvm.masked.load.{suffix}.p0", f"{self.types[B]} %mask"
        self.shared.declare(f"declare {vector} {name}(ptr, i32, {self.types[B]}, {vector})")
        masked = f"call {vector} {name}(ptr {pointer}, i32 {item}, {mask}, {vector} zeroinitializer)"
        if item > 1:
            return self.say(masked)
        n = self.parted()  # bytes under a mask are a branch for each lane before AVX-512
        whole = self.say(f"load {vector}, ptr {pointer}, align {item}")
        self.lines += [f"br label %{n}both", f"{n}some:"]
        some = self.say(masked)
        self.lines += [f"br label %{n}both", f"{n}both:"]
        return self.say(f"phi {vector} [{whole}, %{n}all], [{some}, %{n}some]")

    def parted(self) -> str:
        """Go on where all lanes are there: in a block `all`, beside one `some` and before one `both` of this name."""
        n = self.name()[1:]
        self.lines += [f"br i1 %all, label %{n}all, label %{n}some", f"{n}all:"]
        return n

    def prefetch(self, pointer: str, item: int, purpose: int) -> None:
        """Ask for what later iterations read or write there."""
        self.shared.declare(prefetch.DECLARATION)
        for offset in prefetch.offsets(self.width * item):
            ahead = self.say(f"getelementptr i8, ptr {pointer}, i64 {offset}")
            self.lines.append(prefetch.instruction(ahead, purpose))

    def load_rows(self, x: Input, step: int) -> str:
        """The value of an input whose blocks are rows that lie anywhere, or runs of elements; zeros elsewhere."""
        vector, item, found = self.types[F], self.shared.item, "zeroinitializer"
        name = f"@llvm.masked.load.v{self.width}f{self.task.bits}.p0"
        self.shared.declare(f"declare {vector} {name}(ptr, i32, {self.types[B]}, {vector})")
        runs = x.lies != "rows"
        for memory in range(x.memory, x.memory + addresses(x.lies), 2):
            row, *bounds = self.row_of(memory, step, 3 if runs else 1)
            at = self.say(f"add i64 {row}, {self.say(f'mul i64 %at, {item}')}")
            pointer = self.say(f"inttoptr i64 {at} to ptr")
            mask = self.within(*bounds) if runs else "%mask"
            found = self.say(
                f"call {vector} {name}(ptr {pointer}, i32 {item}, {self.types[B]} {mask}, {vector} {found})"
            )
        return found

    def row_of(self, memory: int, step: int, count: int) -> list[str]:
        """Where the row of a block begins, and the other words that a table has for it."""
        base, table = self.address(memory, step), self.address(memory + 1, step)
        code = self if step else self.by_block
        at = code.say(f"add i64 {table}, {code.say(f'mul i64 %block, {8 * count}')}")
        offset, *bounds = (code.load_word(at, 8 * k) for k in range(count))
        found = [code.say(f"add i64 {base}, {offset}"), *bounds]
        return found if step else [*map(self.given, found)]

    def load_strided(self, x: Input, step: int) -> str:
        """The value of an input whose elements lie at equal distances."""
        base, stride = self.address(x.memory, step), self.address(x.memory + 1, step)
        at = self.say(f"add i64 {base}, {self.say(f'mul i64 %flat, {stride}')}")
        if self.width == 1:
            return self.say(f"load {self.shared.real}, ptr {self.say(f'inttoptr i64 {at} to ptr')}, align 1")
        return self.one_by_one(x, at, stride)

    def gathered(self, at: str, stride: str) -> str:
        """The elements of the lanes that are there, at a distance from each other, by one instruction."""
        vector, width, words = self.types[F], self.width, f"<{self.width} x i64>"
        lanes = ", ".join(f"i64 {k}" for k in range(width))
        away = self.say(f"mul {words} {self.splat(stride, 'i64')}, <{lanes}>")
        places = self.say(f"add {words} {self.splat(at, 'i64')}, {away}")
        pointers = self.say(f"inttoptr {words} {places} to <{width} x ptr>")
        name = f"@llvm.masked.gather.v{width}f{self.task.bits}.v{width}p0"
        self.shared.declare(f"declare {vector} {name}(<{width} x ptr>, i32, {self.types[B]}, {vector})")
        mask, item = f"{self.types[B]} %mask", self.shared.item
        operands = f"<{width} x ptr> {pointers}, i32 {item}, {mask}, {vector} zeroinitializer"
        return self.say(f"call {vector} {name}({operands})")

    def one_by_one(self, x: Input, at: str, stride: str) -> str:
        """The same by a load for each lane, a tenth of the time of that instruction, where all lanes are there."""
        vector, width, real, item = self.types[F], self.width, self.shared.real, self.shared.item
        n = self.parted()
        self.shared.declare(prefetch.DECLARATION)
        ahead = self.say(f"add i64 {at}, {self.say(f'mul i64 {stride}, {2 * width + x.memory // 2 % width}')}")
        for more in (0, 64):
            pointer = self.say(f"inttoptr i64 {self.say(f'add i64 {ahead}, {more}')} to ptr")
            self.lines.append(prefetch.instruction(pointer, prefetch.READ))
        found, place = "poison", at
        for k in range(width):
            one = self.say(f"load {real}, ptr {self.say(f'inttoptr i64 {place} to ptr')}, align {item}")
            found = self.say(f"insertelement {vector} {found}, {real} {one}, i32 {k}")
            place = self.say(f"add i64 {place}, {stride}") if k < width - 1 else place
        self.lines += [f"br label %{n}both", f"{n}some:"]
        some = self.gathered(at, stride)
        self.lines += [f"br label %{n}both", f"{n}both:"]
        return self.say(f"phi {vector} [{found}, %{n}all], [{some}, %{n}some]")

    def within(self, first: str, end: str) -> str:
        """A mask of the lanes whose places are from the first to the end of a run."""
        width = f"<{self.width} x i32>"
        start, length = (
            self.splat(self.say(f"trunc i64 {x} to i32"), "i32")
            for x in (self.say(f"sub i64 %at, {first}"), self.say(f"sub i64 {end}, {first}"))
        )
        lanes = ", ".join(f"i32 {k}" for k in range(self.width))
        return self.say(f"icmp ult {width} {self.say(f'add {width} {start}, <{lanes}>')}, {length}")

    def splat(self, scalar: str, element: str, code: Code | None = None) -> str:
        vector, code = f"<{self.width} x {element}>", code or self
        one = code.say(f"insertelement {vector} poison, {element} {scalar}, i32 0")
        return code.say(f"shufflevector {vector} {one}, {vector} poison, <{self.width} x i32> zeroinitializer")

    def element(self, kind: int) -> tuple[str, int]:
        """The type of an element in memory, and its size."""
        return {F: (self.shared.real, self.shared.item), B: ("i8", 1), W: ("i64", 8)}[kind]

    def load_before(self, x: Input) -> str:
        """One number in every lane, or the number of the block: read once, or once for each block."""
        one, self.before = x.lies == "one", self.before + 1
        code, (_, item) = self.once if one else self.by_block, self.element(x.kind)
        place = self.address(x.memory)
        if x.offset:
            place = code.say(f"add i64 {place}, {item * x.offset}")
        if not one:
            place = code.say(f"add i64 {place}, {code.say(f'mul i64 %block, {item}')}")
        pointer = code.say(f"inttoptr i64 {place} to ptr")
        return self.given(self.load_number(code, x, pointer), self.types[B if x.kind == B else F])

    def load_number(self, code: Code, x: Input, pointer: str) -> str:
        """The number at an address, in every lane."""
        element, item = self.element(x.kind)
        loaded = code.say(f"load {element}, ptr {pointer}, align {item}")
        return self.as_value(code, x.kind, self.splat(loaded, element, code) if self.width > 1 else loaded)

    def load_vector(self, x: Input, memory: int, offset: int) -> str:
        """The next numbers of an input, one in each lane."""
        pointer, (element, item) = self.pointer(x, x.kind, x.lies, memory, offset), self.element(x.kind)
        suffix = f"v{self.width}" + (f"f{self.task.bits}" if x.kind == F else element)
        loaded = self.load_lanes(suffix, f"<{self.width} x {element}>", pointer, item)
        self.prefetch(pointer, item, prefetch.READ)
        return self.as_value(self, x.kind, loaded)

    def as_value(self, code: Code, kind: int, loaded: str) -> str:
        """What was read as the kernel computes with it: whole numbers as others, bytes as truth values."""
        width = self.width
        if kind == W:
            return code.say(f"sitofp {f'<{width} x i64>' if width > 1 else 'i64'} {loaded} to {self.types[F]}")
        if kind == B:
            types = f"<{width} x i8> {loaded}, zeroinitializer" if width > 1 else f"i8 {loaded}, 0"
            return code.say(f"icmp ne {types}")
        return loaded

    # Outputs.

    def write(self, number: int, value: str, memory: int = 0, offset: int = 0) -> None:
        """Write an element or number, or add to a sum; in a loop at so many steps from that output."""
        output, width = self.task.outputs[number], self.width
        kind = self.shared.kinds[output.value]
        if output.how in SUMS:
            self.accumulate(self.shared.accumulators[number], value, memory, output.how in OF_SHORT_ROWS + OF_FEW)
            return
        if output.how == OF_COLUMNS:
            self.add_to_columns(output, value)
            return
        type_, suffix, align = self.types[F], f"v{width}f{self.task.bits}", self.shared.item
        if kind == B:
            type_, suffix, align = f"<{width} x i8>" if width > 1 else "i8", f"v{width}i8", 1
            value = self.say(f"zext {self.types[B]} {value} to {type_}")
        pointer = self.pointer(output, kind, "every" if output.how == "each" else "one", memory, offset)
        if width > 1:
            self._stores.append(VectorStore(suffix, type_, value, pointer, align))
            self.prefetch(pointer, align, prefetch.WRITE)
        else:
            self.lines.append(f"store {type_} {value}, ptr {pointer}, align {align}")

    def add_to_columns(self, output: Output, value: str) -> None:
        """Add the lanes that are there to what memory has for them."""
        vector, item, suffix = self.types[F], self.shared.item, f"v{self.width}f{self.task.bits}"
        first, period, count = map(self.address, (output.memory, output.memory + 1, COUNT - HEADER))
        code = self.by_block
        row = code.say(f"mul i64 {code.say(f'urem i64 %block, {period}')}, {code.say(f'mul i64 {count}, {item}')}")
        start = self.given(code.say(f"add i64 {first}, {row}"))
        at = self.say(f"add i64 {start}, {self.say(f'mul i64 %at, {item}')}")
        pointer = self.say(f"inttoptr i64 {at} to ptr")
        before = self.load_lanes(suffix, vector, pointer, item)
        total = self.say(f"fadd {vector} {before}, {value}")
        self._stores.append(VectorStore(suffix, vector, total, pointer, item))

    def store_all(self) -> None:
        """Store what was computed: where all lanes are there as it is, else under a mask."""
        if not self._stores:
            return
        whole, masked = [], []
        for x in self._stores:
            name, truths = f"@llvm.masked.store.{x.suffix}.p0", self.types[B]
            self.shared.declare(f"declare void {name}({x.type}, ptr, i32, {truths})")
            whole.append(f"store {x.type} {x.value}, ptr {x.pointer}, align {x.align}")
            masked.append(f"call void {name}({x.type} {x.value}, ptr {x.pointer}, i32 {x.align}, {truths} %mask)")
        n = self.parted()
        self.lines += [*whole, f"br label %{n}both", f"{n}some:", *masked, f"br label %{n}both", f"{n}both:"]
        self._stores.clear()

    def accumulate(self, number: int, value: str, step: int, in_order: bool) -> None:
        """Add the lanes that are to be added to a sum, in a loop to that so many further in each iteration.

        If it is `in_order`, and may go through several vectors, the first lane of the sum has all that were before.
        """
        type_ = self.types[F]
        if self.width > 1:
            value = self.say(f"select {self.types[B]} %added, {type_} {value}, {type_} zeroinitializer")
        place = str(number)
        if step:
            place = self.say(f"add i64 {number}, {self.say(f'mul i64 %i, {step}')}")
        pointer = self.say(f"getelementptr {type_}, ptr %sums, i64 {place}")
        before = self.say(f"load {type_}, ptr {pointer}")
        if in_order and 1 < self.width < IN_ORDER:
            name, real = f"llvm.vector.reduce.fadd.v{self.width}f{self.task.bits}", self.shared.real
            self.shared.declare(f"declare {real} @{name}({real}, {type_})")
            first = self.say(f"extractelement {type_} {before}, i32 0")
            after = self.say(f"call {real} @{name}({real} {first}, {type_} {value})")
            total = self.say(f"insertelement {type_} zeroinitializer, {real} {after}, i32 0")
        else:
            total = self.say(f"fadd {type_} {before}, {value}")
        self.lines.append(f"store {type_} {total}, ptr {pointer}")
