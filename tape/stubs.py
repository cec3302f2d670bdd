"""What type checkers and editors are told: stubs, written from the signatures that the functions have.

    python -m tape.stubs

writes them anew; a test compares.  Importing puts hundreds of functions and methods together from the registry of
ops, which no checker can follow, so `__init__.pyi` and the stubs of the rooms spell out what is public, and
`methods.pyi` what a tensor can do.  Nothing in them is written by hand but the few overloads below.
"""

from __future__ import annotations

import inspect
import sys
import types
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from ops.core.operators import COMPARISONS, methods

from .base.kind import TensorKind
from .base.tensor import Tensor, Theme
from .methods import Methods
from .surface.stub_text import FOUND, NOTE, OWN, Stub, room_of

ROOMS = ("fft", "linalg", "special")
"""The rooms whose functions come from the registry too."""

OPTIONAL = {"dask": types.ModuleType("tape.dask"), "bfloat16": np.dtype(np.float32)}
"""What needs another package, and something of its kind."""

OPERAND = """
Operand: TypeAlias = Tensor | np.ndarray[Any, Any] | np.number[Any] | np.bool_ | complex | list[Any] | tuple[Any, ...]
Dims: TypeAlias = int | Sequence[int] | None
Sizes: TypeAlias = SupportsIndex | Sequence[SupportsIndex]
"""

PROTOCOL = {
    "__len__": "() -> builtins.int", "__bool__": "() -> builtins.bool", "__float__": "() -> builtins.float",
    "__int__": "() -> builtins.int", "__complex__": "() -> builtins.complex", "__index__": "() -> builtins.int",
    "__iter__": "() -> Iterator[Tensor]", "__getitem__": "(index: Any) -> Tensor",
    "__setitem__": "(index: Any, value: Any) -> None", "__contains__": "(x: Any) -> builtins.bool",
    "__array_ufunc__": "(ufunc: Any, method: builtins.str, *inputs: Any, **kwargs: Any) -> Any",
    "__init__": "(*args: Any, device: Any = None, requires_grad: builtins.bool = False) -> None",
    "__hash__": "() -> builtins.int",
}  # fmt: skip
"""Python's and NumPy's own methods."""


def public(name: str) -> list[str]:
    """The public names of a module."""
    return sorted(set(dir(import_module("tape")) if name == "tape" else import_module(name).__all__))


def declared(module: str) -> str:
    """The stub of a module: what is public in it."""
    stub, values = Stub(module), import_module(module)
    for name in public(module):
        value = OPTIONAL[name] if name in OPTIONAL else getattr(values, name)
        _declare(stub, name, value)
    if module == "tape":
        stub.lines.append("__version__: builtins.str")
    stub.imports |= {("tape.methods", name) for name in OWN}
    stub.imports |= {("typing", "Any"), ("typing", "NamedTuple"), ("tape.base.tensor", "Tensor")}
    return stub.text("")


def _declare(stub: Stub, name: str, value: Any) -> None:
    if isinstance(value, types.ModuleType):
        stub.lines.append(f"from . import {name} as {name}")
    elif isinstance(value, type) and value.__module__ == "tape.spelling.legacy":
        stub.lines.append(f"class {name}(Tensor): ...")
    elif isinstance(value, type):
        stub.lines.append(f"from {value.__module__} import {value.__name__} as {name}")
    elif isinstance(value, types.FunctionType):
        stub.function(name, value)
    elif value is None:
        stub.lines.append(f"{name}: None")
    elif type(value).__module__.startswith("tape."):
        stub.lines.append(f"from {type(value).__module__} import {name} as {name}")
    else:
        kind = "np.dtype[Any]" if isinstance(value, np.dtype) else f"builtins.{type(value).__name__}"
        stub.lines.append(f"{name}: {kind}")


def tensor() -> str:
    """The stub of what a tensor can do: a class to each theme, as at run time."""
    stub = Stub("tape.methods")
    stub.imports |= {("typing", name) for name in ("Any", "SupportsIndex", "TypeAlias")}
    stub.imports |= {("collections.abc", "Sequence"), ("numpy.typing", "DTypeLike")}
    stub.imports |= {("tape.base.tensor", "Tensor"), ("tape.base.kind", "TensorKind")}
    for theme in THEMES:
        stub.lines += ["", f"class {theme.__name__}:", f'    """{theme.__doc__}"""']
        _methods(stub, {name: value for name, value in vars(theme).items() if _is_shown(theme, name)})
    stub.lines += ["", f"class Methods({', '.join(theme.__name__ for theme in THEMES)}, TensorKind):"]
    _protocol(stub)
    return stub.text(OPERAND)


THEMES = tuple(theme for theme in Methods.__bases__ if issubclass(theme, Theme) and not issubclass(theme, TensorKind))


def _is_shown(theme: type, name: str) -> bool:
    """Whether a theme's attribute is a method, or a property, that tools are told of here; the first theme gives it."""
    first = next(cls for cls in Methods.__mro__ if name in vars(cls))
    return first is theme and not name.startswith(("__", "numpy_")) and name != "__slots__"


def _methods(stub: Stub, found: dict[str, Any]) -> None:
    """The methods and properties of a theme, by name; those of many rooms by the room that each is written in."""
    rooms = {name: room_of(value) for name, value in found.items() if isinstance(value, types.FunctionType)}
    several = len(set(rooms.values())) > 1
    before = None
    for name in sorted(found, key=lambda name: (rooms.get(name, "") if several else "", name)):
        value, room = found[name], rooms.get(name)
        if several and room != before:
            stub.lines += ["", f"    # {room}"]
        before = room
        if isinstance(value, property):
            _property(stub, name, value)
        elif isinstance(value, types.FunctionType):
            stub.function(name, value, method=True)


def _property(stub: Stub, name: str, made: property) -> None:
    namespace = getattr(made.fget, "__globals__", {})
    gives = stub.annotation(inspect.signature(made.fget).return_annotation, namespace)  # type: ignore[arg-type]
    stub.lines += ["    @builtins.property", f"    def {name}(self) -> {gives}: ..."]
    if made.fset is not None:
        stub.lines += [f"    @{name}.setter", f"    def {name}(self, value: Any) -> None: ..."]
    if made.fdel is not None:
        stub.lines += [f"    @{name}.deleter", f"    def {name}(self) -> None: ..."]


def _protocol(stub: Stub) -> None:
    """Operators, and the methods that Python and NumPy call."""
    for name in sorted(methods()):
        unary = name in ("__abs__", "__invert__", "__neg__", "__pos__")
        other = "" if unary else ", other: Operand"
        ignore = {"__eq__": "override", "__ne__": "override", "__rmul__": "misc"}.get(name)
        ignore = f"  # type: ignore[{ignore}]" if ignore else ""
        stub.lines.append(f"    def {name}(self{other}) -> Tensor: ...{ignore}")
        inplace = f"__i{name[2:]}"
        if not unary and name.strip("_") not in COMPARISONS and hasattr(Tensor, inplace):
            stub.lines.append(f"    def {inplace}(self, other: Operand) -> Tensor: ...")
    stub.imports.add(("collections.abc", "Iterator"))
    for name, text in PROTOCOL.items():
        if hasattr(Tensor, name):
            parameters, _, gives = text.partition(") -> ")
            inside = parameters[1:]
            stub.lines.append(f"    def {name}(self{', ' if inside else ''}{inside}) -> {gives}: ...")


NUMPY = f"""{NOTE}
from numpy import *
from numpy import fft as fft, linalg as linalg

from .arrays.face import Array as Array, Number as Number
"""


def stubs() -> dict[Path, str]:
    """Every stub by the file that it belongs in."""
    root = Path(__file__).parent
    choosing = import_module("tape.memory.choosing")
    FOUND.update(ValuesAndIndices=choosing.ValuesAndIndices, Extremes=choosing.Extremes, Tensor=Tensor)
    found = {root / "__init__.pyi": declared("tape"), root / "methods.pyi": tensor()}
    for room in ROOMS:
        found[root / f"{room}.pyi"] = declared(f"tape.{room}")
    return {**found, root / "numpy" / "__init__.pyi": NUMPY}


if __name__ == "__main__":
    for path, text in stubs().items():
        path.write_text(text, encoding="utf-8")
        print(path, file=sys.stderr)
