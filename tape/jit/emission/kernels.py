"""The kernels by number, compiled or fetched from disk when first wanted."""

from __future__ import annotations

from typing import Any

import numpy as np

from ops import Op, Symbol
from ops.core.registry import OPS, is_declared
from ops.core.own import CHANGES

from ...base.locks import new_lock
from ..machine.machine_code import compile_kernel
from ..machine.shipped import kernel
from ..machine.state import (
    AVERAGE, BLOCK, FIRST_OWN, LANES, MATRIX, MOTION, OP_WORDS, PRODUCT, PYTHON, SAME, SCALED, SPREAD,
)  # fmt: skip
from ..machine.workspace import at_rest
from .emit import NoLane
from .lanes import kernel_module, vjp_formula

MOTIONS = {"spread": SPREAD, "average": AVERAGE, "same": SAME, "block": BLOCK, "matrix": MATRIX}
NO_KERNEL = NoLane, AttributeError, TypeError, ValueError
"""What a rule may raise that is no formula in numbers; if it is wrong, it says so where it runs instead."""
VALUES = {"x": 1, "y": 2, "z": 4}


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
        bits = 32 if number & 1 else 64
        try:
            if number in (PRODUCT, PRODUCT + 1):
                engine, address = kernel("small_products", f"product_f{bits}")
            else:
                engine, address = compile_kernel(kernel_module(self.formula(number), bits))
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
            if not is_declared(op):
                first = FIRST_OWN + 4 * op.code
                self.addresses[first : first + 4] = 0
                self._retired += [self._engines.pop(k) for k in range(first, first + 4) if k in self._engines]
            if at_rest():  # whoever starts now finds no address
                self._retired.clear()


def describe(op: Op) -> tuple[int, int, int]:
    """Motion of an op's adjoint, and which of x, y, z its first and second side need."""
    motion = MOTIONS.get(op.hints.motion, PYTHON) if op.hints.motion else PYTHON
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
