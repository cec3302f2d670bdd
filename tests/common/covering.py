"""Tables of parameters in which all that can meet in pairs does, in far fewer rows than there are combinations."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from itertools import combinations, product


def covering(*factors: Iterable[Hashable], meet: int = 2) -> list[tuple]:
    """Rows with a value of each factor, such that any values of `meet` factors stand together in some row.

    For tests of several factors, where a mistake shows when two of them meet and hardly ever needs all at once.

    >>> covering("ab", [1, 2], ["x", "y"])
    [('a', 1, 'x'), ('a', 2, 'y'), ('b', 1, 'y'), ('b', 2, 'x')]
    """
    values = [list(factor) for factor in factors]
    places = [range(len(factor)) for factor in values]
    groups = list(combinations(range(len(values)), meet))
    missing = dict.fromkeys((group, met) for group in groups for met in product(*(places[k] for k in group)))
    rows = []
    while missing:
        row = dict(zip(*next(iter(missing))))
        for k in set(range(len(values))) - set(row):
            row[k] = max(places[k], key=lambda v, k=k: sum(found in missing for found in _met(row | {k: v}, groups, k)))
        for found in _met(row, groups):
            missing.pop(found, None)
        rows.append(tuple(factor[row[k]] for k, factor in enumerate(values)))
    return rows


def _met(row, groups, k=None):
    """What stands together in a row that may not be complete yet; with `k`, of which this factor is one."""
    for group in groups:
        if (k is None or k in group) and row.keys() >= set(group):
            yield group, tuple(row[j] for j in group)
