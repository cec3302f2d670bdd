"""The libraries that compile: value and gradient come at once, without a forward of their own."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np

from .work import Work


class Whole:
    """A peer whose `backward` does it all."""

    found: Any

    def forward(self) -> None:
        """Part of `backward`."""

    def gradients(self) -> list[np.ndarray]:
        return [np.asarray(g) for g in self.found]


class Compiled(Whole):
    """`tape.compile`, on one thread unless said otherwise."""

    def __init__(self, xp: Any, work: Work, tier: str | None = None, threads: int = 1, guarded: bool = True):
        if not guarded:
            work = replace(work, program=work.unguarded)
        n = len(work.variables)
        if work.order == 2:
            function = xp.func.hessian(self._total(xp, work))
        else:
            function = xp.func.grad_and_value(self._total(xp, work), argnums=tuple(range(n)))
        self.run = xp.compile(xp.func.vmap(function) if work.lanes else function, tier=tier, threads=threads)
        self.order = work.order
        self.inputs = inputs_of(work)

    def _total(self, xp: Any, work: Work) -> Any:
        """The sum of what the program returns; the program itself where that is one number."""

        program = work.program

        def total(*inputs: Any) -> Any:
            y = program(xp, *inputs)
            return y.sum() if y.ndim else y

        return total

    def backward(self) -> None:
        self.found = self.run(*self.inputs)

    def gradients(self) -> list[np.ndarray]:
        return [np.asarray(g) for g in ([self.found] if self.order == 2 else self.found[0])]


class Beside(Compiled):
    """The same for the program that another is compared with."""

    def __init__(self, xp: Any, work: Work):
        super().__init__(xp, replace(work, program=work.beside))


class Jitted(Whole):
    """JAX, value and gradient compiled into one program."""

    def __init__(self, xp: Any, work: Work):
        jax = import_module("jax")
        jax.config.update("jax_enable_x64", True)
        program, n = work.in_jax or work.program, len(work.variables)

        def total(*inputs: Any) -> Any:
            return xp.sum(program(xp, *inputs))

        function = jax.hessian(total) if work.order == 2 else jax.value_and_grad(total, argnums=tuple(range(n)))
        self.run = jax.jit(jax.vmap(function) if work.lanes else function)
        self.ready, self.order = jax.block_until_ready, work.order
        self.inputs = [xp.asarray(v) for v in (*work.variables, *work.constants)]

    def backward(self) -> None:
        self.found = self.ready(self.run(*self.inputs))

    def gradients(self) -> list[np.ndarray]:
        return [np.asarray(g) for g in ([self.found] if self.order == 2 else self.found[1])]


class CasADi(Whole):
    """CasADi's virtual machine on scalars, called through buffers."""

    def __init__(self, xp: Any, work: Work):
        symbols = [xp.SX.sym(f"x{k}") for k in range(len(work.variables))]
        inputs = xp.vertcat(*symbols)
        y = work.program(xp, *symbols, *work.constants)
        self.function = xp.Function("value_and_gradient", [inputs], [y, xp.gradient(y, inputs)])
        self.inputs = np.array([v.item() for v in work.variables])
        self.value, self.found = np.zeros(1), np.zeros(len(symbols))
        self.buffer, self.backward = self.function.buffer()
        self.buffer.set_arg(0, memoryview(self.inputs))
        self.buffer.set_res(0, memoryview(self.value))
        self.buffer.set_res(1, memoryview(self.found))


class ByHand(Whole):
    """A loop written by hand, compiled by Numba."""

    def __init__(self, xp: Any, work: Work):
        self.run = xp.njit(work.by_hand)
        self.inputs = inputs_of(work)
        self.given = [np.zeros(v.shape) for v in work.variables if v.ndim]

    def backward(self) -> None:
        found = self.run(*self.inputs, *self.given)
        self.found = self.given or found[1:]


class Inside(Whole):
    """Value and gradients of numbers, called in a row by the user's own jitted code, each after the one before."""

    CALLS = 1000

    def __init__(self, xp: Any, work: Work):
        numba = import_module("numba")
        one = self.function(xp, work)

        @numba.njit
        def loop(x, y, calls):  # type: ignore[no-untyped-def]
            found = one(x, y)
            for _ in range(calls - 1):
                found = one(x + 0.0 * found[0], y)
            return found

        self.loop, self.inputs = loop, inputs_of(work)

    def backward(self) -> None:
        *self.found, _ = self.loop(*self.inputs, self.CALLS)

    def function(self, xp: Any, work: Work) -> Any:
        """A jitted function that gives the gradients."""
        n, program = len(work.variables), work.program
        function = xp.func.grad_and_value(lambda *inputs: program(xp, *inputs), argnums=tuple(range(n)))
        both = xp.record(function, *inputs_of(work)).njit()

        @import_module("numba").njit
        def flat(x, y):  # type: ignore[no-untyped-def]
            gradients, value = both(x, y)
            return gradients[0], gradients[1], value

        return flat


class ByHandInside(Inside):
    """The same with value and gradients written by hand."""

    def function(self, xp: Any, work: Work) -> Any:
        by_hand = xp.njit(work.by_hand)

        @xp.njit
        def function(x, y):  # type: ignore[no-untyped-def]
            value, x_bar, y_bar = by_hand(x, y)
            return x_bar, y_bar, value

        return function


def inputs_of(work: Work) -> list[Any]:
    """Arrays, and numbers for arrays without axes."""
    return [v if v.ndim else v.item() for v in (*work.variables, *work.constants)]
