"""What the rules of a record append, to be appended again for the next record that is like it.

A loop of the user's program makes the same records in each round.  Running the rules of an op costs some twenty times
what appending their records does; so they run for the first two of the records that are alike in all that rules can
see, and what they appended for the second is done again for the others.  The rules of the library's own ops see
nothing else; those of the user's may, and run each time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ops import Op
from ops.core.own import is_own
from ops.core.registry import OPS

from ...base.spec import Spec
from ..recorded.aliases import link
from ..recorded.guards import Guard, same
from ..recorded.large.fingerprint import key_of
from ..recorded.large.later import Later
from ..recorded.trace import CONSTANT, PlainStep, Trace
from ..recorded.traced import Traced, traced

MOST = 4
"""Of records with more operands the rules run each time."""

Contributions = list[tuple[int, Any]]
"""By number of an operand, what a record adds to its adjoint."""

Rules = Callable[[Trace, int, Any, tuple[int, ...]], Contributions]
"""What runs the rules of a record of a trace, with its adjoint, with respect to the operands at some positions."""


class Appended(NamedTuple):
    """A record that rules append, its spec, and what Python is told of it, how and which value."""

    op: Op
    operands: list[int]
    params: dict[str, Any]
    spec: Spec
    told: list[tuple[str, Any]]


class RecordTemplate(NamedTuple):
    """The records that rules append, and what of them goes where.

    An operand is counted among the adjoint, the operands and the result of the record whose rules these are, and then
    the template's own records; below 0 it is a constant, by −1 minus its number.

    Attributes:
        plain: the same for `Trace.append_plain`, if that can append all of them.
    """

    steps: list[Appended]
    bars: list[tuple[int, int]]
    plain: list[PlainStep] | None

    def append(self, trace: Trace, given: Sequence[int], g: Traced) -> Contributions | None:
        """Append the records for other numbers in place of the given ones; None if the rules would append others."""
        rows = list(given)
        if self.plain is not None:
            trace.append_plain(self.plain, rows)
        for op, operands, params, spec, told in self.steps if self.plain is None else ():
            numbers = tuple([rows[k] if k >= 0 else -1 - k for k in operands])
            rows.append(trace.append_op(op, numbers, params, Later(spec)))
            for what, seen in told:
                if not same(trace.guard(rows[-1], what), seen):
                    return None
        made = {0: g}
        return [(given[i], self._tensor(trace, rows, len(given), k, made)) for i, k in self.bars]

    def _tensor(self, trace: Trace, rows: list[int], own: int, k: int, made: dict[int, Traced]) -> Traced:
        """A record's tensor; a view looks at the memory of its operand."""
        found = made.get(k)
        if found is None:
            found = made[k] = traced(trace, rows[k])
            if self.plain is not None:
                return found
            if k >= own:
                step = self.steps[k - own]
                if step.op.view and step.op.is_view(step.params):
                    link(found, self._tensor(trace, rows, own, step.operands[0], made), step.op, step.params)
        return found


def contributions(
    trace: Trace, row: int, op: Op, operands: tuple[int, ...], params: dict[str, Any], g: Any, leads: tuple[bool, ...],
    rules: Rules,
) -> Contributions:  # fmt: skip
    """What `rules` give, which run the rules of a record with respect to some of its operands that lead to a target."""
    simple = type(g) is Traced and len(operands) <= MOST and op.outputs == 1 and trace.wengert.recording
    given = (g._row, *operands, row) if simple and not is_own(op) else ()
    facts = _facts(trace, given)
    if not facts:
        return rules(trace, row, g, positions_of(trace, op, operands, leads))
    key = (key_of(op.code, params) if params else op.code, leads, *map(given.index, given), *facts)
    known = trace.templates.get(key)
    if known is not None and known[1]:
        done: Contributions | None = known[1].append(trace, given, g)
        if done is not None:
            return done
    start, guards = len(trace), len(trace.guards)
    found = rules(trace, row, g, positions_of(trace, op, operands, leads))
    if known is None:
        trace.templates[key] = params, False  # which lives as long as the key, that may have its identity
    elif known[1] is False:
        trace.templates[key] = params, _template(trace, given, found, start, trace.guards[guards:])
    return found


def positions_of(trace: Trace, op: Op, operands: tuple[int, ...], leads: tuple[bool, ...]) -> tuple[int, ...]:
    """Which of the operands that lead to a target a gradient flows to."""
    leading = [i for i, k in enumerate(operands) if leads[i] and moves(trace.spec(k))]
    return tuple([i for i in leading if op.rule(i)])


def moves(spec: Any) -> bool:
    """Whether what a spec is of can have a derivative: places in an array cannot, whatever they were computed from."""
    return spec is None or bool(spec.inexact)


def _facts(trace: Trace, rows: Sequence[int]) -> list[Any] | None:
    """What rules can see of records; None if they are not to be trusted with one of them."""
    found: list[Any] = []
    plain, looks = trace.plain, trace.looks
    for k in rows:
        fact: Any = looks.get(k)
        if fact is None and k in plain:
            fact = looks[k] = type(plain[k]), repr(plain[k])
        elif fact is None:
            spec = trace.spec(k)
            if spec is None or spec.narrow:
                return None
            fact = spec.index
        found.append(fact)
    return found


def _template(
    trace: Trace, given: Sequence[int], found: Contributions, start: int, guards: list[Guard]
) -> RecordTemplate | None:
    """What rules appended from a number on, None if it cannot be done again by applying the same ops."""
    places = {k: given.index(k) for k in given}
    steps: list[Appended] = []
    for k in range(start, len(trace)):
        if k in trace.stopped:
            return None
        if trace.code(k) == CONSTANT:
            continue
        op, spec = OPS[trace.code(k)] if trace.code(k) >= 0 else None, trace.spec(k)
        operands, params = trace.arguments(k)
        if op is None or spec is None or op.outputs != 1 or op.name in ("output", "custom"):
            return None
        if any(j not in places and trace.code(j) != CONSTANT for j in operands):
            return None
        places[k] = len(given) + len(steps)
        told = [(guard.what, guard.seen) for guard in guards if guard.row == k]
        steps.append(Appended(op, [places.get(j, -1 - j) for j in operands], params, spec, told))
    if sum(len(step.told) for step in steps) < len(guards):
        return None
    if any(type(bar) is not Traced or bar._trace is not trace or bar._row not in places for _, bar in found):
        return None
    bars = [(given.index(k, 1), places[bar._row]) for k, bar in found]
    return RecordTemplate(steps, bars, _plain(steps))


def _plain(steps: list[Appended]) -> list[PlainStep] | None:
    """Steps as opcodes, operands and specs; None if one has parameters or more operands, is a view, or tells Python."""
    if any(s.params or s.told or s.op.variadic or s.op.view or not 1 <= len(s.operands) <= 2 for s in steps):
        return None
    return [(s.op.code, s.operands[0], s.operands[1] if len(s.operands) > 1 else None, s.spec) for s in steps]
