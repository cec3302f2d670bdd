"""How a function of a kernel reads what does not lie as its lanes do: rows, runs, elements at equal distances."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import prefetch
from .lines import B, Code, F
from .task import HEADER, Input

if TYPE_CHECKING:
    from .kernel_functions import Shared


def addresses(lies: str) -> int:
    """How many addresses of the table belong to an input."""
    return 2 if lies in ("rows", "strided") else 2 * int(lies.split()[1]) if lies.startswith("runs") else 1


class KernelReads(Code):
    """A function that is being written, as far as it reads.

    Attributes:
        in_loop: whether it is a loop, which is one block of instructions.
    """

    def __init__(self, shared: Shared):
        super().__init__()
        self.shared, self.task, self.width, self.types = shared, shared.task, shared.width, shared.types
        self.in_loop = False
        self._addresses: dict[int, str] = {}

    def address(self, memory: int, step: int = 0) -> str:
        """The address in a word of the table, loaded once; in a loop another word in each iteration."""
        if step:
            word = self.say(f"add i64 %table, {8 * (HEADER + memory)}")
            word = self.say(f"add i64 {word}, {self.say(f'mul i64 %i, {8 * step}')}")
            return self.say(f"load i64, ptr {self.say(f'inttoptr i64 {word} to ptr')}")
        found = self._addresses.get(memory)
        if found is None:
            pointer = self.say(f"inttoptr i64 {self.say(f'add i64 %table, {8 * (HEADER + memory)}')} to ptr")
            found = self._addresses[memory] = self.say(f"load i64, ptr {pointer}")
        return found

    def load_rows(self, x: Input, step: int) -> str:
        """The value of an input whose blocks are rows that lie anywhere, or runs of elements; zeros elsewhere."""
        vector, item, found = self.types[F], self.shared.item, "zeroinitializer"
        name = f"@llvm.masked.load.v{self.width}f{self.task.bits}.p0"
        self.shared.declare(f"declare {vector} {name}(ptr, i32, {self.types[B]}, {vector})")
        runs = x.lies != "rows"
        for memory in range(x.memory, x.memory + addresses(x.lies), 2):
            base, table = (self.address(m, step) if step else self.address(m) for m in (memory, memory + 1))
            word = self.say(f"add i64 {table}, {self.say(f'mul i64 %block, {24 if runs else 8}')}")
            row = self.say(f"add i64 {base}, {self.word(word, 0)}")
            at = self.say(f"add i64 {row}, {self.say(f'mul i64 %at, {item}')}")
            pointer = self.say(f"inttoptr i64 {at} to ptr")
            mask = self.within(self.word(word, 1), self.word(word, 2)) if runs else "%mask"
            found = self.say(
                f"call {vector} {name}(ptr {pointer}, i32 {item}, {self.types[B]} {mask}, {vector} {found})"
            )
        return found

    def load_strided(self, x: Input, step: int) -> str:
        """The value of an input whose elements lie at equal distances."""
        base, stride = (self.address(m, step) if step else self.address(m) for m in (x.memory, x.memory + 1))
        at = self.say(f"add i64 {base}, {self.say(f'mul i64 %flat, {stride}')}")
        if self.width == 1:
            return self.say(f"load {self.shared.real}, ptr {self.say(f'inttoptr i64 {at} to ptr')}, align 1")
        if self.in_loop:
            return self.gathered(at, stride)
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
        bits = self.say(f"bitcast {self.types[B]} %mask to i{width}")
        n = self.name()[1:]
        self.lines += [
            f"br i1 {self.say(f'icmp eq i{width} {bits}, -1')}, label %{n}all, label %{n}some", f"{n}all:",
        ]  # fmt: skip
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

    def word(self, address: str, k: int) -> str:
        """One of the words at an address."""
        place = self.say(f"add i64 {address}, {8 * k}")
        return self.say(f"load i64, ptr {self.say(f'inttoptr i64 {place} to ptr')}")

    def within(self, first: str, end: str) -> str:
        """A mask of the lanes whose places are from the first to the end of a run."""
        width = f"<{self.width} x i32>"
        start, length = (
            self.splat(self.say(f"trunc i64 {x} to i32"), "i32")
            for x in (self.say(f"sub i64 %at, {first}"), self.say(f"sub i64 {end}, {first}"))
        )
        lanes = ", ".join(f"i32 {k}" for k in range(self.width))
        return self.say(f"icmp ult {width} {self.say(f'add {width} {start}, <{lanes}>')}, {length}")

    def splat(self, scalar: str, element: str) -> str:
        vector = f"<{self.width} x {element}>"
        one = self.say(f"insertelement {vector} poison, {element} {scalar}, i32 0")
        return self.say(f"shufflevector {vector} {one}, {vector} poison, <{self.width} x i32> zeroinitializer")
