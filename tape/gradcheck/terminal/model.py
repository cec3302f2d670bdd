"""The user's function, from a file or a module, and what to say when it cannot be had or fails."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from ...base.location import LIBRARY

QUIET = tuple(str(Path(inspect.getfile(module)).parent) for module in (np, importlib))


class Failed(Exception):
    """Something of the user's that cannot be loaded or run; the message is all there is to say."""


class CallFailed(Failed):
    """The user's function raised; the message holds its traceback, trimmed to the user's frames."""


def load(target: str) -> tuple[Callable[..., Any], Path]:
    """The function that ``file.py:function`` or ``package.module:function`` names, and its folder.

    Raises:
        Failed: if there is no such file, module or function, or importing it raises.
    """
    place, _, name = target.rpartition(":")
    if not place or not name:
        raise Failed(f"name a function as model.py:loss or package.module:loss; got {target!r}")
    module = _from_file(Path(place)) if place.endswith(".py") else _from_name(place)
    return pick(module, name, place), Path(getattr(module, "__file__", None) or ".").parent


def pick(module: ModuleType, name: str, place: str) -> Callable[..., Any]:
    """A function of a module by its (dotted) name."""
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part, None)
    if callable(found):
        return found
    own = [n for n, f in vars(module).items() if inspect.isfunction(f) and f.__module__ == module.__name__]
    what = "has no function" if found is None else f"has a {type(found).__name__}, not a function, called"
    raise Failed(f"{place} {what} {name!r}; it defines {', '.join(own) or 'no function'}")


def module_of(func: Callable[..., Any]) -> ModuleType:
    """The module that a function was loaded from."""
    return sys.modules[func.__module__]


def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise Failed(f"there is no file {path} (working directory {Path.cwd()})")
    name = path.stem if path.stem not in sys.modules else f"{path.stem} ({path.resolve()})"
    spec = importlib.util.spec_from_file_location(name, path.resolve())
    if spec is None or spec.loader is None:
        raise Failed(f"{path} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(path.resolve().parent))
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        del sys.modules[name]
        _let_pass(error)
        raise Failed(f"{path} cannot be imported:\n{trimmed(error)}") from error
    return module


def _from_name(name: str) -> ModuleType:
    sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(error.name + ".")):
            hint = f"; did you mean {name}.py:…?" if Path(f"{name}.py").is_file() else ""
            raise Failed(f"there is no module {name!r} in the working directory or installed{hint}") from error
        raise Failed(f"module {name} cannot be imported:\n{trimmed(error)}") from error
    except BaseException as error:
        _let_pass(error)
        raise Failed(f"module {name} cannot be imported:\n{trimmed(error)}") from error


def _let_pass(error: BaseException) -> None:
    """Raise an interrupt again: it may be the user's at the terminal, which the command knows."""
    if isinstance(error, KeyboardInterrupt):
        raise error


def named(error: BaseException) -> str:
    """Type and message of an error, in a line."""
    return f"{type(error).__name__}: {error}".removesuffix(": ")


def trimmed(error: BaseException) -> str:
    """The traceback of an error as the user would have seen it: without this library's frames, or NumPy's."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not _ours(f.filename)]
    lines = ["Traceback (most recent call last):\n", *traceback.format_list(frames)] if frames else []
    return "".join([*lines, *traceback.format_exception_only(error)]).rstrip()


def _ours(filename: str) -> bool:
    return filename.startswith((*LIBRARY, *QUIET, "<frozen importlib"))


def calling(func: Callable[..., Any], names: Sequence[str]) -> Callable[..., Any]:
    """The function with its arguments given in the order of `names`; what it raises becomes `CallFailed`."""
    kinds = inspect.signature(func).parameters
    by_position = [n for n in names if kinds[n].kind is inspect.Parameter.POSITIONAL_ONLY]

    @functools.wraps(func)
    def call(*values: Any) -> Any:
        given = dict(zip(names, values))
        positional = [given.pop(n) for n in by_position]
        try:
            return func(*positional, **given)
        except BaseException as error:
            _let_pass(error)
            raise CallFailed(f"{func.__name__} cannot be run:\n{trimmed(error)}") from error

    return call


def parameters(func: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """The function's named parameters.

    Raises:
        Failed: if they cannot be told.
    """
    try:
        found = inspect.signature(func).parameters
    except (TypeError, ValueError):
        raise Failed(f"the arguments of {func!r} cannot be told; wrap it in a Python function") from None
    flexible = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return {name: p for name, p in found.items() if p.kind not in flexible}
