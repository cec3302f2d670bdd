"""``type(x)`` in functions of tensors that are recorded: it is answered of what stands for a tensor as of the tensor.

C code answers it otherwise, and sees through ``__class__``.  So meanwhile the globals of functions that name `type`
hold what stands for it (see `tape.numpy.classes`), as they do while functions of arrays are recorded.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...base.locks import new_lock
from ...numpy.classes import TYPE
from ..recorded.trace import Untraceable
from ..world.reading import codes_in
from ..world.surroundings import Surroundings

_lock = new_lock()
_held: dict[int, list[Any]] = {}
"""By identity, globals in which the name was put, and for how many recordings."""


@contextmanager
def types_told(around: Surroundings) -> Iterator[None]:
    """Meanwhile ``type(x)`` gives the class of the tensor that x stands for."""
    put = [names for names in naming_type(around).values() if _hold(names)]
    try:
        yield
        if any(names.get("type") is not TYPE for names in put):
            raise Untraceable("another thread was recording a function of arrays, which ended")
    finally:
        for names in put:
            _leave(names)


def naming_type(around: Surroundings) -> dict[int, dict[str, Any]]:
    """The globals in which functions look for the name, by identity."""
    found = {}
    for function in around.functions:
        if any("type" in code.co_names for code in codes_in(function.__code__)):
            found[id(function.__globals__)] = function.__globals__
    return found


def _hold(names: dict[str, Any]) -> bool:
    """Whether the name was put, now or by another recording."""
    with _lock:
        if id(names) not in _held:
            if "type" in names:
                return False
            _held[id(names)] = [names, 0]
            names["type"] = TYPE
        _held[id(names)][1] += 1
        return True


def _leave(names: dict[str, Any]) -> None:
    with _lock:
        _held[id(names)][1] -= 1
        if not _held[id(names)][1]:
            del _held[id(names)]
            if names.get("type") is TYPE:
                del names["type"]
