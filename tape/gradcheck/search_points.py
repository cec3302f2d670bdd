"""The inputs that a search tries: around those that were given, and wherever gradients are known to go wrong."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from hypothesis import strategies as st

from ..testing.strategies import arrays, numbers
from .derivatives.subject import Array

REPLACED = 4
"""So many elements of a given input are replaced at most."""

LONGEST = 4
BEYOND = np.nan, np.inf, -np.inf
SMALL, LARGE, POWER = 1e-4, 1e4, 4
"""Sizes of numbers, and by which power of ten a whole input is scaled.  Errors of rounding grow with their ratio."""


def points(
    given: Sequence[Array], fixed: Iterable[Array], *, vary: bool, nonfinite: bool
) -> st.SearchStrategy[list[Array]]:
    """Values for the checked inputs.

    Args:
        given: their values where the search begins, whose domain is taken to be the function's.
        fixed: the inputs that stay as they are.
        vary: draw the lengths of axes too.  Those that are equal stay so, and those of a fixed input stay.
        nonfinite: with nan or infinities in each.
    """
    if not vary:
        return _points(given, nonfinite)
    held = {n for x in fixed for n in x.shape}
    lengths = sorted({n for x in given for n in x.shape} - held)
    free = st.fixed_dictionaries({n: st.integers(1, max(n, LONGEST)) for n in lengths})
    return free.flatmap(lambda to: _points([_resized(x, to) for x in given], nonfinite))


def _points(given: Sequence[Array], nonfinite: bool) -> st.SearchStrategy[list[Array]]:
    return st.tuples(*(_near_or_anywhere(x, nonfinite) for x in given)).map(list)


def _near_or_anywhere(x: Array, nonfinite: bool) -> st.SearchStrategy[Array]:
    """An input anywhere, or the one that was given, with some elements replaced, or of another size."""
    anywhere = arrays(x.dtype, x.shape, small=SMALL, large=LARGE)
    if not x.size:
        return anywhere
    places = st.integers(0, x.size - 1)
    replaced = st.dictionaries(places, numbers(SMALL, LARGE), max_size=REPLACED)
    tied = st.lists(places, min_size=2, max_size=3)
    scaled = st.integers(-POWER, POWER).map(lambda exponent: _cast(x * 10.0**exponent, x.dtype))
    drawn = st.one_of(anywhere, replaced.map(partial(_with, x)), tied.map(partial(_tie, x)), scaled)
    if not nonfinite:
        return drawn
    return st.builds(_with, drawn, st.dictionaries(places, st.sampled_from(BEYOND), min_size=1, max_size=2))


def _with(x: Array, elements: Mapping[int, Any]) -> Array:
    """An array with some elements replaced."""
    made = np.array(x)
    for i, value in elements.items():
        made.flat[i] = value
    return made


def _tie(x: Array, places: Sequence[int]) -> Array:
    """An array in which some elements are equal."""
    return _with(x, dict.fromkeys(places, x.flat[places[0]]) if places else {})


def _resized(x: Array, lengths: Mapping[int, int]) -> Array:
    """An array with other lengths of its axes, filled with its elements over and over."""
    return np.resize(x, [lengths.get(n, n) for n in x.shape])


def _cast(x: Array, dtype: np.dtype[Any]) -> Array:
    with np.errstate(all="ignore"):
        return np.asarray(x, dtype=dtype)
