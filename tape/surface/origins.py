"""Where an op, or a method, is written: for whoever looks for it."""

from __future__ import annotations

import ast
import functools
import inspect
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from ops import REGISTRY, Op


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
