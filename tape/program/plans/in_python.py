"""Replays by NumPy alone, step after step: until the machine code that runs plans is there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ...base.tensor import Tensor
from ..recorded.listing import Listing
from ..recorded.raising import noting
from ..recorded.trace import CONSTANT, INPUT
from .guarding import GuardTable
from .ownership import separate, suspects


class InPython:
    """Steps of a listing that NumPy runs.

    Attributes:
        outputs: the records whose values are given.
        guarded: by record, the numbers of the guards that are verified once its value is there.
    """

    def __init__(self, listing: Listing, steps: Sequence[Any], outputs: Sequence[int], guards: GuardTable):
        self.listing, self.steps, self.outputs, self.guards = listing, steps, outputs, guards
        own = listing.outputs[len(listing.outputs) - len(listing.guards) :].tolist()
        self.guarded: dict[int, list[int]] = {}
        for i, _ in guards.steps:
            self.guarded.setdefault(own[i], []).append(i)

    def __call__(self, inputs: Sequence[Any], expecting: bool) -> list[Any]:
        """The values of the outputs for these inputs.

        Raises:
            GuardMissed: if a guard does not hold.
        """
        listing = self.listing
        kinds = [np.flatnonzero(listing.code == code).tolist() for code in (INPUT, CONSTANT)]
        values: dict[int, Any] = {k: inputs[int(listing.param[k])] for k in kinds[0]}
        constants = {k: c._data if isinstance(c := listing.constant(k), Tensor) else c for k in kinds[1]}
        values |= constants
        self._verify(values, values.keys() & self.guarded.keys(), expecting)
        with noting():
            for step in self.steps:
                values |= zip(step.makes, step.evaluate(values))
                self._verify(values, step.makes, expecting)
                for k in step.drops:
                    values.pop(k, None)
        results = [values[k] for k in self.outputs]
        captured = [c for k, c in constants.items() if isinstance(listing.constant(k), (Tensor, np.ndarray))]
        separate(results, suspects(listing, range(len(listing))), [*inputs, *captured])
        return results

    def _verify(self, values: Mapping[int, Any], rows: Iterable[int], expecting: bool) -> None:
        for k in rows if self.guarded else ():
            for i in self.guarded.get(k, ()):
                self.guards.verify(i, values[k], expecting)


def live(steps: Sequence[Any], outputs: Iterable[int]) -> None:
    """Let each step forget the values that no later one needs."""
    wanted = set(outputs)
    for step in reversed(steps):
        step.drops = drops = []
        for k in (*step.needs, *step.makes):
            if k not in wanted:
                wanted.add(k)
                drops.append(k)
