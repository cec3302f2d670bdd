"""Errors in values that are written over, or that nobody reads: replays tell of them as NumPy does."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import tape

GOOD, BAD = np.array([1.0, 2.0, 3.0]), np.array([1.0, np.inf, 3.0])
MADE = {
    "product": (lambda x: x * 0.0, BAD), "square": (lambda x: x * x, np.array([1.0, 1e200, 1.0])),
    "difference": (lambda x: x - x, BAD), "quotient": (lambda x: 1.0 / (x - 2.5), np.full(3, 2.5)),
    "exponential": (np.exp, GOOD * 1e4), "root": (np.sqrt, -GOOD), "sum": (lambda x: x + (x - x).sum(), BAD),
    "complex product": (lambda x: (x + 1j) * 2.0, BAD), "rounded": (lambda x: np.round(x, 1), np.full(3, 1e308)),
    "next": (lambda x: np.nextafter(x, np.inf), np.full(3, np.finfo(float).max)),
}  # fmt: skip


def everywhere(x, v):
    v[...] = 0
    return v


def by_a_slice(x, v):
    v[:] = x * 2.0
    return x


def by_an_output(x, v):
    z = np.zeros(v.shape, v.dtype)
    np.add(v, 1.0, out=z)
    z[...] = 1.0
    return z


def unread(x, v):
    return x


def messages(f, x):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        f(x)
    return sorted({str(w.message) for w in found})


@pytest.mark.parametrize("lose", [everywhere, by_a_slice, by_an_output, unread], ids=lambda f: f.__name__)
@pytest.mark.parametrize("name", MADE)
def test_errors_of_what_is_lost_are_told(name, lose):
    make, bad = MADE[name]

    def f(x):
        return lose(x, make(x))

    compiled = tape.compile(f)
    assert messages(compiled, GOOD) == messages(compiled, GOOD) == []
    assert messages(compiled, bad.copy()) == messages(f, bad.copy()) != []
    assert messages(compiled, GOOD) == []
