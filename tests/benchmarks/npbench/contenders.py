"""Who differentiates: each gives value and gradients of the sum of a kernel's results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np

from .suite import Case, Kernel, places

Differentiated = Callable[..., tuple[Any, list[np.ndarray]]]
"""Arrays in; the value and one gradient for each out."""


def compiled(kernel: Kernel, case: Case, weights: Sequence[Any] | None) -> Differentiated:
    """Recorded once, then replayed."""
    import tape

    total = case.total(kernel.function(), weights)
    return _turned(tape.compile(tape.func.grad_and_value(total, argnums=tuple(range(len(case.floats))))))


def eager(kernel: Kernel, case: Case, weights: Sequence[Any] | None) -> Differentiated:
    """Recorded at each call."""
    import tape

    total = case.total(kernel.function(), weights)
    return _turned(tape.func.grad_and_value(total, argnums=tuple(range(len(case.floats)))))


def _turned(function: Callable[..., Any]) -> Differentiated:
    def run(*inputs: Any) -> tuple[Any, list[np.ndarray]]:
        gradients, value = function(*inputs)
        return value, list(gradients)

    return run


def hips(kernel: Kernel, case: Case, weights: Sequence[Any] | None) -> Differentiated:
    """HIPS' autograd: the same file, with its NumPy."""
    autograd = import_module("autograd")
    total = case.total(kernel.function(numpy=import_module("autograd.numpy")), weights)
    function = autograd.value_and_grad(total, argnum=tuple(range(len(case.floats))))

    def run(*inputs: Any) -> tuple[Any, list[np.ndarray]]:
        value, gradients = function(*inputs)
        return value, list(map(np.conj, gradients))  # theirs of complex arrays are the conjugates

    return run


def jax(kernel: Kernel, case: Case, weights: Sequence[Any] | None) -> Differentiated:
    """NPBench's own version for JAX, value and gradient jitted into one program."""
    library = import_module("jax")
    library.config.update("jax_enable_x64", True)
    theirs = kernel.function("_jax")
    pure = replace(case, changed=())
    chosen = places(case.results(kernel.function(), *case.inputs), pure.results(theirs, *case.inputs))
    total = pure.total(theirs, weights, chosen)
    function = library.jit(library.value_and_grad(total, argnums=tuple(range(len(case.floats)))))

    def run(*inputs: Any) -> tuple[Any, list[np.ndarray]]:
        value, gradients = library.block_until_ready(function(*map(library.numpy.asarray, inputs)))
        return value, [np.conj(g) for g in gradients]  # as autograd has them

    return run


def numpy(kernel: Kernel, case: Case, weights: Sequence[Any] | None) -> Differentiated:
    """The value alone."""
    total = case.total(kernel.function(), weights)
    return lambda *inputs: (total(*inputs), [])


CONTENDERS: dict[str, Callable[[Kernel, Case, Sequence[Any] | None], Differentiated]] = {
    "numpy": numpy, "compiled": compiled, "eager": eager, "autograd": hips, "jax": jax,
}  # fmt: skip
