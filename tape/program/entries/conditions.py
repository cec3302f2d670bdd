"""What must be as it was for an entry to go on: fixed arguments, and what is around the function."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from typing import Any

from ...base.dtypes import NUMERIC, kind_of
from ...base.spec import spec
from ...jit.machine import object_layout as objects
from ...jit.machine.frames import address_of, fits
from ..recorded.raising import STATE, calm, is_quiet
from ..world.contents import MISSING
from ..world.object_places import USED
from ..world.registered import COUNT, Registrations
from ..world.surroundings import Surroundings
from ..world.watched import BUSY, Container, InContext, Setting, Space, WatchedArray

Entry = Callable[[tuple[Any, ...], dict[str, Any]], Any]

LOOKS = 16
"""Containers of more things are left to Python."""
SMALL = 1 << 12
"""Bytes of an array up to which machine code compares them."""
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
        """An object must be this one, or be missing; a number or a text may be another one that is equal."""
        w, kind = self.write, type(value)
        if value is MISSING:
            w.require_equal(thing, 0)
            return
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

    def is_quiet(self) -> None:
        """A floating-point error must be no more than a warning to NumPy."""
        if STATE is None:
            self.checks.append(is_quiet)
            return
        w = self.write
        state = w.in_context(STATE)
        unset, known = w.test("eq", state, w.thing(None)), w.test("eq", state, w.load(w.known(ctypes.addressof(calm))))
        w.require_or_ask(w.say(f"or i1 {unset}, {known}"), is_quiet)

    def around(self, surroundings: Surroundings) -> None:
        """Everything around a function must be what it was."""
        w = self.write
        for space in surroundings.spaces.values():
            self._space(space)
        for cell in surroundings.cells:
            self.same(w.content(cell.cell), cell.value)
        for one in (*surroundings.facts, *surroundings.slots):
            self._one(one)
        if surroundings.registered is not None:
            self._registered(surroundings.registered)
        for container in surroundings.containers:
            self._container(container)
        for array in surroundings.arrays.values():
            self._content(array)

    def _space(self, space: Space) -> None:
        """A dict must not have changed since it was looked at, or have what counts under each name."""
        w = self.write
        if space.counted and space.busy < BUSY:
            self.write.require_equal(w.load(w.known(space.address)), w.load(w.known(ctypes.addressof(space.tag))))
        elif space.whole or space.attributes:
            self.checks.append(space.holds)
        else:
            for name in space.names:
                self.same(w.named(space.mapping, name), space.copy.get(name, MISSING))

    def _registered(self, registered: Registrations) -> None:
        """No class may have been registered since the user's were looked at."""
        if COUNT is None:
            self.checks.append(registered.holds)
        else:
            count, tag = (self.write.known(ctypes.addressof(word)) for word in (COUNT, registered.tag))
            self.write.require_equal(self.write.load(count), self.write.load(tag))

    def _one(self, one: Any) -> None:
        """What an object keeps at a known place must be this; so must what a context variable holds."""
        w, address = self.write, one.address()
        if isinstance(one, InContext):
            held = w.in_context(one.variable)  # None where it holds nothing
            w.require_or_ask(w.test("eq", held, w.thing(None if one.value is MISSING else one.value)), one.holds)
        elif isinstance(one, Setting):
            count, tag = (w.known(ctypes.addressof(word)) for word in (one.count, one.tag))
            w.require_equal(w.load(count), w.load(tag))
        elif address is None:
            self.checks.append(one.holds)
        else:
            self.same(w.load(w.known(address)), one.value if getattr(one, "pointer", 1) else MISSING)

    def _container(self, container: Container) -> None:
        thing, parts = container.thing, container.parts
        if type(thing) is set and not parts and USED:
            self.write.require_equal(self.write.load(self.write.known(id(thing) + USED)), 0)
            return
        if len(parts) > LOOKS or type(thing) is not list:
            self.checks.append(container.holds)
            return
        for x, part in zip(self.write.items(self.write.thing(thing), list, len(parts)), parts):
            self.same(x, part)

    def _content(self, watched: WatchedArray) -> None:
        """An array must hold what it held."""
        w, array, copy = self.write, watched.array, watched.copy
        numbers = array.nbytes <= SMALL and kind_of(array.dtype) in NUMERIC
        small = numbers and fits(array, spec(array.shape, array.dtype))
        if copy is None or not small or array.strides != copy.strides or watched.names is not None:
            self.checks.append(watched.holds)
            return
        address = w.array(w.thing(array), array.shape, array.dtype)
        w.require_equal(w.load(w.thing(array), objects.ARRAY_FLAGS, "i32"), array.flags.num, "i32")
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
