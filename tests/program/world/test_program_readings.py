"""Whatever a compiled function reads from around itself, it gives what it gives eagerly once that has changed."""

from __future__ import annotations

import builtins
import copyreg
import math
import os
import sys
import warnings

import numpy as np
import pytest
import scipy.special
from numpy.testing import assert_array_equal
from readings import DRAWS, READINGS

import tape

X = np.arange(1.0, 4.0)


@pytest.fixture(autouse=True)
def as_it_was():
    """What the readings change of all there is, is put back."""
    options, errors, filters, argv = np.get_printoptions(), np.geterr(), warnings.filters[:], sys.argv[:]
    limit, erf, abs_, dtype = sys.getrecursionlimit(), math.erf, builtins.abs, tape.get_default_dtype()
    copied, special, digits = dict(copyreg.dispatch_table), scipy.special.geterr(), sys.get_int_max_str_digits()
    yield
    scipy.special.seterr(**special)
    sys.set_int_max_str_digits(digits)
    np.set_printoptions(**options)
    tape.set_printoptions(profile="default")
    np.ma.masked_print_option.set_display("--")
    np.polynomial.set_default_printstyle("unicode")
    copyreg.dispatch_table.clear()
    copyreg.dispatch_table.update(copied)
    np.seterr(**errors)
    warnings.filters[:] = filters
    sys.argv[:] = argv
    sys.setrecursionlimit(limit)
    math.erf, builtins.abs = erf, abs_
    tape.set_default_dtype(dtype)
    os.environ.pop("READINGS", None)
    sys.modules.pop("readings_settings", None)


def eagerly(function):
    found = function(X)
    return found.detach().numpy() if isinstance(found, tape.Tensor) else found


@pytest.mark.parametrize("calls", [1, 300])
@pytest.mark.parametrize("name", READINGS)
@pytest.mark.filterwarnings("ignore")
def test_what_is_read_is_noticed(name, calls):
    function, change = READINGS[name]()
    fast = tape.compile(function)
    for _ in range(calls):
        before = fast(X)
    assert_array_equal(before, eagerly(function))
    change()
    for _ in range(2):
        assert_array_equal(fast(X), eagerly(function))
    change()
    assert_array_equal(fast(X), eagerly(function))


@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.filterwarnings("ignore")
def test_random_numbers_are_drawn_by_every_call(name):
    fast = tape.compile(DRAWS[name])
    assert len({float(fast(X)[0]) for _ in range(300)}) == 300
