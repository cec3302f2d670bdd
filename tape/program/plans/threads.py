"""Several threads for one kernel."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from itertools import pairwise
from typing import Any, NamedTuple

from ...jit.emission.task import END, END_BLOCK, FIRST, FIRST_BLOCK
from ..recorded.raising import forget_errors, note_errors, note_kinds
from .prepared import Compiled, Interpreted

ENOUGH = 1 << 21
"""A kernel that evaluates fewer records, counted with their elements, is not worth a second thread."""
SMALLEST = 1 << 9
"""No thread gets fewer vectors."""
MOST = 16
"""Pieces of a sum are made for so many threads, and a few times as many."""
ALONE = 0
"""In place of a number of threads: a kernel is not to return to Python before it ends."""


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


def shares(kernel: Compiled | Interpreted, work: int, threads: int | None, adds: bool) -> Shares | None:
    """What several threads go through, each piece in one of them; None if a kernel is run as a whole.

    A kernel that adds up does so piece by piece, and its pieces follow from its work: so its sums are the same to the
    bit whatever the number of threads, one included.
    """
    if isinstance(kernel, Interpreted) or threads == ALONE or (adds and work < ENOUGH):
        return None
    wanted = threads or (cores() if work >= ENOUGH else 1)
    over = kernel.blocks if kernel.blocks > 1 else kernel.vectors
    smallest = 1 if kernel.blocks > 1 else SMALLEST
    if adds:
        count = min(work // ENOUGH + 1, MOST, over // smallest)
        smallest = max(smallest, over // (4 * max(count, 1)))
    else:
        count = min(wanted, over // (1 if threads else smallest))
        smallest = min(smallest, over // max(count, 1))
    if count <= 1:
        return None
    first, end = (FIRST_BLOCK, END_BLOCK) if kernel.blocks > 1 else (FIRST, END)
    pieces = [{first: a, end: b} for a, b in pairwise(guided(over, count, smallest))]
    return Shares(min(wanted, len(pieces)), pieces)


def takers(work: int, pieces: int, threads: int | None) -> int:
    """How many threads take pieces of a loop, 0 where it is not worth a second one."""
    wanted = cores() if threads is None and work >= ENOUGH else threads or 1
    return wanted if min(wanted, pieces) > 1 else 0


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
    """Run all parts at once, the first in this thread; whatever is raised meanwhile, all have ended then.

    Floating-point errors that the others make are noted as this thread's.
    """
    global _pool
    if _pool is None:
        _pool = ThreadPoolExecutor(max(cores() - 1, 1), thread_name_prefix="tape")
    waiting = [_pool.submit(_noting, run, part) for part in parts[1:]]
    try:
        run(parts[0])
    finally:
        _wait(waiting)
    for future in waiting:
        note_kinds(future.result())


def _noting(run: Callable[[Any], None], part: Any) -> int:
    """Run a part; the kinds of floating-point errors that it made."""
    forget_errors()
    run(part)
    return note_errors()


def _wait(futures: Sequence[Future[int]]) -> None:
    """Wait until all have ended, also if a signal comes: they write to memory that the next call takes."""
    try:
        wait(futures)
    except BaseException:
        _wait(futures)
        raise


def _forget() -> None:
    global _pool
    _pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
