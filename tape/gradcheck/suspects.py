"""Naming the op at fault: every op that a function applies is checked by itself, on the values it met.

The function runs once more on tensors of a subclass that notes each application of an op, with
its operands and the user's line.  Each is then judged alone, in the modes and to the order of the gradient under check:
its rules against differences of its forward function.  Everything is one number: the derivative of ⟨w, z⟩, for random
weights w of the results, as one operand moves along a random direction.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ops import Op

from ..backprop.grad import grad
from ..base.location import Location, locate
from ..base.tensor import Tensor
from ..recording.leaf import leaf
from ..recording.recorder import CUSTOM, bind, user_frame
from ..recording.wengert import current
from .derivatives.numeric import settle
from .derivatives.report import FORWARD, REVERSE, Suspect
from .derivatives.rounding import Applied, wide_dtype
from .derivatives.subject import Array, Subject, components, is_inexact, plain


@dataclass
class AppliedOp:
    """An op that was applied: to these operands, with these parameters, at this line."""

    op: Op
    operands: tuple[Any, ...]
    params: dict[str, Any]
    where: tuple[Any, int]

    def values(self) -> list[Any]:
        """The operands as NumPy values, wide: rules are judged where rounding is no excuse."""
        return [_widened(plain(x)) for x in self.operands]

    def run(self, values: Sequence[Any]) -> list[Any]:
        """The results, of values of the operands or of tensors among them."""
        if self.op is CUSTOM:  # its forward is a program of the user's, which takes tensors
            values = [x if isinstance(x, Tensor) else leaf(_own(x)) for x in values]
        traced = any(isinstance(x, Tensor) for x in values)
        z = bind(self.op, values, self.params) if traced else self.op.forward(*values, **self.params)
        return list(z) if isinstance(z, tuple) else [z]

    def suspect(self, i: int, analytic: float, numeric: float, mode: str, order: int = 1) -> Suspect:
        name = f"{self.op.operands[0]}[{i}]" if self.op.variadic else self.op.operands[i]
        return Suspect(self.op.title(self.params), name, locate(*self.where), analytic, numeric, mode, order)


def judge(applied: AppliedOp, modes: Iterable[str]) -> Iterator[Suspect]:
    """The operands for which a rule of the op disagrees with differences of its forward function."""
    ways = {REVERSE: _by_sweep, FORWARD: _by_push}
    values = applied.values()
    for i, mode in ((i, mode) for i in _judged(applied, values) for mode in modes):
        try:
            weights = _weights(applied.run(values))
            direction = _along(i, values, _sweep(applied, values, weights, i))
            analytic = ways[mode](applied, values, weights, i, direction)
            estimate = _difference(partial(_result, applied, weights), values, i, direction)
        except Exception:  # one that cannot be judged alone is passed over
            continue
        if not _agrees(analytic, estimate):
            yield applied.suspect(i, analytic, float(estimate.value[0]), mode)


def judge_second(applied: AppliedOp) -> Iterator[Suspect]:
    """The operands for which what the op's rule computes has a wrong gradient in turn."""
    values = applied.values()
    judged = _judged(applied, values)
    for i, k in ((i, k) for i in judged for k in judged):
        try:
            weights = _weights(applied.run(values))
            bar = _sweep(applied, values, weights, i)
            (v,) = _weights([bar])
            second = _sweep_twice(applied, values, weights, i, k, v)
            direction = _along(k, values, second)
            analytic = float(components(second) @ components(direction))
            estimate = _difference(partial(_vjp, applied, weights, i, v), values, k, direction)
        except Exception:  # as above
            continue
        if not _agrees(analytic, estimate):
            yield applied.suspect(i, analytic, float(estimate.value[0]), REVERSE, 2)
            break


def _judged(applied: AppliedOp, values: Sequence[Any]) -> list[int]:
    return [i for i, x in enumerate(values) if applied.op.rule(i) and is_inexact(x) and np.size(x)]


def _agrees(analytic: float, found: Any) -> bool:
    low, high, error = (float(field[0]) for field in (found.low, found.high, found.error))
    allowed = 1e-6 * abs(analytic) + 8 * error
    return not np.isfinite(found.value[0]) or low - allowed <= analytic <= high + allowed


def _widened(value: Any) -> Any:
    known = isinstance(value, (np.ndarray, np.generic)) and is_inexact(value)
    return value.astype(wide_dtype(value.dtype)) if known else value


def _own(value: Any) -> Any:
    return np.array(value)[()]


def _weights(outs: Sequence[Any]) -> list[Any]:
    """Random weights for each result that has a derivative, else None."""
    rng = np.random.default_rng(len(outs))

    def draw(out: Any) -> Any:
        parts = rng.standard_normal((2, *np.shape(out)))
        return parts[0] + 1j * parts[1] if np.asarray(out).dtype.kind == "c" else parts[0][()]

    return [draw(plain(out)) if is_inexact(out) else None for out in outs]


def _paired(weights: Sequence[Any], outs: Sequence[Any]) -> float:
    """Σ ⟨w, z⟩ over the results."""
    return sum(float(components(w) @ components(z)) for w, z in zip(weights, outs) if w is not None)


def _result(applied: AppliedOp, weights: Sequence[Any], values: Sequence[Any]) -> float:
    return _paired(weights, applied.run(values))


def _vjp(applied: AppliedOp, weights: Sequence[Any], i: int, v: Any, values: Sequence[Any]) -> float:
    return _paired([v], [_sweep(applied, values, weights, i)])


def _along(i: int, values: Sequence[Any], bar: Any) -> Any:
    """A random direction in which every element of the gradient adds up, so that nothing cancels."""
    rng = np.random.default_rng(i)
    value = np.asarray(values[i])

    def sized(part: Any, of_bar: Any) -> Any:
        size = np.where(np.equal(part, 0), 1.0, np.abs(part))
        return rng.uniform(0.5, 1.5, value.shape) * size * np.where(of_bar < 0, -1.0, 1.0)

    if value.dtype.kind != "c":
        return sized(value, bar)
    return sized(value.real, np.real(bar)) + 1j * sized(value.imag, np.imag(bar))


def _sweep(applied: AppliedOp, values: Sequence[Any], weights: Sequence[Any], i: int) -> Any:
    """The vjp of one operand, through the list."""
    x = leaf(_own(values[i]), requires_grad=True)
    outs, ws = _flowing(applied.run([x if k == i else v for k, v in enumerate(values)]), weights)
    (bar,) = grad(outs, [x], ws, allow_unused=True)
    return np.zeros_like(plain(x)) if bar is None else np.asarray(plain(bar))


def _sweep_twice(applied: AppliedOp, values: Sequence[Any], weights: Sequence[Any], i: int, k: int, v: Any) -> Any:
    """The gradient with respect to operand k of ⟨v, the vjp of operand i⟩."""
    xs = [leaf(_own(x), requires_grad=True) if j in (i, k) else x for j, x in enumerate(values)]
    outs, ws = _flowing(applied.run(xs), weights)
    (bar,) = grad(outs, [xs[i]], ws, create_graph=True)
    if not bar.requires_grad:
        return np.zeros_like(values[k])
    (second,) = grad([bar], [xs[k]], [leaf(np.asarray(v, dtype=bar.dtype)[()])], allow_unused=True)
    return np.zeros_like(values[k]) if second is None else np.asarray(plain(second))


def _flowing(outs: Sequence[Any], weights: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """The results that a gradient flows back from, with their weights as tensors."""
    pairs = [(out, leaf(np.asarray(w, dtype=out.dtype)[()])) for out, w in zip(outs, weights) if w is not None]
    pairs = [(out, w) for out, w in pairs if out.requires_grad]
    return [out for out, _ in pairs], [w for _, w in pairs]


def _by_sweep(applied: AppliedOp, values: Sequence[Any], weights: Sequence[Any], i: int, direction: Any) -> float:
    return float(components(_sweep(applied, values, weights, i)) @ components(direction))


def _by_push(applied: AppliedOp, values: Sequence[Any], weights: Sequence[Any], i: int, direction: Any) -> float:
    from ..levels.direction import Direction, make, parts  # forward mode is opened when it is asked for

    with Direction() as level:
        x = make(leaf(_own(values[i])), leaf(_own(direction)), level)
        outs = applied.run([x if k == i else v for k, v in enumerate(values)])
        tangents = [parts(out, level)[1] for out in outs]
    return _paired([w if t is not None else None for w, t in zip(weights, tangents)], tangents)


def _difference(along: Callable[[list[Any]], float], values: Sequence[Any], i: int, direction: Any) -> Any:
    """d/dt along(x + t·direction) at t = 0, with the slopes on both sides and the error."""

    def line(t: Any) -> Any:
        return np.array([along([v + t * direction if k == i else v for k, v in enumerate(values)])])

    with np.errstate(all="ignore"):
        return settle(line, np.float64(0.0), 1e-2, np.array([np.finfo(np.float64).eps]))


PER_LINE = 3
"""How many applications of one op at one line are looked at."""

LINES = 12


class NotingTensor(Applied):
    """A tensor that notes in `applied` what is applied to it."""

    __slots__ = ()
    applied: list[AppliedOp]

    @staticmethod
    def __bind__(op: Op, operands: Sequence[Any], params: dict[str, Any]) -> Any:
        traced = [x for x in operands if isinstance(x, NotingTensor)]
        kind = type(traced[0])
        where = current().where or user_frame(sys._getframe(1))
        kind.applied.append(AppliedOp(op, tuple(operands), dict(params), where))
        as_kind(Tensor, traced)
        try:
            z = bind(op, operands, params)
        finally:
            as_kind(kind, traced)
        as_kind(kind, z if isinstance(z, tuple) else (z,))
        return z


def as_kind(kind: type[Tensor], tensors: Iterable[Any]) -> None:
    """Make tensors of another kind, which is the same but for its name and for who applies ops to them."""
    for x in tensors:
        x.__class__ = kind


def find_suspects(
    subject: Subject, point: Sequence[Array], modes: Sequence[str]
) -> tuple[list[Suspect], list[Location]]:
    """The applications of ops whose own gradient is wrong; if there are none, the lines that recorded any.

    Where the function is itself a gradient, the ops of the function that it is of are judged to
    second order, and those that compute the gradient to first.
    """
    log = trace(subject.func, subject.arguments(point))
    suspects: dict[tuple[Any, ...], Suspect] = {}
    for suspect in _found(log, lambda applied: judge(applied, modes)):
        suspects.setdefault((suspect.op, suspect.operand, suspect.where, suspect.mode), suspect)
    if subject.needs_history and not suspects:
        inner = trace(subject.func.inner, subject.arguments(point)[: subject.func.count])  # type: ignore[attr-defined]
        for suspect in _found(inner, lambda applied: (*judge(applied, [REVERSE]), *judge_second(applied))):
            suspects.setdefault((suspect.op, suspect.operand, suspect.where), suspect)
    outside = user_frame(sys._getframe(1))  # who asked for the check is not on the way
    noted = [applied.where for applied in log if applied.op.differentiable and applied.where != outside]
    lines = dict.fromkeys(locate(*where) for where in noted)
    return list(suspects.values()), [] if suspects else list(lines)[-LINES:]


def _found(log: Sequence[AppliedOp], judges: Callable[[AppliedOp], Iterable[Suspect]]) -> Iterator[Suspect]:
    """What is found wrong with the first few applications of each op at each line."""
    seen: Counter[tuple[Any, ...]] = Counter()
    for applied in log:
        key = applied.op.title(applied.params), applied.where
        seen[key] += 1
        if seen[key] <= PER_LINE and applied.op.differentiable:
            yield from judges(applied)


def trace(func: Callable[..., Any], arguments: Sequence[Any]) -> list[AppliedOp]:
    """What the function applies to its tensors; up to the point where it fails, if it does."""
    log: list[AppliedOp] = []
    kind = type("Tensor", (NotingTensor,), {"__slots__": (), "applied": log})
    for x in arguments:
        if type(x) is Tensor:
            x.__class__ = kind
    try:
        func(*arguments)
    except Exception:  # this run only looks for causes; the check itself has had its own runs
        return log
    finally:
        for x in arguments:
            if isinstance(x, kind):
                x.__class__ = Tensor
    return log
