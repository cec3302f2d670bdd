"""What the rounds of a loop cost in each replay, against what it costs to plan each round by itself."""

from __future__ import annotations

import numpy as np

from ops import Op

from ..recorded.listing import Listing
from ..recorded.trace import INPUT
from .excerpts import Rounds, alone
from .groups import step_numbers

STEPS = 2
"""Rounds that together are fewer steps than so many each are left to kernels that go through all of them."""
FEW = 4
"""It is seen in so many rounds."""
NEAR = 1 << 11
"""Arrays of so many elements are near the processor: that a kernel ends with a round costs nothing but a step."""
SMALL = 64
"""Arrays of so many elements are copied in the time of a step."""
PLANNED = 2e-5
"""Seconds that it takes to plan a record."""
WEIGHED = 1e-2
"""Seconds that it takes to find out what a loop costs, and to plan its round."""
COPIED = 3e-11
"""Seconds for each byte that is copied, near the processor."""
REPLAYS = 1000
"""What so many replays take longer may be as much as what the first call saves."""


def is_short(listing: Listing, round: np.ndarray, times: int) -> bool:
    """Whether so few records are in all rounds like this one that it does not matter, if the rounds may copy much."""
    if PLANNED * times * len(round) >= WEIGHED:
        return False
    sizes = [listing.specs[i].size for i in listing.spec[round].tolist()]
    return any(n > NEAR or (n > SMALL and writes(listing, k)) for n, k in zip(sizes, round.tolist()))


def pays(listing: Listing, rounds: Rounds) -> bool:
    """Whether a few rounds would be several steps each, if they were no loop, and copy little that stays otherwise."""
    few = rounds._replace(start=rounds.start + rounds.times // 2 * rounds.period, times=FEW)
    rows = few.rows(few.places)
    part, numbers = alone(listing, rows)
    together = _steps(part, np.isin(numbers, rows))
    if together <= STEPS * FEW:
        return False
    traffic = copied(rounds) + _passed(rounds, together / FEW)
    return bool(REPLAYS * COPIED * traffic <= PLANNED * len(rounds.places))


def _steps(listing: Listing, mine: np.ndarray) -> int:
    """How many steps some records are."""
    numbers = step_numbers(listing)[mine]
    return len(np.unique(numbers[numbers >= 0]))


def _passed(rounds: Rounds, steps: float) -> float:
    """Bytes that a round hands on through memory, where a kernel of several rounds would keep them to itself.

    `steps` is how many steps a round is if it is no loop.
    """
    body = rounds.body
    sizes = np.array([(spec.size, spec.nbytes) for spec in body.specs])[body.spec[body.code >= 0]]
    if sizes[:, 0].max() <= NEAR:
        return 0.0
    return float(2.0 * sizes[:, 1].mean() * max(_steps(body, body.code >= 0) - steps, 0.0))


def copied(rounds: Rounds) -> int:
    """Bytes of the arrays that each round has to copy before it writes into them."""
    body, there = rounds.body, carried(rounds)
    written = [body.operands(k)[0] for k in np.flatnonzero(body.code >= 0).tolist() if writes(body, k)]
    foreign = [k for k in written if body.code[k] == INPUT and k not in there]
    return sum([body.specs[body.spec[k]].nbytes for k in foreign])


def writes(listing: Listing, k: int) -> bool:
    """Whether a record is an array with something else in a part of it."""
    op: Op | None = listing.op(k)
    if op is None or op.kind != "linear" or op.hints.part is None or op.arity != 2:
        return False
    return op.part_of(listing.parameters(k)) is not None


def carried(rounds: Rounds) -> dict[int, int]:
    """By input of the body that each round writes into, and gives to the next one alone: the output that it becomes."""
    body, found = rounds.body, dict[int, int]()
    made = rounds.rows(rounds.made).reshape(rounds.times, -1)
    for o, row in enumerate(body.outputs.tolist()):
        k = _written_into(body, row) if rounds.kept[o] == 2 else row
        if k == row or body.code[k] != INPUT:
            continue
        reads = np.flatnonzero(np.isin(rounds.given, made[:, o]).any(axis=0))
        if reads.tolist() == [k] and (rounds.given[1:, k] == made[:-1, o]).all():
            found[k] = o
    return found


def _written_into(listing: Listing, k: int) -> int:
    """The record that a record is, but for what was written into it."""
    while writes(listing, k):
        k = listing.operands(k)[0]
    return k
