"""Steps that solve systems of equations: small ones by elimination of our own, triangular ones by BLAS."""

from __future__ import annotations

import math
import struct
from typing import Any

import numpy as np

from ...base.spec import spec
from ...jit.machine.regions import REFUSED
from .linear_steps import call_library, pointers
from .loop_steps import LoopSteps
from .plan_places import Place, PlanValue
from .step_memory import NoStep, axes, view

FEW = 6
"""Systems with so many unknowns are solved without LAPACK."""
MOST = 64
"""Of a longer stack of triangular systems SciPy solves them all."""


class SystemSteps(LoopSteps):
    """Solutions of systems."""

    def solve(self, x: PlanValue, y: PlanValue | None) -> PlanValue:
        """The z with x z = y, for one vector y or for matrices of columns; x⁻¹ where there is no y."""
        n, real = x.spec.shape[-1], all(v is None or v.spec.dtype == np.float64 for v in (x, y))
        vector = y is not None and y.spec.ndim == 1
        if x.spec.shape[-2:] != (n, n) or (y is not None and y.spec.shape[-1 if vector else -2] != n):
            raise NoStep("solve")
        if n > FEW or not real:
            found: PlanValue = (
                self.linalg("inv", x) if y is None else self.linalg("solve1" if vector else "solve", x, y)
            )
            return found
        right = self._unit(n) if y is None else view(y, [*axes(y), (1, 0)]) if vector else y
        stack = np.broadcast_shapes(x.spec.shape[:-2], right.spec.shape[:-2])
        a, z = self.copy(self._stacked(x, stack)), self.copy(self._stacked(right, stack))
        columns = right.spec.shape[-1]
        words: list[Any] = [math.prod(stack), n, columns, a.place, z.place, Place(REFUSED, 0)]
        self.check(self.plan.call(self.plan.jit("sweeps.small_systems", "solve"), words))
        return view(z, axes(z)[:-1]) if vector else z

    def _unit(self, n: int) -> PlanValue:
        unit = self.plan.found.setdefault(("unit", n), np.eye(n))
        return PlanValue(self.plan.pin(unit), (8 * n, 8), spec((n, n), unit.dtype))

    @staticmethod
    def _stacked(x: PlanValue, stack: tuple[int, ...]) -> PlanValue:
        """Matrices broadcast to a stack."""
        outer = axes(x)[:-2]
        missing = len(stack) - len(outer)
        steps = [0] * missing + [0 if n == 1 else s for n, s in outer]
        return view(x, [*zip(stack, steps), *axes(x)[-2:]])

    def triangular(self, x: PlanValue, y: PlanValue, upper: bool, left: bool, unit: bool) -> PlanValue:
        """The z with x z = y, or z x = y, of which only one triangle of x is read.

        BLAS goes by columns: it sees xᵀ, yᵀ and zᵀ.
        """
        n = x.spec.shape[-1]
        if x.spec.shape[-2:] != (n, n) or y.spec.ndim < 2 or y.spec.shape[-2 if left else -1] != n:
            raise NoStep("triangular")
        stack = np.broadcast_shapes(x.spec.shape[:-2], y.spec.shape[:-2])
        if math.prod(stack) > MOST or any(v.spec.dtype != np.float64 for v in (x, y)):
            raise NoStep("triangular")
        a, z = self._stacked(x, stack), self.copy(self._stacked(y, stack))
        a = a if a.contiguous else self.copy(a)
        rows, columns = y.spec.shape[-2:]
        one = struct.unpack("q", struct.pack("d", 1.0))[0]
        numbers = [ord("R" if left else "L"), ord("L" if upper else "U"), ord("N"), ord("U" if unit else "N")]
        at = pointers(self.plan, [*numbers, columns, rows, one, n, columns])
        for k in range(math.prod(stack)):
            matrix, right = a.moved(8 * n * n * k), z.moved(8 * rows * columns * k)
            if not unit:
                words: list[Any] = [n, matrix, 8 * (n + 1), Place(REFUSED, 0)]
                self.check(self.plan.call(self.plan.jit("sweeps.small_systems", "check_diagonal"), words))
            call_library(self.plan, "dtrsm", [*at[:7], matrix, at[7], right, at[8]])
        return z
