"""Programs as C functions, for SciPy's integrators and others that take a pointer."""

from __future__ import annotations

from typing import Any

import numpy as np

from .native import NotNative, njit
from .recorded.guards import shown
from .recorded_program import Program

_pinned: list[Any] = []
"""The C functions whose addresses somebody has: they must never go away."""


def low_level_callable(program: Program) -> Any:
    """A program of float64 numbers, or of one vector, that gives one, as a `scipy.LowLevelCallable`.

    Its signature is ``double (double)`` for one number, else ``double (int, double *)``; called with another count
    of numbers than it was recorded for, this one gives nan.

    Raises:
        NotNative: if the program needs Python (see `njit`), takes or gives something else, or has guards: a C function
            cannot say that another branch should have been taken.

    >>> import scipy.integrate, tape
    >>> square = tape.record(lambda x: x * x, 1.0).low_level_callable()
    >>> print(f"{scipy.integrate.quad(square, 0, 1)[0]:.6f}")
    0.333333
    """
    import numba
    import scipy

    specs = program.input_specs
    numbers = all(s.ndim == 0 and s.dtype == np.float64 for s in specs)
    _check(program, numbers)
    inner, double, array = njit(program), numba.types.float64, numba.types.CPointer(numba.types.float64)
    if numbers and len(specs) == 1:
        made = numba.cfunc(double(double))(lambda x: inner(x))
    else:
        count = len(specs) if numbers else specs[0].size
        given = ", ".join(f"x[{i}]" for i in range(count)) if numbers else f"carray(x, ({count},))"
        space = {"inner": inner, "carray": numba.carray, "nan": np.nan}
        exec(f"def made(n, x):\n    return inner({given}) if n == {count} else nan\n", space)
        made = numba.cfunc(double(numba.types.intc, array))(space["made"])
    _pinned.append(made)
    return scipy.LowLevelCallable(made.ctypes)


def _check(program: Program, numbers: bool) -> None:
    """Raise unless a program can be a C function."""
    specs, result = program.input_specs, None
    if program.count == 1 and program.results is not None and program.results.structure.container is None:
        result = program.listing.spec_of(int(program.listing.outputs[0]))
    if result is None or result.ndim or result.dtype != np.float64:
        raise NotNative("a LowLevelCallable gives one float64 number; this program gives something else")
    if not numbers and not (len(specs) == 1 and specs[0].ndim == 1 and specs[0].dtype == np.float64):
        raise NotNative("a LowLevelCallable takes float64 numbers, or one vector of them; this program takes others")
    for guard in program.guards:
        raise NotNative(
            f"a LowLevelCallable cannot say when a program does not hold, and this one holds only while {guard.what} "
            f"gives {shown(guard.seen)}.\n  asked at {guard.location}\n"
            "Choose with tape.where(), which is part of the list, or pass tape.compile(f) itself, a Python function."
        )


Program.low_level_callable = low_level_callable  # type: ignore[attr-defined]
