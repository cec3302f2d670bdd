"""Arithmetic on vectors in a function that is being built."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir

from ..machine.platform import target

LAYOUT = {64: (52, 1023), 32: (23, 127)}
"""By the bits of a number, how many of them are its fraction, and what is added to its exponent."""
MOST = 64
"""Room for the numbers of a function."""


def declared(module: ir.Module, name: str, result: Any, operands: Sequence[Any]) -> ir.Function:
    """A function from elsewhere, declared once in a module."""
    if name in module.globals:
        return module.globals[name]
    return ir.Function(module, ir.FunctionType(result, operands), name)


PREDICATES = {"<": "olt", "<=": "ole", ">": "ogt", ">=": "oge"}
"""LLVM's names of what is false where there is a nan."""


def compared(code: ir.IRBuilder, module: ir.Module, name: str, x: Any, y: Any) -> Any:
    """A mask that says where a comparison holds; where there is a nan only ``!=`` does.

    NumPy makes no error of a nan there, so the processor must raise no flag: LLVM takes an instruction that raises
    none only if it is asked for one, and where there is none (before AVX) it would go through the lanes one by one.
    """
    if name == "!=":
        return code.fcmp_unordered(name, x, y)
    if name not in PREDICATES or target().bits == 128:
        return code.fcmp_ordered(name, x, y)
    wide, bits = isinstance(x.type, ir.VectorType), ir.IntType(1)
    one = x.type.element if wide else x.type
    result = ir.VectorType(bits, x.type.count) if wide else bits
    suffix = (f"v{x.type.count}" if wide else "") + ("f64" if isinstance(one, ir.DoubleType) else "f32")
    words = ir.MetaDataType()
    function = declared(module, f"llvm.experimental.constrained.fcmp.{suffix}", result, [x.type, x.type, words, words])
    said = [ir.MetaDataString(module, text) for text in (PREDICATES[name], "fpexcept.ignore")]
    return code.call(function, [x, y, *said])


def by_register(code: ir.IRBuilder, call: Callable[[list[Any]], Any], operands: Sequence[Any], lanes: int) -> Any:
    """Something done with so many lanes at a time, on longer vectors: their number is a power of two."""
    width, index = operands[0].type.count, ir.IntType(32)
    none = ir.Constant(operands[0].type, ir.Undefined)
    parts: list[Any] = []
    for start in range(0, width, lanes):
        places = ir.Constant(ir.VectorType(index, lanes), list(range(start, start + lanes)))
        parts.append(call([code.shuffle_vector(x, none, places) for x in operands] if width > lanes else [*operands]))
    while len(parts) > 1:
        n = parts[0].type.count
        places = ir.Constant(ir.VectorType(index, 2 * n), list(range(2 * n)))
        parts = [code.shuffle_vector(a, b, places) for a, b in zip(parts[::2], parts[1::2])]
    return parts[0]


class VectorValue:
    """A vector in a function that is being built, with the operators of numbers."""

    __slots__ = ("built", "raw")

    def __init__(self, built: Builder, raw: Any):
        self.built, self.raw = built, raw

    def __add__(self, other: VectorValue | float) -> VectorValue:
        return self.built.binary("fadd", self, other)

    def __sub__(self, other: VectorValue | float) -> VectorValue:
        return self.built.binary("fsub", self, other)

    def __mul__(self, other: VectorValue | float) -> VectorValue:
        return self.built.binary("fmul", self, other)

    def __truediv__(self, other: VectorValue | float) -> VectorValue:
        return self.built.binary("fdiv", self, other)

    def __neg__(self) -> VectorValue:
        return VectorValue(self.built, self.built.code.fneg(self.raw, flags=("contract",)))

    def __lt__(self, other: VectorValue | float) -> Any:
        return self.built.compare("<", self, other)

    def __gt__(self, other: VectorValue | float) -> Any:
        return self.built.compare(">", self, other)


class Builder:
    """Builds a function of one vector.

    Attributes:
        fraction, bias: how many bits of a number are its fraction, and what is added to its exponent.
        shift: a number so large that adding it rounds to whole numbers, which stay, biased, in the last bits.
    """

    def __init__(self, function: ir.Function, bits: int, width: int):
        self.code = ir.IRBuilder(function.append_basic_block())
        self.module, self.bits, self.width = function.module, bits, width
        self.fraction, self.bias = LAYOUT[bits]
        self.shift = 1.5 * 2.0**self.fraction + self.bias
        self.type = function.args[0].type
        self.whole = ir.VectorType(ir.IntType(bits), width)
        self.numbers: dict[bytes, int] = {}
        array = ir.ArrayType(self.type.element, MOST)
        self.table = ir.GlobalVariable(self.module, array, f"{function.name}.numbers")
        self.table.storage_class = "externally_initialized"

    def number(self, x: VectorValue | float) -> Any:
        """A vector, of a number the one that has it in each place.

        Numbers lie in memory that the compiler must take for variable: else it would fetch all before the loop,
        and as registers do not suffice, put each aside to fetch it again.
        """
        if isinstance(x, VectorValue):
            return x.raw
        place = self.numbers.setdefault(struct.pack("<d", x), len(self.numbers))
        code, index = self.code, ir.IntType(32)
        at = code.gep(self.table, [index(0), index(place)], inbounds=True)
        one = code.insert_element(ir.Constant(self.type, ir.Undefined), code.load(at), index(0))
        everywhere = ir.Constant(ir.VectorType(index, self.width), [0] * self.width)
        return code.shuffle_vector(one, ir.Constant(self.type, ir.Undefined), everywhere)

    def finish(self, result: VectorValue) -> None:
        """Give back the result, and fill the table of numbers."""
        self.code.ret(result.raw)
        values = [struct.unpack("<d", key)[0] for key in self.numbers]
        self.table.initializer = ir.Constant(self.table.value_type, values + [0.0] * (MOST - len(values)))

    def binary(self, name: str, x: VectorValue, y: VectorValue | float) -> VectorValue:
        return VectorValue(self, getattr(self.code, name)(x.raw, self.number(y), flags=("contract",)))

    def compare(self, name: str, x: VectorValue, y: VectorValue | float) -> Any:
        """A mask; false where there is a nan."""
        return compared(self.code, self.module, name, x.raw, self.number(y))

    def where(self, mask: Any, x: VectorValue | float, y: VectorValue | float) -> VectorValue:
        return VectorValue(self, self.code.select(mask, self.number(x), self.number(y)))

    def within(self, x: VectorValue, low: float, high: float) -> VectorValue:
        """The nearest number in an interval; nan stays nan."""
        x = self.where(x < low, low, x)
        return self.where(x > high, high, x)

    def call(self, function: ir.Function, *xs: VectorValue) -> VectorValue:
        return VectorValue(self, self.code.call(function, [x.raw for x in xs]))

    def intrinsic(self, name: str, *xs: VectorValue) -> VectorValue:
        name = f"llvm.{name}.v{self.width}f{self.bits}"
        return self.call(declared(self.module, name, self.type, [self.type] * len(xs)), *xs)

    def as_word(self, x: VectorValue) -> Any:
        return self.code.bitcast(x.raw, self.whole)

    def from_word(self, x: Any) -> VectorValue:
        return VectorValue(self, self.code.bitcast(x, self.type))

    def word(self, x: int) -> Any:
        return ir.Constant(self.whole, [x] * self.width)

    def polynomial(self, x: VectorValue, coefficients: Sequence[VectorValue | float]) -> VectorValue:
        """A sum of powers: Horner's rule for the even and for the odd ones, so that one need not wait for the other."""
        square = x * x
        even, odd = (self.horner(square, coefficients[k::2]) for k in (0, 1))
        return odd * x + even

    def horner(self, x: VectorValue, coefficients: Sequence[VectorValue | float]) -> VectorValue:
        y = VectorValue(self, self.number(coefficients[-1]))
        for c in reversed(coefficients[:-1]):
            y = y * x + c
        return y

    def scaled(self, y: VectorValue, k: VectorValue) -> VectorValue:
        """y 2ᵏ: by an instruction, where there is one; else in two halves, so that tiny results are rounded once."""
        if target().bits == 512 and self.width * self.bits % 512 == 0:
            return self.scaled_at_once(y, k)
        half = k * 0.5 + self.shift
        rest = k - (half - self.shift) + self.shift
        return y * self.power_of_two(half) * self.power_of_two(rest)

    def scaled_at_once(self, y: VectorValue, k: VectorValue) -> VectorValue:
        """The same by the instruction of AVX-512."""
        lanes, code = 512 // self.bits, self.code
        vector, mask, word = ir.VectorType(self.type.element, lanes), ir.IntType(lanes), ir.IntType(32)
        name = f"llvm.x86.avx512.mask.scalef.p{'d' if self.bits == 64 else 's'}.512"
        scale = declared(self.module, name, vector, [vector, vector, vector, mask, word])
        rest = ir.Constant(vector, None), mask(-1), word(4)
        return VectorValue(
            self, by_register(code, lambda parts: code.call(scale, [*parts, *rest]), [y.raw, k.raw], lanes)
        )

    def power_of_two(self, shifted: VectorValue) -> VectorValue:
        """2ᵏ, of k + `shift`."""
        return self.from_word(self.code.shl(self.as_word(shifted), self.word(self.fraction)))
