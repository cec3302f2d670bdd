"""The adjoint of a loop: recorded for its last rounds, and appended again for those that are alike.

The sweep goes through a loop from its last round to its first.  Where two rounds after one another begin in states
that are the same but for the numbers of records, and append the same records, so does every earlier round that is like
these: what the rules see of it is the same.  Its records are then appended at once, with the numbers that they have
there.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ops.core.own import is_own
from ops.core.registry import OPS

from ..recorded.guards import Guard, same
from ..recorded.large.fingerprint import key_of
from ..recorded.large.later import Later
from ..recorded.listing import distinct
from ..recorded.stretches import LEAST, RECORDS, stretches
from ..recorded.trace import CONSTANT, Trace
from ..recorded.trace_records import EXTRA, WIDTH, X, Y
from ..recorded.traced import Traced, traced
from .pieces import Piece, Pieces

TRIES = 6
"""After so many rounds that were not alike a loop is gone through round by round."""
FIXED, AGAIN = 0, 1
"""Records that are the same for every round, and those that each round has its own of."""


class State(NamedTuple):
    """What there was between two rounds.

    Attributes:
        end, guards: how many records and guards.
        adjoints: by record, what has arrived so far, in numbers.
    """

    end: int
    guards: int
    adjoints: dict[int, Any]


class OperandMapping(NamedTuple):
    """From a round to the next that the sweep goes through: by operand of its records, what happens to the number.

    Attributes:
        operands: of all appended records, the numbers in the later one of two rounds.
        columns: by operand, which of the numbers that the round reads it is, −1 if it is none.
        steps: by operand that is none, how much is added for each round.
    """

    operands: np.ndarray
    columns: np.ndarray
    steps: np.ndarray


class AdjointLoop:
    """A loop of the trace, while the sweep goes through it.

    Attributes:
        start, period, count: round r has the records from ``start + r * period`` on.
        args: by round, the operands of its records.
        states: those before each round that was gone through, and after the last.
    """

    def __init__(self, sweep: Any, start: int, period: int, count: int):
        self.sweep, self.trace, self.start, self.period, self.count = sweep, sweep.trace, start, period, count
        self.states: list[State] = []
        self.left = TRIES
        self.least: int | None = None

    @property
    def stop(self) -> int:
        return self.start + self.count * self.period

    def begins(self, row: int) -> bool:
        """Whether a row is the last of a round, or of what is before the loop."""
        return self.start - 1 <= row < self.stop and (row + 1 - self.start) % self.period == 0

    def passed(self, row: int) -> int:
        """Note that the sweep has come to a row, the last of a round; the row to which it is done now."""
        if self.left == 0:
            return row
        self.left -= 1
        number = (row + 1 - self.start) // self.period
        if not self._goes_on(number):
            self.states.clear()
            return row
        adjoints = {k: _numbers(g) for k, g in self.sweep.adjoints.items()}
        if self.sweep.layered or None in adjoints.values():
            self.states.clear()
            return row
        self.states.append(State(len(self.trace), len(self.trace.guards), adjoints))
        return row - self._again(number) * self.period if len(self.states) >= 3 else row

    def _goes_on(self, number: int) -> bool:
        """Whether the rules see the same parameters in the two rounds before one; looking costs less than a state."""
        rows = range(self.start + (number - 1) * self.period, self.start + number * self.period) if number > 1 else ()
        leads = self.sweep.leads
        return all(self._facts(k) == self._facts(k - self.period) for k in rows if k in leads)

    def _again(self, number: int) -> int:
        """Append the records of rounds before a number, as many as are alike; how many."""
        before, between, after = self.states[-3:]
        m = after.end - between.end
        if m != between.end - before.end or m == 0:
            return 0
        kinds, values = self._kinds(before, between, m), self._kinds(between, after, m)
        if kinds is None or kinds != values:
            return 0
        least = self._least(number)
        pairs = [self._rows(first, m) for first in (before.end, between.end)]
        if least >= number or not all(map(_alike, *pairs, [self.trace] * m)):
            return 0
        mapping = self._mapping(pairs[0], pairs[1], number, least, before.end, m)
        told = self._told(before, between, after)
        if mapping is None or told is None:
            return 0
        rounds = self._append(pairs[1], mapping, number, number - least, after.end, told)
        if rounds:
            self._leave(after, values or {}, rounds, m)
        return rounds

    # What rounds have in common.

    def _kinds(self, one: State, other: State, m: int) -> dict[Any, Any] | None:
        """By place of an adjoint, whether each round has its own of it; None if two states are not alike."""
        found: dict[Any, Any] = {}
        moved = {self._key(k): (k, g) for k, g in other.adjoints.items()}
        if len(moved) != len(one.adjoints):
            return None
        for k, g in one.adjoints.items():
            key = self._key(k)
            there = moved.get(key)
            if there is None or there[0] != k - self.period * key[0] or g[1:] != there[1][1:]:
                return None
            steps = [y - x for x, y in zip(g[0], there[1][0])]
            if len(g[0]) != len(there[1][0]) or any(step not in (0, m) for step in steps):
                return None
            found[key] = there[0] != k, tuple([AGAIN if step else FIXED for step in steps])
        return found

    def _key(self, k: int) -> Any:
        """A record of the loop by its place in a round, another one by its number."""
        return (self.start <= k < self.stop, (k - self.start) % self.period if self.start <= k < self.stop else k)

    def _least(self, number: int) -> int:
        """The first of the rounds, back from one, that are like it in all that rules can see."""
        if self.least is None:
            self.least = self._first_alike(number)
        return self.least

    def _first_alike(self, number: int) -> int:
        sweep, trace, p = self.sweep, self.trace, self.period
        window, listing = sweep.runs.window, sweep.runs.list
        shift = len(listing) - window.count - window.first
        start, stop = self.start + shift, self.start + shift + (number + 1) * p
        leads = sweep.runs.leads[start:stop].reshape(-1, p)
        args = listing.args[listing.first[start] : listing.first[stop]].reshape(number + 1, -1)
        self.args = args = window.rows(args)
        owner = np.repeat(np.arange(p), np.diff(listing.first[start : start + p + 1]))
        like, code = leads[number], listing.code[start : start + p]
        if any(k >= 0 and is_own(OPS[k]) for k in code[like].tolist()):
            return number
        fits = (leads == like).all(axis=1)
        relative = args - (self.start + p * np.arange(number + 1))[:, None]
        same_place = relative == relative[number]
        fixed = args == args[number]
        led = sweep.runs.leads[np.clip(args + shift, 0, len(listing) - 1)] & (args + shift >= 0)
        spec = listing.spec[np.searchsorted(window.numbers, args)]
        known, which = np.unique(args, return_inverse=True)
        plain = np.array([trace.is_number(k) for k in known.tolist()])[which].reshape(args.shape)
        own = relative[number] >= 0
        carried = same_place & (args[number] >= self.start)
        free = ~led & ~plain & ~plain[number] & (spec == spec[number])  # of which rules see the shape alone
        good = np.where(own, same_place, carried | fixed | free)
        fits &= (good | ~like[owner]).all(axis=1)
        for place in np.flatnonzero(like).tolist():
            rows = range(self.start + place, self.start + (number + 1) * p, p)
            wanted = self._facts(rows[-1])
            fits &= np.array([self._facts(k) == wanted for k in rows])
        barred = {(k - self.start) // p for k in (*trace.stopped, *trace.hooks, *sweep.targets) if self.start <= k}
        fits[[r for r in barred if r <= number]] = False
        return number - int(np.argmin(np.append(fits[::-1], False))) + 1 if fits[number] else number

    def _facts(self, row: int) -> Any:
        """What rules can see of a record but for its operands, and the line that they are said to come from."""
        code, _, _, extra, _ = self.trace.fields(row)
        line = self.trace.line(row)
        return code, None if extra is None else (key_of(code, extra[1]), len(extra[0])), id(line[0]), line[1]

    def _rows(self, first: int, m: int) -> list[tuple[Any, ...]]:
        """The records of a round: opcode, operands, parameters, spec, line and constant."""
        trace, found = self.trace, []
        for k in range(first, first + m):
            code, x, y, extra, spec = trace.fields(k)
            operands = () if code < 0 else extra[0] if extra is not None else (x,) if y < 0 else (x, y)
            params = extra[1] if extra is not None else None
            found.append((code, operands, params, spec, trace.line(k), x if code < 0 else -1))
        return found

    def _mapping(self, one: Any, other: Any, number: int, least: int, first: int, m: int) -> OperandMapping | None:
        """Where the operands of a round's records are in the others; None if that cannot be told."""
        before = np.array([k for row in one for k in row[1]], dtype=np.int64)
        now = np.array([k for row in other for k in row[1]], dtype=np.int64)
        columns, steps = np.full(len(now), -1), np.zeros(len(now), dtype=np.int64)
        low = self.start + number * self.period
        later: dict[int, list[int]] = {}
        for j, k in enumerate(self.args[number].tolist()):
            later.setdefault(k, []).append(j)
        ahead = self._args_after(number)
        for i, (k, past) in enumerate(zip(now.tolist(), before.tolist())):
            if k - past == m and k >= first:
                steps[i] = m
            elif low <= k < low + self.period:
                if past != k + self.period:
                    return None
                steps[i] = -self.period
            elif k in later:
                among = [j for j in later[k] if ahead[j] == past]
                used = self.args[least:number, among]
                if not among or (used != used[:, :1]).any():
                    return None
                columns[i] = among[0]
            elif k != past:
                return None
        return OperandMapping(now, columns, steps)

    def _args_after(self, number: int) -> list[int]:
        """The operands of the records of the round after one."""
        rows = range(self.start + (number + 1) * self.period, self.start + (number + 2) * self.period)
        return [k for row in rows for k in self.trace.arguments(row)[0]]

    def _told(self, before: State, between: State, after: State) -> list[Guard] | None:
        """What Python is told in each round, by place; None if that differs."""
        guards = self.trace.guards
        one, other = guards[before.guards : between.guards], guards[between.guards : after.guards]
        if len(one) != len(other):
            return None
        moved = [guard._replace(row=guard.row - between.end) for guard in other]
        for guard, past in zip(moved, one):
            if guard.row < 0 or guard.row != past.row - before.end or guard[2:] != past[2:]:
                return None
            if not same(past.seen, guard.seen):
                return None
        return moved

    # Rounds that are appended.

    def _append(self, rows: Any, mapping: OperandMapping, number: int, rounds: int, end: int, told: list[Guard]) -> int:
        """Append the records of so many rounds, or of those before one in which Python is told something else."""
        trace, m = self.trace, len(rows)
        k = np.arange(1, rounds + 1)[:, None]
        operands = mapping.operands + k * mapping.steps
        chosen = mapping.columns >= 0
        operands[:, chosen] = self.args[number - k, mapping.columns[chosen]]
        known = [trace.values[end - m + i] if row[0] < 0 else None for i, row in enumerate(rows)]
        specs = [row[3] for row in rows]
        trace.extend(_words(rows, operands))
        for _ in range(rounds):
            trace.values += [Later(spec) if value is None else value for value, spec in zip(known, specs)]
        for done in range(rounds):
            for guard in told:
                row = end + done * m + guard.row
                if not same(trace.value(row), guard.seen):
                    self._take_back(end + done * m)
                    return done
                trace.guards.append(guard._replace(row=row))
        return rounds

    def _take_back(self, end: int) -> None:
        """Take back the records from one on."""
        trace = self.trace
        trace.guards[:] = [guard for guard in trace.guards if guard.row < end]
        del trace.rows[(end - trace.start) * WIDTH :]
        del trace.values[end:]

    def _leave(self, after: State, kinds: dict[Any, Any], rounds: int, m: int) -> None:
        """Let the sweep be in the state in which the rounds leave it."""
        found: dict[int, Any] = {}
        for k, g in self.sweep.adjoints.items():
            own, steps = kinds[self._key(k)]
            numbers = [n + step * m * rounds for n, step in zip(after.adjoints[k][0], steps)]
            found[k - own * rounds * self.period] = _renumbered(g, [traced(self.trace, n) for n in numbers])
        self.sweep.adjoints.clear()
        self.sweep.adjoints.update(found)
        self.states.clear()


def loops_of(sweep: Any) -> list[AdjointLoop]:
    """The loops of what a sweep goes through, which are `RECORDS` or more."""
    runs = sweep.runs
    listing, window = runs.list, runs.window
    first = len(listing) - window.count
    slow = np.count_nonzero(runs.leads & ~runs.simple & (listing.code >= 0))
    if slow < RECORDS // 4 or not sweep.trace.wengert.recording:
        return []
    counts = np.diff(listing.first)[first:]
    facts = ((listing.code[first:] + 2) * (len(listing.specs) + 1) + listing.spec[first:] + 1) * (counts.max() + 1)
    _, like = distinct(facts + counts)
    found = []
    for start, period, count in stretches(like):
        rounds = like[start : start + count * period].reshape(count, period)
        if count >= LEAST and (rounds == rounds[0]).all():
            found.append(AdjointLoop(sweep, start + window.first, period, count))
    return found


def _alike(one: tuple[Any, ...], other: tuple[Any, ...], trace: Trace) -> bool:
    """Whether two records are the same but for their operands."""
    code, operands, params, spec, line, x = one
    if code != other[0] or len(operands) != len(other[1]) or spec is not other[3] or line != other[4] or spec is None:
        return False
    if code == CONSTANT:
        a, b = trace.constants[x], trace.constants[other[5]]
        return type(a) is type(b) is np.ndarray and same(a, b)
    if code < 0 or OPS[code].outputs != 1:
        return False
    return (params is None and other[2] is None) or (
        params is not None and other[2] is not None and key_of(code, params) == key_of(code, other[2])
    )


def _words(rows: Any, operands: np.ndarray) -> list[Any]:
    """The fields of the records of rounds, whose operands have these numbers, a row of them for each round."""
    once = [field for code, _, _, spec, line, x in rows for field in (code, x, -1, None, spec, *line)]
    words, at = once * len(operands), 0
    for i, (code, mine, params, *_) in enumerate(rows):
        given, at = operands[:, at : at + len(mine)], at + len(mine)
        if params is not None:
            words[i * WIDTH + EXTRA :: len(once)] = [(tuple(numbers), params) for numbers in given.tolist()]
        elif code >= 0:
            for field, numbers in zip((X, Y), given.T.tolist()):
                words[i * WIDTH + field :: len(once)] = numbers
    return words


def _numbers(g: Any) -> Any:
    """An adjoint as the numbers of its records and what else it is; None if it is not only that."""
    if type(g) is Traced:
        return [g._row], None
    if type(g) is not Pieces or g.elsewhere or any(type(piece.source) is not Traced for piece in g.parts.values()):
        return None
    inner = [(region, piece.inner) for region, piece in g.parts.items()]
    return [piece.source._row for piece in g.parts.values()], (g.shape, g.dtype, g.volume, inner)


def _renumbered(g: Any, sources: list[Traced]) -> Any:
    """An adjoint that consists of other records."""
    if type(g) is Traced:
        return sources[0]
    parts = {region: Piece(source, piece.inner) for (region, piece), source in zip(g.parts.items(), sources)}
    return g.with_parts(parts)
