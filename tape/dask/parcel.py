"""What travels to a worker: a program as the bytes of its file, and the function only where it may be needed.

A parcel goes as a plain tuple, so that a worker with another version of this library can read the version in it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from typing import Any, NamedTuple

from .. import release
from ..program.files.container import VERSION as FORMAT


class Parcel(NamedTuple):
    """A function of a block of data on its way to a worker.

    Attributes:
        version: of the library that packed it.
        digest: of all else; a worker opens each parcel once.
        name: of the user's function.
        kind: what is evaluated of it (see `derived`).
        program: the bytes of the program's file; None if the function is recorded, or runs, where the data is.
        function: None where the program is enough; pickled bytes, or within this process the function itself.
        eager: why the function runs as it is; None if it does not.
        ordered: the program is for arrays in row-major order alone.
        tier: how programs that are recorded on the worker are compiled.
    """

    version: str
    digest: str
    name: str
    kind: str
    program: bytes | None
    function: bytes | Callable[..., Any] | None
    eager: str | None
    ordered: bool
    tier: str

    def known(self) -> tuple[Any, ...]:
        """What is enough for a worker that has opened it."""
        return self[:3]


def packed(
    name: str, kind: str, program: bytes | None, function: Any, eager: str | None, ordered: bool, tier: str
) -> Parcel:
    """A parcel of this version of the library."""
    digest = hashlib.sha256(repr((name, kind, eager, ordered, tier)).encode())
    for part in (program, function):
        # A function of this process is known by who it is; it lives as long as the parcel, but not longer.
        digest.update(part if isinstance(part, bytes) else b"" if part is None else os.urandom(16))
        digest.update(b"|")
    return Parcel(version(), digest.hexdigest(), name, kind, program, function, eager, ordered, tier)


def version() -> str:
    """What two ends of a cluster must have in common."""
    return f"{release.__version__}, file format {FORMAT}"


def checked(travelled: tuple[Any, ...], here: str) -> Parcel:
    """The parcel, if this library is the one that packed it.

    Raises:
        LookupError: if no more than what is `known` of it has travelled.
        RuntimeError: naming both versions, if it is not.
    """
    if len(travelled) < len(Parcel._fields):
        raise LookupError(f"{here} has not opened the program of {travelled[2]}, or not lately.")
    if travelled[0] != version():
        raise RuntimeError(
            f"the client has version {travelled[0]} of wengert, and {here} has {version()}.\n"
            "Install the same version on both: programs are recorded by one and run by the other."
        )
    return Parcel(*travelled)


def same(*travelled: Any) -> tuple[Any, ...]:
    """The task that puts a parcel, or the parameters of an evaluation, into the memory of a worker."""
    return travelled
