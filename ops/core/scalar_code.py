"""Scalar code: a function of numbers, compiled by Numba, as the forward or a partial of an elementwise op.

``@numba.njit`` functions may loop and branch, which no formula can.  On arrays they run as a ufunc
that Numba compiles for the dtypes it meets; in a lane kernel they are called for each element.
Nothing here imports Numba: who brings such a function has done so.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

COMPILING: list[Callable[[Callable[[], Any]], Any]] = [lambda work: work()]
"""How what may compile is called; the last one holds."""


def scalar_code(function: Any) -> Callable[..., Any] | None:
    """The Python function of one that Numba compiles (``njit``, ``jit`` or ``vectorize``); None for any other."""
    dispatcher = getattr(function, "_dispatcher", function)
    code = getattr(dispatcher, "py_func", None)
    return code if inspect.isfunction(code) and hasattr(dispatcher, "targetoptions") else None


def named(names: Sequence[str]) -> inspect.Signature:
    """The signature of a function of positional arguments with these names."""
    return inspect.Signature([inspect.Parameter(name, inspect.Parameter.POSITIONAL_ONLY) for name in names])


class Elementwise:
    """Scalar code on arrays: applied to every element, in the dtype that the operands promote to."""

    def __init__(self, code: Callable[..., Any], names: Sequence[str] = ()):
        self.code = code
        self._ufunc: Any = None
        self._met: set[tuple[Any, ...]] = set()
        self.__signature__ = named(names) if names else inspect.signature(code)

    @property
    def ufunc(self) -> Any:
        """The loop over elements; compiled at the first call for each combination of dtypes."""
        if self._ufunc is None:  # by no lock, which a forked child might wait for in vain
            self._ufunc = importlib.import_module("numba").vectorize(self.code)
        return self._ufunc

    def __call__(self, *operands: Any) -> Any:
        kinds = tuple([getattr(x, "dtype", type(x)) for x in operands])
        if kinds in self._met:
            z = self.ufunc(*operands)
        else:
            z = COMPILING[-1](lambda: self.ufunc(*operands))
            self._met.add(kinds)
        dtype = np.result_type(*operands)
        return z if z.dtype == dtype or dtype.kind not in "fc" else z.astype(dtype)
