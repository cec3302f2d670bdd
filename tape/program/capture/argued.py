"""Arguments of another signature than a program was recorded for: which mean the same, and what is said of others."""

from __future__ import annotations

import reprlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...base.spec import spec
from ...base.tree import Structure
from ..recorded.listing import Listing, narrower
from .signature import CallArguments, Fixed, varying

NUMBER = spec((), np.dtype(np.float64))


def taken(call: CallArguments, key: Any, recorded: Listing) -> list[Any] | None:
    """What varies in a call, as a program for `key` takes it; None if that is for something else.

    Where no numbers of less than 64 bits take part, a float and a `numpy.float64` mean the same to every op.
    """
    found: Any = call.key
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
