"""Memory, as a fresh process sees it.

    python -m tests.benchmarks.memory PEER RECORDS

prints how many bytes a history takes for each record, and

    python -m tests.benchmarks.memory PEER {first,again} WORK SIZE…

the most that are in use beyond those of the loaded library while value and gradient are computed: for the
first time, which may record and compile, or again.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from itertools import pairwise
from pathlib import Path
from statistics import median

from . import problems, recurrences
from .first import once
from .peers import start
from .work import chain

WARM = 20_000
"""Steps recorded and kept beforehand, so that what a library loads at first is not counted."""
CHAINS = 5


def resident() -> int:
    """Bytes of memory that this process has in use."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def growth(peer: str, records: int) -> float:
    """Bytes for each record of a chain whose history is kept: values, operands, bookkeeping.

    The median of several chains, of which one may fall together with the loading of a compiler.
    """
    kept, sizes = [start(peer, chain((), WARM))], [resident()]
    for _ in range(CHAINS):
        kept.append(start(peer, chain((), records // 2)))
        sizes.append(resident())
    return median(after - before for before, after in pairwise(sizes)) / records


def peak(peer: str, when: str, name: str, *size: int) -> float:
    """Bytes in use at most while value and gradient are computed, inputs and results included."""
    make = getattr(problems if hasattr(problems, name) else recurrences, name)
    once(peer, problems.again(make, *(min(n, 1000) if len(size) == 1 else 3 for n in size)))
    settle()
    before = resident()
    run = once(peer, make(*size))
    if when == "again":
        for _ in range(3):
            run.gradients()
            run.forward()
            settle()
            run.backward()
    return highest() - before


def settle() -> None:
    """Give back what is free, and let the record of the most in use begin anew."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")


def highest() -> int:
    """The most bytes that were in use since `settle`."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


if __name__ == "__main__":
    peer, *rest = sys.argv[1:]
    print(growth(peer, int(rest[0])) if len(rest) == 1 else peak(peer, rest[0], rest[1], *map(int, rest[2:])))
