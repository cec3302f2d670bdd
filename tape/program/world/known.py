"""What is known to give the same again for the same arguments; everything else is not known to.

Functions written in C are known one by one, or by modules all of whose functions are; so is Python code of libraries
that is not looked into.  Whatever is not here is looked into if it is written in Python, and is unknown if it is not.
"""

from __future__ import annotations

import array
import builtins
import collections
import datetime
import functools
import inspect
import operator
import random
import re
import sys
import sysconfig
import types
from collections.abc import Iterator
from functools import cache
from types import FunctionType, ModuleType
from typing import Any, Generic, Protocol

import numpy as np

from ...base.location import in_library
from ...base.rooms import opened

BUILTINS = {
    "__build_class__", "abs", "aiter", "all", "anext", "any", "ascii", "bin", "bool", "bytearray", "bytes", "callable",
    "chr", "classmethod", "complex", "delattr", "dict", "dir", "divmod", "enumerate", "filter", "float", "format",
    "frozenset", "getattr", "hasattr", "hash", "hex", "int", "isinstance", "issubclass", "iter", "len", "list", "map",
    "max", "memoryview", "min", "next", "object", "oct", "ord", "pow", "property", "range", "repr", "reversed", "round",
    "set", "setattr", "slice", "sorted", "staticmethod", "str", "sum", "super", "tuple", "type", "vars", "zip",
}  # fmt: skip
PURE = (
    "_bisect", "_heapq", "_operator", "_struct", "bisect", "binascii", "cmath", "heapq", "itertools", "keyword", "math",
    "operator", "string", "struct", "unicodedata", "zlib",
)  # fmt: skip
"""Modules all of whose functions are known."""
FUNCTIONS = {
    "_functools": ("cmp_to_key", "reduce"),
    "numpy": (
        "arange", "array", "asanyarray", "asarray", "ascontiguousarray", "asfortranarray", "datetime_data", "empty",
        "frombuffer", "fromiter", "fromstring", "promote_types", "zeros",
    ),
    "os.path": ("basename", "commonprefix", "dirname", "join", "normpath", "split", "splitext"),
    "os": ("fspath",),
    "numpy._core._multiarray_umath": ("normalize_axis_index",),
}  # fmt: skip
LIBRARIES = (
    "_collections_abc", "abc", "collections", "contextlib", "copy", "copyreg", "dataclasses", "enum", "fractions",
    "functools", "json", "numbers", "numpy.dtypes", "numpy.exceptions", "numpy.fft", "numpy.lib", "numpy.linalg",
    "numpy.ma", "numpy.matrixlib", "numpy.polynomial", "numpy.random", "numpy._core._asarray", "numpy._core._methods",
    "numpy._core._type_aliases", "numpy._core.einsumfunc", "numpy._core.fromnumeric", "numpy._core.function_base",
    "numpy._core.getlimits", "numpy._core.multiarray", "numpy._core.numeric", "numpy._core.numerictypes",
    "numpy._core.overrides", "numpy._core.records", "numpy._core.shape_base", "numpy._core.umath", "random", "re",
    "reprlib", "scipy", "statistics", "types", "typing",
)  # fmt: skip
"""Modules and packages whose Python code is not looked into."""
CLASSES = ("argparse.Namespace", "argparse._AttributeHolder")
"""Classes of other modules whose code is not looked into either: they keep attributes, and read no others."""
NOT = (
    "numpy.lib._npyio_impl", "numpy.lib._datasource", "numpy.lib._utils_impl", "numpy.lib.format", "numpy.lib.npyio",
    "scipy.datasets", "scipy.io",
)  # fmt: skip
DRAWING = ("scipy", "statistics")
"""Those of them whose code may draw from the generators that all share."""
ANSWERED = ("scipy",)
"""Those of whose functions written in Python ops answer for some, and run none of their code."""
READS_ALL = ("copy", "dataclasses", "json", "pprint", "typing")
"""Modules whose functions read all attributes of what they are given."""
BY_NAME = {
    getattr, hasattr, setattr, delattr, vars, dir, operator.attrgetter, operator.methodcaller, object.__getattribute__,
    object.__setattr__, type.__getattribute__, np.vectorize,
}  # fmt: skip
"""What reads attributes whose names it is told."""
READING = {
    "__dict__", "__getattribute__", "__getstate__", "__reduce__", "__reduce_ex__", "__setattr__", "__delattr__",
    "__setstate__", "format", "format_map",
}  # fmt: skip
"""Attributes that do so, or that are of what does."""
SYSTEM = (datetime.date, datetime.datetime, random.SystemRandom)
"""Types that can be asked for what is another in every call."""
INSTANT = ("fromtimestamp", "now", "today", "utcnow")
TYPES = {
    array.array, BaseException, collections.OrderedDict, collections.defaultdict, collections.deque, datetime.date,
    datetime.datetime, datetime.time, datetime.timedelta, datetime.timezone, functools.partial, inspect.Parameter,
    inspect.Signature, np.broadcast, np.dtype,
    np.errstate, np.generic, np.finfo, np.flatiter, np.iinfo, np.ndarray, np.ndenumerate, np.ndindex, np.nditer,
    np.ufunc, type(np.dtype), random.Random, re.Pattern, re.Match, types.MappingProxyType, types.SimpleNamespace,
    types.MethodType, types.ModuleType, type(None), type(Ellipsis), type(NotImplemented), types.GenericAlias,
    types.UnionType,
}  # fmt: skip
INTROSPECTION = (
    types.FrameType, types.CodeType, types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType,
    types.TracebackType, types.CellType, types.FunctionType, type,
)  # fmt: skip
HARMLESS = {
    "__annotations__", "__base__", "__bases__", "__call__", "__class__", "__class_getitem__", "__code__",
    "__defaults__", "__dict__", "__doc__", "__func__", "__get__", "__init_subclass__", "__instancecheck__",
    "__kwdefaults__", "__module__", "__mro__", "__name__", "__new__", "__prepare__", "__qualname__", "__self__",
    "__subclasscheck__", "__subclasshook__", "__wrapped__", "close", "mro", "send", "throw",
}  # fmt: skip
INNER = frozenset(set().union(*(set(dir(kind)) for kind in INTROSPECTION)) - set(dir(object)) - HARMLESS) - {
    "__or__", "__ror__", "__iter__", "__next__", "__del__", "__await__", "__aiter__", "__anext__", "replace", "clear",
}  # fmt: skip
"""Attributes by which frames, cells, scopes and all classes can be got at."""
OF_IDENTITY = (operator.is_, operator.is_not)
"""What tells which objects are the same: those that a recording stands in for arguments are not."""
NAMES = frozenset(dir(np.ndarray)) - {"__dict__"}
"""What NumPy asks objects for."""
_PYTHONS = tuple({sysconfig.get_paths()[k] for k in ("stdlib", "platstdlib")})
_INSTALLED = tuple({sysconfig.get_paths()[k] for k in ("purelib", "platlib")})


def home_of(function: Any) -> str:
    """The module that a function was defined in."""
    inner = getattr(function, "_implementation", function) if type(function) in DISPATCHERS else function
    spaces = inner.__globals__ if isinstance(inner, FunctionType) else {}
    return str(spaces.get("__name__") or getattr(inner, "__module__", None) or "")


def in_modules(name: str, modules: tuple[str, ...]) -> bool:
    return name in modules or name.startswith(_insides(modules))


@cache
def _insides(modules: tuple[str, ...]) -> tuple[str, ...]:
    """How the names begin of what is inside of modules."""
    return tuple([f"{module}." for module in modules])


def is_trusted(module: str) -> bool:
    """Whether the Python code of a module is known, and not looked into."""
    known = module == "numpy" or module in PURE or in_modules(module, LIBRARIES)
    return known and not in_modules(module, NOT)


def is_trusted_class(kind: type) -> bool:
    """Whether the Python code of a class is known, and not looked into."""
    name = f"{kind.__module__}.{kind.__qualname__}"
    return (is_trusted(kind.__module__) or name in CLASSES) and is_genuine(kind)


def is_pythons(file: str) -> bool:
    """Whether a source file is of Python's own library."""
    return file.startswith("<frozen ") or (file.startswith(_PYTHONS) and not file.startswith(_INSTALLED))


def is_looked_into(function: FunctionType) -> bool:
    """Whether a function's own code tells what it reads: it is of the user's, or of a package that is not known."""
    file = function.__code__.co_filename
    module = sys.modules.get(home_of(function))
    if in_library(file):
        return False
    if (
        module is None
        or function.__globals__ is not vars(module)
        or not file.startswith((*_PYTHONS, *_INSTALLED, "<frozen "))
    ):
        return True
    return not (is_trusted(module.__name__) or is_pythons(file))


def is_users(function: FunctionType) -> bool:
    """Whether a function is in no installed package and not in Python's library: who put it there is the user."""
    file = function.__code__.co_filename
    return not (in_library(file) or file.startswith((*_PYTHONS, *_INSTALLED, "<frozen ")))


def is_of_one_package(kind: Any, function: FunctionType) -> bool:
    """Whether a class and a function are of one installed package that is not known: who has such objects knows it.

    Nothing is known of objects of its classes that are written in C: what reads one is not replayed.
    """
    if not isinstance(kind, type) or is_trusted(kind.__module__):
        return False
    package, home = kind.__module__.partition(".")[0], str(function.__globals__.get("__name__"))
    return in_modules(home, (package,)) and function.__code__.co_filename.startswith(_INSTALLED)


def is_genuine(kind: type) -> bool:
    """Whether a class is found where it says that it was defined."""
    found: Any = sys.modules.get(kind.__module__)
    for name in kind.__qualname__.split("."):
        found = vars(found).get(name) if isinstance(found, (ModuleType, type)) else None
    return found is kind


DISPATCHERS = (type(vars(np)["sum"]), type(vars(np)["dot"]))
"""The kinds of NumPy's functions that ask their arguments; read past the doors, which another thread may have open."""


@cache
def known() -> dict[int, Any]:
    """By identity, the functions and types written in C that are known."""
    found = [*(getattr(builtins, name) for name in BUILTINS if hasattr(builtins, name)), *TYPES]
    found += [x for x in vars(builtins).values() if isinstance(x, type) and issubclass(x, BaseException)]
    for module in PURE:
        opened(module)
        found += [x for x in vars(sys.modules[module]).values() if callable(x)]
    for module, names in FUNCTIONS.items():
        found += [vars(sys.modules[module])[name] for name in names if name in vars(sys.modules.get(module, re))]
    for space in _members(
        np, np.linalg, np.fft, np.random, opened("numpy.ma"), opened("numpy.strings"), np.emath, np.lib.stride_tricks
    ):
        found += [x for x in space if isinstance(x, (np.ufunc, *DISPATCHERS)) and _is_calculation(x)]
        found += [x for x in space if isinstance(x, type) and issubclass(x, np.generic)]
    return {id(x): x for x in found if not any(x is other for other in OF_IDENTITY)}


def _members(*modules: ModuleType) -> Iterator[list[Any]]:
    for module in modules:
        yield list(vars(module).values())


def _is_calculation(function: Any) -> bool:
    if isinstance(function, np.ufunc):
        return True
    inner = function._implementation
    return is_trusted(home_of(function)) if isinstance(inner, FunctionType) else True


def sets_errors(thing: Any) -> bool:
    """Whether something sets how SciPy's special functions tell of errors."""
    module = str(getattr(thing, "__module__", None) or "")
    return getattr(thing, "__name__", None) in ("errstate", "seterr") and in_modules(module, ("scipy.special",))


def is_known(thing: Any) -> bool:
    """Whether a function or type that is not written in Python gives the same again for the same arguments."""
    if id(thing) in known():
        return True
    if isinstance(thing, FunctionType):
        return False
    module = str(getattr(thing, "__module__", None) or "")
    if isinstance(thing, (types.MethodDescriptorType, types.WrapperDescriptorType, types.GetSetDescriptorType)):
        return is_known(thing.__objclass__)
    if sets_errors(thing):
        return False
    if isinstance(thing, type):
        return (
            in_modules(module, ("scipy", "numpy.random", "numpy.dtypes", "collections"))
            and is_trusted(module)
            and is_genuine(thing)
        )
    if isinstance(thing, np.ufunc):
        return any(vars(m).get(thing.__name__) is thing for m in _ufuncs())
    return in_modules(module, ("scipy", "numpy.random", "numpy.linalg")) and is_trusted(module)


def _ufuncs() -> list[ModuleType]:
    names = ("scipy.special", "scipy.special._ufuncs", "scipy.special._special_ufuncs", "numpy._core.umath")
    return [sys.modules[name] for name in names if name in sys.modules]


def named(thing: Any) -> str:
    """How something is called where it is told of."""
    if isinstance(thing, ModuleType):
        return thing.__name__
    name = getattr(thing, "__qualname__", None) or getattr(thing, "__name__", None)
    if not isinstance(name, str):
        return f"an object of type {type(thing).__name__}"
    module = getattr(thing, "__module__", None)
    return name if not isinstance(module, str) or module in ("builtins", "__main__") else f"{module}.{name}"


def is_library(module: ModuleType) -> bool:
    """Whether a module is Python's own, or one whose code is known."""
    file = vars(module).get("__file__")
    return module.__name__ in sys.builtin_module_names or is_trusted(module.__name__) or is_pythons(file or "")


def may_draw(thing: Any) -> bool:
    """Whether something is code of a library that is not looked into and may draw from generators that all share."""
    if isinstance(thing, (FunctionType, type)):
        return in_modules(home_of(thing), DRAWING)
    if isinstance(thing, np.ufunc) or is_written_in_python(type(thing)) or not callable(thing):
        return False
    return in_modules(str(getattr(thing, "__module__", None) or ""), DRAWING)


def may_read_modules(thing: Any) -> bool:
    """Whether a function or class of `READS_ALL` may be given a module: there are no copies and no fields of one.

    Of a protocol a module may be an instance, if it has what that names.
    """
    if isinstance(thing, type):
        return thing is Protocol or bool(vars(thing).get("_is_protocol"))
    return in_modules(home_of(thing), ("typing",))


def reads_by_name(thing: Any) -> bool:
    """Whether a function reads attributes whose names it is told, or all there are."""
    if isinstance(thing, FunctionType):
        return in_modules(home_of(thing), READS_ALL)
    return id(thing) in map(id, BY_NAME)


SIZE = 8
"""Bytes of an address."""
BASES = {
    object, type, list, tuple, dict, set, frozenset, collections.deque, collections.OrderedDict,
    collections.defaultdict, bytearray, int, float, complex, str, bytes, np.ndarray, Generic, Protocol,
}  # fmt: skip
"""Classes written in C whose objects are known through and through."""


def is_written_in_python(kind: type) -> bool:
    """Whether a class adds nothing to the objects of its base but attributes that can be looked at."""
    base, own = kind.__base__, vars(kind)
    if base is None or not kind.__flags__ & HEAP:
        return False
    count = sum(type(member) is types.MemberDescriptorType for member in own.values())
    # What lies in front of an object is not counted: its attributes, since CPython 3.12 weak references too.
    count += "__weakref__" in own and kind.__weakrefoffset__ > 0
    count += base.__dictoffset__ == 0 and (kind.__dictoffset__ > 0 or kind.__dictoffset__ == -SIZE)
    return kind.__basicsize__ - base.__basicsize__ == SIZE * count


HEAP = 1 << 9
"""The flag of a type that was made when the program ran."""
SEALED = 1 << 8
"""The flag of a type whose attributes cannot be set."""


def can_change(kind: type) -> bool:
    """Whether attributes of a class can be set."""
    return kind.__flags__ & HEAP != 0 and kind.__flags__ & SEALED == 0


def is_transparent(kind: type) -> bool:
    """Whether all that objects of a class keep can be looked at."""
    return all(
        is_written_in_python(k) or k in BASES or (issubclass(k, BaseException) and k.__basicsize__ == EXCEPTION)
        for k in kind.__mro__
    )


EXCEPTION = BaseException.__basicsize__


def file_of(kind: type) -> str:
    """The source file of the module that a class was defined in."""
    return str(getattr(sys.modules.get(kind.__module__), "__file__", None) or "")
