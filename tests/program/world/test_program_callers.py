"""What the caller decides beside the numbers: whose memory an argument is, which are one object, what an error does."""

from __future__ import annotations

import operator
import warnings

import numpy as np
import pytest

import tape

pytestmark = pytest.mark.filterwarnings("ignore:tape.compile runs:RuntimeWarning")
OFTEN = 100


def own():
    return np.arange(1.0, 4.0)


def locked():
    x = own()
    x.flags.writeable = False
    return x


def lent():
    return np.arange(0.0, 4.0)[1:]


def apart():
    return np.repeat(own(), 2)[::2]


def unaligned():
    x = np.zeros(25, np.uint8)[1:].view(float)
    x[:] = own()
    return x


MEMORIES = [own, locked, lent, apart, unaligned]
OF_MEMORY = {
    "writeable": lambda x: x.flags.writeable,
    "writeable, by item": lambda x: x.flags["W"],
    "writeable, of a view": lambda x: x[1:].flags.writeable,
    "owndata": lambda x: x.flags.owndata,
    "aligned": lambda x: x.flags.aligned,
    "num": lambda x: x.flags.num == own().flags.num,
    "behaved": lambda x: x.flags.behaved,
    "contiguous": lambda x: x.flags.contiguous,
    "c_contiguous": lambda x: x.flags["C_CONTIGUOUS"],
    "text": lambda x: "OWNDATA : True" in repr(x.flags),
    "equal": lambda x: x.flags == own().flags,
    "base": lambda x: x.base is None,
}


@pytest.mark.parametrize("often", [1, OFTEN])
@pytest.mark.parametrize("first", MEMORIES)
@pytest.mark.parametrize("asks", OF_MEMORY.values(), ids=OF_MEMORY)
def test_whose_memory_an_argument_is(asks, first, often):
    def f(x):
        return x * (10.0 if asks(x) else 1.0)

    fast = tape.compile(f)
    for _ in range(often):
        fast(first())
    for make in (*MEMORIES, first):
        np.testing.assert_array_equal(fast(make()), f(make()))


def test_an_array_of_the_functions_own_is_known():
    def f(x):
        y = x * 2
        return y * (10.0 if y.flags.writeable and y.flags.owndata and y.base is None else 1.0)

    fast = tape.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "tape.compile runs .* for arguments in another order")
        for make in MEMORIES:
            np.testing.assert_array_equal(fast(make()), f(own()))


X, Y = own(), own()
OF_IDENTITY = {
    "is": lambda x, y: x is y,
    "is not": lambda x, y: not (x is not y),
    "operator": operator.is_,
    "id": lambda x, y: id(x) == id(y),
    "among others": lambda x, y: any(z is y for z in [x]),
}


@pytest.mark.parametrize("often", [1, OFTEN])
@pytest.mark.parametrize("arguments", [[(X, X), (X, Y)], [(X, Y), (X, X)]], ids=["the same first", "others first"])
@pytest.mark.parametrize("asks", OF_IDENTITY.values(), ids=OF_IDENTITY)
def test_arguments_that_are_one_object(asks, arguments, often):
    def f(x, y):
        return x * y * (10.0 if asks(x, y) else 1.0)

    fast = tape.compile(f)
    for given in arguments * 2:
        for _ in range(often):
            np.testing.assert_array_equal(fast(*given), f(*given))


def test_a_default_that_is_another_argument():
    def f(x, y=None):
        return x * (10.0 if (x if y is None else y) is x else 1.0)

    fast = tape.compile(f)
    for given in [(X,), (X, Y), (X, X), (X,)]:
        np.testing.assert_array_equal(fast(*given), f(*given))


def test_who_asks_for_none_or_a_type_stays_compiled():
    def f(x, y):
        if y is None or type(x) is list or x is np.newaxis:
            return y
        return x * y

    fast = tape.compile(f)
    for _ in range(OFTEN):
        fast(X, X)
    assert fast.statistics().eager == 0
    assert fast.statistics().replays == OFTEN


def outcome(function, x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return np.asarray(function(x)).tolist()
        except FloatingPointError as error:
            return str(error)


def loss(x):
    return np.log(x).sum()


@pytest.mark.parametrize("often", [1, OFTEN])
@pytest.mark.parametrize("transform", [lambda f: f, tape.func.grad], ids=["itself", "grad"])
@pytest.mark.parametrize("shape", [(), (3,)])
def test_errors_that_raise_around_a_call(transform, shape, often):
    fast, slow = tape.compile(transform(loss)), transform(loss)
    good, bad = np.full(shape, 2.0), np.full(shape, -1.0)
    for _ in range(often):
        np.testing.assert_allclose(fast(good), slow(good))
    quiet = outcome(slow, bad)
    assert str(outcome(fast, bad)) == str(quiet)
    for _ in range(3):
        with np.errstate(invalid="raise"):
            assert outcome(fast, bad) == outcome(slow, bad) == "invalid value encountered in log"
            np.testing.assert_allclose(fast(good), slow(good))
        with np.errstate(invalid="ignore"):
            assert str(outcome(fast, bad)) == str(quiet)
        assert str(outcome(fast, bad)) == str(quiet)


def test_errors_that_call_around_a_call():
    fast, heard = tape.compile(loss), []
    for _ in range(OFTEN):
        fast(X)
    with np.errstate(divide="call", call=lambda *what: heard.append(what)):
        fast(X - 1.0)
    assert [what for what, _ in heard] == ["divide by zero"]
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        fast(X - 1.0)
    assert len(heard) == 1


def test_first_called_where_errors_raise():
    """What is decided there holds there alone."""
    fast = tape.compile(loss)
    with np.errstate(all="raise"):
        fast(X)
    for _ in range(OFTEN):
        fast(X)
    assert fast.statistics().replays == OFTEN


def test_says_once_why_it_runs_as_it_is():
    fast = tape.compile(loss)
    with np.errstate(all="raise"):
        with pytest.warns(RuntimeWarning, match=r"where that is so: np.errstate or np.seterr makes"):
            fast(X)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            fast(X)
