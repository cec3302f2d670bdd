"""Recorded arrays and numbers beside tensors, in a function that is recorded as it is.

There an operation gives what it gives of plain arrays: this library's functions give tensors, NumPy's give tensors
if there is one among their arguments, and arrays take no tensors into them.  A function that is transformed, or of
arrays alone, goes by the rule of `tape.numpy.arrays.face`: what this library's functions give of arrays is arrays.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...base.tensor import Face, Tensor
from ...base.tree import leaves_of, transform
from ...recording.level import components
from ...recording.wengert import current
from .python_number import PythonNumber, as_numpy


class Innermost(threading.local):
    """What this thread runs.

    Attributes:
        recorded: whether the innermost function of arrays that it runs is recorded as it is.
        beside_tensors: whether it also has tensors among its arguments.
    """

    recorded = beside_tensors = False


_innermost = Innermost()


@contextmanager
def running(recorded: bool, beside_tensors: bool = False) -> Iterator[None]:
    """Run a function of arrays, which is recorded as it is or transformed."""
    before = _innermost.recorded, _innermost.beside_tensors
    _innermost.recorded, _innermost.beside_tensors = recorded, beside_tensors
    try:
        yield
    finally:
        _innermost.recorded, _innermost.beside_tensors = before


def counts_as_tensors(args: Any) -> bool:
    """Whether this library's functions give tensors of such arguments, as of plain arrays, or of those with tensors."""
    return _innermost.beside_tensors or any(isinstance(x, Tensor) for x in leaves_of(args))


def _returned(x: Face) -> Any:
    """What a function of this library gives that has computed an array: a tensor, as of a plain one."""
    if not _innermost.beside_tensors:
        return x
    require_same_rules(x)
    return x._tensor


def refuse(what: str, *args: Any) -> None:
    """Refuse to record something that arrays and tensors do together.

    Raises:
        Untraceable: if a tensor among the arguments is recorded.
    """
    for x in leaves_of(list(args)):
        for part in components(x) if isinstance(x, Tensor) else ():
            part._refuse_recording(what)


def keeps_history(x: Tensor) -> None:
    """Refuse to record what a transformation of arrays gives, if it is a tensor or an array by who requires grad."""
    for part in components(x) if _innermost.recorded else ():
        if part._may_have_history():
            part._refuse_recording("what it gets of arrays is a tensor where tensors that take part require grad")


def require_same_rules(*args: Any) -> None:
    """Refuse to record arrays of 16 bits beside tensors: NumPy computes with theirs as they are, tensors in 32 bits."""
    leaves = [x for x in leaves_of(list(args)) if type(x) is not PythonNumber]
    tensors = [x._tensor if isinstance(x, Face) else x for x in leaves]
    if any(isinstance(x, Face) for x in leaves) and any(isinstance(t, Tensor) and t._spec.narrow for t in tensors):
        refuse("arrays and tensors of which some have 16 bits meet", *tensors)


def require_no_history(tensor: Tensor) -> None:
    """Check that no gradient would be lost if a tensor were written into an array.

    Raises:
        RuntimeError: if one would be.
    """
    if tensor._node is not None and current().recording:
        raise RuntimeError(
            "in-place arithmetic on an array does not record, and a tensor that requires grad is involved.\n"
            "Use the returned value instead, such as a = a + t."
        )


def with_weak_numbers(args: Any) -> Any:
    """Arguments with Python's numbers in the precision of the arrays and tensors among them."""
    leaves = leaves_of(args)
    if not any(type(x) is PythonNumber for x in leaves):
        return args
    return transform(lambda x: as_numpy(x, *leaves), args)


def require_others(name: str, args: Any) -> None:
    """Refuse to record a function of this library of Python's numbers alone: of plain ones some give such numbers."""
    leaves = leaves_of(args)
    if _innermost.beside_tensors and PYTHONS.issuperset(map(type, leaves)):
        refuse(f"{name} is given numbers of Python's alone", *[getattr(x, "_tensor", None) for x in leaves])


PYTHONS = frozenset({PythonNumber, float, int, bool, complex, str, type(None)})


def require_weak(op: Any, given: Any, weak: Any, params: dict[str, Any]) -> None:
    """Refuse to record an op in which a number of Python's does not take the precision of what stands beside it."""
    if all(x is y or x._tensor._spec.dtype == getattr(y, "dtype", None) for x, y in zip(given, weak)):
        return
    try:
        with np.errstate(all="ignore"):
            seen, made = [op.forward(*map(_alike, xs), **params).dtype for xs in (given, weak)]
    except Exception:
        seen = made = None
    if seen is None or seen != made:
        refuse(f"{op.name} is given a number of Python's beside others of less than 64 bits", *given, *weak)


def _alike(x: Any) -> Any:
    """Something small of the kind of an operand."""
    if type(x) is PythonNumber:
        return x._tensor._spec.dtype.type(1).item()
    return np.ones((1,) * x.ndim, x.dtype)[()] if hasattr(x, "dtype") else x


Face._returned = _returned  # type: ignore[attr-defined]
