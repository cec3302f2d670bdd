"""Small numbers keep or leave their dtype as NumPy has it, and what NumPy refuses is refused."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from outcomes import same

import tape

DTYPES = "? i1 u1 i2 u2 i4 u4 i8 u8 f2 f4 f8 c8 c16".split()  # noqa: SIM905
PROGRAMS = """
np.arange(v[0], v[1]) * 100 | np.arange(v[1], v[0]) | np.arange(v[0], v[1], v[2]) | np.arange(0, 1, v[0])
np.arange(v[0], 3) | np.arange(v[0], 3.5) | np.arange(v[1]) | np.arange(0, v[1]) | np.arange(v[0], 7, .5)
np.arange(9, v[0], -1) | np.arange(v[0], 9, dtype='f4') | np.heaviside(v > 0, True) | np.vecdot(v > 1, v > 0)
np.vecdot(v, v) | np.linalg.vecdot(v, v[::-1]) | np.bincount([], v[:0]) | np.atleast_1d(v) is v | np.atleast_2d(v)
np.atleast_1d(v[0]) | np.gradient(v, v[::-1]) | np.max(v[:0], initial=0) | np.min(v.reshape(3, 1)[:, :0], 1, initial=1)
np.diff(v, -1) | np.cov(v.reshape(1, 1, 3)) | np.linspace(0, 1, v[1]) | np.linalg.outer(v[None], v) | np.vander(v[None])
np.tril(v, 1.5) | np.trace(v) | np.fft.fft(v, -1) | np.correlate(v[None], v) | np.gradient(v, v[:2]) | np.resize(v, -1)
np.insert(v, v > 3, 0) | np.vecdot(v[0], v[0]) | np.cov(v, bias=None) | np.clip(v, 1) | v.sum(keepdims=None)
np.linalg.svd(np.outer(v, v[::-1]), hermitian=1)[1] | np.int8(v[0].item() * 100) | np.take(v, [0, 4], mode=1)
np.linalg.lstsq(np.vander(v), v, 7)[3] | np.fix(v, None, 0) | np.hsplit([v, v], 7) | np.array(v, order='x') | v[0].dot
np.any(v, where=None) | np.max(v, keepdims=7) | np.max(v * 1j, keepdims=1) | np.add(v, v, subok=7) | np.polyder(v[0], 1)
np.isclose(v, v, None) | np.nan_to_num(v, 'x') | np.pad(v, 1.5) | np.select(v, v) | np.reshape(v, 3, copy='x')
np.fromiter(v, float) | np.array(list(v), dtype=float) | np.array([v[0], v[1]], 'f4')
np.nan_to_num(v[:1].reshape(()), False) | np.matvec(v, v) | np.vecmat(v, v) | np.matvec(v, np.outer(v, v))
np.vecdot(v, v[:1]) | np.vecdot(v[:1], v) | np.matvec(v[:, None], v[:1]) | np.matmul(v, v[:1])
np.vecmat(v[:1], v[:, None])
"""


def outcome(f, v):
    """What a function gives, or the class of what it raises, and whether it warns of parts that it discards."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            found = f(v)
        except Exception as error:
            found = type(error)
    return found, any(w.category is np.exceptions.ComplexWarning for w in seen)


@pytest.mark.parametrize("dtype", DTYPES)
def test_they_give_and_raise_what_numpys_do(dtype):
    v = np.array([3, 9, 2] if dtype[0] not in "fc" else [0.25, 4.1, 0.5]).astype(dtype)
    for text in [text.strip() for line in PROGRAMS.strip().splitlines() for text in line.split(" | ")]:
        f = eval(f"lambda v: {text}", {"np": np})
        with np.errstate(all="ignore"):
            expected, told = outcome(f, v)
            fast = tape.compile(f)
            for _ in range(2):
                found, warned = outcome(fast, v)
                assert same(found, expected), (text, v, found, expected)
                assert warned == told, (text, v)
