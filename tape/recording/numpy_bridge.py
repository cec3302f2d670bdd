"""NumPy's functions on tensors, and tensors as arrays.

``np.sin(t)`` and ``ndarray * t`` come in through `__array_ufunc__`, ``np.sum(t, axis=0)`` and
``np.concatenate([...])`` through `__array_function__`; both find the op that declared itself for
the function.  What no op answers for raises a TypeError: history is never dropped in silence.
"""

from __future__ import annotations

import inspect
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from numbers import Number
from typing import Any

import numpy as np

import ops
from ops import REGISTRY, Op
from ops.algebra.sparse import yielding
from ops.core.differentiate import dtype_of
from ops.core.op import answers
from ops.core.own import CHANGES

from ..base.location import in_library
from ..base.tensor import Tensor, Theme
from .functions import is_short, plain_value, short_way, tensors
from .recorder import masked_error, wrap
from .short_ways import check_still
from .views import materialise
from .wengert import current

ABOUT = frozenset(
    {np.shape, np.ndim, np.size, np.result_type, np.common_type, np.can_cast, np.iscomplexobj, np.isrealobj}
)
"""Functions that read no number of a tensor: they get arrays of its shape and dtype."""

OF_VALUES = frozenset({np.array_repr, np.array_str, np.min_scalar_type})
"""Functions that give something which has no derivative: they get the values."""

OF_MEMORY = frozenset({np.may_share_memory, np.shares_memory})
"""Functions that ask where arrays lie."""

UNTOLD: dict[Any, Any] = {
    np.where: lambda condition, x=None, y=None, /: None,
    np.inner: lambda a, b, /: None,
    np.vdot: lambda a, b, /: None,
    np.dot: lambda a, b, out=None: None,
    np.concatenate: lambda arrays, /, axis=0, out=None, *, dtype=None, casting="same_kind": None,
    np.bincount: lambda x, /, weights=None, minlength=0: None,
    np.empty_like: lambda prototype, /, dtype=None, order="K", subok=True, shape=None, *, device=None: None,
}
"""Arguments of functions of which NumPy before 2.4 does not tell them."""


@cache
def op_for(function: Any) -> Op | None:
    """The op that answers for a function of NumPy's, or of `scipy.special`."""
    return _answers().get(function) or _answers_to_scipy(sys.modules.get("scipy.special")).get(function)


_answers = cache(answers)


@cache
def _answers_to_scipy(special: Any) -> dict[Any, Op]:
    """The ops by the functions of SciPy's module, which is not imported for that."""
    pairs = [(getattr(special, name, None), op) for op in REGISTRY.values() for name in op.scipy]
    return {function: op for function, op in pairs if function is not None}


ONLY_TENSORS = {Tensor}
_SHORT_WAYS = {op: short_way(op, depth=2) for op in REGISTRY.values() if is_short(op)}


@cache
def _short_way(ufunc: np.ufunc) -> Callable[..., Any] | None:
    """The closure that applies a ufunc to tensors alone, where a line of the user's calls `__array_ufunc__`."""
    return _SHORT_WAYS.get(op_for(ufunc))  # type: ignore[arg-type]


@cache
def called(function: Any, how: str = "__call__") -> str:
    """What users call a function: ``np.add.reduce``, ``scipy.special.gammaln``."""
    if isinstance(function, np.ufunc):
        special = sys.modules.get("scipy.special")
        room = "scipy.special" if getattr(special, function.__name__, None) is function else "np"
    else:
        room = public_name(getattr(function, "__module__", None) or "np").replace("numpy", "np")
    return f"{room}.{function.__name__}" + ("" if how == "__call__" else f".{how}")


def public_name(name: str) -> str:
    """A dotted name without the private rooms in it: ``scipy.linalg._matfuncs.expm`` is ``scipy.linalg.expm``."""
    return ".".join(part for part in name.split(".") if not part.startswith("_") or part.endswith("__"))


@cache
def _along(how: str) -> dict[Any, Op]:
    """The ops that are the ``reduce`` or ``accumulate`` of a ufunc."""
    fact = {"reduce": "reduces", "accumulate": "accumulates"}.get(how)
    asked = [(getattr(op.hints, fact), op) for op in REGISTRY.values()] if fact else []
    return {ufunc: op for ufunc, op in asked if ufunc is not None}


def _forget(op: Op) -> None:
    """Ask the ops again: one has joined or left."""
    for cached in (op_for, _answers, _answers_to_scipy, _along, _short_way):
        cached.cache_clear()


CHANGES.append(_forget)


class NoRule(TypeError):
    """A function of NumPy's has no rule, at least not with such arguments."""


def _no_rule(name: str, why: str = "has no rule for tensors") -> NoRule:
    return NoRule(
        f"{name} {why}, and applying it to the bare numbers would drop the history.\n"
        "Write it with functions that have one, or take the numbers out with .detach().numpy() if it needs no gradient."
    )


OF_ITS_CLASS = frozenset({
    "__annotations__", "__array_priority__", "__init_subclass__", "__module__", "__slots__", "__subclasshook__",
    "__weakref__",
})  # fmt: skip
"""Names that nobody looks for at a tensor."""


class NumpyMethods(Theme):
    """What NumPy asks of a tensor, and a tensor as an array."""

    __slots__ = ()

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **kwargs: Any) -> Any:
        """NumPy's ufuncs, and their ``reduce``, ``accumulate`` and ``outer``, on tensors."""
        short = _short_way(ufunc) if method == "__call__" and out is None and not kwargs else None
        if short is not None:
            if {*map(type, inputs)} == ONLY_TENSORS:
                if not in_library(sys._getframe(1).f_code.co_filename):
                    return short(*inputs)
            elif len(inputs) == 1:
                return op_for(ufunc)(self)  # type: ignore[misc]
        name = called(ufunc, method)
        result = _apply(ufunc, method, inputs, kwargs, name)
        target = out[0] if isinstance(out, tuple) else out
        return result if target is None else _store(result, target, name)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """NumPy's functions on tensors."""
        if function in ABOUT or function in OF_VALUES or function in OF_MEMORY:
            array_of = outline if function in ABOUT else _memory if function in OF_MEMORY else _value
            return function(*_arrays(args, array_of), **{k: _arrays(v, array_of) for k, v in kwargs.items()})
        op = op_for(function)
        name = called(function)
        if op is None:
            raise _no_rule(name)
        kwargs = dict(kwargs)
        out = kwargs.pop("out", None)
        result = tensors(_call(op, function, args, kwargs, name))
        return result if out is None else _store(result, out, name)

    @yielding
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """The numbers as an array, which NumPy asks for where it does not know tensors."""
        array = self.numpy()
        if dtype is not None and array.dtype != dtype:
            if copy is False:
                raise ValueError(f"a {array.dtype} tensor cannot become an array of {dtype_of(dtype)} without a copy")
            return array.astype(dtype)
        return array.copy() if copy else array

    def numpy(self, *, force: bool = False) -> np.ndarray:
        """The tensor's memory as an array; changes of one are seen by the other.

        Args:
            force: detach first, so that a tensor that requires grad can be read too.

        Raises:
            RuntimeError: on a tensor that requires grad, unless ``force``, where operations are recorded.
        """
        if self._node is not None and not force and current().recording:
            raise numpy_error()
        return materialise(self)

    def __dir__(self) -> list[str]:
        """The names for those who use a tensor, not those for the library's own use.

        So few that Python, which does not look among 750 names or more, tells which was meant by one that is not there.
        """
        seen = (name for name in object.__dir__(self) if name[:2] == "__" or not name.startswith(("_", "numpy_")))
        return [name for name in seen if name not in OF_ITS_CLASS]

    @property
    def _mask(self) -> Any:
        """What `numpy.ma` asks its operands for; it would compute with the bare numbers, and drop the history.

        Raises:
            TypeError: always.
        """
        raise masked_error()


def _apply(ufunc: np.ufunc, how: str, inputs: tuple[Any, ...], options: dict[str, Any], name: str) -> Any:
    dtype = options.pop("dtype", None)
    if how == "__call__" and (found := op_for(ufunc)) is not None:
        if unknown := sorted(set(options) - set(_named(found))):
            raise _no_rule(name, f"with {', '.join(unknown)}= has no rule for tensors")
        result = tensors(found(*inputs, **options))
        if isinstance(result, Number):  # the op met no tensor: it came in through out=
            result = wrap(np.asarray(result)[()])
        return result if dtype is None else result.to(dtype)
    if how == "outer" and op_for(ufunc) is not None:
        x, y = inputs
        lengths = tuple(np.shape(x)) + (1,) * np.ndim(y)
        return tensors(op_for(ufunc)(ops.reshape(x, shape=lengths), y))  # type: ignore[misc]
    op = _along(how).get(ufunc)
    if op is None:
        raise _no_rule(name)
    axis, keepdims = options.pop("axis", 0), options.pop("keepdims", False)
    options = {k: v for k, v in options.items() if v is not None and v is not np._NoValue and v is not True}
    if options:
        raise _no_rule(name, f"with {', '.join(sorted(options))}= has no rule for tensors")
    x = inputs[0] if dtype is None else inputs[0].to(dtype)
    result = op(x, axis=axis, **({"keepdims": keepdims} if how == "reduce" else {}))
    return result[0] if op.outputs > 1 else result


def _named(op: Op) -> Iterable[str]:
    """The arguments of an op that are given by name."""
    return _own(op).parameters if op.kind == "composite" else op.params


def _store(result: Tensor, out: Any, name: str) -> Any:
    """Write a result into NumPy's ``out=``.

    Raises:
        RuntimeError: if a gradient or a tangent would be lost.
    """
    check_still(result, out, name)
    if result._node is not None or (isinstance(out, Tensor) and out._node is not None and current().recording):
        raise RuntimeError(
            f"{name}(out=…) and in-place arithmetic on an array do not record, and a tensor that requires grad is "
            "involved.\nUse the returned value instead, such as a = a + t."
        )
    if isinstance(out, Tensor):
        return out.copy_(result)
    np.copyto(out, result._data, casting="same_kind")
    return out


def _arrays(x: Any, array_of: Callable[[Tensor], Any]) -> Any:
    if isinstance(x, (tuple, list)):
        return type(x)([_arrays(part, array_of) for part in x])
    return array_of(x) if isinstance(x, Tensor) else x


def _value(x: Tensor) -> Any:
    return x._data


def _memory(x: Tensor) -> Any:
    x._refuse_recording("it asks whether arrays share memory")
    return x._data


def outline(x: Tensor) -> np.ndarray:
    """An array of a tensor's shape and dtype, whatever its numbers are."""
    return np.broadcast_to(np.zeros((), x._spec.dtype), x._spec.shape)


def _call(op: Op, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], name: str) -> Any:
    """Apply an op to the arguments of the NumPy function it answers for."""
    if op.kind == "composite":
        if not kwargs and _by_position(op, function, len(args)) and not any(x is np._NoValue for x in args):
            return op.forward(*args)
        named = _by_keywords(op, function, args, kwargs, name)
        if named is not None:
            return op.forward(**named)
        given = _for_composite(op, function, args, kwargs, name)
        return op.forward(*given.args, **given.kwargs)
    arguments = _arguments(op, function, args, kwargs)
    dtype = None if "dtype" in op.params else arguments.pop("dtype", None)
    values = list(arguments.items())
    count = 1 if op.variadic else len(op.operands)
    if len(values) < count:
        raise _no_rule(name, f"without {', '.join(op.operands[len(values) :])} has no rule for tensors")
    operands = tuple(values[0][1]) if op.variadic else tuple(value for _, value in values[:count])
    params = {k: plain_value(v) for k, v in values[count:] if not _is_default(function, k, v)}
    if unknown := sorted(set(params) - set(op.params)):
        raise _no_rule(name, f"with {', '.join(unknown)}= has no rule for tensors")
    if dtype is not None:
        operands = tuple(ops.cast(x, dtype=dtype_of(dtype)) for x in operands)
    return op(*operands, **params)


STARRED = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD


@cache
def _order(op: Op, function: Any, count: int, names: tuple[str, ...]) -> dict[str, Any] | None:
    """By NumPy's names, where arguments are in a call of so many by position, and others by name.

    None if only the arguments tell: the call is wrong, or some are taken together.
    """
    signature = signature_of(function) or _own(op)
    if any(p.kind in STARRED for p in signature.parameters.values()):
        return None
    try:
        return dict(signature.bind(*range(count), **dict(zip(names, names))).arguments)
    except TypeError:
        return None


@cache
def _keywords(
    op: Op, function: Any, count: int, names: tuple[str, ...]
) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """By the names of a composite, where its arguments are in such a call; by NumPy's, those that it does not have."""
    own, order = _own(op).parameters, _order(op, function, count, names)
    if order is None or any(p.kind in (*STARRED, p.POSITIONAL_ONLY) for p in own.values()):
        return None
    known = _names(own, (signature_of(function) or _own(op)).parameters, order)
    taken = {known[k]: place for k, place in order.items() if known[k] in own}
    return taken, {k: place for k, place in order.items() if known[k] not in own}


def _names(own: Mapping[str, Any], theirs: Mapping[str, Any], given: Iterable[str]) -> dict[str, str]:
    """What a composite calls arguments of a NumPy function: the same, or what it has at their positions."""
    positions = dict(zip(theirs, own))
    return {k: k if k in own or positions.get(k) in theirs else positions.get(k, k) for k in given}


def _by_keywords(
    op: Op, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], name: str
) -> dict[str, Any] | None:
    """Arguments of a NumPy function as those of its composite by name; None where more has to be looked at."""
    found = _keywords(op, function, len(args), tuple(kwargs))
    if found is None:
        return None
    taken, unknown = ({k: _at(place, args, kwargs) for k, place in part.items()} for part in found)
    _refuse_unknown(function, unknown, name)
    return {k: v for k, v in taken.items() if v is not np._NoValue}


def _at(place: int | str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return kwargs[place] if isinstance(place, str) else args[place]


def _refuse_unknown(function: Any, unknown: dict[str, Any], name: str) -> None:
    """Raise if arguments say something that nobody takes."""
    if told := [k for k, v in unknown.items() if not _is_default(function, k, v)]:
        raise _no_rule(name, f"with {', '.join(told)}= has no rule for tensors")


def _for_composite(
    op: Op, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], name: str
) -> inspect.BoundArguments:
    """Arguments of a NumPy function as those of the composite that answers for it: by name, else by position.

    Raises:
        TypeError: if it does not have an argument that is given.
    """
    own = _own(op)
    signature = signature_of(function) or own
    found: dict[str, Any] = {}
    for given, value in signature.bind(*args, **kwargs).arguments.items():
        kind = signature.parameters[given].kind
        if kind is inspect.Parameter.VAR_POSITIONAL:
            found[next(k for k, p in own.parameters.items() if p.kind is kind)] = value
        else:
            found.update(value if kind is inspect.Parameter.VAR_KEYWORD else {given: value})
    taken = own.parameters
    known = _names(taken, signature.parameters, found)
    _refuse_unknown(function, {k: v for k, v in found.items() if known[k] not in taken}, name)
    named = {known[k]: v for k, v in found.items() if v is not np._NoValue}
    return inspect.BoundArguments(own, OrderedDict((k, named[k]) for k in taken if k in named))


@cache
def _by_position(op: Op, function: Any, count: int) -> bool:
    """Whether so many arguments without names are the same ones of a NumPy function and of its composite."""
    own = _own(op).parameters
    theirs = own if (signature := signature_of(function)) is None else signature.parameters
    pairs = list(zip(own.values(), theirs.values()))[:count]
    places = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
    return len(pairs) == count and all(
        x.kind in places and y.kind in places and (x.name == y.name or (x.name not in theirs and y.name not in own))
        for x, y in pairs
    )


def _arguments(op: Op, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Arguments by NumPy's own names, where NumPy tells them, in NumPy's order."""
    signature = signature_of(function)
    if signature is None:
        names = (("xs",) if op.variadic else op.operands) + tuple(op.params)
        return {**dict(zip(names, args)), **kwargs}
    order = _order(op, function, len(args), tuple(kwargs))
    if order is None:
        return dict(signature.bind(*args, **kwargs).arguments)
    return {k: _at(place, args, kwargs) for k, place in order.items()}


@cache
def _own(op: Op) -> inspect.Signature:
    return inspect.signature(op.forward)


@cache
def signature_of(function: Any) -> inspect.Signature | None:
    """The arguments of a function of NumPy's, which some C functions do not tell."""
    try:
        return inspect.signature(UNTOLD.get(function, function))
    except ValueError:
        return None


def _is_default(function: Any, name: str, value: Any) -> bool:
    """Whether an argument says no more than leaving it out would."""
    signature = signature_of(function)
    known = signature is not None and name in signature.parameters
    default = signature.parameters[name].default if known else None  # type: ignore[union-attr]
    return value is np._NoValue or value is default or (value is None and name != "axis")


def numpy_error() -> RuntimeError:
    """The error for numbers that would leave their history behind."""
    return RuntimeError(
        "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.\n"
        "The array would be bare numbers, without the history; NumPy's functions take the tensor itself."
    )
