"""Arrays that a function makes of its own: `np.zeros`, `np.array` and the like, able to take recorded values.

Each is NumPy's own constructor, whose result becomes the memory of a new `Array`; `np.array([x[0], [1.0, y]])` stacks
what is recorded.  What shares memory with a plain array stays plain, for who holds that would not see the history.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import ops
from ops.core.differentiate import dtype_of

from ..base.dtypes import NUMERIC, kind_of
from ..base.tensor import Face, Tensor
from ..recording.recorder import wrap
from ..recording.views import owner
from .arrays.array_text import read_back, with_texts
from .arrays.casting import cast
from .arrays.face import AnyNumber, Array, array
from .arrays.face_base import numpy
from .arrays.leaving import plain, still
from .arrays.memory_order import copied, lying_in, resolved
from .arrays.python_number import PythonNumber
from .arrays.unusual_calls import require_alike, require_taken
from .arrays.unwrapping import common_dtype, holds_face, stacked

FILLED = (
    "bartlett", "blackman", "empty", "eye", "frombuffer", "fromfile", "fromfunction",
    "fromregex", "fromstring", "hamming", "hanning", "identity", "indices", "kaiser", "loadtxt", "genfromtxt",
    "ones", "tri", "zeros",
)  # fmt: skip
"""Constructors that read no array; counts may be recorded."""

READING = frozenset({"fromfile", "fromregex", "fromstring", "loadtxt", "genfromtxt"})
"""Those that read numbers from texts, or from files that somebody may have written just now."""

DERIVED = (
    "empty_like", "full_like", "ones_like", "zeros_like", "atleast_1d", "atleast_2d", "atleast_3d", "diag", "diagflat",
    "meshgrid", "pad", "repeat", "tile", "tril", "triu", "vander", "concatenate", "stack", "hstack", "vstack",
    "dstack", "column_stack", "block", "broadcast_arrays", "geomspace", "logspace",
)  # fmt: skip
"""Functions of arrays that programs take for constructors: of plain arrays too they give what can be recorded."""


def recordable(result: Any, of: Any = ()) -> Any:
    """A result with its plain arrays of numbers as arrays that can be recorded, but for those that share memory."""
    if type(result) is list or type(result) is tuple:
        return type(result)([recordable(part, of) for part in result])
    if type(result) is not np.ndarray or kind_of(result.dtype) not in NUMERIC or not result.flags.writeable:
        return with_texts(result) if type(result) is np.ndarray else result
    read_back("array", of)
    memory = _memory(result)
    return result if any(_memory(x) is memory for x in arrays_in(of)) else array(wrap(result))


def _memory(x: np.ndarray) -> Any:
    """What holds an array's elements: an array, or something else that has a buffer."""
    held: Any = owner(x)
    while isinstance(held.base, memoryview) and isinstance(held.base.obj, np.ndarray):
        held = owner(held.base.obj)
    return held


def arrays_in(x: Any) -> Iterator[np.ndarray]:
    """The plain arrays among arguments."""
    if isinstance(x, (tuple, list)):
        for part in x:
            yield from arrays_in(part)
    elif isinstance(x, np.ndarray) and not isinstance(x, Face):
        yield x


def made(original: Callable[..., Any]) -> Callable[..., Any]:
    """A constructor of NumPy's, or a function of arrays, with results that can be recorded."""
    counts = original.__name__ in FILLED

    @functools.wraps(original)
    def construct(*args: Any, **kwargs: Any) -> Any:
        if counts:
            args, kwargs = plain(args), plain(kwargs)
            if original.__name__ in READING:
                result = original(*args, **kwargs)
                read_back(original.__name__, args[:1], result)
                return recordable(result, args)
        return recordable(original(*args, **kwargs), args)

    return construct


@functools.wraps(np.full)
def full(shape: Any, fill_value: Any, dtype: Any = None, order: Any = "C", **named: Any) -> Any:
    if not holds_face(fill_value):
        return recordable(np.full(plain(shape), fill_value, dtype, order, **named), (fill_value,))
    value = gathered(fill_value)
    filled = recordable(np.empty(plain(shape), dtype or value.dtype, order))
    filled[...] = value
    return filled


@functools.wraps(np.arange)
def arange(*bounds: Any, step: Any = None, dtype: Any = None, **named: Any) -> Any:
    """How many numbers there are is decided by plain numbers; the numbers themselves are recorded."""
    start, stop, by = _bounds(*bounds, step=step, **{k: named.pop(k) for k in ("start", "stop") if k in named})
    if not (isinstance(start, Face) or isinstance(by, Face)) or dtype is not None:
        given = {} if by is None else {"step": plain(by)}
        return recordable(np.arange(plain(start), told_of(stop), dtype=dtype, **given, **named))
    by = 1 if by is None else by
    count = _length((stop - start) / by)
    wanted = np.result_type(*[np.promote_types(np.intp, as_array(x).dtype) for x in (start, stop, by)])
    first, second = (as_array(x).astype(wanted) for x in (start, start + by))
    return first + (second - first) * np.arange(count, dtype=wanted)


def _length(exact: Any) -> int:
    """How many numbers `np.arange` gives; it refuses to give so many less than none as much as so many.

    Raises:
        ValueError: if that is no number, or too large.
    """
    try:
        count = int(np.ceil(exact))
    except ValueError:
        raise ValueError("arange: cannot compute length") from None
    except OverflowError:
        raise ValueError("Maximum allowed size exceeded") from None
    if not -(1 << 63) <= count < 1 << 63:
        raise ValueError("Maximum allowed size exceeded")
    return max(0, count)


def _bounds(start: Any, stop: Any = None, by: Any = None, *, step: Any = None) -> tuple[Any, Any, Any]:
    start, stop = (0, start) if stop is None else (start, stop)
    return start, stop, by if step is None else step


def told_of(x: Any) -> Any:
    """A number that decides how many others there are, as a plain one of its dtype."""
    if not isinstance(x, Face):
        return x
    number = still(x._tensor).item()
    return number if type(x) is PythonNumber else x._tensor._spec.dtype.type(number)


@functools.wraps(np.linspace)
def linspace(
    start: Any, stop: Any, num: Any = 50, endpoint: bool = True, retstep: bool = False, dtype: Any = None,
    axis: int = 0, **named: Any,
) -> Any:  # fmt: skip
    num = operator.index(num)
    if not isinstance(start, Face) and not isinstance(stop, Face):
        return recordable(numpy.linspace(start, stop, num, endpoint, retstep, dtype, axis, **named))
    return numpy.linspace(start, stop, num, endpoint, retstep, dtype, axis, **named)


def gathered(x: Any, dtype: Any = None) -> Any:
    """Nested sequences with recorded values in them as one array; anything else as it is.

    An array of what are no numbers (objects, texts, records) is a plain one, as NumPy makes it: it tells tuples from
    lists.
    """
    if not holds_face(x) or (dtype is None and isinstance(x, Face)):
        return x
    wanted = common_dtype(x) if dtype is None else dtype
    if kind_of(wanted) not in NUMERIC:
        return np.array(plain(x, f"an array of dtype {wanted}"), dtype)
    if isinstance(x, Face):
        return x
    given = common_dtype(x)
    return array(
        cast(stacked(x, given), wanted) if given.kind == "c" and kind_of(wanted) != "c" else stacked(x, wanted)
    )


def as_array(x: Any) -> Any:
    """An argument as an array, recorded where something in it is."""
    return gathered(x) if holds_face(x) else np.asarray(x)


def of_objects(x: Any) -> Any:
    """Something with an ``__array__`` of its own as the recorded array that this gives; anything else as it is."""
    kind = type(x)
    if isinstance(x, (np.ndarray, np.generic, Tensor, Face, type)) or kind in PLAIN or not hasattr(kind, "__array__"):
        return x
    found = x.__array__()
    return found if isinstance(found, Face) else x


PLAIN = (list, tuple, int, float, complex, bool)


@functools.wraps(np.array)
def array_(
    object: Any, dtype: Any = None, *, copy: bool | None = True, order: Any = "K", subok: bool = False, ndmin: int = 0,
    **named: Any,
) -> Any:  # fmt: skip
    dtype = None if dtype is None else dtype_of(dtype)
    found = gathered(of_objects(object), dtype)
    if not isinstance(found, Face):
        return recordable(np.array(found, dtype, copy=copy, order=order, subok=subok, ndmin=ndmin, **named), (found,))
    tensor = found._tensor
    order = resolved(tensor, order)
    if dtype is not None and dtype != tensor._spec.dtype:
        tensor = cast(tensor, dtype)
        if order != "K":
            tensor = copied(tensor, order)
    elif found is object and (copy or isinstance(found, AnyNumber)):  # no array shares the memory of a number
        if copy is False:
            np.array(found.dtype.type(), copy=False)  # NumPy's own error
        tensor = copied(tensor, order)
    elif order != "K":
        tensor = lying_in(tensor, order)
    missing = ndmin - len(tensor._spec.shape)
    if missing > 0:
        tensor = ops.reshape(tensor, shape=(1,) * missing + tensor._spec.shape)
    return found if tensor is found._tensor and type(found) is Array else array(tensor)


def _converter(original: Callable[..., Any], ndmin: int = 0, kept: str = "K") -> Callable[..., Any]:
    """`np.asarray` and its kin: the array itself where it is one of that dtype."""

    @functools.wraps(original)
    def convert(a: Any, dtype: Any = None, order: Any = None, **named: Any) -> Any:
        a = of_objects(a)
        if not holds_face(a):
            return recordable(original(a, dtype, **({} if order is None else {"order": order}), **named), (a,))
        return array_(a, dtype, copy=named.get("copy"), order=order or kept, ndmin=ndmin)

    return convert


@functools.wraps(np.require)
def require(a: Any, dtype: Any = None, requirements: Any = None, **named: Any) -> Any:
    if not holds_face(a):
        return recordable(np.require(a, dtype, requirements, **named), (a,))
    wanted = {str(r).upper()[0] for r in requirements or ()}
    if {"C", "F"} <= wanted:
        raise ValueError('Cannot specify both "C" and "F" order')
    if "O" in wanted and isinstance(a, Face):
        a._tensor._refuse_recording("it asks whether an array owns its memory")
    found = array_(a, dtype, copy=None, order="F" if "F" in wanted else "C" if "C" in wanted else "A")
    missing = ("W" in wanted and not found.flags.writeable) or ("O" in wanted and found.base is not None)
    return found.copy("A") if missing else found


@functools.wraps(np.asarray_chkfinite)
def asarray_chkfinite(a: Any, dtype: Any = None, order: Any = None) -> Any:
    found = array_(a, dtype, copy=None)
    if found.dtype.kind in "fc" and not np.isfinite(found).all():
        raise ValueError("array must not contain infs or NaNs")
    return found


@functools.wraps(np.fromiter)
def fromiter(iter: Any, dtype: Any, count: int = -1, **named: Any) -> Any:
    found = list(iter) if count < 0 else list(itertools.islice(iter, count))
    if not holds_face(found):
        return recordable(np.fromiter(found, dtype, count, **named))
    if len(found) < count:
        raise ValueError("iterator too short")
    return gathered(found, dtype_of(dtype))


@functools.wraps(np.copy)
def copy(a: Any, order: Any = "K", subok: bool = False) -> Any:
    return array_(a, order=order, subok=subok)


def _asking(name: str, inside: Callable[..., Any]) -> Callable[..., Any]:
    """A constructor that lets NumPy's own say whether it takes what is said beside recorded values."""
    original = getattr(np, name)

    @functools.wraps(original)
    def construct(*args: Any, **kwargs: Any) -> Any:
        asked = require_taken(original, args, kwargs) if (kwargs or len(args) > 1) and holds_face(args) else None
        found = inside(*args, **kwargs)
        if asked is not None:
            require_alike(found, asked, original, args, kwargs)
        return found

    return construct


OF_ARRAYS: dict[str, Callable[..., Any]] = {
    "array": array_, "asarray": _converter(np.asarray), "asanyarray": _converter(np.asanyarray),
    "ascontiguousarray": _converter(np.ascontiguousarray, 1, "C"),
    "asfortranarray": _converter(np.asfortranarray, 1, "F"),
    "asarray_chkfinite": asarray_chkfinite, "copy": copy, "fromiter": fromiter, "require": require,
    "arange": arange, "full": full, "linspace": linspace,
}  # fmt: skip
CONSTRUCTORS: dict[str, Callable[..., Any]] = {
    **{name: made(getattr(np, name)) for name in (*FILLED, *DERIVED) if hasattr(np, name)},
    **{name: _asking(name, inside) for name, inside in OF_ARRAYS.items()},
}
"""NumPy's constructors by name, with results that can be recorded."""
