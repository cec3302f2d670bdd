"""What all of Python and SciPy are told: watched at no cost, put back after a recording, and no part of a program."""

from __future__ import annotations

import codecs
import pickle
import sys

import numpy as np
import pytest
import scipy.special

import tape
from tape.program.world.told import error_handlers
from tape.program.world.watched import Setting

X = np.array([0.5, 1.5])


@pytest.fixture(autouse=True)
def as_it_was():
    errors, digits = scipy.special.geterr(), sys.get_int_max_str_digits()
    yield
    scipy.special.seterr(**errors)
    sys.set_int_max_str_digits(digits)


def within_errstate(x):
    with scipy.special.errstate(singular="raise"):
        return x * scipy.special.gammaln(3.0)


SETTING = {
    "seterr": lambda x: (scipy.special.seterr(loss="warn"), x)[1],
    "digits": lambda x: (sys.set_int_max_str_digits(5000), x)[1],
    "errstate": within_errstate,
}


@pytest.mark.parametrize("name", SETTING)
def test_a_function_that_sets_something_runs_as_it_is(name):
    tape.compile(lambda x: scipy.special.expit(x) * len(str(10**5)))(X)  # from here on settings are counted
    compiled = tape.compile(SETTING[name])
    with pytest.warns(RuntimeWarning, match="without compiling"):
        compiled(X)
    before = Setting.count.value
    compiled(X)
    assert Setting.count.value > before


def test_errors_that_are_told_come_in_every_call():
    compiled = tape.compile(lambda x: x * scipy.special.gammaln(3.0) + scipy.special.psi(x))
    found = compiled(X)
    scipy.special.seterr(singular="raise")
    with pytest.warns(RuntimeWarning, match=r"scipy\.special\.seterr"):
        np.testing.assert_array_equal(compiled(X), found)
    with pytest.raises(scipy.special.SpecialFunctionError):
        compiled(np.zeros(2))


def test_what_was_set_and_set_back_costs_one_look():
    compiled = tape.compile(lambda x: scipy.special.expit(x) * len(f"{X.sum()}"))
    for _ in range(100):
        found = compiled(X)
    with scipy.special.errstate(all="raise"):
        pass
    for _ in range(100):
        np.testing.assert_array_equal(compiled(X), found)
    assert "programs    1" in str(compiled.statistics())


def test_setters_are_what_they_were_to_others():
    tape.compile(lambda x: x * scipy.special.gammaln(3.0) * len(str(3)))(X)
    assert scipy.special.seterr is scipy.special._ufuncs.seterr
    assert pickle.loads(pickle.dumps(scipy.special.seterr)) is scipy.special.seterr
    assert scipy.special.seterr.__name__ == "seterr"
    with pytest.raises(ValueError, match="640"):
        sys.set_int_max_str_digits(3)
    with pytest.raises(KeyError, match="nonsense"):
        scipy.special.seterr(nonsense="raise")


def test_the_error_handlers_of_codecs_are_found():
    handlers = error_handlers()
    assert handlers is not None
    codecs.register_error("tests.told", codecs.ignore_errors)
    assert handlers["tests.told"] is codecs.ignore_errors


def test_an_error_handler_that_reads_something_is_looked_into():
    told = ["?"]
    codecs.register_error("tests.told", lambda error: (told[0], error.end))
    compiled = tape.compile(lambda x: x * len("aé".encode("ascii", "tests.told")))
    assert compiled(X).tolist() == [1.0, 3.0]
    told[0] = "???"
    assert compiled(X).tolist() == [2.0, 6.0]
    codecs.register_error("tests.told", codecs.ignore_errors)
