"""NumPy's functions on arrays: they are those that tensors have, and results are arrays again.

``np.sin(x)`` comes in through `__array_ufunc__`, ``np.sum(x, axis=0)`` through `__array_function__`.  What changes its
first argument goes to `writing`, what calls a function of the user's to `vectorised`.  A function that gives integers or
truth values has no derivative, so it gets the numbers; any other without a rule is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..level import Layer, live
from ..numpy_bridge import NoRule, called as title
from ..tensor import Face, Tensor
from ..tree import leaves_of
from ..views import materialise
from .face import Array, Number, array, bare, face, faces, has_tensor, tensor_of
from .leaving import OPEN, refusal
from .vectorised import CALLING
from .writing import CHANGES, at, store

VIEWS = frozenset({
    np.reshape, np.transpose, np.squeeze, np.swapaxes, np.moveaxis, np.broadcast_to, np.copy, np.zeros_like,
    np.ones_like, np.empty_like, np.full_like, np.real, np.imag, np.expand_dims, np.permute_dims, np.flip,
})  # fmt: skip
"""Functions whose results without axes are arrays, not numbers."""


def array_ufunc(self: Face, ufunc: np.ufunc, how: str, *inputs: Any, out: Any = None, where: Any = True,
                **options: Any) -> Any:  # fmt: skip
    """NumPy's and SciPy's ufuncs, and their methods, on arrays."""
    if has_tensor(inputs):
        return called(lambda *xs: getattr(ufunc, how)(*xs, **options), bare(inputs), lambda x: x)
    if how == "at":
        return at(ufunc, *inputs)
    if how == "reduce" and where is not True:
        options["where"] = where
    result = explained(lambda: _result(ufunc, how, inputs, options), getattr(ufunc, how), inputs, options)
    if out is not None and any(x is not None for x in np.atleast_1d(out)) if not isinstance(out, tuple) else out:
        return store(out, result, ufunc.__name__, where if how == "__call__" else True)
    if where is not True and how == "__call__":
        raise refusal(f"{title(ufunc)} with where= and without out=, whose other elements are left as they were,")
    return result


def _result(ufunc: np.ufunc, how: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    xs = bare(inputs)
    target = next(x for x in xs if isinstance(x, Tensor))
    try:
        return faces(type(target).__array_ufunc__(target, ufunc, how, *xs, **options))
    except NoRule:
        return of_numbers(getattr(ufunc, how), inputs, options, title(ufunc, how))


def array_function(self: Face, function: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
    """NumPy's other functions on arrays."""
    if function in CHANGES:
        return CHANGES[function](*args, **kwargs)
    if function in CALLING:
        return CALLING[function](*args, **kwargs)
    if has_tensor(args) or has_tensor(kwargs):
        return function(*bare(args), **bare(kwargs))
    kwargs = dict(kwargs)
    out = kwargs.pop("out", None)
    result = explained(lambda: _answer(function, types, args, kwargs), function, args, kwargs)
    return result if out is None else store(out, result, function.__name__)


def _answer(function: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
    given, named = bare(list(args)), bare(kwargs)
    target = next(x for x in leaves_of([given, named]) if isinstance(x, Tensor))
    try:
        result = type(target).__array_function__(target, function, types, tuple(given), named)
    except NoRule:
        if function.__module__.startswith(OPEN):
            return function._implementation(*args, **kwargs)
        return of_numbers(function, args, kwargs, title(function))
    return faces(result, array if function in VIEWS and type(args[0]) is Array else face)


def of_numbers(function: Callable[..., Any], args: Any, kwargs: Any, name: str) -> Any:
    """What a function without a rule gives of the bare numbers, if it gives integers, truth values or nothing.

    Raises:
        TypeError: if what it gives could have a derivative, and an argument carries a gradient.
    """
    from .leaving import carries

    tensors = [x._tensor for x in leaves_of([list(args), kwargs]) if isinstance(x, Face)]
    lost = [t for t in tensors if carries(t)]
    if any(isinstance(live(t), Layer) for t in lost):
        raise refusal("it has no rule", name)
    copies = {id(t): np.array(t.detach().numpy(force=True)) for t in tensors}
    result = function(*_numbers(tuple(args), copies), **_numbers(kwargs, copies))
    if lost and (result is None or any(np.asarray(x).dtype.kind in "fcO" for x in leaves_of(result))):
        raise refusal("it has no rule", name)
    return faces(_wrapped(result))


def _wrapped(result: Any) -> Any:
    if isinstance(result, (np.ndarray, np.generic)) and result.dtype.kind in "biufc":
        return tensor_of(np.array(result)[()] if not np.ndim(result) else result)
    if isinstance(result, (tuple, list)):
        made = [_wrapped(part) for part in result]
        return type(result)(*made) if hasattr(result, "_fields") else type(result)(made)
    return result


def _numbers(x: Any, values: dict[int, Any]) -> Any:
    if isinstance(x, Face):
        return values[id(x._tensor)]
    if isinstance(x, (tuple, list)):
        return type(x)([_numbers(part, values) for part in x])
    return {name: _numbers(part, values) for name, part in x.items()} if type(x) is dict else x


def explained(compute: Callable[[], Any], function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """What `compute` gives; what NumPy itself raises of such arguments, if it raises."""
    try:
        return compute()
    except Exception as error:
        theirs = numpys_error(function, args, kwargs)
        if theirs is None or type(theirs) is type(error):
            raise
        raise theirs from error


def numpys_error(function: Callable[..., Any], args: Any, kwargs: Any) -> Exception | None:
    """What NumPy raises of plain arrays in the place of recorded ones."""
    try:
        tensors = [x._tensor for x in leaves_of([list(args), dict(kwargs)]) if isinstance(x, Face)]
        values = {id(t): _seen(t) for t in tensors}
        given, named = _numbers(tuple(args), values), _numbers(dict(kwargs), values)
    except Exception:
        return None
    try:
        with np.errstate(all="ignore"):
            function(*given, **named)
    except Exception as error:
        return error
    return None


def _seen(tensor: Tensor) -> Any:
    """The numbers of a tensor for the library's own eyes; those of one with lanes are ones."""
    tensor = live(tensor)
    if isinstance(tensor, Layer):
        return np.ones(tensor._spec.shape, tensor._spec.dtype)
    value = tensor.value if hasattr(tensor, "value") else materialise(tensor)
    return np.array(value)[()]


def called(function: Callable[..., Any], args: Any, face: Callable[[Any], Any]) -> Any:
    """What a function gives of tensors."""
    return face(function(*args))


def bind(op: Any, operands: Any, params: dict[str, Any]) -> Any:
    """Apply an op to operands of which at least one is an array: an array, unless there is a tensor among them."""
    xs = bare(tuple(operands))
    result = op(*xs, **bare(params))
    return result if any(isinstance(x, Tensor) for x in operands) else faces(result)


Face.__array_ufunc__ = array_ufunc  # type: ignore[attr-defined]
Face.__array_function__ = array_function  # type: ignore[attr-defined]
Face.__bind__ = staticmethod(bind)  # type: ignore[attr-defined]
Face.__bind__.is_face = True  # type: ignore[attr-defined]
_ = Number
