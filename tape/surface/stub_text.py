"""A stub as it is written: declarations of functions from their signatures, and the imports that these need.

And where an op, or a method, is written, for whoever looks for it.
"""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from inspect import Parameter, Signature
from types import ModuleType, UnionType
from typing import Any

from ops import REGISTRY, Op

from ..base.signatures import TYPES

KNOWN = {
    "Any": "typing", "NamedTuple": "typing", "NoReturn": "typing", "IO": "typing", "Callable": "collections.abc",
    "Iterable": "collections.abc", "Iterator": "collections.abc", "Sequence": "collections.abc", "PathLike": "os",
    "AbstractContextManager": "contextlib", "DTypeLike": "numpy.typing",
}  # fmt: skip
"""Names in annotations, and where they are from."""

OWN = "Operand", "Dims", "Sizes"
STARRED = {"size": "Sizes", "sizes": "Sizes", "tensors": "Operand"}
"""The types of arguments of which there may be any number."""

BOOL = "builtins.bool"
UNIQUE = f"sorted: {BOOL} = True, return_inverse: {BOOL} = False, return_counts: {BOOL} = False"
OVERLOADS: dict[str, tuple[tuple[str, str], ...]] = {
    "compile": (
        ("(function: Callable[P, R], …)", "CompiledFunction[P, R]"),
        ("(function: None = None, …)", "Callable[[Callable[P, R]], CompiledFunction[P, R]]"),
    ),
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
"""Functions whose result is of another kind by what is asked; those that give `ValuesAndIndices` are seen.

An ellipsis stands for the function's other parameters.
"""
OVERLOADS["unique_consecutive"] = tuple(
    (text.replace("sorted: builtins.bool = True, ", ""), gives) for text, gives in OVERLOADS["unique"]
)


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
        if isinstance(found, UnionType):
            return self.annotation(found, {})
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
        signature = inspect.signature(function)
        namespace = getattr(inspect.unwrap(function), "__globals__", {})
        shown = list(_starred(signature, [self._parameter(p, namespace) for p in signature.parameters.values()]))
        if name in OVERLOADS and not (method and name == "where"):
            for parameters, gives in OVERLOADS[name]:
                taken = parameters.replace("input: Tensor", "self") if method else parameters
                self._overload(before, name, taken.replace("…", ", ".join(shown[1:])), gives)
            return
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
            self.imports.add(("tape.base.tensor", "Size"))
        if "CompiledFunction" in gives:
            self.imports |= {("tape.program.compiled", name) for name in ("CompiledFunction", "P", "R")}
            self.imports.add(("collections.abc", "Callable"))
        self.lines += [f"{before}@overload", f"{before}def {name}{parameters} -> {gives}: ..."]

    def _parameter(self, p: Parameter, namespace: dict[str, Any]) -> str:
        types = {**TYPES, **STARRED} if p.kind is Parameter.VAR_POSITIONAL else TYPES
        given = types.get(p.name, p.annotation) if p.annotation in ("Any", Parameter.empty) else p.annotation
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
        return self.visit_Name(ast.Name(node.attr))


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
