"""Forward mode: the inputs move, and the outputs' tangents are the derivatives; also left out, and several at once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from traceback import walk_tb
from typing import Any

import numpy as np

from ..base.tensor import Tensor
from ..custom.rules import BackwardCFunction
from ..levels.dual_levels import dual_level, make_dual, unpack_dual
from ..levels.vmapping import vmap
from ..recording.leaf import leaf
from .batched_check import compared, drawn
from .derivatives.subject import Array, Axis, Jacobian, Subject, flattened, units


def forward(subject: Subject, arrays: Sequence[Array]) -> Jacobian:
    """The Jacobian by one run of the function on duals for each number of the checked inputs.

    A complex input moves along 1 and along i.
    """
    blocks = []
    for k, x in enumerate(arrays):
        columns = [push(subject, arrays, alone(arrays, k, t)) for t in units(x)]
        rows = sum(axis.size for axis in subject.output_axes)
        blocks.append(np.array(columns).reshape(len(columns), rows).T)
    return Jacobian(blocks)


def forward_along(subject: Subject, arrays: Sequence[Array], directions: Sequence[Array]) -> Jacobian:
    """Jv by one run for each checked input."""
    columns = [push(subject, arrays, alone(arrays, k, v)) for k, v in enumerate(directions)]
    return Jacobian([column[:, None] for column in columns])


def alone(arrays: Sequence[Array], k: int, tangent: Array) -> dict[int, Array]:
    """A tangent for one input and, as in PyTorch, zeros for the others."""
    return {j: tangent if j == k else np.zeros_like(x)[()] for j, x in enumerate(arrays)}


def push(subject: Subject, arrays: Sequence[Array], tangents: dict[int, Array]) -> Array:
    """Jẋ, for tangents of some of the checked inputs, as one vector of real numbers."""
    with dual_level():
        outs = subject.outputs(subject.func(*moving(subject, arrays, tangents)))
        return flattened([tangent_of(out, axis) for out, axis in zip(outs, subject.output_axes)])


def moving(subject: Subject, arrays: Sequence[Array], tangents: dict[int, Any]) -> list[Any]:
    """The arguments of one call within a dual level: without history, unless the function itself needs one."""
    given = subject.arguments(arrays, requires_grad=subject.needs_history)
    for k, t in tangents.items():
        i = subject.wrt[k]
        given[i] = make_dual(given[i], t if isinstance(t, Tensor) else leaf(t))
    return given


def tangent_of(out: Any, axis: Axis) -> Array:
    """An output's tangent at the level that is entered; zeros where it does not move."""
    tangent = unpack_dual(out).tangent if isinstance(out, Tensor) else None
    if tangent is None:
        return np.zeros(axis.shape, axis.dtype)
    return np.asarray(tangent.detach()._data)


PHRASE = "gradcheck failed while testing batched gradient computation with forward-mode AD"


def undefined_tangents(subject: Subject, point: Sequence[Array], rng: np.random.Generator) -> list[str]:
    """An input without a tangent must do the same as one with a tangent of zeros, as sentences where it does not."""
    faults = []
    for k, x in enumerate(point):
        name = subject.names[subject.wrt[k]]
        others = {j: _random(rng, y) for j, y in enumerate(point) if j != k}
        zeros = push(subject, point, {**others, k: np.zeros_like(x)[()]})
        try:
            without = push(subject, point, others) if others else np.zeros_like(zeros)
        except Exception as error:
            if _in_a_rule(error):
                faults.append(f"a jvp raised {type(error).__name__}: {error}, without a tangent of {name}")
            continue  # else the function itself looks at its tangents, and knows which there are
        if not np.array_equal(zeros, without, equal_nan=True):
            faults.append(
                f"the forward derivative without a tangent of {name} differs from the one with a tangent of zeros: a "
                "jvp must treat None, and a tangent that is zero, alike"
            )
    return faults


def _in_a_rule(error: Exception) -> bool:
    """Whether an error came out of the jvp of a custom function."""
    return any(frame.f_code is BackwardCFunction.jvp.__code__ for frame, _ in walk_tb(error.__traceback__))


def batched_tangents(subject: Subject, point: Sequence[Array], rng: np.random.Generator) -> list[str]:
    """What is wrong with forward mode under `vmap`, as sentences."""
    faults: list[str] = []
    for k, x in enumerate(point):
        ts = drawn(rng, x)
        singly = [pushed(subject, point, k, leaf(t[()])) for t in ts]
        together = partial(vmap(partial(pushed, subject, point, k)), leaf(ts))
        names = [f"forward derivative of {a.name} along {subject.names[subject.wrt[k]]}" for a in subject.output_axes]
        faults += compared(PHRASE, names, together, singly)
    return faults


def pushed(subject: Subject, point: Sequence[Array], k: int, tangent: Tensor) -> tuple[Tensor, ...]:
    """The tangents of the outputs, zeros where they do not move, as one input moves along a tangent."""
    with dual_level():
        given = moving(subject, point, {**alone(point, k, point[k]), k: tangent})
        found: list[Any] = subject.outputs(subject.func(*given))
        tangents = [unpack_dual(out).tangent if isinstance(out, Tensor) else None for out in found]
    zeros = (leaf(np.zeros(axis.shape, axis.dtype)[()]) for axis in subject.output_axes)
    return tuple(zero if t is None else t for zero, t in zip(zeros, tangents))


def _random(rng: np.random.Generator, like: Array) -> Array:
    parts = rng.standard_normal((2, *like.shape))
    value: Array = (parts[0] + 1j * parts[1] if like.dtype.kind == "c" else parts[0]).astype(like.dtype)
    return value[()]
