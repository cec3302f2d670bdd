"""What calls give, or raise, and whether two of them give the same."""

from __future__ import annotations

import numpy as np

NEAR = {"e": 2e-3, "f": 1e-5, "F": 1e-5}
"""How near to each other numbers are that were rounded differently, by dtype; 1e-10 in double precision."""


def nearness(dtype):
    """The relative and the absolute difference that numbers of a dtype may have."""
    return (NEAR.get(dtype.char, 1e-10),) * 2


def outcome(f, *xs):
    """What a function gives, or the class of what it raises."""
    try:
        return f(*xs)
    except Exception as error:
        return type(error)


def same(found, expected, near=nearness):
    """Whether two outcomes have the same structure, class of error, dtype and shape, and numbers `near` each other.

    An array without axes is no number.
    """
    if isinstance(expected, (tuple, list)):
        alike = type(found) is type(expected) and len(found) == len(expected)
        return alike and all(same(x, y, near) for x, y in zip(found, expected))
    if isinstance(found, (type, bool)) or isinstance(expected, (type, bool)):
        return found is expected
    x, y = np.asarray(found), np.asarray(expected)
    if (
        x.dtype != y.dtype
        or x.shape != y.shape
        or isinstance(found, np.ndarray) is not isinstance(expected, np.ndarray)
    ):
        return False
    if x.dtype.kind not in "fc":
        return np.array_equal(x, y)
    rtol, atol = near(x.dtype)
    return np.allclose(x, y, rtol=rtol, atol=atol, equal_nan=True)
