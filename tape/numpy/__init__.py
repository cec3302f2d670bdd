"""`tape.numpy`: NumPy's names and semantics, with arrays that can be recorded.

``import tape.numpy as np`` is for those who rather say so; a function of arrays meets the same arrays under plain NumPy
as well.  Every function is NumPy's own, which an `Array` answers from the registry of ops.

>>> import tape, tape.numpy as np
>>> x = np.array([1.0, 2.0])
>>> np.sum(x * x)
np.float64(5.0)
"""

from __future__ import annotations

from types import FunctionType
from typing import Any

import numpy as _numpy

from ops import REGISTRY

from ..base.describing import describe
from . import array_operators, array_reading, array_writing, dispatch
from .arrays import number_methods as scalars
from .arrays.face import Array, Number
from .namespace import functions

__all__ = [name for name in dir(_numpy) if not name.startswith("_")]


def __getattr__(name: str) -> Any:
    found = functions("").get(name)
    if found is None:
        found = getattr(_numpy, name)
        if name in ("linalg", "fft"):
            found = _room(name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__


def _room(name: str) -> Any:
    import types

    room = types.ModuleType(f"{__name__}.{name}", getattr(_numpy, name).__doc__)
    vars(room).update({k: v for k, v in vars(getattr(_numpy, name)).items() if not k.startswith("_")})
    vars(room).update(functions(name))
    return room


for _class in Array.__mro__:
    for _name, _value in vars(_class).items():
        if isinstance(_value, FunctionType) and _name in REGISTRY:
            describe(_value, REGISTRY[_name], "")
