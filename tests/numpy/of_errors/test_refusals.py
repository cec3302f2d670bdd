"""What the user's own `except` swallows: the way that a function goes because of us is not its own."""

import decimal
import functools
import json
import math
import operator
import pickle
import statistics
import warnings

import numpy as np
import pytest

import tape
from tape.numpy.arrays.leaving import _told

X = np.array([1.5, 2.0])
KEPT = np.zeros(2)


def without_a_rule(x):
    try:
        return np.frompyfunc(max, 2, 1)(x, 9.0).sum()
    except TypeError:
        return 4 * x.sum()


def into_an_outer_array(x):
    try:
        KEPT[:] = x
        return KEPT.sum()
    except Exception:
        return 3 * x.sum()


def into_both(x):
    try:
        y = x.copy()
        return np.modf(x, y, y)[1].sum()
    except Exception:
        return 3 * x.sum()


def share_of_itself(x):
    try:
        return np.quantile(x, x[0] - 1.0)
    except Exception:
        return 3 * x.sum()


def resized(x):
    try:
        y = x + 0.0
        y.resize(3, refcheck=False)
        return y.sum()
    except Exception:
        return 3 * x.sum()


def pickled(x):
    try:
        return pickle.loads(pickle.dumps(x)).sum()
    except Exception:
        return 3 * x.sum()


@pytest.mark.parametrize("function", [without_a_rule, into_an_outer_array, pickled])
@pytest.mark.parametrize("transformation", [tape.func.grad, tape.func.jacfwd, tape.func.jacrev, tape.func.hessian])
def test_a_refusal_comes_out(function, transformation):
    with pytest.raises(TypeError, match="needs plain numbers"):
        transformation(function)(X)


def each_row(transformation):
    return lambda f: lambda x: tape.vmap(transformation(f))(np.stack([x, x + 0.1]))


@pytest.mark.parametrize("function", [into_both, share_of_itself, resized])
@pytest.mark.parametrize(
    "transformation", [tape.func.grad, tape.func.jacfwd, tape.func.hessian, each_row(tape.func.grad)]
)
def test_whatever_numpy_takes_and_we_do_not_comes_out(function, transformation):
    with pytest.raises((TypeError, ValueError, RuntimeError)):
        transformation(function)(X)


@pytest.mark.parametrize("transformation", [tape.func.grad, tape.func.jacfwd, each_row(tape.func.grad)])
@pytest.mark.parametrize(
    "body", [lambda x: x[3], lambda x: np.sin(x, out=np.zeros(2)), lambda x: np.concatenate([x, np.ones((1, 2))])]
)
def test_what_numpy_does_not_take_either_is_the_functions_business(body, transformation):
    def function(x):
        x = np.append(x, 2.0)
        try:
            return body(x).sum()
        except (ValueError, IndexError):
            return 3 * x.sum()

    np.testing.assert_array_equal(transformation(function)(X), np.full_like(transformation(lambda x: x.sum())(X), 3.0))


def test_what_c_code_makes_of_a_refusal():
    integrate = pytest.importorskip("scipy.integrate")
    with pytest.raises(TypeError, match="quad needs plain numbers"):
        tape.func.grad(lambda x: integrate.tplquad(lambda t, s, r: t - x[0] * s * r, *[0, 1] * 3)[0])(X)


def test_a_swallowed_refusal_to_record_runs_the_function_as_it_is():
    def function(x):
        try:
            x[0] = 5.0
            return x * 2
        except Exception:
            return x * 3

    compiled = tape.compile(function)
    with pytest.warns(RuntimeWarning, match="changed in place"):
        np.testing.assert_array_equal(compiled(X.copy()), [10.0, 4.0])
    x = X.copy()
    np.testing.assert_array_equal(compiled(x), [10.0, 4.0])
    np.testing.assert_array_equal(x, [5.0, 2.0])


def test_errors_of_the_users_own_are_his():
    def function(x):
        try:
            return np.linalg.inv(np.diag(x) * 0)
        except np.linalg.LinAlgError:
            return x * x

    np.testing.assert_array_equal(tape.func.grad(lambda x: function(x).sum())(X), 2 * X)


@pytest.mark.parametrize("function", [lambda x: 1 / x, lambda x: np.log(x), lambda x: x[0] / x[1] + x])
def test_floating_point_errors_that_are_raised(function):
    def tried(x):
        with np.errstate(all="raise"):
            try:
                return function(x)
            except FloatingPointError:
                return x * 0 + 5

    compiled = tape.compile(tried)
    with pytest.warns(RuntimeWarning, match="errstate"):
        compiled(X)
    for x in (X, np.zeros(2), X):
        np.testing.assert_array_equal(compiled(x), tried(x))


PLAIN = np.arange(2.0)
WAYS = {
    "copy": lambda a: a.copy(),
    "sum": lambda a: a + 0,
    "product": lambda a: a * 1.0,
    "cast": lambda a: a.astype(float),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("at", [0, slice(None), ...])
def test_what_a_plain_array_makes_of_itself_says_what_to_write(way, at):
    def function(x):
        y = WAYS[way](PLAIN)
        y[at] = x[0] if at == 0 else x * x
        return y.sum()

    for transformation in (tape.func.grad, tape.func.jacfwd, lambda f: tape.compile(tape.func.grad(f))):
        with pytest.raises(TypeError, match=r"(?s)not made in this function.*test_refusals\.py.*write np\.array\(a\)"):
            transformation(function)(X)


def test_a_class_called_through_a_dtype_is_named():
    with pytest.raises(TypeError, match=r"type\(\) needs plain numbers"):
        tape.func.grad(lambda x: x.dtype.type(x[0]))(X)


class Given:
    """An object that NumPy makes an array of."""

    def __init__(self, numbers):
        self.numbers = numbers

    def __array__(self, dtype=None, copy=None):
        return self.numbers


@pytest.mark.parametrize("function", [lambda x: np.sin(Given(x)).sum(), lambda x: (x * Given(x)).sum()])
def test_an_object_that_gives_a_recorded_array_says_what_to_write(function):
    with pytest.raises(TypeError, match=r"(?s)__array__ gave.*test_refusals\.py.*Write np\.asarray\(object\)"):
        tape.func.grad(function)(X)
    found = tape.func.grad(lambda x: (x * np.asarray(Given(x))).sum())(X)
    np.testing.assert_array_equal(found, 2 * X)


def test_functions_of_scipys_are_named_though_others_take_the_arrays():
    linalg = pytest.importorskip("scipy.linalg")
    with pytest.raises(TypeError, match=r"(?s)scipy\.linalg\.ldl needs plain numbers"):
        tape.func.grad(lambda x: linalg.ldl(np.outer(x, x))[0].sum())(X)


def test_numbers_that_differ_from_lane_to_lane_are_named_as_such():
    with pytest.raises(RuntimeError, match=r"np\.lexsort asks for numbers, and these differ from lane to lane"):
        tape.vmap(lambda x: x[np.lexsort((x,))])(np.stack([X, X]))


def test_a_number_that_waits_for_a_comparison_is_not_compared():
    def function(x):
        y = np.zeros(2)
        y[x > 1] = float(x[0])
        return (y * x).sum()

    for transformation in (tape.func.grad, tape.func.jacfwd):
        _told.clear()
        with pytest.warns(UserWarning, match=r"float\(\) makes a plain number"):
            transformation(function)(X)


def test_a_number_that_is_compared_is_not_warned_of():
    def function(x):
        near = 0 < float(x[0]) < 9 or float(x[1]) > len(x) or abs(float(x[0])) < 5 or not float(x[0])
        return (x * x).sum() if near and -float(x[1]) < 5 else x.sum()

    np.testing.assert_array_equal(tape.func.grad(function)(X), 2 * X)


def inverse_or_twice(m):
    try:
        return np.linalg.inv(m)
    except np.linalg.LinAlgError:
        return 2 * m


def checked_logarithm(m):
    try:
        with np.errstate(all="raise"):
            return np.log(m)
    except FloatingPointError:
        return 7 * m


def root_or_nothing(m):
    try:
        return math.sqrt(m[0, 1] - 0.5) * m
    except ValueError:
        return 0 * m


def quotient_or_nothing(m):
    try:
        return math.sin(m[0, 0]) / math.sin(m[0, 1]) * m
    except ZeroDivisionError:
        return 0 * m


EYE, ONES = np.eye(2), np.ones((2, 2))


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("function", [inverse_or_twice, checked_logarithm, root_or_nothing, quotient_or_nothing])
def test_what_some_lanes_raise_is_not_caught_for_all_of_them(function, compiled):
    mapped = tape.compile(tape.vmap(function)) if compiled else tape.vmap(function)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        with pytest.raises(RuntimeError, match=r"vmap: .* raises \w+ \(.*\) in some lanes and not in others"):
            mapped(np.stack([EYE, ONES]))
        for same in (EYE, ONES):
            np.testing.assert_array_equal(mapped(np.stack([same, same])), [function(same), function(same)])


def test_what_some_lanes_raise_and_nobody_catches():
    with pytest.raises(np.linalg.LinAlgError):
        tape.vmap(np.linalg.inv)(np.stack([EYE, ONES]))
    with pytest.raises(ValueError, match="math domain"):
        tape.vmap(lambda m: math.sqrt(m[0, 1] - 0.5) * m)(np.stack([EYE, ONES]))


def test_what_all_lanes_raise_by_their_shape():
    def function(x):
        try:
            return x.reshape(7)
        except ValueError:
            return 3 * x

    np.testing.assert_array_equal(tape.vmap(function)(ONES), 3 * ONES)


def test_lanes_of_tensors():
    def function(m):
        try:
            return tape.linalg.inv(m)
        except np.linalg.LinAlgError:
            return 2 * m

    with pytest.raises(RuntimeError, match="in some lanes and not in others"):
        tape.vmap(function)(tape.tensor(np.stack([EYE, ONES])))


def swapped_rows(x, swap=lambda y: np.random.default_rng(0).shuffle(y)):
    y = np.array(x)
    swap(y)
    return (y * np.arange(6.0).reshape(3, 2)).sum()


def by_another_name(y):
    mixed = np.random.default_rng(0).shuffle
    mixed(y)


SWAPS = {
    "by another name": by_another_name,
    "mapped": lambda y: list(map(np.random.default_rng(0).shuffle, [y])),
    "partial": lambda y: functools.partial(np.random.default_rng(0).shuffle)(y),
    "of the older kind": lambda y: [mixed(y) for mixed in [np.random.RandomState(0).shuffle]],
}


def test_rows_are_not_shuffled():
    """NumPy's C code would swap views of them, and so write one over the other."""
    x = np.arange(6.0).reshape(3, 2)
    with pytest.raises(TypeError, match=r"shuffle\(\) needs plain numbers .*\n.*<lambda>.*\nDraw places"):
        tape.func.grad(swapped_rows)(x)
    with pytest.warns(RuntimeWarning, match="shuffle"):
        assert tape.compile(swapped_rows)(x) == swapped_rows(x)


@pytest.mark.filterwarnings("ignore:you are shuffling")
@pytest.mark.parametrize("swap", SWAPS.values(), ids=SWAPS)
def test_rows_are_not_shuffled_by_whatever_name(swap):
    x = np.arange(6.0).reshape(3, 2)
    with pytest.raises(TypeError, match="swapping its rows"):
        tape.func.grad(lambda x: swapped_rows(x, swap))(x)
    with pytest.warns(RuntimeWarning, match="swapping its rows"):
        assert tape.compile(lambda x: swapped_rows(x, swap))(x) == swapped_rows(x, swap)


def test_rows_that_code_writes_over_each_other_are_as_numpys():
    def function(x):
        y = x * 1.0
        y[0] = y[1]
        operator.setitem(y, 1, y[2])
        y.__setitem__(2, y[0])
        y[0], y[1] = y[1], y[0]
        return (y * np.arange(6.0).reshape(3, 2)).sum()

    x = np.random.default_rng(0).normal(size=(3, 2))
    assert tape.compile(function)(x) == function(x)
    np.testing.assert_array_equal(tape.func.grad(function)(x), [[0, 0], [4, 5], [2, 4]])


RECORDS = [("a", float), ("b", int)]
NO_NUMBERS = {
    "records": lambda x: np.array([(v, 1) for v in x], dtype=RECORDS)["a"],
    "a record": lambda x: np.array((x[0], 1), dtype=RECORDS)["a"] * 2,
    "objects": lambda x: np.array([x[0], None, "s"], dtype=object)[0] * 2,
    "objects by themselves": lambda x: np.array([x[0], None])[0] * 2,
    "ragged": lambda x: np.array([x, [1.0]], dtype=object)[0] * 2,
    "texts": lambda x: np.array(["a", x[0]])[0] == "a",
}


@pytest.mark.parametrize("name", NO_NUMBERS)
def test_arrays_of_what_are_no_numbers(name):
    function, x = NO_NUMBERS[name], np.array([0.5, 1.25, 2.0])
    compiled = tape.compile(function)
    for k in range(3):
        np.testing.assert_array_equal(compiled(x * k), function(x * k))
    with pytest.raises(TypeError, match=r"needs plain numbers \(an array of dtype "):
        tape.func.jacfwd(function)(x)


BY_CLASS = {
    "memoryview": lambda x: float(memoryview(x)[0]),
    "bytearray": lambda x: float(len(bytearray(x))),
    "dumps": lambda x: json.loads(json.dumps(x.tolist()))[0],
    "Decimal": lambda x: float(decimal.Decimal(x[0])),
    "sum": lambda x: np.ndarray.sum(x),
    "__mul__": lambda x: float.__mul__(x[0], 2.0),
}


@pytest.mark.parametrize("transformation", [tape.func.grad, tape.func.jacfwd, tape.vmap])
@pytest.mark.parametrize("name", BY_CLASS)
def test_c_code_that_goes_by_classes(name, transformation):
    """Its own words name a class that the user knows nothing of, and no line."""
    x = np.ones((2, 2)) if transformation is tape.vmap else X
    with pytest.raises(TypeError, match=rf"^{name}\(\) needs plain numbers (.|\n)*test_refusals.py:\d+ in <lambda>"):
        transformation(BY_CLASS[name])(x)
    with pytest.warns(RuntimeWarning, match="without compiling"):
        assert tape.compile(BY_CLASS[name])(X) == BY_CLASS[name](X)


ADVICE = {
    r"m \+ s \* rng\.normal": lambda x: np.random.default_rng(0).normal(x[0], x[1]),
    r"s \* rng\.exponential": lambda x: np.random.default_rng(0).exponential(x).sum(),
    r"np\.broadcast_shapes": lambda x: np.broadcast(x, x[:, None]).shape[0] * x.sum(),
    r"np\.std and np\.var record": statistics.mean,
    "(keep plain things: take a list|fill an array made in this function)": lambda x: _filled(
        np.empty(2, dtype=object), x
    ).sum(),
    "(an array of numbers for each field|fill an array made in this function)": lambda x: _filled(
        np.zeros(2, dtype=RECORDS)["a"], x
    ).sum(),
}


def _filled(y, x):
    y[:] = x
    return y


@pytest.mark.filterwarnings("ignore:the matrix subclass")
@pytest.mark.parametrize("f", [np.asmatrix, np.matrix, lambda x: np.bmat([[x, x]]), lambda x: np.matrix(np.eye(2)) * x])
def test_instead_of_matrices_arrays_of_two_axes_are_to_be_written(f):
    with pytest.raises(TypeError, match=r"\(.*\n.*test_refusals\.py:\d+ (.*\n)*.*x @ y for their \*"):
        tape.func.grad(lambda x: f(x).sum())(X)


@pytest.mark.parametrize("advice", ADVICE)
def test_what_is_to_be_written_instead(advice):
    with pytest.raises(TypeError, match=rf"needs plain numbers(.|\n)*test_refusals.py:\d+ in (.|\n)*{advice}"):
        tape.func.grad(ADVICE[advice])(X)


THINGS = np.array([1, 2.5], dtype=object)
BESIDE_OBJECTS = [
    lambda x: np.add(THINGS, x).astype(float).sum(), lambda x: (x + THINGS).astype(float).sum(),
    lambda x: (THINGS * x).sum(), lambda x: (x[0] * THINGS).sum(), lambda x: np.dot(THINGS, x), lambda x: THINGS @ x,
    lambda x: np.where(x > 1, THINGS, x).astype(float).sum(), lambda x: np.concatenate([x, THINGS]).sum(),
    lambda x: (THINGS**x).sum(),
]  # fmt: skip


@pytest.mark.parametrize("f", BESIDE_OBJECTS)
def test_arrays_of_objects_take_no_gradient_away(f):
    with pytest.raises(TypeError, match=r"(beside|of) an array of dtype object(.|\n)*take a list"):
        tape.func.grad(f)(X)
    compiled = tape.compile(f)
    for k in range(3):
        assert compiled(X * (k + 1)) == f(X * (k + 1))


def test_tensors_are_no_objects_either():
    with pytest.raises(TypeError, match="dtype object"):
        np.add(THINGS, tape.tensor(X, requires_grad=True))
