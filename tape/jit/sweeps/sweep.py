"""The reverse sweep."""

from __future__ import annotations

from ..machine.address import call, load_word
from ..machine.jitting import entry
from ..machine.state import STEP_WORDS

STEP_BYTES = 8 * STEP_WORDS


@entry
def reverse_sweep(steps, count):  # type: ignore[no-untyped-def]
    """Run `count` steps; each calls the kernel whose address it begins with."""
    for step in range(steps, steps + count * STEP_BYTES, STEP_BYTES):
        call(load_word(step), step)
