"""Forward mode: tensors that carry a tangent, and push it through every op that they meet.

A `Dual` is a tensor with a direction ẋ in which it moves.  It belongs to a `Direction`, the level of
one directional derivative.  An op on duals applies itself to the primals and its jvp to the
primals and tangents; both are ordinary tensors (which record, if a gradient may flow) or duals of
an outer level.  So levels nest, and forward and reverse mode nest in either order.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

import ops
from ops import REGISTRY, Op
from ops.algebra.sparse import yielding
from ops.core.op import in_dtype

from ..base.kind import Placement
from ..base.tensor import Tensor
from ..memory.adopting import worn
from ..recording.level import Level, components, live, memories, requires_grad
from ..recording.recorder import user_frame, wrap
from ..recording.wengert import current
from .dual_writing import Moving, parts, still, zeros

__all__ = ["Direction", "Dual", "dual", "make", "parts", "zeros"]


class Direction(Level):
    """The level of one directional derivative; once it is left, its tangents are forgotten."""

    __slots__ = ()

    moves = True

    def dress(self, x: Any, primal: Tensor, tangent: Tensor) -> None:
        """Make a tensor, itself, a dual."""
        x.__class__ = Dual
        x._primal, x._tangent, x._level = primal, tangent, self

    def gain(self, x: Tensor) -> Tensor:
        """A tensor that moves, by nothing yet."""
        return make(x, x._with_lanes(zeros(x)), self)

    def apply(self, op: Op, operands: Sequence[Any], params: dict[str, Any]) -> Any:
        """z = f(x) with the tangent ż = ∂f(x) ẋ."""
        primals, tangents = zip(*(parts(x, self) for x in operands))
        z = op(*primals, **params)
        moving = [t if op.rule(i) else None for i, t in enumerate(tangents)]
        if all(t is None for t in moving):
            return z
        wengert = current()
        before = wengert.where
        if wengert.recording and before is None:
            wengert.where = user_frame(sys._getframe(1))  # what a rule records belongs to the user's line
        try:
            with np.errstate(all="ignore"):
                if op.view and op.outputs == 1 and moving[0] is not None:
                    moving[0] = _laid_alike(operands[0], moving[0], op, params, z)
                z_dot = op.jvp(primals, moving, z, params)
                if op.outputs == 1:
                    return dual(z, _apart(z_dot, moving), self)
                return tuple(dual(p, _apart(d, moving), self) for p, d in zip(z, z_dot))
        finally:
            wengert.where = before

    def differentiate(
        self, reverse: Callable[..., Any], outputs: Sequence[Any], weights: Sequence[Any], inputs: Sequence[Any],
        retain: bool, create: bool, unused: bool,
    ) -> list[Any]:  # fmt: skip
        """Forward over reverse: the gradients, and their tangents.

        For x̄ = Jᵀg the tangent is Jᵀġ + (∂(Jᵀg)/∂x) ẋ.  The second part is the gradient of ⟨g, ż⟩,
        because ż = J ẋ was recorded; so one more sweep from (z, ż) with weights (ġ, g) gives the sum.
        """
        zs, z_dots = zip(*(parts(z, self) for z in outputs))
        gs, g_dots = zip(*(parts(g, self) for g in weights))
        xs = tuple(parts(x, self)[0] for x in inputs)
        found = _reverse(reverse, zip(zs, gs), xs, True, create, unused)
        moved = [(z, g_dot) for z, g_dot in zip(zs, g_dots) if g_dot is not None]
        moved += [(d, _ones(d) if g is None else g) for d, g in zip(z_dots, gs) if d is not None]
        dots = _reverse(reverse, moved, xs, retain, create, True)
        return [_joined(x, g, g_dot, self) for x, g, g_dot in zip(xs, found, dots)]


class RecordedDirection(Direction):
    """A direction in which only moves what is recorded: `tape.no_grad` stops tangents as it stops gradients."""

    __slots__ = ()

    def apply(self, op: Op, operands: Sequence[Any], params: dict[str, Any]) -> Any:
        """z = f(x), with a tangent where operations are recorded."""
        if current().recording:
            return super().apply(op, operands, params)
        return op(*[parts(x, self)[0] for x in operands], **params)


def _laid_alike(x: Any, x_dot: Any, op: Op, params: dict[str, Any], z: Any) -> Any:
    """The tangent of what a view is made of, in memory where the same look at it is a view too.

    Raises:
        RuntimeError: if other looks at that memory would not see it there.
    """
    if op not in MAY_COPY or not _shares(z, parts(x, x._level)[0]) or _shares(op(x_dot, **params), x_dot):
        return x_dot
    if not _is_alone(x_dot):
        raise RuntimeError(
            f"{op.name} gives a view of an array, and would give a copy of its tangent, which lies otherwise in memory "
            "and is looked at elsewhere: writes would be lost.\nCopy the array first, as y = y.copy()."
        )
    strides = tuple(parts(x, x._level)[0].stride())
    axes = sorted(range(len(strides)), key=lambda k: -abs(strides[k]))
    turned = ops.clone(ops.permute(x_dot, axes=tuple(axes)).contiguous())
    x._tangent = ops.permute(turned, axes=tuple(np.argsort(axes).tolist()))
    return x._tangent


def _is_alone(x: Tensor) -> bool:
    """Whether nothing else looks at a tensor's memory, and that is known."""
    return all(found is not None and len(found[1]) == 1 for found in [part._lookers() for part in components(x)])


def _shares(x: Any, y: Any) -> bool:
    """Whether two tensors lie in the same memory."""
    return memories(x) == memories(y)


MAY_COPY = frozenset({REGISTRY["reshape"], REGISTRY["view_as_complex"]})
"""Views that are copies where memory does not lie as they need it."""


class Dual(Moving):
    """A tensor that moves: its value and history are those of its primal, beside a tangent.

    The tangent has the shape and dtype of the primal; it is None once it has been dropped.
    """

    __slots__ = ()

    def over(self, change: Callable[[Any], Any]) -> Any:
        return make(change(live(self._primal)), self._tangent, self._level)  # type: ignore[arg-type]

    def through(self, change: Callable[[Any], Any]) -> Any:
        return make(change(live(self._primal)), change(live(self._tangent)), self._level)

    def below(self) -> tuple[Any, ...]:
        return self._primal, self._tangent

    def _moving(self, target: Tensor) -> Tensor:
        x, x_dot = parts(self, self._level)
        return target if x_dot is None else make(x._moving(target), still(target, x_dot), self._level)

    def detach(self) -> Tensor:
        """A tensor on the same memory, outside the history and without tangents."""
        return self._primal.detach()

    @property
    def data(self) -> Tensor:
        """The same memory without history and without tangents; may be assigned as that of any tensor."""
        return self._primal.data

    @data.setter
    def data(self, value: Tensor) -> None:
        _DATA.fset(self, value)

    @data.deleter
    def data(self) -> None:
        _DATA.fdel(self)

    def contiguous(self, memory_format: Any = None) -> Tensor:
        """The tensor itself if its memory is in row-major order, else a copy that is."""
        primal = self._primal.contiguous(memory_format)
        if self._tangent is None:
            return self if primal is self._primal else primal
        tangent = self._tangent.contiguous(memory_format)
        if primal is self._primal:
            if tangent is not self._tangent and _is_alone(self._tangent):
                self._tangent = tangent
            return self
        return make(primal, ops.clone(tangent) if tangent is self._tangent else tangent, self._level)

    def _placements(self, lanes: int = 0) -> Iterator[Placement]:
        """How the primal lies in memory, and the tangent where it lies alike: else the tangent is read from a copy."""
        primal, tangent = parts(self, self._level) if self._level.alive else (live(self), None)
        still = list(primal._placements(lanes))
        if tangent is None:
            yield from still
            return
        pairs = [(p, d) for p in still for d in tangent._placements(lanes) if _alike(p, d)]
        found = [p._replace(origin=make(p.origin, d.origin, self._level)) for p, d in pairs]
        yield from found or [p._replace(origin=self) for p in still if p.origin is primal]

    def detach_(self) -> Tensor:
        """Drop this tensor's own tangent and history."""
        self._primal.detach_()
        self._tangent = None
        return self

    def numpy(self, *, force: bool = False) -> np.ndarray:
        """The memory as an array.

        Raises:
            RuntimeError: unless ``force``, because the tangent would be lost.
        """
        if not force and isinstance(live(self), Dual):
            raise RuntimeError(
                "numpy() gives bare numbers, and this tensor carries a tangent, which would be lost.\n"
                "Use .detach().numpy(), or pass the tensor itself to NumPy's function."
            )
        return self._primal.numpy(force=force)

    @yielding
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.numpy(), dtype, copy=copy)

    def backward(self, gradient: Any = None, *args: Any, **kwargs: Any) -> None:
        """Add the gradient to the leaves' ``.grad``: of the primal, without tangents.

        Use `tape.autograd.grad` for gradients that carry tangents.
        """
        given = gradient.detach() if isinstance(gradient, Dual) else gradient
        self._primal.backward(given, *args, **kwargs)

    @property
    def _base(self) -> Tensor | None:
        """The tensor whose memory this is a view of, moving as it does; None where it is no view."""
        base, moving = self._primal._base, live(self._tangent)
        held = None if base is None else worn(base)
        if base is None or held is not None:
            return held
        if type(moving) is not Tensor or moving._base is None:
            return base
        return make(base, moving._base, self._level)

    def __repr__(self) -> str:
        shown = repr(self._primal)
        return shown if self._tangent is None or not self._level.alive else f"{shown[:-1]}, tangent={self._tangent!r})"


_DATA: Any = Tensor.data


def _mirror(name: str) -> property:
    """An attribute that a dual shares with its primal."""

    def fetch(self: Dual) -> Any:
        return getattr(self._primal, name)

    def store(self: Dual, value: Any) -> None:
        setattr(self._primal, name, value)

    return property(fetch, store)


for _name in (
    "_data", "_node", "_spec", "_counted", "_grad", "_chain", "_retains", "_accumulator",
    "_versions", "_silent", "_of", "_among", "_views",
):  # fmt: skip
    setattr(Dual, _name, _mirror(_name))


def make(primal: Tensor, tangent: Tensor, level: Direction) -> Dual:
    """A dual of parts that fit."""
    made: Dual = object.__new__(Dual)
    made._primal, made._tangent, made._level = primal, tangent, level
    return made


def dual(primal: Tensor, tangent: Any, level: Direction) -> Tensor:
    """A dual with a tangent fitted to the primal's shape and dtype; the primal itself without a tangent."""
    spec = primal._spec
    if tangent is None or not spec.inexact:
        return primal
    if not isinstance(tangent, Tensor):
        tangent = wrap(np.asarray(tangent)[()])
    if tangent._spec.shape != spec.shape:
        tangent = ops.clone(ops.broadcast_to(tangent, shape=spec.shape))  # it is written into where the primal is
    if tangent._spec.dtype != spec.dtype:
        tangent = in_dtype(tangent, spec.dtype)
    return make(primal, tangent, level)


def _alike(x: Placement, y: Placement) -> bool:
    """Whether two tensors lie alike in what they lie in."""
    return (x.origin._spec.shape, x.start - x.begin, x.strides) == (y.origin._spec.shape, y.start - y.begin, y.strides)


def _apart(tangent: Any, others: Sequence[Any]) -> Any:
    """A tangent that is none of the others, because what it belongs to may be changed in place without them."""
    return ops.clone(tangent) if tangent is not None and any(tangent is t for t in others) else tangent


def _reverse(reverse: Callable[..., Any], pairs: Iterable[Any], xs: Any, *how: Any) -> list[Any]:
    """A sweep from the outputs that have a history, out of pairs of output and weight."""
    pairs = [(z, g) for z, g in pairs if requires_grad(z)]
    return reverse(*zip(*pairs), xs, *how) if pairs else [None] * len(xs)


def _joined(x: Tensor, g: Tensor | None, g_dot: Tensor | None, level: Direction) -> Tensor | None:
    if g_dot is None:
        return g
    return dual(zeros(x) if g is None else g, g_dot, level)


def _ones(x: Tensor) -> Tensor:
    return wrap(np.ones(x._spec.shape, x._spec.dtype)[()])
