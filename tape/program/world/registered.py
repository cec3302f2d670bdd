"""Of which abstract classes the user's classes are registered as subclasses.

Library code that is not looked into may ask, and ``match`` with a pattern of a sequence or a mapping does.
"""

from __future__ import annotations

import abc
import collections.abc
import contextlib
import ctypes
import numbers
import os
import sys
from typing import Any

from .object_places import POINTERS
from .watched import One, Word

ABSTRACT = tuple(
    kind
    for module in (collections.abc, contextlib, numbers, os)
    for kind in vars(module).values()
    if isinstance(kind, abc.ABCMeta)
)
"""Python's own abstract classes; of others, which code has to name, each registration counts."""
_COUNT = 8
"""Where the state of the module behind `abc` has its count of registrations."""


def registrations() -> int:
    """How many registrations there were with all classes."""
    count: Any = abc.get_cache_token()
    return int(count)


def _count_of_registrations() -> ctypes.c_uint64 | None:
    """Where Python counts the registrations with all classes, if that is where it is looked for."""
    module = sys.modules.get("_abc")
    if not POINTERS or module is None:
        return None
    state_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object)(("PyModule_GetState", ctypes.pythonapi))
    state = state_of(module)
    if not state:
        return None
    count, before = ctypes.c_uint64.from_address(state + _COUNT), registrations()
    found = count.value == before
    abc.ABCMeta("Probe", (), {}).register(type("Registered", (), {}))
    return count if found and count.value == registrations() == before + 1 else None


COUNT = _count_of_registrations()


def is_registered(kind: type) -> bool:
    """Whether a class is a subclass of an abstract one without inheriting from it, nor for the methods that it has."""
    return any(
        issubclass(kind, base) and not any(k is base for k in kind.__mro__) and base.__subclasshook__(kind) is not True
        for base in ABSTRACT
    )


class Registrations(One):
    """That some classes are registered as what they were.

    They are asked only when some class was registered meanwhile, as packages do with theirs when they are imported.

    Attributes:
        value: the classes, by identity.
        tag: what the count of registrations was when that held.
    """

    def __init__(self) -> None:
        self.tag = ctypes.c_uint64(registrations())
        self.value: dict[int, type] = {}

    def add(self, kind: type) -> None:
        self.value[id(kind)] = kind

    def holds(self) -> bool:
        count = registrations()
        if count != self.tag.value:
            if any(map(is_registered, list(self.value.values()))):  # perhaps it was before, too
                return False
            self.tag.value = count
        return True

    def word(self) -> Word | None:
        return None if COUNT is None else (COUNT, self.tag.value)

    def put_back(self) -> None:
        """Nothing takes a registration back."""
