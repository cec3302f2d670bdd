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
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from math import inf
from typing import Any, NamedTuple

import numpy as np

from ops import REGISTRY, Op
from ops.core.registry import OPS

from ..base.dtypes import float32
from ..base.errors import used_up_error
from ..base.location import locate
from ..base.row import CODE, HANDLE, LASTI, OP, PARAMS, SPEC, WIDTH, XV, YV, ZV, X, Y
from ..base.tensor import Tensor
from ..recording.halves import SEEING_TO_IT
from ..recording.leaf import VARIABLES
from ..recording.packing import Packed
from ..recording.recorder import CUSTOM, plan
from ..recording.wengert import THREAD_SHIFT, WengertList, current, list_of, operands, row_of, spec_of_operand
from .hooks import WATCHERS, Rules, in_order, watched_rules
from .hooks_in_sweeps import last_readers, pass_by, show_in_vain, surrounded, target_gradient
from .rule_values import opened_for, rebuilt, widened
from .small_parts import LARGE, Contributions, Moved, PartAlone, in_parts

Rows = dict[int, list[Any]]
"""Rows by handle, latest first."""

NO_ROWS: Rows = {}


def arguments(row: list[Any]) -> tuple[Op, tuple[Any, ...], tuple[Any, ...], dict[str, Any]]:
    """Op, operands, operand values and parameters of a record."""
    op, params = OPS[row[OP]], row[PARAMS]
    number = params if type(params) is float else None
    if type(row[X]) is tuple:
        refs, values = row[X], row[XV] or (None,) * len(row[X])
    elif op.arity == 1:
        refs, values = (row[X],), (row[XV],)
    else:
        refs = row[X], row[Y]
        values = tuple(number if ref is None and v is None else v for ref, v in zip(refs, (row[XV], row[YV])))
    named = {} if params is None or number is not None else dict(zip(op.params, params))
    return op, refs, values, named


def node_name(row: list[Any]) -> str:
    """The name of a record's node, as PyTorch spells it."""
    op, refs, _, params = arguments(row)
    number = None if type(row[PARAMS]) is not float else 0 if refs[0] is None else 1
    return op.node_name(params, number, len(row[SPEC].shape) if row[SPEC] is not None else 0)


def name_of(row: list[Any]) -> str:
    """What to call a record's operation in a message."""
    op, _, _, params = arguments(row)
    return op.title(params)


def result_count(row: list[Any]) -> int:
    """Number of results of a record that an adjoint may come to."""
    op, refs, _, params = arguments(row)
    if op.outputs > 0:
        return op.outputs - op.integers
    if op.name == "custom":
        return len(getattr(params["ctx"], "_outputs", ()))
    spec = spec_of_operand(refs[0])
    assert spec is not None, "ops with several results take values"
    return len(op.forward(np.broadcast_to(np.zeros((), spec.dtype), spec.shape), **params))


def counts_of(row: list[Any]) -> tuple[int, int]:
    """The numbers of a record's results and operands."""
    return result_count(row), len(arguments(row)[1])


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
    row: list[Any], g: Any, positions: tuple[int, ...], record: bool, known: Rows = NO_ROWS
) -> Iterable[tuple[int, Any, Any]]:
    """What a record adds to the adjoints of the operands at some positions: position, operand and contribution.

    Rows of operands that are `known` already need not be looked up.
    """
    return _by_its_ctx(row, g, positions) if row[OP] == CUSTOM.code else _by_its_rules(row, g, positions, record, known)


def moved(row: list[Any], g: Any, positions: tuple[int, ...], is_free: bool) -> Contributions | None:
    """What a record contributes that only moves parts of an adjoint (`.small_parts`); None if it does more."""
    arity = OF_PARTS.get(row[OP])
    if arity is None or not positions:
        return None
    whole = spec_of_operand(row[X]) if arity == 1 else row[SPEC]
    return None if whole is None or whole.size < LARGE else in_parts(row, arguments(row), whole, g, positions, is_free)


OF_PARTS = {op.code: op.arity for op in REGISTRY.values() if op.hints.part is not None and op.kind == "linear"}
"""The ops that may read a part of an array, or overwrite one, and how many operands they have."""


def _by_its_ctx(row: list[Any], g: Any, positions: tuple[int, ...]) -> list[tuple[int, Any, Any]]:
    """The contributions of a custom function, whose ctx knows everything but the row."""
    bars = row[PARAMS][0].vjp(g, positions, row) if positions else ()
    return [(i, row[X][i], bars[i]) for i in positions if bars[i] is not None]


def _by_its_rules(
    row: list[Any], g: Any, positions: tuple[int, ...], record: bool, known: Rows
) -> list[tuple[int, Any, Any]]:
    op, refs, values, params = arguments(row)
    z, spec = row[ZV], row[SPEC]
    if op.reads_values:
        if lacking(op, refs, values, row):
            raise released_error(row)
        if Packed in map(type, values) or type(z) is Packed or type(z) is tuple:
            values, z = opened_for(op, op.needs(positions), refs, values, z, record)
        if record:
            values, z = rebuilt(op, refs, values, z, row)
    dtype, wide = spec and spec.dtype, None
    if (spec is None or spec.narrow) and op.name not in SEEING_TO_IT:
        values, z, g, dtype = tuple(map(widened, values)), widened(z), widened(g), float32
        wide = float32
    specs = {}
    for i in positions:
        ref = refs[i]
        specs[i] = ref._spec if isinstance(ref, Tensor) else (known.get(ref) or row_of(ref))[SPEC]
    found = op.contributions(positions, g, values, z, params, specs, dtype, wide)
    return [(i, refs[i], bar) for i, bar in found]


PER_RECORD, PER_ELEMENT = 15e-6, 1.5e-9
"""Seconds that a record, and each element of it, takes longer here than in the jitted sweep, if that has a kernel."""


class Reached(NamedTuple):
    """What some roots depend on.

    Attributes:
        rows: of the list.
        keys: by handle, the keys of the record's operands, None where no gradient flows.
        work: how many seconds longer a sweep would take here than jitted.
    """

    rows: Rows
    keys: dict[int, tuple[int | None, ...]]
    work: float


def reach(
    wengert: WengertList, roots: Collection[int], targets: Collection[int] | None = None, limit: float = inf
) -> Reached:
    """What the roots depend on, as far as it may lead to targets; looking ends where the work is beyond a limit."""
    rows: Rows = {}
    keys: dict[int, tuple[int | None, ...]] = {}
    work, number, least = 0.0, wengert.number, earliest(wengert, targets)
    queue = [-handle for handle in roots]
    heapq.heapify(queue)
    while queue and work < limit:
        handle = -heapq.heappop(queue)
        if handle in rows:
            continue
        start = (handle - wengert.shift) * WIDTH
        row = wengert.rows[start : start + WIDTH]
        if not row or row[HANDLE] != handle:  # an older one, which has moved up
            row = wengert.record(handle)
        rows[handle], x = row, row[X]
        refs = x if type(x) is tuple else (x, row[Y])
        keys[handle] = tuple([-id(ref) if isinstance(ref, Tensor) else ref for ref in refs])
        op, spec = OPS[row[OP]], row[SPEC]
        if (op.lane or op.hints.motion) and spec is not None:
            work += PER_RECORD + PER_ELEMENT * spec.size
        for k in keys[handle]:
            if k is not None and k >= least and k >> THREAD_SHIFT == number:
                heapq.heappush(queue, -k)
    return Reached(rows, keys, work)


def earliest(wengert: WengertList, targets: Collection[int] | None) -> int:
    """The first record of a list that may lead to one of the targets: none from before they all were made does.

    What led there through another list would have been made before them too.
    """
    least = 0
    for k in targets or ():
        born = _birth(k)
        if born >> THREAD_SHIFT != wengert.number:
            return 0
        least = min(born, least or born)
    return least


def _birth(key: int | None) -> int:
    """The last record before a target was made, or that which it is; 0 if it is not known."""
    if key is None or key > 0:
        return key or 0
    leaf = VARIABLES.get(key)
    return 0 if leaf is None else leaf._born


def leading_to(targets: Collection[int], wengert: WengertList, reached: Reached) -> Rows:
    """The rows that lead to one of the targets (keys of operands)."""
    rows, keys, _ = reached
    leading = set(targets)
    for handle in reversed(rows):
        if any(k in leading or elsewhere(wengert, k) for k in keys[handle] if k is not None):
            leading.add(handle)
    return {handle: row for handle, row in rows.items() if handle in leading}


def visit(wengert: WengertList, roots: Collection[int], targets: Collection[int] | None) -> Rows:
    """The rows that the roots depend on by handle, latest first.

    Where `targets` (keys of operands) are given, only the rows that lead to one of them.
    """
    reached = reach(wengert, roots, targets)
    return reached.rows if targets is None else leading_to(targets, wengert, reached)


def behind(handles: Collection[int]) -> list[tuple[WengertList, Rows]]:
    """The lists of some records, each with the rows that those depend on there."""
    found = []
    for wengert in {list_of(handle) for handle in handles}:
        mine = [handle for handle in handles if not elsewhere(wengert, handle)]
        found.append((wengert, visit(wengert, mine, None)))
    return found


def through(handles: Collection[int], targets: Collection[int] | None) -> Iterator[tuple[WengertList, Rows]]:
    """What some records depend on, through the lists of all threads: each list with its rows, as by `visit`.

    A list is given again where a record of another one, found later, leads back into it.
    """
    seen, queue = set(handles), list(handles)
    while queue:
        wengert = list_of(queue[-1])
        roots = [k for k in queue if wengert.owns(k)]
        queue = [k for k in queue if not wengert.owns(k)]
        with wengert.still():
            rows = visit(wengert, roots, targets)
        yield wengert, rows
        refs = [ref for row in rows.values() for ref in operands(row[X], row[Y]) if type(ref) is int]
        there = {ref for ref in refs if not wengert.owns(ref)} - seen
        seen |= there
        queue += there


class Silence:
    """Keeps NumPy from warning while a sweep runs rules: from the first of them until something of the user's runs."""

    _state: np.errstate | None = None

    def keep(self) -> None:
        """Let NumPy say nothing from here on."""
        if self._state is None:
            self._state = np.errstate(all="ignore")
            self._state.__enter__()

    def end(self) -> None:
        """Let NumPy warn again: of what the user's own functions do, and of what comes after the sweep."""
        if self._state is not None:
            state, self._state = self._state, None
            state.__exit__(None, None, None)


def sweep(
    wengert: WengertList,
    roots: dict[int, Any],
    leaves: dict[int, Tensor],
    targets: Collection[int] | None,
    create_graph: bool,
    early: Callable[[Tensor, list[Any]], Any] | None = None,
    reached: Reached | None = None,
    retain: bool = False,
) -> tuple[dict[int, Any], list[tuple[int, int]]]:
    """Adjoints of the leaves, the targets and other lists' records, by key; and the runs of rows visited.

    The runs, which are wanted for what is released, are none if all is to `retain` its values.

    With `early`, a leaf that has hooks gets its adjoint there as soon as that is complete.  `reached` is what
    the roots depend on, where that has been looked for.
    """
    reached = reached or reach(wengert, roots, targets)
    keys = reached.keys
    rows = reached.rows if targets is None else leading_to(targets, wengert, reached)

    def wanted(k: int | None) -> bool:
        return k is not None and (targets is None or k in rows or k in targets or elsewhere(wengert, k))

    # A target that leads no further is not consumed.
    consumed = [handle for handle in rows if any(map(wanted, keys[handle]))]
    check_not_released(rows[handle] for handle in consumed if handle <= wengert.released)

    adjoints = {handle: g for handle, g in roots.items() if handle in rows}
    free: set[int] = set()
    for handle in roots.keys() - rows.keys():
        show_in_vain(wengert, handle, roots[handle])
    found: dict[int, Any] = {}
    readers = last_readers(wengert, {handle: keys[handle] for handle in rows}, wanted) if early else {}
    recorder, silence = current(), Silence()
    run_rules: Rules = partial(contributions, known=reached.rows)
    plain_rules = None if create_graph else run_rules
    if WATCHERS:
        run_rules = watched_rules(run_rules)
    leading = set(consumed)
    try:
        for handle, row in rows.items():
            if handle in adjoints:
                g, chain, is_free = adjoints.pop(handle), wengert.hooks.get(handle), handle in free
                if is_free:
                    free.discard(handle)
                recorder.where = None
                arrived = g
                if chain is not None:
                    silence.end()
                    g = chain.receive(g)
                if targets is not None and handle in targets:
                    found[handle], is_free = target_gradient(arrived, g, handle in leading), False
                if handle not in leading:
                    if chain is not None and recorder.task.passing and chain.surrounds():
                        pass_by(chain, counts_of(row), row, g, create_graph)
                    continue
                recorder.where = row[CODE], row[LASTI]
                rule = run_rules
                if chain and chain.surrounds():
                    rule = partial(surrounded, chain, counts_of(row), rule)
                positions = tuple([i for i, k in enumerate(keys[handle]) if wanted(k)])
                silence.keep()
                parts = None
                if row[OP] in OF_PARTS and rule is plain_rules:  # few ops: no call for the others
                    parts = moved(row, g, positions, is_free and chain is None)
                for i, ref, bar in rule(row, g, positions, create_graph) if parts is None else parts:
                    k = keys[handle][i]
                    assert k is not None, "no rule runs for it"
                    if parts is None and k not in free:
                        adjoints[k] = adjoints[k] + bar if k in adjoints else bar
                    else:
                        _gather(adjoints, free, k, ref, bar)
                    if k < 0:
                        leaves[k] = ref
            for leaf in in_order(readers[handle], row) if handle in readers else ():
                k = -id(leaf)
                if early and k in adjoints:
                    recorder.where = None
                    silence.end()
                    free.discard(k)
                    early(leaf, [adjoints.pop(k)])
    finally:
        silence.end()
    return found | adjoints, [] if retain else wengert.runs(consumed)


def _gather(adjoints: dict[int, Any], free: set[int], k: int, ref: Any, bar: Any) -> None:
    """Add to an adjoint that nobody else holds, and that may be changed: one that is `free`, or is so from now on."""
    total: Any = adjoints.get(k)
    if type(bar) is PartAlone:
        if total is None:
            spec = spec_of_operand(ref)
            assert spec is not None, "an array is read"
            adjoints[k] = total = np.zeros(spec.shape, spec.dtype)
            bar.put_into(total)
        else:
            if k not in free:
                adjoints[k] = total = np.array(total)
            bar.add_to(total)
        free.add(k)
        return
    if type(bar) is Moved:
        adjoints[k] = bar.bar if total is None else total + bar.bar
        free.add(k)
    elif k in free and bar.dtype == total.dtype:
        total += bar
    else:
        adjoints[k] = bar if total is None else total + bar
        free.discard(k)


def elsewhere(wengert: WengertList, k: int) -> bool:
    """Whether a key is that of a record of another thread's list, which may lead anywhere."""
    return k >= 0 and k >> THREAD_SHIFT != wengert.number
