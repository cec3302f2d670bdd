"""The kernels by number, compiled or fetched from disk when first wanted."""

from __future__ import annotations

import weakref
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numpy as np

from ops import REGISTRY, Op, Symbol
from ops.core.op import OPS
from ops.core.own import CHANGES

from ...base.rooms import opened
from ...base.locks import new_lock
from ..machine import objectcache
from .emit import NoLane
from .lanes import kernel_module, vjp_formula
from ..machine.platform import machine, target
from ..machine.state import (
    AVERAGE, BLOCK, FIRST_OWN, LANES, MATRIX, MOTION, OP_WORDS, PRODUCT, PYTHON, SAME, SCALED, SPREAD,
)  # fmt: skip
from ..machine.workspace import at_rest

MOTIONS = {"spread": SPREAD, "average": AVERAGE, "same": SAME, "block": BLOCK, "matrix": MATRIX}
NO_KERNEL = NoLane, AttributeError, TypeError, ValueError
"""What a rule may raise that is no formula in numbers; if it is wrong, it says so where it runs instead."""
VALUES = {"x": 1, "y": 2, "z": 4}


class Loaded:
    """An engine in use.

    The engine itself could still be found by a weak reference while it is being closed; this cannot.
    """

    __slots__ = ("__weakref__", "address", "engine")

    def __init__(self, engine: llvm.ExecutionEngine):
        self.engine, self.address = engine, engine.get_function_address("kernel")


_loaded: weakref.WeakValueDictionary[str, Loaded] = weakref.WeakValueDictionary()
"""The engines in use, by what their code was compiled from: equal kernels are one, and go with their last user."""


def compile_kernel(module: Any, level: int = 2, lines: bool = False) -> tuple[Loaded, int]:
    """Machine code of a kernel module: what keeps it loaded, and the kernel's address.

    `level` says how hard LLVM tries, from 0 to 2; for code that stands in a line there is a short way (`lines`).
    """
    t, code = target(), str(module)
    name = objectcache.name_of(code, f"{t.cpu} {t.features} {level} {lines}", llvmlite.__version__)
    loaded = _loaded.get(name)
    if loaded is not None:
        return loaded, loaded.address
    generator = machine(level)
    parsed = llvm.parse_assembly(code)
    found = objectcache.load(name)
    if found is None and level:
        optimise(parsed, generator, level, lines)
    engine = llvm.create_mcjit_compiler(parsed, generator)
    engine.set_object_cache(lambda _, code: objectcache.save(name, code), lambda _: found)
    engine.finalize_object()
    loaded = _loaded[name] = Loaded(engine)
    return loaded, loaded.address


def optimise(module: llvm.ModuleRef, generator: llvm.TargetMachine, level: int, lines: bool) -> None:
    """Improve the code of a kernel.

    For code in a line it is enough to take in what is called, to find what is computed twice before it is
    rewritten, and to rewrite.
    """
    options = llvm.create_pipeline_tuning_options(speed_level=level)
    options.loop_vectorization = options.slp_vectorization = False
    builder = llvm.create_pass_builder(generator, options)
    passes = llvm.create_new_module_pass_manager() if lines else builder.getModulePassManager()
    if lines:
        passes.add_always_inliner_pass()
        passes.add_global_dead_code_eliminate_pass()
        passes.add_new_gvn_pass()
        passes.add_instruction_combine_pass()
    passes.run(module, builder)


class Kernels:
    """Addresses of the vjp kernels, and how each op's adjoint moves.

    Attributes:
        ops: by opcode, the motion and the values that each side needs.
        addresses: by kernel number, 0 until the kernel is first wanted.
    """

    def __init__(self) -> None:
        self.ops = np.zeros((0, OP_WORDS), dtype=np.int64)
        self.addresses = np.zeros(FIRST_OWN, dtype=np.int64)
        self._engines: dict[int, Any] = {}
        self._retired: list[Any] = []
        self._lock = new_lock()

    def update(self) -> None:
        """Take in ops that were declared since."""
        if len(OPS) > len(self.ops):
            with self._lock:
                declared = OPS[len(self.ops) :]
                described = np.array([describe(op) for op in declared], dtype=np.int64).reshape(-1, OP_WORDS)
                self.addresses = np.concatenate([self.addresses, np.zeros(4 * len(declared), np.int64)])
                self.ops = np.concatenate([self.ops, described])

    def provide(self, number: int) -> None:
        """Compile or fetch a kernel; an op without lanes moves in Python from now on.

        Once only: another thread's sweep may be about to call what is there.
        """
        with self._lock:
            if not self.addresses[number]:
                self._provide(number)

    def _provide(self, number: int) -> None:
        if number in (PRODUCT, PRODUCT + 1):
            products = opened("tape.jit.sweeps.small_products")
            self._engines[number] = kernel = products.product_kernel(32 if number & 1 else 64)
            self.addresses[number] = kernel.address
            return
        try:
            engine, address = compile_kernel(kernel_module(self.formula(number), 32 if number & 1 else 64))
        except NO_KERNEL:
            self.ops[(number - FIRST_OWN) // 4, MOTION] = PYTHON
            return
        self._engines[number] = engine
        self.addresses[number] = address

    def formula(self, number: int) -> Any:
        """What a kernel computes, as an expression."""
        if number < FIRST_OWN:
            g = Symbol("g")
            return g if number < SCALED else g * Symbol("y")
        code, side = divmod((number - FIRST_OWN) // 2, 2)
        return vjp_formula(OPS[code], side)

    def forget(self, op: Op) -> None:
        """Compile an op's kernels again, after its rules were replaced."""
        if op.code < len(self.ops):
            self.ops[op.code] = describe(op)
            self.addresses[FIRST_OWN + 4 * op.code : FIRST_OWN + 4 * op.code + 4] = 0

    def changed(self, op: Op) -> None:
        """Free the kernels of ops that have left the registry, once no sweep can be about to call them."""
        with self._lock:
            if REGISTRY.get(op.name) is not op:
                first = FIRST_OWN + 4 * op.code
                self.addresses[first : first + 4] = 0
                self._retired += [self._engines.pop(k) for k in range(first, first + 4) if k in self._engines]
            if at_rest():  # whoever starts now finds no address
                self._retired.clear()


def describe(op: Op) -> tuple[int, int, int]:
    """Motion of an op's adjoint, and which of x, y, z its first and second side need."""
    motion = MOTIONS.get(op.motion, PYTHON) if op.motion else PYTHON
    if op.kind == "elementwise" and op.arity <= 2 and not op.params and op.lane is not None:
        motion = LANES
    needs = [0, 0]
    if motion == MATRIX:
        needs = [VALUES["y"], VALUES["x"]]
    if motion == LANES:
        short = dict(zip(op.operands, "xy")) | {"z": "z"}
        for side in range(op.arity):
            rule = op.rule(side)
            if rule is None or not set(rule.names) <= {"g", *short}:
                return PYTHON, 0, 0
            needs[side] = sum(VALUES[short[name]] for name in rule.names if name != "g")
    return motion, needs[0], needs[1]


KERNELS = Kernels()
CHANGES.append(KERNELS.changed)
