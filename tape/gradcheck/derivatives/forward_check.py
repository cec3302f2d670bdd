"""The gradient under check, by forward mode: the inputs move, and the outputs' tangents are the derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...base.tensor import Tensor
from ...levels.dual_levels import dual_level, make_dual, unpack_dual
from ...recording.leaf import leaf
from .analytic import Jacobian
from .subject import Array, Axis, Subject, flattened, units


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
