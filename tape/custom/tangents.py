"""What the ``jvp`` of a custom function must return for what its ``forward`` has returned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..base.spec import Spec
from ..base.tensor import Tensor
from ..recording.recorder import wrap
from ..recording.version import count
from ..recording.views import base_of
from .context import FunctionCtx


def direction(ctx: FunctionCtx, spec: Spec | None, part: Any) -> Tensor | None:
    """The tangent of an input, as ``jvp`` gets it: that of the tensor itself, so that changes in place reach it."""
    if part is None or spec is None:
        return ctx._zeros(spec) if spec is not None and spec.inexact else None
    return part if isinstance(part, Tensor) else wrap(part.copy(), None, spec)


def checked(
    ctx: FunctionCtx, found: Sequence[Any], given: Sequence[Any], counts: Sequence[int], xs: Sequence[Any],
    zs: Sequence[Any],
) -> tuple[Any, ...]:  # fmt: skip
    """The tangents that jvp has returned for the outputs `zs`, from those that were given for the inputs `xs`.

    Args:
        counts: how often the given ones had been changed in place before.

    Raises:
        TypeError, RuntimeError: if one does not fit its output, or does not follow it: a changed input has the tangent
            that was given, changed in place, and a view of an input has a view of its tangent.
    """
    specs = [spec for spec in ctx._outputs if spec is not None]
    for i, (t, spec) in enumerate(zip(found, specs)):
        if t is not None:
            _check_fits(ctx, i, t, spec)
    for i, k in ctx._dirty:
        if found[i] is not given[k] or (_is_plain(found[i]) and count(found[i]) == counts[k]):
            raise RuntimeError(
                "An inplace custom Function is not modifying the forward mode gradients inplace: "
                f"{ctx._title}.forward changes input {k} in place and returns it as output {i}.\nThe jvp function must "
                "modify the corresponding gradient inplace too, and return it."
            )
    changed = [i for i, _ in ctx._dirty]
    for i, (t, z) in enumerate(zip(found, zs)):
        if _is_plain(t) and _is_plain(z) and i not in changed:
            _check_view(ctx, t, [k for k, x in enumerate(xs) if (i, k) in ctx._same or _looks(z, x)], given, xs)
    return tuple(found)


def _check_fits(ctx: FunctionCtx, i: int, t: Any, spec: Spec) -> None:
    if not isinstance(t, Tensor):
        raise TypeError(f"{ctx._title}.jvp must return tensors or None; tangent {i} is a {type(t).__name__}")
    if not spec.inexact or i in ctx._plain:
        raise refused(ctx, i)
    if t._spec.shape != spec.shape:
        raise RuntimeError(
            f"{ctx._title}.jvp must return tangents of the outputs' shapes: output {i} has shape {spec.shape}, its "
            f"tangent {t._spec.shape}"
        )


def refused(ctx: FunctionCtx, i: int) -> RuntimeError:
    """The error for the tangent of something that has none."""
    return RuntimeError(
        f"{ctx._title}.jvp returned a tangent at position {i}, but the corresponding output of forward is not a "
        "differentiable tensor. You should return None at that position instead."
    )


def _looks(z: Tensor, x: Any) -> bool:
    return _is_plain(x) and z._is_view() and base_of(x) is base_of(z)


def _check_view(ctx: FunctionCtx, t: Tensor, seen: Sequence[int], given: Sequence[Any], xs: Sequence[Any]) -> None:
    """Raise unless the tangent of a result that looks at the memory of some inputs looks at that of their tangents."""
    for k in seen:
        if _is_plain(given[k]) and not (t._is_view() and base_of(t) is base_of(given[k])):
            place = "same base as the " if _is_plain(xs[k]) and xs[k]._is_view() else ""
            whose = f" of the {place}given tangent" if t._is_view() else ""
            raise RuntimeError(
                "A custom Function's forward is returning a view (or an input as-is) but its jvp is not returning a "
                f"view{whose}: {ctx._title}.\nMake the tangent of the output from that of the input as the output is "
                "made, for an input as it is by x_dot.view_as(x_dot), or let forward return a copy."
            )


def counts_of(tangents: Sequence[Any]) -> list[int]:
    """How often tangents have been changed in place."""
    return [count(t) if _is_plain(t) else 0 for t in tangents]


def _is_plain(x: Any) -> bool:
    return type(x) is Tensor
