"""Forward mode with tangents that are left out, and with several at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .forward import push
from .subject import Array, Subject


def undefined_tangents(subject: Subject, point: Sequence[Array], rng: np.random.Generator) -> list[str]:
    """An input without a tangent must do the same as one with a tangent of zeros, as sentences where it does not."""
    faults = []
    for k, x in enumerate(point):
        others = {j: _random(rng, y) for j, y in enumerate(point) if j != k}
        zeros = push(subject, point, {**others, k: np.zeros_like(x)[()]})
        without = push(subject, point, others) if others else np.zeros_like(zeros)
        if not np.array_equal(zeros, without, equal_nan=True):
            faults.append(
                f"the forward derivative without a tangent of {subject.names[subject.wrt[k]]} differs from the one "
                "with a tangent of zeros: a jvp must treat None, and a tangent that is zero, alike"
            )
    return faults


def _random(rng: np.random.Generator, like: Array) -> Array:
    parts = rng.standard_normal((2, *like.shape))
    value: Array = (parts[0] + 1j * parts[1] if like.dtype.kind == "c" else parts[0]).astype(like.dtype)
    return value[()]
