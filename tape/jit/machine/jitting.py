"""How functions are jitted: `entry` for what Python calls, `inner` for what only jitted code calls.

Entries are kept on disk with everything they call.  Numba notices changes in an entry's own file
only, so the cache is told what all the files here contain.  Inner functions get no wrappers of
their own, which halves the time that the first gradient on a machine takes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from numba import njit, types
from numba.core.caching import FunctionCache
from numba.core.ccallback import CFunc

from .kept import PLACES, sources

inner = njit(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)


class _Cache(FunctionCache):  # type: ignore[misc]
    """Numba's cache on disk, with the state of all our files as part of the key."""

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        return (*super()._index_key(sig, codegen), sources())


def _keep_on_disk(compiled: Any, function: Any) -> None:
    """Give a function its cache, unless Numba finds no folder that it may write to."""
    with contextlib.suppress(RuntimeError):
        compiled._cache = _Cache(function)
        PLACES.add(compiled._cache.cache_path)


def entry(function: Callable[..., Any]) -> Any:
    """Jit a function that Python calls."""
    jitted = njit(error_model="numpy")(function)
    _keep_on_disk(jitted, function)
    return jitted


def kernel(function: Callable[[int], None]) -> Any:
    """Compile a kernel, a function of the address of its step; the result has an ``address``."""
    compiled = _kernel(function)
    _keep_on_disk(compiled, function)
    compiled.compile()
    return compiled


def code_of(function: Callable[[int], None]) -> str:
    """A kernel as LLVM code."""
    compiled = _kernel(function)
    compiled.compile()
    return str(compiled._library.get_llvm_str())


def _kernel(function: Callable[[int], None]) -> Any:
    return CFunc(function, ((types.int64,), types.void), locals={}, options={"error_model": "numpy"})
