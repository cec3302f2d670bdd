"""Gradients with batched weights: many vectors times one Jacobian, in one sweep."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..base.tensor import Tensor
from ..levels.batch import Batch
from ..recording.recorder import wrap


def grad_batched(
    reverse: Callable[..., Any], outputs: Sequence[Tensor], weights: Sequence[Any], inputs: Sequence[Tensor],
    retain: bool, create: bool, unused: bool,
) -> list[Tensor | None]:  # fmt: skip
    """``reverse(outputs, weights, inputs, …)`` for weights with one more axis, the first, along which vectors lie.

    Raises:
        RuntimeError: unless every output has a weight, with the same number of vectors.
    """
    given = [None if w is None else w if isinstance(w, Tensor) else wrap(w) for w in weights]
    lengths = {w._spec.shape[0] for w in given if w is not None and w.ndim}
    if len(lengths) != 1 or any(w is None or not w.ndim for w in given):
        raise RuntimeError(
            "is_grads_batched=True needs a grad_outputs for every output, all with the same leading length; got shapes "
            f"{[None if w is None else tuple(w.shape) for w in given]}"
        )
    for i, (z, w) in enumerate(zip(outputs, given)):
        if w._spec.shape[1:] != z._spec.shape:  # type: ignore[union-attr]
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch "
                f"dimension: the gradients of output {i} must have its shape {z._spec.shape} behind that; got "
                f"{w._spec.shape}"  # type: ignore[union-attr]
            )
    return over_vectors(lengths.pop(), reverse, outputs, given, inputs, retain, create, unused)  # type: ignore[arg-type]


def over_vectors(
    n: int, reverse: Callable[..., Any], outputs: Sequence[Tensor], weights: Sequence[Tensor],
    inputs: Sequence[Tensor], *how: bool,
) -> list[Tensor | None]:  # fmt: skip
    """Gradients for n vectors at once, along the first axis of weights and results."""
    with Batch(n) as level:
        found = reverse(tuple(outputs), tuple(map(level.layer, weights)), tuple(inputs), *how)
        below = [(None, False) if g is None else level.parts(g) for g in found]
        return [None if g is None else g if has_lanes else level.full(g) for g, has_lanes in below]
