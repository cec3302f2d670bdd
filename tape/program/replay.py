"""Running a program: its steps one after another, on new inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..evaluate import forward_of
from ..tensor import Tensor
from .frames import Caller
from .groups import Alone, Group, steps_of
from .kernels import kernel_for
from .layout import Layout
from .listing import Listing
from .trace import CONSTANT, INPUT

Values = list[Any]


class Replay:
    """A listing made ready to run.

    It is immutable but for the pools of memory, from which each call takes what it needs; so several
    threads may call it at once.

    Attributes:
        steps: what is done, in order.
    """

    def __init__(self, listing: Listing, tier: str = "optimised", threads: int | None = None):
        self.listing = listing
        self.inputs = [(int(k), int(listing.param[k])) for k in np.flatnonzero(listing.code == INPUT)]
        self.constants = [(int(k), listing.constant(int(k))) for k in np.flatnonzero(listing.code == CONSTANT)]
        self.outputs = listing.outputs.tolist()
        self.steps = [
            KernelStep(listing, s, tier, threads) if isinstance(s, Group) else NumPyStep(listing, s)
            for s in steps_of(listing)
        ]
        self._plan()
        self._direct = self._directly()

    def _plan(self) -> None:
        """Let each step forget the values that no later one needs."""
        wanted = set(self.outputs)
        for step in reversed(self.steps):
            step.drops = [k for k in {*step.needs, *step.makes} if k not in wanted]
            wanted.update(step.needs)
            wanted.update(step.makes)

    def _directly(self) -> tuple[Caller, list[int]] | None:
        """The one kernel that the program is, reading the inputs and giving the outputs, if it is that."""
        if len(self.steps) != 1 or not isinstance(self.steps[0], KernelStep):
            return None
        step, inputs = self.steps[0], dict(self.inputs)
        if not set(step.needs) <= set(inputs) or not set(self.outputs) <= set(step.makes):
            return None
        caller = step.caller
        caller.rename(inputs)
        return caller, [step.makes.index(k) for k in self.outputs]

    def __call__(self, inputs: Sequence[Any]) -> list[Any]:
        """The values of the outputs, arrays or NumPy scalars, for arrays in the place of the inputs."""
        if self._direct is not None:
            caller, order = self._direct
            results = caller(inputs)
            return [results[i] for i in order]
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
        return [values[k] for k in self.outputs]


class NumPyStep:
    """A record that NumPy evaluates."""

    drops: list[int]

    def __init__(self, listing: Listing, step: Alone):
        k = step.row
        op = listing.op(k)
        assert op is not None
        self.op, self.row, self.needs, self.makes = op, k, listing.operands(k), [k]
        self.forward, self.params = forward_of(op), listing.parameters(k)

    def __call__(self, values: Values) -> None:
        values[self.row] = self.forward(*[values[k] for k in self.needs], **self.params)


class KernelStep:
    """A group of records that one kernel computes."""

    drops: list[int]

    def __init__(self, listing: Listing, group: Group, tier: str, threads: int | None):
        layout = Layout(listing, group)
        self.group = group
        self.kernel = kernel_for(layout, tier)
        self.caller = Caller(layout, self.kernel, threads)
        self.needs = [*layout.numbers, *(k for k, _ in layout.arrays)]
        self.makes = [t.row for t in group.targets]

    def __call__(self, values: Values) -> None:
        for k, result in zip(self.makes, self.caller(values)):
            values[k] = result
