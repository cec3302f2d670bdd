"""Arguments that a program takes in the place of those that it was recorded for, and what it says of others."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import tape
from tape.program import record


def test_numpy_numbers_for_floats_and_back():
    for one, other in ((1.0, np.float64(3)), (np.float64(1), 3.0), (np.float64(1), np.array(3.0))):
        z = record(lambda x: x * x, one)(other)
        assert (type(z), z) == (np.float64, 9)
    program = record(lambda d, n: d["a"] * d["b"][0] + n, {"a": np.ones(2), "b": [1.0]}, 2)
    for _ in range(2):
        assert_array_equal(program({"a": np.ones(2), "b": [np.float64(5)]}, 2), [7, 7])
        assert_array_equal(program({"a": np.ones(2), "b": [6.0]}, 2), [8, 8])


def test_often_and_in_turn():
    program = record(lambda x: x * x + 1, 1.0)
    for k in range(1000):
        assert program(np.float64(k)) == program(float(k)) == k * k + 1


def test_a_number_that_would_change_dtypes_is_refused():
    program = record(lambda x, a: x * a, np.ones(2, np.float32), 2.0)
    with pytest.raises(TypeError, match=r"arguments \(float32\[2\], float\); got \(float32\[2\], float64\[\]\)"):
        program(np.ones(2, np.float32), np.float64(2))
    program = record(lambda x, a: x * a, np.ones(2, np.float32), np.float64(2))
    with pytest.raises(TypeError, match="got"):
        program(np.ones(2, np.float32), 2.0)


def test_an_int_is_no_float():
    with pytest.raises(TypeError, match=r"arguments \(float\); got \(3\)\.\n.* as in 3\.0"):
        record(lambda x: x * x, 1.0)(3)


def test_signatures_are_readable():
    program = record(lambda d, *rest, k: d["a"][0] + rest[0][0] + k, {"a": (np.ones(2),)}, [1.0], "name", k=3)
    with pytest.raises(TypeError) as caught:
        program({"a": (np.ones(3),)}, [tape.tensor(1.0)], "nam", k=None)
    assert str(caught.value) == (
        "the program was recorded for arguments ({'a': (float64[2],)}, [float], 'name', k=3); "
        "got ({'a': (float64[3],)}, [tensor float64[]], 'nam', k=None).\n"
        "Record it again with such arguments, or call the function through tape.compile."
    )
