"""Running a program: its steps one after another, on new inputs."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..evaluate import forward_of
from ..spec import Spec, spec_of
from ..tensor import Tensor
from .frames import Caller
from .groups import Alone, Group, Source, Target, sources_of, steps_of
from .kernels import interpretable, kernel_for
from .layout import Layout
from .listing import Listing, op_number
from .ownership import separate, suspects
from .tiers import INTERPRET, first_tier, next_tier
from .trace import CONSTANT, INPUT

NEVER = 1 << 62

Values = list[Any]


class Replay:
    """A listing made ready to run.

    It is immutable but for the pools of memory, from which each call takes what it needs; so several
    threads may call it at once.

    Attributes:
        steps: what is done, in order.
        until: the number of the replay before which something is compiled again.
    """

    def __init__(self, listing: Listing, tier: str | None = None, threads: int | None = None):
        self.listing = listing
        self.inputs = [(int(k), int(listing.param[k])) for k in np.flatnonzero(listing.code == INPUT)]
        self.constants = [(int(k), listing.constant(int(k))) for k in np.flatnonzero(listing.code == CONSTANT)]
        self.outputs = listing.outputs.tolist()
        self.captured = [(c, listing.spec_of(k)) for k, c in self.constants if isinstance(c, (Tensor, np.ndarray))]
        self.steps = [
            KernelStep(listing, s, tier or first_tier(s), threads, 0 if tier is None else None)
            if isinstance(s, Group)
            else NumPyStep(listing, s)
            for s in steps_of(listing)
        ]
        self.suspects = suspects(listing, {s.row for s in self.steps if isinstance(s, NumPyStep)})
        self._plan()
        self._lock = threading.Lock()
        self._look()

    def _plan(self) -> None:
        """Let each step forget the values that no later one needs."""
        wanted = set(self.outputs)
        for step in reversed(self.steps):
            step.drops = [k for k in {*step.needs, *step.makes} if k not in wanted]
            wanted.update(step.needs)
            wanted.update(step.makes)

    def _look(self) -> None:
        """Find out whether the program is one kernel, and when to look for a better tier."""
        self._direct = self._directly()
        self.until = min((s.upgrade_at for s in self.steps if isinstance(s, KernelStep)), default=NEVER)

    def _upgrade(self, replays: int) -> None:
        """Compile what has run often enough."""
        if not self._lock.acquire(blocking=False):
            return  # another thread is at it
        try:
            for k, step in enumerate(self.steps):
                if isinstance(step, KernelStep) and step.upgrade_at <= replays:
                    self.steps[k] = step.upgraded(replays)
            self._look()
        finally:
            self._lock.release()

    def _directly(self) -> tuple[Caller, list[int]] | None:
        """The one kernel that the program is, reading the inputs and giving the outputs, if it is that."""
        if len(self.steps) != 1 or not isinstance(self.steps[0], KernelStep):
            return None
        step, inputs = self.steps[0], dict(self.inputs)
        if not set(step.needs) <= set(inputs) or not set(self.outputs) <= set(step.makes):
            return None
        if not isinstance(step.caller, Caller):
            return None
        return step.caller.renamed(inputs), [step.makes.index(k) for k in self.outputs]

    def __call__(self, inputs: Sequence[Any], replays: int = 0) -> list[Any]:
        """The values of the outputs, arrays or NumPy scalars, for arrays in the place of the inputs.

        `replays` says how often they were asked for, now included.
        """
        if replays >= self.until:
            self._upgrade(replays)
        if self._direct is not None:
            caller, order = self._direct
            results = caller(inputs)
            return self._owned([results[i] for i in order], inputs)
        if self.captured:
            self.check_captured()
        values: Values = [None] * len(self.listing)
        for k, number in self.inputs:
            values[k] = inputs[number]
        for k, constant in self.constants:
            values[k] = constant._data if isinstance(constant, Tensor) else constant
        with np.errstate(all="ignore"):
            for step in self.steps:
                step(values)
                for k in step.drops:
                    values[k] = None
        return self._owned([values[k] for k in self.outputs], inputs)

    def _owned(self, results: list[Any], inputs: Sequence[Any]) -> list[Any]:
        if self.suspects:
            separate(
                results, self.suspects, [*inputs, *(c._data if isinstance(c, Tensor) else c for c, _ in self.captured)]
            )
        return results

    def check_captured(self) -> None:
        """Raise unless the captured tensors and arrays have the shapes and dtypes that they were recorded with.

        Raises:
            Refitted: naming the first that has not.
        """
        for thing, spec in self.captured:
            now = thing._spec if isinstance(thing, Tensor) else spec_of(thing)
            if now is not spec:
                raise Refitted(f"a captured tensor or array was {spec} when it was recorded, and is {now} now")


class Refitted(RuntimeError):
    """Something that a list captured has another shape or dtype now; the list has to be recorded again."""


class NumPyStep:
    """A record that NumPy evaluates."""

    drops: list[int]

    def __init__(self, listing: Listing, step: Alone):
        k = step.row
        op = listing.op(k)
        assert op is not None
        self.op, self.row, self.needs, self.makes, self.listing = op, k, listing.operands(k), [k], listing
        self.forward, self.params = forward_of(op), listing.parameters(k)

    def __call__(self, values: Values) -> None:
        try:
            values[self.row] = self.forward(*[values[k] for k in self.needs], **self.params)
        except Exception as error:  # NumPy does not know of the user's line
            error.add_note(f"in {self.op.name}, recorded at {self.listing.location(self.row)}")
            raise


class KernelStep:
    """A group of records that run together, in one kernel or, until that pays, one by one.

    Attributes:
        tier: how much was compiled for it.
        upgrade_at: the number of the replay before which the next tier is due.
    """

    drops: list[int]

    def __init__(self, listing: Listing, group: Group, tier: str, threads: int | None, replays: int | None):
        layout = Layout(listing, group)
        self.kernel: Any = None
        self.listing, self.group, self.tier, self.threads = listing, group, tier, threads
        self.caller: Caller | OneByOne
        if tier == INTERPRET and not interpretable(layout):
            self.caller = OneByOne(layout)
        else:
            self.kernel = kernel_for(layout, tier)
            self.caller = Caller(layout, self.kernel, threads)
        following = None if replays is None else next_tier(group, tier, one_by_one=self.kernel is None)
        self.upgrade_at = NEVER if following is None or replays is None else replays + following[1]
        self.needs = [*layout.numbers, *(k for k, _ in layout.arrays)]
        self.makes = [t.row for t in group.targets]

    def upgraded(self, replays: int) -> KernelStep:
        """The step in the next tier."""
        following = next_tier(self.group, self.tier)
        assert following is not None
        made = KernelStep(self.listing, self.group, following[0], self.threads, replays)
        made.drops = self.drops
        return made

    def __call__(self, values: Values) -> None:
        for k, result in zip(self.makes, self.caller(values)):
            values[k] = result


class OneByOne:
    """A group whose records NumPy evaluates, in place of a kernel."""

    def __init__(self, layout: Layout):
        listing, group = layout.listing, layout.group
        self.sources = list(sources_of(listing, group))
        self.first = len(group.outside)
        operands = group.operands.reshape(-1, 3).tolist()
        self.rows: list[tuple[Any, tuple[int, ...], dict[str, Any]]] = []
        for k, xs in zip(group.rows.tolist(), operands):
            op = op_number(int(listing.code[k]))
            self.rows.append((forward_of(op), tuple(xs[: op.arity]), listing.parameters(k)))
        self.targets = [(t, layout.spec(t.row)) for t in group.targets]
        last: dict[int, int] = {}
        for k, (_, operands_of, _) in enumerate(self.rows):
            last.update(dict.fromkeys(operands_of, k))
        kept = {v for t in group.targets for v in t.values}
        self.drops: list[list[int]] = [[] for _ in self.rows]
        for x, k in last.items():
            if x not in kept:
                self.drops[k].append(x)

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        mine: list[Any] = []
        for _, source in self.sources:
            if not isinstance(source, Source):
                mine.append(source)
            elif source.offset < 0 or not np.ndim(values[source.row]):
                mine.append(values[source.row])
            else:
                mine.append(np.reshape(values[source.row], -1)[source.offset])
        for (forward, xs, params), drops in zip(self.rows, self.drops):
            mine.append(forward(*[mine[x] for x in xs], **params))
            for x in drops:
                mine[x] = None
        return [self._result(mine, target, spec) for target, spec in self.targets]

    def _result(self, mine: list[Any], target: Target, spec: Spec) -> Any:
        found = [mine[v] for v in target.values]
        if target.how == "pack":
            numbers = [np.reshape(v, ()) for v in found]  # one number may come as a vector of one element
            return np.array(numbers, dtype=spec.dtype).reshape(spec.shape)
        z = found[0] if target.how == "each" else np.sum(found[0]) if target.how == "sum" else np.mean(found[0])
        return np.asarray(z, dtype=spec.dtype).reshape(spec.shape)[()]
