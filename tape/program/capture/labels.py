"""What the inputs of a program are called: the arguments of the function that was recorded, or parts of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator
from typing import Any, cast

from ops.core.arguments import Arguments, arguments_of

from ...base.tree import Structure
from .signature import varying


def parameters_of(function: Callable[..., Any]) -> Arguments | None:
    """The arguments that a function takes; None where it does not tell."""
    try:
        return arguments_of(function)
    except (TypeError, ValueError):
        return None


def labels(key: Hashable, parameters: Arguments | None, count: int) -> list[str]:
    """The names of inputs: ``x``, ``options[2]``, ``params['w']``; ``input 0`` where that is all there is to say.

    Args:
        key: the signature of the call that was recorded.
        parameters: those of the function.
        count: the number of inputs.
    """
    plain = [f"input {i}" for i in range(count)]
    if key is None or parameters is None:
        return plain
    found = [name for name, part in _parts(cast(Any, key), parameters) if varying((part,))]
    if len(found) != count:
        return plain
    return [f"input {name}" if re.match(r"v\d+\b", name) else name for name in found]  # which records are called


def _parts(key: tuple[Any, ...], parameters: Arguments) -> Iterator[tuple[str, Any]]:
    """Each leaf of the arguments: its name, and what the signature says of it."""
    if not key or not isinstance(key[0], Structure):
        yield from ((_argument(i, parameters), part) for i, part in enumerate(key))
        return
    parts = iter(key[1:])
    args, kwargs = key[0].inside
    for i, inside in enumerate(args.inside):
        yield from _leaves(_argument(i, parameters), inside, parts)
    for name, inside in zip(kwargs.keys, kwargs.inside):
        yield from _leaves(name, inside, parts)


def _leaves(name: str, structure: Structure, parts: Iterator[Any]) -> Iterator[tuple[str, Any]]:
    if structure.container is None:
        yield name, next(parts)
        return
    keys = structure.keys if issubclass(structure.container, dict) else range(len(structure.inside))
    for key, inside in zip(keys, structure.inside):
        yield from _leaves(f"{name}[{key!r}]", inside, parts)


def _argument(i: int, parameters: Arguments) -> str:
    names = parameters.positional
    return names[i] if i < len(names) else f"{parameters.starred or 'input'}[{i - len(names)}]"
