"""What type checkers and editors are told: stubs, written from the signatures that the functions have.

    python -m tape.stubs

writes them anew; a test compares.  Importing puts hundreds of functions and methods together from the registry of
ops, which no checker can follow, so `__init__.pyi` and the stubs of the rooms spell out what is public, and
`methods.pyi` what a tensor can do.  Nothing in them is written by hand but the few overloads below.
"""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import sys
import types
from collections.abc import Callable, Iterator
from importlib import import_module
from inspect import Parameter, Signature
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from ops import REGISTRY, Op
from ops.core.operators import COMPARISONS, methods

from .base.kind import TensorKind
from .base.signatures import TYPES
from .base.tensor import Tensor, Theme
from .methods import Methods


@functools.cache
def rooms_of_ops() -> dict[str, str]:
    """By name of an op, the module of `ops` that declares it."""
    found: dict[str, str] = {}
    for module in [m for name, m in sorted(sys.modules.items()) if name.startswith("ops.")]:
        imported = _imported(module)
        for name, value in vars(module).items():
            if isinstance(value, Op) and name not in imported:
                found.setdefault(value.name, module.__name__)
    return found


def _imported(module: ModuleType) -> set[str]:
    tree = ast.parse(inspect.getsource(module))
    froms = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {alias.asname or alias.name for node in froms for alias in node.names}


def room_of(method: Callable[..., Any]) -> str:
    """The module that a method is written in: of one that is derived from an op, that of the op."""
    name = method.__name__
    if method.__module__ == "tape" and name in REGISTRY:
        return rooms_of_ops().get(name, "ops")
    return method.__module__


ROOMS = ("fft", "linalg", "special")
"""The rooms whose functions come from the registry too."""

KNOWN = {
    "Any": "typing", "NamedTuple": "typing", "NoReturn": "typing", "Callable": "collections.abc",
    "Iterator": "collections.abc", "Sequence": "collections.abc", "AbstractContextManager": "contextlib",
    "DTypeLike": "numpy.typing",
}  # fmt: skip
"""Names in annotations, and where they are from."""

OPTIONAL = {"dask": types.ModuleType("tape.dask"), "bfloat16": np.dtype(np.float32)}
"""What needs another package, and something of its kind."""

OWN = "Operand", "Dims"
OPERAND = """
Operand: TypeAlias = Tensor | np.ndarray[Any, Any] | np.number[Any] | np.bool_ | complex | list[Any] | tuple[Any, ...]
Dims: TypeAlias = int | Sequence[int] | None
"""

BOOL = "builtins.bool"
UNIQUE = f"sorted: {BOOL} = True, return_inverse: {BOOL} = False, return_counts: {BOOL} = False"
OVERLOADS: dict[str, tuple[tuple[str, str], ...]] = {
    "where": (
        ("(condition: Operand, input: Operand, other: Operand)", "Tensor"),
        ("(condition: Operand)", "builtins.tuple[Tensor, ...]"),
    ),
    "nonzero": (
        ("(input: Tensor, *, as_tuple: Literal[False] = False)", "Tensor"),
        ("(input: Tensor, *, as_tuple: Literal[True])", "builtins.tuple[Tensor, ...]"),
    ),
    "size": (("(self, dim: None = None)", "Size"), ("(self, dim: builtins.int)", "builtins.int")),
    "type": (("(self, dtype: None = None)", "builtins.str"), ("(self, dtype: Any)", "Tensor")),
    "unique": (
        ("(input: Tensor, sorted: builtins.bool = True, *, dim: builtins.int | None = None)", "Tensor"),
        (f"(input: Tensor, {UNIQUE}, dim: builtins.int | None = None)", "Any"),
    ),
}  # fmt: skip
"""Functions whose result is of another kind by what is asked; those that give `ValuesAndIndices` are seen."""
OVERLOADS["unique_consecutive"] = tuple(
    (text.replace("sorted: builtins.bool = True, ", ""), gives) for text, gives in OVERLOADS["unique"]
)

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


class Stub:
    """A file of declarations, and the imports that they need."""

    def __init__(self, module: str):
        self.module = module
        self.imports: set[tuple[str, str]] = set()
        self.lines: list[str] = []
        self.own: list[Any] = []

    def annotation(self, given: Any, namespace: dict[str, Any]) -> str:
        """An annotation as the stub writes it: builtins by their full name, since many of their names are taken."""
        if given is Parameter.empty:
            return "Any"
        text = given if isinstance(given, str) else inspect.formatannotation(given)
        try:
            tree = ast.parse(text.strip("'"), mode="eval")
        except SyntaxError:
            return "Any"
        return ast.unparse(_Names(self, namespace).visit(tree))

    def name(self, name: str, namespace: dict[str, Any]) -> str | None:
        """A name of an annotation, imported if it is from elsewhere; None for one that is not known."""
        if name in OWN:
            return name
        if name in KNOWN:
            self.imports.add((KNOWN[name], name))
            return name
        if name in ("np", "None"):
            return name
        found = namespace.get(name, FOUND.get(name))
        if found is None:
            return f"builtins.{name}" if hasattr(builtins, name) else None
        if isinstance(found, type) and found.__module__.startswith(("tape.", "ops.")):
            if found.__module__ != self.module:
                self.imports.add((found.__module__, found.__name__))
            elif found not in self.own:
                self.own.append(found)
            return found.__name__
        return f"builtins.{name}" if hasattr(builtins, name) else None

    def function(self, name: str, function: Callable[..., Any], method: bool = False) -> None:
        """Declare a function, or a method."""
        before = "    " if method else ""
        if name in OVERLOADS and not (method and name == "where"):
            for parameters, gives in OVERLOADS[name]:
                taken = parameters.replace("input: Tensor", "self") if method else parameters
                self._overload(before, name, taken, gives)
            return
        signature = inspect.signature(function)
        namespace = getattr(inspect.unwrap(function), "__globals__", {})
        shown = list(_starred(signature, [self._parameter(p, namespace) for p in signature.parameters.values()]))
        if method:
            shown[0] = "self"
        gives = self.annotation(signature.return_annotation, namespace)
        if gives == "Tensor | ValuesAndIndices":
            at = next(i for i, p in enumerate(signature.parameters) if p == "dim")
            whole, along = list(shown), list(shown)
            whole[at], along[at] = "dim: None = None", "dim: builtins.int"
            self._overload(before, name, f"({', '.join(whole)})", "Tensor")
            self._overload(before, name, f"({', '.join(along)})", "ValuesAndIndices")
            if name in ("max", "min"):
                along[at : at + 2] = ["dim: Tensor"]
                self._overload(before, name, f"({', '.join(along[: at + 1])})", "Tensor")
            return
        self.lines.append(f"{before}def {name}({', '.join(shown)}) -> {gives}: ...")

    def _overload(self, before: str, name: str, parameters: str, gives: str) -> None:
        self.imports.add(("typing", "overload"))
        if "Literal" in parameters:
            self.imports.add(("typing", "Literal"))
        if gives == "Size":
            self.imports.add(("tape.base.size", "Size"))
        self.lines += [f"{before}@overload", f"{before}def {name}{parameters} -> {gives}: ..."]

    def _parameter(self, p: Parameter, namespace: dict[str, Any]) -> str:
        given = TYPES.get(p.name, p.annotation) if p.annotation in ("Any", Parameter.empty) else p.annotation
        if p.name in ("input", "other") and given == "Tensor" and p.default is None:
            given = "Any"
        text = f"{p.name}: {self.annotation(given, namespace)}"
        if p.kind is Parameter.VAR_POSITIONAL:
            return f"*{text}"
        if p.kind is Parameter.VAR_KEYWORD:
            return f"**{text}"
        if p.default is Parameter.empty:
            return text
        plain = p.default is None or type(p.default) in (bool, int, str) or p.default in ((), [])
        return f"{text} = {p.default!r}" if plain else f"{text} = ..."

    def text(self, header: str) -> str:
        """The file."""
        by_module: dict[str, set[str]] = {}
        exported = {line.rpartition(" as ")[2] for line in self.lines if line.startswith("from ")}
        for module, name in self.imports:
            if name not in exported:
                by_module.setdefault(module, set()).add(name)
        imports = [f"from {module} import {', '.join(sorted(names))}" for module, names in sorted(by_module.items())]
        head = [NOTE, "import builtins", *imports, "", "import numpy as np", header]
        return "\n".join([*head, *self._tuples(), *self.lines, ""])

    def _tuples(self) -> Iterator[str]:
        """Tuples with names that the module declares itself."""
        for made in self.own:
            yield f"class {made.__name__}(NamedTuple):"
            yield from (f"    {field}: Tensor" for field in made._fields)


NOTE = '"""Written by ``python -m tape.stubs`` from the signatures; see `tape.stubs`."""\n'
FOUND: dict[str, Any] = {}
"""Classes that derived signatures name, wherever the function stands."""


class _Names(ast.NodeTransformer):
    """Writes the names of an annotation as the stub has them; what is not known becomes Any."""

    def __init__(self, stub: Stub, namespace: dict[str, Any]):
        self.stub, self.namespace = stub, namespace

    def visit_Name(self, node: ast.Name) -> ast.expr:
        name = self.stub.name(node.id, self.namespace)
        if name is None:
            self.stub.imports.add(("typing", "Any"))
        return ast.parse(name or "Any", mode="eval").body

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        text = ast.unparse(node)
        if text.startswith(("np.", "builtins.")):
            return node
        return ast.Name("Any")


def _starred(signature: Signature, texts: list[str]) -> Iterator[str]:
    """Parameters with the star before those that are given by keyword only."""
    star = False
    for p, text in zip(signature.parameters.values(), texts):
        if p.kind is Parameter.VAR_POSITIONAL:
            star = True
        elif p.kind is Parameter.KEYWORD_ONLY and not star:
            star = True
            yield "*"
        yield text


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
    stub.imports.add(("tape.methods", "Dims"))
    stub.imports.add(("tape.methods", "Operand"))
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
    stub.imports |= {("typing", "Any"), ("typing", "TypeAlias"), ("collections.abc", "Sequence")}
    stub.imports |= {("numpy.typing", "DTypeLike"), ("tape.base.tensor", "Tensor"), ("tape.base.kind", "TensorKind")}
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
