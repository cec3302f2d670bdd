"""A loop as a step of a replay: its rounds are done by the same steps."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from ..recorded.listing import Listing
from .cutting.tiles import TileLoop
from .excerpts import Rounds
from .guarding import GuardTable
from .round_costs import carried
from .threads import takers

NEVER = 1 << 62
"""The number of the replay before which nothing is compiled again."""


class RoundsStep:
    """A loop whose rounds are done by the same steps.

    Attributes:
        body: one round, which is a replay of its own.
        times: how many rounds there are.
        given: by round and by input of the body, the record that it reads.
        made: by round and by output of the body, which record that is.
        kept: by output of the body, for how many rounds it is there (0: for good).
        carried: by input of the body that each round writes into, the output that it becomes.
        upgrade_at: the number of the replay before which one of its kernels has a next tier.
    """

    drops: list[int]
    carried: Mapping[int, int] = MappingProxyType({})

    def __init__(self, listing: Listing, rounds: Rounds, body: Any, guards: GuardTable):
        self.listing, self.given, self.guards = listing, rounds.given, guards
        self.times, self.kept, self.carried = rounds.times, rounds.kept.tolist(), carried(rounds)
        self.made = rounds.rows(rounds.made).reshape(rounds.times, -1)
        self.body = body
        self.needs = np.setdiff1d(rounds.given, self.made).tolist()
        lasting = [self.made[:, i] if kept == 0 else self.made[-1:, i] for i, kept in enumerate(self.kept)]
        self.makes = np.concatenate(lasting).tolist() if lasting else []
        self.elements = rounds.times * sum([int(step.elements) for step in body.steps])
        self._look()

    def _look(self) -> None:
        """A kernel of the body runs once in each round."""
        self.upgrade_at = self.body.until if self.body.until >= NEVER else -(-self.body.until // self.times)

    def upgraded(self, replays: int, alike: Any) -> RoundsStep:
        """The loop with better kernels."""
        self.body._upgrade(replays * self.times)
        self._look()
        return self

    def evaluate(self, values: Mapping[int, Any]) -> list[Any]:
        """What NumPy gives for it: one round after another."""
        found: dict[int, Any] = {}
        try:
            self._go_round(values, found)
        except Exception:
            for k in found.keys() & self.guards.of_row.keys():  # one that does not hold comes before what NumPy raises
                for i in self.guards.of_row[k]:
                    self.guards.verify(i, found[k], expecting=True)
            raise
        return [found[k] for k in self.makes]

    def _go_round(self, values: Mapping[int, Any], found: dict[int, Any]) -> None:
        constants = dict(self.body.constants)
        for given, made in zip(self.given.tolist(), self.made.tolist()):
            read = ((k, given[number]) for k, number in self.body.inputs)
            mine = constants | {k: values[j] if j in values else found[j] for k, j in read}
            for step in self.body.steps:
                mine |= zip(step.makes, step.evaluate(mine))
            found.update(zip(made, [mine[k] for k in self.body.outputs]))


class TilesStep(RoundsStep):
    """Tiles of rows: each piece of them is one step, which does its round again and again, further on.

    Attributes:
        loop: the tiles.
        threads: how many threads take pieces, 0 where no second one is wanted.
    """

    def __init__(self, listing: Listing, loop: TileLoop, body: Any, threads: int | None):
        self.listing, self.loop, self.given, self.made, self.makes = listing, loop, loop.given, loop.made, loop.keeps
        self.body, pieces = body, len(loop.made)
        self.times = pieces if loop.turns is None else int(loop.turns.sum())
        self.kept = [0 if loop.turns is not None else 2] * loop.made.shape[1]
        begins = loop.given[:, :0] if loop.begins is None else loop.begins
        self.needs = np.union1d(np.setdiff1d(loop.given, loop.made), begins).tolist()
        self.elements = self.times * sum([int(step.elements) for step in body.steps])
        self.threads = 0 if loop.turns is None else takers(self.elements, pieces, threads)
        self._look()

    def evaluate(self, values: Mapping[int, Any]) -> list[Any]:
        """Nothing: NumPy does the records as they were given, of whole arrays."""
        raise NotImplementedError
