"""Arrays as something else: other dtypes, Python's numbers and lists, bytes, text.

What would lose a gradient is refused (`leaving`); what a number is asked for most, its value in a comparison or a
format, is not.
"""

from __future__ import annotations

import operator
from typing import Any, SupportsIndex

import numpy as np

import ops
from ops.core.differentiate import dtype_of

from ...base.dtypes import NUMERIC, kind_of
from ...base.rooms import Room
from ...base.tensor import Tensor
from .array_text import text_of
from .attributes import Attributes
from .casting import cast
from .face_base import numpy
from .leaving import called_now, number_of, refusal, still, value_of
from .memory_order import copied, lying_in, outline, resolved, shown, tell_layout
from .unusual_calls import asked

pictures = Room("tape.surface.pictures")

PAIRS = {np.float32: np.complex64, np.float64: np.complex128, np.complex64: np.float32, np.complex128: np.float64}
"""By dtype of real or complex numbers, that of the others in the same precision."""


class Index(Attributes):
    """What arrays have, and of numbers the integers."""

    __slots__ = ()

    def __index__(self) -> int:
        if self.ndim or self.dtype.kind not in "iu":
            if self.ndim and called_now() == "bytearray()":  # which asks for a count before it asks for memory
                raise refusal("its memory")
            return operator.index(numpy.empty(self.shape, self.dtype))  # NumPy's own error
        return number_of(self, int)


class Conversions(Attributes):
    """The methods of `numpy.ndarray` that convert."""

    __slots__ = ()

    @asked
    def astype(
        self, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True
    ) -> Any:
        """The numbers in another dtype.

        Raises:
            TypeError: if the dtype is none of numbers and a gradient would be lost.
        """
        wanted = dtype_of(dtype)
        if kind_of(wanted) not in NUMERIC:
            return value_of(self, f"astype({wanted})").astype(wanted)
        if wanted == self.dtype:
            order = resolved(self._tensor, order)
            kept = (
                copied(self._tensor, order) if copy else lying_in(self._tensor, order) if order != "K" else self._tensor
            )
            return self if kept is self._tensor else self._like(kept)
        made = cast(self._tensor, wanted)
        return self._like(made if resolved(made, order) == "K" else copied(made, order))

    @asked
    def view(self, dtype: Any = None, type: Any = None) -> Any:
        """A view of the same memory; as another dtype, of complex numbers as their parts and the other way round.

        Raises:
            TypeError: for another dtype, whose numbers have no derivative, where a gradient would be lost.
            ValueError: if NumPy has no view of such memory.
        """
        if dtype is None or dtype is np.ndarray or dtype_of(dtype) == self.dtype:
            return self[... if self._is_array else ()]
        tell_layout(self._tensor)
        wanted = dtype_of(dtype)
        if wanted.type is PAIRS.get(self.dtype.type):
            shape = outline(self._tensor).view(wanted).shape  # what NumPy raises of such memory
            if wanted.kind == "f":
                return self._array(ops.reshape(ops.view_as_real(self._tensor), shape=shape))
            return self._array(ops.view_as_complex(ops.reshape(self._tensor, shape=(*shape, 2))))
        return value_of(self, f"view({dtype})").view(dtype)

    def tolist(self) -> Any:
        """The elements as nested lists of Python's numbers: those with a derivative are recorded still, others told."""
        if self.ndim and not self._tensor._spec.inexact:
            return still(self._tensor).tolist()
        return [x.tolist() for x in self] if self.ndim else self._python(self._tensor)

    @asked
    def item(self, *args: Any) -> Any:
        """One element, the only one or that at the index ``args``, as a number of Python's.

        One with a derivative is recorded still, an integer or a truth value is told.

        Raises:
            ValueError: if no element is named and there is not exactly one.
        """
        place = args[0] if len(args) == 1 else args
        if not args:
            if self.size != 1:
                raise ValueError("can only convert an array of size 1 to a Python scalar")
            place = 0
        if not isinstance(place, tuple):
            place = (place,)
        place = tuple(map(operator.index, place))
        found = self.flat[place[0]] if len(place) == 1 else self[place]
        return self._python(found._tensor)

    def tobytes(self, order: str = "C") -> bytes:
        """The memory as bytes."""
        return value_of(self, "tobytes()").tobytes(resolved(self._tensor, order))  # type: ignore[arg-type]

    __bytes__ = tobytes

    def tofile(self, fid: Any, /, sep: str = "", format: str = "%s") -> None:
        """Write the numbers to a file."""
        value_of(self, "tofile()").tofile(fid, sep, format)

    def dump(self, file: Any) -> None:
        """Pickle the numbers to a file."""
        shown(self, "dump()").dump(file)

    def dumps(self) -> bytes:
        """The numbers pickled."""
        return shown(self, "dumps()")[... if self._is_array else ()].dumps()

    def byteswap(self, inplace: bool = False) -> Any:
        """The numbers with their bytes in reversed order, which have no derivative."""
        return value_of(self, "byteswap()").byteswap(inplace)

    def getfield(self, dtype: Any, offset: SupportsIndex = 0) -> Any:
        """Part of each element's bytes, which has no derivative."""
        return value_of(self, "getfield()").getfield(dtype, offset)

    # What Python asks of a number.

    def __bool__(self) -> bool:
        if self.size != 1:
            return bool(np.empty(self.shape))  # NumPy's own error
        return bool(self._tensor)

    def __float__(self) -> float:
        return number_of(self, float)

    def __int__(self) -> int:
        return number_of(self, int)

    def __complex__(self) -> complex:
        return number_of(self, complex)

    # What other libraries ask: bare numbers, or nothing.

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        numbers = np.asarray(shown(self, "an array of its numbers"))
        if dtype is not None and numbers.dtype != dtype:
            return numbers.astype(dtype)
        return numbers.copy() if copy else numbers

    def __dlpack__(self, **kwargs: Any) -> Any:
        return shown(self, "dlpack").__dlpack__(**kwargs)

    def __dlpack_device__(self) -> Any:
        return np.empty(0).__dlpack_device__()

    def __reduce_ex__(self, protocol: Any) -> Any:
        return shown(self, "a pickle")[... if self._is_array else ()].__reduce_ex__(protocol)

    # Its printed form is NumPy's.

    def __repr__(self) -> str:
        return text_of(self, repr)

    def __str__(self) -> str:
        return text_of(self, str)

    def _repr_html_(self) -> str | None:
        """For notebooks: what an array that does not print in full is, with a picture."""
        tensor = self._tensor
        if type(tensor) is not Tensor or tensor._spec.size <= np.get_printoptions()["threshold"]:
            return None
        return str(pictures.html("array", np.asarray(tensor._data), "" if tensor._node is None else "with a gradient"))

    def __format__(self, spec: str) -> str:
        return text_of(self, lambda value: format(value, spec))
