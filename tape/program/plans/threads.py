"""Several threads for one kernel."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple

from ...jit.emission.task import END, END_BLOCK, FIRST, FIRST_BLOCK
from .prepared import Compiled, Interpreted

ENOUGH = 1 << 21
"""A kernel that evaluates fewer records, counted with their elements, is not worth a second thread."""
SMALLEST = 1 << 9
"""No thread gets fewer vectors."""


class Shares(NamedTuple):
    """How many threads go through a kernel, and the pieces that they take: words of its table."""

    threads: int
    pieces: list[dict[int, int]]


_pool: ThreadPoolExecutor | None = None


def cores() -> int:
    """How many processors this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def shares(kernel: Compiled | Interpreted, work: int, threads: int | None) -> Shares | None:
    """What several threads go through; None if one does all."""
    if isinstance(kernel, Interpreted):
        return None
    wanted = threads or (cores() if work >= ENOUGH else 1)
    over = kernel.blocks if kernel.blocks > 1 else kernel.vectors
    smallest = 1 if kernel.blocks > 1 else SMALLEST
    count = min(wanted, over // (1 if threads else smallest))
    if count <= 1:
        return None
    first, end = (FIRST_BLOCK, END_BLOCK) if kernel.blocks > 1 else (FIRST, END)
    edges = list(guided(over, count, min(smallest, over // count)))
    return Shares(count, [{first: a, end: b} for a, b in pairwise(edges)])


def guided(over: int, threads: int, smallest: int) -> Iterator[int]:
    """Where pieces begin that get smaller and smaller, and where the last ends.

    Guided self-scheduling (Polychronopoulos and Kuck 1987): a thread that starts late, or is interrupted, leaves more
    to the others; and as the last pieces are small, all end at nearly the same time.
    """
    start = 0
    while start < over:
        yield start
        start += max((over - start) // (2 * threads), smallest)
    yield over


def share(run: Callable[[Any], None], parts: Sequence[Any]) -> None:
    """Run all parts at once, the first in this thread."""
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
