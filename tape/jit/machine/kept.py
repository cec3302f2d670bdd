"""What of the jitted half lies compiled on disk: notes beside the machine code, read without importing LLVM.

A note may be wrong, where somebody deletes the code or changes the processor; then it is compiled once more.
"""

from __future__ import annotations

import hashlib
import platform
from functools import cache
from importlib.metadata import version
from pathlib import Path

from . import objectcache

HERE = Path(__file__).parents[1]


@cache
def sources() -> str:
    """A hash of every file that code for Numba is written in, or takes words from."""
    files = [file for room in ("column_passes", "machine", "sweeps") for file in sorted((HERE / room).glob("*.py"))]
    digest = hashlib.sha256()
    for file in [*files, HERE.parent / "base" / "row.py"]:
        digest.update(file.read_bytes().replace(b"\r\n", b"\n"))
    return digest.hexdigest()


def is_kept(part: str) -> bool:
    """Whether that part has been compiled and kept, by this process or another."""
    return objectcache.load(_note(part)) is not None


def keep(part: str) -> None:
    """Note that a part has been compiled."""
    if not is_kept(part):
        objectcache.save(_note(part), b"")


def noted(part: str) -> float:
    """Seconds of work that processes have noted because that part was not on disk."""
    found = objectcache.load(_note(f"work {part}"))
    return float(found) if found else 0.0


def note(part: str, seconds: float) -> None:
    """Note some more; of processes that do so at the same moment one may be lost."""
    objectcache.save(_note(f"work {part}"), repr(noted(part) + seconds).encode())


@cache
def _note(part: str) -> str:
    """The name of the note for a part."""
    return objectcache.name_of("note", part, sources(), version("llvmlite"), platform.machine())
