"""From a symbolic expression to LLVM instructions, a vector of lanes or one number at a time."""

from __future__ import annotations

from functools import reduce
from typing import Any

from llvmlite import ir

from ops import Symbol
from ops.core.lane import Compare, Instruction, Intrinsic, Mask, Math, Scalar, Select, Via

from .vector_functions import FUNCTIONS, vector_code
from ..machine.platform import target, vector_function
from .scalars import scalar_name
from .vectors import by_register, compared, declared

REAL = {64: ir.DoubleType(), 32: ir.FloatType()}


LOUD = ("pow",)
"""Functions in whose place NumPy has others, which make errors of infinite numbers that these do not make."""


class NoLane(Exception):
    """An op in the expression cannot be computed in lanes."""


class Emitter:
    """Emits expressions into a builder for vectors of `width` numbers (1: plain numbers)."""

    def __init__(self, module: ir.Module, builder: ir.IRBuilder, bits: int, width: int):
        self.module = module
        self.builder = builder
        self.bits = bits
        self.width = width
        self.type = ir.VectorType(REAL[bits], width) if width > 1 else REAL[bits]

    def constant(self, value: float) -> ir.Constant:
        """A number in every lane."""
        return ir.Constant(self.type, [value] * self.width if self.width > 1 else value)

    def emit(self, expression: Any, inputs: dict[str, Any]) -> Any:
        """The value of an expression whose named inputs are the given values."""
        if not isinstance(expression, Symbol):
            return self.constant(float(expression))
        done: dict[int, Any] = {}
        for symbol in expression.walk():
            if symbol.op is None:
                done[id(symbol)] = inputs[symbol.name]
            else:
                operands = [done[id(x)] if isinstance(x, Symbol) else self.constant(float(x)) for x in symbol.operands]
                done[id(symbol)] = self.apply(symbol.op, operands)
        return done[id(expression)]

    def apply(self, op: Any, operands: list[Any]) -> Any:
        """One op on lanes, by what its declaration says."""
        b, lane = self.builder, op.lane
        if isinstance(lane, Instruction):
            return getattr(b, lane.name)(*operands)
        if isinstance(lane, Intrinsic):
            return b.call(self.intrinsic(lane.name, len(operands)), operands)
        if isinstance(lane, Math):
            return self.math(lane.name, operands)
        if isinstance(lane, Compare):
            return compared(b, self.module, lane.name, *operands)
        if isinstance(lane, Mask):
            return getattr(b, lane.name)(*operands)
        if isinstance(lane, Select):
            return self.fenced(b.select(*operands))
        if isinstance(lane, Via):
            names = [f"x{i}" for i in range(len(operands))]
            z = self.emit(lane.formula(*map(Symbol, names)), dict(zip(names, operands)))
            return self.raised(z, b.fcmp_unordered("uno", z, z)) if lane.heeds_nan else z
        if isinstance(lane, Scalar) and (name := scalar_name(lane.code, self.bits, len(operands))):
            return self.one_by_one(name, operands)
        raise NoLane(op.name)

    def intrinsic(self, name: str, operands: int) -> ir.Function:
        suffix = f"v{self.width}f{self.bits}" if self.width > 1 else f"f{self.bits}"
        return self.function(f"llvm.{name}.{suffix}", self.type, operands)

    def function(self, name: str, type_: Any, operands: int) -> ir.Function:
        """Declare a function once per module."""
        return declared(self.module, name, type_, [type_] * operands)

    def math(self, name: str, operands: list[Any]) -> Any:
        """A function of the math library: for one register by that of vectors, if the system has it; else written out.

        What is neither there nor written is called lane by lane.
        """
        library = self.width > 1 and vector_function(name, self.bits, len(operands))
        if self.width > 1 and name in FUNCTIONS and not (library and self.width == target().lanes(self.bits)):
            return self.builder.call(vector_code(self.module, name, self.bits, self.width), operands)
        if library:
            return self.by_library(library, operands)
        result = self.one_by_one(name + ("f" if self.bits == 32 else ""), operands)
        return self.raised(result, self.infinite(operands)) if name in LOUD else result

    def infinite(self, operands: list[Any]) -> Any:
        """A mask that says where an operand is infinite."""
        b, infinity = self.builder, self.constant(float("inf"))
        sizes = [b.call(self.intrinsic("fabs", 1), [x]) for x in operands]
        return reduce(b.or_, [b.fcmp_ordered("==", size, infinity) for size in sizes])

    def fenced(self, z: Any) -> Any:
        """The same, of which LLVM knows nothing: else it computes of what is chosen beforehand, without an error."""
        return self.builder.call(self.intrinsic("arithmetic.fence", 1), [z])

    def raised(self, z: Any, found: Any) -> Any:
        """The same, where all flags of errors are raised if a mask holds: past a fence LLVM does not compute."""
        b, one = self.builder, self.constant(1.0)
        bad = 0.0, 1e38 if self.bits == 32 else 1e308
        divisor, factor = (self.fenced(b.select(found, self.constant(x), one)) for x in bad)
        nothing = self.fenced(b.fsub(b.fdiv(one, divisor), b.fmul(factor, factor)))  # ∞ − ∞, or 1 − 1
        return b.select(b.fcmp_unordered("uno", nothing, nothing), z, b.fsub(z, nothing))

    def by_library(self, name: str, operands: list[Any]) -> Any:
        """A function of the vector math library, which takes a register."""
        lanes = target().lanes(self.bits)
        register = ir.VectorType(REAL[self.bits], lanes)
        function = self.function(name, register, len(operands))
        return by_register(self.builder, lambda parts: self.builder.call(function, parts), operands, lanes)

    def one_by_one(self, name: str, operands: list[Any]) -> Any:
        """A function of plain numbers, called for each lane."""
        b = self.builder
        scalar = self.function(name, REAL[self.bits], len(operands))
        if self.width == 1:
            return b.call(scalar, operands)
        result: Any = ir.Constant(self.type, ir.Undefined)
        for k in range(self.width):
            at = ir.Constant(ir.IntType(32), k)
            value = b.call(scalar, [b.extract_element(x, at) for x in operands])
            result = b.insert_element(result, value, at)
        return result
