"""Which calls are known to be such as NumPy takes; of any other, NumPy itself says whether it does.

The ops that answer for NumPy's functions are more patient than these: they take what says nothing to them.  So the
function itself is run on an outline of the arguments, once for each form of a call: what counts are the dtypes and
shapes of arrays, and whatever else there is itself.  Only what is known to be usual goes without that.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache, wraps
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ...base.errors import note
from ...base.tensor import Face
from ...base.tree import transform
from ...recording.numpy_bridge import called, signature_of
from .explaining import Raised, explained, lanes_of, numpys_answer, outlined
from .face_base import FACES
from .memory_order import unwritten_like

Theme = TypeVar("Theme")

ANY, FROM_1, FROM_2 = range(65), range(1, 65), range(2, 65)

REDUCING = (
    np.sum, np.prod, np.mean, np.max, np.min, np.amax, np.amin, np.any, np.all, np.argmax, np.argmin, np.nansum,
    np.cumsum, np.cumprod, np.linalg.norm,
)  # fmt: skip
"""Functions of one array, beside which a whole number for ``axis=`` and a truth value for ``keepdims=`` are usual."""
TRANSFORMS = (
    "fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn",
    "irfftn",
)  # fmt: skip
OF_MATRICES = "inv", "det", "slogdet", "cholesky", "eigh", "eigvalsh", "svd", "qr", "pinv"
JOINING = np.concatenate, np.stack, np.hstack, np.vstack, np.dstack, np.column_stack

USUAL: dict[Any, tuple[int, int, range]] = {
    **dict.fromkeys(REDUCING, (1, 1, ANY)), **dict.fromkeys(JOINING, (1, 1, FROM_1)),
    **dict.fromkeys((np.ravel, np.copy, np.zeros_like, np.ones_like, np.empty_like, np.real, np.imag), (1, 1, ANY)),
    **dict.fromkeys((np.sort, np.diff, np.tril, np.triu, np.fix, np.isposinf, np.isneginf), (1, 1, FROM_1)),
    **dict.fromkeys((np.round, np.around), (1, 1, FROM_1)), **dict.fromkeys((np.trace, np.diagonal), (1, 1, FROM_2)),
    **dict.fromkeys([getattr(np.fft, name) for name in TRANSFORMS], (1, 1, FROM_1)),
    **dict.fromkeys([getattr(np.linalg, name) for name in OF_MATRICES], (1, 1, FROM_2)),
    **dict.fromkeys((np.nan_to_num, np.transpose, np.squeeze, np.median), (1, 1, FROM_1)),
    np.diag: (1, 1, range(1, 3)), np.vander: (1, 1, range(1, 2)), np.cov: (1, 1, range(1, 3)),
    **dict.fromkeys((np.dot, np.inner, np.vdot, np.outer, np.kron), (2, 2, ANY)),
    **dict.fromkeys((np.isclose, np.allclose, np.array_equal), (2, 2, ANY)),
    **dict.fromkeys((np.tensordot, np.linalg.solve, np.searchsorted), (2, 2, FROM_1)),
    np.convolve: (2, 2, range(2)),
    **dict.fromkeys((np.take, np.reshape, np.expand_dims, np.roll, np.repeat, np.tile), (2, 2, FROM_1)),
    **dict.fromkeys((np.where, np.clip, np.interp), (3, 3, ANY)), np.linspace: (2, 2, ANY),
}  # fmt: skip
"""By function how few arguments and how many cannot be wrong if they are numbers, and arrays of so many axes."""

ALONG = frozenset(REDUCING)
NUMBERS = frozenset({float, int, np.ndarray, np.float64, np.int64})
"""The classes of arguments that are usual beside recorded arrays; lists of these are as well."""


def is_usual(function: Any, args: Any, kwargs: Any) -> bool:
    """Whether a call is known to be such as NumPy takes, unless what answers for it refuses it too."""
    usual = USUAL.get(function)
    if usual is None:
        return False
    least, most, ndims = usual
    if not least <= len(args) <= most:
        return False
    for x in args:
        kind = type(x)
        if kind in FACES:
            if len(x._tensor._spec.shape) not in ndims:
                return False
        elif kind is list or kind is tuple:
            if not x:
                return False
            for part in x:
                if type(part) in FACES:
                    if len(part._tensor._spec.shape) not in ndims:
                        return False
                elif type(part) not in NUMBERS:
                    return False
        elif kind not in NUMBERS:
            return False
    if kwargs:
        if function not in ALONG:
            return False
        for name, x in kwargs.items():
            if not (type(x) is bool if name == "keepdims" else name == "axis" and (x is None or type(x) is int)):
                return False
    return True


class Inscrutable(Exception):
    """Something among the arguments that is neither a number nor a name."""


MEMORY = frozenset({"resize", "setfield", "setflags"})
"""Methods that are about memory, which is another of recorded arrays."""

MOST = 4096
_taken: set[Any] = set()
"""The forms of calls that NumPy took."""


class FirstTaken(NamedTuple):
    """What NumPy's function took for the first time: the form of the call, and an outline of what it gives."""

    form: Any
    outline: Any


def require_taken(function: Any, args: Any, kwargs: Any) -> FirstTaken | None:
    """Let NumPy's function say whether it takes such arguments, if it has not yet.

    Raises:
        Exception: what NumPy raises of them.
    """
    place = _place_of_out(function)
    try:
        form = (
            function,
            *[_layout(x) if k == place else _form(x) for k, x in enumerate(args)],
            *[(name, _layout(x) if name == "out" else _form(x)) for name, x in kwargs.items()],
        )
    except Inscrutable:
        return None
    if form in _taken:
        return None
    args = tuple([unwritten_like(x) if k == place else x for k, x in enumerate(args)])
    named = {name: transform(unwritten_like, x) if name == "out" else x for name, x in kwargs.items()}
    return FirstTaken(form, outlined(function, args, named))


def require_alike(found: Any, asked: FirstTaken, function: Any, args: Any, kwargs: Any) -> None:
    """Check that a result is of the shapes and dtypes that NumPy's has, which may follow from numbers.

    Raises:
        TypeError: if it is not.
    """
    if not are_alike(found, asked.outline):
        lane = min(lanes_of([args, kwargs]), default=None)
        answer = numpys_answer(function, args, kwargs, lane)
        if not isinstance(answer, Raised) and answer is not NotImplemented and not are_alike(found, answer):
            what = f"{called(function)} gives something else of such arguments in NumPy, which cannot be recorded"
            raise note(TypeError(what))
    if len(_taken) >= MOST:
        _taken.clear()
    _taken.add(asked.form)


def are_alike(x: Any, y: Any) -> bool:
    """Whether two results are arrays of one shape and dtype, or as many of such."""
    if isinstance(x, (list, tuple)) or isinstance(y, (list, tuple)):
        return isinstance(y, list if isinstance(x, list) else tuple) and len(x) == len(y) and all(map(are_alike, x, y))
    x, y = (v if isinstance(v, (np.ndarray, np.generic, Face)) else np.asarray(v) for v in (x, y))
    return x.shape == y.shape and x.dtype == y.dtype


WITH_A_NUMBER = frozenset({
    "all", "any", "argmax", "argmin", "argsort", "clip", "cumprod", "cumsum", "fill", "item", "max", "mean", "min",
    "prod", "repeat", "reshape", "round", "sort", "squeeze", "std", "sum", "take", "var",
})  # fmt: skip
"""Methods beside which a whole number alone is usual: an axis, a place, or a length."""


def asking(theme: type[Theme]) -> type[Theme]:
    """Let NumPy's own methods say whether they take what is given to those of a theme of the array face."""
    for name, method in [*vars(theme).items()]:
        if not name.startswith("_") and name not in MEMORY:
            setattr(theme, name, asked(method, name))
    return theme


def asked(method: Callable[..., Any], name: str | None = None) -> Callable[..., Any]:
    """A method of arrays that lets NumPy's own say whether it takes such arguments."""
    name = name or method.__name__
    takes_number = name in WITH_A_NUMBER

    def numpys(x: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(x, name)(*args, **kwargs)

    numpys.__module__, numpys.__name__ = "numpy.ndarray", name

    @wraps(method)
    def ask(self: Any, *args: Any, **kwargs: Any) -> Any:
        if (not args and not kwargs) or (takes_number and self._is_array and is_number_alone(args, kwargs)):
            return method(self, *args, **kwargs)
        given = (self, *args)
        try:
            asked = require_taken(numpys, given, kwargs)
            found = method(self, *args, **kwargs)
            if asked is not None:
                require_alike(found, asked, numpys, given, kwargs)
            return found
        except Exception as error:
            return explained(error, numpys, given, kwargs)

    return ask


def is_number_alone(args: Any, kwargs: Any) -> bool:
    """Whether a whole number is all that is said, or an axis by name, and whether it is kept."""
    if args:
        return not kwargs and len(args) == 1 and type(args[0]) is int
    for name, x in kwargs.items():
        if not (type(x) is bool if name == "keepdims" else name == "axis" and type(x) is int):
            return False
    return True


BY_POSITION = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD


@cache
def _place_of_out(function: Any) -> int:
    """Which argument by position is ``out``; −1 if none is."""
    signature = None if isinstance(getattr(function, "__self__", function), np.ufunc) else signature_of(function)
    given = [] if signature is None else [p.name for p in signature.parameters.values() if p.kind in BY_POSITION]
    return given.index("out") if "out" in given else -1


def _form(x: Any) -> Any:
    """What there is to an argument for NumPy's function, which may refuse it for that.

    Raises:
        Inscrutable: if it is an object that NumPy's function may call.
    """
    kind = type(x)
    if kind in FACES:
        return kind, x._tensor._spec
    if kind is float:
        return kind, x == 0, x.is_integer()
    if kind in CONSTANTS or isinstance(x, (np.dtype, type)):
        return kind, x
    if kind is list or kind is tuple:
        return kind, *[_form(part) for part in x]
    if kind is np.ndarray and not x.dtype.hasobject:
        return x.shape, x.dtype, x.tobytes() if x.size <= FEW else None
    if isinstance(x, np.generic):
        return kind, x.tobytes()
    raise Inscrutable


FEW = 16
"""Numbers of so small arrays count themselves, as lengths and places do."""

CONSTANTS = frozenset({int, bool, str, complex, type(None), type(...), type(np._NoValue)})


def _layout(x: Any) -> Any:
    """What there is to an ``out=``, or a tuple of such."""
    if type(x) is tuple:
        return x.__class__, *map(_layout, x)
    return ("out", x.shape, x.dtype, x.strides, x.flags.writeable) if isinstance(x, np.ndarray) else _form(x)


def tell_truths(named: dict[str, Any]) -> None:
    """Put truth values where numbers, or nothing, stand for such among arguments that NumPy takes.

    Raises:
        TypeError: for a number that NumPy would also count with.
    """
    if type(named.get("keepdims")) is int:
        named["keepdims"] = bool(named["keepdims"])
    where = named.get("where", True)
    if type(where) is not bool and isinstance(where, (int, float, type(None))):
        if where not in (None, 0, 1):
            raise TypeError(f"where= takes truth values, and got {where!r}")
        named["where"] = bool(where)
