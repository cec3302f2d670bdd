"""Parameters of records as something that can be looked up."""

from __future__ import annotations

from typing import Any

import numpy as np


def key_of(code: int, params: dict[str, Any]) -> Any:
    """Something hashable that is equal for equal opcodes and parameters only, while the parameters live."""
    return (code, *[(name, _key(value)) for name, value in params.items()])


def _key(value: Any) -> Any:
    """Something hashable that is equal for equal parameters only."""
    if isinstance(value, (tuple, list)):
        return type(value), tuple(map(_key, value))
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, float):
        return float, repr(value)
    if isinstance(value, slice):
        return slice, _key(value.start), _key(value.stop), _key(value.step)
    try:
        hash(value)
    except TypeError:
        return object, id(value)
    return type(value), value
