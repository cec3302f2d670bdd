"""What must be as it was for an entry to go on: fixed arguments, and what is around the function."""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..spec import spec
from .fingerprint import SMALL, fingerprint
from .frames import address_of, fits
from .surroundings import MISSING, Surroundings, holds

Entry = Callable[[tuple[Any, ...], dict[str, Any]], Any]

LOOKS = 16
"""Containers of more things are left to Python."""
EQUAL = 2
"""Python's number of the comparison ``==``."""


class Unsuited(Exception):
    """There is no entry to this program, or not for such arguments."""


class Conditions:
    """Writes conditions into an entry.

    Attributes:
        checks: what remains to be verified by Python.
    """

    def __init__(self, writer: Any):
        self.write = writer
        self.checks: list[Callable[[], bool]] = []

    def same(self, thing: str, value: Any) -> None:
        """An object, or 0, must be this one; a number or a text may be another one that is equal."""
        w, kind = self.write, type(value)
        if kind not in (int, str, bytes, float):
            w.require_same(thing, value)
            return
        w.require(w.test("ne", thing, 0))
        w.require(w.is_a(thing, kind))
        if kind is float:
            w.require_equal(w.load(w.value(thing)), w.known(struct.unpack("q", struct.pack("d", value))[0]))
        else:
            found = w.python("PyObject_RichCompareBool", thing, w.thing(value), str(EQUAL), gives="i32")
            w.require_equal(found, 1, "i32")

    def around(self, surroundings: Surroundings) -> None:
        """Everything around a function must be what it was."""
        w = self.write
        for cell, value in surroundings.cells:
            self.same(w.content(cell), value)
        for space, name, value in surroundings.bindings:
            if value is MISSING:
                w.require_equal(w.named(space, name), 0)
            else:
                self.same(w.named(space, name) if isinstance(space, dict) else w.item(space, name), value)
        for container, parts in surroundings.parts:
            self._container(container, parts)
        for array, print in surroundings.contents.values():
            self._content(array, print)

    def _container(self, container: Any, parts: list[Any]) -> None:
        w, kind = self.write, type(container)
        if len(parts) > LOOKS or kind not in (list, dict):
            self.checks.append(partial(holds, container, parts))
            return
        thing = w.thing(container)
        now = w.items(thing, list, len(parts)) if kind is list else w.values(thing, parts[::2])
        for x, part in zip(now, parts if kind is list else parts[1::2]):
            self.same(x, part)

    def _content(self, array: Any, print: Any) -> None:
        """An array, or a sparse matrix, must hold what it held."""
        w = self.write
        if (
            not isinstance(array, np.ndarray)
            or array.nbytes > SMALL
            or array.dtype.hasobject
            or not fits(array, spec(array.shape, array.dtype))
        ):
            self.checks.append(lambda: bool(fingerprint(array) == print))
            return
        copy = array.copy()
        if fingerprint(copy) != print:
            raise Unsuited
        address = w.array(w.thing(array), array.shape, array.dtype)
        if array.nbytes:
            w.thing(copy)
            w.require_content(address, w.known(address_of(copy)), array.nbytes)

    def guarded(self, entry: Entry) -> Entry:
        """An entry behind the checks."""
        if not self.checks:
            return entry

        def checked(args: tuple[Any, ...], kwargs: dict[str, Any], checks: Any = self.checks) -> Any:
            return entry(args, kwargs) if all(check() for check in checks) else NotImplemented

        return checked
