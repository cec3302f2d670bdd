"""The arguments of a function, read off its code.

Importing declares hundreds of ops, whose functions' arguments say what they need.  `inspect.signature` takes ten
microseconds for each and builds objects that nobody looks at; of a plain function the code tells.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from inspect import CO_VARARGS, CO_VARKEYWORDS
from types import BuiltinFunctionType, FunctionType
from typing import Any, NamedTuple

STARRED = CO_VARARGS | CO_VARKEYWORDS
NO_DEFAULT = inspect.Parameter.empty


class Arguments(NamedTuple):
    """The names of a function's arguments: by position, ``*args`` if there are any, by keyword with their defaults."""

    positional: tuple[str, ...]
    starred: str | None
    keywords: dict[str, Any]

    @property
    def names(self) -> tuple[str, ...]:
        """All of them, in order."""
        starred = () if self.starred is None else (self.starred,)
        return *self.positional, *starred, *self.keywords


def argument_names(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names of a function's arguments in order.

    >>> argument_names(lambda x, *, axis=None: x)
    ('x', 'axis')
    """
    if _is_plain(function):
        code = function.__code__
        if not code.co_flags & STARRED:
            return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return tuple(inspect.signature(function).parameters)


def arguments_of(function: Callable[..., Any]) -> Arguments:
    """What arguments a function takes; ``**kwargs`` counts as one that is given by position.

    >>> arguments_of(lambda x, *rest, axis=None: x)
    Arguments(positional=('x',), starred='rest', keywords={'axis': None})
    """
    if type(function) is FunctionType and [*function.__dict__] == ["__wrapped__"]:
        return arguments_of(inspect.unwrap(function, stop=lambda f: hasattr(f, "__signature__")))
    if not _is_plain(function):
        return _inspected(function)
    code, defaults = function.__code__, function.__kwdefaults__ or {}
    if code.co_flags & CO_VARKEYWORDS:
        return _inspected(function)
    names, first, last = code.co_varnames, code.co_argcount, code.co_argcount + code.co_kwonlyargcount
    starred = names[last] if code.co_flags & CO_VARARGS else None
    return Arguments(names[:first], starred, {name: defaults.get(name, NO_DEFAULT) for name in names[first:last]})


def _inspected(function: Callable[..., Any]) -> Arguments:
    """The arguments of what is no plain function."""
    text = getattr(function, "__text_signature__", None)
    if isinstance(function, BuiltinFunctionType) and text and text.endswith(", /)"):
        names = text[1:-4].removeprefix("$module, ").split(", ")  # Python would tokenize the text
        return Arguments(tuple(names), None, {})
    found = inspect.signature(function).parameters.values()
    starred = [p.name for p in found if p.kind is p.VAR_POSITIONAL]
    return Arguments(
        tuple([p.name for p in found if p.kind not in (p.VAR_POSITIONAL, p.KEYWORD_ONLY)]),
        starred[0] if starred else None,
        {p.name: p.default for p in found if p.kind is p.KEYWORD_ONLY},
    )


def _is_plain(function: Any) -> bool:
    """Whether a function's code says what it takes: it stands for no other, and has no signature of its own."""
    return type(function) is FunctionType and not function.__dict__
