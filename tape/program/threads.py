"""Several threads for one kernel."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

from .kernels import Compiled, Interpreted

ENOUGH = 1 << 21
"""A kernel that evaluates fewer records, counted with their elements, is not worth a second thread."""
SMALLEST = 1 << 9
"""No thread gets fewer vectors."""

_pool: ThreadPoolExecutor | None = None


def cores() -> int:
    """How many processors this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def shares(kernel: Compiled | Interpreted, work: int, threads: int | None) -> list[dict[int, int]] | None:
    """What each thread goes through, as words of its table; None if one thread does all."""
    if isinstance(kernel, Interpreted):
        return None
    wanted = threads or (cores() if work >= ENOUGH else 1)
    over = kernel.blocks if kernel.blocks > 1 else kernel.vectors
    smallest = 1 if threads or kernel.blocks > 1 else SMALLEST
    count = min(wanted, over // smallest)
    if count <= 1:
        return None
    edges = [over * i // count for i in range(count + 1)]
    first, end = (4, 5) if kernel.blocks > 1 else (0, 1)
    return [{first: a, end: b} for a, b in pairwise(edges)]


def share(run: Callable[[Any], None], parts: Sequence[Any]) -> None:
    """Run all parts, the first in this thread."""
    global _pool
    if _pool is None:
        _pool = ThreadPoolExecutor(max(cores() - 1, 1), thread_name_prefix="tape")
    waiting = [_pool.submit(run, part) for part in parts[1:]]
    try:
        run(parts[0])
    finally:
        for future in waiting:
            future.result()


def _forget() -> None:
    global _pool
    _pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
