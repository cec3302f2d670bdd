"""How functions are jitted: `entry` for what Python calls, `inner` for what only jitted code calls.

Entries are kept on disk with everything they call.  Numba notices changes in an entry's own file
only, so the cache is told what all the files here contain.  Inner functions get no wrappers of
their own, which halves the time that the first gradient on a machine takes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import partial
from typing import Any

from numba import njit, types
from numba.core.caching import FunctionCache
from numba.core.ccallback import CFunc
from numba.core.compiler_lock import global_compiler_lock

from ...base.locks import held_at_fork
from ...base.undisturbed import undisturbed
from . import platform  # noqa: F401  whose lock comes first
from .address import column_reader, tell
from .kept import PLACES, sources

held_at_fork(global_compiler_lock)

inner = njit(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)


class _Cache(FunctionCache):  # type: ignore[misc]
    """Numba's cache on disk, with the state of all our files as part of the key."""

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        return (*super()._index_key(sig, codegen), sources())


def entry(function: Callable[..., Any]) -> Any:
    """Jit a function that Python calls, with a cache on disk unless Numba finds no folder that it may write to."""
    jitted = njit(error_model="numpy")(function)
    jitted._compile_for_args = partial(_compiled, jitted._compile_for_args)
    if not hasattr(FunctionCache, "_index_key"):  # what is kept could not be told from what other sources gave
        return jitted
    with contextlib.suppress(RuntimeError):
        jitted._cache = _Cache(function)
        PLACES.add(jitted._cache.cache_path)
    return jitted


def _compiled(compile_for: Callable[..., Any], *args: Any) -> Any:
    """What Numba's own way to the code for these arguments gives, from disk or compiled."""
    return undisturbed(partial(compile_for, *args))


without_memory = njit(error_model="numpy", _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True)
"""For what is called with columns, allocates nothing, and keeps none of them."""


def pass_of(function: Any, kinds: str) -> Callable[[int], None]:
    """A pass as a kernel: its columns are in the first words of the step, its result in the last two."""
    read, compute, last = column_reader(kinds), without_memory(function), 2 * len(kinds)

    def kernel(step):  # type: ignore[no-untyped-def]
        tell(step, last, compute(*read(step)))

    return kernel


def code_of(function: Callable[[int], None], memory: bool = True) -> str:
    """A kernel as LLVM code; one without `memory` counts no references to arrays."""
    return undisturbed(partial(_code_of, function, memory))


def _code_of(function: Callable[[int], None], memory: bool) -> str:
    options = {"error_model": "numpy", "_nrt": memory}
    compiled = CFunc(function, ((types.int64,), types.void), locals={}, options=options)
    compiled.compile()
    return str(compiled._library.get_llvm_str())
