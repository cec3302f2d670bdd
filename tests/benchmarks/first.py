"""``python -m tests.benchmarks.first PEER WORK WARM [SIZE]``: a first call, as a fresh process sees it.

Prints the seconds from a function to its derivatives at one point, in a process that has just done nearly
the same for another function, of size WARM: libraries are loaded, but nothing is known of this one.
Without a SIZE that was all, and 0 is printed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import perf_counter

import numpy as np

from . import problems, recurrences
from .peers import Run, start
from .work import Work, rng


def once(peer: str, work: Work) -> Run:
    """Put a peer to work and take the gradients; whoever has a forward of its own began with that."""
    run = start(peer, work)
    run.backward()
    return run


def verify(found: list[np.ndarray], work: Work) -> None:
    """Compare what was found along one direction.

    Raises:
        AssertionError: if it is something else.
    """
    steps = tuple(1e-2 * np.asarray(rng(1).normal(size=v.shape)) for v in work.variables)
    if work.order == 2:
        ours, truth = float(steps[0] @ found[0] @ steps[0]), work.curvature(steps[0])
    else:
        ours, truth = sum(float(np.vdot(g, u)) for g, u in zip(found, steps, strict=True)), work.slope(steps)
    if not abs(ours - truth) <= 1e-7 * abs(truth):
        raise AssertionError(f"the derivative along a direction is {truth}, and {ours} was found")


def warm_up(peer: str, make: Callable[..., Work], size: int) -> None:
    """First calls of nearly the same work."""
    for _ in range(3):
        once(peer, problems.again(make, size))


def seconds(peer: str, make: Callable[..., Work], size: int) -> float:
    """How long the first derivatives take."""
    work = make(size)
    begun = perf_counter()
    run = once(peer, work)
    done = perf_counter()
    verify(run.gradients(), work)
    return done - begun


if __name__ == "__main__":
    peer, name, warm, *sizes = sys.argv[1:]
    make = getattr(problems, name, None) or getattr(recurrences, name)
    warm_up(peer, make, int(warm))
    print(sum(seconds(peer, make, int(size)) for size in sizes))
