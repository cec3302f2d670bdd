"""Numbers of a recorded array as NumPy's scalars have them: attributes, pickles, and what has no derivative."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest

import tape
import tape.numpy

X = np.array([1.25, 2.0])
SCALARS = [
    np.float64(1.5), np.float64(2.0), np.float64(np.inf), np.float32(0.5), np.float16(3.0), np.int64(5), np.uint8(7),
    np.bool_(True), np.complex128(1.5 + 2j),
]  # fmt: skip
APART = {"data", "dumps", "getfield", "view", "reshape", "newbyteorder", "dump", "tofile"}
"""Those that need arguments, or are not equal to themselves."""
DEFECTS = {("clip", "?")}  # NumPy has no clip of truth values
NAMES = sorted({name for x in SCALARS for name in dir(x) if not name.startswith("_")} - APART)


def outcome(x, name):
    try:
        found = getattr(x, name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = found() if callable(found) else found
        return "value", np.asarray(found).tolist() if isinstance(found, (np.ndarray, np.generic)) else found
    except AttributeError:
        return "missing", None
    except Exception as error:
        return "raised", isinstance(error, (TypeError, ValueError, OverflowError))


@pytest.mark.parametrize("name", NAMES)
def test_a_number_has_what_numpys_scalars_have(name):
    for x in SCALARS:
        if (name, x.dtype.char) in DEFECTS:
            continue
        (how, expected), (found_how, found) = outcome(x, name), outcome(tape.numpy.array(np.asarray(x))[()], name)
        assert how == found_how, x
        if name not in ("flags", "flat", "base", "T", "device"):
            np.testing.assert_equal(found, expected)


def test_numbers_are_pickled_as_numbers():
    found = pickle.loads(pickle.dumps(tape.numpy.array(X)[0]))
    assert type(found) is np.float64
    assert found == 1.25
    assert type(pickle.loads(tape.numpy.array(X)[1].dumps())) is np.float64


@pytest.mark.parametrize("method", ["hex", "as_integer_ratio"])
def test_what_says_exactly_what_a_number_is_has_no_derivative(method):
    with pytest.raises(TypeError, match=method):
        tape.func.grad(lambda x: x[0] * len(getattr(x[0], method)()))(X)


def test_a_whole_number_is_known_by_its_values_alone():
    function = tape.compile(tape.func.grad(lambda x: x[0] ** 2 if x[0].is_integer() else x[0] ** 3))
    for first in (1.25, 1.5, 2.0, 4.0):
        expected = 2 * first if first == round(first) else 3 * first**2
        np.testing.assert_allclose(function(np.array([first, 0.0])), [expected, 0.0])
