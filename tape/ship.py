"""The LLVM code of all functions for Numba, written into the archive that comes with the library.

    python -m tape.ship

writes `tape/jit/shipped.zip` anew, which takes a minute; a test says when it is due.  Numba is told to make code for
any processor: without vectors, which LLVM would have to take apart where they are too long.
"""

from __future__ import annotations

import pkgutil
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from types import FunctionType, ModuleType
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from .jit import column_passes, sweeps
from .jit.column_passes.gradual import Pass, text_of
from .jit.machine.kept import sources
from .jit.machine.shipped import ARCHIVE


def functions() -> Iterator[tuple[str, Callable[[], str]]]:
    """What is shipped, by name, with what gives its LLVM code: passes, and what is called with words."""
    for name, module in modules(column_passes):
        for key, value in vars(module).items():
            if isinstance(value, Pass):
                yield f"column_passes.{name}.{key}", partial(text_of, value)
    jitting = import_module("tape.jit.sweeps.jitting")
    for name, module in modules(sweeps):
        for key, value in vars(module).items():
            ours = type(value) is FunctionType and value.__module__.startswith(sweeps.__name__)
            if ours and not value.__annotations__:
                yield f"{name}.{key}", partial(jitting.text_of, value)


def modules(package: ModuleType) -> Iterator[tuple[str, ModuleType]]:
    """The modules of a package, imported, and their names in it."""
    for found in pkgutil.iter_modules(package.__path__):
        yield found.name, import_module(f"{package.__name__}.{found.name}")


def shipped_code() -> dict[str, str]:
    """What is in the archive, by name."""
    with ZipFile(ARCHIVE) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def write(file: Path, of: str, code: Mapping[str, str]) -> None:
    """Write an archive with code of such sources; the same code gives the same file."""
    with ZipFile(file, "w", ZIP_DEFLATED) as archive:
        archive.comment = of.encode()
        for name, text in code.items():
            archive.writestr(ZipInfo(name), text, ZIP_DEFLATED, 9)


def ship() -> None:
    """Write the archive anew."""
    from numba import config

    config.CPU_NAME, config.LOOP_VECTORIZE, config.SLP_VECTORIZE = "generic", 0, 0
    code = {name: make() for name, make in functions()}
    write(ARCHIVE, sources(), code)
    print(f"{len(code)} functions, {ARCHIVE.stat().st_size >> 10} KiB", file=sys.stderr)


if __name__ == "__main__":
    ship()
