"""Jacobians as matrices, under names that PyTorch has long called private."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...base.tensor import Tensor
from ...recording.leaf import leaf
from .grid import Grid, central
from .subject import Subject, components, has_history, named, plain, pull, units


def get_numerical_jacobian(
    fn: Callable[[Any], Any], inputs: Any, target: Tensor | None = None, eps: float = 1e-3, grad_out: float = 1.0
) -> tuple[Tensor, ...]:
    """The Jacobian of the first output by central differences: per input, a matrix (elements of it, of the output).

    Deprecated; `tape.func.jacrev` and `jacfwd` compute Jacobians, and `tape.gradcheck.check` compares them.

    Args:
        fn: takes all inputs as one tuple.
        inputs: a tensor or several; those that require grad are moved.
        target: the only one to move.
        eps: the step.
        grad_out: 1.

    Raises:
        ValueError: if ``grad_out`` is not 1, or something is complex.
    """
    _deprecated("get_numerical_jacobian", grad_out)
    given = _sequence(inputs)
    wrt = [i for i, x in enumerate(given) if (x is target if target is not None else has_history(x))]

    def first(*xs: Any) -> Any:
        return next(iter(named(fn(xs)).values()))

    subject = Subject(first, given, wrt, [f"input {i}" for i in range(len(given))])
    point = subject.point()
    size = subject.flat(point).size
    grid = Grid(subject, point)
    if any(axis.is_complex for axis in (*grid.inputs, *grid.outputs)):
        raise ValueError("get_numerical_jacobian expects real inputs and outputs; use tape.gradcheck.check for complex")
    precision = np.zeros(size)
    matrices = []
    for k, axis in enumerate(grid.inputs):
        rows = [central(line, line.x, eps, precision).value for line in (grid.line(k, e) for e in range(axis.size))]
        matrices.append(leaf(np.array(rows).reshape(axis.size, size)))
    return tuple(matrices)


def get_analytical_jacobian(
    inputs: Any, output: Tensor, nondet_tol: float = 0.0, grad_out: float = 1.0
) -> tuple[tuple[Tensor, ...], bool, bool, bool]:
    """The Jacobian of an output by reverse sweeps: per input, a matrix (elements of it, of the output).

    Gives the matrices, whether a second computation gives the same up to ``nondet_tol``, and whether
    gradients have their inputs' shapes and dtypes.  Deprecated, as `get_numerical_jacobian`.

    Raises:
        ValueError: if ``grad_out`` is not 1, or something is complex.
    """
    _deprecated("get_analytical_jacobian", grad_out)
    leaves = [x for x in _sequence(inputs) if has_history(x)]
    if any(x.dtype.kind == "c" for x in (*leaves, output)):
        raise ValueError("get_analytical_jacobian expects a real output and inputs; use tape.gradcheck.check")
    gs = list(units(np.asarray(plain(output))))
    rows, again = ([pull([output], leaves, [g]) for g in gs] for _ in range(2))
    fitting = [(bar, x) for row in rows for bar, x in zip(row, leaves) if bar is not None]
    matrices = [_matrix(column, x) for column, x in zip(zip(*rows), leaves)]
    same = all(
        bool(np.all(np.abs(a - _matrix(column, x)) <= nondet_tol))
        for a, column, x in zip(matrices, zip(*again), leaves)
    )
    return (
        tuple(map(leaf, matrices)), same, all(bar.shape == x.shape for bar, x in fitting),
        all(bar.dtype == x.dtype for bar, x in fitting),
    )  # fmt: skip


def _matrix(bars: Sequence[Tensor | None], x: Tensor) -> np.ndarray[Any, Any]:
    """The gradients of all elements of an output as columns."""
    zeros = np.zeros(components(x).size)
    return np.array([zeros if bar is None else components(bar) for bar in bars]).reshape(len(bars), -1).T


def _sequence(inputs: Any) -> list[Any]:
    return [inputs] if isinstance(inputs, Tensor) else list(inputs)


def _deprecated(name: str, grad_out: float) -> None:
    warnings.warn(
        f"`{name}` was part of PyTorch's private API and is here for old code alone; tape.func.jacrev and jacfwd "
        "compute Jacobians, and tape.gradcheck.check compares them",
        FutureWarning,
        stacklevel=3,
    )
    if grad_out != 1.0:
        raise ValueError(f"Expected grad_out to be 1.0, the only value that {name} takes; got {grad_out}")
