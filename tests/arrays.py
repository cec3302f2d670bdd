"""Array programs as text, run on plain arrays and on the array face; what either gives in a form that compares."""

from __future__ import annotations

import copy
import math
import operator
import warnings
from typing import Any

import numpy as np

from tape.tensor import Face

NAMES = {"np": np, "math": math, "copy": copy, "operator": operator}


def seen(x: Any) -> Any:
    """What a program can tell of a value: its kind, dtype, shape and numbers."""
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
    if isinstance(x, (float, int, complex, bool, str, bytes, type(None), np.dtype, slice)):
        return type(x).__name__, x
    return type(x).__name__


def outcome(program: str, *arrays: Any, names: Any = None) -> Any:
    """What a program gives of arrays ``x, y, …``, and what it leaves them as; or what it raises."""
    space = {**NAMES, **(names or {}), **dict(zip("xyzw", arrays))}
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            if (
                "\n" in program
                or " = " in program
                or ("= " in program.replace("== ", "").replace("!= ", "").replace("<= ", "").replace(">= ", "")
                and not program.endswith(")"))
            ):
                exec(program, space)
                result = space.get("r")
            else:
                result = eval(program, space)
            return "gave", seen(result), [seen(space[k]) for k, _ in zip("xyzw", arrays)]
    except Exception as error:
        return "raised", [kind.__name__ for kind in type(error).__mro__], str(error)


def alike(x: Any, y: Any) -> bool:
    """Whether two outcomes are the same, numbers up to rounding."""
    if isinstance(x, (tuple, list)) and isinstance(y, (tuple, list)):
        return type(x) is type(y) and len(x) == len(y) and all(map(alike, x, y))
    if isinstance(x, dict) and isinstance(y, dict):
        return x.keys() == y.keys() and all(alike(x[k], y[k]) for k in x)
    if isinstance(x, (float, complex)) and isinstance(y, (float, complex)):
        return bool(np.isclose(x, y, rtol=1e-5, atol=1e-6, equal_nan=True)) or repr(x) == repr(y)
    return type(x) is type(y) and x == y
