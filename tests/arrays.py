"""Array programs as text, run on plain arrays and on the array face; what either gives in a form that compares."""

from __future__ import annotations

import ast
import copy
import math
import operator
import warnings
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np

import tape
from tape.base.tensor import Face

NAMES = {"np": np, "math": math, "copy": copy, "operator": operator}


def seen(x: Any) -> Any:
    """What a program can tell of a value: its kind, dtype, shape and numbers."""
    if isinstance(x, Face) and not isinstance(x, (np.ndarray, np.generic)):  # one of Python's numbers
        return x.__class__.__name__, x._tensor.item()
    if isinstance(x, Face):
        kind = "array" if isinstance(x, np.ndarray) else "scalar"
        assert (kind == "scalar") == isinstance(x, np.generic), "a number is one of NumPy's scalars"
        numbers = np.asarray(x._tensor.detach().numpy(force=True))
        assert (numbers.shape, numbers.dtype) == (x.shape, x.dtype)
        return kind, numbers.dtype, numbers.shape, numbers.tolist()
    if isinstance(x, np.generic) or (isinstance(x, np.ndarray) and type(x) is np.ndarray):
        return "array" if isinstance(x, np.ndarray) else "scalar", x.dtype, x.shape, x.tolist()
    if isinstance(x, (tuple, list)):
        return type(x).__name__, [seen(part) for part in x]
    if isinstance(x, dict):
        return "dict", {k: seen(v) for k, v in x.items()}
    if isinstance(x, str):  # also that of a recorded value, which is of a class of its own
        return "str", "".join(x)
    if isinstance(x, (float, int, complex, bool, bytes, type(None), np.dtype, slice)):
        return type(x).__name__, x
    return type(x).__name__


def is_statement(program: str) -> bool:
    """Whether a program is statements, not an expression."""
    try:
        ast.parse(program, mode="eval")
    except SyntaxError:
        return True
    return False


def run(program: str, space: dict[str, Any]) -> Any:
    """What an expression gives, or what statements leave as ``r``."""
    if is_statement(program):
        exec(program, space)
        return space.get("r")
    return eval(program, space)


def outcome(program: str, *arrays: Any, names: Any = None) -> Any:
    """What a program gives of arrays ``x, y, …``, and what it leaves them as; or what it raises."""
    space = {**NAMES, **(names or {}), **dict(zip("xyzw", arrays))}
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            result = run(program, space)
            return "gave", seen(result), [seen(space.get(k)) for k, _ in zip("xyzw", arrays)]
    except Exception as error:
        return "raised", [kind.__name__ for kind in type(error).__mro__], str(error)


def recorded_outcome(program: str, x: np.ndarray) -> Any:
    """The outcome of a program of an array that is being differentiated."""
    found = []

    def f(x: Any) -> Any:
        found.append(outcome(program, x, names={"np": tape.numpy}))
        return x.sum()

    with suppress(Exception):  # what `outcome` caught is raised again where `f` ends
        tape.func.vjp(f, x)
    return found[0]


def compiled_outcome(program: str, xs: list[np.ndarray]) -> Iterator[tuple[Any, Any]]:
    """What NumPy and a compiled program give for each of several arrays."""

    def f(x: Any) -> Any:
        space = {**NAMES, "x": x}
        result = run(program, space)
        return (result if isinstance(result, KEPT) else None), space.get("x")

    compiled = tape.compile(f)
    for x in xs:
        both = []
        for g in (f, compiled):
            try:
                with warnings.catch_warnings(), np.errstate(all="ignore"):
                    warnings.simplefilter("ignore")
                    both.append(("gave", without_axes(seen(g(x.copy())))))
            except Exception as error:
                both.append(("raised", [kind.__name__ for kind in type(error).__mro__], str(error)))
        yield both[0], both[1]


KEPT = (np.ndarray, np.generic, float, int, complex, str, tuple, list)


def without_axes(x: Any) -> Any:
    """What was seen, with arrays without axes and NumPy's scalars as numbers, as compiled programs give them."""
    if isinstance(x, tuple) and len(x) == 4 and x[2] == ():
        return x[3]
    return type(x)(map(without_axes, x)) if isinstance(x, (list, tuple)) else x


def agree(expected: Any, found: Any, refused: bool = False) -> bool:
    """Whether outcomes are the same, errors by their types; or whether it was refused for a gradient that is lost."""
    if found[0] == "raised" and refused and any(text in found[2] for text in ("carries a gradient", "no rule")):
        return True
    if expected[0] == "raised":
        kind = expected[1][0].lstrip("_")
        kind = "TypeError" if kind.startswith("UFunc") else kind
        return found[0] == "raised" and kind in found[1]
    return found[0] == "gave" and (alike(expected, found) or alike(as_numbers(expected), as_numbers(found)))


def as_numbers(x: Any) -> Any:
    """What was seen, with NumPy's scalars as Python's numbers: ``item()`` of a recorded array stays recorded."""
    if isinstance(x, tuple) and len(x) == 4 and x[0] == "scalar":
        return type(x[3]).__name__, x[3]
    return type(x)(map(as_numbers, x)) if isinstance(x, (list, tuple)) else x


def alike(x: Any, y: Any) -> bool:
    """Whether two outcomes are the same, numbers up to rounding."""
    if isinstance(x, (tuple, list)) and isinstance(y, (tuple, list)):
        return type(x) is type(y) and len(x) == len(y) and all(map(alike, x, y))
    if isinstance(x, dict) and isinstance(y, dict):
        return x.keys() == y.keys() and all(alike(x[k], y[k]) for k in x)
    if isinstance(x, (float, complex)) and isinstance(y, (float, complex)):
        return bool(np.isclose(x, y, rtol=1e-5, atol=1e-6, equal_nan=True)) or repr(x) == repr(y)
    return type(x) is type(y) and x == y
