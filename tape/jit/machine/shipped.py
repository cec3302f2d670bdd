"""Functions for Numba as machine code, which is made without Numba.

Numba takes a second to load, and up to some seconds to compile a function.  So its work is done beforehand: what it
makes of each function lies as LLVM code in an archive that comes with the library (`tape.ship` writes it), which
llvmlite turns into code for the processor that is there, when a function is first wanted on a machine.  From then on
the machine code lies on disk.  Where the archive is of other sources, or this LLVM cannot read it, Numba does the work
here.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from ...base.locks import once
from ...base.rooms import opened
from . import objectcache
from .kept import sources
from .machine_code import machine_code
from .platform import target

ARCHIVE = Path(__file__).parents[1] / "shipped.zip"


def for_numba(module: str) -> Any:
    """A module of `tape.jit.sweeps`: what is written for Numba, and nobody else imports but `tape.ship`."""
    return opened(f"tape.jit.sweeps.{module}")


@once
def kernel(module: str, function: str) -> tuple[Any, int]:
    """A function of `tape.jit.sweeps` as machine code: what keeps it loaded, and its address."""

    def by_numba() -> str:
        text: str = for_numba("jitting").text_of(getattr(for_numba(module), function))
        return text

    return fetched(f"{module}.{function}", by_numba)


def fetched(name: str, by_numba: Callable[[], str]) -> tuple[Any, int]:
    """Machine code of that name: from disk, of the LLVM code in the archive, or of what Numba makes."""
    t = target()
    facts = objectcache.name_of(name, sources(), llvmlite.__version__, t.cpu, t.features)

    def parsed() -> llvm.ModuleRef:
        text = shipped(name)
        if text is not None:
            with suppress(RuntimeError):
                return llvm.parse_assembly(text)
        return llvm.parse_assembly(
            objectcache.made(objectcache.name_of("LLVM code", facts), lambda: by_numba().encode()).decode()
        )

    return machine_code(facts, parsed)


def shipped(name: str) -> str | None:
    """The LLVM code of that name in the archive; None where there is none that was made of these sources."""
    from zipfile import BadZipFile, ZipFile
    from zlib import error

    try:
        with ZipFile(ARCHIVE) as archive:
            if archive.comment.decode() != sources():
                return None
            return archive.read(name).decode()
    except (OSError, BadZipFile, error, KeyError, ValueError):  # it is not there, damaged, or another
        return None
