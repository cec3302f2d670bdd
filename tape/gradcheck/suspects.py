"""Naming the op at fault: every op that a function applies is checked by itself, on the values it met.

The function runs once more on tensors of a subclass that notes each application of an op, with
its operands and the user's line.  Each is then judged alone (`judge`), in the modes and to the
order of the gradient under check.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ops import Op

from ..base.location import Location, locate, user_frame
from ..base.tensor import Tensor
from ..recording.recorder import bind
from ..recording.wengert import current
from .derivatives.analytic import Applied
from .derivatives.report import REVERSE, Suspect
from .derivatives.subject import Array, Subject
from .judge import AppliedOp, judge, judge_second

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
