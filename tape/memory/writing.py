"""Writing into a tensor's memory, and letting everything that looks at it know."""

from __future__ import annotations

from typing import Any

import numpy as np

from ops import REGISTRY

from ..base.dtypes import can_store
from ..base.row import OP, WIDTH, ZV, X
from ..base.tensor import Tensor
from ..recording.guard import GUARDS, before_change
from ..recording.version import increment, note
from ..recording.views import base_of, elements, materialise, refresh
from ..recording.wengert import current, list_of

OUTPUT = REGISTRY["output"]


def write(tensor: Tensor, value: Any, operation: str) -> Tensor:
    """Put a value into a tensor's memory.

    Raises:
        RuntimeError: if the value does not fit the tensor's shape or dtype.
    """
    check_fits(tensor, value, operation)
    put(tensor, value, operation)
    return tensor


def put(tensor: Tensor, value: Any, operation: str, last: int | None = None) -> None:
    """`write` a value that fits; records later than `last` know of the change already."""
    base = base_of(tensor)
    spare(base)
    if is_alone(tensor):
        note(tensor, operation, last)
        tensor._data = tensor._spec.dtype.type(value)
    else:
        check_writeable(tensor, operation)
        np.copyto(unlocked(tensor), value, casting="unsafe")
        refreshed(tensor, operation, last)
    increment(tensor, operation, last, base)


def spare(base: Tensor) -> None:
    """Let the record of an op with several results keep this one as it is: its rule may need the others alone.

    What a hook has put away is the hook's.
    """
    node = base._node
    if type(node) is not int:
        return
    wengert = list_of(node)
    if wengert is current() and wengert.rows[wengert.locate(node) * WIDTH + OP] != OUTPUT.code:
        return
    with wengert.still():
        rows, row = wengert.rows, wengert.record(node)
        if row[OP] == OUTPUT.code and wengert.owns(row[X]):
            place = wengert.locate(row[X]) * WIDTH + ZV
            if type(rows[place]) is tuple:
                wengert.save_instead(place, tuple([v.copy() if type(v) is np.ndarray else v for v in rows[place]]))


def refreshed(tensor: Tensor, operation: str, last: int | None = None) -> None:
    """Let the elements among the views of a tensor's base be read again, after its memory was changed."""
    if hasattr(tensor, "_views") or hasattr(tensor, "_among"):
        _refresh_all(tensor, operation, last)


def _refresh_all(tensor: Tensor, operation: str, last: int | None) -> None:
    for view in elements(tensor):
        note(view, operation, last)
        refresh(view)


def is_alone(tensor: Tensor) -> bool:
    """Whether the value is a scalar that nobody looks at, so that another one can take its place."""
    return (
        type(tensor._data) is not np.ndarray
        and getattr(tensor, "_views", None) is None
        and getattr(tensor, "_among", None) is None
    )


def check_fits(tensor: Tensor, value: Any, operation: str) -> None:
    """Raise unless a value has the tensor's shape, or broadcasts to it, and a dtype that can be stored."""
    shape, dtype = value.shape, value.dtype
    if shape == tensor._spec.shape and dtype == tensor._spec.dtype:
        return
    if not can_store(dtype, tensor._spec.dtype):
        raise RuntimeError(
            f"{operation} gives {dtype}, which cannot be stored in a tensor of {tensor._spec.dtype}; convert the "
            f"tensor first, with .to({dtype})"
        )
    if tensor._spec.complex and dtype.kind == "f":
        raise RuntimeError(
            f"In-place {operation.removesuffix('_()')} is not supported for complex tensors: its result is real.\n"
            "Write it as a new value."
        )
    if shape != tensor._spec.shape:
        raise RuntimeError(
            f"{operation} gives shape {shape}, which does not fit into a tensor of shape {tensor._spec.shape}"
        )


def check_writeable(tensor: Tensor, operation: str) -> None:
    """Raise where a change would be seen at several places of the tensor, or NumPy would refuse it.

    Saved values that are guarded are copied first.
    """
    array = tensor._data
    if not isinstance(array, np.ndarray):
        return
    flags = array.flags
    if flags.writeable and flags.c_contiguous:
        if GUARDS:
            before_change(array)
        return
    if overlaps(array):
        raise repeated_error(operation)
    if not unlocked(tensor).flags.writeable:
        raise RuntimeError(
            f"{operation} cannot write into this memory: it is read-only, as of a read-only array given to "
            "from_numpy(), or what as_strided() or unfold() reads of a lane or tangent that does not lie in order.\n"
            "Use .clone() for a copy."
        )
    if GUARDS:
        before_change(array)


def unlocked(tensor: Tensor) -> np.ndarray:
    """A tensor's memory; that of a view as writeable as its base, although NumPy locks what it has expanded."""
    array = materialise(tensor)
    if not array.flags.writeable and (base := base_of(tensor)) is not tensor and materialise(base).flags.writeable:
        array = array.view()
        array.flags.writeable = True
    return array


def overlaps(array: np.ndarray) -> bool:
    """Whether several elements of an array are one and the same number in memory."""
    reach = array.itemsize - 1
    for step, n in sorted((abs(step), n) for step, n in zip(array.strides, array.shape) if n != 1):
        if n and step <= reach:
            return bool(array.size)
        reach += step * (n - 1)
    return False


def repeated_error(operation: str) -> RuntimeError:
    """The error for a change whose result would depend on the order in which elements are written."""
    return RuntimeError(
        f"unsupported operation: {operation} cannot change an expanded tensor in place: more than one element of the "
        "written-to tensor refers to a single memory location.\nUse .clone() for a copy."
    )
