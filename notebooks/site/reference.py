"""The reference: a page for every public module, and for `tape` itself one for every theme; all from docstrings."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import ops
import tape
from ops.core.op import answers

PACKAGES = tape, ops
LARGE, SMALL = "tape", 7
"""The module whose names fill several pages; with fewer names, a theme has no page of its own."""


def names(module: ModuleType) -> list[str]:
    """The public names of a module, those included that are imported when they are asked for."""
    on_demand = [name for table in ("_ROOMS", "_PROGRAMS", "_OTHERS") for name in vars(module).get(table, ())]
    listed = getattr(module, "__all__", None)
    if listed is None:
        listed = [n for n, v in vars(module).items() if getattr(v, "__module__", "") == module.__name__]
    return sorted({name for name in [*listed, *on_demand] if not name.startswith("_")})


def modules() -> dict[str, ModuleType]:
    """The public modules by their full names: what is reached from the packages through public names."""
    found: dict[str, ModuleType] = {}
    waiting = list(PACKAGES)
    while waiting:
        module = waiting.pop(0)
        if module.__name__ not in found:
            found[module.__name__] = module
            if module.__name__ != "tape.numpy":  # its names are NumPy's
                waiting += [v for v in (getattr(module, n) for n in names(module)) if _is_room(v)]
    return dict(sorted(found.items()))


def _is_room(value: Any) -> bool:
    return isinstance(value, ModuleType) and value.__name__.startswith(("tape.", "ops."))


def objects(module: ModuleType) -> list[str]:
    """The public names of a module that are no modules; of `ops`, those that are no ops, which have a list."""
    found = [n for n in names(module) if not isinstance(getattr(module, n), ModuleType)]
    return [n for n in found if not (module is ops and n in ops.REGISTRY)]


@cache
def _declared() -> dict[str, ModuleType]:
    """By name of an op: the module that declares it, where a statement of the module's own binds the name."""
    found = {}
    for info in pkgutil.walk_packages(ops.__path__, "ops."):
        module = importlib.import_module(info.name)
        for node in ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8")).body:
            targets = node.targets if isinstance(node, ast.Assign) else [node]
            for target in targets:
                value = getattr(module, getattr(target, "id", getattr(target, "name", "")), None)
                if isinstance(value, ops.Op):
                    found[value.name] = module
    return found


def theme(name: str) -> tuple[str, str]:
    """What a name of `tape` is about, as a key and a title: those of the room that declares what is behind it."""
    value = getattr(tape, name)
    if name.endswith("_"):
        return "in_place", "Changes in place"
    if not callable(value) or isinstance(value, np.dtype):
        return "constants", "Dtypes and constants"
    op = ops.REGISTRY.get(name) or answers().get(getattr(np, name, None))
    home = _declared().get(op.name) if op is not None else None
    if home is None:
        home = importlib.import_module(inspect.unwrap(value).__module__)
    sentence = (home.__doc__ or home.__name__).strip().splitlines()[0]
    return home.__name__.rpartition(".")[2], sentence.partition(":")[0].partition(";")[0].rstrip(".")


def entry(module: str, name: str, classes: dict[type, str]) -> str:
    """The directive for one name; a class is described once, and later names of it lead there."""
    value = getattr(importlib.import_module(module), name)
    full = f"{module}.{name}"
    if inspect.isclass(value):
        if classes.setdefault(value, full) != full:
            return f".. py:class:: {full}\n\n   The same as :py:class:`{classes[value]}`.\n"
        return (
            f".. autoclass:: {full}\n   :members:\n   :undoc-members:\n   :inherited-members: Exception, tuple, dict\n"
        )
    if callable(value):
        return f".. autofunction:: {full}\n"
    return f".. py:data:: {full}\n   :value: {' '.join(repr(value).split())[:60]}\n"


def written(function: Any, method: bool = False) -> tuple[str, str]:
    """The parameters and the result of a function with a derived signature, its annotations without quotes."""
    found = inspect.signature(function)
    parameters = [p.replace(annotation=_Bare(p.annotation)) for p in found.parameters.values()][method:]
    return str(inspect.Signature(parameters)), str(found.return_annotation)


class _Bare(str):
    """Text that is shown as it stands."""

    __repr__ = str.__str__


def page(title: str, *parts: str) -> str:
    return "\n".join([title, "=" * len(title), "", *parts, ""])


def pages() -> Iterator[tuple[str, str]]:
    """The name of each page of the reference, and its text; the first is the table of contents."""
    themes: dict[tuple[str, str], list[str]] = {}
    for name in objects(tape):
        if name != "Tensor":
            themes.setdefault(theme(name), []).append(name)
    classes: dict[type, str] = {}
    made = {"tape.Tensor": page("tape.Tensor", entry(LARGE, "Tensor", classes))}
    small: list[str] = []
    for (key, title), named in sorted(themes.items(), key=lambda item: item[0][1]):
        entries = [entry(LARGE, name, classes) for name in named]
        if len(named) < SMALL:
            small += [title, "-" * len(title), "", *entries]
        else:
            made[f"tape-{key}"] = page(title, *entries)
    made["tape-more"] = page("More of tape", *small)
    for name, module in modules().items():
        if name == "tape.numpy":
            made[name] = page(
                name, f".. automodule:: {name}\n", "Its names are NumPy's: see :doc:`../differentiated`.\n"
            )
        elif name != LARGE:
            head = f".. automodule:: {name}\n   :no-members:\n"
            made[name] = page(name, head, *[entry(name, n, classes) for n in objects(module)])
    contents = ".. toctree::\n   :maxdepth: 1\n\n" + "".join(f"   {name}\n" for name in made)
    lead = (
        "Every public name, with what its docstring says.  The names of ``tape`` itself are grouped by theme.\n\n"
        "In signatures an ``Operand`` is a tensor, an array, a number, or a list of numbers, and ``Dims`` are an axis,"
        " several, or None.\n"
    )
    yield "index", page("Reference", lead, contents)
    yield from made.items()
