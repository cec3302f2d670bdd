"""A program as a plan: its memory laid out, and its steps as kernels that find their operands there.

`tape.jit.linked` runs a plan.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..jit.regions import ALIGN, BITS, BLOCK, BROUGHT, DATA, WORK
from ..jit.state import STORE
from ..rooms import opened
from ..spec import Spec
from .frames import WORD, Caller
from .kernels import Compiled
from .listing import is_fixed
from .moving import moves_of, sums_of
from .program import Program
from .replay import KernelStep, NumPyStep, Replay
from .tiers import OPTIMISED
from .trace import Guard


class NotNative(TypeError):
    """A program needs Python, or its arguments or results are none that a jitted function can have."""


class Place(NamedTuple):
    """Memory: in which region (see `tape.jit.linked`), and how many bytes after its beginning."""

    region: int
    offset: int


def _room(name: str) -> Any:
    return opened(f"tape.jit.{name}")


class Plan:
    """The plan of a program, and what must live as long as it.

    Attributes:
        outputs: positions of the results; an array's goes to the region that the caller brings for it.
        numbers: by argument that is a number, where the caller puts it.
        results: where each result is.
        words: how many words a block has; `data` is where its data begins, in bytes.
    """

    def __init__(self, program: Program, outputs: Sequence[int]):
        self.program, self.listing = program, program.listing
        self.linked = _room("linked")
        self.replay = Replay(self.listing, OPTIMISED, threads=1)
        self.arguments = program.input_specs
        self.constants = dict(self.replay.constants)
        self.outputs = outputs
        self.first = BROUGHT + len(self.arguments) + len(outputs)
        self.template: list[int] = []
        self.addresses: list[tuple[int, int, int]] = []
        self.steps: list[tuple[int, int]] = []
        self.pinned: list[np.ndarray] = []
        self.places: dict[int, Place] = {}
        self._free = self._workspace = 0
        self.numbers: dict[int, Place] = {}
        self._inputs = dict(self.replay.inputs)
        self._begin()
        for step in self.replay.steps:
            if isinstance(step, NumPyStep):
                self._alone(step)
            else:
                self._kernel(step)
        self._finish()
        guards = self._guards()
        self._close(guards)

    # Memory.

    def spec(self, k: int) -> Spec:
        """The spec of a record of one result."""
        found = self.listing.spec_of(k)
        assert found is not None
        return found

    def take(self, nbytes: int) -> Place:
        """Some more memory."""
        start = self._free
        self._free += -(-nbytes // 16) * 16
        return Place(DATA, start)

    def pin(self, array: np.ndarray) -> int:
        """The address of an array that nobody changes, which lives as long as the plan."""
        array = np.ascontiguousarray(array)
        self.pinned.append(array)
        return array.ctypes.data

    def _begin(self) -> None:
        """Arrays among the arguments and results lie in regions of their own."""
        for k, number in self._inputs.items():
            if self.spec(k).ndim:
                self.places[k] = Place(BROUGHT + number, 0)
        self.brought: dict[int, Place] = {}
        for i, k in enumerate(self.outputs):
            if self.spec(k).ndim:
                self.brought.setdefault(k, Place(BROUGHT + len(self.arguments) + i, 0))

    def place(self, k: int) -> Place | int:
        """Where a value is: a number among the arguments, in memory that is taken for it when it is first asked for."""
        found = self.places.get(k)
        if found is not None:
            return found
        if k in self.constants:
            return self._constant(k)
        self.places[k] = self.numbers[self._inputs[k]] = self.take(self.spec(k).nbytes)
        return self.places[k]

    def _constant(self, k: int) -> int:
        constant = self.constants[k]
        if not is_fixed(constant):
            raise NotNative(
                f"it reads {described(constant)} from outside of the function, which may change; make it an argument"
                + (", or a copy whose flags.writeable is False" if isinstance(constant, np.ndarray) else "")
            )
        return self.pin(np.asarray(constant, dtype=self.spec(k).dtype))

    def made(self, k: int) -> Place:
        """Memory for a value that a step makes: its region, if it is a result."""
        self.places[k] = self.brought.get(k) or self.take(self.spec(k).nbytes)
        return self.places[k]

    # Words.

    def say(self, words: Iterable[int | Place]) -> int:
        """Some more words of the block; the first of them."""
        begin = self.first + len(self.template)
        for at, word in enumerate(words, begin):
            if isinstance(word, Place):
                self.addresses.append((at, *word))
            self.template.append(0 if isinstance(word, Place) else word)
        return begin

    def call(self, kernel: Any, words: Iterable[int | Place]) -> None:
        """One more step: a kernel, and the words that it reads."""
        self.steps.append((kernel.address, self.say(words)))

    def copy(self, items: Sequence[tuple[int | Place, int | Place, int]]) -> None:
        """A step that copies bytes: to where, from where, how many."""
        if items:
            self.call(self.linked.machine(self.linked.copy), [len(items), *(word for item in items for word in item)])

    # Steps.

    def _kernel(self, step: KernelStep) -> None:
        assert isinstance(step.caller, Caller)
        assert isinstance(step.kernel, Compiled)
        layout, kernel = step.caller.layout, step.kernel
        item = layout.dtype.itemsize
        numbers = self.take(item * len(layout.numbers))
        copies = []
        for i, k in enumerate(layout.numbers):
            here = Place(numbers.region, numbers.offset + i * item)
            if k in self._inputs and k not in self.places:
                self.places[k] = self.numbers[self._inputs[k]] = here
            else:
                copies.append((here, self.place(k), item))
        self.copy(copies)
        head: list[int | Place] = list(kernel.head()[0])
        head[3] = Place(WORK, 0)
        self._workspace = max(self._workspace, kernel.workspace_bytes)
        arrays = [self._array(k, spec) for k, spec in layout.arrays]
        small = self.take(item * layout.small_size)
        for t, start, _, _ in layout.small:
            self.places[step.makes[t]] = Place(small.region, small.offset + start * item)
        table = self.say([*head, numbers, *arrays, small, *(self.made(step.makes[t]) for t, _ in layout.large)])
        self.call(kernel, [0, Place(BLOCK, WORD * table)])

    def _array(self, k: int, wanted: Spec) -> Place | int:
        """Where an array is, broadcast to the shape that a kernel reads."""
        found, here = self.spec(k), self.place(k)
        if found is wanted or found.size == wanted.size:
            return here
        there = self.take(wanted.nbytes)
        source = np.broadcast_to(np.arange(found.size).reshape(found.shape), wanted.shape)
        self._move(wanted.dtype.itemsize, there, here, np.arange(wanted.size), source.ravel())
        return there

    def _move(self, size: int, to: Place, source: Place | int, i: np.ndarray, j: np.ndarray) -> None:
        kernel = self.linked.machine(self.linked.move)
        self.call(kernel, [len(i), size, to, source, self.pin(i.astype(np.int64)), self.pin(j.astype(np.int64))])

    def _alone(self, step: NumPyStep) -> None:
        """A record that has no lanes: it moves numbers, or adds them up, or multiplies matrices; or needs Python."""
        k, op, params = step.row, step.op, step.params
        result = self.listing.spec_of(k)
        specs = [self.spec(x) for x in step.needs if self.listing.spec_of(x) is not None]
        if result is not None and len(specs) == len(step.needs):
            if self._moved(step, specs, result) or self._summed(step, specs, result):
                return
            if op.motion == "matrix" and self._multiplied(step, specs, result):
                return
        title, location = op.title(params), self.listing.location(k)
        raise NotNative(f"{title}, recorded at {location}, is evaluated by NumPy, which needs Python")

    def _moved(self, step: NumPyStep, specs: list[Spec], result: Spec) -> bool:
        moves = moves_of(step.op, step.params, specs, result)
        if moves is None:
            return False
        sources = [self.place(k) for k in step.needs]
        to, size = self.made(step.row), result.dtype.itemsize
        if not moves.complete:
            self.copy([(to, self.pin(np.zeros(result.shape, result.dtype)), result.nbytes)])
        for source, (i, j) in zip(sources, moves.pairs):
            self._move(size, to, source, i, j)
        return True

    def _summed(self, step: NumPyStep, specs: list[Spec], result: Spec) -> bool:
        sums = sums_of(step.op, step.params, specs[0], result) if len(specs) == 1 else None
        if sums is None or result.dtype.itemsize not in (4, 8):
            return False
        kernel = self.linked.sum_f64 if result.dtype.itemsize == 8 else self.linked.sum_f32
        x, z = self.place(step.needs[0]), self.made(step.row)
        places = [self.pin(a.astype(np.int64)) for a in (sums.first, sums.places)]
        self.call(self.linked.machine(kernel), [result.size, z, x, *places, sums.n])
        return True

    def _multiplied(self, step: NumPyStep, specs: list[Spec], result: Spec) -> bool:
        """A product of matrices, stacked over leading axes; a vector is a row on the left and a column on the right."""
        x, y = specs
        if not x.dtype == y.dtype == result.dtype or result.dtype.kind != "f" or result.dtype.itemsize not in (4, 8):
            return False
        left, right = self.place(step.needs[0]), self.place(step.needs[1])
        z, item = self.made(step.row), result.dtype.itemsize
        x_shape = x.shape if x.ndim > 1 else (1, *x.shape)
        y_shape = y.shape if y.ndim > 1 else (*y.shape, 1)
        (rows, inner), columns = x_shape[-2:], y_shape[-1]
        stack = np.broadcast_shapes(x_shape[:-2], y_shape[:-2])
        firsts = [
            np.broadcast_to(np.arange(math.prod(s[:-2])).reshape(s[:-2]), stack).ravel() * math.prod(s[-2:])
            for s in (x_shape, y_shape)
        ]
        kernel = self.linked.products(8 * item)
        for n, (i, j) in enumerate(zip(*map(np.ndarray.tolist, firsts))):
            self.call(kernel, [
                0, rows, moved(z, n * rows * columns * item), STORE,
                moved(left, i * item), inner * item, item, moved(right, j * item), columns * item, item, inner, columns,
            ])  # fmt: skip
        return True

    # Results and guards.

    def _finish(self) -> None:
        """Results that no step put where they belong are copied there."""
        items = []
        self.results: list[Place] = []
        for i, k in enumerate(self.outputs):
            here, spec = self.place(k), self.spec(k)
            if spec.ndim:
                wanted = Place(BROUGHT + len(self.arguments) + i, 0)
            else:
                wanted = self.take(spec.nbytes) if isinstance(here, int) else here
            self.results.append(wanted)
            if here != wanted:
                items.append((wanted, here, spec.nbytes))
        self.copy(items)

    def _guards(self) -> int:
        """What the guards compare; the first word of it."""
        words: list[int | Place] = []
        for guard, k in zip(self.program.guards, self.listing.outputs[self.program.count :].tolist()):
            words += self._guard(guard, k)
        return self.say(words)

    def _guard(self, guard: Guard, k: int) -> list[int | Place]:
        seen, spec = np.asarray(guard.seen), self.spec(k)
        if seen.shape != spec.shape or seen.dtype != spec.dtype:
            raise NotNative(f"{guard.what} at {guard.location} was told {described(seen)}, and the record gives {spec}")
        real = seen.real.dtype.itemsize if seen.dtype.kind in "fc" else 0
        kind = real if real in (4, 8) else BITS
        return [self.place(k), kind, seen.nbytes // (kind or 1), self.pin(seen)]

    def _close(self, guards: int) -> None:
        if (self.first + len(self.template)) % 2:
            self.say([0])  # the data begins at a multiple of 16 bytes
        words = np.array(self.template, dtype=np.int64)
        addresses, steps = (np.array(rows, dtype=np.int64).reshape(-1) for rows in (self.addresses, self.steps))
        plan = [self.first]
        for table, count in ((words, len(words)), (addresses, len(self.addresses)), (steps, len(self.steps))):
            plan += [count, self.pin(table)]
        self.data = WORD * (self.first + len(words))
        self.words = (self.data + self._free + ALIGN + self._workspace) // WORD + 1
        self.address = self.pin(np.array([*plan, len(self.program.guards), guards, self._free], dtype=np.int64))


def moved(place: Place | int, nbytes: int) -> Place | int:
    """The place so many bytes on."""
    return place + nbytes if isinstance(place, int) else Place(place.region, place.offset + nbytes)


def described(constant: Any) -> str:
    """An array or tensor in a message."""
    spec = getattr(constant, "_spec", None)
    if spec is not None:
        return f"a tensor {spec}"
    return f"an array {constant.dtype}{list(constant.shape)}"
