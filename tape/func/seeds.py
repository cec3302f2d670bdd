"""The unit vectors that a Jacobian is made of: one after the other, or all at once as a batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

import ops
from ops.core.batching import LanesDiffer

from ..base.row import SPEC, XV, YV, ZV
from ..base.tensor import Tensor
from ..levels.batch import Batch
from ..levels.direction import Direction, make, parts, zeros
from ..recording.laying import laid_as_target
from ..recording.level import Layer, history, live
from ..recording.recorder import wrap
from ..recording.wengert import op_of, row_of
from .inner import Inner

Rows = list[Tensor | None]

PER_SWEEP, PER_ROW, PER_RULE, PER_BYTE = 50e-6, 0.15e-6, 5e-6, 0.3e-9
"""Seconds that a jitted sweep takes: in all, for a row with a kernel, for one whose rule runs in Python, for a byte."""

PER_BATCHED_ROW, PER_BATCHED_BYTE = 60e-6, 0.15e-9
"""Seconds that a row takes in a sweep with batched adjoints, and for each byte and vector more."""


def unit_vectors(x: Tensor, unit: complex = 1) -> Iterable[Tensor]:
    """Tensors of the shape of x, each with a single 1, in the order of x's elements."""
    one = unit if x._spec.complex else np.real(unit)
    for k in range(x._spec.size):
        vector = np.zeros(x._spec.size, x._spec.dtype)
        vector[k] = one
        yield wrap(vector.reshape(x._spec.shape)[()])


def basis(x: Tensor, start: int, stop: int, unit: complex = 1) -> np.ndarray:
    """Unit vectors of the shape of x, along a first axis; zeros where their number is none of an element's.

    The `unit` may be i; for a real x they are 0 then.
    """
    rows = np.zeros((stop - start, x._spec.size), x._spec.dtype)
    inside = np.arange(max(start, 0), min(stop, x._spec.size))
    rows[inside - start, inside] = unit if x._spec.complex else np.real(unit)
    return rows.reshape(stop - start, *x._spec.shape)


def rows_of(inner: Inner, z: Tensor, create: bool, chunk_size: int | None, batched: bool = False) -> Rows:
    """For each target the Jacobian of z by rows, (elements of z, *shape of the target); None where z is independent.

    Args:
        inner: the derivative.
        z: what is differentiated.
        create: record the sweeps.
        chunk_size: rows at a time; as many as pay where None.
        batched: all at a time if chunk_size is None.

    Where z is complex it is ∂z/∂x, from the adjoints x̄ of 1 and x̂ of i: ½ conj(x̄ − i x̂), or x̄ + i x̂ for a real x.
    """
    found = _adjoints(inner, z, create, chunk_size, batched, 1)
    if not z._spec.complex:
        return found
    turned = _adjoints(inner, z, create, chunk_size, batched, 1j)
    return [None if a is None or b is None else _wirtinger(a, b) for a, b in zip(found, turned)]


def _wirtinger(a: Tensor, b: Tensor) -> Tensor:
    return ops.conj((a - 1j * b) * 0.5) if a._spec.complex else ops.complex(a, b)


def _adjoints(inner: Inner, z: Tensor, create: bool, chunk_size: int | None, batched: bool, unit: complex) -> Rows:
    """For each target the adjoints that the elements of z give it, each with the adjoint `unit`."""
    n = z._spec.size
    if chunk_size is None and not batched and not pays(z, n, create):
        chunk_size = 1
    step = max(n if chunk_size is None else min(chunk_size, n), 1)
    if step == 1:
        return _one_by_one(inner, z, create, unit)
    try:
        chunks = [
            inner.gradients([z], [wrap(basis(z, k, min(k + step, n), unit))], retain=True, create=create, batched=True)
            for k in range(0, n, step)
        ]
    except LanesDiffer:
        if batched:
            raise
        return _one_by_one(inner, z, create, unit)
    return [None if g[0] is None else g[0] if len(g) == 1 else ops.cat(g, axis=0) for g in zip(*chunks)]


def _one_by_one(inner: Inner, z: Tensor, create: bool, unit: complex) -> Rows:
    found = [inner.gradients([z], [e], retain=True, create=create) for e in unit_vectors(z, unit)]
    if not found:
        return [None] * len(inner.targets)
    rows = [None if g[0] is None else ops.stack(*g, axis=0) for g in zip(*found)]
    return [laid_as_target(g, x) for g, x in zip(rows, inner.targets)]  # each row lies so


def pays(z: Tensor, n: int, create: bool) -> bool:
    """Whether one sweep with n adjoints for each record takes less time than n sweeps.

    A sweep with batched adjoints runs in Python, and so costs more for each record; but it is one, and
    products of a matrix with a vector become products of matrices.
    """
    if n < 2 or isinstance(live(z), Layer):
        return False
    if create:
        return True
    rows, held, alone = 0, 0, PER_SWEEP
    for k in history([z]):
        if k > 0:
            row = row_of(k)
            op = op_of(row)
            rows += 1
            held += sum([_nbytes(row[field]) for field in (XV, YV, ZV)]) + (row[SPEC].nbytes if row[SPEC] else 0)
            alone += PER_RULE if op.lane is None and op.hints.motion is None else PER_ROW
            if n * alone < rows * PER_BATCHED_ROW / 2 and held < 1 << 16:
                return False
    return rows * PER_BATCHED_ROW + n * held * PER_BATCHED_BYTE < n * (alone + held * PER_BYTE)


def _nbytes(field: Any) -> int:
    return sum(map(_nbytes, field)) if type(field) is tuple else getattr(field, "nbytes", 0)


def blocks_along(
    function: Callable[[Sequence[Tensor], Direction | None], Sequence[Tensor]], xs: Sequence[Tensor],
    chunk_size: int | None, randomness: str = "error",
) -> list[list[Tensor]]:  # fmt: skip
    """The Jacobian in forward mode: for each result of the function, and each of the xs, a block.

    The function, which is also told the level at which they move, is called once for `chunk_size` elements of the
    xs, for all of them if that is None; and again with the directions i where an x is complex.  Of the derivatives ż
    along 1 and z̃ along i the block is then ½ (ż − i z̃), or the gradient ż + i z̃ where z is real.
    """
    columns = _along(function, xs, chunk_size, randomness, 1)
    if columns is None:
        zs = [live(z) for z in function(xs, None)]
        return [[no_block(z, x) for x in xs] for z in zs]
    turned = _along(function, xs, chunk_size, randomness, 1j) if any(x._spec.complex for x in xs) else columns
    assert turned is not None
    return [list(_parted(column, other, xs)) for column, other in zip(columns, turned)]


def no_block(z: Tensor, x: Tensor) -> Tensor:
    """A block of zeros, with the dtype that the Jacobian of z with respect to x has."""
    dtype = np.result_type(z._spec.dtype, x._spec.dtype) if z._spec.complex else x._spec.dtype
    return wrap(np.zeros((*z._spec.shape, *x._spec.shape), dtype)[()])


def _along(
    function: Any, xs: Sequence[Tensor], chunk_size: int | None, randomness: str, unit: complex
) -> list[Tensor] | None:
    """The derivatives of each result along the elements of the xs, along a first axis; None without elements."""
    total = sum(x._spec.size for x in xs)
    step = max(total if chunk_size is None else min(chunk_size, total), 1)
    push = _push_one if step == 1 else _push
    try:
        chunks = [push(function, xs, k, min(k + step, total), randomness, unit) for k in range(0, total, step)]
    except LanesDiffer:
        chunks = [_push_one(function, xs, k, k + 1, randomness, unit) for k in range(total)]
    return [c[0] if len(c) == 1 else ops.cat(c, axis=0) for c in zip(*chunks)] if chunks else None


def _push(function: Any, xs: Sequence[Tensor], start: int, stop: int, randomness: str, unit: complex) -> list[Tensor]:
    """Derivatives along elements number start … stop − 1 of the xs, along a first axis."""
    with Batch(stop - start, randomness) as level, Direction() as direction:
        moving = list(_moving(xs, start, stop, unit, level, direction))
        pairs = [parts(z, direction) for z in function(moving, direction)]
        made = []
        for z, z_dot in pairs:
            below, has_lanes = level.parts(zeros(z) if z_dot is None else z_dot)
            made.append(below if has_lanes else level.full(below))
    return made


def _moving(
    xs: Sequence[Tensor], start: int, stop: int, unit: complex, level: Batch, direction: Direction
) -> Iterator[Tensor]:
    offset = 0
    for x in xs:
        first, last = start - offset, stop - offset
        moves = first < x._spec.size and last > 0
        yield make(x, level.layer(wrap(basis(x, first, last, unit))), direction) if moves else x
        offset += x._spec.size


def _push_one(
    function: Any, xs: Sequence[Tensor], start: int, stop: int, randomness: str, unit: complex
) -> list[Tensor]:
    with Direction() as direction:
        moving, offset = list(xs), 0
        for j, x in enumerate(xs):
            if 0 <= start - offset < x._spec.size:
                moving[j] = make(x, wrap(basis(x, start - offset, stop - offset, unit)[0][()]), direction)
            offset += x._spec.size
        pairs = [parts(z, direction) for z in function(moving, direction)]
    return [ops.unsqueeze(zeros(z) if z_dot is None else z_dot, axis=0) for z, z_dot in pairs]


def _parted(column: Tensor, turned: Tensor, xs: Sequence[Tensor]) -> Iterator[Tensor]:
    """The blocks of an output with respect to each of the xs, out of its derivatives along a first axis."""
    start = 0
    for x in xs:
        place = slice(start, start + x._spec.size)
        rows = ops.getitem(column, index=place)
        if x._spec.complex:
            other = ops.getitem(turned, index=place)
            rows = (rows - 1j * other) * 0.5 if rows._spec.complex else ops.complex(rows, other)
        shape = (*column._spec.shape[1:], *x._spec.shape)
        block = ops.reshape(ops.movedim(rows, 0, -1), shape=shape)
        is_spread = type(block) is Tensor and not block._data.flags.writeable  # one number stands in several places
        yield block.contiguous() if is_spread else block
        start += x._spec.size
