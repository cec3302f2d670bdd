"""What hooks have a part in during a sweep: those of nodes, around a rule; those of targets, outputs and leaves.

Sweeps come here, in Python and jitted, where there are hooks, or targets that are no leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from ops.core.bundle import Bundle

from ..base.row import OP, PARAMS, X
from ..base.tensor import Tensor
from ..recording.recorder import OUTPUT, wrap
from ..recording.wengert import WengertList, current, list_of, row_of
from .chain import Adjoints, Chain
from .hooks import copy_of, hooked_leaves


def surrounded(
    chain: Chain,
    counts: tuple[int, int],
    contributions: Callable[..., Iterable[tuple[int, Any, Any]]],
    row: list[Any],
    g: Any,
    positions: tuple[int, ...],
    record: bool,
) -> Iterator[tuple[int, Any, Any]]:
    """The contributions of a record whose node has hooks, which has so many results and operands."""
    results, operands = counts
    gs = chain.enter(_parts(g, results))
    found: dict[int, tuple[Any, Any]] = {}
    if any(part is not None for part in gs):
        found = {i: (ref, bar) for i, ref, bar in contributions(row, _whole(gs, g, record), positions, record)}
    given = tuple([_tensor(found[i][1]) if i in found else None for i in range(operands)])
    for i, bar in enumerate(chain.leave(given, gs)):
        if bar is not None:
            # A view, so that the sweep does not add to memory that a hook may have kept.
            yield i, found[i][0], bar if record else np.asarray(bar._data)[...][()]


def pass_by(chain: Chain, counts: tuple[int, int], row: list[Any], g: Any, record: bool) -> None:
    """Call the hooks of a node whose rule is not needed: of a target that leads no further."""
    tuple(surrounded(chain, counts, lambda *_: (), row, g, (), record))


def _tensor(g: Any) -> Any:
    return g if isinstance(g, Tensor) else wrap(g)


def _parts(g: Any, results: int) -> Adjoints:
    """An adjoint as one tensor for each result of the op."""
    if not isinstance(g, Bundle):
        return (_tensor(g),)
    return tuple([None if g[i] is None else _tensor(g[i]) for i in range(results)])


def _whole(gs: Adjoints, g: Any, record: bool) -> Any:
    """The tensors of `_parts` as the adjoint that a rule takes."""
    plain = [part if record or part is None else part._data for part in gs]
    return Bundle({i: part for i, part in enumerate(plain) if part is not None}) if isinstance(g, Bundle) else plain[0]


def target_gradient(arrived: Any, g: Any, leads_on: bool) -> Any:
    """What a target gets: the adjoint that its hooks leave, or, as in PyTorch, that has arrived if it leads to another
    target as well."""
    return arrived if leads_on else g


def show_in_vain(wengert: WengertList, handle: int, g: Any) -> None:
    """Let the hooks of an output see its adjoint though it leads to no target, as those of a single output do."""
    task = current().task
    if not wengert.hooks or task is None or task.roots != (handle,):
        return
    place = place_among_results(handle)
    if place is not None:
        handle, g = place[0], Bundle({place[1]: g})
    if (chain := wengert.hooks.get(handle)) is not None:
        chain.receive(g)


def place_among_results(handle: int) -> tuple[int, int] | None:
    """Of a result of an op with several, the handle of that, and its number; None of others."""
    row = row_of(handle)
    return (copy_of(row[X]), row[PARAMS][0]) if row[OP] == OUTPUT.code else None


def hooked_results(targets: Iterable[int]) -> dict[int, tuple[int, int]]:
    """The targets that are results of an op with several, where there are hooks: by handle, as `place_among_results`.

    Hooks of results are called together, and leave what such targets get; and those of what the other results lead to
    are called too.
    """
    found = {k: place_among_results(k) for k in targets if k >= 0 and list_of(k).hooks}
    return {k: place for k, place in found.items() if place is not None}


def take_results(found: dict[int, Any], results: dict[int, tuple[int, int]]) -> None:
    """Put in place what `hooked_results` have got, out of what was found for their ops."""
    wholes = {op: found.pop(op, None) for op in {op for op, _ in results.values()}}
    for k, (op, i) in results.items():
        found.pop(k, None)
        whole = wholes[op]
        if whole is not None and whole[i] is not None:
            found[k] = whole[i]


def last_readers(
    wengert: WengertList, keys: dict[int, tuple[int | None, ...]], wanted: Callable[[int | None], bool]
) -> dict[int, list[Tensor]]:
    """For the leaves that have hooks, the last row to contribute to each: by handle, the leaves.

    Nothing where another list is reached, from which more may come.
    """
    last: dict[int, int] = {}
    leaves = hooked_leaves()
    for handle, read in keys.items():
        for k in read:
            if k is not None and k > 0 and not wengert.owns(k):
                return {}
            if k is not None and -k in leaves and wanted(k):
                last[-k] = handle
    found: dict[int, list[Tensor]] = {}
    for k, handle in last.items():
        found.setdefault(handle, []).append(leaves[k])
    return found
