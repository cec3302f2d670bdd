"""What the inputs of a program are called, and arguments of another signature than it was recorded for."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, cast

import numpy as np

from ops.core.arguments import Arguments, arguments_of

from ...base.spec import spec
from ...base.tree import Structure
from ..recorded.listing import Listing, narrower
from .signature import CallArguments, Fixed, of_numbers, varying

NUMBER = spec((), np.dtype(np.float64))


def taken(call: CallArguments, key: Any, recorded: Listing) -> list[Any] | None:
    """What varies in a call, as a program for `key` takes it; None if that is for something else.

    Where no numbers of less than 64 bits take part, a float and a `numpy.float64` mean the same to every op.
    """
    found: Any = of_numbers(call.key)
    if found == key:
        return call.given
    if len(found) != len(key) or not all(p == q or _numbers(p, q) for p, q in zip(found, key)) or narrower(recorded):
        return None
    given = zip(varying(key), call.given)
    return [float(x) if kind is float else np.asarray(x) if kind is NUMBER else x for kind, x in given]


def _numbers(p: Any, q: Any) -> bool:
    return (p is float or p is NUMBER) and (q is float or q is NUMBER)


def difference(key: Any, found: Any) -> str:
    """What to say where a call does not fit a program."""
    text = f"the program was recorded for arguments {readable(key)}; got {readable(found)}.\n"
    pairs = zip(key, found)
    if any(p is float and isinstance(q, Fixed) and type(q.value) is int for p, q in pairs):
        text += "An int computes otherwise than a float: write it with a point, as in 3.0.\n"
    return text + "Record it again with such arguments, or call the function through tape.compile."


def misplaced(rows: bool) -> str:
    """What to say where arguments lie in memory in another way than those of a program, in rows if `rows`."""
    how = "in row-major order" if rows else "in another order"
    remedy = "Pass np.ascontiguousarray(x), record" if rows else "Record"
    return (
        f"the program was recorded for arguments that lie {how} in memory, on which what it gives depends.\n"
        f"{remedy} it again with such arguments, or call the function through tape.compile."
    )


def readable(key: Any) -> str:
    """A signature as a call is written: specs of arrays, and of tensors; ``float``; the values of what is fixed."""
    if key and isinstance(key[0], Structure):
        parts = iter(map(_readable, key[1:]))
        args, kwargs = key[0].inside
        shown = [*_texts(args, parts), *(f"{n}={t}" for n, t in zip(kwargs.keys, _texts(kwargs, parts)))]
    else:
        shown = [_readable(part) for part in key]
    return f"({', '.join(shown)})"


def _texts(structure: Structure, parts: Iterator[str]) -> Sequence[str]:
    return [_text(inside, parts) for inside in structure.inside]


def _text(structure: Structure, parts: Iterator[str]) -> str:
    if structure.container is None:
        return next(parts)
    inside = _texts(structure, parts)
    if issubclass(structure.container, dict):
        return "{" + ", ".join(f"{k!r}: {text}" for k, text in zip(structure.keys, inside)) + "}"
    begin, end = "[]" if issubclass(structure.container, list) else ("(", ",)" if len(inside) == 1 else ")")
    return begin + ", ".join(inside) + end


def _readable(part: Any) -> str:
    if isinstance(part, Fixed):
        return reprlib.repr(part.value)
    if part is float:
        return "float"
    return f"tensor {part[0]}" if type(part) is tuple else str(part)


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
