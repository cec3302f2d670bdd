"""Python's own numbers, recorded: what `math.sin` gives, and ``x[0].item()`` and ``x.tolist()``.

A float of Python's is not NumPy's: it has no ``.shape``, ``1.0 / 0.0`` raises, ``(-1.0) ** 0.5`` is complex,
``(a > b) + (c > d)`` counts, and beside an array of 32 bits it does not count as one of 64.  Whoever wrote ``math.sin``
wrote for such a number, so it goes by these rules here too; once it meets one of NumPy's, the result is NumPy's.

Python's integers and truth values are told, for they have no derivative, and none of NumPy's do what they do: those of
Python's know no overflow, and there are only one True and one False.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import numpy as np

from ...base.tensor import Face, Tensor
from ..names.callee import is_attribute
from .array_text import text_of
from .casting import cast
from .face import AnyNumber, Number, Recorded, Whole
from .leaving import is_foreign, number_of, still

new = object.__new__
KINDS: dict[str, tuple[type, Any]] = {"f": (float, np.dtype(float)), "c": (complex, np.dtype(complex))}
"""By kind of dtype: Python's class, and the dtype of its numbers."""


class PythonNumber(AnyNumber):
    """A recorded `float` or `complex` of Python's.

    The library reads its ``.dtype`` and ``.shape`` as of any number; the user's code is told that it has none.
    """

    __slots__ = ()

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return KINDS[self._tensor._spec.dtype.kind][0]

    @staticmethod
    def _face(tensor: Tensor) -> Any:
        return python_number(tensor)

    def __hash__(self) -> int:
        return hash(self._tensor.item())

    def __repr__(self) -> str:
        return text_of(self, lambda value: repr(value.item()))


class PythonTruth(Number):
    """What a comparison of Python's numbers gave in each lane: it chooses as NumPy's does, and counts as Python's."""

    __slots__ = ()

    def _counted(self) -> Number:
        made = new(Whole)
        made._tensor = cast(self._tensor, np.dtype(int))
        return made


def python_number(tensor: Tensor) -> Any:
    """A tensor without axes as a number of Python's, recorded if it has a derivative, and told if it has none."""
    spec = tensor._spec
    if not spec.inexact:
        return still(tensor).item()
    dtype = KINDS["c" if spec.complex else "f"][1]
    made = new(PythonNumber)
    made._tensor = tensor if spec.dtype == dtype else cast(tensor, dtype)
    return made


def as_python(x: Any) -> Any:
    """A recorded number as one of Python's."""
    return python_number(x._tensor) if isinstance(x, Face) and not x._tensor._spec.shape else x


def as_numpy(x: Any, *others: Any) -> Any:
    """A number of Python's as NumPy's beside others, whose precision it takes; anything else as it is.

    Beside tensors of 16 bits, which compute in 32, it is a plain one.
    """
    if type(x) is not PythonNumber:
        return x
    if any(isinstance(y, Tensor) and y._spec.narrow for y in others):
        return number_of(x, x.__class__)
    made = new(Number)
    spec = x._tensor._spec
    dtypes = [
        y.dtype for y in others if type(y) is not PythonNumber and isinstance(getattr(y, "dtype", None), np.dtype)
    ]
    wanted = np.result_type(*dtypes, KINDS[spec.dtype.kind][0]()) if dtypes else spec.dtype
    made._tensor = x._tensor if wanted == spec.dtype else cast(x._tensor, wanted)
    return made


class OfArrays:
    """An attribute that NumPy's numbers have and Python's do not: the user's code is told so, the library reads it."""

    def __init__(self, name: str):
        self.name, self.usual = name, getattr(PythonNumber, name)

    def __get__(self, x: Any, owner: Any = None) -> Any:
        if x is None:
            return self.usual
        if self.is_hidden(sys._getframe(1)):
            raise AttributeError(f"'{x.__class__.__name__}' object has no attribute '{self.name}'")
        return getattr(super(PythonNumber, x), self.name)

    def is_hidden(self, frame: FrameType) -> bool:
        return not is_foreign(frame)


class Protocol(OfArrays):
    """How NumPy's C code takes something for an array: hidden from code that asks for it by name, to tell numbers."""

    def is_hidden(self, frame: FrameType) -> bool:
        return not is_foreign(frame) and is_attribute(frame.f_code, frame.f_lasti, self.name)


PROTOCOLS = (
    "__array__", "__array_interface__", "__array_namespace__", "__array_priority__", "__array_struct__", "__dlpack__",
    "__dlpack_device__",
)  # fmt: skip


def leave_out_what_floats_have_not() -> None:
    """Let Python's numbers lack what NumPy's have beyond; to be called when these have everything."""
    public = {name for name in dir(PythonNumber) if not name.startswith("_")}
    for name in public - set(dir(float)) - {"is_integer"}:
        setattr(PythonNumber, name, OfArrays(name))
    for name in PROTOCOLS:
        setattr(PythonNumber, name, Protocol(name))


Recorded._python = staticmethod(python_number)  # type: ignore[method-assign]
