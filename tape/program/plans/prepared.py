"""A group of records made ready to run: interpreted, or compiled to one kernel."""

from __future__ import annotations

import math
import weakref
from collections import deque
from functools import cache
from typing import Any

import numpy as np

from ops import REGISTRY
from ops.core.registry import OPS

from ...base.rooms import opened
from ...jit.machine.regions import ALIGN
from .groups import Group
from .operand_layout import Layout


@cache
def _jit(room: str) -> Any:
    return opened(f"tape.jit.{room}")


def task_of(layout: Layout) -> Any:
    """What the compiler is told of a group."""
    task, lines, group = _jit("emission.task"), _jit("emission.lines"), layout.group
    kinds = {"f": lines.F, "b": lines.B, "i": lines.W}
    inputs = [
        task.Input(kinds[kind], lies if group.size != 1 else "one", max(offset, 0), address)
        for (address, offset), lies, kind in zip(layout.inputs, layout.lies, layout.kinds)
    ]
    outputs = []
    for target, (address, start) in zip(group.targets, layout.outputs):
        many = target.how == "each" and group.size != 1
        for i, value in enumerate(target.values):
            how = "each" if many else "one" if target.how in ("each", "pack") else target.how
            outputs.append(task.Output(int(layout.place[value]), how, start + i, address))
    constants = [bool(c) if isinstance(c, (bool, np.bool_)) else float(c) for c in layout.constants]
    operands = layout.operands()
    codes = plain_products(group, operands.reshape(-1, 3), layout.listing.code[group.rows], len(inputs), constants)
    return task.KernelTask(group.bits, group.size != 1, inputs, constants, codes, operands, group.loops, outputs)


def plain_products(group: Group, operands: np.ndarray, codes: np.ndarray, given: int, constants: list[Any]) -> Any:
    """Opcodes, with the chain rule's products as plain ones where a factor is finite: no 0 meets anything infinite."""
    rows = np.flatnonzero(codes == REGISTRY["chain_mul"].code)
    if not len(rows):
        return codes
    known = given + len(constants)
    finite, nonzero = np.zeros(known + 1, dtype=np.bool_), np.zeros(known + 1, dtype=np.bool_)
    finite[given:known] = [math.isfinite(c) for c in constants]
    nonzero[given:known] = [c != 0 for c in constants]
    adjoint, partial = np.minimum(operands[rows, :2], known).T
    plain = np.zeros(len(codes), dtype=np.bool_)
    plain[rows] = finite[partial] | (finite & nonzero)[adjoint]
    for loop in group.loops:
        each = plain[loop.start : loop.end].reshape(loop.times, loop.period)
        each &= each.all(axis=0)
    return np.where(plain, REGISTRY["mul"].code, codes)


class KernelCode:
    """A kernel of machine code, for groups of any length.

    Attributes:
        address: where the kernel is.
        width: lanes of a vector.
        workspace_bytes: what it needs to work in, at an address that is a multiple of `ALIGN`.
    """

    def __init__(self, task: Any, width: int, level: int, parted: bool):
        fused, compiler = _jit("emission.fused"), _jit("machine.machine_code")
        writer = fused.KernelWriter(task, width, parted)
        self.engine, self.address = compiler.compile_kernel(writer.text(), level, lines=task.many)
        self.width, self.workspace_bytes = writer.width, writer.workspace_bytes


class Compiled:
    """A group as a kernel, and how far that goes.

    Attributes:
        address: where the kernel is.
        header: how many words of its table come before the addresses.
        vectors, blocks: how far it goes, in vectors of each block and in blocks.
        workspace_bytes: what it needs to work in, at an address that is a multiple of `ALIGN`.
    """

    def __init__(self, code: KernelCode, layout: Layout):
        self.code, self.address, self.workspace_bytes = code, code.address, code.workspace_bytes
        self.header, self.blocks, self._size = _jit("emission.task").HEADER, layout.blocks, layout.group.size
        self._length = self._size // max(self.blocks, 1)
        self.vectors = -(-self._length // code.width)

    def head(self, workspace: Any) -> list[Any]:
        """The first words of a table, for a kernel that works there."""
        return [0, self.vectors, self._length, workspace, 0, self.blocks, self._size]


def width_of(bits: int, length: int, tier: str) -> int:
    """How many of so many numbers are taken at a time: two registers if they are many, so that one need not wait."""
    lanes = _jit("machine.platform").target().lanes(bits)
    return lanes if tier == "quick" or length < 4 * lanes else 2 * lanes


class Interpreted:
    """A group of numbers as instructions; with the attributes of `Compiled`."""

    vectors = blocks = 1

    def __init__(self, layout: Layout):
        interpreter, grouping = _jit("emission.interpreter"), _jit("column_passes.grouping")
        group, count = layout.group, len(OPS)
        self.engine, self.address = interpreter.interpreter(group.bits, count)
        self.header = interpreter.HEADER
        numbers = interpreter.numbering(count)[layout.listing.code[group.rows]]
        given, n, width = len(group.outside), len(group.rows), interpreter.INSTRUCTION
        keep = np.zeros(given + n, dtype=np.bool_)
        for target in group.targets:
            keep[layout.place[list(target.values)]] = True
        place = np.arange(given + n, dtype=np.int64)
        body = np.zeros((n, width), dtype=np.int32)
        last, free = np.full(given + n, -1), np.empty(n, dtype=np.int64)
        places = grouping.instructions(numbers, layout.operands(), given, keep, place, last, free, body.reshape(-1))
        loads = [(interpreter.LOAD, k, self.header + a, max(at, 0), 0) for k, (a, at) in enumerate(layout.inputs)]
        add, total, zero = interpreter.numbering(count)[REGISTRY["add"].code], places, places + 1
        stores = []
        for target, (address, start) in zip(group.targets, layout.outputs):
            for i, v in enumerate(target.values):
                at = place[layout.place[v]]
                if target.how in _jit("emission.task").SUMS:  # of one number; it begins with zero, so −0.0 gives 0.0
                    stores.append((add, total, at, zero, 0))
                    at = total
                stores.append((interpreter.STORE, at, self.header + address, start + i, 0))
        parts = (loads, body, stores, [(interpreter.END, 0, 0, 0, 0)])
        self.code = np.concatenate([np.array(p, dtype=np.int32).reshape(-1, width) for p in parts])
        self.code_at = self.code.ctypes.data
        self.values = np.zeros(places + 2, dtype=layout.dtype)
        self.values[len(layout.inputs) : given] = [float(c) for c in layout.constants]


def aligned(nbytes: int) -> tuple[np.ndarray, int]:
    """Memory for so many bytes and an address in it that is a multiple of 64."""
    block = np.empty(nbytes + ALIGN, dtype=np.uint8)
    return block, -(-block.ctypes.data // ALIGN) * ALIGN


def interpretable(layout: Layout) -> bool:
    """Whether the interpreter can run a group: numbers, and nothing else, in memory of their own kind."""
    codes = layout.listing.code[layout.group.rows]
    if (_jit("emission.interpreter").numbering(len(OPS))[codes] < 0).any():
        return False
    kinds = {*layout.kinds, *(s.dtype.kind for _, s in layout.large)}
    return layout.group.size == 1 and kinds <= {"f"}


_codes: weakref.WeakValueDictionary[Any, KernelCode] = weakref.WeakValueDictionary()
"""The kernels in use, by what they compute: equal ones are one, before any code is written for the second.  And by what
the layout says, from which that follows: groups that differ in the lengths of their arrays are the same there.
"""

_latest: deque[KernelCode] = deque(maxlen=32)
"""The kernels that were made last: a program that is made anew time after time finds its own again."""


def kernel_for(layout: Layout, tier: str) -> Compiled | Interpreted:
    """A group made ready in the wanted tier."""
    if tier == "interpret" and interpretable(layout):
        return Interpreted(layout)
    many, quick = layout.group.size != 1, tier == "quick"
    width = width_of(layout.group.bits, layout.group.size // max(layout.blocks, 1), tier) if many else 1
    how = width, 0 if quick and not many else 2, many and not quick
    said = told_by(layout), *how
    found = _codes.get(said)
    if found is None:
        task = task_of(layout)
        key = facts_of(task), *how
        found = _codes.get(key)
        if found is None:
            found = _codes[key] = KernelCode(task, *how)
            _latest.append(found)
        _codes[said] = found
    return Compiled(found, layout)


def told_by(layout: Layout) -> Any:
    """All of a layout from which a task is made (see `task_of`), in something hashable."""
    group = layout.group
    columns = (layout.listing.code[group.rows], group.operands, layout.place)
    return (
        "layout", group.bits, group.size != 1, tuple(layout.inputs), tuple(layout.lies), tuple(layout.kinds),
        tuple([(type(c), repr(c)) for c in layout.constants]), tuple([a.tobytes() for a in columns]),
        tuple(group.loops), tuple([(t.how, t.values) for t in group.targets]), tuple(layout.outputs),
    )  # fmt: skip


def facts_of(task: Any) -> Any:
    """All that a kernel depends on besides its width, in something hashable; how long arrays are is no part of it."""
    columns = tuple([(a.dtype.str, a.tobytes()) for a in (np.asarray(task.codes), np.asarray(task.operands))])
    loops = tuple([repr(loop) for loop in task.loops])
    constants = tuple([(type(c), repr(c)) for c in task.constants])
    return task.bits, task.many, tuple(task.inputs), tuple(task.outputs), columns, loops, constants
