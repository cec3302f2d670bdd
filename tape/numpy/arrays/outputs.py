"""Results that are written into ``out=``: what that may be is for NumPy to say.

A ufunc broadcasts to its ``out=``, `np.argmax` takes numbers that integers fit into, `np.dot` takes nothing but what
it would make itself: each function has rules of its own.  So wherever it is not just what the function would give by
itself, NumPy runs on arrays that lie in memory as those of the program do, and what it raises of them is raised.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import combinations, product
from typing import Any

import numpy as np

import ops

from ...base.tensor import Face, Tensor
from ...base.tree import leaves_of, transform
from ...recording.level import components, memories
from ...recording.numpy_bridge import signature_of
from .casting import source_of
from .explaining import rehearsed
from .face import AnyNumber, Array, Recorded, array
from .instead import NOT_MADE_HERE
from .leaving import plain
from .memory_order import UNWRITTEN, copied, unwritten_like
from .unwrapping import bare


def with_out_named(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments of a function of NumPy's with ``out``, and all from its dtype on, by name."""
    place = _first_named(function)
    if place is None or len(args) <= place:
        return args, dict(kwargs)
    names = list(signature_of(function).parameters)  # type: ignore[union-attr]
    if len(args) > len(names):  # which the function refuses
        return args, dict(kwargs)
    named = {name: x for name, x in zip(names[place:], args[place:]) if not (name == "dtype" and x is None)}
    return args[:place], named | kwargs


@cache
def _first_named(function: Any) -> int | None:
    """Which argument by position is the dtype or ``out=``, whichever comes first."""
    signature = signature_of(function)
    if signature is None or "out" not in signature.parameters:
        return None
    parameters = enumerate(signature.parameters.values())
    places = [k for k, p in parameters if p.name in ("dtype", "out") and p.kind is p.POSITIONAL_OR_KEYWORD]
    return min(places, default=None)


def in_dtype(result: Any, named: dict[str, Any]) -> Any:
    """A result in the dtype that was asked for: whole numbers are wrapped to few bits at last."""
    dtype = named.get("dtype")
    if dtype is None or not isinstance(result, Recorded) or result.dtype == dtype:
        return result
    return result.astype(dtype)


ADDING_UP = frozenset(
    getattr(np, name)
    for name in (
        "sum", "prod", "cumsum", "cumprod", "cumulative_sum", "cumulative_prod", "trace", "nansum", "nanprod",
        "nancumsum", "nancumprod", "einsum",
    )
    if hasattr(np, name)
)  # fmt: skip
"""Functions that NumPy computes in the dtype of ``out=`` where that has more room than the array's."""


def with_room_of(out: Any, function: Any, args: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
    """The options of one of these functions, or of a ufunc's method that folds, with the dtype that ``out=`` decides.

    Whole numbers need none if they are only added up, or only multiplied: they wrap alike in all dtypes.
    """
    operands = [x for x in args if isinstance(x, (Recorded, np.ndarray)) and x.dtype.kind in "biufc"]
    if kwargs.get("dtype") is not None or not isinstance(out, (Recorded, np.ndarray)) or not operands:
        return kwargs
    mine = np.result_type(*[x.dtype for x in operands])
    dtype = np.result_type(mine, out.dtype)
    if dtype == mine or not (function is np.einsum or dtype.kind in "fc"):
        return kwargs
    return {**kwargs, "dtype": dtype}


def laid(result: Any, order: Any) -> Any:
    """A result in one of NumPy's orders."""
    return transform(lambda x: array(copied(x._tensor, order)) if type(x) is Array else x, result)


def fill(out: Any, result: Any, function: Callable[..., Any], args: Any, kwargs: Any, name: str) -> Any:
    """Put the result of a function of NumPy's into its ``out=``.

    Raises:
        Exception: what NumPy raises of such an ``out=``.
        TypeError: if numbers would be cut off, or `out` is a plain array and the result carries a gradient.
    """
    if not (isinstance(out, np.ndarray) and _is_what_it_gives(out, result)):
        like = transform(unwritten_like, out)
        rehearsed(function, args, {**kwargs, "out": like})
        arrays = [x for x in leaves_of([like]) if isinstance(x, np.ndarray) and x.dtype.kind in "fci"]
        if any((x == UNWRITTEN).any() for x in arrays):
            raise TypeError(f"{name}(out=…): NumPy would write to a part of it only; give it one of the result's shape")
    if name in MEANS and result.dtype.kind not in "fc":
        raise TypeError(
            f"{name}(out=…, dtype={result.dtype}): NumPy divides the sum of whole numbers without rounding; "
            "divide np.sum(…, dtype=…) yourself"
        )
    if name in READING_ON and _memory_of([out]) & _memory_of(args):
        raise TypeError(
            f"{name}(out=…): NumPy reads its arguments on after it has written there, and out= lies in the memory of "
            "one; give it an array of its own"
        )
    if out is ...:
        return array(result._tensor) if isinstance(result, AnyNumber) else result
    if isinstance(out, tuple):
        (out,) = out
    if not np.can_cast(result.dtype, out.dtype, "same_kind"):
        raise TypeError(
            f"{name}(out=…) cuts off what {out.dtype} cannot hold of a result of {result.dtype}; "
            "write it there: out[...] = the result"
        )
    if function is np.dot and not np.ndim(result):  # which fills it, but gives a number
        return store(out, result, name)[()]
    return store(out, result, name, broadcast=True)


MEANS = frozenset({"mean", "nanmean"})
"""Functions that divide in their ``out=``, whatever dtype they add in."""

READING_ON = frozenset({"ptp", "vecdot"})
"""Functions that NumPy computes into their ``out=`` before it has read all arguments."""


def check_together(ufunc: np.ufunc, inputs: Any, out: tuple[Any, ...]) -> None:
    """Look at all of a ufunc's ``out=`` before any is written.

    Raises:
        TypeError: if two of them have an element in common, which NumPy leaves with either result; or if a result that
            has none would be as large as one that is broadcast.
    """
    given = [x for x in out if x is not None]
    if 0 < len(given) < len(out) and given[0].shape != np.broadcast_shapes(*[np.shape(x) for x in inputs]):
        raise TypeError(f"{ufunc.__name__}(out=…) is larger than the result; give each of the results an array")
    if any(_overlap(a, b) for a, b in combinations(given, 2)):
        raise TypeError(
            f"{ufunc.__name__}(out=…): two of its results would lie in the same memory; give each an array of its own"
        )


def _overlap(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays have an element in common."""
    faces: list[Any] = [x for x in (a, b) if isinstance(x, Face)]
    if len(faces) < 2:
        return not faces and np.shares_memory(a, b)
    if not _memory_of([a]) & _memory_of([b]):
        return False
    for x in faces:
        x._tensor._refuse_recording("it asks whether two out= share memory")
    one, other = ([part.numpy(force=True) for part in components(x._tensor)] for x in faces)
    return any(np.shares_memory(x, y) for x, y in product(one, other))


def _memory_of(arrays: Any) -> set[int]:
    """The memory that recorded arrays lie in, by identity."""
    tensors = [x._tensor for x in leaves_of(list(arrays)) if isinstance(x, Face)]
    return {memory for t in tensors for memory in memories(t)}


def _is_what_it_gives(out: np.ndarray, result: Any) -> bool:
    """Whether an ``out=`` is just what a function would give by itself."""
    spec = result._tensor._spec if isinstance(result, Face) else result
    if not isinstance(result, (Face, np.ndarray)) or (out.shape, out.dtype) != (spec.shape, spec.dtype):
        return False
    flags = out.flags
    return bool(flags.c_contiguous and flags.writeable)


def store(
    out: Any, result: Any, name: str, where: Any = True, broadcast: bool = False, casting: Any = "same_kind"
) -> Any:
    """Put a result into ``out=``, cast within its kind; `broadcast` to it, if it may be.

    Raises:
        TypeError: if it does not fit its dtype, or `out` is a plain array and the result carries a gradient.
        ValueError: if it does not fit its shape.
    """
    if isinstance(out, tuple):
        results = result if isinstance(result, tuple) else (result,)
        kept = [
            r if o is None else store(o, r, name, where, broadcast, casting) for o, r in zip(out, results, strict=True)
        ]
        return tuple(kept) if isinstance(result, tuple) else kept[0]
    if isinstance(out, AnyNumber) or not isinstance(out, np.ndarray):
        raise TypeError("return arrays must be of ArrayType")
    source = source_of(result)
    if broadcast:  # of two things that are wrong, NumPy tells of this one
        _check_cast(name, source.dtype, out.dtype, casting)
    if source.shape != out.shape and not (broadcast and _fits(source.shape, out.shape)):
        raise ValueError(f"{name}: output array of shape {out.shape} does not match a result of shape {source.shape}")
    _check_cast(name, source.dtype, out.dtype, casting)
    if not isinstance(out, Face):
        np.copyto(out, plain(result, f"{name}(out=…) {NOT_MADE_HERE}"), casting, where=where)
        return out
    if where is not True:
        source = ops.where(bare(where), source, out._tensor)
    out[...] = array(source) if isinstance(source, Tensor) else source
    return out


def _check_cast(name: str, dtype: np.dtype[Any], out: np.dtype[Any], casting: Any) -> None:
    if not np.can_cast(dtype, out, casting):
        ufunc = found if isinstance(found := getattr(np, name, None), np.ufunc) else np.positive
        error = getattr(np._core._exceptions, "_UFuncOutputCastingError", None)  # type: ignore[attr-defined]
        if error is None:  # NumPy has another name for its class of TypeError
            raise TypeError(f"Cannot cast {name}'s output from {dtype!r} to {out!r} with casting rule {casting!r}")
        raise error(ufunc, casting, dtype, out, 0)


def _fits(shape: tuple[int, ...], out: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(shape, out) == out
    except ValueError:
        return False
