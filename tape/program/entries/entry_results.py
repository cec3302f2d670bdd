"""What an entry gives: the numbers and arrays that a program's steps have left, and what holds them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from ...base.spec import Spec
from ...base.tree import Structure, made_of
from ...jit.machine.frames import WORD, address_of
from ...recording.recorder import wrap
from ..capture.laid_results import laying
from ..capture.results import PYTHON, TENSOR, WITHOUT_AXES, OutputPlace, Results, SharedResult
from ..plans.plan_steps.plan_places import contiguous
from ..plans.stops import Raw, Result
from ..world.surroundings import SETTLED
from .conditions import Unsuited
from .looked_at import FLOAT, REAL, LookedAt


class EntryResults:
    """Writes the part of an entry that makes what a function returns.

    Attributes:
        turned: the results that are copied row by row, so that they lie by columns.
        whole: by region, the results that are written into the arrays that the caller gets; `made` are these.
        arrays: by place in the plan's list, to which the steps write all others.
    """

    def __init__(self, writer: Any, results: Results, plan: Any, looked_at: LookedAt):
        self.write, self.results, self.plan, self.looked_at = writer, results, plan, looked_at
        found = [(i, getattr(plan.results[i], "spec", None), strides) for i, strides in results.layouts]
        self.turned = {i for i, spec, strides in found if is_to_be_turned(spec, strides)}
        self.whole, self.made = whole_results(results, plan, self.turned), dict[int, str]()
        self.arrays = {
            i: np.zeros(wanted.shape, wanted.dtype)
            for i, (region, wanted) in enumerate(plan.given)
            if region not in self.whole
        }

    def memory(self, block: Any) -> None:
        """Say where the steps write: of what is whole into memory that is made at each call."""
        w = self.write
        for i, array in self.arrays.items():
            block.regions[self.plan.given[i][0]] = address_of(array)
        for region, number in self.whole.items():
            wanted = self.plan.results[number].spec
            self.made[number], elements = w.new_array(wanted.shape, wanted.dtype)
            w.store(elements, w.known(block.address), WORD * region)

    def build(self) -> str:
        """Make what the function returns: first all numbers and arrays, then what holds them."""
        results, w = self.results, self.write
        if results.again:
            raise Unsuited
        shown = results.shown
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
        return str(self.write.again(self.looked_at.things[source] if type(source) is int else self.write.thing(source)))

    def _spec(self, found: Any) -> Spec:
        return self.looked_at.values[found.source].spec if isinstance(found, Raw) else found.spec

    def _result(self, number: int) -> str:
        w, found, kind = self.write, self.plan.results[number], self.results.kinds[number]
        if isinstance(found, Raw) and self.looked_at.values[found.source].thing is not None:
            if kind == WITHOUT_AXES or (kind == PYTHON and found.source < 0):
                raise Unsuited
            return str(w.again(self.looked_at.values[found.source].thing))
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

    def _address(self, found: Any) -> str:
        """Where the numbers of a result are."""
        if isinstance(found, Raw):
            return self.looked_at.numbers(found.source, self.looked_at.values[found.source].spec)
        array = self.arrays[found.array]
        return str(self.write.known(address_of(array) + found.start * array.itemsize))


MOST_TURNED, WIDEST = 1024, 64
"""Results of more elements are turned by NumPy, and ones of rows of more."""


def is_to_be_turned(spec: Any, strides: tuple[int, ...]) -> bool:
    """Whether a result is small and lies by columns, and so not by rows."""
    if spec is None or not 1 < spec.size <= MOST_TURNED or spec.dtype.itemsize > WORD:
        return False
    if spec.size > WIDEST * spec.shape[0]:
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
