"""Whether an array holds the bytes that it held."""

from __future__ import annotations

import numpy as np
import pytest

from tape.program.world import contents
from tape.program.world.contents import CHUNK, SMALL, same_bytes

SIZES = [0, 1, SMALL - 1, SMALL, SMALL + 1, CHUNK, CHUNK + 1, 2 * CHUNK + 7]


@pytest.fixture(params=[contents.COMPARE, contents._by_chunks], ids=["memcmp", "NumPy"])
def compare(request, monkeypatch):
    monkeypatch.setattr(contents, "COMPARE", request.param)


@pytest.mark.parametrize("size", SIZES)
def test_a_changed_byte_is_seen_wherever_it_is(compare, size):
    copy = np.arange(size).astype(np.uint8)
    assert same_bytes(copy.copy(), copy)
    for k in {0, size // 2, size - 1} if size else ():
        other = copy.copy()
        other[k] ^= 1
        assert not same_bytes(other, copy)


@pytest.mark.parametrize("dtype", ["int8", "float32", "float64", "complex128", "longdouble", "datetime64[s]", "U3"])
@pytest.mark.parametrize("turn", [lambda a: a, lambda a: a.T, lambda a: a[::-1, ::2], lambda a: a[1:, 1:]])
def test_of_any_dtype_and_layout(compare, dtype, turn):
    array = turn(np.arange(120 * 130).reshape(120, 130).astype(dtype))
    copy = np.array(array, order="C")
    assert same_bytes(array, copy)
    array[-1, -1] = array[0, 0]
    assert not same_bytes(array, copy)


def test_zeros_have_signs_and_a_nan_is_what_it_is(compare):
    zeros, nans = np.zeros(SMALL), np.full(SMALL, np.nan)
    assert not same_bytes(-zeros, zeros)
    assert same_bytes(nans.copy(), nans)


def test_arrays_of_other_sizes_are_others(compare):
    assert not same_bytes(np.zeros(2 * SMALL), np.zeros(SMALL))
