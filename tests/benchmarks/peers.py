"""The libraries that are compared, and how each takes a gradient."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np

from .compilers import Beside, ByHand, ByHandInside, CasADi, Compiled, Inside, Jitted
from .work import Work


class Run(Protocol):
    """A library at some work."""

    def forward(self) -> None:
        """Compute, and record where the library does."""

    def backward(self) -> None:
        """Take the gradients of what `forward` computed."""

    def gradients(self) -> list[np.ndarray]:
        """The gradients found by the last backward, cleared for the next."""


class Eager:
    """Tape or torch: record while computing, then `backward`.  One class, because the two spell it alike."""

    def __init__(self, xp: Any, work: Work):
        self.xp, self.program = xp, work.program
        self.variables = [xp.tensor(v, requires_grad=True) for v in work.variables]
        self.constants = [xp.tensor(c) for c in work.constants]
        self.forward()
        self.gradient = xp.ones_like(self.y.detach()) if self.y.shape else None

    def forward(self) -> None:
        self.y = self.program(self.xp, *self.variables, *self.constants)

    def backward(self) -> None:
        self.y.backward(self.gradient)

    def gradients(self) -> list[np.ndarray]:
        found = [np.asarray(v.grad) for v in self.variables]
        for v in self.variables:
            v.grad = None
        return found


class NoGrad(Eager):
    """The same, with recording switched off."""

    def forward(self) -> None:
        with self.xp.no_grad():
            super().forward()


class Autograd:
    """HIPS/autograd, whose `make_vjp` computes and records, and whose vjp goes backward."""

    def __init__(self, xp: Any, work: Work):
        self.make_vjp = import_module("autograd").make_vjp
        self.program = lambda variables: work.program(xp, *variables, *work.constants)
        self.variables = work.variables
        self.forward()
        self.gradient = np.ones_like(self.y)

    def forward(self) -> None:
        self.vjp, self.y = self.make_vjp(self.program)(self.variables)

    def backward(self) -> None:
        self.found = self.vjp(self.gradient)

    def gradients(self) -> list[np.ndarray]:
        return [np.asarray(g) for g in self.found]


class Plain:
    """NumPy, which computes and takes no gradient."""

    def __init__(self, xp: Any, work: Work):
        self.xp, self.work = xp, work

    def forward(self) -> None:
        self.y = self.work.program(self.xp, *self.work.variables, *self.work.constants)

    def backward(self) -> None:
        """Not for NumPy."""

    def gradients(self) -> list[np.ndarray]:
        return []


PEERS: dict[str, tuple[str, Callable[[Any, Work], Any]]] = {
    "tape": ("tape", Eager),
    "torch": ("torch", Eager),
    "autograd": ("autograd.numpy", Autograd),
    "jax.jit": ("jax.numpy", Jitted),
    "tape.compile": ("tape", Compiled),
    "tape.compile, quick": ("tape", partial(Compiled, tier="quick")),
    "tape.compile, interpreted": ("tape", partial(Compiled, tier="interpret")),
    "tape.compile, 2 threads": ("tape", partial(Compiled, threads=2)),
    "tape.compile, unguarded": ("tape", partial(Compiled, guarded=False)),
    "tape.compile, again": ("tape", Compiled),
    "tape.compile, (x*x).sum()": ("tape", Beside),
    "casadi": ("casadi", CasADi),
    "numba": ("numba", ByHand),
    "tape.compile, in njit": ("tape", Inside),
    "numba, in njit": ("numba", ByHandInside),
    "numpy": ("numpy", Plain),
    "tape, no_grad": ("tape", NoGrad),
    "torch, no_grad": ("torch", NoGrad),
}


def package(peer: str) -> str:
    """The package that a peer needs."""
    module = PEERS[peer][0] if peer in PEERS else peer.partition(",")[0]
    return module.partition(".")[0]


def installed(peer: str) -> bool:
    """Whether a peer can be measured here."""
    return find_spec(package(peer)) is not None


def start(peer: str, work: Work) -> Run:
    """Put a peer to work."""
    module, kind = PEERS[peer]
    xp = import_module(module)
    if peer.startswith("torch"):
        xp.set_num_threads(1)
    return kind(xp, work)
