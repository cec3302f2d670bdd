"""Machine code on disk, found by its content, so that a kernel is compiled once per machine.

A file is named by a hash of the code it was compiled from, the processor and the compiler, and
begins with a hash of the rest, so that a damaged file is noticed and made again.  Files appear
whole (written aside, then renamed); two processes at once, a read-only folder or a full disk do
no harm.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path

import platformdirs

DIGEST = hashlib.sha256().digest_size


def folder() -> Path:
    """Where kernels are kept: ``TAPE_CACHE_DIR``, or the user's cache folder."""
    chosen = os.environ.get("TAPE_CACHE_DIR")
    return Path(chosen) if chosen else Path(platformdirs.user_cache_dir("tape", "wengert"))


def name_of(*facts: str) -> str:
    """Name of the file for what these facts determine."""
    return hashlib.sha256("\0".join(facts).encode()).hexdigest()


def digest_of(name: str, code: bytes) -> bytes:
    """What the file of that name begins with; under another name the code is damaged too."""
    return hashlib.sha256(name.encode() + code).digest()


def load(name: str) -> bytes | None:
    """The machine code under a name, None if there is none or it is damaged."""
    try:
        content = (folder() / name).read_bytes()
    except OSError:
        return None
    digest, code = content[:DIGEST], content[DIGEST:]
    return code if digest_of(name, code) == digest else None


def save(name: str, code: bytes) -> None:
    """Keep machine code under a name; quietly do without where that is not possible."""
    with contextlib.suppress(OSError):
        folder().mkdir(parents=True, exist_ok=True)
        handle, aside = tempfile.mkstemp(dir=folder())
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(digest_of(name, code) + code)
            os.replace(aside, folder() / name)
        except OSError:
            os.unlink(aside)
            raise
