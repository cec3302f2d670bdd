"""NumPy's functions on arrays: they are those that tensors have, and results are arrays again.

``np.sin(x)`` comes in through `__array_ufunc__` (`ufuncs`), ``np.sum(x, axis=0)`` through `__array_function__`.
What changes its first argument goes to `array_writing`, what calls a function of the user's to `vectorised`, and what
has no rule to `by_numbers`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

import ops

from ..base.errors import ComplexError
from ..base.tensor import Face, Tensor
from ..base.tree import leaves_of, transform
from ..recording.halves import are_narrow, as_of_arrays
from ..recording.numpy_bridge import NoRule, called as title, op_for
from ..recording.recorder import require_without_rules
from .array_writing import CHANGES, change
from .arrays.array_text import written, written_in
from .arrays.attributes import readonly
from .arrays.beside_tensors import (
    counts_as_tensors,
    refuse,
    require_others,
    require_same_rules,
    require_weak,
    with_weak_numbers,
)  # fmt: skip
from .arrays.by_numbers import of_numbers, told_by_numpy
from .arrays.explaining import explained, have_numbers
from .arrays.face import AnyNumber, Array, array, face, faces
from .arrays.leaving import is_called_by_user, is_open
from .arrays.memory_order import settled
from .arrays.outputs import ADDING_UP, fill, in_dtype, with_out_named, with_room_of
from .arrays.python_number import PythonNumber, as_numpy
from .arrays.unusual_calls import is_usual, require_alike, require_taken, tell_truths
from .arrays.unwrapping import bare, bare_noting, has_tensor, in_lists, is_of_objects
from .as_numpy_takes import SPECTRA, TAKEN_OTHERWISE, promoted, tells_otherwise, with_one_triangle
from .composed import COMPOSED
from .constructors import as_array
from .folding import divided_there
from .layouts import as_numpy_lays
from .looks import LOOKS
from .polynomials import real_if_all_are
from .ufuncs import USUAL, answers_itself, array_ufunc
from .vectorised import CALLING

KEPT = frozenset({
    np.reshape, np.transpose, np.squeeze, np.swapaxes, np.moveaxis, np.real, np.imag, np.expand_dims, np.permute_dims,
    np.trim_zeros, np.astype,
})  # fmt: skip
"""Functions whose results without axes are arrays if their argument is one, and that may be views of it."""

ALWAYS = frozenset({
    np.where, np.select, np.piecewise, np.copy, np.tensordot, np.linalg.tensordot, np.cov, np.block, np.resize, np.tile,
    np.zeros_like, np.ones_like, np.empty_like, np.full_like, np.broadcast_to, np.broadcast_arrays, np.roll, np.pad,
    np.isin, np.i0, np.fft.fftn, np.fft.ifftn,
})  # fmt: skip
"""Functions that give arrays, also without axes."""


def _ends_in_product(operands: Any, optimize: Any = False, **_: Any) -> bool:
    """Whether `np.einsum` ends in a product of matrices, so that what it gives is an array, also without axes.

    NumPy says it of small arrays with as many axes, of which those of length 1 are told apart.
    """
    if not optimize:
        return False
    of_arrays = range(1, len(operands)) if isinstance(operands[0], str) else range(0, len(operands) - 1, 2)
    small = [np.ones(np.minimum(np.shape(x), 2)) if k in of_arrays else x for k, x in enumerate(operands)]
    return type(np.einsum(*small, optimize=optimize)) is np.ndarray


def _reshape(a: Any, /, shape: Any, order: Any = "C", *, copy: Any = None) -> Any:
    return a.reshape(shape, order=order, copy=copy)


def _ravel(a: Any, order: Any = "C") -> Any:
    return a.ravel(order)


def _part(name: str) -> Callable[..., Any]:
    """`np.real` or `np.imag`: the attribute of that name."""
    return lambda val: getattr(val if isinstance(val, Face) else as_array(val), name)


METHODS: dict[Any, Callable[..., Any]] = {
    np.reshape: _reshape, np.ravel: _ravel, np.real: _part("real"), np.imag: _part("imag"), **LOOKS,
}  # fmt: skip
"""Functions that NumPy itself answers by the method, whose arguments say more than an op takes, or by a view."""

VIEWS = KEPT | {
    np.broadcast_to, np.broadcast_arrays, np.diagonal, np.atleast_1d, np.atleast_2d, np.atleast_3d,
    np.matrix_transpose, np.linalg.matrix_transpose, np.linalg.diagonal,
}  # fmt: skip
"""Functions that give views; what any other gives has memory of its own."""

WEAK = frozenset({np.where, np.clip})
"""Functions in which a number of Python's takes the precision of what stands beside it."""


def _share(asks: Callable[..., bool]) -> Callable[..., bool]:
    """Whether arrays share memory, which a recorded list has none of."""

    def ask(a: Any, b: Any, max_work: Any = None) -> bool:
        for x in (a, b):
            if isinstance(x, Face):
                x._tensor._refuse_recording("it asks whether arrays share memory")
        both = [x._tensor.numpy(force=True) if isinstance(x, Face) else x for x in (a, b)]
        return asks(*both, max_work=max_work)

    return ask


METHODS.update({f: _share(f) for f in (np.shares_memory, np.may_share_memory)})

LISTS = frozenset({np.split, np.array_split, np.hsplit, np.vsplit, np.dsplit})
"""Functions that give a list."""

PARTS = frozenset({np.real, np.imag})
"""Functions that give the attribute of that name, of a number of Python's a number of Python's."""

BOOLS = frozenset({np.allclose, np.array_equal, np.array_equiv})
"""Functions that give one of Python's truth values."""

NAMED = {
    getattr(np.linalg, name.lower()): getattr(np.linalg._linalg, f"{name}Result")
    for name in ("Eig", "Eigh", "QR", "Slogdet", "SVD") if hasattr(np.linalg._linalg, f"{name}Result")
}  # fmt: skip
"""Functions that give tuples with names."""

READ_ONLY = frozenset({np.broadcast_to, np.diagonal, np.linalg.diagonal})
"""Functions that give views which are not to be written."""


OF_THEIR_CLASS: frozenset[Any] = frozenset({np.dot, np.inner, np.linalg.multi_dot, np.correlate})
"""Functions that give an array of a class that all their arguments have, and ask that nothing."""


LOOKED_AT = frozenset({*CHANGES, *METHODS})
"""Functions of which usual calls are answered otherwise than by what is composed for them, or by an op."""


def array_function(self: Face, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """NumPy's other functions on arrays."""
    if len(types) > 1:
        require_without_rules(types)
        if any(answers_itself(kind, "__array_function__") for kind in types):
            return NotImplemented
    if args and type(args[0]) not in USUAL:
        args = in_lists(tuple(args))
    if PythonNumber in types:
        if function in PARTS and args and type(args[0]) is PythonNumber:
            return getattr(args[0], function.__name__)
        others = args if function in WEAK else ()
        args, kwargs = transform(lambda x: as_numpy(x, *others), args), transform(as_numpy, kwargs)
    if function in CALLING:
        return CALLING[function](*args, **kwargs)
    try:
        is_known = is_usual(function, args, kwargs)
        find = _laid if is_known and function not in LOOKED_AT else _found
        is_known = is_known or not _is_answered(function)
        asked = None if is_known else require_taken(function, args, kwargs)
        if tells_otherwise(function, kwargs) and have_numbers([args, kwargs]):
            found = told_by_numpy(function, args, kwargs, lambda: find(function, types, args, kwargs))
        else:
            found = find(function, types, args, kwargs)
        if asked is not None:
            require_alike(found, asked, function, args, kwargs)
    except Exception as error:
        return explained(error, function, args, kwargs)
    if function in OF_THEIR_CLASS and isinstance(found, Face):
        _note_class(found, args)
    if type(found) is str:
        return written(found, *_tensors_in(args, kwargs))
    if type(found) is np.ndarray and found.dtype.kind in "UST":
        return written_in(found, *_tensors_in(args, kwargs))
    return found


def _note_class(found: Face, args: Any) -> None:
    """Note that a result has the class of all operands, unless one of them is a plain array or number anyway."""
    operands = [x for x in leaves_of(args) if not isinstance(x, str)]
    if all(isinstance(x, Face) or type(x) is np.memmap for x in operands):
        found._tensor._is_of_class_of(_tensors_in(args, {}))


def _tensors_in(args: Any, kwargs: Any) -> list[Tensor]:
    return [x._tensor for x in leaves_of([args, kwargs]) if isinstance(x, Face)]


@cache
def _is_answered(function: Any) -> bool:
    """Whether something else than NumPy's own function computes it."""
    return function in COMPOSED or function in METHODS or op_for(function) is not None


def _found(function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    if function in CHANGES:
        refuse(f"{title(function)} writes a tensor into an array", args, kwargs)
        return change(function, args, kwargs)
    if function in METHODS and not has_tensor(args):
        result = METHODS[function](*args, **kwargs)
        if result is not NotImplemented:
            return result
    if has_tensor(args) or has_tensor(kwargs):
        return _beside_tensors(function, args, kwargs)
    args, kwargs = with_out_named(function, args, dict(kwargs))
    if kwargs:
        tell_truths(kwargs)
    out = kwargs.pop("out", None)
    options = with_room_of(out, function, args, kwargs) if out is not None and function in ADDING_UP else kwargs
    result = in_dtype(_answer(function, types, args, options), options)
    if out is None:
        return as_numpy_lays(function, result, args, kwargs)
    result = divided_there(function, result, out, args, kwargs)
    return fill(out, result, function, args, kwargs, function.__name__)


def _laid(function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """What a function gives that is answered by what is composed for it, or by an op, lying in memory as NumPy's."""
    return as_numpy_lays(function, _answer(function, types, args, kwargs), args, kwargs)


def _beside_tensors(function: Any, args: Any, kwargs: Any) -> Any:
    """What a function of NumPy's gives of arrays and tensors."""
    if not is_called_by_user(sys._getframe(3)):
        refuse(f"a method of an array that calls {title(function)} is given a tensor", args, kwargs)
    if with_out_named(function, args, dict(kwargs))[1].get("out") is not None:
        refuse(f"{title(function)}(out=...) is given arrays and tensors", args, kwargs)
    require_same_rules(args, kwargs)
    args, kwargs = with_weak_numbers((args, kwargs))
    return function(*bare(args), **bare(kwargs))


def _answer(function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    if function in COMPOSED and (found := COMPOSED[function](*args, **kwargs)) is not NotImplemented:
        return found
    if function in TAKEN_OTHERWISE:
        args = promoted(function, with_one_triangle(function, args, kwargs), kwargs)
    leaves: list[Any] = []
    given, named = bare_noting(args, leaves), bare_noting(kwargs, leaves) if kwargs else kwargs
    tensors: list[Any] = [x for x in leaves if isinstance(x, Tensor)]
    if not tensors or any(map(is_of_objects, leaves)):  # out= alone is an array of this function
        return of_numbers(function, args, kwargs, title(function))
    target = tensors[0]
    way = type(target).__array_function__
    try:
        if are_narrow(tensors):
            result = as_of_arrays(way, target, function, types, given, named)
        else:
            result = way(target, function, types, given, named)
    except (NoRule, ComplexError):
        if is_open(function):
            return function._implementation(*args, **kwargs)
        return of_numbers(function, args, kwargs, title(function))
    if function in BOOLS:
        return bool(result)
    if function not in VIEWS:
        apart = partial(_apart, given=tensors, also_alone=function in ALWAYS)
        result = apart(result) if isinstance(result, Tensor) else transform(apart, result)
    if function in LISTS:
        result = list(result)
    if function in NAMED and isinstance(result, tuple):
        result = NAMED[function](*result)
    if function in SPECTRA:
        return real_if_all_are(faces(result), args[0])
    if function in READ_ONLY:
        return readonly(faces(result, array))
    if function in KEPT and args and type(args[0]) is Array:
        return faces(result, array)
    if function in ALWAYS or (function is np.einsum and not result.ndim and _ends_in_product(args, **kwargs)):
        return faces(result, array)
    return faces(result, _of_number if any(issubclass(type(x), AnyNumber) for x in args) else face)


def _apart(z: Any, given: list[Tensor], also_alone: bool) -> Any:
    """A result with memory of its own: some ops give their operand itself, or a view of it.

    One without axes is a number, which nobody writes into, unless it is an array also alone.
    """
    if not isinstance(z, Tensor) or not (z._spec.shape or also_alone):
        return z
    memory = z._memory()
    for x in given:
        if x is z or x._memory() is memory:
            return ops.clone(z)
    return z


def _of_number(tensor: Tensor) -> Any:
    """What is made of a number, with memory of its own."""
    return face(settled(tensor) if tensor._spec.shape else tensor)


def called_on_faces(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """What a public function of this library gives of arguments of which at least one is an array."""
    if not counts_as_tensors((args, kwargs)):
        return faces(function(*bare(args), **bare(kwargs)))
    require_same_rules(args, kwargs)
    require_others(f"tape.{function.__name__}", (args, kwargs))
    args, kwargs = with_weak_numbers((args, kwargs))
    return function(*bare(args), **bare(kwargs))


def bind(op: Any, operands: Any, params: dict[str, Any]) -> Any:
    """Apply an op to operands of which at least one is an array: an array, unless there is a tensor among them."""
    operands = tuple(operands)
    if len(operands) > 1:
        require_others(f"tape.{op.name}", operands)
    xs = with_weak_numbers(operands)
    if xs is not operands:
        require_weak(op, operands, xs, params)
    if any(isinstance(x, Tensor) for x in operands):
        require_same_rules(operands)
        return op(*bare(xs), **bare(params))
    return faces(as_of_arrays(op, *bare(xs), **bare(params)))


Face.__array_ufunc__ = array_ufunc  # type: ignore[attr-defined]
Face.__array_function__ = array_function  # type: ignore[attr-defined]
Face.__bind__ = staticmethod(bind)  # type: ignore[attr-defined]
Face.__bind__.is_face = True  # type: ignore[attr-defined]
