"""`tape.numpy`: NumPy's names and semantics, with arrays that can be recorded.

``import tape.numpy as np`` is for those who rather say so; a function of arrays meets the same arrays under plain NumPy
as well.  Every function is NumPy's own, which an `Array` answers from the registry of ops.

>>> import tape, tape.numpy as np
>>> x = np.array([1.0, 2.0])
>>> np.sum(x * x)
np.float64(5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as _numpy

from ..base.rooms import opened as _opened

if TYPE_CHECKING:
    from .arrays.face import Array, Number

__all__ = [name for name in dir(_numpy) if not name.startswith("_")]
FACES = "Array", "Number"
ROOMS = "linalg", "fft"


def __getattr__(name: str) -> Any:
    if name in FACES:
        found = getattr(_opened("tape.numpy.answering"), name)
    elif name in ROOMS:
        found = _room(name)
    elif name in __all__ and isinstance(getattr(_numpy, name), type):
        return _opened("tape.numpy.classes").class_of_numpy(name)(getattr(_numpy, name))  # anew each time
    else:  # what is no name of NumPy's, such as that of a room here that is being imported, opens nothing
        found = _functions("").get(name) if name in __all__ else None
        found = getattr(_numpy, name) if found is None else found
    globals()[name] = found
    return found


def _functions(room: str) -> Any:
    """The functions of a room, once arrays can answer them."""
    _opened("tape.numpy.answering")
    return _opened("tape.numpy.namespace").functions(room)


def __dir__() -> list[str]:
    return __all__


def _room(name: str) -> Any:
    import types

    room = types.ModuleType(f"{__name__}.{name}", getattr(_numpy, name).__doc__)
    vars(room).update({k: v for k, v in vars(getattr(_numpy, name)).items() if not k.startswith("_")})
    vars(room).update(_functions(name))
    return room
