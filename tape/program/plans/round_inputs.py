"""What the rounds of a loop read of others: views among it are taken in the round, of what they look at.

So a loop that makes an array and parts of it for another round or loop keeps the array alone, and kernels read the
parts where they lie.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..recorded.listing import Listing

SMALLER = 2
"""A view alone may be so many times smaller than what it looks at, which is kept for it."""


class RoundInputs(NamedTuple):
    """What rounds read.

    Attributes:
        given: by round and by input of the body, the record that it reads.
        views: the records of the first round that the body begins with, and `looks` their operands, by number in it.
        number: by column of what was read, its number in the body.
        roots: by round and by column of what was read, the record that is read for it.
    """

    given: np.ndarray
    views: np.ndarray
    looks: np.ndarray
    number: np.ndarray
    roots: np.ndarray


def inputs_of(listing: Listing, columns: np.ndarray, late: Callable[[np.ndarray], np.ndarray]) -> RoundInputs:
    """What rounds read: by round and by operand, `columns` says which record; `late` are those made after the loop."""
    known: dict[bytes, int] = {}
    which = [known.setdefault(column.tobytes(), len(known)) for column in np.ascontiguousarray(columns.T)]
    first = np.unique(np.array(which, dtype=np.int64), return_index=True)[1]
    found = [np.ascontiguousarray(columns[:, k]) for k in first.tolist()]
    looked: dict[int, int] = {}
    for _ in range(2):  # smaller views of what is kept for larger ones
        for i, column in enumerate(found):  # which grows
            base = None if i in looked else _base(listing, column, late)
            if base is None or not (base.tobytes() in known or _is_large(listing, column, base)):
                continue
            looked[i] = known.setdefault(base.tobytes(), len(known))
            if looked[i] == len(found):
                found.append(base)
    return _numbered(columns, which, found, looked)


def _base(listing: Listing, column: np.ndarray, late: Callable[[np.ndarray], np.ndarray]) -> np.ndarray | None:
    """What each round's view looks at, if it is the same view in each, of another record each time."""
    k = int(column[0])
    op = listing.op(k)
    if op is None or not op.view or len(listing.operands(k)) != 1 or not op.is_view(listing.parameters(k)):
        return None
    base = listing.args[listing.first[column]]
    same = [listing.code[column], listing.param[column], listing.spec[base], listing.spec[column]]
    if (column == k).all() or any((x != x[0]).any() for x in same) or late(base).any():
        return None
    return base if same[2][0] >= 0 else None


def _is_large(listing: Listing, column: np.ndarray, base: np.ndarray) -> bool:
    """Whether a view is not much smaller than what it looks at."""
    view, whole = listing.spec_of(int(column[0])), listing.spec_of(int(base[0]))
    return view is not None and whole is not None and whole.nbytes <= SMALLER * view.nbytes


def _numbered(columns: np.ndarray, which: list[int], found: list[np.ndarray], looked: dict[int, int]) -> RoundInputs:
    inputs = [i for i in range(len(found)) if i not in looked]
    number, roots = {i: n for n, i in enumerate(inputs)}, {i: i for i in inputs}
    views: list[int] = []
    looks: list[int] = []
    for i in looked:
        chain = [i]
        while chain[-1] not in number:
            chain.append(looked[chain[-1]])
        for j in reversed(chain[:-1]):
            views.append(int(found[j][0]))
            looks.append(number[looked[j]])
            number[j], roots[j] = len(inputs) + len(views) - 1, roots[looked[j]]
    empty = columns[:, :0]
    return RoundInputs(
        np.stack([found[i] for i in inputs], axis=1) if inputs else empty,
        np.array(views, dtype=np.int64),
        np.array(looks, dtype=np.int64),
        np.array([number[i] for i in which], dtype=np.int64),
        np.stack([found[roots[i]] for i in which], axis=1) if which else empty,
    )
