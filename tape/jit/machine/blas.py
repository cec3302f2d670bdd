"""The functions of BLAS that steps call, by address: those of the library that NumPy has, or SciPy's for Cython.

NumPy and SciPy as they are installed from wheels bring one library each, and each of these has threads of its own.
They stay awake for a while after a product, and what the other library does meanwhile takes twice as long.  NumPy's
linear algebra is steps and stops of a plan as well, so its library is the one.

Functions take pointers, as in Fortran.  An integer that is pointed to is a word of 64 bits, which is right for
libraries with integers of 32 bits too: the lower half comes first.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache

import numpy as np

from ...base.locks import once
from .frames import address_of

NAMES = "scipy_{}_64_", "{}_64_"
"""How libraries with integers of 64 bits call a function: OpenBLAS in NumPy's wheels, and as it is built elsewhere."""


@cache
def blas(name: str) -> int:
    """Address of a function of BLAS.

    Raises:
        LookupError: if neither NumPy nor SciPy has it.
    """
    found = _in_numpy(name) if holds() else None
    return _in_scipy(name) if found is None else found


@once
def holds() -> bool:
    """Whether NumPy's library can be called so: tried on a product of two matrices."""
    function = _in_numpy("dgemm") if sys.byteorder == "little" else None
    if function is None:
        return False
    x, y, z = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[5.0, 6.0], [7.0, 8.0]]), np.zeros((2, 2))
    one, none, size, plain = np.array(1.0), np.array(0.0), np.array(2), np.array(ord("N"))
    operands = plain, plain, size, size, size, one, y, size, x, size, none, z, size
    ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(operands))(function)(*map(address_of, operands))
    return bool((z == [[19.0, 22.0], [43.0, 50.0]]).all())


def _in_numpy(name: str) -> int | None:
    """The function of the library that NumPy's linear algebra is linked with; None if it has none of a known name."""
    library = _library()
    for form in NAMES:
        function = getattr(library, form.format(name), None)
        if function is not None:
            return ctypes.cast(function, ctypes.c_void_p).value
    return None


@cache
def _library() -> ctypes.CDLL | None:
    """NumPy's compiled linear algebra, in which names are looked up, and then in what it was linked with."""
    path = getattr(getattr(np.linalg, "_umath_linalg", None), "__file__", None)
    try:
        return None if path is None else ctypes.CDLL(path)
    except OSError:
        return None


_name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def _in_scipy(name: str) -> int:
    from scipy.linalg import cython_blas

    capsule = cython_blas.__pyx_capi__.get(name)
    if capsule is None:
        raise LookupError(f"neither NumPy nor SciPy has a function {name}")
    return int(_pointer(capsule, _name(capsule)))
