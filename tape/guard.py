"""Saved values that outlive in-place changes: copied at the moment before their memory is changed."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from .record import wrap
from .tensor import Tensor
from .views import owner


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
        self._by_memory: dict[int, set[weakref.ref[Guarded]]] = {}

    def guard(self, tensor: Tensor) -> Guarded:
        """What stands for a saved tensor."""
        value = tensor._data
        guarded = Guarded(value)
        if isinstance(value, np.ndarray):
            self._note(id(owner(value)), guarded)
        return guarded

    def _note(self, k: int, guarded: Guarded) -> None:
        """Find a guarded value by the identity of its memory, as long as it lives."""
        there = self._by_memory.setdefault(k, set())

        def gone(reference: weakref.ref[Guarded]) -> None:
            there.discard(reference)
            if not there and self._by_memory.get(k) is there:
                del self._by_memory[k]

        there.add(weakref.ref(guarded, gone))

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
        for reference in tuple(self._by_memory.pop(id(owner(array)), ())):
            guarded = reference()
            if guarded is not None:
                guarded.value, guarded.copied = guarded.value.copy(), True

    def clear(self) -> None:
        """Forget everything, so that no backward through what was recorded is possible any more."""
        self.open = False
        self._by_memory.clear()


GUARDS: list[Guards] = []
"""The contexts that are open."""


def before_change(array: np.ndarray) -> None:
    """Take care of the saved values in memory that is about to be changed."""
    for guards in GUARDS:
        guards.release(array)
