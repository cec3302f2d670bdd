"""What of the jitted half lies compiled on disk: notes beside the kernels, read without importing Numba.

Numba keeps what it compiles in files of its own.  Whether one is good can be said by Numba alone, so a note is
written when code was used that Numba keeps, under a name made of all that Numba's answer may depend on.  A note may
be wrong, where somebody deletes those files; then the code is compiled once more.
"""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from functools import cache
from importlib.metadata import version
from pathlib import Path

from . import objectcache

HERE = Path(__file__).parents[1]

PLACES: set[str] = set()
"""The folders that Numba keeps our functions in, in this process."""


@cache
def sources() -> str:
    """A hash of every file that jitted code is written in."""
    digest = hashlib.sha256()
    for file in sorted([*HERE.rglob("*.py"), HERE.parent / "base" / "row.py"]):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def is_kept(part: str) -> bool:
    """Whether that part has been compiled and kept, by this process or another."""
    return objectcache.load(_note(part)) is not None


def keep(part: str, portable: bool = False) -> None:
    """Note that a part has been compiled, if Numba keeps what it compiles, or we do ourselves."""
    if (PLACES or portable) and not is_kept(part):
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
    where = str(HERE), os.environ.get("NUMBA_CACHE_DIR", ""), platform.machine()
    return objectcache.name_of(part, sources(), version("numba"), sys.version, *where)
