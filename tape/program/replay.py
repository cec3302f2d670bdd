"""Running a program: its steps one after another, on new inputs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..evaluate import forward_of
from ..spec import Spec
from ..tensor import Tensor
from ..untraced import untraced
from .groups import Alone, Group, steps_of
from .kernels import Layout, fit, kernel_for
from .listing import Listing
from .trace import CONSTANT, INPUT

Values = list[Any]


class Replay:
    """A listing made ready to run.

    It is immutable but for the pools of memory, from which each call takes what it needs; so several
    threads may call it at once.
    """

    def __init__(self, listing: Listing, tier: str = "optimised"):
        self.listing = listing
        self.inputs = [(int(k), int(listing.param[k])) for k in np.flatnonzero(listing.code == INPUT)]
        self.constants = [(int(k), listing.constant(int(k))) for k in np.flatnonzero(listing.code == CONSTANT)]
        self.outputs = listing.outputs.tolist()
        self.steps = [
            _Kernel(listing, s, tier) if isinstance(s, Group) else _Forward(listing, s) for s in steps_of(listing)
        ]
        self._plan()

    def _plan(self) -> None:
        """Let each step forget the values that no later one needs."""
        wanted = set(self.outputs)
        for step in reversed(self.steps):
            step.drops = [k for k in {*step.needs, *step.makes} if k not in wanted]
            wanted.update(step.needs)
            wanted.update(step.makes)

    def __call__(self, inputs: Sequence[Any]) -> list[Any]:
        """The values of the outputs, arrays or NumPy scalars, for arrays in the place of the inputs."""
        values: Values = [None] * len(self.listing)
        for k, number in self.inputs:
            values[k] = inputs[number]
        for k, constant in self.constants:
            values[k] = constant._data if isinstance(constant, Tensor) else constant
        for step in self.steps:
            step(values)
            for k in step.drops:
                values[k] = None
        return [values[k] for k in self.outputs]


class _Forward:
    """A record that NumPy evaluates."""

    drops: list[int]

    def __init__(self, listing: Listing, step: Alone):
        k = step.row
        op = listing.op(k)
        assert op is not None
        self.row, self.needs, self.makes = k, listing.operands(k), [k]
        self.forward, self.params = forward_of(op), listing.parameters(k)

    def __call__(self, values: Values) -> None:
        values[self.row] = self.forward(*[values[k] for k in self.needs], **self.params)


class _Kernel:
    """A group of records that one kernel computes."""

    drops: list[int]

    def __init__(self, listing: Listing, group: Group, tier: str):
        self.layout = layout = Layout(listing, group)
        self.kernel = kernel_for(layout, tier)
        self.needs = layout.memories
        self.makes = [row for row, _ in layout.targets]
        self.pools = [Pool(spec) for _, spec in layout.targets]
        self._tables: list[Any] = []

    def __call__(self, values: Values) -> None:
        arrays = [fit(values[k], spec) for k, spec in zip(self.needs, self.layout.specs)]
        results = [pool.take() for pool in self.pools]
        try:
            table, work, step = self._tables.pop()
        except IndexError:
            table, work = self.kernel.table()
            step = np.array([0, table.ctypes.data])
        table[self.kernel.header :] = [a.ctypes.data for a in (*arrays, *results)]
        self.kernel.call(step.ctypes.data)
        self._tables.append((table, work, step))
        for k, result in zip(self.makes, results):
            values[k] = result


class Pool:
    """Arrays of one spec that are given out again once nobody holds them."""

    __slots__ = ("_arrays", "spec")

    def __init__(self, spec: Spec):
        self.spec = spec
        self._arrays: list[np.ndarray] = []

    def take(self) -> np.ndarray:
        """An array of the pool's spec, with anything in it."""
        if self.spec.nbytes < SMALL:
            return np.empty(self.spec.shape, self.spec.dtype)
        return np.empty(self.spec.shape, self.spec.dtype)


SMALL = 1 << 14

__all__ = ["Replay", "sys", "untraced"]
