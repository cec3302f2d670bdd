"""Noticing that a function draws random numbers, and putting the generators back so that it may draw them again."""

from __future__ import annotations

import ctypes
import random
import threading
from collections.abc import Iterable
from typing import Any

import numpy as np

from ... import random as own_random


class Entropy(threading.local):
    """How often NumPy asked the system for a seed in this thread, because a generator was made without one."""

    count = 0

    def watch(self) -> None:
        """Count from now on."""
        module: Any = np.random.bit_generator
        ask = getattr(module, "randbits", None)
        if ask is None or getattr(ask, "counts", None) is self:  # another NumPy may ask in another way
            return

        def randbits(k: int) -> int:
            self.count += 1
            return int(ask(k))

        randbits.counts = self  # type: ignore[attr-defined]
        module.randbits = randbits


ENTROPY = Entropy()


class Chance:
    """The states of the generators that a function may draw from: those that all share, and those that it names."""

    def __init__(self, generators: Iterable[Any]):
        ENTROPY.watch()
        self._states = [(g, state_of(g)) for g in (np.random, random, own_random.generator(), *generators)]
        self._seeds = ENTROPY.count

    def rewind(self) -> bool:
        """Put back the generators that were drawn from; whether there are any, or one was made without a seed."""
        drawn = [(g, state) for g, (known, state) in self._states if not is_at(g, known)]
        for generator, state in drawn:
            if isinstance(generator, np.random.Generator):
                generator.bit_generator.state = state
            elif hasattr(generator, "set_state"):
                generator.set_state(state)
            else:
                generator.setstate(state)
        return bool(drawn) or ENTROPY.count > self._seeds


def is_at(generator: Any, known: Any) -> bool:
    """Whether what can be compared of a generator's state is what it was."""
    return (type(known) is bytes and twister(generator) == known) or bool(state_of(generator)[0] == known)


def state_of(generator: Any) -> tuple[Any, Any]:
    """What of a generator's state can be compared, and the state itself; also of a module that has one."""
    if isinstance(generator, np.random.Generator):
        state = generator.bit_generator.state
        return repr(state), state
    if generator is np.random:
        return legacy_state(np.random)
    if hasattr(generator, "get_state"):
        state = generator.get_state()
        return (state[0], state[1].tobytes(), *state[2:]), state
    state = generator.getstate()
    return state, state


def legacy_state(module: Any) -> tuple[Any, Any]:
    """The same of the generator behind `numpy.random`: its words in memory, which are quicker to read.

    With half of a pair of normal numbers left over, a draw need not change them.
    """
    state = module.get_state(legacy=False)
    if state["bit_generator"] != "MT19937":
        return repr(state), state
    key = state["state"]["key"]
    words = None if state["has_gauss"] else twister(module)
    if words is not None and words[:KEY] == key.tobytes():
        return words, state
    return (key.tobytes(), state["state"]["pos"], state["has_gauss"], state["gauss"]), state


KEY = 4 * 624
"""Bytes of the key of a Mersenne twister; its position in these follows."""


def twister(module: Any) -> bytes | None:
    """The words of the generator behind `numpy.random`, if it is a Mersenne twister; it may have been replaced."""
    generator = module.get_bit_generator()
    if type(generator) is not np.random.MT19937:
        return None
    return ctypes.string_at(generator.ctypes.state_address, KEY + 4)
