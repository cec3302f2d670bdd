"""Machine code on disk, found by its content, so that a kernel is compiled once per machine.

A file is named by a hash of the code it was compiled from, the processor and the compiler, and
begins with a hash of the rest, so that a damaged file is noticed and made again.  Files appear
whole (written aside, then renamed); two processes at once, a read-only folder or a full disk do
no harm.  What takes long to make one process makes, and others wait (`made`).
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic, sleep

import platformdirs

try:
    import fcntl
except ImportError:  # not on this system: processes do not wait for each other
    fcntl = None  # type: ignore[assignment]

DIGEST = hashlib.sha256().digest_size
PATIENCE, PAUSE = 60.0, 0.02
"""Seconds that a process waits for another that makes the same, and between two looks."""


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


def made(name: str, make: Callable[[], bytes]) -> bytes:
    """What lies under a name, or else is made, and kept there: by one process, for which others wait."""
    found = load(name)
    if found is None:
        with alone(name):
            found = load(name)
            if found is None:
                found = make()
                save(name, found)
    return found


@contextlib.contextmanager
def alone(name: str) -> Iterator[None]:
    """While others make what belongs under a name, wait; then it is there, if they could keep it.

    For what takes seconds to make.  The system gives back what an ended process held.  Who cannot know whether others
    are at it (no folder, a disk without locks), or has waited for long, goes on: made twice does no harm.
    """
    try:
        folder().mkdir(parents=True, exist_ok=True)
        path = folder() / name_of("lock", name)
        held = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError:
        yield
        return
    try:
        _wait_for(held)
        yield
    finally:
        if fcntl is not None:
            with contextlib.suppress(OSError):
                fcntl.flock(held, fcntl.LOCK_UN)  # closing is not enough: a forked process has the file open as well
        os.close(held)
        with contextlib.suppress(OSError):
            os.unlink(path)


def _wait_for(held: int) -> None:
    """Take the lock of a file, in no more than so much time."""
    end = monotonic() + PATIENCE
    while fcntl is not None and monotonic() < end:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sleep(PAUSE)
        except OSError:
            return
        else:
            return
