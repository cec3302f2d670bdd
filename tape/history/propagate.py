"""The reverse sweep in Python, and a record's part in any sweep: its rules, run on plain arrays or recorded tensors.

With ``create_graph=True`` the adjoints are tensors and the rules record what they compute, so the
result can be differentiated again.  On plain arrays it is what a program begins with, until it has
done as much as makes the jitted sweep pay (`tape.base.jit_door`), what that is tested against, and what
runs where Python's objects cannot be read by address.

Both visit the same records in the same order and add up adjoints in the same order.  They differ by
rounding alone, a few units in the last place for each rule: kernels multiply and add in one step,
and may have sin, tanh, pow, ... from another library than NumPy.
"""

from __future__ import annotations

import heapq
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from math import inf
from typing import Any

import numpy as np

from ops import REGISTRY, Op
from ops.core.bundle import Bundle
from ops.core.differentiate import in_dtype
from ops.core.registry import OPS

from ..base.dtypes import float32, is_narrow
from ..base.errors import used_up_error
from ..base.location import locate
from ..base.row import CODE, HANDLE, LASTI, OP, PARAMS, SPEC, XV, ZV, X, Y
from ..base.tensor import Tensor
from ..recording.packing import Packed, opened
from ..recording.recorder import CUSTOM, output, plan, wrap
from ..recording.wengert import WengertList, arguments, current, key, name_of, operands, spec_of_operand, user_frame
from .chain import pass_by, surrounded
from .hooks import WATCHERS, hooked_leaves, in_order, watched_rules

CLONE = REGISTRY["clone"]


def released(row: list[Any]) -> bool:
    """Whether a value that the rules need was dropped by an earlier backward."""
    op, refs, values, _ = arguments(row)
    return lacking(op, refs, values, row)


def lacking(op: Op, refs: tuple[Any, ...], values: Any, row: list[Any]) -> bool:
    """`released`, for a record whose arguments are at hand."""
    keep, keep_z = plan(op, tuple([i for i, ref in enumerate(refs) if ref is not None]))
    if keep_z and row[ZV] is None:
        return True
    if keep is True or keep is False:
        return keep and row[XV] is None
    return any(keep) and (values is None or any(k and v is None for k, v in zip(keep, values)))


def check_not_released(rows: Iterable[list[Any]]) -> None:
    """Raise if a backward has run through one of these records before and dropped its values."""
    for row in rows:
        if released(row):
            raise released_error(row)


def released_error(row: list[Any]) -> RuntimeError:
    """The error for a second backward through the same record."""
    return used_up_error(name_of(row), locate(row[CODE], row[LASTI]))


def contributions(
    row: list[Any], g: Any, wanted: Callable[[Any], bool], record: bool
) -> Iterable[tuple[int, Any, Any]]:
    """What a record adds to the adjoints of its operands: position, operand and contribution."""
    return _by_its_ctx(row, g, wanted) if row[OP] == CUSTOM.code else _by_its_rules(row, g, wanted, record)


def _by_its_ctx(row: list[Any], g: Any, wanted: Callable[[Any], bool]) -> list[tuple[int, Any, Any]]:
    """The contributions of a custom function, whose ctx knows everything but the row."""
    refs = row[X]
    positions = tuple([i for i, ref in enumerate(refs) if ref is not None and wanted(ref)])
    bars = row[PARAMS][0].vjp(g, positions, row) if positions else ()
    return [(i, refs[i], bars[i]) for i in positions if bars[i] is not None]


def _by_its_rules(
    row: list[Any], g: Any, wanted: Callable[[Any], bool], record: bool
) -> Iterable[tuple[int, Any, Any]]:
    op, refs, values, params = arguments(row)
    if lacking(op, refs, values, row):
        raise released_error(row)
    z = row[ZV]
    positions = tuple([i for i, ref in enumerate(refs) if ref is not None and wanted(ref)])
    if Packed in map(type, values) or type(z) is Packed or type(z) is tuple:
        values, z = _opened(op, op.needs(positions), refs, values, z, record)
    if record:
        if op.joint is None or not {"xs", *op.operands}.isdisjoint(op.joint.names):
            values = tuple(_rebuild(ref, v) for ref, v in zip(refs, values))
        if z is not None:
            z = wrap(z, row[HANDLE], row[SPEC]) if op.outputs == 1 else _results(row, z)
    dtype = row[SPEC] and row[SPEC].dtype
    if narrow := row[SPEC] is None or row[SPEC].narrow:
        values, z, g, dtype = tuple(map(widened, values)), widened(z), widened(g), float32
    if op.kind == "elementwise":
        values = op.promoted(values, dtype)
    env = op.environment(values, z, params)
    bars = op.vjps(positions, g, env) if op.joint is not None and positions else None
    for i in positions:
        spec = spec_of_operand(refs[i])
        if spec is None:
            yield i, refs[i], op.vjp(i, g, env, ())
            continue
        dtype = float32 if narrow and spec.narrow else spec.dtype
        bar = bars[i] if bars is not None else op.vjp(i, g, env, spec.shape, dtype)
        if bar is not None:
            yield i, refs[i], bar if bar.dtype == spec.dtype else in_dtype(bar, spec.dtype)


def widened(x: Any) -> Any:
    """Numbers of 16 bits in 32, so that a rule rounds once, at its end; others as they are.

    Tensors stay in the history, and the adjoints of several results stay together.
    """
    if isinstance(x, Bundle):
        return Bundle({i: widened(part) for i, part in x.parts.items()})
    if isinstance(x, tuple):
        return tuple(map(widened, x))
    dtype = getattr(x, "dtype", None)
    return REGISTRY["cast"](x, dtype=float32) if dtype is not None and is_narrow(dtype) else x


def _results(row: list[Any], z: tuple[Any, ...]) -> tuple[Tensor, ...]:
    """The results of an op with several, as tensors with their place in the history."""
    return tuple(output(current(), row[HANDLE], i, v, row[CODE], row[LASTI]) for i, v in enumerate(z))


def _opened(
    op: Op, needs: set[str], refs: tuple[Any, ...], values: tuple[Any, ...], z: Any, record: bool
) -> tuple[tuple[Any, ...], Any]:
    """The values of a record with those that the rules need got back from where hooks have put them."""
    needed = ["xs" in needs] * len(values) if op.variadic else [name in needs for name in op.operands]
    values = tuple([v.open() if n and type(v) is Packed else v for n, v in zip(needed, values)])
    if record:  # what a hook gives back for a leaf is not the leaf
        ours = [n and isinstance(ref, Tensor) for n, ref in zip(needed, refs)]
        values = tuple([at_leaf(ref, v) if mine else v for mine, ref, v in zip(ours, refs, values)])
    return values, opened(z) if "z" in needs else None


def at_leaf(leaf: Tensor, value: Any) -> Tensor:
    """A tensor of any value whose gradient is the leaf's."""
    wengert = current()
    handle = wengert.next()
    where = wengert.where or user_frame(sys._getframe(1))
    wengert.extend((handle, CLONE.code, leaf, None, None, None, None, None, leaf._spec, *where))
    return wrap(value, handle, leaf._spec)


def _rebuild(ref: Any, value: Any) -> Any:
    """An operand as a tensor with its place in the history."""
    if value is None or ref is None or isinstance(value, Tensor):
        return value
    return ref if isinstance(ref, Tensor) else wrap(value, ref)


PER_RECORD, PER_ELEMENT = 15e-6, 1.5e-9
"""Seconds that a record, and each element of it, takes longer here than in the jitted sweep, if that has a kernel."""

Rows = dict[int, list[Any]]
"""Rows by handle, latest first."""


def reach(wengert: WengertList, roots: Collection[int], limit: float = inf) -> tuple[Rows, float]:
    """The rows that the roots depend on, and how many seconds longer their sweep would take here.

    Looking for more ends where that is beyond a limit.
    """
    rows: Rows = {}
    work = 0.0
    queue = [-handle for handle in roots]
    heapq.heapify(queue)
    while queue and work < limit:
        handle = -heapq.heappop(queue)
        if handle in rows:
            continue
        row = rows[handle] = wengert.record(handle)
        op, spec = OPS[row[OP]], row[SPEC]
        if (op.lane or op.hints.motion) and spec is not None:
            work += PER_RECORD + PER_ELEMENT * spec.size
        for ref in operands(row[X], row[Y]):
            if wengert.owns(ref):
                heapq.heappush(queue, -ref)
    return rows, work


def leading_to(targets: Collection[int], wengert: WengertList, rows: Rows) -> Rows:
    """The rows that lead to one of the targets (keys of operands)."""
    leading = set(targets)

    def leads(ref: Any) -> bool:
        return key(ref) in leading or foreign(wengert, ref)

    for handle in reversed(rows):
        if any(leads(ref) for ref in operands(*rows[handle][X : Y + 1]) if ref is not None):
            leading.add(handle)
    return {handle: row for handle, row in rows.items() if handle in leading}


def visit(wengert: WengertList, roots: Collection[int], targets: Collection[int] | None) -> Rows:
    """The rows that the roots depend on by handle, latest first.

    Where `targets` (keys of operands) are given, only the rows that lead to one of them.
    """
    rows, _ = reach(wengert, roots)
    return rows if targets is None else leading_to(targets, wengert, rows)


def sweep(
    wengert: WengertList,
    roots: dict[int, Any],
    leaves: dict[int, Tensor],
    targets: Collection[int] | None,
    create_graph: bool,
    early: Callable[[Tensor, list[Any]], Any] | None = None,
    reached: Rows | None = None,
) -> tuple[dict[int, Any], list[tuple[int, int]]]:
    """Adjoints of the leaves, the targets and other lists' records, by key; and the runs of rows visited.

    With `early`, a leaf that has hooks gets its adjoint there as soon as that is complete.  `reached` are the
    rows that the roots depend on, where they have been looked for.
    """
    rows = reach(wengert, roots)[0] if reached is None else reached
    rows = rows if targets is None else leading_to(targets, wengert, rows)

    def wanted(ref: Any) -> bool:
        if ref is None:
            return False
        k = key(ref)
        return targets is None or k in rows or k in targets or foreign(wengert, ref)

    # A target that leads no further is not consumed.
    consumed = [handle for handle, row in rows.items() if any(map(wanted, operands(row[X], row[Y])))]
    check_not_released(rows[handle] for handle in consumed)

    adjoints = {handle: g for handle, g in roots.items() if handle in rows}
    for handle in roots.keys() - rows.keys():
        show_in_vain(wengert, handle, roots[handle])
    found: dict[int, Any] = {}
    readers = last_readers(wengert, rows, wanted) if early else {}
    recorder, run_rules = current(), watched_rules(contributions) if WATCHERS else contributions
    leading = set(consumed)
    for handle, row in rows.items():
        if handle in adjoints:
            g, chain = adjoints.pop(handle), wengert.hooks.get(handle)
            recorder.where = None
            if chain is not None:
                g = chain.receive(g)
            if targets is not None and handle in targets:
                found[handle] = g
            if handle not in leading:
                if chain is not None and recorder.task.passing and chain.surrounds():
                    pass_by(chain, row, g, create_graph)
                continue
            recorder.where = row[CODE], row[LASTI]
            rule = partial(surrounded, chain, run_rules) if chain and chain.surrounds() else run_rules
            with np.errstate(all="ignore"):
                for _, ref, bar in rule(row, g, wanted, create_graph):
                    k = key(ref)
                    adjoints[k] = adjoints[k] + bar if k in adjoints else bar
                    if k < 0:
                        leaves[k] = ref
        for leaf in in_order(readers[handle], row) if handle in readers else ():
            k = key(leaf)
            if early and k in adjoints:
                recorder.where = None
                early(leaf, [adjoints.pop(k)])
    return found | adjoints, list(runs(map(wengert.locate, consumed)))


def show_in_vain(wengert: WengertList, handle: int, g: Any) -> None:
    """Let the hooks of an output see its adjoint though it leads to no target; they see that of every output."""
    chain, task = wengert.hooks.get(handle), current().task
    if chain is not None and task is not None and handle in task.roots:
        chain.receive(g)


def last_readers(
    wengert: WengertList, rows: dict[int, list[Any]], wanted: Callable[[Any], bool]
) -> dict[int, list[Tensor]]:
    """For the leaves that have hooks, the last row to contribute to each: by handle, the leaves.

    Nothing where another list is reached, from which more may come.
    """
    last: dict[int, int] = {}
    leaves = hooked_leaves()
    for handle, row in rows.items():
        for ref in operands(row[X], row[Y]):
            if foreign(wengert, ref):
                return {}
            if isinstance(ref, Tensor) and id(ref) in leaves and wanted(ref):
                last[id(ref)] = handle
    found: dict[int, list[Tensor]] = {}
    for k, handle in last.items():
        found.setdefault(handle, []).append(leaves[k])
    return found


def foreign(wengert: WengertList, ref: Any) -> bool:
    """Whether an operand is a record of another thread's list, which may lead anywhere."""
    return type(ref) is int and not wengert.owns(ref)


def runs(positions: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Descending positions as half-open runs of neighbours."""
    start = stop = -1
    for p in positions:
        if p != start - 1:
            if start >= 0:
                yield start, stop
            stop = p + 1
        start = p
    if start >= 0:
        yield start, stop
