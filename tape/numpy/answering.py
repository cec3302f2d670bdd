"""All that arrays answer with: their operators, indexing and writing, numbers' methods, and NumPy's functions.

Rooms that hand arrays to a function of the user's import this one, so that each array can do everything.
"""

from __future__ import annotations

from types import FunctionType

from ops import REGISTRY

from ..base.describing import describe
from . import array_operators, array_reading, array_writing, dispatch
from .arrays import number_methods
from .arrays.face import Array, Number
from .arrays.python_number import leave_out_what_floats_have_not

__all__ = ["Array", "Number", "array_operators", "array_reading", "array_writing", "dispatch", "number_methods"]

leave_out_what_floats_have_not()
for _class in Array.__mro__:
    for _name, _value in vars(_class).items():
        if isinstance(_value, FunctionType) and _name in REGISTRY:
            describe(_value, REGISTRY[_name], "")
