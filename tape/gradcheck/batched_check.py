"""Gradients of several adjoints, or derivatives along several tangents, at once: the same as one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..backprop.grad import grad
from ..base.limits import finfo
from ..base.tensor import Tensor
from ..recording.leaf import leaf
from .derivatives.rounding import wide_dtype
from .derivatives.subject import Array, Subject, has_history, plain

COUNT = 2
SLACK = 64.0
"""How many roundings apart the two ways may be, at the size of the largest element."""

PHRASE = "gradcheck or gradgradcheck failed while testing batched gradient computation"


def batched_adjoints(subject: Subject, point: Sequence[Array], rng: np.random.Generator) -> list[str]:
    """What is wrong with ``grad(…, is_grads_batched=True)``, as sentences."""
    given = subject.arguments(point)
    leaves = [given[i] for i in subject.wrt]
    outs = zip(subject.output_axes, subject.outputs(subject.func(*given)))
    faults: list[str] = []
    for axis, out in outs:
        if has_history(out):
            gs = drawn(rng, np.asarray(plain(out)))
            names = [f"gradient of {axis.name} for {subject.names[i]}" for i in subject.wrt]
            sweep = partial(_sweep, out, leaves)
            faults += compared(PHRASE, names, partial(sweep, gs, batched=True), [sweep(g, batched=False) for g in gs])
    return faults


def _sweep(out: Tensor, leaves: Sequence[Tensor], g: Array, *, batched: bool) -> Sequence[Tensor | None]:
    return grad([out], leaves, [leaf(g[()])], retain_graph=True, allow_unused=True, is_grads_batched=batched)


def drawn(rng: np.random.Generator, like: Array) -> Array:
    """Random arrays of the form of another, stacked."""
    shape = (COUNT, *like.shape)
    parts = rng.standard_normal(shape)
    return np.asarray(parts + 1j * rng.standard_normal(shape) if like.dtype.kind == "c" else parts).astype(like.dtype)


def compared(
    phrase: str, names: Sequence[str], together: Callable[[], Sequence[Any]], singly: Sequence[Sequence[Any]]
) -> Iterator[str]:
    """Where what is computed together differs from what is computed one by one, as sentences."""
    try:
        found = together()
    except Exception as error:
        yield f"While computing batched gradients, got: {type(error).__name__}: {error}\n{phrase}"
        return
    for name, batch, *each in zip(names, found, *singly):
        rows = [None] * COUNT if batch is None else list(np.asarray(plain(batch)))
        for k, (a, b) in enumerate(zip(rows, each)):
            gap, size = _gap(a, plain(b))
            if not gap <= size:
                yield (
                    f"For the {name}, batched and one by one, entry {k} differs by {gap:.3g}, where rounding may make "
                    f"{size:.3g}\n{phrase}"
                )
                break


def _gap(a: Any, b: Any) -> tuple[float, float]:
    """By how much two arrays differ, None being zeros, and what rounding may make of that."""
    if a is None and b is None:
        return 0.0, 0.0
    known = np.asarray(b if a is None else a)
    x, y = (np.zeros_like(known) if v is None else np.asarray(v) for v in (a, b))
    if x.shape != y.shape:
        return float("inf"), 0.0
    x, y = x.astype(wide_dtype(x.dtype)), y.astype(wide_dtype(y.dtype))
    size = np.max(np.abs(y), initial=0.0) * SLACK * finfo(known.dtype).eps
    return float(np.max(np.where(np.isnan(x) & np.isnan(y), 0.0, np.abs(x - y)), initial=0.0)), float(size)
