"""Entries to programs: one call of machine code from the arguments to the results, guards and surroundings included.

A call from Python of a small program is mostly Python: taking arguments apart, finding the program, making
results.  An entry does the same for one signature and one program, and leaves to the general way what it refuses:
arguments of another type, shape or layout, anything around the function that is another object now, a guard that
misses.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..native import jitted
from ..recorder import wrap
from ..spec import Spec, spec
from ..tensor import Tensor
from ..tree import Structure, leaves_of, structure_of
from .conditions import Conditions, Entry, Unsuited
from .frames import Caller, Frame, address_of
from .recording import Place, Results
from .replay import KernelStep
from .signature import Fixed
from .surroundings import SETTLED, Surroundings

BRIEF = 10_000
"""A kernel that evaluates fewer records, counted with their elements, is called without letting other threads run."""
REAL = np.dtype(np.float64), np.dtype(np.float32)
FLOAT = spec((), np.dtype(np.float64))


def entry_of(program: Any, key: Any, call: tuple[Any, Any], around: Sequence[Surroundings]) -> Entry | None:
    """The entry to a program, None if there is none for it."""
    jit = jitted("entry")
    if jit is None or not jit.holds() or program.captures:
        return None
    try:
        return _Way(jit.Writer(), program).entry(key, call, around)
    except Unsuited:
        return None


class Value(NamedTuple):
    """A record's value: where its numbers are, of which spec, and the object that it is, if it is one."""

    address: str | int
    spec: Spec
    thing: str | None = None


class _Way:
    """Writes an entry.

    Attributes:
        values: by record, what is there when the kernels have run.
    """

    def __init__(self, writer: Any, program: Any):
        self.write, self.program, self.replay = writer, program, program.replay
        self.values: dict[int, Value] = {}
        self.conditions = Conditions(writer)
        self.alive: list[Any] = []
        steps, work = self.replay.steps, 0
        for step in steps:
            caller = step.caller if isinstance(step, KernelStep) else None
            if not isinstance(caller, Caller) or caller.shares is not None:
                raise Unsuited
            work += step.group.size * len(step.group.rows)
        if work >= BRIEF:
            raise Unsuited

    def entry(self, key: Any, call: tuple[Any, Any], around: Sequence[Surroundings]) -> Entry:
        w, counter = self.write, ctypes.addressof(self.program.counter)
        count = w.load(w.known(counter))
        w.require(w.test("slt", count, w.known(self.replay.until)))
        for surroundings in around:
            self.conditions.around(surroundings)
        self._arguments(key, call)
        self._constants()
        for step in self.replay.steps:
            self._run(step.caller, step.makes)
        self._guards()
        w.store(w.add(count, 1), w.known(counter))
        w.give(self._results(self.program.results))
        return self.conditions.guarded(w.function(*self.alive, self.program, *around))

    def _arguments(self, key: Any, call: tuple[Any, Any]) -> None:
        parts = key[1:] if key and isinstance(key[0], Structure) else key
        structure, leaves = structure_of(call), leaves_of(call)
        if len(parts) != len(leaves):
            raise Unsuited
        names = [*self._names(structure.inside[0], self.write.first)]
        names += self._names(structure.inside[1], self.write.second)
        given = []
        for thing, part, leaf in zip(names, parts, leaves):
            if isinstance(part, Fixed):
                self._fixed(thing, part, leaf)
            else:
                given.append(self._varying(thing, part))
        self.values = {k: given[number] for k, number in self.replay.inputs}

    def _names(self, structure: Structure, name: str) -> Iterator[str]:
        """The names of the leaves of an argument."""
        kind = structure.container
        if kind is None:
            yield name
            return
        if kind is dict:
            inside = self.write.values(name, structure.keys)
        elif kind in (tuple, list):
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

    def _varying(self, thing: str, part: Any) -> Value:
        """An argument that varies."""
        if part is float:
            self.write.require(self.write.is_a(thing, float))
            return Value(self.write.value(thing), FLOAT, thing)
        if isinstance(part, Spec):
            return self._numeric(thing, part)
        return self._tensor(thing, part[0])

    def _numeric(self, thing: str, spec: Spec) -> Value:
        """A number or array of NumPy's."""
        if not spec.dtype.isnative:
            raise Unsuited
        number = spec.shape == () and spec.dtype in REAL
        address = self.write.number(thing, spec.dtype) if number else self.write.array(thing, spec.shape, spec.dtype)
        return Value(address, spec)

    def _tensor(self, thing: str, spec: Spec) -> Value:
        """A tensor without history."""
        if spec.tensor is not Tensor:
            raise Unsuited
        self.write.require(self.write.is_a(thing, Tensor))
        self.write.require_same(self.write.slot(thing, "_node"), None)
        return self._numeric(self.write.slot(thing, "_data"), spec)

    def _constants(self) -> None:
        """What the list captured, or knows."""
        used = {k for step in self.replay.steps for k in step.needs} | set(self.replay.outputs)
        for k, constant in self.replay.constants:
            if k not in used:
                continue
            spec, thing = self.replay.listing.spec_of(k), self.write.thing(constant)
            if type(constant) is np.ndarray:
                self.values[k] = self._numeric(thing, spec)
            elif isinstance(constant, Tensor):
                self.values[k] = self._tensor(thing, spec)
            elif isinstance(constant, SETTLED):
                self.values[k] = Value(0, spec, thing)
            else:
                raise Unsuited

    def _run(self, caller: Caller, makes: Sequence[int]) -> None:
        """Put numbers, and addresses of arrays, where a kernel reads them, and call it."""
        w, layout, frame = self.write, caller.layout, Frame(caller.kernel, caller.layout)
        numbers, table = ctypes.addressof(frame.numbers), ctypes.addressof(frame.table)
        kind = f"i{8 * layout.dtype.itemsize}"
        for i, k in enumerate(layout.numbers):
            value = w.load(self._address(k, self.replay.listing.spec_of(k)), 0, kind)
            w.store(value, w.known(numbers), i * layout.dtype.itemsize, kind)
        for i, (k, wanted) in enumerate(layout.arrays):
            w.store(self._address(k, wanted), w.known(table), 8 * (caller.first + i))
        small, first = np.zeros(layout.small_size, layout.dtype), caller.first + len(layout.arrays)
        frame.table[first] = address_of(small)
        for t, start, _, _ in layout.small:
            self._made(makes[t], address_of(small) + start * layout.dtype.itemsize)
        large = [np.zeros(found.shape, found.dtype) for _, found in layout.large]
        for i, ((t, _), memory) in enumerate(zip(layout.large, large)):
            frame.table[first + 1 + i] = address_of(memory)
            self._made(makes[t], address_of(memory))
        self.alive += [frame, small, *large]
        w.run(caller.kernel.address, frame.step)

    def _made(self, k: int, address: int) -> None:
        self.values[k] = Value(address, self.replay.listing.spec_of(k))

    def _address(self, k: int, spec: Spec) -> str:
        """Where the numbers of a record's value are, which must be of this spec as it is."""
        value = self.values.get(k)
        if value is None or value.spec is not spec or value.address == 0:
            raise Unsuited
        return value.address if isinstance(value.address, str) else str(self.write.known(value.address))

    def _guards(self) -> None:
        """Refuse where a guard does not hold bit by bit."""
        for guard, k in zip(self.program.guards, self.replay.outputs[self.program.count :]):
            seen, spec = np.array(guard.seen, order="C"), self.replay.listing.spec_of(k)
            if (seen.shape, seen.dtype) != (spec.shape, spec.dtype):
                raise Unsuited
            if seen.nbytes:
                self.alive.append(seen)
                self.write.require_content(self._address(k, spec), self.write.known(address_of(seen)), seen.nbytes)

    def _results(self, results: Results) -> str:
        """Make what the function returns: first all numbers and arrays, then what holds them."""
        w, numbers = self.write, sorted({x.number for x in results.leaves if isinstance(x, Place)})
        made = {number: self._result(self.replay.outputs[number]) for number in numbers}
        if self.program.tensors:
            made = {number: w.applied(wrap, thing) for number, thing in made.items()}
        unused = set(made)
        leaves = []
        for x in results.leaves:
            if isinstance(x, Place):
                leaves.append(made[x.number] if x.number in unused else w.again(made[x.number]))
                unused.discard(x.number)
            elif isinstance(x, SETTLED):
                leaves.append(w.again(w.thing(x)))
            else:
                raise Unsuited
        return self._built(results.structure, iter(leaves))

    def _result(self, k: int) -> str:
        w, value = self.write, self.values[k]
        if value.thing is not None:
            return str(w.again(value.thing))
        spec, address = value.spec, self._address(k, value.spec)
        if spec.shape:
            return str(w.new_array(address, spec.shape, spec.dtype, spec.nbytes))
        if spec.dtype == np.bool_:
            return str(w.new_truth(address))
        if spec.dtype not in REAL:
            raise Unsuited
        return str(w.new_number(address, spec.dtype))

    def _built(self, structure: Structure, leaves: Iterator[str]) -> str:
        kind = structure.container
        if kind is None:
            return next(leaves)
        inside = [self._built(part, leaves) for part in structure.inside]
        if kind is dict:
            return str(self.write.new_dict(structure.keys, inside))
        if kind in (tuple, list):
            return str(self.write.new_items(kind, inside))
        raise Unsuited
