"""Where CPython's objects point to what they hold: found out by probes, and not used where it is not found."""

from __future__ import annotations

import ctypes
import sys
from types import CellType
from typing import Any

from .contents import MISSING


def _places(thing: Any, values: list[Any]) -> list[int]:
    """Where an object points to each of these, 0 if that is not found."""
    held = [pointer(id(thing) + 8 * k).value for k in range(2, type(thing).__basicsize__ // 8)]
    return [8 * (2 + held.index(id(x))) if held.count(id(x)) == 1 else 0 for x in values]


def _function_places() -> dict[str, int]:
    def probe(a: Any = [], *, b: Any = []) -> None:  # noqa: B006
        """Has defaults of both kinds."""

    names = ("__code__", "__defaults__", "__kwdefaults__", "__name__", "__qualname__", "__doc__")
    return dict(zip(names, _places(probe, [getattr(probe, name) for name in names]) if POINTERS else [0] * 6))


def _title_places() -> dict[str, int]:
    probe = type("Probe", (), {"__qualname__": "Some.Probe"})
    names = ("__name__", "__qualname__")
    return dict(zip(names, _places(probe, [getattr(probe, name) for name in names]) if POINTERS else [0, 0]))


def _has_pointers() -> bool:
    """Whether objects are where their identities say, and point to their types."""
    return sys.implementation.name == "cpython" and pointer(id(MISSING) + TYPE).value == id(type(MISSING))


class _Ordered:
    """A class whose order of bases is looked for."""


pointer = ctypes.c_size_t.from_address
TYPE, MANAGED = 8, -24
"""Where objects point to their types, and before themselves to their attributes."""
POINTERS = _has_pointers()
FUNCTION = _function_places()
TITLES = _title_places()
ORDER = _places(_Ordered, [_Ordered.__mro__])[0] if POINTERS else 0
CONTENT = _places(CellType(MISSING), [MISSING])[0] if POINTERS else 0
