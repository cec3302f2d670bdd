"""NumPy's and SciPy's ufuncs, and their methods, on arrays."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from typing import Any

import numpy as np

import ops

from ..base.dtypes import kind_of
from ..base.errors import ComplexError
from ..base.tensor import Face, Tensor
from ..recording.functions import tensors
from ..recording.halves import are_narrow, as_of_arrays
from ..recording.level import begun, components
from ..recording.numpy_bridge import NoRule, called as title, op_for
from ..recording.recorder import require_without_rules
from .array_writing import at
from .arrays.beside_tensors import refuse, require_same_rules
from .arrays.by_numbers import of_numbers, told_by_numpy
from .arrays.casting import in_loop
from .arrays.explaining import explained, have_numbers, tell_errors
from .arrays.face import face, faces
from .arrays.face_base import FACES
from .arrays.float_parts import COMPOSED_UFUNCS
from .arrays.outputs import check_together, fill, in_dtype, laid, store, with_room_of
from .arrays.python_number import PythonNumber, as_numpy
from .arrays.unusual_calls import require_alike, require_taken
from .arrays.unwrapping import bare, has_tensor, is_of_objects, tensor_of
from .as_numpy_takes import OTHER_WARNINGS
from .constructors import as_array
from .folding import accumulate, is_folded, reduce, reduceat

FOLDED: dict[str, Callable[..., Any]] = {"reduce": reduce, "accumulate": accumulate}
"""Methods of functions of two numbers that join one number after the other."""

FOLDS = "reduce", "accumulate", "reduceat"
"""The methods of ufuncs that join numbers."""

USUAL = frozenset({*FACES, PythonNumber, Tensor, np.ndarray, float, int, bool, complex, list, tuple})
"""Classes that take part in NumPy's functions as numbers and arrays."""


def answers_itself(kind: type, protocol: str) -> bool:
    """Whether a class of somebody else's, that is no array, has its own answer to one of NumPy's protocols."""
    return not issubclass(kind, (Face, Tensor, np.ndarray)) and getattr(kind, protocol, None) is not None


def array_ufunc(self: Face, ufunc: np.ufunc, how: str, *inputs: Any, out: Any = None, where: Any = True,
                **options: Any) -> Any:  # fmt: skip
    """NumPy's and SciPy's ufuncs, and their methods, on arrays."""
    kinds = {*map(type, inputs)}
    if not (kinds <= USUAL or kinds <= FACES):
        require_without_rules(kinds)
        if any(answers_itself(kind, "__array_ufunc__") for kind in kinds):
            return NotImplemented
    if PythonNumber in kinds:
        inputs = tuple([as_numpy(x, *inputs) for x in inputs])
    is_plain = how == "__call__" and out is None and where is True
    is_told = is_plain and ufunc in OTHER_WARNINGS and have_numbers(inputs)
    if is_plain and not options and not is_told:
        found = _at_once(ufunc, inputs)
        if found is not None:
            return found
    given = dict(options) if where is True else {**options, "where": where}
    if out is not None:
        given["out"] = out
    try:
        asked = require_taken(getattr(ufunc, how), inputs, given) if _is_doubtful(ufunc, how, given) else None
        if is_told:
            find: Callable[[], Any] = lambda: _with_options(ufunc, how, inputs, out, True, options)  # noqa: E731
            found = told_by_numpy(ufunc, inputs, given, find)
        else:
            found = _with_options(ufunc, how, inputs, out, where, options)
        if asked is not None:
            require_alike(found, asked, getattr(ufunc, how), inputs, given)
        return found
    except Exception as error:
        return explained(error, getattr(ufunc, how), inputs, given)


def _is_doubtful(ufunc: np.ufunc, how: str, given: dict[str, Any]) -> bool:
    """Whether NumPy may refuse the call of a ufunc that is answered otherwise."""
    return how != "at" and (bool(given) or ufunc.signature is not None)


def _with_options(ufunc: np.ufunc, how: str, inputs: tuple[Any, ...], out: Any, where: Any, options: Any) -> Any:
    index = 1 if how == "at" else None  # a tuple there is one place in each axis
    inputs = tuple([as_array(x) if isinstance(x, (list, tuple)) and k != index else x for k, x in enumerate(inputs)])
    if has_tensor(inputs) or has_tensor(out):
        return _of_tensors(ufunc, how, inputs, out, where, options)
    if how == "at":
        return at(ufunc, *inputs)
    if how == "accumulate" and not np.ndim(inputs[0]):
        raise TypeError("cannot accumulate on a scalar")
    if how == "reduce" and where is not True:
        options["where"] = where
    asked = dict(options)
    if how in FOLDS and out is not None and "dd->d" in ufunc.types:
        options = with_room_of(out[0], ufunc, inputs[:1], options)
    by_elements = how in ("__call__", "outer")
    casting = options.pop("casting", "same_kind") if by_elements else "same_kind"
    options.pop("subok", None)
    order = options.pop("order", "K")
    if where is not True and how == "__call__" and (out is None or any(x is None for x in out)):
        raise TypeError(
            f"{title(ufunc)} with where= and without out= leaves elements at random; say which, with out= or np.where"
        )
    if by_elements and (casting != "same_kind" or options.get("dtype") is not None or of_scipy(ufunc)):
        inputs = in_loop(ufunc, inputs, options.pop("dtype", None), casting)
    if where is not True and how == "__call__":
        with np.errstate(all="ignore"):  # of elements that NumPy leaves out
            result = _result(ufunc, how, _harmless_elsewhere(ufunc, inputs, where), options)
        tell_errors(ufunc, inputs, {"out": out, "where": where, "casting": casting})
    else:
        result = _result(ufunc, how, inputs, options)
    if how in FOLDS and options.get("dtype") is not None:
        result = in_dtype(result, options)
    if out is None:
        return result if order == "K" else laid(result, order)
    if how == "__call__" and ufunc.signature is None:
        if ufunc.nout > 1:
            check_together(ufunc, inputs, out)
        return store(out, result, ufunc.__name__, where, True, casting)
    return fill(out[0], result, getattr(ufunc, how), inputs, asked, ufunc.__name__)


def _harmless_elsewhere(ufunc: np.ufunc, inputs: tuple[Any, ...], where: Any) -> tuple[Any, ...]:
    """The inputs of a ufunc with numbers in the place of those that it leaves out, of which it makes no error.

    A program computes these too, and would call the function to tell of their errors, in vain.  Where gradients are
    taken, their zeros would have other signs.
    """
    given = [x._tensor for x in (*inputs, where) if isinstance(x, Face)]
    if begun() or not any(hasattr(part, "_row") for t in given for part in components(t)):
        return inputs
    numbers = tuple([x if type(x) in (bool, int, float, complex) else None for x in inputs])
    found = _harmless(ufunc, numbers)
    kinds = {kind_of(x.dtype) for x, number in zip(inputs, numbers) if number is None}
    if found is None or not kinds <= (FLOAT_OR_WHOLE if found == int(found) else FLOAT):
        return inputs
    return tuple([face(_where(where, x, found)) if k is None else x for x, k in zip(inputs, numbers)])


def _where(chosen: Any, x: Any, other: float) -> Tensor:
    return ops.where(bare(chosen), tensor_of(x), np.array(other, x.dtype)[()])


@lru_cache(1 << 8)
def _harmless(ufunc: np.ufunc, numbers: tuple[Any, ...]) -> float | None:
    """A number that makes no error in the place of all inputs that are None."""
    for k in CANDIDATES:
        try:
            with np.errstate(all="raise"):
                ufunc(*[np.array([k]) if number is None else number for number in numbers])
        except (ArithmeticError, TypeError):
            continue
        return k
    return None


CANDIDATES = 1.0, 0.5
"""Numbers of which hardly any function makes an error."""
FLOAT, FLOAT_OR_WHOLE = {"f"}, {"f", "i", "u"}


@cache
def of_scipy(ufunc: np.ufunc) -> bool:
    """Whether a ufunc is one of `scipy.special`'s: these compute in the dtypes of their loops, which are few."""
    return getattr(sys.modules.get("scipy.special"), ufunc.__name__, None) is ufunc


DOUBLE = np.dtype(float)


def _of_tensors(ufunc: np.ufunc, how: str, inputs: Any, out: Any, where: Any, options: dict[str, Any]) -> Any:
    """What a ufunc gives of arrays and tensors."""
    if out is not None:
        refuse(f"{title(ufunc)}(out=...) is given arrays and tensors", inputs, out)
    require_same_rules(inputs)
    given = dict(options) if where is True else {**options, "where": bare(where)}
    return getattr(ufunc, how)(*bare(inputs), **given, **({} if out is None else {"out": bare(out)}))


def _at_once(ufunc: np.ufunc, inputs: tuple[Any, ...]) -> Any:
    """What a ufunc gives of arrays and plain numbers that its op takes as they are; None of anything else."""
    op = op_for(ufunc)
    if op is None or ufunc in COMPOSED_UFUNCS:
        return None
    xs = []
    for x in inputs:
        kind = type(x)
        if kind in FACES:
            tensor = x._tensor
            if tensor._spec.narrow or (tensor._spec.dtype != DOUBLE and of_scipy(ufunc)):
                return None
            xs.append(tensor)
        elif kind is float or kind is np.ndarray:
            xs.append(x)
        else:
            return None
    if ufunc.signature is not None and not _fits_signature(ufunc.signature, map(_shape, xs)):
        return None
    try:
        z = op(*xs)
    except Exception:
        return None  # which is explained on the general way
    return face(z) if isinstance(z, Tensor) else faces(tensors(z))


def _fits_signature(signature: str, shapes: Iterable[tuple[int, ...]]) -> bool:
    """Whether operands have the last axes that a signature names, such as "(m,n),(n)->(m)", of equal lengths."""
    lengths: dict[str, int] = {}
    for (names, required), shape in zip(_last_axes(signature), shapes):
        if len(shape) < len(required):
            return False
        named = names if len(shape) >= len(names) else required
        for name, n in zip(reversed(named), reversed(shape)):
            if lengths.setdefault(name, n) != n:
                return False
    return True


def _shape(x: Any) -> tuple[int, ...]:
    return x._spec.shape if isinstance(x, Tensor) else np.shape(x)


@cache
def _last_axes(signature: str) -> list[tuple[list[str], list[str]]]:
    """By operand of a signature, the names of its last axes, and of those that it must have."""
    operands = [x.split(",") for x in signature.split("->", maxsplit=1)[0].strip("()").split("),(")]
    return [([k.rstrip("?") for k in x], [k for k in x if not k.endswith("?")]) for x in operands]


def _result(ufunc: np.ufunc, how: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    if how == "reduceat" and is_folded(ufunc):
        return reduceat(ufunc, *inputs, **options)
    xs = bare(inputs)
    target: Any = next((x for x in xs if isinstance(x, Tensor)), None)
    beside_objects = any(x is None or is_of_objects(x) for x in xs)
    if target is None or beside_objects:  # out= or where= alone is an array of this function
        return of_numbers(getattr(ufunc, how), inputs, options, title(ufunc, how))
    if how == "__call__" and ufunc in COMPOSED_UFUNCS:
        return COMPOSED_UFUNCS[ufunc](*inputs)
    way = type(target).__array_ufunc__
    try:
        if are_narrow(xs):
            return faces(as_of_arrays(way, target, ufunc, how, *xs, **options))
        return faces(way(target, ufunc, how, *xs, **options))
    except (NoRule, ComplexError):
        if how in FOLDED and is_folded(ufunc):
            return FOLDED[how](ufunc, *inputs, **options)
        return of_numbers(getattr(ufunc, how), inputs, options, title(ufunc, how))
