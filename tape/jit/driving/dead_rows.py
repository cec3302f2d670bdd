"""Which records are dead, by the scan in machine code."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...base.spec import TABLE
from ..machine.state import NUMBER, ROWS, SHIFT, SPEC_TABLE
from ..machine.workspace import address_of, constant_state
from ..emission.function_of_words import entry

if TYPE_CHECKING:
    from ...recording.wengert import WengertList


def scan_rows(wengert: WengertList) -> tuple[np.ndarray, int]:
    """Mask of the records to keep, and the bytes that the kept ones may hold."""
    n = len(wengert)
    counts, keep = np.zeros((2, n), dtype=np.int64)
    state = constant_state()
    state[ROWS], state[SHIFT], state[NUMBER] = id(wengert.rows), wengert.shift, wengert.number
    specs = TABLE.rows  # held, in case another thread replaces the table meanwhile
    state[SPEC_TABLE] = address_of(specs)
    held = entry("scan", "scan", 4)(address_of(state), address_of(counts), address_of(keep), n)
    return keep.astype(np.bool_), held
