"""Saved values that outlive in-place changes: copied at the moment before their memory is changed."""

from __future__ import annotations

import weakref
from typing import Any
from weakref import WeakSet

import numpy as np

from ..base.tensor import Tensor
from .recorder import wrap
from .views import owner
from .wengert import current


class Guarded:
    """A saved value that is copied before its memory is changed.

    Attributes:
        value: the value as it was when it was saved.
        copied: whether its memory was changed since, so that this is a copy.
    """

    __slots__ = ("__weakref__", "copied", "value")

    def __init__(self, value: Any):
        self.value = value
        self.copied = False


class Guards:
    """The guarded values of one context.

    Attributes:
        open: whether the context has not been left.
    """

    def __init__(self) -> None:
        self.open = True
        self._by_memory: dict[int, dict[int, weakref.ref[Guarded]]] = {}
        self._copies: WeakSet[Guarded] = WeakSet()

    def guard(self, tensor: Tensor) -> Guarded:
        """What stands for a saved tensor: the same for a value that is saved again before it changes."""
        value = tensor._data
        if not isinstance(value, np.ndarray):
            return Guarded(value)
        known = self._by_memory.get(id(owner(value)), {}).get(id(value))
        return (known and known()) or self._note(id(owner(value)), Guarded(value))

    def _note(self, k: int, guarded: Guarded) -> Guarded:
        """Find a guarded value by the identities of its memory and of itself, as long as it lives."""
        there, own = self._by_memory.setdefault(k, {}), id(guarded.value)

        def gone(reference: weakref.ref[Guarded]) -> None:
            if there.get(own) is reference:
                del there[own]
            if not there and self._by_memory.get(k) is there:
                del self._by_memory[k]

        there[own] = weakref.ref(guarded, gone)
        return guarded

    def get(self, guarded: Guarded) -> Tensor:
        """The saved tensor as it was.

        Raises:
            AssertionError: when the context has been left, because from then on changes go unseen.
        """
        if not self.open:
            raise AssertionError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in which the graph was "
                "originally recorded.\nCall backward() within the same `with` block."
            )
        return wrap(guarded.value)

    def release(self, array: np.ndarray) -> None:
        """Copy the guarded values that lie in the memory of an array."""
        for reference in list(self._by_memory.pop(id(owner(array)), {}).values()):
            guarded = reference()
            if guarded is not None:
                guarded.value, guarded.copied = guarded.value.copy(), True
                self._copies.add(guarded)

    @property
    def cloned(self) -> dict[Guarded, Tensor]:
        """The copies that had to be made so far, and that a record of this thread or another still needs."""
        current().scan()
        return {guarded: wrap(guarded.value) for guarded in self._copies}

    @property
    def tid_to_weakhandle(self) -> dict[int, Guarded]:
        """What stands for the values that are saved and were not changed, by a number of their own."""
        current().scan()
        there = [r() for values in list(self._by_memory.values()) for r in list(values.values())]
        return {id(guarded.value): guarded for guarded in there if guarded is not None}

    def clear(self) -> None:
        """Forget everything, so that no backward through what was recorded is possible any more."""
        self.open = False
        self._by_memory.clear()
        self._copies = WeakSet()


GUARDS: list[Guards] = []
"""The contexts that are open."""


def before_change(array: np.ndarray) -> None:
    """Take care of the saved values in memory that is about to be changed."""
    for guards in GUARDS:
        guards.release(array)
