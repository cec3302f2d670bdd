"""The reverse sweep."""

from __future__ import annotations

from ..machine.state import STEP_BYTES
from .address import call, load_word


def reverse_sweep(steps, count):  # type: ignore[no-untyped-def]
    """Run `count` steps; each calls the kernel whose address it begins with."""
    for step in range(steps, steps + count * STEP_BYTES, STEP_BYTES):
        call(load_word(step), step)
