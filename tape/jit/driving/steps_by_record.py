"""The steps of a sweep, record by record."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..machine.state import COLUMNS, ELEMENTS, MODE, SOURCE, SUM


def steps_by_record(steps: np.ndarray, first: int, count: int) -> Iterator[tuple[int, int, int]]:
    """For each record among so many steps from one on: its first step, how many it has, the bytes they write."""
    words = steps[first : first + count]
    products, items = words[:, SOURCE] & 2 != 0, 8 >> (words[:, SOURCE] & 1)
    written = np.where(products, words[:, ELEMENTS] * words[:, COLUMNS], words[:, ELEMENTS])
    nbytes = items * np.where(~products & (words[:, MODE] & SUM != 0), 1, written)
    starts = np.flatnonzero(np.diff(words[:, SOURCE] >> 2, prepend=-1))
    for start, stop in zip(starts.tolist(), [*starts[1:].tolist(), count]):
        yield first + start, stop - start, int(nbytes[start:stop].sum())
