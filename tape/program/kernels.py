"""A group of records made ready to run: interpreted, or compiled to one kernel."""

from __future__ import annotations

import ctypes
import importlib
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ops import REGISTRY

from ..spec import Spec, spec
from .groups import Group, Source, sources_of
from .listing import Listing, op_number

KERNEL = ctypes.CFUNCTYPE(None, ctypes.c_int64)
ALIGN = 64


def _jit(room: str) -> Any:
    return importlib.import_module(f"tape.jit.{room}")


class Layout:
    """Where a group's values come from and go to.

    Attributes:
        memories: positions of the records whose arrays are read.
        specs: what these have to be.
        targets: positions of the records whose arrays are written, with their specs.
        inputs: the values that are read: number of the memory, and offset there (−1: each element).
        constants: the values that are plain numbers.
        numbers: by the group's number of a value, the number here: inputs, then constants, then rows.
    """

    def __init__(self, listing: Listing, group: Group):
        self.group, self.listing = group, listing
        self.memories: list[int] = []
        self.inputs: list[tuple[int, int]] = []
        self.constants: list[Any] = []
        self.kinds: list[int] = []
        known: dict[int, int] = {}
        sources, constants = [], []
        for number, source in sources_of(listing, group):
            if isinstance(source, Source):
                memory = known.setdefault(source.row, len(known))
                if memory == len(self.memories):
                    self.memories.append(source.row)
                self.inputs.append((memory, source.offset))
                sources.append(number)
            else:
                self.constants.append(source)
                constants.append(number)
        given = len(group.outside)
        numbers = np.arange(given + len(group.rows), dtype=np.int64)
        numbers[sources + constants] = np.arange(given)
        self.numbers = numbers
        self.specs = [_spec(listing, k) for k in self.memories]
        self.blocks, self.lies = self._lie()
        self.targets = [(t.row, _spec(listing, t.row)) for t in group.targets]
        self.truths = [_spec(listing, self.memories[m]).dtype.kind == "b" for m, _ in self.inputs]

    def _lie(self) -> tuple[int, list[str]]:
        """How many blocks the group goes through, and how each input lies in them.

        A memory that cannot be told by blocks is broadcast before the kernel runs: its spec becomes the group's.
        """
        whole = self.group.shape
        each = {m for m, offset in self.inputs if offset < 0}
        masks = {m: axes_of(self.specs[m].shape, whole) for m in each if self.specs[m].shape != whole}
        blocks = blocks_of(set(masks.values()), whole)
        patterns = {}
        for m, mask in masks.items():
            patterns[m] = pattern(mask, blocks, whole)
            if patterns[m] == "every":
                self.specs[m] = spec(whole, self.specs[m].dtype)
        lies = ["one" if offset >= 0 else patterns.get(m, "every") for m, offset in self.inputs]
        return math.prod(whole[:blocks]) if "tile" in lies or "repeat" in lies else 1, lies

    @property
    def addresses(self) -> int:
        return len(self.memories) + len(self.targets)

    def operands(self) -> np.ndarray:
        """Operands of the rows as numbers of this layout."""
        operands = self.group.operands
        return np.where(operands >= 0, self.numbers[operands], -1)


def _spec(listing: Listing, k: int) -> Spec:
    found = listing.spec_of(k)
    assert found is not None
    return found


def run_of(layout: Layout) -> Any:
    """What the compiler is told of a group."""
    fused, group = _jit("fused"), layout.group
    inputs = [
        fused.Input(fused.B if truth else fused.F, lies if group.size != 1 else "one", max(offset, 0), memory)
        for (memory, offset), lies, truth in zip(layout.inputs, layout.lies, layout.truths)
    ]
    codes = layout.listing.code[group.rows].tolist()
    operands = layout.operands().reshape(-1, 3).tolist()
    rows = []
    for code, xs in zip(codes, operands):
        op = op_number(code)
        rows.append((op, tuple(xs[: op.arity])))
    outputs = []
    for t, target in enumerate(group.targets):
        memory = len(layout.memories) + t
        many = target.how == "each" and group.size != 1
        for offset, value in enumerate(target.values):
            how = "each" if many else "one" if target.how in ("each", "pack") else target.how
            outputs.append(fused.Output(int(layout.numbers[value]), how, offset, memory))
    constants = [c if isinstance(c, bool) else float(c) for c in layout.constants]
    return fused.Run(group.bits, group.size != 1, inputs, constants, rows, outputs, layout.addresses)


class Compiled:
    """A group as one kernel of machine code."""

    def __init__(self, layout: Layout, level: int = 2):
        fused, kernels = _jit("fused"), _jit("kernels")
        run = run_of(layout)
        writer = fused.Writer(run)
        self.engine, address = kernels.compile_kernel(writer.text(), level)
        self.call = KERNEL(address)
        self.width = writer.width
        self.workspace_bytes = writer.workspace_bytes
        self.header = fused.HEADER
        self.blocks = layout.blocks
        self.length = layout.group.size // max(self.blocks, 1)
        self.words = self.header + layout.addresses
        self.address = address

    def table(self) -> tuple[np.ndarray, Any]:
        """A table to call the kernel with, but for the addresses, and what it works in."""
        workspace, start = aligned(self.workspace_bytes)
        table = np.zeros(self.words, dtype=np.int64)
        table[: self.header] = 0, -(-self.length // self.width), self.length, start, 0, self.blocks
        return table, workspace


class Interpreted:
    """A group of numbers as instructions."""

    def __init__(self, layout: Layout):
        interpreter, grouping = _jit("interpreter"), _jit("grouping")
        group = layout.group
        count = len(REGISTRY)
        self.engine, self.address = interpreter.interpreter(group.bits, count)
        self.call = KERNEL(self.address)
        self.header = interpreter.HEADER
        self.words = self.header + layout.addresses
        numbers = interpreter.numbering(count)[layout.listing.code[group.rows]]
        given, n = len(group.outside), len(group.rows)
        keep = np.zeros(given + n, dtype=np.bool_)
        for target in group.targets:
            keep[layout.numbers[list(target.values)]] = True
        place = np.arange(given + n, dtype=np.int64)
        body = np.zeros((n, interpreter.INSTRUCTION), dtype=np.int32)
        places = grouping.instructions(numbers, layout.operands(), given, keep, place, body.reshape(-1))
        loads = [(interpreter.LOAD, k, self.header + m, offset, 0) for k, (m, offset) in enumerate(layout.inputs)]
        stores = [
            (interpreter.STORE, place[layout.numbers[v]], self.header + len(layout.memories) + t, offset, 0)
            for t, target in enumerate(group.targets)
            for offset, v in enumerate(target.values)
        ]
        end = [(interpreter.END, 0, 0, 0, 0)]
        width = interpreter.INSTRUCTION
        parts = [np.array(p, dtype=np.int32).reshape(-1, width) for p in (loads, body, stores, end)]
        self.code = np.concatenate(parts)
        self.values = np.zeros(places, dtype=np.float64 if group.bits == 64 else np.float32)
        first = len(layout.inputs)
        self.values[first:given] = [float(c) for c in layout.constants]

    def table(self) -> tuple[np.ndarray, Any]:
        values = self.values.copy()
        table = np.zeros(self.words, dtype=np.int64)
        table[: self.header] = self.code.ctypes.data, values.ctypes.data
        return table, values


def axes_of(shape: tuple[int, ...], whole: tuple[int, ...]) -> tuple[bool, ...]:
    """Which axes of the whole an array has, rather than being repeated along them."""
    padded = (1,) * (len(whole) - len(shape)) + shape
    return tuple(n == m and m != 1 for n, m in zip(padded, whole))


def blocks_of(masks: set[tuple[bool, ...]], whole: tuple[int, ...]) -> int:
    """How many leading axes count the blocks: as many as let the most arrays be told by blocks."""
    if not masks:
        return 0
    return max(range(len(whole) + 1), key=lambda k: sum(pattern(m, k, whole) != "every" for m in masks))


def pattern(mask: tuple[bool, ...], blocks: int, whole: tuple[int, ...]) -> str:
    """How an array that has those axes lies in blocks; ``every`` if it has to be broadcast first."""
    axes = [(has, n) for has, n in zip(mask, whole) if n != 1]
    skipped = sum(n == 1 for n in whole[:blocks])
    outer, inner = axes[: blocks - skipped], axes[blocks - skipped :]
    if all(has for has, _ in inner) and not any(has for has, _ in outer):
        return "tile"
    if all(has for has, _ in outer) and not any(has for has, _ in inner):
        return "repeat"
    return "every"


def aligned(nbytes: int) -> tuple[np.ndarray, int]:
    """Memory for so many bytes and an address in it that is a multiple of 64."""
    block = np.empty(nbytes + ALIGN, dtype=np.uint8)
    return block, -(-block.ctypes.data // ALIGN) * ALIGN


def interpretable(layout: Layout) -> bool:
    """Whether the interpreter can run a group: numbers, and nothing else, in memory of their own kind."""
    return layout.group.size == 1 and not any(layout.truths) and not any(s.dtype.kind == "b" for _, s in layout.targets)


def fit(value: Any, spec: Spec) -> np.ndarray:
    """An array that a kernel can read: of that shape and dtype, contiguous, aligned, in native order."""
    array = np.asarray(value)
    if array.shape != spec.shape or array.dtype != spec.dtype:
        array = np.broadcast_to(array.astype(spec.dtype, copy=False), spec.shape)
    flags = array.flags
    if not (flags.c_contiguous and flags.aligned) or not array.dtype.isnative:
        array = np.array(array, dtype=spec.dtype, order="C")
    return array


def kernel_for(layout: Layout, tier: str) -> Compiled | Interpreted:
    """A group made ready in the wanted tier."""
    if tier == "interpret" and interpretable(layout):
        return Interpreted(layout)
    return Compiled(layout, 0 if tier == "quick" and layout.group.size == 1 else 2)


__all__ = ["Compiled", "Interpreted", "Layout", "Sequence", "fit", "kernel_for"]
