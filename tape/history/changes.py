"""Finding values that a rule needs and that were changed in place after they were recorded."""

from __future__ import annotations

import bisect
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base.location import locate
from ..base.row import CODE, HANDLE, LASTI, WIDTH, XV, YV, ZV, X, Y
from ..base.tensor import Tensor
from ..recording.version import CHANGES, REFITS, Change, Refit, forget_released
from ..recording.views import owner
from ..recording.wengert import THREAD_SHIFT, WengertList, key, list_of, operands
from .anomaly import told
from .propagate import earliest, elsewhere, name_of, through

SUMS: dict[int, tuple[int, ...]] = {}
"""By handle, what the values looked like that a record has saved within `autograd.detect_changes`."""


DOUBTS = CHANGES, REFITS, SUMS
"""What notes changes of values that records may have saved; as long as all are empty, nothing is to be checked."""


def check_unchanged(outputs: Sequence[Tensor], targets: Sequence[Tensor] | None) -> None:
    """Raise if a backward from these outputs would use a value that has been changed since.

    Costs nothing unless memory was changed while something held it beside its tensor.

    Raises:
        RuntimeError: naming the op that needs the value and the one that changed it, with the user's lines.
    """
    if CHANGES:
        forget_released()
    wanted = None if targets is None else {-id(t) if t._node is True else t._node for t in targets}
    if not REFITS and not SUMS and not _suspects(wanted):
        return
    seen: set[int] = set()
    for wengert, rows in through([t._node for t in outputs if not t.is_leaf], wanted):
        for handle, row in rows.items():
            if handle not in seen and (wanted is None or _leads(wengert, row, rows, wanted)):
                seen.add(handle)
                _check(row)


def _leads(wengert: WengertList, row: list[Any], rows: dict[int, Any], wanted: set[int]) -> bool:
    """Whether the rule of a record is run: the last one before a target, and the target's own, is not."""
    keys = [key(ref) for ref in operands(row[X], row[Y]) if ref is not None]
    return any(k in wanted or k in rows or elsewhere(wengert, k) for k in keys)


def _suspects(wanted: set[int] | None) -> bool:
    """Whether any record that was there before a change, and may lead to what is wanted, has saved what was changed."""
    latest: dict[int, int] = {}
    for change in list(CHANGES.values()):  # some may go meanwhile, with garbage that is collected
        for number, handle in change.before.items():
            latest[number] = max(handle, latest.get(number, -1))
    return any(_holds_changed(list_of(handle), handle, wanted) for handle in latest.values() if handle >= 0)


def _holds_changed(wengert: WengertList, last: int, wanted: set[int] | None) -> bool:
    first = earliest(wengert, wanted)
    with wengert.still():
        rows, places = wengert.rows, range(len(wengert))
        start = bisect.bisect_left(places, first, key=lambda p: rows[p * WIDTH]) * WIDTH
        stop = bisect.bisect_right(places, last, key=lambda p: rows[p * WIDTH]) * WIDTH
        columns = [rows[start + field : stop : WIDTH] for field in (XV, YV, ZV)]
    return any(_is_changed(value) for column in columns for value in column if value is not None)


def _is_changed(value: Any) -> bool:
    if type(value) is tuple:
        return any(map(_is_changed, value))
    return isinstance(value, (np.ndarray, np.generic)) and id(owner(value)) in CHANGES


def _check(row: list[Any]) -> None:
    for leaf in operands(row[X], row[Y]):
        refit = REFITS.get(id(leaf)) if isinstance(leaf, Tensor) else None
        if refit is not None and _is_before(row, refit):
            raise told(row, refit_error(row, refit, leaf))
    for value in _saved(row):
        change = CHANGES.get(id(owner(value)))
        if change is not None and _is_before(row, change):
            raise told(row, changed_error(row, change))
    if row[HANDLE] in SUMS and (sums := checksums(row)) and sums != SUMS[row[HANDLE]]:
        raise told(row, unseen_error(row))


def _is_before(row: list[Any], change: Change | Refit) -> bool:
    return row[HANDLE] <= change.before.get(row[HANDLE] >> THREAD_SHIFT, -1)


def _saved(row: list[Any]) -> list[Any]:
    values = [row[YV]]
    for value in (row[XV], row[ZV]):
        values += value if isinstance(value, tuple) else (value,)
    return [v for v in values if isinstance(v, (np.ndarray, np.generic))]


def checksums(row: Sequence[Any]) -> tuple[int, ...]:
    """A number for every array that a record has saved."""
    found: list[int] = []
    for field in (XV, YV, ZV):
        values = row[field] if type(row[field]) is tuple else (row[field],)
        found += [zlib.adler32(np.ascontiguousarray(v).view(np.uint8).data) for v in values if type(v) is np.ndarray]
    return tuple(found)


def forget_dropped() -> None:
    """Drop the checksums of records that are gone."""
    alive = {h for wengert in {list_of(h) for h in SUMS} for h in wengert.rows[HANDLE::WIDTH]}
    for handle in SUMS.keys() - alive:
        del SUMS[handle]


def unseen_error(row: list[Any]) -> RuntimeError:
    """The error for a value that is not any more what it was, though nothing has changed it that could be seen."""
    return RuntimeError(
        f"a value that the gradient of {name_of(row)} needs was changed after it was recorded, in a way that is not "
        "noticed as it happens: through .data, numpy() or another library.\n"
        f"  recorded at {locate(row[CODE], row[LASTI])}\n"
        "Change it with an in-place operation under no_grad(), after backward(), or change a copy."
    )


def changed_error(row: list[Any], change: Change) -> RuntimeError:
    """The error for a value that is not any more what it was when it was recorded."""
    return RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace operation:\n"
        f"a value that the gradient of {name_of(row)} needs was changed in place after it was recorded.\n"
        f"  recorded at {locate(row[CODE], row[LASTI])}\n"
        f"  changed by {change.operation} at {locate(change.code, change.lasti)}\n"
        "Call backward() before the change, or change a copy: x.detach().clone()."
    )


def refit_error(row: list[Any], refit: Refit, leaf: Tensor) -> RuntimeError:
    """The error for a leaf whose gradient would not have its shape or dtype any more."""
    return RuntimeError(
        f"a leaf that {name_of(row)} read was {refit.old} then, and is {leaf._spec} now: its gradient would not fit.\n"
        f"  recorded at {locate(row[CODE], row[LASTI])}\n"
        f"  changed by x.data = … at {locate(refit.code, refit.lasti)}\n"
        "Call backward() before the change, or compute the output again."
    )
