"""One sweep of a list through the jitted code, and the stops where Python takes a record over."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ops.core.bundle import Bundle

from ...history.chain import Chain
from ...history.hooks import hooked_leaves, in_order
from ...history.small_parts import Moved, PartAlone
from ...history.hooks_in_sweeps import pass_by, show_in_vain, surrounded, target_gradient
from ...history.propagate import Silence, contributions, counts_of, moved, released_error
from ...recording.wengert import key, operands, spec_of_operand
from ...base.row import HANDLE, SPEC, WIDTH, X, Y
from ...base.spec import KINDS, TABLE, Spec
from ...base.tensor import Tensor
from ...history.hooks import WATCHERS, Steps, watched_rules, watched_steps
from ...recording.wengert import WengertList, current
from ..emission.kernels import KERNELS
from ..emission.function_of_words import entry
from .last_readers import last_readers
from ..machine.state import (
    ABSENT, ADDRESS, CAPACITY, COUNT, DONE, DROPPED, FREE_SLOT, FRESH, FULL, GO, KERNEL_TABLE, LEADS, LEAF,
    MATRICES, MEMORY, NEXT, OP_COUNT, OP_TABLE, OTHER, PENDING, POSITION, RELEASED, REQUEST, RUNS, SHAPES, SLOTS,
    SOURCE, SPEC_TABLE, STEP_BYTES, STEPS, STOP, STOPS, TARGETED, VISITED,
)  # fmt: skip
from ..machine.workspace import IDLE, Workspace, address_of

begin, lower, reverse_sweep = entry("slots", "begin", 5), entry("lower", "lower", 1), entry("sweep", "reverse_sweep", 2)
adopt, find_leaf, finish = entry("slots", "adopt", 6), entry("slots", "find_leaf", 2), entry("lower", "finish", 1)
NO_FLAGS = np.zeros(0, dtype=np.int64)
FEW = 64  # hooks that are found one by one
Early = Callable[[Tensor, list[Any]], Any]


def sweep(
    wengert: WengertList,
    roots: dict[int, Any],
    leaves: dict[int, Tensor],
    targets: dict[int, Any] | None,
    early: Early | None = None,
) -> tuple[dict[int, Any], list[tuple[int, int]]]:
    """Adjoints of the leaves, the targets and other lists' records, by key; and the runs of rows visited.

    `targets` gives by key what a row would hold for them: a handle or a leaf.  With `early`, a leaf
    that has hooks gets its adjoint there as soon as that is complete.
    """
    positions = {handle: wengert.locate(handle) for handle in roots}
    last = max(positions.values())
    try:
        work = IDLE.pop()
    except IndexError:
        work = Workspace()
    work.reset(last + 1)
    try:
        run = SweepRun(wengert, work, positions, leaves, targets, early)
        for handle, g in roots.items():
            run.start(handle, positions[handle], g)
        run.go()
        return run.results(), work.runs[: work.state[RUNS]].tolist()
    except BaseException:
        work.use_rows(last + 1)
        raise
    finally:
        work.trim()
        IDLE.append(work)


class SweepRun:
    """The state of one sweep that is Python's: arrays it made, leaves by key, what to stop at.

    Attributes:
        contributions: how the rules of a record are run that has no kernel.
        execute: how steps are run where somebody watches, or None.
        silence: while rules run in Python.
        readers: by position, the leaves that no record before it contributes to.
    """

    contributions = staticmethod(contributions)
    execute: Steps | None = None

    def __init__(
        self,
        wengert: WengertList,
        work: Workspace,
        roots: dict[int, int],
        leaves: dict[int, Tensor],
        targets: dict[int, Any] | None,
        early: Early | None,
    ):
        self.wengert, self.work, self.leaves, self.targets = wengert, work, leaves, targets
        self.silence = Silence()
        self.arrays: dict[int, Any] = {}
        self.leaf_slots: dict[int, int] = {}
        self.found: dict[int, Any] = {}
        self.early = early
        self.hooked = 0
        self.readers: dict[int, list[Tensor]] = {}
        self.flags = NO_FLAGS
        self.last = max(roots.values())
        if WATCHERS:
            self.contributions = watched_rules(contributions)
            self.execute = watched_steps(self.execute_plainly, self)
        KERNELS.update()
        self.provide(SPEC_TABLE, TABLE.rows)
        self.provide_kernels()
        begin(work.address, id(wengert.rows), wengert.shift, wengert.number, self.last)
        if targets is not None or wengert.hooks or early:
            self.mark(roots, targets)

    def provide(self, word: int, table: np.ndarray) -> bool:
        """Say where a table is, if it was made anew since the last sweep; whether it was."""
        is_new = self.work.tables.get(word) is not table
        if is_new:
            self.work.tables[word] = table
            self.work.set(word, address_of(table))
        return is_new

    def provide_kernels(self) -> None:
        """Say where the kernels are, which move when ops are declared, in a hook for example."""
        self.provide(KERNEL_TABLE, KERNELS.addresses)
        if self.provide(OP_TABLE, KERNELS.ops):
            self.work.set(OP_COUNT, len(KERNELS.ops))

    def start(self, handle: int, position: int, g: Any) -> None:
        """Give an output its adjoint."""
        if self.targets is None or self.flags[position] & LEADS:
            self.adopt(handle, position, np.array(g, order="C"))
        else:
            show_in_vain(self.wengert, handle, np.array(g)[()])

    def mark(self, roots: dict[int, int], targets: dict[int, Any] | None) -> None:
        """Flag the rows to stop at and, with targets, the rows that lead to one."""
        state, wengert = self.work.state, self.wengert
        self.flags = self.work.fresh_flags(self.last + 1)
        mine = [k for k in targets or () if wengert.owns(k) and self.within(k)]
        for handle in mine:
            self.flags[wengert.locate(handle)] |= STOPS
        self.flag_hooks()
        if targets is None and not self.early:
            return
        state[TARGETED] = targets is not None
        for handle in mine:
            self.flags[wengert.locate(handle)] |= LEADS
        for ref in (targets or {}).values():
            if isinstance(ref, Tensor):
                self.register(ref)
        for position in roots.values():
            self.flags[position] |= VISITED
        state[PENDING] = len(roots)
        entry("mark", "mark", 1)(self.work.address)
        state[PENDING] = 0
        if self.early:
            self.readers = last_readers(self.work, hooked_leaves())
            self.flags[list(self.readers)] |= STOPS

    def flag_hooks(self) -> None:
        """Flag the rows with hooks among those that are still to come."""
        self.hooked = len(self.wengert.hooks)
        if not self.hooked:
            return
        if not self.flags.size:
            self.flags = self.work.fresh_flags(self.last + 1)
        latest = self.wengert.row(int(self.work.state[POSITION]))[HANDLE]
        hooks = list(self.wengert.hooks.items())
        handles = [handle for handle, chain in hooks if handle <= latest and chain.stops()]
        if len(handles) < FEW:
            positions = list(map(self.wengert.locate, handles))
        else:
            rows = np.array(self.wengert.rows[HANDLE : (self.last + 1) * WIDTH : WIDTH])
            positions = np.searchsorted(rows, handles).tolist()
        self.flags[positions] |= STOPS

    def within(self, handle: int) -> bool:
        """Whether a record lies on the part of the list that this sweep can reach."""
        return bool(handle <= self.wengert.row(self.last)[HANDLE])

    def go(self) -> None:
        """Lower and run until nothing is left."""
        address = self.work.address
        try:
            while (status := lower(address)) != DONE:
                if status in (STOP, FULL):
                    self.run_steps()
                self.serve(status)
            self.run_steps()
        finally:
            self.silence.end()

    def serve(self, status: int) -> None:
        """Do what lowering asked for."""
        work = self.work
        if status == STOP:
            self.stop()
        elif status == LEAF:
            self.leaf()
        elif status == ABSENT:
            KERNELS.provide(int(work.state[REQUEST]))
            self.provide_kernels()
        elif status == MEMORY:
            work.add_arena(int(work.state[REQUEST]))
        elif status == CAPACITY:
            work.grow_slots()
        elif status == SHAPES:
            if not entry("broadcast", "cut", 1)(work.address):
                self.run_steps()
                self.stop()
        elif status == MATRICES:
            if (hindrance := entry("small_matrices", "lower_product", 1)(work.address)) != GO:
                self.run_steps()
                self.serve(hindrance)
        elif status == RELEASED:
            raise released_error(self.wengert.row(int(work.state[POSITION])))

    def run_steps(self) -> None:
        """Run the chunk, then drop the arrays whose slots were given back."""
        words, slots = self.work.words, self.work.slots
        count, slot = words[COUNT], words[DROPPED]
        if count:
            if self.execute is None:
                reverse_sweep(words[STEPS], count)
            else:
                self.execute(0, count)
            words[COUNT] = 0
        while slot >= 0:
            following = slots.item(slot, NEXT)
            del self.arrays[slot]
            slots[slot, NEXT], words[FREE_SLOT] = words[FREE_SLOT], slot
            slot = following
        words[DROPPED] = -1

    def execute_plainly(self, first: int, count: int) -> None:
        """Run so many steps from one on."""
        reverse_sweep(int(self.work.state[STEPS]) + first * STEP_BYTES, count)

    def row_of_step(self, step: int) -> list[Any]:
        """The record that a step belongs to."""
        return self.wengert.row(int(self.work.steps[step, SOURCE]) >> 2)

    def leaf(self) -> None:
        """Make the array for the gradient of a leaf that is met for the first time."""
        row = self.wengert.row(int(self.work.state[POSITION]))
        self.register(operands(row[X], row[Y])[self.work.state[REQUEST]])

    def register(self, ref: Any) -> None:
        """A slot, still without content, for an operand that is not a record of this list."""
        spec = spec_of_operand(ref)
        assert spec is not None, "only records of this list have several results"
        self.adopt(ref, -1, np.empty(spec.shape, spec.dtype), fresh=1)

    def adopt(self, ref: Any, position: int, array: Any, fresh: int = 0) -> None:
        """A slot around an array (or a bundle), which is ours from now on."""
        work = self.work
        if work.words[SLOTS] + 1 > len(work.slots):
            work.grow_slots()
        kind = OTHER if isinstance(array, Bundle) else KINDS.get(array.dtype, OTHER)
        if position < 0:
            work.count_leaf()
        slot = adopt(work.address, id(ref), position, id(array), kind, fresh)
        self.arrays[slot] = array
        if position < 0:
            self.leaf_slots[key(ref)] = slot
            if isinstance(ref, Tensor):
                self.leaves[key(ref)] = ref

    def array(self, slot: int, spec: Spec | None) -> Any:
        """What has been summed up in a slot: an array of that spec, or a bundle where there is none."""
        if spec is None or slot in self.arrays:
            return self.arrays[slot]
        return self.work.view(int(self.work.slots[slot, ADDRESS]), spec.shape, spec.dtype)

    def stop(self) -> None:
        """Let Python propagate the record at POSITION: its hooks first, then its rule."""
        work = self.work
        position = work.words[POSITION]
        row = self.wengert.row(position)
        slot = work.row_slots.item(position) - 1
        chain = self.wengert.hooks.get(row[HANDLE]) if self.wengert.hooks else None
        if self.flags.size and self.flags[position] & STOPS:
            self.silence.end()
            self.call_hooks(chain, row, slot)
            if len(self.wengert.hooks) != self.hooked:
                self.flag_hooks()
            self.flags[position] &= ~STOPS
            if self.targets is not None and not self.positions(row):
                if chain and chain.surrounds() and current().task.passing:
                    g = self.array(slot, row[SPEC]).copy()
                    pass_by(chain, counts_of(row), row, g if row[SPEC] is None else g[()], False)
                entry("lower", "abandon", 1)(work.address)
                self.run_steps()
                return
            if position not in self.readers and not (chain and chain.surrounds()):
                return
        g = self.array(slot, row[SPEC])
        rule = self.contributions
        if chain and chain.surrounds():
            rule = partial(surrounded, chain, counts_of(row), rule)
        given: set[int] = set()
        self.silence.keep()
        positions = self.positions(row)
        parts = moved(row, g, positions, slot in self.arrays and chain is None) if rule is contributions else None
        for _, ref, bar in rule(row, g if row[SPEC] is None else g[()], positions, False) if parts is None else parts:
            self.deposit(ref, bar, given)
        finish(work.address)
        self.run_steps()
        for leaf in in_order(self.readers.pop(position, []), row):
            self.deliver(leaf)

    def deliver(self, leaf: Tensor) -> None:
        """Hand over the adjoint of a leaf that nothing is added to any more."""
        slot = self.leaf_slots.get(key(leaf))
        if slot is not None and not self.work.slots[slot, FRESH]:
            del self.leaf_slots[key(leaf)]
            self.silence.end()
            assert self.early is not None, "leaves are looked for only then"
            self.early(leaf, [plain(self.arrays.pop(slot))])

    def call_hooks(self, chain: Chain | None, row: list[Any], slot: int) -> None:
        """Pass the adjoint of a record through its tensor's hooks, and keep it if it is a target."""
        targeted = self.targets is not None and row[HANDLE] in self.targets
        if not (chain or targeted):
            return
        held = self.array(slot, row[SPEC])
        arrived = g = held.copy() if isinstance(held, Bundle) else held.copy()[()]
        if chain:
            g = chain.receive(g)
            if isinstance(held, Bundle):
                self.arrays[slot] = g
            else:
                held[...] = g  # also where a hook has changed the tensor it was given
        if targeted:
            self.found[row[HANDLE]] = target_gradient(arrived, g, bool(self.positions(row)))

    def positions(self, row: list[Any]) -> tuple[int, ...]:
        """Which operands of a record get an adjoint."""
        refs = operands(row[X], row[Y])
        if self.targets is None:
            return tuple([i for i, ref in enumerate(refs) if ref is not None])
        return tuple([i for i, ref in enumerate(refs) if self.wanted(ref)])

    def wanted(self, ref: Any) -> bool:
        """Whether an operand leads to a target."""
        assert self.targets is not None, "without targets all operands are wanted"
        if ref is None:
            return False
        if self.wengert.owns(ref):
            return self.flags.item(self.wengert.locate(ref)) & LEADS != 0
        return type(ref) is int or key(ref) in self.targets

    def deposit(self, ref: Any, bar: Any, given: set[int]) -> None:
        """Add to the adjoint of an operand what a rule contributed."""
        work = self.work
        if isinstance(bar, Bundle):
            bar = bar.copy()  # its parts may lie in memory that the sweep is about to use again
        position = self.wengert.locate(ref) if self.wengert.owns(ref) else -1
        slot = work.row_slots.item(position) - 1 if position >= 0 else find_leaf(work.address, id(ref))
        if type(bar) is PartAlone:
            self.add_part(slot, ref, position, bar)
        elif type(bar) is Moved:
            self.move(slot, ref, position, bar.bar)
        elif slot < 0:
            self.adopt(ref, position, bar if isinstance(bar, Bundle) else own(bar, given))
        elif isinstance(bar, Bundle):
            self.arrays[slot] = self.arrays[slot] + bar
        else:
            self.add(slot, ref, bar)

    def add(self, slot: int, ref: Any, bar: Any) -> None:
        """Add into a slot that exists."""
        total = self.array(slot, spec_of_operand(ref))
        if self.work.slots[slot, FRESH]:
            self.work.slots[slot, FRESH] = 0
            total[...] = bar
        else:
            total += bar

    def add_part(self, slot: int, ref: Any, position: int, part: PartAlone) -> None:
        """Add to a part of an adjoint, which begins as zeros."""
        spec = spec_of_operand(ref)
        if slot < 0:
            assert spec is not None, "an array is read"
            total = np.zeros(spec.shape, spec.dtype)
            self.adopt(ref, position, total)
            part.put_into(total)
            return
        total = self.array(slot, spec)
        if self.work.slots[slot, FRESH]:
            self.work.slots[slot, FRESH] = 0
            total[...] = 0.0
            part.put_into(total)
        else:
            part.add_to(total)

    def move(self, slot: int, ref: Any, position: int, bar: np.ndarray) -> None:
        """Let an array that nobody else holds be an adjoint, or a part of the sum that it is."""
        if slot < 0:
            self.adopt(ref, position, bar)
        else:
            self.add(slot, ref, bar)

    def results(self) -> dict[int, Any]:
        """The adjoints that were asked for, by key."""
        slots = self.work.slots
        reached = {k: plain(self.arrays[slot]) for k, slot in self.leaf_slots.items() if not slots[slot, FRESH]}
        return self.found | reached


def plain(array: np.ndarray) -> Any:
    """An array as a tensor holds it: a NumPy scalar where it has no axes."""
    return array if array.ndim else array[()]


def own(bar: Any, given: set[int]) -> np.ndarray:
    """An array that nobody else refers to, in C order: the rule's own result where it is one."""
    array = bar
    if type(bar) is not np.ndarray or bar.base is not None or id(bar) in given or not _is_plain(bar.flags):
        array = np.array(bar, order="C")
    given.add(id(array))
    return array


def _is_plain(flags: Any) -> bool:
    return bool(flags.c_contiguous and flags.writeable)
