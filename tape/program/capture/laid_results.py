"""How results of a program lie in memory: as eager execution lays them for arguments that lie as the recorded ones did.

A replay has them as its kernels make them, in row-major order, or as NumPy does; they are laid out at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache, partial
from operator import methodcaller
from typing import Any

import numpy as np

from ops.core.registry import OPS

from ...recording.recorder import OUTPUT
from ..plans.plan_steps.plan_places import contiguous
from ..recorded.large.later import strides_of
from ..recorded.trace import INPUT, Trace, value_in

Layouts = tuple[tuple[int, tuple[int, ...]], ...]
"""Numbers of outputs, each with the bytes from one entry to the next along its axes; the others have but one layout."""


def layouts_of(trace: Trace, rows: Iterable[int], given: Iterable[Any]) -> Layouts:
    """How the outputs of a recording lie that may lie in several ways, by their records in the order of the outputs.

    A large array must be computed where it cannot be foreseen.  It is, if arguments lie otherwise than in rows, and
    nothing on the way may lie otherwise than it does in eager execution; else it lies as replays make it, in rows.
    """
    computes = not trace.unsure and layout_of(given) is not True
    found = [(i, _strides(trace, row, computes)) for i, row in enumerate(rows) if _has_layout(trace, row)]
    return tuple([(i, strides) for i, strides in found if strides is not None])


def _has_layout(trace: Trace, row: int) -> bool:
    """Whether a record gives an array with several axes, or looks at another one's memory."""
    spec, code = trace.spec(row), trace.code(row)
    if spec is None or not spec.shape or spec.size < 2 or code == INPUT:
        return False
    return spec.ndim > 1 or code == OUTPUT.code or (code >= 0 and bool(OPS[code].view))


def _strides(trace: Trace, row: int, computes: bool) -> tuple[int, ...] | None:
    """The strides of a record's value, None if they are not known."""
    found = strides_of(trace.values[row])
    return strides_of(trace.value(row)) if found is None and computes else found


def lay_out(values: list[Any], layouts: Layouts) -> list[Any]:
    """The outputs of a replay as they should lie."""
    for i, strides in layouts:
        z = values[i]
        if z.strides != strides:
            values[i] = laying(z.shape, strides, z.itemsize)(z)
    return values


@lru_cache(1 << 10)
def laying(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> Callable[[np.ndarray], np.ndarray]:
    """What copies an array of a shape so that it lies with some strides; axes of length 1 lie anyhow."""
    axes = tuple(sorted(range(len(shape)), key=lambda k: (-strides[k], shape[k] != 1)))
    if not contiguous([shape[k] for k in axes], [strides[k] for k in axes], itemsize):
        return partial(_with_gaps, strides=strides)
    if axes == tuple(range(len(shape))):
        return methodcaller("copy")
    if axes[::-1] == tuple(range(len(shape))):
        return methodcaller("copy", "F")
    back = tuple(np.argsort(axes).tolist())
    return lambda z: z.transpose(axes).copy().transpose(back)


def _with_gaps(z: np.ndarray, strides: tuple[int, ...]) -> np.ndarray:
    """A copy that is a part of a larger array, or repeats elements."""
    ends = [step * (n - 1) for step, n in zip(strides, z.shape)]
    first = -sum([end for end in ends if end < 0])
    extent = z.itemsize + sum(map(abs, ends))
    made = np.ndarray(z.shape, z.dtype, np.empty(extent, np.uint8).data, first, strides)
    made[...] = z
    return made


def layout_of(given: Iterable[Any]) -> Any:
    """How arguments lie in memory: True if all of them do in row-major order, else the strides of those that do not."""
    arrays = [x if isinstance(x, np.ndarray) else None for x in map(value_in, given)]
    strides = [() if x is None or x.flags.c_contiguous else x.strides for x in arrays]
    return tuple(strides) if any(strides) else True
