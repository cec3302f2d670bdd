"""A program in both worlds, and the first difference between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from .program import BROKEN, Look, Sight, Statement, last_look, step
from .world import World, worlds

FINE, COARSE = 1e-7, 3e-3
"""Largest relative difference in programs of float64, and where float32 is involved."""

KINDS = (IndexError, TypeError, RuntimeError, ValueError, AttributeError)


@dataclass(frozen=True)
class Difference:
    """Where a program went two ways, and how."""

    at: int
    what: str

    def __str__(self) -> str:
        return f"statement {self.at}: {self.what}"


def difference(statements: Sequence[Statement]) -> Difference | None:
    """Run a program in both worlds up to the first difference."""
    ours, theirs = worlds()
    tolerance = COARSE if any("float32" in s.text for s in statements) else FINE
    try:
        for i, statement in enumerate(statements):
            a, b = step(ours, statement), step(theirs, statement)
            if a.ran and a.error is None and b.error is not None and refuses(b.error):
                kept = with_values_kept(statements[: i + 1])
                what = kept and differing_ends(ours, kept, tolerance)
                return Difference(i, f"where torch refuses: {what}") if what else None
            what = differing(a, b, tolerance)
            if what:
                return Difference(i, what)
            if laid_out_apart(ours, theirs, statement):
                return None
            if b.error is not None and statement.kind in ("backward", "grad"):
                return None  # how far a sweep came before it failed is nobody's business
        what = differing_ends(ours, theirs, tolerance)
        return Difference(len(statements), what) if what else None
    finally:
        ours.names.clear()
        theirs.names.clear()


def laid_out_apart(ours: World, theirs: World, statement: Statement) -> bool:
    """Whether a reshape is a view in one world alone: each lays out the results of its ops in its own order."""
    made = [(ours.names.get(name), theirs.names.get(name)) for name in statement.writes]
    reshapes = "reshape" in statement.text or "flatten" in statement.text
    return reshapes and any(a is not None and b is not None and a._is_view() != b._is_view() for a, b in made)


def refuses(error: Exception) -> bool:
    """Whether PyTorch does not differentiate because a value, or the base of one of several views, was changed."""
    return "modified by an inplace operation" in str(error) or "has been modified inplace" in str(error)


def with_values_kept(statements: Sequence[Statement]) -> World | None:
    """PyTorch's world after a program, in which values that a gradient needs are copied before they are changed.

    Where PyTorch refuses to differentiate because a value was changed, we may still have it: numbers without axes
    are never changed, and our rules read other values than PyTorch's.  The gradients must be those, unless PyTorch
    refuses all the same, or has not copied: it overlooks changes through a view that is made under no_grad.
    """
    if any("del u" in statement.text for statement in statements):
        return None
    world = World(torch)
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        seen = [step(world, statement) for statement in statements]
    return world if seen[-1].error is None else None


def differing(a: Sight, b: Sight, tolerance: float) -> str | None:
    """How one statement differed."""
    if a.ran != b.ran:
        return f"tape {'ran' if a.ran else 'skipped'} it, torch did not"
    if a.error is None and b.error is None:
        return first(unlike(name, a.tensors[name], b.tensors.get(name), tolerance) for name in a.tensors)
    if a.error is None:
        return f"torch raised {short(b.error)}, tape nothing"
    if b.error is None:
        return f"tape raised {short(a.error)}, torch nothing"
    return None if kind(a.error) == kind(b.error) else f"tape raised {short(a.error)}, torch {short(b.error)}"


def differing_ends(ours: World, theirs: World, tolerance: float) -> str | None:
    """How the tensors and the hooks differ at the end."""
    a, b = last_look(ours), last_look(theirs)
    if a.keys() != b.keys():
        return f"tape bound {sorted(a.keys() - b.keys())}, torch {sorted(b.keys() - a.keys())}"
    if [number for number, _ in ours.seen] != [number for number, _ in theirs.seen]:
        return f"hooks ran in the order {[n for n, _ in ours.seen]} in tape, {[n for n, _ in theirs.seen]} in torch"
    return first(unlike(name, a[name], b[name], tolerance) for name in a) or first(
        apart(f"what hook {n} saw", g, h, tolerance) for (n, g), (_, h) in zip(ours.seen, theirs.seen)
    )


def unlike(name: str, a: Look | None, b: Look | None, tolerance: float) -> str | None:
    """How a tensor differs in the two worlds."""
    if a is None or b is None:
        return None if a is b else f"{name} is {'None' if a is None else 'a tensor'} in tape only"
    if b is BROKEN:
        return None  # ours may find out only where it is used
    for fact in ("requires_grad", "is_leaf", "changes"):
        if getattr(a, fact) != getattr(b, fact):
            return f"{name}.{fact} is {getattr(a, fact)} in tape, {getattr(b, fact)} in torch"
    return apart(name, a.value, b.value, tolerance) or apart(f"{name}.grad", *alike(a.grad, b.grad), tolerance)


def alike(a: Any, b: Any) -> tuple[Any, Any]:
    """Gradients, without one that is zero where there is none: of a history that a zero partial ends or does not."""
    if (a is None and not np.any(b)) or (b is None and not np.any(a)):
        return None, None
    return a, b


def apart(name: str, a: Any, b: Any, tolerance: float) -> str | None:
    """How two arrays differ: in type, in shape, or by more than rounding."""
    if (a is None) != (b is None):
        return f"{name} is {a} in tape, {b} in torch"
    if a is None:
        return None
    if a.dtype != b.dtype:
        return f"{name} is {a.dtype} in tape, {b.dtype} in torch"
    if a.shape != b.shape:
        return f"{name} has shape {a.shape} in tape, {b.shape} in torch"
    scale = max(1.0, float(np.max(np.abs(b.astype(complex)), initial=0.0, where=np.isfinite(b))))
    if np.allclose(a, b, rtol=tolerance, atol=tolerance * scale, equal_nan=True):
        return None
    return f"{name} is\n{a}\nin tape, and\n{b}\nin torch"


def kind(error: Exception) -> type[Exception]:
    """The first of the kinds of error that this one is."""
    return next((k for k in KINDS if isinstance(error, k)), type(error))


def short(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error)[:300]}"


def first(found: Any) -> Any:
    return next((x for x in found if x), None)
