"""Naming the op at fault: every op that a function applies is checked by itself, on the values it met.

The function runs once more on tensors of a subclass that notes each application of an op, with
its operands and the user's line.  Each is then differentiated alone, along one direction
per operand, by the same sweep that gave the gradient under check.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ops import Op

from ..backward import grad
from ..leaf import leaf
from ..location import Location, locate, user_frame
from ..record import bind
from ..tensor import Tensor
from .numeric import settle
from .report import Suspect
from .subject import plain

PER_LINE = 3
"""How many applications of one op at one line are looked at."""

LINES = 12


@dataclass
class Application:
    """An op that was applied: to these operands, with these parameters, at this line."""

    op: Op
    operands: tuple[Any, ...]
    params: dict[str, Any]
    where: tuple[Any, int]


class Traced(Tensor):
    """A tensor that notes in `log` what is applied to it."""

    __slots__ = ()
    log: list[Application]

    @staticmethod
    def __bind__(op: Op, operands: Sequence[Any], params: dict[str, Any]) -> Any:
        traced = [x for x in operands if isinstance(x, Traced)]
        kind = type(traced[0])
        kind.log.append(Application(op, tuple(operands), dict(params), user_frame(sys._getframe(1))))
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


def find_suspects(func: Callable[..., Any], arguments: Sequence[Any]) -> tuple[list[Suspect], list[Location]]:
    """The applications of ops whose own gradient is wrong; if there are none, the lines that recorded any."""
    log = trace(func, arguments)
    suspects: dict[tuple[Any, ...], Suspect] = {}
    seen: Counter[tuple[Any, ...]] = Counter()
    for applied in log:
        key = applied.op.name, applied.where
        seen[key] += 1
        if seen[key] <= PER_LINE:
            for suspect in _judge(applied):
                suspects.setdefault((suspect.op, suspect.operand, suspect.where), suspect)
    lines = dict.fromkeys(locate(*applied.where) for applied in log if applied.op.differentiable)
    return list(suspects.values()), [] if suspects else list(lines)[-LINES:]


def trace(func: Callable[..., Any], arguments: Sequence[Any]) -> list[Application]:
    """What the function applies to its tensors; up to the point where it fails, if it does."""
    log: list[Application] = []
    kind = type("Tensor", (Traced,), {"__slots__": (), "log": log})
    for x in arguments:
        if isinstance(x, Tensor):
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


def _judge(applied: Application) -> Iterator[Suspect]:
    """Compare the gradient of one application with differences of its forward function, per operand."""
    op, values = applied.op, [_widened(plain(x)) for x in applied.operands]
    if not op.differentiable:
        return
    rng = np.random.default_rng(len(values))
    z = op.forward(*values, **applied.params)
    weights = [_weight(rng, out) for out in (z if isinstance(z, tuple) else (z,))]
    for i, value in enumerate(values):
        if op.rule(i) is None or np.asarray(value).dtype.kind != "f" or np.size(value) == 0:
            continue
        try:
            bar = _sweep(applied, values, weights, i)
            direction = _along(rng, value, bar)
            numeric, low, high, error = _difference_along(applied, values, weights, i, direction)
        except (TypeError, ValueError, IndexError, RuntimeError):
            continue
        analytic = float(np.sum(bar * direction))
        allowed = 1e-6 * abs(analytic) + 8 * error
        if np.isfinite(numeric) and not low - allowed <= analytic <= high + allowed:
            name = f"{op.operands[0]}[{i}]" if op.variadic else op.operands[i]
            yield Suspect(op.title(applied.params), name, locate(*applied.where), analytic, numeric)


def _widened(value: Any) -> Any:
    """A value in float64 if it is of a smaller float: rules are judged where rounding is no excuse."""
    narrow = isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind == "f" and value.dtype.itemsize < 8
    return value.astype(np.float64) if narrow else value


def _weight(rng: np.random.Generator, out: Any) -> Any:
    return rng.standard_normal(np.shape(out)) if np.asarray(out).dtype.kind == "f" else None


def _along(rng: np.random.Generator, value: Any, bar: Any) -> Any:
    """A random direction in which every element of the gradient adds up, so that nothing cancels."""
    size = np.where(np.equal(value, 0), 1.0, np.abs(value))
    return rng.uniform(0.5, 1.5, np.shape(value)) * size * np.where(bar < 0, -1.0, 1.0)


def _sweep(applied: Application, values: list[Any], weights: list[Any], i: int) -> Any:
    """The vjp of one operand, through the list."""
    x = leaf(np.array(values[i])[()], requires_grad=True)
    z = bind(applied.op, [x if k == i else v for k, v in enumerate(values)], applied.params)
    outs = z if isinstance(z, tuple) else (z,)
    pairs = [(out, leaf(np.asarray(w, dtype=out.dtype)[()])) for out, w in zip(outs, weights) if w is not None]
    (bar,) = grad([o for o, _ in pairs if o.requires_grad], [x], [w for o, w in pairs if o.requires_grad])
    return np.asarray(plain(bar), dtype=np.float64)


def _difference_along(
    applied: Application, values: list[Any], weights: list[Any], i: int, direction: Any
) -> tuple[float, float, float, float]:
    """d/dt Σ weight·op(x + t·direction) at t = 0: the value, the slopes on both sides, and the error."""

    def line(t: Any) -> Any:
        moved = [v + t * direction if k == i else v for k, v in enumerate(values)]
        z = applied.op.forward(*moved, **applied.params)
        outs = z if isinstance(z, tuple) else (z,)
        return np.array([sum(float(np.sum(w * out)) for w, out in zip(weights, outs) if w is not None)])

    with np.errstate(all="ignore"):
        found = settle(line, np.float64(0.0), 1e-2, np.array([np.finfo(np.float64).eps]))
    return float(found.value[0]), float(found.low[0]), float(found.high[0]), float(found.error[0])
