"""Classes that a function of arrays names: ``np.ndarray(…)``, ``np.float64(x)``, and ``type(x)``.

A class cannot have a door in its place, as NumPy's functions have: others hold it by identity, and ask whether
something is an instance of it.  Only where the user's code calls ``np.ndarray`` or ``np.float64`` there and then does
the module `numpy` give something else, and to that code alone: while a function is recorded it is a module of a class
of its own, whose attributes look at who asks for them.  Doors are attributes of such classes too.

A class under a name of its own (``from numpy import float64``) is replaced there, if all code that was found does
nothing else with the name than call it, or ask `isinstance`: what holds a class by identity is to find the class.

``type(x)`` is answered by C code, which sees through ``__class__``; a function that tells arrays by it would take
another way when it is recorded.  So meanwhile the globals of the user's modules that name it, and of whatever else is
found (see `named_places`), hold a stand-in for the name ``type``, which answers of a recorded value as NumPy's would,
and is `type` to whoever uses it otherwise, in this thread or another.
"""

from __future__ import annotations

import builtins
import sys
import warnings
from _thread import get_ident
from collections.abc import Callable
from functools import partial
from importlib import import_module
from types import CodeType, FrameType, ModuleType
from typing import Any

import numpy as np

from ..base.dtypes import NUMERIC
from ..base.tensor import Face, Tensor
from .arrays.array_text import Text, TextArray, read_back
from .arrays.leaving import is_recorded, plain, recording
from .arrays.memory_order import shown
from .arrays.python_number import PythonNumber, as_numpy
from .arrays.unwrapping import holds_face
from .constructors import gathered, recordable
from .iterating import nditer
from .mathematics import holds
from .names.callee import CALLED_AT_ONCE, KEPT, Reading, compared_with, is_called_at_once, reading
from .names.taken import Door, lent


def ndarray(
    shape: Any, dtype: Any = float, buffer: Any = None, offset: Any = 0, strides: Any = None, order: Any = None
) -> Any:
    """`np.ndarray`: memory that can take recorded values, unless it is somebody else's."""
    if isinstance(buffer, Face):
        buffer = shown(buffer, "np.ndarray(buffer=…)")
    return recordable(np.ndarray(plain(shape), dtype, buffer, plain(offset), plain(strides), order), (buffer,))


def converted(kind: type) -> Callable[..., Any]:
    """A class of NumPy's numbers, called: a recorded value in that dtype."""

    def convert(*args: Any) -> Any:
        if len(args) == 1 and isinstance(args[0], Text):
            return kind(float(args[0]))
        if len(args) != 1 or not holds_face(args[0]):
            return kind(*args)
        if type(args[0]) is PythonNumber and not holds(partial(_fits, kind), args[0]):
            kind(args[0]._tensor.item())  # NumPy's own error
        x = gathered(as_numpy(args[0])).astype(kind, copy=False)  # which gives an array itself, as NumPy does
        return x if x.ndim else x[()]

    return convert


def _fits(kind: type, x: Any) -> Any:
    """Whether a number of Python's is one of a class of NumPy's: a complex one, and beyond the integers, is not."""
    dtype: Any = np.dtype(kind)
    if dtype.kind not in "iu":
        return dtype.kind in "bc" or not np.iscomplexobj(x)
    if np.iscomplexobj(x):
        return False
    least, most = (float(bound) for bound in (np.iinfo(dtype).min, np.iinfo(dtype).max))
    return (x > least - 1) & (x < most + 1)


NUMBERS = {
    name: kind for name, kind in vars(np).items()
    if isinstance(kind, type) and kind in np.sctypeDict.values() and np.dtype(kind).kind in NUMERIC
}  # fmt: skip
BY_NAME = {"ndarray": np.ndarray, "nditer": np.nditer, **NUMBERS}
"""The classes of NumPy's in whose place something is called, by name: what somebody else puts there is left alone."""
CALLED: dict[str, Callable[..., Any]] = {
    "ndarray": ndarray,
    "nditer": nditer,
    **{k: converted(v) for k, v in NUMBERS.items()},
}
"""By name: what is called in the place of a class of NumPy's."""


def class_of_numpy(name: str) -> Callable[[Any], Any]:
    """What a class of NumPy's is to whoever asks a module for it, as it stands there."""

    def seen(there: Any) -> Any:
        frame = sys._getframe(2)
        if (
            there is BY_NAME.get(name)
            and get_ident() in recording
            and is_recorded(frame)
            and is_called_at_once(frame.f_code, frame.f_lasti)
        ):
            return CALLED[name]
        return there

    return seen


SEEING: set[int] = set()
"""The threads that see doors in modules: those that record, but for what they import or let Numba compile."""


def _doorway(original: Any, door: Any, name: str, is_anybodys: bool) -> Callable[[Any], Any]:
    """What stands in the place of a function; what somebody else has put there is left alone.

    C code that the user's code has called, such as that of `numpy.random`, reads names as well, and so do libraries:
    they get the function itself, but for one that libraries too call with recorded values, if they name it.
    """

    def seen(there: Any) -> Any:
        if there is not original or get_ident() not in SEEING:
            return there
        frame = sys._getframe(2)
        if not (is_anybodys or is_recorded(frame)):
            return there
        how = reading(frame.f_code, frame.f_lasti, name)
        if how is CALLED_AT_ONCE:
            return door
        return there if how is None or (how is not KEPT and _names(frame, how) is original) else lent(door)

    return seen


def _names(frame: FrameType, how: Reading) -> Any:
    """What the name stands for with which something is compared."""
    return (frame.f_globals if how.kind == "global" else frame.f_locals).get(how.name)


def _attribute(names: dict[str, Any], name: str, seen: Callable[[Any], Any]) -> property:
    """An attribute of a module, of whose `names` that of this name is `seen` as something else."""
    original = names[name]

    def get(module: ModuleType) -> Any:
        try:
            there = names[name]
        except KeyError:
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}") from None
        return seen(there)

    def put(module: ModuleType, value: Any) -> None:
        names[name] = original if type(value) is Door and value.__wrapped__ is original else value

    def remove(module: ModuleType) -> None:
        del names[name]

    return property(get, put, remove)


PAST_CLASSES = sys.version_info >= (3, 14)
"""Whether code reads names of a module past the attributes of its class (CPython's LOAD_ATTR_MODULE)."""


def with_doors(module: ModuleType, plain: type, doors: dict[str, tuple[Any, bool]]) -> type:
    """The class of a module while some function is recorded, with doors by name; it is pickled as modules are.

    Its class otherwise is `plain`.  With each door comes whether it is for anybody, and not for the user's code alone.

    That the class changes, and not the names in the module, costs nothing for each door, and whoever watches the names
    sees none of it.  From CPython 3.14 on, code that has read a name of a module some times reads it past the class,
    unless the class finds attributes in a way of its own: that of a class with a `__getattr__` is one.
    """
    names = vars(module)
    seen = {name: _doorway(names[name], door, name, is_anybodys) for name, (door, is_anybodys) in doors.items()}
    if module.__name__ == "numpy":
        seen |= {name: class_of_numpy(name) for name in CALLED}
    attributes = {name: _attribute(names, name, as_what) for name, as_what in seen.items()}
    ways = {"__getattr__": plain.__getattribute__} if PAST_CLASSES else {}
    return type("module", (plain,), {"__reduce_ex__": _by_name, **ways, **attributes})


def _by_name(module: ModuleType, protocol: Any) -> Any:
    return import_module, (module.__name__,)


class StandIn:
    """What stands for a class in the user's modules while a function of theirs is recorded that names it."""

    __slots__ = ("kind",)

    def __init__(self, kind: type):
        self.kind = kind

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        is_recorded_here = get_ident() in recording and is_recorded(sys._getframe(1))
        return (BY_KIND[self.kind] if is_recorded_here else self.kind)(*args, **kwargs)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return type

    @property
    def dtype(self) -> Any:
        """The dtype that NumPy takes a class of its numbers for."""
        return np.dtype(self.kind) if issubclass(self.kind, np.generic) else self.kind.dtype  # type: ignore[attr-defined]

    def __instancecheck__(self, thing: Any) -> bool:
        return thing is self or isinstance(thing, self.kind)

    def __subclasscheck__(self, kind: Any) -> bool:
        return kind is self or issubclass(kind, self.kind)

    def __mro_entries__(self, bases: Any) -> tuple[type, ...]:
        return (self.kind,)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.kind, name)

    def __getitem__(self, parameter: Any) -> Any:
        return self.kind[parameter]  # type: ignore[index]

    def __or__(self, other: Any) -> Any:
        return self.kind | other

    def __ror__(self, other: Any) -> Any:
        return other | self.kind

    def __eq__(self, other: Any) -> bool:
        return other is self or other is self.kind

    def __hash__(self) -> int:
        return hash(self.kind)

    def __repr__(self) -> str:
        return repr(self.kind)

    def __reduce__(self) -> Any:
        return getattr, (np if self.kind in BY_KIND else builtins, self.kind.__name__)


def kind_of(thing: Any) -> Any:
    """The class that something stands for, or is."""
    return thing.kind if issubclass(type(thing), StandIn) else thing


class Kind(StandIn):
    """What stands for `type`."""

    __slots__ = ()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if len(args) != 1 or kwargs:
            return type(*args, **kwargs)
        is_shown = isinstance(args[0], (Face, Tensor)) or type(args[0]) is Door
        found = args[0].__class__ if is_shown else type(args[0])
        if found is np.float64 and isinstance(args[0], Face):
            _tell_of_floats(sys._getframe(1))
        return self if found is type or found is Kind else AS_SHOWN.get(found, found)


class NumberReader(StandIn):
    """What stands for `float` and `complex`, which read numbers from texts; for NumPy it is their dtype."""

    __slots__ = ()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if args and type(args[0]) in TEXTS:
            read_back(self.kind.__name__, args[0])
        return self.kind(*args, **kwargs)

    @property
    def dtype(self) -> Any:
        return np.dtype(self.kind)


TEXTS = frozenset({str, bytes, bytearray, np.str_, np.bytes_})
"""What holds a text of which it is not known where it comes from."""


class Evaluator(StandIn):
    """What stands for `eval`, which reads numbers from text."""

    __slots__ = ()

    def __call__(self, source: Any, globals: Any = None, locals: Any = None, /) -> Any:
        read_back("eval", source)
        frame = sys._getframe(1)
        if globals is None:
            globals, locals = frame.f_globals, frame.f_locals if locals is None else locals
        return eval(source, globals, locals)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return type(eval)


AS_SHOWN = {Text: str, TextArray: np.ndarray}
"""What texts of recorded numbers, and arrays of such, are to whoever asks."""


def _tell_of_floats(frame: FrameType) -> None:
    """Warn once per line if a recorded number is told from Python's floats, of which it may be one to the user."""
    place = frame.f_code.co_filename, frame.f_code, frame.f_lasti
    names = compared_with(frame.f_code, frame.f_lasti)
    if "float" not in names or "float64" in names or place in _told or not is_recorded(frame):
        return
    _told.add(place)
    warnings.warn(
        "type(x) of a recorded number is np.float64, also where a float of Python's was given, so it is not float.\n"
        "Write isinstance(x, float), which holds for both.",
        UserWarning,
        stacklevel=3,
    )


_told: set[tuple[str, CodeType, int]] = set()
"""The places that were warned of."""

TYPE = Kind(type)
EVAL: Any = Evaluator(eval)  # type: ignore[arg-type]
IN_BUILTINS: dict[str, Any] = {"type": TYPE, "eval": EVAL, **{k.__name__: NumberReader(k) for k in (float, complex)}}
"""What stands for names that Python knows without an import."""
BY_KIND: dict[type, Callable[..., Any]] = {BY_NAME[name]: call for name, call in CALLED.items()}
"""By class: what is called in its place."""
NAMED: dict[int, StandIn] = {id(kind): StandIn(kind) for kind in BY_KIND}
"""By identity of a class: what stands for it where the user has imported it under a name of its own."""
