"""How results of tensors' functions lie in memory: PyTorch has most in row-major order, whatever the operands do.

NumPy lays what it sums, joins or accumulates as the operands lie, and arrays that are recorded go by NumPy.  Which
results are views of others, and which are copies, depends on it: of what lies in rows ``view`` and ``reshape`` give
views.
"""

from __future__ import annotations

from functools import wraps
from typing import Any

import numpy as np

from ..base.row import OP, WIDTH, ZV, X
from ..base.tensor import Tensor
from .level import components
from .recorder import OUTPUT
from .wengert import list_of


def in_rows(z: Any) -> Any:
    """What an op has just made, one tensor or several, in row-major order."""
    if type(z) is Tensor:
        if type(z._data) is np.ndarray and not z._data.flags.c_contiguous:
            z._lie_in_rows()
    elif isinstance(z, Tensor):
        for part in components(z):
            part._lie_in_rows()
    elif isinstance(z, (tuple, list)):
        for part in z:
            in_rows(part)
    return z


def giving_rows(function: Any) -> Any:
    """A function whose results are put in row-major order."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return in_rows(function(*args, **kwargs))

    return call


def lie_in_rows(tensor: Tensor) -> None:
    """Put the memory of a plain tensor that was just made in row-major order; its record holds what it holds."""
    old = tensor._data
    if type(old) is not np.ndarray or old.flags.c_contiguous:
        return
    new = tensor._data = np.ascontiguousarray(old)
    node = tensor._node
    if type(node) is not int:
        return
    wengert = list_of(node)
    with wengert.still():
        rows = wengert.rows
        for handle in _saving(wengert.record(node), node, wengert):
            place = wengert.locate(handle) * WIDTH + ZV
            saved = rows[place]
            if saved is old:
                rows[place] = new
            elif type(saved) is tuple:
                rows[place] = tuple([new if value is old else value for value in saved])


def _saving(row: list[Any], node: int, wengert: Any) -> tuple[int, ...]:
    """The records that may hold a result: its own, and that of the op of which it is one of several."""
    return (node, row[X]) if row[OP] == OUTPUT.code and wengert.owns(row[X]) else (node,)
