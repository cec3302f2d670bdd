"""Noticing that a function draws random numbers, and putting the generators back so that it may draw them again."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

import numpy as np

from .. import random as own_random


class Chance:
    """The states of the generators that a function may draw from: those that all share, and those that it names."""

    def __init__(self, generators: Iterable[Any]):
        self._states = [(g, state_of(g)) for g in (np.random, random, own_random.generator(), *generators)]

    def rewind(self) -> bool:
        """Put back the generators that were drawn from; whether there are any."""
        drawn = [(generator, state) for generator, state in self._states if state_of(generator) != state]
        for generator, (_, state) in drawn:
            if isinstance(generator, np.random.Generator):
                generator.bit_generator.state = state
            elif hasattr(generator, "set_state"):
                generator.set_state(state)
            else:
                generator.setstate(state)
        return bool(drawn)


class State(tuple[Any, Any]):
    """What of a generator's state can be compared, and the state itself."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, State) and bool(self[0] == other[0])

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None  # type: ignore[assignment]


def state_of(generator: Any) -> State:
    """The state of a generator of NumPy's or of Python's, or of a module that has one."""
    if isinstance(generator, np.random.Generator):
        state = generator.bit_generator.state
        return State((repr(state), state))
    if hasattr(generator, "get_state"):
        state = generator.get_state()
        return State(((state[0], state[1].tobytes(), *state[2:]), state))
    state = generator.getstate()
    return State((state, state))
