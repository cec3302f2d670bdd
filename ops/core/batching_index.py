"""Batching rules of the ops with an index: the lanes are one more axis in front of the indexed ones.

Where arrays of the index are separated by slices NumPy puts their axes first, before that of the lanes;
then the lanes are numbered by an array of the index too.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .batching import Application, apply, batch, dynamic, moved
from .op import REGISTRY

EVERY = slice(None)


class Slot:
    """The place of an operand in the form of an index (see `ops.shapes.places`)."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "SLOT"


SLOT = Slot()


def parts_of(index: Any) -> tuple[Any, ...]:
    """The parts of an index, of which there is one where it is no tuple."""
    return index if isinstance(index, tuple) else (index,)


def is_number(part: Any) -> bool:
    return isinstance(part, (int, np.integer)) and not isinstance(part, bool)


def is_array(part: Any) -> bool:
    """Whether a part of an index is an array, a mask or a sequence of numbers."""
    return not (part is None or part is Ellipsis or isinstance(part, slice) or is_number(part))


def with_lanes(index: Any, n: int) -> tuple[Any, ...]:
    """The index that does to every lane what an index does to one."""
    parts = parts_of(index)
    arrays = [np.asarray(p) for p in parts if is_array(p)]
    at = [k for k, p in enumerate(parts) if is_array(p) or is_number(p)]
    if not arrays or at[-1] - at[0] == len(at) - 1:
        return (EVERY, *parts)
    ndim = max(1 if p.dtype == np.bool_ else p.ndim for p in arrays)
    return (np.arange(n).reshape(n, *(1,) * ndim), *parts)


def selecting(a: Application) -> Any:
    """The rule of `select` and `getitem`."""
    return apply("getitem", a.operands[0], index=with_lanes(a.params["index"], a.n))


def scattering(a: Application) -> Any:
    """The rule of `scatter`."""
    return a.again(a.operands[0], index=with_lanes(a.params["index"], a.n), shape=(a.n, *a.params["shape"]))


def collecting(a: Application) -> Any:
    """The rule of `collect`."""
    places = tuple([p if p is Ellipsis else with_lanes(p, a.n) for p in a.params["places"]])
    return a.again(*map(a.full, range(len(a.operands))), places=places, shape=(a.n, *a.params["shape"]))


def putting(a: Application) -> Any:
    """The rule of `index_put`."""
    index = a.params["index"]
    ndim = np.broadcast_to(False, a.shape(0))[index].ndim
    if a.ndim(1) > ndim:
        return NotImplemented
    return a.again(a.full(0), a.raised(1, ndim), index=with_lanes(index, a.n))


def _at_operands(name: str, a: Application, *operands: int, **params: Any) -> Any:
    """Another op in the place of this one, on some of its operands, batched like them."""
    return batch(
        Application(REGISTRY[name], a.n, [a.operands[i] for i in operands], [a.batched[i] for i in operands], params)
    )


def _form(axis: int) -> tuple[Any, ...]:
    """The form of an index with an array along one axis."""
    return (*(EVERY,) * axis, SLOT)


def taking(a: Application) -> Any:
    """The rule of `take`: slices chosen by numbers, which may be others in each lane."""
    axis, x = a.params["axis"], a.operands[0]
    if axis is None:
        flat = apply("reshape", x, shape=(a.n, math.prod(a.shape(0))) if a.batched[0] else (math.prod(a.shape(0)),))
        return taking(Application(a.op, a.n, (flat, a.operands[1]), a.batched, {"axis": 0}))
    if not a.ndim(0):
        return NotImplemented
    axis = moved(axis, a.ndim(0))
    if not a.batched[1]:
        return a.again(x, a.operands[1], axis=axis)
    return _at_operands("lookup", a, 0, 1, form=_form(axis - 1))


def adding(a: Application) -> Any:
    """The rule of `index_add`."""
    axis = a.params["axis"]
    if axis is None or not a.ndim(0) or a.ndim(2) != a.ndim(0):
        return NotImplemented
    axis = moved(axis, a.ndim(0))
    if not a.batched[1]:
        return a.again(a.full(0), a.operands[1], a.full(2), axis=axis)
    return _at_operands("overwrite", a, 0, 2, 1, form=_form(axis - 1), accumulate=True)


def masking(a: Application) -> Any:
    """The rule of ops on the elements at which a mask holds, the same in every lane."""
    if a.batched[1]:
        return dynamic(a) if a.op.name == "masked_choice" else NotImplemented
    every = apply("broadcast_to", a.operands[1], shape=(a.n, *a.shape(1)))
    if a.op.name == "masked_choice":
        return apply("reshape", a.again(a.operands[0], every), shape=(a.n, -1) if a.n else (0, 0))
    return a.again(apply("reshape", a.operands[0], shape=(-1,)), every)
