"""One sweep over the list that watches where adjoints overflow, underflow, or come to an end.

Vector-Jacobian products are linear in the adjoint, so a rule that is run again on an adjoint of size
1 tells what would have come without its size: a product that is infinite, or too small to be a
normal number, and is neither for an adjoint of size 1, has overflowed or underflowed.  A second
adjoint, of random numbers of size 1 wherever an adjoint can be other than zero, finds what no
adjoint gets through.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ops.core.bundle import Bundle

from ..base.location import Location, locate
from ..base.row import CODE, HANDLE, LASTI, X, Y
from ..base.tensor import Tensor
from ..history.propagate import behind, contributions, elsewhere, name_of
from ..recording.wengert import WengertList, key, op_of, operands
from .derivatives.subject import Array, components

OVERFLOWS, UNDERFLOWS, POLE, ENDS = "overflows", "underflows", "is infinite or nan", "is zero"


@dataclass(frozen=True)
class Event:
    """What became of an adjoint on its way through a record.

    Attributes:
        what: ``overflows``, ``underflows``; ``is infinite or nan``, where the derivative itself is; or ``is zero``,
            where it is that, whatever the adjoint.
        op, operand: of the record.
        where: the user's line that recorded it.
        size: of the adjoint that came in: its largest element.
    """

    what: str
    op: str
    operand: str
    where: Location
    size: float

    def __str__(self) -> str:
        came = "" if self.what == ENDS else f", where {self.size:.3g} comes in"
        return f"the adjoint of {self.operand} of {self.op} {self.what}{came}\n    {self.where}"


@dataclass
class Flow:
    """What a sweep has seen.

    Attributes:
        events: in the order of the sweep, from the output to the inputs.
        leaves: by key, the pattern of each leaf's adjoint: zero where none comes from the outputs.
        records: how many were visited.
    """

    events: list[Event] = field(default_factory=list)
    leaves: dict[int, Array] = field(default_factory=dict)
    records: int = 0

    def first(self, what: str) -> Event | None:
        return next((event for event in self.events if event.what == what), None)


def flow_of(outs: list[Tensor]) -> Flow:
    """Sweep from some outputs, each with adjoints of 1, over the records of their lists."""
    flow, rng = Flow(), np.random.default_rng(0)
    adjoints: dict[int, Any] = {}
    patterns: dict[int, Any] = {}
    for out in outs:
        ones = np.ones(out.shape, out.dtype)[()]
        _add(adjoints, _key(out), ones)
        _add(patterns, _key(out), _random(ones, rng))
    for wengert, rows in behind({handle for handle in adjoints if handle >= 0}):
        for handle, row in rows.items():
            if handle in adjoints:
                flow.records += 1
                _pass(wengert, row, adjoints, patterns, flow, rng)
    flow.leaves = {k: components(p) for k, p in patterns.items() if k < 0}
    return flow


def _key(out: Tensor) -> int:
    return out._node if type(out._node) is int else key(out)


def _pass(
    wengert: WengertList, row: list[Any], adjoints: dict[int, Any], patterns: dict[int, Any], flow: Flow, rng: Any
) -> None:
    """Take the adjoints of one record on to its operands."""
    refs = operands(row[X], row[Y])
    positions = tuple([i for i, ref in enumerate(refs) if ref is not None and not elsewhere(wengert, key(ref))])
    handle = row[HANDLE]
    g, pattern = adjoints.pop(handle), patterns.pop(handle)
    size = _size(g)
    with np.errstate(all="ignore"):
        found = list(contributions(row, g, positions, False))
        alone = {i: bar for i, _, bar in contributions(row, _scaled(g, size), positions, False)} if size else {}
        shape = {i: bar for i, _, bar in contributions(row, pattern, positions, False)}
        for i, ref, bar in found:
            for what in _events(bar, alone.get(i), size, shape.get(i), pattern):
                flow.events.append(Event(what, name_of(row), _operand(row, i), locate(row[CODE], row[LASTI]), size))
            _add(adjoints, key(ref), bar)
            if shape.get(i) is not None:
                _add(patterns, key(ref), _random(shape[i], rng))


def _events(bar: Any, alone: Any, size: float, shape: Any, pattern: Any) -> Iterator[str]:
    """What became of an adjoint, given what one of size 1 becomes, and of the pattern of what is not zero."""
    if isinstance(bar, Bundle) or not np.isfinite(size):
        return
    if alone is not None:
        plain, unit = components(bar), components(alone)
        tiny = np.finfo(np.asarray(bar).dtype).tiny
        if not np.all(np.isfinite(plain)):
            yield OVERFLOWS if np.all(np.isfinite(unit)) else POLE
        if np.any((np.abs(plain) < tiny) & (np.abs(unit) >= tiny)):
            yield UNDERFLOWS
    if shape is not None and np.any(_flat(pattern)) and not np.any(components(shape)):
        yield ENDS


def _operand(row: list[Any], i: int) -> str:
    op = op_of(row)
    return f"{op.operands[0]}[{i}]" if op.variadic or i >= len(op.operands) else op.operands[i]


def _add(adjoints: dict[int, Any], k: int, bar: Any) -> None:
    with np.errstate(all="ignore"):
        adjoints[k] = adjoints[k] + bar if k in adjoints else bar


def _flat(g: Any) -> Array:
    return np.concatenate([components(p) for p in g.parts.values()]) if isinstance(g, Bundle) else components(g)


def _size(g: Any) -> float:
    """The largest element, as a power of two."""
    largest = float(np.max(np.abs(_flat(g)), initial=0.0))
    return float(2.0 ** np.floor(np.log2(largest))) if 0 < largest < np.inf else largest


def _scaled(g: Any, size: float) -> Any:
    """An adjoint divided by its size."""
    if isinstance(g, Bundle):
        return Bundle({i: _scaled(part, size) for i, part in g.parts.items()})
    return np.divide(g, size).astype(np.asarray(g).dtype)[()]


def _random(bar: Any, rng: Any) -> Any:
    """Random numbers of size 1/2 to 3/2 wherever there is something else than zero."""
    if isinstance(bar, Bundle):
        return Bundle({i: _random(part, rng) for i, part in bar.parts.items()})
    like = np.asarray(bar)
    drawn = rng.uniform(0.5, 1.5, like.shape) * rng.choice([-1.0, 1.0], like.shape)
    return np.where(like != 0, drawn, 0.0).astype(like.dtype)[()]
