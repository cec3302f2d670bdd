"""How a function that was decorated with `tape.compile` is pickled, although its name stands for what was made of it.

Pickle stores a function as its name, and checks that the name leads back to it.  The name of a decorated function
leads to the compiled one; that one has a twin of the function as the attribute ``plain``, whose name is the function's
and ``.plain``.  So pickle finds the twin by its name; a pickler that stores functions by value, as cloudpickle does
with those of ``__main__``, stores the twin.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any

SUFFIX = ".plain"


def named(function: Callable[..., Any]) -> Any:
    """What the name of a function stands for, where it is a function written in Python; otherwise None."""
    return lookup(function.__module__, function.__qualname__) if isinstance(function, FunctionType) else None


def lookup(module: str, name: str) -> Any:
    """What a dotted name stands for in a module that has been imported; None if it stands for nothing."""
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def renamed(function: Callable[..., Any]) -> FunctionType:
    """A twin of a function, with a name that leads to the twin."""
    assert isinstance(function, FunctionType)
    twin = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    twin.__kwdefaults__, twin.__annotations__ = function.__kwdefaults__, function.__annotations__
    twin.__doc__, twin.__module__, twin.__qualname__ = (
        function.__doc__,
        function.__module__,
        function.__qualname__ + SUFFIX,
    )
    twin.__dict__.update(function.__dict__)
    return twin


def restored(twin: FunctionType, make: Any, options: tuple[Any, ...]) -> Any:
    """What the twin was made for: found by its name, or made anew where the twin came by value."""
    name = twin.__qualname__.removesuffix(SUFFIX)
    owner = lookup(twin.__module__, name)
    if isinstance(owner, make) and owner.plain is twin:
        return owner
    twin.__qualname__ = name
    return make(twin, *options)
