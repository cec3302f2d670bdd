"""What `tape.compile` and `tape.record` require of what they are told."""

from __future__ import annotations

import inspect
from types import FunctionType
from typing import Any

from ...jit.emission.tiers import TIERS

LATE = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR | inspect.CO_GENERATOR
"""The flags of code that computes later; a function without marks of its own is what its code says."""


def require_function(function: Any, who: str) -> None:
    """Raise unless something is a function that gives its result when it is called."""
    if not callable(function):
        raise TypeError(f"{who} requires a function; got {function!r}, of type {type(function).__name__}.")
    if type(function) is FunctionType and not function.__code__.co_flags & LATE and not function.__dict__:
        return
    called = (function, getattr(function, "__call__", None))  # noqa: B004
    for kind, holds in (
        ("coroutine function", inspect.iscoroutinefunction),
        ("asynchronous generator", inspect.isasyncgenfunction),
        ("generator", inspect.isgeneratorfunction),
    ):
        if any(map(holds, called)):
            name = getattr(function, "__qualname__", repr(function))
            raise TypeError(
                f"{who} requires a function that returns its result; {name} is a {kind}, which computes later.\n"
                "Compile the function that it calls for the numbers, or let it return a list."
            )


def require_options(tier: Any, threads: Any) -> None:
    """Raise unless these may say how to compile."""
    if tier is not None and tier not in TIERS:
        raise ValueError(f"tier= must be one of {', '.join(map(repr, TIERS))}, or None; got {tier!r}.")
    if threads is not None:
        require_count(threads, "threads", "; None for as many as there are processors")


def require_count(value: Any, name: str, other: str = "") -> None:
    """Raise unless something is a whole number from 1 on."""
    message = f"{name}= must be a whole number of at least 1{other}; got {value!r}."
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(message)
    if value.__index__() < 1:
        raise ValueError(message)
