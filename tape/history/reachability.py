"""What tensors depend on, through the layers that they are made of."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from ..base.row import X, Y, operands
from ..base.tensor import Tensor
from ..recording.level import Layer, live
from ..recording.wengert import list_of
from .propagate import key


def components(x: Any) -> Iterator[Tensor]:
    """The ordinary tensors that a tensor is made of: itself, or the parts of its layers."""
    x = live(x)
    if isinstance(x, Layer):
        for part in x.below():
            yield from components(part)
    elif x is not None:
        yield x


def requires_grad(x: Any) -> bool:
    """Whether a tensor, or a part of one of its layers, has a history."""
    return any(part._node is not None for part in components(x))


def history(tensors: Iterable[Any], beyond: Collection[int] = ()) -> Iterator[int]:
    """Keys of everything that tensors depend on: the records' handles, the leaves' negative identities.

    What lies behind one of the keys `beyond` is left out.
    """
    queue = [part if part._node is True else part._node for x in tensors for part in components(x)]
    seen: set[int] = set()
    while queue:
        ref = queue.pop()
        if ref is None:
            continue
        k = key(ref)
        if k in seen:
            continue
        seen.add(k)
        yield k
        if k > 0 and k not in beyond:
            wengert = list_of(k)
            with wengert.still():
                row = wengert.record(k)
            queue += operands(row[X], row[Y])


def keys(tensors: Iterable[Any]) -> set[int]:
    """The keys of tensors' own records and leaves."""
    refs = [part if part._node is True else part._node for x in tensors for part in components(x)]
    return {key(ref) for ref in refs if ref is not None}
