"""Lines of LLVM code: those that compute an op, which ops have such lines, and code that is written of them."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence
from functools import cache

from llvmlite import ir

from ops import Op, Symbol
from ops.core.lane import Compare, Mask, Opaque, Same, Scalar, Select, Via
from ops.core.loops import ufunc_of
from ops.core.registry import is_declared

from .emit import Emitter, NoLane
from .scalars import scalar_name

F, B = 0, 1
"""Kinds of value: a floating-point number, a truth value."""
W = 2
"""Whole numbers in memory, of 64 bits, which are floating-point numbers once they are read."""


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


def keeps_numbers(op: Op) -> bool:
    """Whether an op gives its operand's numbers in the kernel's precision: repeated, or out of another dtype."""
    return isinstance(op.lane, Same) or op.name == "cast"


@cache
def takes_whole(op: Op) -> bool:
    """Whether NumPy computes an op with a lane in floating-point numbers, and turns whole ones among them to these.

    That is so of a ufunc that has no loop for both kinds at once.
    """
    if op.name in ("cast", "chain_mul") or isinstance(op.lane, Select):
        return True
    ufunc = ufunc_of(op)
    return ufunc is not None and not any(_mixes(loop.split("->")[0]) for loop in ufunc.types)


def _mixes(operands: str) -> bool:
    """Whether a loop takes whole numbers and floating-point ones, given the letters of their dtypes."""
    return not set("bBhHiIlLqQ").isdisjoint(operands) and not set("efdgFDG").isdisjoint(operands)


def gives_back(op: Op) -> bool:
    """Whether an op gives real numbers back as they are."""
    if not isinstance(op.lane, Via) or op.arity != 1 or not is_declared(op):
        return False
    found = op.lane.formula(Symbol("x"))
    return isinstance(found, Symbol) and found.op is None


def has_lane(op: Op) -> bool:
    """Whether an op can be part of a fused kernel.

    One that was removed is no longer: its formula may ask for ops that are gone as well.
    """
    return is_declared(op) and _has_lane(op)


@cache
def _has_lane(op: Op) -> bool:
    if isinstance(op.lane, Same):
        return True
    if op.lane is None or isinstance(op.lane, Opaque) or op.params or op.variadic:
        return False
    if isinstance(op.lane, Via):
        found = op.lane.formula(*map(Symbol, "xyw"[: op.arity]))
        if not isinstance(found, Symbol) or found.op is None:
            return False
        return all(s.op is None or has_lane(s.op) for s in found.walk())
    return True


def fits(op: Op) -> bool:
    """Whether an op with a lane can run in kernels as it is: scalar code that may raise cannot.

    Scalar code is compiled to find that out, so this is asked only of ops that are used.
    """
    code = op.lane.code if isinstance(op.lane, Scalar) else None
    return code is None or all(scalar_name(code, bits, op.arity) for bits in (64, 32))


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

    template = _NAME.sub(rename, text)
    declared = tuple(str(g).strip() for name, g in module.globals.items() if name != "op")
    if not inner:
        return (lambda n, z, *xs: template.format(z, *xs)), 0, declared
    count = len(inner)
    return (lambda n, z, *xs: template.format(z, *xs, n=range(n, n + count))), count, declared


class Code:
    """Code that is being written.

    Attributes:
        lines: what it consists of.
        prefix: how its names begin.
    """

    def __init__(self, prefix: str = "t") -> None:
        self.lines: list[str] = []
        self.prefix = prefix
        self._names = 0

    def name(self) -> str:
        self._names += 1
        return f"%{self.prefix}{self._names - 1}"

    def load_word(self, address: str, offset: int) -> str:
        """A word of memory."""
        pointer = self.say(f"inttoptr i64 {self.say(f'add i64 {address}, {offset}')} to ptr")
        return self.say(f"load i64, ptr {pointer}")

    def say(self, line: str) -> str:
        """Add an instruction that gives a value; its name."""
        name = self.name()
        self.lines.append(f"{name} = {line}")
        return name

    def compute(self, op: Op, bits: int, width: int, operands: Sequence[str], declared: dict[str, None]) -> str:
        """Add the lines of an op, and to `declared` what they call; the name of its result."""
        write, count, called = lines_of(op, bits, width)
        for d in called:
            declared[d] = None
        result = self.name()
        self.lines.append(write(self._names, result, *operands))
        self._names += count
        return result


def hexadecimal(value: float, bits: int) -> str:
    """A floating-point constant as LLVM reads it."""
    if bits == 32:
        value = struct.unpack("f", struct.pack("f", value))[0]
    return f"0x{struct.unpack('Q', struct.pack('d', value))[0]:016X}"
