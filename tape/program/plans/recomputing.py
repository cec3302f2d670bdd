"""Values that a later kernel computes again: to store a large one and to read it back takes longer.

What a difference of all points and all centres is made of is small beside it.  So where several kernels read such a
value, its record stands once more for each of the later ones, and none of them writes it.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from functools import cache

import numpy as np

from ops import Op, Symbol
from ops.core.lane import Instruction, Via

from ...base.spec import Spec
from ..recorded.listing import Listing
from .groups import kernels_of
from .operand_layout import axes_of, pattern

LEAST_BYTES = 1 << 15
"""A smaller value stays as near to the processor as what it is made of."""
SMALLER = 4
"""So many times as large as what has to be read in its place a value has to be."""
LENGTH = 1000
"""Lists of more records are not looked at: their arrays are small."""
QUICK = ("fadd", "fsub", "fmul", "fneg")


@cache
def is_quick(op: Op) -> bool:
    """Whether an op is one instruction, which takes no longer than to read its result."""
    if isinstance(op.lane, Via) and op.arity <= 3 and not op.params:
        found = op.lane.formula(*map(Symbol, "xyw"[: op.arity]))
        inner = [s.op for s in found.walk() if s.op is not None] if isinstance(found, Symbol) else []
        return len(inner) == 1 and is_quick(inner[0])
    return isinstance(op.lane, Instruction) and op.lane.name in QUICK


def recomputed(listing: Listing) -> Listing:
    """The same listing, or one of the same outputs in which records stand again for later kernels that read them."""
    if len(listing) > LENGTH:
        return listing
    again = _Search(listing).found
    if not again:
        return listing
    made, copies = _with(listing, again)
    keys = kernels_of(made).keys
    together = all(keys[copy] == keys[reader] for copy, readers in copies for reader in readers)
    return made if together else listing


class _Search:
    """The records that had better be computed again.

    Attributes:
        found: by record, for each later kernel the records that read it there.
    """

    def __init__(self, listing: Listing):
        self.listing, self.kernels = listing, kernels_of(listing)
        self.readers: dict[int, list[int]] = defaultdict(list)
        for k in range(len(listing)):
            for x in dict.fromkeys(listing.operands(k)):
                self.readers[x].append(k)
        self.outputs = set(listing.outputs.tolist())
        self.found: dict[int, list[list[int]]] = {}
        for k in self.kernels.lanes:
            later = self._later(k)
            if later and all(self._pays(k, readers) for readers in later):
                self.found[k] = later

    def _later(self, k: int) -> list[list[int]]:
        """For each later kernel the records that read a record there; none if it has to be in memory in any case."""
        op, made = self.listing.op(k), self.listing.spec_of(k)
        assert op is not None
        assert made is not None
        if made.nbytes < LEAST_BYTES or k in self.outputs or not is_quick(op):
            return []
        kernels = self.kernels
        by_kernel: dict[int, list[int]] = defaultdict(list)
        for reader in self.readers[k]:
            if kernels.family[reader] != kernels.family[k]:
                return []
            by_kernel[int(kernels.keys[reader])].append(reader)
        own = by_kernel.pop(int(kernels.keys[k]), None)
        return list(by_kernel.values()) if own is not None and -1 not in by_kernel else []

    def _pays(self, k: int, rows: list[int]) -> bool:
        """Whether a kernel had better compute a record for these of its rows than read it."""
        kernels, made, kernel, more = self.kernels, self.listing.spec_of(k), int(self.kernels.keys[rows[0]]), 0
        assert made is not None
        for x in dict.fromkeys(self.listing.operands(k)):
            read = self.listing.spec_of(x)
            if read is None or (kernels.keys[x] >= 0 and kernels.family[x] == kernels.family[k]):
                return False  # which may be nowhere in memory
            if read.size == 1 or any(kernels.keys[reader] == kernel for reader in self.readers[x]):
                continue
            if read.dtype != made.dtype or not _lies_well(read, made, kernel in kernels.by_rows):
                return False
            more += read.nbytes
        return more * SMALLER <= made.nbytes


def _lies_well(read: Spec, whole: Spec, by_rows: bool) -> bool:
    """Whether a kernel need not have a copy of an array that is spread over all of its elements: it goes by rows."""
    mask = axes_of(read.shape, whole.shape)
    return by_rows and (mask[-1] or pattern(mask, len(whole.shape) - 1, whole.shape) != "every")


def _with(listing: Listing, again: dict[int, list[list[int]]]) -> tuple[Listing, list[tuple[int, list[int]]]]:
    """The listing in which those records stand behind themselves once more for each list of readers; these copies."""
    times = np.ones(len(listing), dtype=np.int64)
    times[list(again)] += [len(lists) for lists in again.values()]
    place = np.cumsum(times) - times
    made = listing.repeated(np.repeat(np.arange(len(listing)), times), place)
    args, copies = made.args.copy(), []
    for k, lists in again.items():
        for copy, readers in enumerate(lists, place[k] + 1):
            for reader in place[readers].tolist():
                own = args[made.first[reader] : made.first[reader + 1]]
                own[own == place[k]] = copy
            copies.append((int(copy), place[readers].tolist()))
    return replace(made, args=args), copies
