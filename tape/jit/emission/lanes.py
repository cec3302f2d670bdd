"""Lane kernels: an expression over arrays, as straight-line SIMD code in a loop.

A kernel takes the address of its step (see `tape.jit.machine.state`), reads from it where its inputs and
its output are, and computes ``out = f(g, x, y, z)``, ``out += f(g, x, y, z)``, or the same with the
sum of f over all elements.  Whole vectors go first, the remainder one number at a time.  An input
whose stride is 0 is one number for all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from ops import REGISTRY, Op, Symbol
from ops.core.differentiate import Zero

from .emit import REAL, Emitter
from ..machine.platform import target
from .prefetch import READ, WRITE, prefetch
from ..machine.state import ELEMENTS, MODE, OUT, STORE, SUM, XV, YV, ZV, G

I64 = ir.IntType(64)
Inputs = dict[str, tuple[Any, Any]]
INPUTS = {"g": G, "x": XV, "y": YV, "z": ZV}


def kernel_module(formula: Any, bits: int) -> ir.Module:
    """LLVM module with one function, ``kernel(step)``, for an expression in g, x, y and z."""
    module = ir.Module("lanes")
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [I64]), "kernel")
    _Kernel(module, function, formula, bits).build()
    return module


class _Kernel:
    """Builds one kernel: for each mode a loop over vectors and one over the remainder."""

    def __init__(self, module: ir.Module, function: ir.Function, formula: Any, bits: int):
        self.module, self.function, self.formula, self.bits = module, function, formula, bits
        self.width = target().lanes(bits)
        used = {s.name for s in formula.walk() if s.op is None} if isinstance(formula, Symbol) else set()
        self.names = [name for name in INPUTS if name in used]
        self.builder = ir.IRBuilder(function.append_basic_block("entry"))

    def word(self, index: int) -> Any:
        """A word of the step."""
        b = self.builder
        address = b.add(self.function.args[0], I64(8 * index))
        return b.load(b.inttoptr(address, I64.as_pointer()))

    def build(self) -> None:
        b = self.builder
        n, out, mode = self.word(ELEMENTS), self.word(OUT), self.word(MODE)
        vectors = b.udiv(n, I64(self.width))
        rest = b.sub(n, b.mul(vectors, I64(self.width)))
        wide = {name: self.splat(name) for name in self.names}
        narrow = {
            name: (b.add(address, b.mul(vectors, step)), b.udiv(step, I64(self.width)))
            for name, (address, step) in wide.items()
        }
        loops = {
            0: lambda: self.map(vectors, rest, out, wide, narrow, store=False),
            STORE: lambda: self.map(vectors, rest, out, wide, narrow, store=True),
            SUM: lambda: self.sum(vectors, rest, out, mode, wide, narrow),
        }
        done = self.function.append_basic_block("done")
        blocks = {k: self.function.append_basic_block(f"mode{k}") for k in loops}
        switch = b.switch(mode, blocks[SUM])
        for k in (0, STORE):
            switch.add_case(I64(k), blocks[k])
        for k, loop in loops.items():
            b.position_at_end(blocks[k])
            loop()
            b.branch(done)
        b.position_at_end(done)
        b.ret_void()

    def map(self, vectors: Any, rest: Any, out: Any, wide: Inputs, narrow: Inputs, store: bool) -> None:
        """``out = f`` or ``out += f``, element by element."""
        b, item = self.builder, self.bits // 8
        for width, count, inputs in ((self.width, vectors, wide), (1, rest, narrow)):
            start = out if width > 1 else b.add(out, b.mul(vectors, I64(item * self.width)))

            def body(k: Any, emitter: Emitter, value: Any, carried: Any, start: Any = start, width: int = width) -> Any:
                address = b.add(start, b.mul(k, I64(item * width)))
                place = b.inttoptr(address, emitter.type.as_pointer())
                b.store(value if store else b.fadd(b.load(place, align=item), value), place, align=item)
                if width > 1:
                    prefetch(b, address, item * width, WRITE)

            self.loop(width, count, inputs, body, None)

    def sum(self, vectors: Any, rest: Any, out: Any, mode: Any, wide: Inputs, narrow: Inputs) -> None:
        """``out = Σ f`` or ``out += Σ f``, one number."""
        b = self.builder

        def body(k: Any, emitter: Emitter, value: Any, carried: Any) -> Any:
            return b.fadd(carried, value)

        lanes = self.loop(self.width, vectors, wide, body, 0.0)
        total: Any = ir.Constant(REAL[self.bits], 0.0)
        for k in range(self.width):
            total = b.fadd(total, b.extract_element(lanes, ir.Constant(ir.IntType(32), k)))
        total = b.fadd(total, self.loop(1, rest, narrow, body, 0.0))
        place = b.inttoptr(out, REAL[self.bits].as_pointer())
        overwrite = b.icmp_signed("!=", b.and_(mode, I64(STORE)), I64(0))
        b.store(b.select(overwrite, total, b.fadd(b.load(place), total)), place)

    def splat(self, name: str) -> tuple[Any, Any]:
        """Address of an input's vectors and the bytes from one to the next: 0 for a repeated number."""
        b, vector = self.builder, ir.VectorType(REAL[self.bits], self.width)
        address, stride = self.word(INPUTS[name]), self.word(INPUTS[name] + 1)
        with b.goto_entry_block():
            buffer = b.alloca(vector, name=f"{name}_splat")
            buffer.align = 64
        repeated = b.icmp_signed("==", stride, I64(0))
        with b.if_then(repeated):
            value = b.load(b.inttoptr(address, REAL[self.bits].as_pointer()))
            filled: Any = ir.Constant(vector, ir.Undefined)
            for k in range(self.width):
                filled = b.insert_element(filled, value, ir.Constant(ir.IntType(32), k))
            b.store(filled, buffer)
        return b.select(repeated, b.ptrtoint(buffer, I64), address), b.mul(stride, I64(self.width))

    def loop(self, width: int, count: Any, inputs: Inputs, body: Callable[..., Any], initial: float | None) -> Any:
        """Emit a loop over `count` vectors of `width`; what `body` returns is carried to the next and given back."""
        b = self.builder
        emitter = Emitter(self.module, b, self.bits, width)
        before, start = b.block, emitter.constant(initial or 0.0)
        inside, after = self.function.append_basic_block("loop"), self.function.append_basic_block("after")
        b.cbranch(b.icmp_signed(">", count, I64(0)), inside, after)
        b.position_at_end(inside)
        k, carried = b.phi(I64), b.phi(emitter.type)
        values = {name: self.load(emitter, b.add(first, b.mul(k, step))) for name, (first, step) in inputs.items()}
        result = body(k, emitter, emitter.emit(self.formula, values), carried)
        result = start if result is None else result
        following = b.add(k, I64(1))
        for phi, first, later in ((k, I64(0), following), (carried, start, result)):
            phi.add_incoming(first, before)
            phi.add_incoming(later, b.block)
        b.cbranch(b.icmp_signed("<", following, count), inside, after)
        leaving = b.block
        b.position_at_end(after)
        final = b.phi(emitter.type)
        final.add_incoming(start, before)
        final.add_incoming(result, leaving)
        return final

    def load(self, emitter: Emitter, address: Any) -> Any:
        if emitter.width > 1:
            prefetch(self.builder, address, emitter.width * self.bits // 8, READ)
        return self.builder.load(self.builder.inttoptr(address, emitter.type.as_pointer()), align=self.bits // 8)


def vjp_formula(op: Op, side: int) -> Any:
    """What an elementwise op adds to the adjoint of one operand, as an expression in g, x, y, w and z."""
    env = {name: Symbol(symbol) for name, symbol in zip(op.operands, "xyw")}
    env |= {"z": Symbol("z"), "g": Symbol("g")}
    rule = op.rule(side)
    assert rule is not None
    bar = rule(env)
    if rule.is_zero or type(bar) is Zero:
        return 0.0
    return REGISTRY["chain_mul"](env["g"], bar) if rule.is_partial else bar
