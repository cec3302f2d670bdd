"""Noticing that a function draws random numbers, and putting the generators back so that it may draw them again."""

from __future__ import annotations

import ctypes
import operator
import random
import sys
import threading
import types
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ... import random as own_random
from ...base.locks import new_lock
from ..recorded.trace import Untraceable


class Entropy(threading.local):
    """How often NumPy asked the system for a seed in this thread, because a generator was made without one.

    A `RandomState` with a seed asks too, and is given its own before the call returns: that counts for nothing.
    """

    count = 0
    at: tuple[int, int] | None = None

    def watch(self) -> None:
        """Count from now on."""
        module: Any = np.random.bit_generator
        ask = getattr(module, "randbits", None)
        if ask is None or getattr(ask, "counts", None) is self:  # another NumPy may ask in another way
            return

        def randbits(k: int) -> int:
            self.count += 1
            self.at = _place(sys._getframe(1))
            return int(ask(k))

        randbits.counts = self  # type: ignore[attr-defined]
        module.randbits = randbits
        self._watch_seeds()

    def _watch_seeds(self) -> None:
        """Notice the old way of seeding, which turns the seed into an index: in the same call, the seed that counts."""
        module: Any = getattr(np.random, "_mt19937", None)
        if getattr(module, "operator", None) is not operator:
            return

        def index(x: Any) -> int:
            if self.at is not None and self.at == _place(sys._getframe(1)):
                self.count, self.at = self.count - 1, None
            return operator.index(x)

        module.operator = types.SimpleNamespace(**{**vars(operator), "index": index})


def _place(frame: types.FrameType) -> tuple[int, int]:
    """A call that a frame is making."""
    return id(frame), frame.f_lasti


ENTROPY = Entropy()


TURN = new_lock()
"""Held by whoever watches generators that others have too: they would take each other's rewinding for draws."""

LONGEST_WAIT = 10.0
"""So many seconds one waits for one's turn; who has it may wait for something that is held here."""


@contextmanager
def turn(watches: Any) -> Iterator[None]:
    """Meanwhile no other thread watches generators, if this one `watches` any.

    Raises:
        Untraceable: if one does so for too long; what it puts back could hide a draw.
    """
    if not watches:
        yield
        return
    if not TURN.acquire(timeout=LONGEST_WAIT):
        raise Untraceable("it may draw random numbers, and other threads keep recording such functions")
    try:
        yield
    finally:
        TURN.release()


class Chance:
    """The generators that a function may draw from: those that it can get at, and this library's own.

    The states of others are no matter of its: what changes them is another thread.  From the library's own it drew if
    this thread asked for it, whatever others do to its state.
    """

    def __init__(self, generators: Iterable[Any], hidden: bool = False):
        """Of the `generators` that it can get at, and if `hidden` code may draw, of those that all share."""
        ENTROPY.watch()
        shared = (np.random, random) if hidden else ()
        self._states = [(g, state_of(g)) for g in (*shared, *map(module_of, generators))]
        self._own = own_random.current()
        self._own_state = self._own.bit_generator.state
        self._seeds, self._asked = ENTROPY.count, own_random.ASKED.count

    def rewind(self) -> bool:
        """Put back the generators that were drawn from; whether there are any, or one was made without a seed."""
        drawn = [(g, state) for g, (known, state) in self._states if not is_at(g, known)]
        for generator, state in drawn:
            put(generator, state)
        asked = own_random.ASKED.count > self._asked
        if asked:
            put(own_random.use(self._own), self._own_state)
        return bool(drawn) or asked or ENTROPY.count > self._seeds


def put(generator: Any, state: Any) -> None:
    """Put a generator, or the module that has one, where it was."""
    if isinstance(generator, np.random.BitGenerator):
        generator.state = state
    elif isinstance(generator, np.random.Generator):
        generator.bit_generator.state = state
    elif hasattr(generator, "set_state"):
        generator.set_state(state)
    else:
        generator.setstate(state)


def module_of(generator: Any) -> Any:
    """The module for the generator behind its functions, whose state is got at more quickly; any other as it is."""
    return np.random if generator is getattr(np.random.rand, "__self__", None) else generator


def is_at(generator: Any, known: Any) -> bool:
    """Whether what can be compared of a generator's state is what it was."""
    return (type(known) is bytes and twister(generator) == known) or bool(state_of(generator)[0] == known)


def state_of(generator: Any) -> tuple[Any, Any]:
    """What of a generator's state can be compared, and the state itself; also of a module that has one."""
    if isinstance(generator, np.random.Generator):
        generator = generator.bit_generator
    if isinstance(generator, np.random.BitGenerator):
        return repr(generator.state), generator.state
    if hasattr(generator, "get_state"):
        return legacy_state(generator)
    state = generator.getstate()
    return state, state


def legacy_state(generator: Any) -> tuple[Any, Any]:
    """The same of a `RandomState`; of the one behind `numpy.random` the words in memory, which are quicker to read.

    With half of a pair of normal numbers left over, a draw need not change them.
    """
    state = generator.get_state(legacy=False)
    if state["bit_generator"] != "MT19937":
        return repr(state), state
    key = state["state"]["key"]
    words = twister(generator) if generator is np.random and not state["has_gauss"] else None
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
