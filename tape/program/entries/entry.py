"""Entries to programs: one call of machine code from the arguments to the results, guards and surroundings included.

A call from Python of a small program is mostly Python: taking arguments apart, finding the program, making
results.  An entry does the same for one signature and one program, and leaves to the general way what it refuses:
arguments of another type, shape or layout, anything around the function that is another object now, a guard that
misses.  One is made when the program was called so often that it pays.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ...base.jit_door import jitted
from ...base.rooms import opened
from ...base.spec import OfArray, Spec, spec
from ...base.tensor import Tensor
from ...base.tree import Structure, leaves_of, made_of, structure_of
from ...jit.machine.frames import WORD, address_of
from ...jit.machine.regions import REFUSED
from ...recording.recorder import wrap
from ...recording.wengert import current
from ..capture.laid_results import laying
from ..capture.results import PYTHON, TENSOR, WITHOUT_AXES, OutputPlace, Results, SharedResult
from ..capture.signature import Fixed, varying
from ..plans.plan_steps.plan_places import contiguous
from ..plans.replay import KernelStep, making
from ..plans.round_step import RoundsStep
from ..plans.stops import Raw, Result
from ..world.surroundings import SETTLED, Surroundings
from .conditions import LOOKS, Conditions, Entry, Unsuited

BRIEF = 30_000
"""A program that evaluates fewer records, counted with their elements, is run without letting other threads run.

It takes about as long (9 µs) as the general way, which runs in Python, would keep them waiting by itself.
"""
LONG = 100 * BRIEF
"""Programs of more are left to the general way, beside which they take a hundred times as long."""
MOST_FRESH = 1 << 16
"""Long programs whose results take more bytes are left to the general way, which has memory for them at hand."""
REAL = np.dtype(np.float64), np.dtype(np.float32)
FLOAT = spec((), np.dtype(np.float64))


def entry_of(
    program: Any, key: Any, call: tuple[Any, Any], around: Sequence[Surroundings], as_they_lie: bool = False
) -> tuple[Entry | None, Any]:
    """The entry to a program and the regions of its block, None if there is none for it (see `Shortcut.look`)."""
    jit = jitted("emission.entry_code")
    if jit is None or not jit.holds() or program.captures:
        return None, None
    try:
        way = _Way(jit.EntryWriter(), program, as_they_lie)
        return way.entry(key, call, around), way.block.regions
    except Unsuited:
        return None, None


def work_of(step: Any) -> int:
    """About how many records a step evaluates, counted with their elements."""
    if isinstance(step, KernelStep):
        return step.group.size * len(step.group.rows)
    if isinstance(step, RoundsStep):
        return step.times * sum(map(work_of, step.body.steps))
    sizes = [spec.size for k in (*step.needs, *step.makes) if (spec := step.listing.spec_of(k)) is not None]
    if step.op.hints.motion == "matrix":
        return int(np.prod(sizes, dtype=float) ** 0.5) // 4
    return sum(sizes) // 2


class EntryValue(NamedTuple):
    """An input or constant: where its numbers are, of which spec, and the object that it is, if it is one."""

    address: str | int
    spec: Spec
    thing: str | None = None


class _Way:
    """Writes an entry.

    Attributes:
        values: by source, what is there before the kernels run: inputs by number, constants by −1 minus the record.
        things: the inputs as objects.
        as_they_lie: whether arguments must lie in memory as those at hand do.
        otherwise: by source, what does not lie in rows, as a transposed matrix; `copies` are those of a call that do.
        block, given: the memory that the kernels run in, and by place in the plan's list, to which they write results.
        turned: the results that are copied element by element, so that they lie by columns.
        whole: by region, the results that are written into the arrays that the caller gets; `made` are these.
        busy: of a program that lets other threads run, whether the memory is in use.
        held: what must not go away before the end, since other threads may run meanwhile: arguments, and arrays in use.
    """

    def __init__(self, writer: Any, program: Any, as_they_lie: bool):
        self.write, self.program, self.replay, self.as_they_lie = writer, program, program.replay, as_they_lie
        self.values: dict[int, EntryValue] = {}
        self.things: list[str] = []
        self.otherwise: dict[int, str] = {}
        self.copies: list[str] = []
        self.conditions = Conditions(writer)
        self.alive: list[Any] = []
        work = sum(map(work_of, self.replay.steps))
        self.plan = self.replay.sweeper.plan
        if self.plan.halts or self.replay.guards.others or work >= LONG:
            raise Unsuited
        if work >= BRIEF and sum(spec.nbytes for _, spec in self.plan.given) > MOST_FRESH:
            raise Unsuited
        self.busy = ctypes.c_int64(0) if work >= BRIEF else None
        self.held: list[str] = []
        self.block = self.replay.sweeper.block()
        layouts = program.results.layouts
        found = [(i, getattr(self.plan.results[i], "spec", None), strides) for i, strides in layouts]
        self.turned = {i for i, spec, strides in found if is_to_be_turned(spec, strides)}
        self.whole, self.made = whole_results(program.results, self.plan, self.turned), dict[int, str]()
        self.given: dict[int, np.ndarray] = {}
        for i, (region, wanted) in enumerate(self.plan.given):
            if region not in self.whole:
                self.given[i] = np.zeros(wanted.shape, wanted.dtype)
                self.block.regions[region] = address_of(self.given[i])

    def entry(self, key: Any, call: tuple[Any, Any], around: Sequence[Surroundings]) -> Entry:
        asked = any(some.compares or some.recognises for some in around)
        if asked and (isinstance(key[0], Structure) or (len(varying(key)) > 1 and any(x.compares for x in around))):
            raise Unsuited
        w, counter = self.write, ctypes.addressof(self.program.counter)
        count = w.load(w.known(counter))
        w.require(w.test("slt", count, w.known(self.replay.until)))
        self.conditions.is_quiet()
        if self.program.historic:
            self.conditions.checks.append(records_gradients)
        if self.program.said is not None:
            self.conditions.checks.append(self.program.heed_filters)
        for surroundings in around:
            self.conditions.around(surroundings)
        self._arguments(key, call)
        if asked:
            self._be_others(around)
        self._constants()
        self._run()
        w.store(w.add(w.load(w.known(counter)), 1), w.known(counter))
        made = self._results(self.program.results)
        for thing in (*self.copies, *self.held):
            w.perform("Py_DecRef", thing)
        if self.busy is not None:
            w.store("0", w.known(ctypes.addressof(self.busy)))
        w.give(made)
        return self.conditions.guarded(w.function(*self.alive, self.program, *around))

    def _arguments(self, key: Any, call: tuple[Any, Any]) -> None:
        parts = key[1:] if key and isinstance(key[0], Structure) else key
        structure, leaves = structure_of(call), leaves_of(call)
        if len(parts) != len(leaves):
            raise Unsuited
        names = [*self._names(structure.inside[0], self.write.first)]
        names += self._names(structure.inside[1], self.write.second)
        given: list[EntryValue] = []
        for thing, part, leaf in zip(names, parts, leaves):
            if isinstance(part, Fixed):
                self._fixed(thing, part, leaf)
            else:
                given.append(self._varying(len(given), thing, part, leaf))
                self.things.append(thing)
        self.values = dict(enumerate(given))
        self.held += self.things

    def _be_others(self, around: Sequence[Surroundings]) -> None:
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

    def _constants(self) -> None:
        """What the list captured, or knows."""
        used = {source for source, _, _ in self.plan.brought}
        used |= {x.source for x in self.plan.results if isinstance(x, Raw)}
        for k, constant in self.replay.constants:
            if -1 - k not in used:
                continue
            spec, thing = self.replay.listing.spec_of(k), self.write.thing(constant)
            if type(constant) is np.ndarray:
                self.values[-1 - k] = self._lying(-1 - k, thing, constant, spec)
            elif isinstance(constant, Tensor):
                self.values[-1 - k] = self._tensor(-1 - k, thing, constant, spec)
            elif isinstance(constant, SETTLED):
                self.values[-1 - k] = EntryValue(0, spec, thing)
            else:
                raise Unsuited

    def _run(self) -> None:
        """Put numbers, and addresses of arrays, where the steps find them, and sweep over these."""
        w, plan, block = self.write, self.plan, self.block
        for thing in self.held:
            w.again(thing)
        for source, thing in self.otherwise.items():  # other threads run while NumPy copies many elements
            copy, elements = w.in_rows(thing)
            self.copies.append(copy)
            self.values[source] = self.values[source]._replace(address=elements)
        if self.busy is not None:
            w.require_or_drop(w.test("eq", w.load(w.known(ctypes.addressof(self.busy))), 0), self._own())
        for region, number in self.whole.items():
            wanted = plan.results[number].spec
            self.made[number], elements = w.new_array(wanted.shape, wanted.dtype)
            w.store(elements, w.known(block.address), WORD * region)
        for source, region, wanted in plan.brought:
            w.store(self._brought(source, wanted), w.known(block.address), WORD * region)
        for source, place, wanted in plan.numbers:
            kind = f"i{8 * wanted.dtype.itemsize}"
            value = w.load(self._brought(source, wanted), 0, kind)
            w.store(value, w.known(block.address + plan.data + place.offset), 0, kind)
        w.store("0", w.known(block.address), WORD * REFUSED)
        self.alive += [block, plan, *self.given.values()]
        _, address = opened("tape.jit.sweeps.sweep_steps").sweep()
        steps = w.known(address_of(plan.steps))
        saved = None if self.busy is None else self._let_others_run()
        done = w.call(address, w.known(block.address), steps, "0", str(plan.count))
        finished = w.say(f"and i1 {w.test('eq', done, plan.count)}, {self._without_errors()}")
        if saved is not None:
            self._go_on_alone(saved, finished)
        w.require_or_drop(finished, self._own())

    def _own(self) -> list[str]:
        """What goes away where a call is refused: what was made for its results, copies, and what is held."""
        return [*self.made.values(), *self.copies, *self.held]

    def _without_errors(self) -> str:
        """Whether no flag of the processor tells of a floating-point error that is heeded."""
        w, flags = self.write, opened("tape.jit.machine.fenv").fenv()
        if flags is None:
            return "true"
        mask = w.load(w.known(ctypes.addressof(self.program.flags)))
        return str(w.test("eq", w.call(flags.addresses[1], mask, gives="i32"), 0, "i32"))

    def _let_others_run(self) -> str:
        """Give back the GIL, while the memory is in use."""
        w = self.write
        assert self.busy is not None
        self.alive.append(self.busy)
        w.store("1", w.known(ctypes.addressof(self.busy)))
        return str(w.python("PyEval_SaveThread"))

    def _go_on_alone(self, saved: str, finished: str) -> None:
        """Take the GIL again; the memory is in use until the results have been read, if there are any."""
        w = self.write
        assert self.busy is not None
        w.perform("PyEval_RestoreThread", saved)
        w.store(w.say(f"zext i1 {finished} to i64"), w.known(ctypes.addressof(self.busy)))

    def _brought(self, source: int, spec: Spec) -> str:
        """Where the numbers of an input or constant are, which must be of this spec as it is."""
        value = self.values.get(source)
        if value is None or value.spec is not spec or value.address == 0:
            raise Unsuited
        return str(value.address)

    def _address(self, found: Any) -> str:
        """Where the numbers of a result are."""
        if isinstance(found, Raw):
            return self._brought(found.source, self.values[found.source].spec)
        array = self.given[found.array]
        return str(self.write.known(address_of(array) + found.start * array.itemsize))

    def _results(self, results: Results) -> str:
        """Make what the function returns: first all numbers and arrays, then what holds them."""
        if results.again:
            raise Unsuited
        w, shown = self.write, results.shown
        own = [x for i, x in enumerate(results.leaves) if isinstance(x, OutputPlace) and i not in shown]
        numbers = sorted({x.number for x in own})
        made = {number: self.made.get(number) or self._result(number) for number in numbers}
        for number, strides in results.layouts:
            spec = self._spec(self.plan.results[number]) if number in made and number not in self.turned else None
            if spec is not None and not contiguous(spec.shape, strides, spec.dtype.itemsize):
                made[number] = w.applied(laying(spec.shape, strides, spec.dtype.itemsize), made[number])
        made = {n: w.applied(wrap, x) if results.kinds[n] == TENSOR else x for n, x in made.items()}
        unused = set(made)
        leaves = []
        for i, x in enumerate(results.leaves):
            if i in shown:
                leaves.append(self._shown(shown[i]))
            elif isinstance(x, OutputPlace):
                leaves.append(made[x.number] if x.number in unused else w.again(made[x.number]))
                unused.discard(x.number)
            elif isinstance(x, SETTLED):
                leaves.append(w.again(w.thing(x)))
            else:
                raise Unsuited
        return self._built(results.structure, iter(leaves))

    def _shown(self, view: SharedResult) -> str:
        """An argument, or an array from around, as a result."""
        source = view.source
        if view.steps or not view.writeable or isinstance(source, OutputPlace):
            raise Unsuited
        return str(self.write.again(self.things[source] if type(source) is int else self.write.thing(source)))

    def _spec(self, found: Any) -> Spec:
        return self.values[found.source].spec if isinstance(found, Raw) else found.spec

    def _result(self, number: int) -> str:
        w, found, kind = self.write, self.plan.results[number], self.program.results.kinds[number]
        if isinstance(found, Raw) and self.values[found.source].thing is not None:
            if kind == WITHOUT_AXES or (kind == PYTHON and found.source < 0):
                raise Unsuited
            return str(w.again(self.values[found.source].thing))
        spec, address = self._spec(found), self._address(found)
        if number in self.turned:
            return str(w.turned(address, spec.shape, spec.dtype))
        if spec.shape or kind == WITHOUT_AXES:
            return str(w.copied(address, spec.shape, spec.dtype, spec.nbytes))
        if spec.dtype == np.bool_ and kind != PYTHON:
            return str(w.new_truth(address))
        if spec.dtype not in REAL or (kind == PYTHON and spec.dtype != FLOAT.dtype):
            raise Unsuited
        return str(w.new_number(address, spec.dtype, float if kind == PYTHON else spec.dtype.type))

    def _built(self, structure: Structure, leaves: Iterator[str]) -> str:
        kind = structure.container
        if kind is None:
            return next(leaves)
        inside = [self._built(part, leaves) for part in structure.inside]
        if kind is dict:
            return str(self.write.new_dict(structure.keys, inside))
        if kind in (tuple, list):
            return str(self.write.new_items(kind, inside))
        return str(self.write.applied(partial(made_of, kind, structure.keys), self.write.new_items(tuple, inside)))


def records_gradients() -> bool:
    """Whether gradients are recorded here."""
    return current().recording


MOST_TURNED = 64
"""Results of more elements are turned by NumPy."""


def is_to_be_turned(spec: Any, strides: tuple[int, ...]) -> bool:
    """Whether a result is small and lies by columns, and so not by rows."""
    if spec is None or not 1 < spec.size <= MOST_TURNED or spec.dtype.itemsize > WORD:
        return False
    shape, size = spec.shape, spec.dtype.itemsize
    return contiguous(shape[::-1], strides[::-1], size) and not contiguous(shape, strides, size)


def whole_results(results: Results, plan: Any, others: set[int]) -> dict[int, int]:
    """By region of an array that is made for each call, the number of the result that is all of it, and is wanted.

    Those that must lie otherwise than the steps write them, `others`, have memory of their own.
    """
    leaves = [x for i, x in enumerate(results.leaves) if i not in results.shown]
    wanted = {x.number for x in leaves if isinstance(x, OutputPlace)} - others
    members: dict[int, list[int]] = {}
    for number, found in enumerate(plan.results):
        if isinstance(found, Result):
            members.setdefault(found.array, []).append(number)
    return {
        plan.given[i][0]: number
        for i, (number, *others) in members.items()
        if not others and number in wanted and plan.results[number].spec.shape == plan.given[i][1].shape != ()
    }


PAYS = 250
"""Calls that take the general way before an entry is made: they cost what making it costs."""


class Shortcut:
    """The entry to a program for one kind of call: made when it pays, and again when the program was compiled again.

    Attributes:
        entry: takes a call's arguments, and gives its result or NotImplemented; None if there is none so far.
    """

    __slots__ = ("_regions", "_until", "entry")

    def __init__(self) -> None:
        self.entry: Entry | None = None
        self._regions: Any = None
        self._until = 0, 0, False

    def look(
        self, program: Any, key: Any, call: tuple[Any, Any], around: Sequence[Surroundings] = (),
        as_they_lie: bool = False,
    ) -> None:  # fmt: skip
        """Make the entry if it is time, after a call that went the general way.

        Args:
            key, call: the call's arguments, and what a program for them is for.
            around: what must be unchanged.
            as_they_lie: whether arguments must lie in memory as these do.
        """
        if program.replays < PAYS:
            return
        busy = sum([some.busy for some in around])
        until = program.replay.until, busy, program.said is not None
        if until != self._until:
            self._until = until
            with making("its entry"):
                self.entry, self._regions = entry_of(program, key, call, around, as_they_lie)

    def missed(self) -> int:
        """The number of the guard for which the entry refused a call just now, −1 if that was for something else."""
        found, self._regions[REFUSED] = self._regions[REFUSED] - 1, 0
        return int(found)
