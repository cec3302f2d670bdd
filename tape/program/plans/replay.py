"""Running a program: its steps one after another, on new inputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any

import numpy as np

from ...base.jit_door import PLANS, plans_wait
from ...base.locks import kept, new_lock
from ...base.rooms import opened
from ...base.spec import spec, spec_of
from ...base.tensor import Tensor
from ...base.untraced import paused
from ...jit.emission.task import OF_COLUMNS
from ...jit.emission.tiers import ELEMENT, FEW, INTERPRET, QUICK, first_tier, next_tier
from ..recorded.guards import Guard, GuardMissed
from ..recorded.listing import Listing
from ..recorded.stretches import RECORDS
from ..recorded.trace import CONSTANT, INPUT
from .cutting.array_columns import by_columns, long_axes
from .cutting.tiles import TileLoop, Tiles, tiles_of
from .excerpts import Rounds, alone
from .group_parts import KERNELS, is_long, parts, steps_before
from .groups import Group, renumbered, steps_of
from .guarding import GuardTable
from .in_python import InPython, NumPyStep, OneByOne, live, numpy_steps
from .operand_layout import AlikeGroups, Layout, twin
from .prepared import interpretable, kernel_for
from .recomputing import LEAST_BYTES, recomputed
from .round_step import NEVER, RoundsStep, TilesStep
from .rounds import pieces, rounds_of
from .shifted import Shifts
from .threads import ALONE, Shares, shares

PER_RECORD = 2e-6
"""Seconds that a record takes in Python."""
RECORDED = 5e-5
"""Seconds that it took to record it, with all that was made of that."""


class Replay:
    """A listing made ready to run: steps, and a plan made of them when it is first run.

    It changes only when something is compiled again, and then as a whole; so several threads may call it at once.

    Attributes:
        recorded: the listing as it was given; `listing` may have records for columns (see `array_columns`).
        steps: what is done, in order.
        saved: seconds that a plan saves in each replay, or more.
        until: the number of the replay before which something is compiled again.
        most: the most bytes that a replay may take for its own arrays, None for as many as there are.
        guards: what is verified on the way.
        outputs: the records whose values are given: results, and those of guards that Python compares.
        watched: the records that are computed for their errors alone.
    """

    def __init__(
        self, listing: Listing, tier: str | None = None, threads: int | None = None, most: int | None = None,
        guards: list[Guard] | None = None, by_rounds: bool = True,
    ):  # fmt: skip
        self.recorded = listing
        rounds = rounds_of(listing) if by_rounds and len(listing) >= RECORDS else []
        tiles: Tiles | None = None
        if by_rounds and not rounds and tier != INTERPRET and any(s.ndim > 1 for s in listing.specs):
            listing = by_columns(listing)
            if listing is self.recorded and long_axes(listing):
                listing, tiles = tiles_of(listing) or (listing, None)
        large = any(s.nbytes >= LEAST_BYTES for s in listing.specs)
        if large and not rounds and tiles is None and tier != INTERPRET:
            listing = recomputed(listing)
        self.listing, self.tier, self.threads, self.most = listing, tier, threads, most
        self.inputs = [(int(k), int(listing.param[k])) for k in np.flatnonzero(listing.code == INPUT)]
        self.integers = [i for k, i in self.inputs if listing.spec_of(k) in INTEGERS]
        self.constants = [(int(k), listing.constant(int(k))) for k in np.flatnonzero(listing.code == CONSTANT)]
        outputs = listing.outputs.tolist()
        self.count = listing.results
        known = list(listing.guards) if guards is None else guards
        self.guards = GuardTable(known, outputs[self.count : self.count + len(known)], listing.spec_of)
        self.outputs = [*outputs[: self.count], *(row for _, row in self.guards.others)]
        self.watched = outputs[len(outputs) - listing.watched :]
        self.captured = [(c, listing.spec_of(k)) for k, c in self.constants if isinstance(c, (Tensor, np.ndarray))]
        self._lock = new_lock()
        self._sweeper: Any = None
        self._of_arrays: InPython | None = None
        parts = pieces(listing, rounds) if rounds else [np.arange(len(listing))]
        self._make_steps(parts if tiles is None else (tiles.before, *tiles.loops, tiles.after))

    def _make_steps(self, parts: Iterable[np.ndarray | Rounds | TileLoop]) -> None:
        """Make the steps: loops by rounds or tiles, and what is between them."""
        listing = self.listing
        self.shifts = shifts = Shifts(listing)
        alike = AlikeGroups()
        first = 0 if self.tier is None else None
        self.steps: list[KernelStep | NumPyStep | RoundsStep] = []
        for piece in parts:
            if not isinstance(piece, np.ndarray):
                body = Replay(piece.body, self.tier, threads=ALONE, by_rounds=False)
                if isinstance(piece, Rounds):
                    self.steps.append(RoundsStep(listing, piece, body, self.guards))
                else:
                    self.steps.append(TilesStep(listing, piece, body, self.threads))
                continue
            steps = _steps_among(listing, piece)
            single = numpy_steps(listing, [s.row for s in steps if not isinstance(s, Group)])
            for s in steps:
                if not isinstance(s, Group):
                    self.steps.append(next(single))
                    continue
                for group in self._parts(s, alike):
                    self.steps.append(kernel_step(listing, group, self.tier, self.threads, first, shifts, alike))
        self.saved = PER_RECORD * len(listing) + ELEMENT * sum([int(step.elements) for step in self.steps])
        live(self.steps, self.outputs)
        self._look()

    def _parts(self, group: Group, alike: AlikeGroups) -> Iterable[Group]:
        """A group, or the parts that it is cut into: its kernel would be one of too many."""
        if self.tier is not None or not is_long(group):
            return (group,)
        if alike.has(None, self.listing, group, self.shifts):
            return (group,)
        compiled = (step for step in alike.steps if step.kernel is not None and step.group.size > 1)
        return parts(group, self._steps_before) if len(list(islice(compiled, KERNELS))) == KERNELS else (group,)

    @kept
    def _steps_before(self) -> np.ndarray:
        return steps_before(self.listing)

    def straighten(self) -> None:
        """Make the steps again, without loops by rounds or tiles: one of them is not for these."""
        self._make_steps([np.arange(len(self.listing))])

    def _look(self) -> None:
        """Find out when to look for a better tier."""
        self.until = min((s.upgrade_at for s in self.steps), default=NEVER)

    def _upgrade(self, replays: int) -> None:
        """Compile what has run often enough."""
        if not self._lock.acquire(blocking=False):
            return  # another thread is at it
        try:
            alike = AlikeGroups()
            with making("a better kernel"):
                for k, step in enumerate(self.steps):
                    if step.upgrade_at <= replays:
                        self.steps[k] = step.upgraded(replays, alike)
            self._sweeper = None
            self._look()
        finally:
            self._lock.release()

    @property
    def sweeper(self) -> Any:
        """What runs the steps as they are now."""
        found = self._sweeper
        if found is None:
            with self._lock, paused(), making("its plan"):
                found = self._sweeper = self._sweeper or opened("tape.program.plans.sweeping").Sweeper(self)
        if self.most is not None and found.plan.taken > self.most:
            raise OverBudget(found.plan.taken, self.most)
        return found

    def __call__(self, inputs: Sequence[Any], replays: int = 0, expecting: bool = False) -> list[Any]:
        """The values of the results, arrays or NumPy scalars, for arrays in the place of the inputs.

        `replays` says how often they were asked for, now included.  With `expecting`, what guards were told is
        replaced by what differs from it by rounding.

        Raises:
            GuardMissed: if one does not hold.
        """
        if replays >= self.until:
            self._upgrade(replays)
        if self.captured:
            self.check_captured()
        if self.integers:  # as numbers, of which NumPy tells where they overflow
            inputs = [x[()] if i in self.integers else x for i, x in enumerate(inputs)]
        waits = self._sweeper is None and self.most is None and plans_wait(self.saved, RECORDED * len(self.recorded))
        run: Any = self.in_python if waits else self.sweeper
        try:
            results = list(run(inputs, expecting))
        except GuardMissed:
            raise
        except Exception:  # steps run as soon as they can: a guard on a record before that one comes first
            if not self.guards.guards:
                raise
            results = self._in_order(inputs, expecting)
        if not waits and not PLANS.settled:
            PLANS.settle()
        for (i, _), value in zip(self.guards.others, results[self.count :]):
            self.guards.verify(i, value, expecting)
        return results[: self.count]

    def in_python(self, inputs: Sequence[Any], expecting: bool = False) -> list[Any]:
        """The same, by NumPy alone: of whole arrays, where a plan has records for columns."""
        if self.listing is self.recorded:
            return InPython(self.listing, self.steps, self.outputs, self.guards)(inputs, expecting)
        return self._in_order(inputs, expecting)

    def _in_order(self, inputs: Sequence[Any], expecting: bool) -> list[Any]:
        """The same, record after record as they were given."""
        if self._of_arrays is None:
            self._of_arrays = self._by_arrays()
        return self._of_arrays(inputs, expecting)

    def _by_arrays(self) -> InPython:
        """The records as they were given, each by itself."""
        listing, rows = self.recorded, self.recorded.outputs.tolist()
        outputs = [*rows[: self.count], *(rows[self.count + i] for i, _ in self.guards.others)]
        steps = list(numpy_steps(listing, np.flatnonzero(listing.code >= 0).tolist()))
        live(steps, outputs)
        return InPython(listing, steps, outputs, self.guards)

    def check_captured(self) -> None:
        """Raise unless the captured tensors and arrays have the shapes and dtypes that they were recorded with.

        Raises:
            Refitted: naming the first that has not.
        """
        for thing, known in self.captured:
            now = thing._spec if isinstance(thing, Tensor) else spec_of(thing)
            if now is not known:
                raise Refitted(f"a captured tensor or array was {known} when it was recorded, and is {now} now")


INTEGERS = {spec((), np.dtype(kind)) for kind in np.typecodes["AllInteger"]}
"""What whole numbers of NumPy's are."""


class OverBudget(MemoryError):
    """A replay would take more memory than a program may."""

    def __init__(self, nbytes: int, most: int):
        super().__init__(
            f"a replay takes {nbytes:,} bytes for its own arrays, and most_memory= allows {most:,}; allow more, or "
            "compute a part at a time and take the parts' gradients one after another"
        )


class NotMade(RuntimeError):
    """What runs a list could not be made of it: that says nothing of the function, which runs as it is."""


@contextmanager
def making(what: str) -> Iterator[None]:
    """Tell what is raised meanwhile, which is our own or the compiler's, from what a function raises when it runs.

    Raises:
        NotMade: for every exception but those that say themselves what is missing.
    """
    try:
        yield
    except (NotMade, Refitted, MemoryError, ImportError):
        raise
    except Exception as error:
        raise NotMade(
            f"{what} could not be made, which is no fault of the function's; please report it "
            f"({type(error).__name__}: {error})"
        ) from error


class Refitted(RuntimeError):
    """Something that a list captured has another shape or dtype now; the list has to be recorded again."""


def _steps_among(listing: Listing, rows: np.ndarray) -> list[Any]:
    """The steps of some rows of a listing."""
    if len(rows) == len(listing):
        return steps_of(listing)
    if not len(rows):
        return []
    part, numbers = alone(listing, rows)
    return [renumbered(step, numbers) for step in steps_of(part)]


class KernelStep:
    """A group of records that run together, in one kernel or, until that pays, one by one.

    Attributes:
        kernel: what runs it, None if NumPy does.
        shares: how several threads share it, None if one does all.
        tier: how much was compiled for it.
        upgrade_at: the number of the replay before which the next tier is due.
    """

    drops: list[int]
    _one_by_one: OneByOne | None

    def __init__(
        self, listing: Listing, group: Group, tier: str, threads: int | None, replays: int | None, shifts: Shifts
    ):
        self.layout = layout = Layout(listing, group, shifts)
        self.listing, self.group, self.tier, self.threads, self.shifts = listing, group, tier, threads, shifts
        one_by_one = tier == INTERPRET and not interpretable(layout)
        if one_by_one and replays is not None and group.rows_to_compile <= FEW:
            tier, one_by_one = QUICK, False
            self.tier = tier
        self.kernel: Any = None if one_by_one else kernel_for(layout, tier)
        self.shares = shares_of(layout, self.kernel, threads)
        following = None if replays is None else next_tier(group, tier, one_by_one=one_by_one)
        self.upgrade_at = NEVER if following is None or replays is None else replays + following[1]
        self._name()

    @property
    def elements(self) -> int:
        """How many numbers its records give."""
        return len(self.group.rows) * self.group.size

    def evaluate(self, values: Mapping[int, Any]) -> list[Any]:
        """What NumPy gives for it."""
        if self._one_by_one is None:
            self._one_by_one = OneByOne(self.layout)
        return self._one_by_one(values)

    def moved(self, group: Group, places: list[tuple[int, int]]) -> KernelStep:
        """The step of a group that differs in its records alone, and reads at other places: it has the same kernel."""
        made = twin(self)
        made.group, made.layout = group, self.layout.moved(group, places)
        made._name()
        return made

    def _name(self) -> None:
        """Say which records it needs and makes."""
        self._one_by_one = None
        self.needs = list(dict.fromkeys([*self.layout.numbers, *(x.row for x in self.layout.arrays)]))
        self.makes = [t.row for t in self.group.targets]

    def upgraded(self, replays: int, alike: AlikeGroups) -> KernelStep:
        """The step in the next tier."""
        following = next_tier(self.group, self.tier)
        assert following is not None
        made = kernel_step(self.listing, self.group, following[0], self.threads, replays, self.shifts, alike)
        made.drops = self.drops
        return made


def kernel_step(
    listing: Listing, group: Group, tier: str | None, threads: int | None, replays: int | None, shifts: Shifts,
    alike: AlikeGroups,
) -> KernelStep:  # fmt: skip
    """The step of a group; what was found for an equal one, among those `alike`, holds for it too."""

    def made() -> KernelStep:
        return KernelStep(listing, group, tier or first_tier(group), threads, replays, shifts)

    found: KernelStep = alike.step(tier, listing, group, shifts, made)
    return found


def shares_of(layout: Layout, kernel: Any, threads: int | None) -> Shares | None:
    """How several threads share a kernel; one of single numbers is not worth that."""
    sums = [target for target in layout.group.targets if target.how in ("sum", "mean")]
    if any(target.how == OF_COLUMNS for target in layout.group.targets):
        return None  # all of its blocks add to the same memory
    if kernel is None or len(sums) != len(layout.single):
        return None
    return shares(kernel, layout.group.size * max(len(layout.group.rows), 1), threads, adds=bool(sums))
