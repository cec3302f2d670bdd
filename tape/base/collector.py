"""Python's search for circles of objects, which goes through all there are whenever many more have been made."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused() -> Iterator[None]:
    """Look for no circles meanwhile: for work of the library's own that makes many objects, all of which stay.

    >>> with paused():
    ...     rows = [[k] for k in range(100_000)]
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
