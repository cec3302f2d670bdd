"""Watching a sweep for nan and for errors: the mode itself, the rules run under it, and what is said of one at fault.

The mode is the process's, as PyTorch's is.  The jitted sweep looks at what each step has written
(`tape.jit.driving.search_for_nan`), so that only the record at fault is gone through again, in Python.
"""

from __future__ import annotations

import sys
import warnings
from collections import deque
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ops import Op
from ops.core.bundle import Bundle

from ..base.jit_door import jitted
from ..base.location import Location, locate
from ..base.row import CODE, HANDLE, LASTI, SPEC, WIDTH, ZV
from ..base.spec import Spec
from ..base.tensor import Tensor
from ..recording.recorder import user_frame
from ..recording.wengert import WengertList, current, op_of, row_of
from .hooks import WATCHERS, Rules, Steps, Watcher
from .propagate import arguments, node_name

MOST_INDUCED = 1 << 16


class Mode(Watcher):
    """Whether sweeps are watched, and whether nan is an error in them."""

    def __init__(self) -> None:
        self.enabled, self.check_nan = False, True

    def set(self, enabled: bool, check_nan: bool) -> None:
        """Set both, for the whole process."""
        self.enabled, self.check_nan = bool(enabled), bool(check_nan)
        if self.enabled and self not in WATCHERS:
            WATCHERS.insert(0, self)
        elif not self.enabled and self in WATCHERS:
            WATCHERS.remove(self)
            INDUCED.clear()

    def rules(self, inner: Rules) -> Rules:
        return partial(watched, inner)

    def steps(self, inner: Steps, run: Any) -> Steps:
        return partial(jitted("driving.search_for_nan").run, run) if self.check_nan else inner


class Induced(NamedTuple):
    """The records, from `first` to `last`, that the rule of another record made in a recorded backward.

    Attributes:
        parent: the number of that other record, which does not keep it alive.
        name: the name of its node.
        location: the user's line that recorded it.
    """

    first: int
    last: int
    parent: int
    name: str
    location: Location


INDUCED: deque[Induced] = deque(maxlen=MOST_INDUCED)
"""The latest of them, while the mode is on."""

MODE = Mode()


def watched(
    inner: Rules, row: list[Any], g: Any, positions: tuple[int, ...], record: bool
) -> Iterator[tuple[int, Any, Any]]:
    """What a record contributes, where an error tells which record it came from, and nan is one."""
    wengert = current()
    before = last_handle(wengert)
    try:
        for i, ref, bar in inner(row, g, positions, record):
            if MODE.check_nan and has_nan(bar):
                raise nan_error(row, g, i, bar)
            yield i, ref, bar
    except Exception as error:
        blame(row, error)
        raise
    last = last_handle(wengert)
    if record and last > before:
        parent = row[HANDLE] + 1 - 1
        INDUCED.append(Induced(before + 1, last, parent, node_name(row), locate(row[CODE], row[LASTI])))


def last_handle(wengert: WengertList) -> int:
    """The number of the last record of a list."""
    return wengert.rows[-WIDTH + HANDLE] + 1 - 1 if wengert.rows else -1


def has_nan(bar: Any) -> bool:
    """Whether an adjoint, or one of several, has an element that is not a number."""
    if isinstance(bar, Bundle):
        return any(map(has_nan, bar.parts.values()))
    return bool(np.isnan(getattr(bar, "_data", bar)).any())


def blame(row: list[Any], error: Exception) -> None:
    """Say beside an error which record it came from, and which backward made that record if one did.

    As in PyTorch, this is a warning too, so that it is seen where the error is caught.
    """
    tell(error, f"Error detected in {node_name(row)}, recorded at ", locate(row[CODE], row[LASTI]))
    for made in _ancestors(row[HANDLE]):
        tell(error, f"It is part of the gradient of {made.name}, which was recorded at ", made.location)


def told(row: list[Any], error: RuntimeError) -> RuntimeError:
    """An error found before the rule of a record was run; if the mode is on, `blame` is laid."""
    if MODE.enabled:
        blame(row, error)
    return error


def _ancestors(handle: int) -> Iterator[Induced]:
    """What made a record, what made that, and so on."""
    for made in reversed(INDUCED):
        if made.first <= handle <= made.last:
            yield made
            handle = made.parent


def tell(error: BaseException, what: str, place: Location) -> None:
    """Add a note to an error that does not name the place itself, and warn.

    Where warnings are errors this is said on stderr, so that the error itself stands.
    """
    text = f"{what}{place}"
    if str(place) not in str(error):
        error.add_note(text)
    here = locate(*user_frame(sys._getframe(1)))
    try:
        warnings.warn_explicit(text, UserWarning, here.file, here.line)
    except UserWarning:
        print(text, file=sys.stderr)


def nan_error(row: list[Any], g: Any, i: int, bar: Any) -> RuntimeError:
    """The error for a rule that gave nan in its adjoint `bar` of operand `i`, from the adjoint `g`."""
    op = op_of(row)
    lines = [f"Function '{node_name(row)}' returned nan values in its {_output(row, i)}th output."]
    lines.append(f"  recorded at {locate(row[CODE], row[LASTI])}")
    bar, values = _whole(row, _plain(g), i, bar)
    index = first(np.isnan(bar))
    place = f"the first nan at index {_bracket(index)} of " if index else ""
    lines.append(f"  {place}the gradient of operand {_operand(op, i)} comes from")
    lines += [f"    {line}" for line in _inputs(row, i, values, index if op.kind == "elementwise" else None)]
    if any(np.isnan(v).any() for v in _parts(_plain(g))):
        lines.append(
            "The gradient that came in was nan already: it was given to backward(), a hook returned it, or infinite "
            "gradients of opposite sign met."
        )
    return RuntimeError("\n".join(lines))


def first(mask: Any) -> tuple[int, ...]:
    """The index of the first true element, or of the first element if none is."""
    mask = np.asarray(mask)
    return tuple(int(k) for k in np.unravel_index(int(mask.argmax()), mask.shape)) if mask.ndim else ()


def _plain(x: Any) -> Any:
    """A tensor's value; bundles and arrays as they are."""
    return x._data if isinstance(x, Tensor) else x


def _parts(x: Any) -> list[Any]:
    return [_plain(part) for part in x.parts.values()] if isinstance(x, Bundle) else [x]


def _output(row: list[Any], i: int) -> int:
    """Which output of PyTorch's node belongs to an operand: plain numbers and conditions have none."""
    op, refs, values, _ = arguments(row)
    return sum(op.rule(k) is not None and not (refs[k] is None and type(values[k]) is float) for k in range(i))


def _operand(op: Op, i: int) -> str:
    return f"{i}" if op.variadic else op.operands[i]


def _bracket(index: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, index))}]"


def _whole(row: list[Any], g: Any, i: int, bar: Any) -> tuple[Any, dict[str, Any]]:
    """An adjoint before broadcasting is undone, so that its index is that of the values too; and the values by name."""
    op, _, values, params = arguments(row)
    values = tuple(map(_plain, values))
    names = [_operand(op, k) for k in range(len(values))]
    known = {"g": g, **dict(zip(names, values)), "z": row[ZV]}
    if isinstance(bar, Bundle):
        return next(part for part in _parts(bar) if np.isnan(part).any()), known
    bar = _plain(bar)
    if op.kind == "elementwise" and np.shape(bar) != row[SPEC].shape:
        with np.errstate(all="ignore"):
            whole = op.vjp(i, g, op.environment(values, row[ZV], params), row[SPEC].shape)
        if np.isnan(whole).any():
            return whole, known
    return bar, known


def _inputs(row: list[Any], i: int, values: dict[str, Any], index: tuple[int, ...] | None) -> Iterator[str]:
    """The numbers that the rule met, and where each came from."""
    op, operands, _, _ = arguments(row)
    rule = op.rule(i)
    refs = {_operand(op, k): ref for k, ref in enumerate(operands)}
    for name, value in values.items():
        read = name == "g" or op.variadic or (rule is not None and name in rule.names)
        if read and value is not None:
            for part in _parts(value):
                if not isinstance(part, tuple):
                    yield f"{name}{_shown(part, row[SPEC], index)}{_origin(name, refs.get(name))}"


def _shown(value: Any, spec: Spec | None, index: tuple[int, ...] | None) -> str:
    """The element of a value that is at an index of the result, or else the first that may have made nan."""
    value = np.asarray(value)
    if spec is not None and index is not None:
        return f"{_bracket(index) if value.ndim else ''} = {np.broadcast_to(value, spec.shape)[index]}"
    for strange, text in ((np.isnan(value), "is nan"), (np.isinf(value), "is infinite"), (value == 0, "is 0")):
        if strange.any():
            return f"{_bracket(first(strange)) if value.ndim else ''} {text}"
    return f", of shape {value.shape}, is finite and nowhere 0"


def _origin(name: str, ref: Any) -> str:
    """Where a value came from."""
    if name == "g":
        return ", the gradient that came in"
    if name == "z":
        return ", the result"
    if isinstance(ref, Tensor):
        return ", a leaf"
    if ref is None:
        return ""
    made = row_of(ref)
    return f", computed at {locate(made[CODE], made[LASTI])}"
