"""``python -m tests.benchmarks.memory PEER RECORDS``: bytes that a history takes, for each record."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from .peers import start
from .work import chain

WARM = 20_000
"""Steps recorded and kept beforehand, so that what a library loads once is not counted."""


def resident() -> int:
    """Bytes of memory that this process has in use."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def growth(peer: str, records: int) -> float:
    """Bytes for each record of a chain whose history is kept: values, operands, bookkeeping."""
    first = start(peer, chain((), WARM))
    before = resident()
    run = start(peer, chain((), records // 2))
    after = resident()
    del first, run
    return (after - before) / records


if __name__ == "__main__":
    print(growth(sys.argv[1], int(sys.argv[2])))
