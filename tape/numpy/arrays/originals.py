"""The library's own code calls NumPy and `math` as they are: it names twins of these modules, in which no door stands.

A door in a module stands there for whoever reads it.  What the library itself computes while a function is recorded
would ask at each call in vain whose it is, and a module of another class makes a search of every ``np.name``: together
a quarter of a first call.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from ...base.location import in_library
from .leaving import OURS

_twins: dict[int, tuple[ModuleType, ModuleType]] = {}
"""By identity of a module that doors stand in, that module and its twin."""

_seen: list[Any] = [None]
"""The room that was imported last when rooms were last looked through."""


def hold(modules: tuple[ModuleType, ...]) -> None:
    """Let the rooms that are imported by now name twins of some modules, in which no door stands yet."""
    last = latest_module()
    if last == _seen[0]:
        return
    _seen[0] = last
    for module in () if _twins else modules:
        _twins[id(module)] = module, _twin(module)
    for _, made in _twins.values():
        _exchange(vars(made))
    for name, room in list(sys.modules.items()):
        if name.partition(".")[0] in OURS and type(room) is ModuleType and in_library(vars(room).get("__file__") or ""):
            _exchange(vars(room))


def latest_module() -> str:
    """The name of the module that was imported last."""
    while True:
        try:
            return next(reversed(sys.modules))
        except RuntimeError:  # another thread imports one at this moment
            continue


def _twin(module: ModuleType) -> ModuleType:
    """A module of the same name, in which the same stands as now."""
    made = ModuleType(module.__name__)
    vars(made).update(vars(module))
    return made


def _exchange(names: dict[str, Any]) -> None:
    for name, value in list(names.items()):
        if isinstance(value, ModuleType) and id(value) in _twins:
            names[name] = _twins[id(value)][1]
