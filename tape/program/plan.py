"""A program as a plan: its memory laid out beforehand, and its steps as kernels that find their operands there.

`tape.program.sweeping` runs plans; `tape.program.moving` and `tape.program.algebra` say which records are steps.
What has no step is a stop: Python runs the record by NumPy, into memory of its own, and the sweep goes on.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..jit.regions import ALIGN, BLOCK, BROUGHT, REFUSED, WORK
from ..rooms import opened
from ..spec import Spec
from ..tensor import Tensor
from . import algebra, moving, reducing
from .frames import WORD
from .indexmaps import axes_of
from .kernels import Compiled, Interpreted
from .listing import is_fixed
from .places import Chunk, Memory, Place, Value, moved, place_in, row_major
from .replay import KernelStep, NumPyStep, OneByOne, Replay

SMALL = 1 << 10
"""Results of at most so many bytes are put together in one array."""
CHECKED = os.environ.get("TAPE_CANARIES") == "1"
"""Whether each piece of memory is followed by bytes that are looked at after every replay."""


class Result(NamedTuple):
    """Where a result is for the caller: in which of the arrays that are brought, from where, how many, which shape."""

    array: int
    start: int
    spec: Spec


class Raw(NamedTuple):
    """A value as it came: an input by its number, a constant by −1 minus its record."""

    source: int


class Stop(NamedTuple):
    """A step that Python does.

    Attributes:
        run: what does it: gets the values of the operands by record, gives those of the results.
        operands: by record, where its value is; None for one that is no array.
        makes: the records that it gives.
        wanted: the specs of what it gives, and the regions of that; None and −1 for what is no array.
        following: the step that comes after it.
        into: for a step that refuses its operands, where its one result belongs.
    """

    run: Any
    operands: dict[int, Value | Raw | None]
    makes: list[int]
    wanted: list[tuple[Spec | None, int]]
    following: int
    into: Value | None = None


class Plan:
    """The plan of a replay, and what must live as long as it.

    Attributes:
        words: the words of a block, and `own` those of them that are addresses in the block itself.
        steps: two words for each step: its kernel, 0 for a stop, and where its own words begin in the block.
        stops: by step, what Python does there: it has no kernel, or its kernel refuses its operands.
        brought: the inputs and captured constants that lie in regions, as (source, region, spec).
        numbers: the inputs that are plain numbers, as (source, place, spec).
        given: arrays that are made for each call: what the caller gets.
    """

    def __init__(self, replay: Replay, checked: bool = CHECKED):
        self.replay, self.listing = replay, replay.listing
        self.memory = Memory(checked)
        self.values: dict[int, Value] = {}
        self.pinned: list[Any] = []
        self._pins: dict[int, int] = {}
        self.initial: list[tuple[int, np.ndarray]] = []
        self.stops: dict[int, Stop] = {}
        self.stopped: set[int] = set()
        self.found: dict[Any, Any] = {}
        self.brought: list[tuple[int, int, Spec]] = []
        self.numbers: list[tuple[int, Place, Spec]] = []
        self.given: list[tuple[int, Spec]] = []
        self.workspace = 0
        self._kernels: list[int] = []
        self._offsets: list[int] = []
        self._template: list[int] = []
        self._references: list[tuple[int, int, int]] = []
        self._links: list[tuple[int, int]] = []
        self._regions = BROUGHT
        self._flat: dict[int, Value] = {}
        self._inputs = dict(replay.inputs)
        self._constants = dict(replay.constants)
        self._begin()
        for step in replay.steps:
            if isinstance(step, NumPyStep):
                self._alone(step)
            else:
                self._group(step)
            for k in step.drops:
                self._drop(k)
        self.results = self._finish()
        self._close()

    # Values.

    def spec(self, k: int) -> Spec:
        """The spec of a record of one result."""
        found = self.listing.spec_of(k)
        assert found is not None
        return found

    def constant(self, source: int) -> Any:
        """A constant by −1 minus its record."""
        return self._constants[-1 - source]

    def region(self) -> int:
        """One more region, which is linked from the next step on."""
        self._regions += 1
        self._links.append((self._step(0, 0), self._regions - 1))
        return self._regions - 1

    def chunk(self, nbytes: int) -> Chunk:
        """Some memory, for one value."""
        found = self.memory.take(nbytes)
        found.users = 1
        return found

    def pin(self, array: np.ndarray) -> int:
        """The address of an array that nobody changes, which lives as long as the plan."""
        found = self._pins.get(id(array))
        if found is None:
            flat = np.ascontiguousarray(array)
            self.pinned += [array, flat]
            found = self._pins[id(array)] = flat.ctypes.data
        return found

    def pinned_at(self, address: int) -> tuple[np.ndarray, int]:
        """The bytes of the pinned array in which an address is, and how far it is from their beginning."""
        for array in self.pinned:
            if type(array) is np.ndarray and array.flags.c_contiguous:
                begin = array.ctypes.data
                if begin <= address < begin + max(array.nbytes, 1):
                    return array.reshape(-1).view(np.uint8), address - begin
        raise LookupError("no pinned array is there")

    def _begin(self) -> None:
        """Regions for arrays among the inputs and captured constants, and for what the caller gets."""
        used = {k for step in self.replay.steps for k in step.needs} | set(self.replay.outputs)
        for k, number in self._inputs.items():
            spec = self.spec(k)
            if k not in used:
                continue
            if spec.ndim or spec.dtype not in (np.float64, np.float32):
                self._bring(k, number)
            else:
                place = place_in(self.chunk(spec.nbytes))
                self.numbers.append((number, place, spec))
                self.values[k] = Value(place, (), spec)
        for k, constant in self._constants.items():
            if k in used and is_memory(constant):
                self._bring(k, -1 - k)
        self._targets: dict[int, Value] = {}
        kernels = {k for step in self.replay.steps if isinstance(step, KernelStep) for k in step.makes}
        for k in dict.fromkeys(self.replay.outputs):
            if k in kernels and self.spec(k).nbytes > SMALL:
                self._give(k)

    def _bring(self, k: int, source: int) -> None:
        spec, region = self.spec(k), self.region()
        self.brought.append((source, region, spec))
        self.values[k] = whole(Place(region, 0), spec)

    def _give(self, k: int) -> Value:
        spec, region = self.spec(k), self.region()
        self.given.append((region, spec))
        self._targets[k] = whole(Place(region, 0), spec)
        return self._targets[k]

    def value(self, k: int) -> Value:
        """Where a record's value is."""
        found = self.values.get(k)
        if found is None:
            spec = self.spec(k)
            address = self.pin(np.asarray(self._constants[k], dtype=spec.dtype))
            found = self.values[k] = whole(address, spec)
        return found

    def flat(self, k: int) -> Value:
        """Where a record's value is in row-major order: copied if it lies otherwise."""
        found = self.value(k)
        if found.contiguous:
            return found
        made = self._flat.get(k)
        if made is None:
            made = self._flat[k] = self._copied(found, found.spec)
        return made

    def _copied(self, value: Value, wanted: Spec) -> Value:
        """A copy in row-major order, broadcast to a spec."""
        chunk = self.chunk(wanted.nbytes)
        made = whole(place_in(chunk), wanted)._replace(chunk=chunk)
        strides = np.lib.stride_tricks.as_strided
        if value.spec.shape != wanted.shape:
            axes = np.broadcast_to(strides(np.empty(1, np.int8), value.spec.shape, value.strides), wanted.shape)
            value = value._replace(strides=axes.strides)
        self.place(made, value)
        return made

    def make(self, k: int, view: Value | None = None) -> Value:
        """Memory for a value that a step makes, or where the view is that it is."""
        if view is not None:
            if view.chunk is not None:
                view.chunk.users += 1
            made = view
        elif k in self._targets:
            made = self._targets[k]
        else:
            spec = self.spec(k)
            chunk = self.chunk(spec.nbytes)
            made = whole(place_in(chunk), spec)._replace(chunk=chunk)
        self.values[k] = made
        return made

    def _drop(self, k: int) -> None:
        """Nobody needs a value any more."""
        for values in (self.values, self._flat):
            found = values.get(k)
            if found is not None and found.chunk is not None:
                self.memory.give(found.chunk)
                del values[k]

    # Words and steps.

    def say(self, words: Iterable[int | Place]) -> int:
        """Some more words of the block; the first of them, counted from the first of all."""
        template, references = self._template, self._references
        begin = len(template)
        for word in words:
            if type(word) is Place:
                references.append((len(template), *word))
                template.append(0)
            else:
                template.append(word)  # type: ignore[arg-type]
        return begin

    @staticmethod
    def jit(module: str, function: str) -> tuple[Any, int]:
        """A kernel of `tape.jit`."""
        found: tuple[Any, int] = opened("tape.jit.portable").portable(module, function)
        return found

    def _step(self, kernel: int, words: int) -> int:
        self._kernels.append(kernel)
        self._offsets.append(words)
        return len(self._kernels) - 1

    def call(self, kernel: tuple[Any, int], words: Iterable[int | Place]) -> int:
        """One more step: a kernel, and the words that it reads; which step it is."""
        return self._step(kernel[1], self.say(words))

    def place(self, z: Value, x: Value) -> None:
        """A step that copies numbers to where others of their shape are."""
        if not z.spec.size or (z.place == x.place and z.strides == x.strides):
            return
        item = z.spec.dtype.itemsize
        self.strided("place", item, z.place, x.place, axes_of(z.spec.shape, z.strides, x.strides))

    def strided(
        self, kernel: str, item: int, z: Place | int, x: Place | int, axes: Sequence[Any], room: str = "strided"
    ) -> None:
        """A step of `tape.jit.strided`, or of another room there whose steps have the same words."""
        rows = 1
        for axis in axes[1:]:
            rows *= axis.n
        words = [item, len(axes), z, x, rows, *(w for axis in axes for w in axis), *(0,) * len(axes)]
        self.call(self.jit(room, kernel), words)

    def copy(self, z: Place | int, x: Place | int, nbytes: int) -> None:
        """A step that copies bytes."""
        self.call(self.jit("linked", "copy"), [1, z, x, nbytes])

    def fill(self, z: Value, pattern: int = 0) -> None:
        """A step that fills memory."""
        self.call(self.jit("strided", "fill"), [z.spec.nbytes, z.place, pattern])

    # Records.

    def _alone(self, step: NumPyStep) -> None:
        """A record that is no part of a kernel."""
        plain = step.result is not None and not step.unknown
        if not plain or not any(room.step(self, step) for room in (moving, algebra, reducing)):
            self.stop(step.evaluate, step.needs, step.makes)

    def stop(self, run: Any, needs: list[int], makes: list[int]) -> None:
        """Python runs something, and brings the results."""
        at, wanted = self._step(0, 0), []
        operands = {k: self._operand(k) for k in needs}
        for k in makes:
            spec = self.listing.spec_of(k)
            wanted.append((spec, -1 if spec is None else self.region()))
            if spec is not None:
                self.values[k] = whole(Place(wanted[-1][1], 0), spec)
        self.stopped.update(makes)
        self.stops[at] = Stop(run, operands, makes, wanted, at + 1)

    def _operand(self, k: int) -> Value | Raw | None:
        """Where a stop finds a value."""
        if k in self._inputs:
            return Raw(self._inputs[k])
        if k in self._constants:
            return Raw(-1 - k)
        return None if self.listing.spec_of(k) is None else self.value(k)

    def refusal(self, at: int, record: Any) -> None:
        """Where a step refuses the operands of a record that is done now, Python does it, or raises NumPy's error."""
        operands = {k: self._operand(k) for k in record.needs}
        self.stops[at] = Stop(record.evaluate, operands, [], [], len(self._kernels), self.values[record.row])

    def scratch(self, nbytes: int, spec: Any = None) -> Value:
        """Memory for the steps of one record, to be given back after them."""
        chunk = self.chunk(nbytes)
        return Value(place_in(chunk), (), spec, chunk)

    def _group(self, step: KernelStep) -> None:
        if step.kernel is None:
            self.stop(OneByOne(step.layout), step.needs, step.makes)
            return
        layout, kernel = step.layout, step.kernel
        item = layout.dtype.itemsize
        self.pinned.append(kernel)
        scratch: list[Chunk] = []
        numbers: Place | int = 0
        if layout.numbers:
            scratch.append(self.chunk(item * len(layout.numbers)))
            numbers = place_in(scratch[0])
            words: list[int | Place] = [len(layout.numbers)]
            for i, k in enumerate(layout.numbers):
                words += [moved(numbers, i * item), self.value(k).place, item]
            self.call(self.jit("linked", "copy"), words)
        arrays = []
        for k, wanted in layout.arrays:
            found = self.flat(k) if self.spec(k).size == wanted.size else None
            if found is None:
                found = self._copied(self.value(k), wanted)
                assert found.chunk is not None
                scratch.append(found.chunk)
            arrays.append(found.place)
        small: Place | int = 0
        if layout.small:
            chunk = self.memory.take(item * layout.small_size)
            small = place_in(chunk)
            for t, start, _, _ in layout.small:
                chunk.users += 1
                k = step.makes[t]
                self.values[k] = whole(moved(small, start * item), self.spec(k))._replace(chunk=chunk)
        large = [self.make(step.makes[t]).place for t, _ in layout.large]
        table = self.say([*self._head(kernel), numbers, *arrays, small, *large])
        at = self.call((None, kernel.address), [0, self.word(table)])
        if step.shares is not None:
            self._kernels[at] = 0
            self.stops[at] = Stop(SharedKernel(step, table, small), {}, [], [], at + 1)
        for chunk in scratch:
            self.memory.give(chunk)

    def word(self, k: int) -> Place:
        """The address of a word."""
        return Place(BLOCK, WORD * k)

    def _head(self, kernel: Compiled | Interpreted) -> list[int | Place]:
        """The first words of a kernel's table."""
        if isinstance(kernel, Interpreted):
            values = self.memory.own(kernel.values.nbytes)
            self.initial.append((values.offset, kernel.values))
            return [kernel.code.ctypes.data, place_in(values)]
        self.workspace = max(self.workspace, kernel.workspace_bytes)
        head: list[int | Place] = list(kernel.head()[0])
        head[3] = Place(WORK, 0)
        return head

    # Results.

    def _finish(self) -> list[Result | Raw | int]:
        """Results go where the caller finds them; those that stops make are in regions of their own (their number)."""
        results: list[Result | Raw | int] = []
        small: dict[Any, list[tuple[int, int]]] = {}
        sizes: dict[Any, int] = {}
        for k in self.replay.outputs:
            spec = self.spec(k)
            if k in self.stopped:
                results.append(self.values[k].place.region)  # type: ignore[union-attr]
            elif k in self._inputs:
                results.append(Raw(self._inputs[k]))
            elif k in self._constants:
                results.append(Raw(-1 - k))
            elif spec.nbytes > SMALL:
                if k not in self._targets:
                    self._give(k)
                target = self._targets[k]
                self.place(target, self.value(k))
                region = target.place.region  # type: ignore[union-attr]
                results.append(Result([r for r, _ in self.given].index(region), 0, spec))
            else:
                start = sizes.get(spec.dtype, 0)
                sizes[spec.dtype] = start + spec.size
                small.setdefault(spec.dtype, []).append((k, start))
                results.append(Result(-1, start, spec))
        for dtype, members in small.items():
            self._together(dtype, members, sizes[dtype], results)
        return results

    def _together(self, dtype: np.dtype[Any], members: list[tuple[int, int]], size: int, results: list[Any]) -> None:
        """Small results of one dtype lie in one array."""
        spec = opened("tape.spec").spec((size,), dtype)
        region, number = self.region(), len(self.given)
        self.given.append((region, spec))
        words: list[int | Place] = []
        for k, start in members:
            source = self.flat(k)
            words += [Place(region, start * dtype.itemsize), source.place, source.spec.nbytes]
        self.call(self.jit("linked", "copy"), [len(members), *words])
        for i, found in enumerate(results):
            if isinstance(found, Result) and found.array < 0 and found.spec.dtype == dtype:
                results[i] = found._replace(array=number)

    def _close(self) -> None:
        """Fix what is known now: where the words begin, and which of them refer to each region."""
        first, by_region = self._regions, dict[int, list[int]]()
        flag = BLOCK, WORD * (REFUSED - first)
        self._references = [(at, *(flag if r == REFUSED else (r, offset))) for at, r, offset in self._references]
        for at, region, offset in self._references:
            if region >= BROUGHT:
                by_region.setdefault(region, []).extend((first + at, offset))
        link = self.jit("linked", "link")[1]
        for step, region in self._links:
            self._kernels[step] = link
            pairs = by_region.get(region, [])
            self._offsets[step] = self.say([len(pairs) // 2, Place(BLOCK, -WORD * first), region, *pairs])
        if (first + len(self._template)) % 2:
            self.say([0])  # the data begins at a multiple of 16 bytes
        self.first, self.words = first, np.array(self._template, dtype=np.int64)
        own = [(at, region, offset) for at, region, offset in self._references if region < BROUGHT]
        self.own = np.array(own, dtype=np.int64).reshape(-1, 3)
        self.own[self.own[:, 1] == BLOCK, 2] += WORD * first
        steps = np.array([self._kernels, self._offsets], dtype=np.int64)
        steps[1] = WORD * (first + steps[1])
        self.steps = np.ascontiguousarray(steps.T)
        self.count = len(self._kernels)
        self.halts = {k for k, kernel in enumerate(self._kernels) if not kernel}
        self.data = WORD * (first + len(self.words))
        self.nbytes = self.data + self.memory.nbytes + ALIGN + self.workspace
        del self._references, self._template, self._kernels, self._offsets, self._flat


class SharedKernel(NamedTuple):
    """A kernel that several threads go through: a stop, whose table is in the block."""

    step: KernelStep
    table: int
    small: Place | int


def whole(place: Place | int, spec: Spec) -> Value:
    """A value in row-major order."""
    return Value(place, row_major(spec.shape, spec.dtype.itemsize), spec)


def is_memory(constant: Any) -> bool:
    """Whether a constant is somebody's memory, which may change."""
    return isinstance(constant, Tensor) or (isinstance(constant, np.ndarray) and not is_fixed(constant))
