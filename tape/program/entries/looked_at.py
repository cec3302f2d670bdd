"""What an entry looks at: the arguments of a call, and the constants of a program."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...base.spec import OfArray, Spec, spec
from ...base.tensor import Tensor
from ...base.tree import Structure, leaves_of, structure_of
from ..capture.signature import Fixed
from ..plans.stops import Raw
from ..world.surroundings import SETTLED, Surroundings
from .conditions import LOOKS, Conditions, Unsuited

REAL = np.dtype(np.float64), np.dtype(np.float32)
FLOAT = spec((), np.dtype(np.float64))
ITEMS = {"__getitem__", "__iter__", "__len__"}


def is_named_tuple(kind: type) -> bool:
    """Whether all that objects of a class are is in their items: as `collections.namedtuple` makes it, or `typing`."""
    fields, new = vars(kind).get("_fields"), getattr(kind.__new__, "__code__", None)
    if kind.__bases__ != (tuple,) or kind.__dictoffset__ or not fields or not ITEMS.isdisjoint(vars(kind)):
        return False
    usual: Any = namedtuple("Usual", fields).__new__
    return new is not None and new.co_code == usual.__code__.co_code


class EntryValue(NamedTuple):
    """An input or constant: where its numbers are, of which spec, and the object that it is, if it is one."""

    address: str | int
    spec: Spec
    thing: str | None = None


class LookedAt:
    """Writes the part of an entry that looks at what is given, and refuses what the program is not for.

    Attributes:
        values: by source, what is there before the kernels run: inputs by number, constants by −1 minus the record.
        things: the inputs as objects.
        as_they_lie: whether arguments must lie in memory as those at hand do.
        otherwise: by source, what does not lie in rows, as a transposed matrix; `copies` are those of a call that do.
        held: what must not go away before the end, since other threads may run meanwhile: arguments, and arrays in use.
    """

    def __init__(self, writer: Any, conditions: Conditions, as_they_lie: bool):
        self.write, self.conditions, self.as_they_lie = writer, conditions, as_they_lie
        self.values: dict[int, EntryValue] = {}
        self.things: list[str] = []
        self.otherwise: dict[int, str] = {}
        self.copies: list[str] = []
        self.held: list[str] = []

    def arguments(self, key: Any, call: tuple[Any, Any]) -> None:
        """The arguments of a call, of which one is at hand."""
        parts = key[1:] if key and isinstance(key[0], Structure) else key
        structure, leaves = structure_of(call), leaves_of(call)
        if len(parts) != len(leaves):
            raise Unsuited
        names = [*self._names(structure.inside[0], self.write.arguments[0])]
        names += self._names(structure.inside[1], self.write.arguments[1])
        given: list[EntryValue] = []
        for thing, part, leaf in zip(names, parts, leaves):
            if isinstance(part, Fixed):
                self._fixed(thing, part, leaf)
            else:
                given.append(self._varying(len(given), thing, part, leaf))
                self.things.append(thing)
        self.values = dict(enumerate(given))
        self.held += self.things

    def be_others(self, around: Sequence[Surroundings]) -> None:
        """No argument may be an array or tensor that is around the function as well."""
        known = [x for some in around for x in (*(watch.array for watch in some.arrays.values()), *some.tensors)]
        if len(known) > LOOKS:
            raise Unsuited
        for thing in self.things:
            for x in known:
                self.write.require(self.write.test("ne", thing, self.write.thing(x)))

    def _names(self, structure: Structure, name: str) -> Iterator[str]:
        """The names of the leaves of an argument."""
        kind = structure.container
        if kind is None:
            yield name
            return
        if kind is dict:
            inside = self.write.values(name, structure.keys)
        elif kind in (tuple, list) or is_named_tuple(kind):
            inside = self.write.items(name, kind, len(structure.inside))
        else:
            raise Unsuited
        for part, x in zip(structure.inside, inside):
            yield from self._names(part, x)

    def _fixed(self, thing: str, part: Fixed, leaf: Any) -> None:
        """An argument that must be the same."""
        if part.value is not leaf:
            raise Unsuited
        self.conditions.same(thing, leaf)

    def _varying(self, source: int, thing: str, part: Any, leaf: Any) -> EntryValue:
        """An argument that varies."""
        if part is float:
            self.write.require(self.write.is_a(thing, float))
            return EntryValue(self.write.value(thing), FLOAT, thing)
        if isinstance(part, OfArray):
            self.write.require(self.write.is_a(thing, np.ndarray))
            return self._lying(source, thing, leaf, spec(part.shape, part.dtype), self.as_they_lie)
        if isinstance(part, Spec):
            if not part.shape:
                self.write.require(self.write.is_a(thing, part.dtype.type))
            return self._lying(source, thing, leaf, part, self.as_they_lie)
        return self._tensor(source, thing, leaf, part[0], self.as_they_lie)

    def _tensor(self, source: int, thing: str, tensor: Tensor, spec: Spec, as_it_lies: bool = False) -> EntryValue:
        """A tensor without history."""
        if spec.tensor is not Tensor:
            raise Unsuited
        self.write.require(self.write.is_a(thing, Tensor))
        self.write.require_same(self.write.slot(thing, "_node"), None)
        return self._lying(source, self.write.slot(thing, "_data"), tensor._data, spec, as_it_lies)

    def _lying(self, source: int, thing: str, value: Any, spec: Spec, as_it_lies: bool = False) -> EntryValue:
        """A number or array of NumPy's, of which one is at hand; what does not lie in rows is copied at each call."""
        if not spec.dtype.isnative:
            raise Unsuited
        self.held.append(thing)
        if not isinstance(value, np.ndarray) or value.flags.c_contiguous:
            number = spec.shape == () and spec.dtype in REAL
            at = self.write.number(thing, spec.dtype) if number else self.write.array(thing, spec.shape, spec.dtype)
            return EntryValue(at, spec)
        self.write.fits(thing, spec.shape, spec.dtype)
        if as_it_lies:
            self.write.lies(thing, value.strides)
        self.otherwise[source] = thing
        return EntryValue(0, spec)

    def constants(self, replay: Any) -> None:
        """What a list captured, or knows, and the plan of its replay reads."""
        plan = replay.sweeper.plan
        used = {source for source, _, _ in plan.brought}
        used |= {x.source for x in plan.results if isinstance(x, Raw)}
        for k, constant in replay.constants:
            if -1 - k not in used:
                continue
            spec, thing = replay.listing.spec_of(k), self.write.thing(constant)
            if type(constant) is np.ndarray:
                self.values[-1 - k] = self._lying(-1 - k, thing, constant, spec)
            elif isinstance(constant, Tensor):
                self.values[-1 - k] = self._tensor(-1 - k, thing, constant, spec)
            elif isinstance(constant, SETTLED):
                self.values[-1 - k] = EntryValue(0, spec, thing)
            else:
                raise Unsuited

    def in_rows(self) -> None:
        """Hold all that is looked at, and copy what lies otherwise: other threads run while NumPy copies much."""
        for thing in self.held:
            self.write.again(thing)
        for source, thing in self.otherwise.items():
            copy, elements = self.write.in_rows(thing)
            self.copies.append(copy)
            self.values[source] = self.values[source]._replace(address=elements)

    def numbers(self, source: int, spec: Spec) -> str:
        """Where the numbers of an input or constant are, which must be of this spec as it is."""
        value = self.values.get(source)
        if value is None or value.spec is not spec or value.address == 0:
            raise Unsuited
        return str(value.address)
