"""The gradient under check: of ours, by reverse sweeps.  Forward mode has a room of its own (`tangent_checks`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ops import REGISTRY

from ...backprop.grad import grad
from ...base.tensor import Tensor
from ...recording.leaf import leaf
from .gradcheck_errors import GradcheckError
from .subject import Array, Subject, components, has_history, plain, units


class Applied(Tensor):
    """A tensor without the ways of its own that a plain tensor has past ``__bind__``: indexing by one integer."""

    __slots__ = ()

    def __getitem__(self, index: Any) -> Any:
        if type(index) is int and self.ndim:
            return REGISTRY["select"](self, index=index)
        return super().__getitem__(index)


@dataclass
class Jacobian:
    """Derivatives of every number of the outputs with respect to every number of the checked inputs.

    Attributes:
        blocks: per checked input, an array (numbers of the outputs, numbers of the input) in float64.
        dtypes: per checked input, the dtypes that its gradients had.
    """

    blocks: list[Array]
    dtypes: list[set[np.dtype[Any]]] = field(default_factory=list)


def reverse(subject: Subject, arrays: Sequence[Array]) -> Jacobian:
    """The Jacobian by reverse sweeps, one for each number of the outputs.

    A complex output has two: adjoints of 1 and of i give the gradients of its real and of its
    imaginary part, each as ∂/∂x + i ∂/∂y where the input is complex.

    Raises:
        GradcheckError: if a gradient does not have the shape of its input.
    """
    given = subject.arguments(arrays)
    return _swept(subject, given, lambda j, value: units(value))


def reverse_along(subject: Subject, arrays: Sequence[Array], weights: Sequence[Array]) -> Jacobian:
    """uᵀJ by one reverse sweep for each output."""
    return _swept(subject, subject.arguments(arrays), lambda j, value: [weights[j]])


def _swept(subject: Subject, given: list[Any], adjoints: Any) -> Jacobian:
    """The rows that the adjoints of each output give."""
    leaves = [given[i] for i in subject.wrt]
    outs = subject.outputs(subject.func(*given))
    jacobian = Jacobian([], [set() for _ in leaves])
    rows: list[list[Array]] = [[] for _ in leaves]
    for j, out in enumerate(outs):
        for g in adjoints(j, np.asarray(plain(out))):
            found = pull([out], leaves, [g]) if has_history(out) else [None] * len(leaves)
            for k, bar in enumerate(found):
                rows[k].append(_row(bar, leaves[k], subject.names[subject.wrt[k]]))
                if bar is not None:
                    jacobian.dtypes[k].add(bar.dtype)
    jacobian.blocks = [np.array(row).reshape(len(row), components(x).size) for row, x in zip(rows, leaves)]
    return jacobian


def pull(outs: Sequence[Tensor], leaves: Sequence[Tensor], gs: Sequence[Array]) -> Sequence[Tensor | None]:
    """Vector-Jacobian products, None for an input that the outputs do not depend on."""
    return grad(outs, leaves, [leaf(g) for g in gs], retain_graph=True, allow_unused=True)


def _row(bar: Any, x: Tensor, name: str) -> Array:
    if bar is None:
        return np.zeros(components(x).size)
    if np.shape(plain(bar)) != np.shape(plain(x)):
        raise GradcheckError(
            f"Analytical gradient has incorrect size: that for {name} has shape {np.shape(plain(bar))}; it must have "
            f"the input's, {np.shape(plain(x))}"
        )
    if bar.dtype.kind != x.dtype.kind:
        raise GradcheckError(f"Gradient has dtype mismatch: that for {name} is {bar.dtype}; the input is {x.dtype}")
    return components(bar)
