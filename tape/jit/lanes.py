"""Lane kernels: an expression over arrays, as straight-line SIMD code in a loop.

A kernel takes the address of its step (see `tape.jit.state`), reads from it where its inputs and
its output are, and computes ``out = f(g, x, y, z)`` or ``out += f(g, x, y, z)``.  Whole vectors go
first, the remainder one number at a time.  An input whose stride is 0 is one number for all.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from ops import REGISTRY, Op, Symbol

from .emit import REAL, Emitter
from .platform import target
from .state import ELEMENTS, G, OUT, STORE, XV, YV, ZV

I64 = ir.IntType(64)
INPUTS = {"g": G, "x": XV, "y": YV, "z": ZV}


def kernel_module(formula: Any, bits: int) -> ir.Module:
    """LLVM module with one function, ``kernel(step)``, for an expression in g, x, y and z."""
    module = ir.Module("lanes")
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [I64]), "kernel")
    _Kernel(module, function, formula, bits).build()
    return module


class _Kernel:
    """Builds one kernel: a vector loop that stores, one that adds, and a loop over the remainder."""

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
        b, item = self.builder, self.bits // 8
        n, out = self.word(ELEMENTS), self.word(OUT)
        store = b.icmp_signed("!=", self.word(STORE), I64(0))
        vectors = b.udiv(n, I64(self.width))
        wide = {name: self.splat(name) for name in self.names}
        blocks = {name: self.function.append_basic_block(name) for name in ("store", "add", "rest", "done")}
        b.cbranch(store, blocks["store"], blocks["add"])
        for name in ("store", "add"):
            self.builder.position_at_end(blocks[name])
            self.loop(self.width, vectors, out, wide, adds=(name == "add"))
            self.builder.branch(blocks["rest"])
        b.position_at_end(blocks["rest"])
        done = b.mul(vectors, I64(self.width))
        rest_out = b.add(out, b.mul(done, I64(item)))
        narrow = {}
        for name, (address, step) in wide.items():
            narrow[name] = b.add(address, b.mul(vectors, step)), b.udiv(step, I64(self.width))
        self.loop(1, b.sub(n, done), rest_out, narrow, adds=store)
        b.branch(blocks["done"])
        b.position_at_end(blocks["done"])
        b.ret_void()

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

    def loop(self, width: int, count: Any, out: Any, inputs: dict[str, tuple[Any, Any]], adds: Any) -> None:
        """Emit a loop over `count` vectors; `adds` is True, False, or a mask that says "store"."""
        b, item = self.builder, self.bits // 8
        emitter = Emitter(self.module, b, self.bits, width)
        before = b.block
        body, after = self.function.append_basic_block("body"), self.function.append_basic_block("after")
        b.cbranch(b.icmp_signed(">", count, I64(0)), body, after)
        b.position_at_end(body)
        k = b.phi(I64)
        k.add_incoming(I64(0), before)
        values = {name: self.load(emitter, b.add(start, b.mul(k, step))) for name, (start, step) in inputs.items()}
        result = emitter.emit(self.formula, values)
        place = b.inttoptr(b.add(out, b.mul(k, I64(item * width))), emitter.type.as_pointer())
        if adds is not False:
            total = b.fadd(b.load(place, align=item), result)
            result = total if adds is True else b.select(adds, result, total)
        b.store(result, place, align=item)
        following = b.add(k, I64(1))
        k.add_incoming(following, b.block)
        b.cbranch(b.icmp_signed("<", following, count), body, after)
        b.position_at_end(after)

    def load(self, emitter: Emitter, address: Any) -> Any:
        return self.builder.load(
            self.builder.inttoptr(address, emitter.type.as_pointer()), align=self.bits // 8
        )


def vjp_formula(op: Op, side: int) -> Any:
    """What an elementwise op adds to the adjoint of one operand, as an expression in g, x, y and z."""
    env = {name: Symbol(symbol) for name, symbol in zip(op.operands, ("x", "y"))}
    env |= {"z": Symbol("z"), "g": Symbol("g")}
    rule = op.rule(side)
    assert rule is not None
    return REGISTRY["chain_mul"](env["g"], rule(env)) if rule.is_partial else rule(env)
