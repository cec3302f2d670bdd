"""Rooms that are opened when something in them is first asked for, so that importing the library stays light.

Every import that waits is written with one of these, by the full name of the room: `Room` stands for a module in a
function's code, `on_demand` gives a package the names that it does not have yet, `opened` is for a computed name.

Threads may open rooms at the same time.  Whoever imports a module waits for the threads that are importing what it
imports, its package among them, and Python hands out a module half made where they would wait in a circle.  So imports
go one way: no room imports what imports it, and a package that is not there with the library itself has its names on
demand and imports none of its rooms (`tests/house/test_house.py`); what lies in packages is opened from the outermost
on, as a package of somebody else's may import its own.
"""

from __future__ import annotations

import sys
from _thread import get_ident
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from importlib import import_module
from time import monotonic, sleep
from typing import Any

from .locks import before_fork, in_child
from .undisturbed import undisturbed

AROUND: list[Callable[[], AbstractContextManager[Any]]] = []
"""What has to stand back while a room is imported: each makes a context for one import, which may be in another."""


def opened(module: str) -> Any:
    """A module by its full name, imported if it was not yet."""
    found = sys.modules.get(module)
    if found is not None and not getattr(found.__spec__, "_initializing", False):
        return found
    ident = get_ident()
    with ExitStack() as stack:
        _opening[ident] = _opening.get(ident, 0) + 1
        stack.callback(_opened, ident)
        for around in AROUND:
            stack.enter_context(around())
        return undisturbed(lambda: _imported(module))


def _imported(module: str) -> Any:
    for end in (k for k, letter in enumerate(module) if letter == "."):
        import_module(module[:end])
    return import_module(module)


_opening: dict[int, int] = {}
"""By thread, how many rooms it is opening, one in the other."""

PATIENCE = 30.0
"""Seconds that a fork waits for other threads that open rooms, of which the child would wait for ever."""


def _opened(ident: int) -> None:
    _opening[ident] -= 1
    if not _opening[ident]:
        del _opening[ident]


@before_fork
def _let_others_open() -> None:
    until = monotonic() + PATIENCE
    while any(ident != get_ident() for ident in list(_opening)) and monotonic() < until:
        sleep(0.002)


@in_child
def _begin_anew() -> None:
    for ident in [ident for ident in _opening if ident != get_ident()]:
        del _opening[ident]


class Room:
    """A module, imported when one of its names is first read."""

    __slots__ = ("_module",)

    def __init__(self, module: str):
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(opened(self._module), name)

    def __repr__(self) -> str:
        return f"<room {self._module}>"


def on_demand(package: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package, for `names` and the modules that have them; a module's own name gives it.

    What was found stands in the package from then on.  Type checkers are shown imports in its place, under
    ``if TYPE_CHECKING:``; a module that has ``__getattr__`` has every name to them.

    Raises:
        AttributeError: for any other name.
    """

    def __getattr__(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = opened(names[name])
        found = module if names[name] == f"{package}.{name}" else getattr(module, name)
        vars(sys.modules[package])[name] = found
        return found

    return __getattr__
