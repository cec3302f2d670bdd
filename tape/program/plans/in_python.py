"""What NumPy runs alone: steps that are no kernels, groups of records one by one, and whole replays, step after step.

A whole replay is run so until the machine code that runs plans is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ops.core.registry import OPS

from ...base.spec import Spec
from ...base.tensor import Tensor
from ...jit.emission.task import OF_COLUMNS, OF_ROWS, SUMS
from ...recording.recorder import forward_of
from ..recorded.listing import Listing
from ..recorded.raising import noting
from ..recorded.trace import CONSTANT, INPUT
from .groups import GroupInput, GroupOutput
from .guarding import GuardTable
from .operand_layout import Layout
from .ownership import separate, suspects
from .round_step import NEVER


class InPython:
    """Steps of a listing that NumPy runs.

    Attributes:
        outputs: the records whose values are given.
        guarded: by record, the numbers of the guards that are verified once its value is there.
    """

    def __init__(self, listing: Listing, steps: Sequence[Any], outputs: Sequence[int], guards: GuardTable):
        self.listing, self.steps, self.outputs, self.guards = listing, steps, outputs, guards
        own = listing.outputs[listing.results :].tolist()
        self.guarded: dict[int, list[int]] = {}
        for i, _ in guards.steps:
            self.guarded.setdefault(own[i], []).append(i)

    def __call__(self, inputs: Sequence[Any], expecting: bool) -> list[Any]:
        """The values of the outputs for these inputs.

        Raises:
            GuardMissed: if a guard does not hold.
        """
        listing = self.listing
        kinds = [np.flatnonzero(listing.code == code).tolist() for code in (INPUT, CONSTANT)]
        values: dict[int, Any] = {k: inputs[int(listing.param[k])] for k in kinds[0]}
        constants = {k: c._data if isinstance(c := listing.constant(k), Tensor) else c for k in kinds[1]}
        values |= constants
        self._verify(values, values.keys() & self.guarded.keys(), expecting)
        with noting():
            for step in self.steps:
                values |= zip(step.makes, step.evaluate(values))
                self._verify(values, step.makes, expecting)
                for k in step.drops:
                    values.pop(k, None)
        results = [as_of_numpy(values[k]) if k in constants else values[k] for k in self.outputs]
        captured = [c for k, c in constants.items() if isinstance(listing.constant(k), (Tensor, np.ndarray))]
        separate(results, suspects(listing, range(len(listing))), [*inputs, *captured])
        return results

    def _verify(self, values: Mapping[int, Any], rows: Iterable[int], expecting: bool) -> None:
        for k in rows if self.guarded else ():
            for i in self.guarded.get(k, ()):
                self.guards.verify(i, values[k], expecting)


def as_of_numpy(constant: Any) -> Any:
    """A constant as a result: a plain number as NumPy's, as adjoints are that depend on nothing."""
    return np.asarray(constant)[()] if isinstance(constant, (int, float, complex)) else constant


def live(steps: Sequence[Any], outputs: Iterable[int]) -> None:
    """Let each step forget the values that no later one needs."""
    wanted = set(outputs)
    for step in reversed(steps):
        step.drops = drops = []
        for k in (*step.needs, *step.makes):
            if k not in wanted:
                wanted.add(k)
                drops.append(k)


class NumPyStep:
    """A record that is no part of a kernel.

    Attributes:
        result: what it gives, None if that is no array.
        elements: how many numbers NumPy copies for it where a plan writes in place.
        unknown: whether it takes something that is no array.
    """

    __slots__ = ("drops", "elements", "listing", "makes", "needs", "op", "params", "result", "row", "unknown")
    drops: list[int]
    upgrade_at = NEVER

    def __init__(self, listing: Listing, row: int, code: int, needs: list[int], param: int, spec: int, unknown: bool):
        self.op, self.row, self.makes, self.listing = OPS[code], row, [row], listing
        self.needs, self.unknown = needs, unknown
        self.params = listing.params[param] if param >= 0 else {}
        self.result = listing.specs[spec] if spec >= 0 else None
        copied = self.result is not None and self.op.hints.part is not None and len(needs) == 2
        self.elements = self.result.size if copied else 0  # type: ignore[union-attr]

    def upgraded(self, replays: int, alike: Any) -> NumPyStep:
        """The same: there are no tiers."""
        return self

    @property
    def forward(self) -> Any:
        """The op's function on arrays."""
        return forward_of(self.op)

    def evaluate(self, values: Mapping[int, Any]) -> list[Any]:
        """What NumPy gives for it."""
        try:
            return [self.forward(*[values[k] for k in self.needs], **self.params)]
        except Exception as error:  # NumPy does not know of the user's line
            error.add_note(f"in {self.op.name}, recorded at {self.listing.location(self.row)}")
            raise


def numpy_steps(listing: Listing, rows: list[int]) -> Iterator[NumPyStep]:
    """The steps of some records; what columns say of all of them is read at once."""
    k = np.array(rows, dtype=np.int64)
    counts = listing.first[k + 1] - listing.first[k]
    ends = np.cumsum(counts)
    needs = listing.args[np.repeat(listing.first[k] - ends + counts, counts) + np.arange(counts.sum())]
    unknown = np.concatenate([[0], np.cumsum(listing.spec[needs] < 0)])
    unknown = unknown[ends] > unknown[ends - counts]
    columns = (x.tolist() for x in (listing.code[k], listing.param[k], listing.spec[k], unknown, ends - counts, ends))
    operands = needs.tolist()
    for row, code, param, spec, strange, start, end in zip(rows, *columns):
        yield NumPyStep(listing, row, code, operands[start:end], param, spec, strange)


class OneByOne:
    """A group whose records NumPy evaluates, in place of a kernel."""

    def __init__(self, layout: Layout):
        listing, group = layout.listing, layout.group
        self.sources = group.sources
        self.first = len(group.outside)
        operands = group.operands.reshape(-1, 3).tolist()
        self.rows: list[tuple[Any, tuple[int, ...], dict[str, Any]]] = []
        for k, xs in zip(group.rows.tolist(), operands):
            op = OPS[int(listing.code[k])]
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

    def __call__(self, values: Mapping[int, Any]) -> list[Any]:
        mine: list[Any] = []
        for source in self.sources:
            if not isinstance(source, GroupInput):
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

    def _result(self, mine: list[Any], target: GroupOutput, spec: Spec) -> Any:
        found = [mine[v] for v in target.values]
        if target.how == "pack":
            numbers = [np.reshape(v, ()) for v in found]  # one number may come as a vector of one element
            return np.array(numbers, dtype=spec.dtype).reshape(spec.shape)
        z = found[0]
        if target.how == OF_COLUMNS:
            z = np.add.reduce(np.reshape(z, (-1, spec.size)), axis=0)
        if target.how in SUMS:
            total = np.sum if target.how.startswith("sum") else np.mean
            z = total(z, axis=-1 if target.how in OF_ROWS else None)
        return np.asarray(z, dtype=spec.dtype).reshape(spec.shape)[()]
