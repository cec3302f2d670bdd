"""Classes that a function of arrays names: what tells arrays by their type takes the way that it takes without us."""

from __future__ import annotations

import collections.abc
import functools
import operator
import pickle
import threading
import types
import typing

import numpy as np
import pytest
from differences import gradients
from numpy.testing import assert_allclose

import tape
import tape.numpy

X = np.array([1.3, 0.7, 2.1])


class Meta(type):
    """A class of classes."""


@functools.singledispatch
def squared(x):
    return x


@squared.register(np.ndarray)
def _(x):
    return (x * x).sum()


@squared.register(float)
def _(x):
    return 5 * x


class Method:
    @functools.singledispatchmethod
    def squared(self, x):
        return x

    @squared.register(np.ndarray)
    def _(self, x):
        return (x * x).sum()


def by_type(x):
    return (x * x).sum() if type(x) is np.ndarray else x.sum()


def by_type_of_a_number(x):
    return x[0] ** 2 if type(x[0]) in (float, np.float64) and type(x.sum()) is np.float64 else x[0]


def by_table(x):
    table = {np.ndarray: 2.0, np.float64: 3.0}
    return table[type(x)] * x[0] ** 2 + table[type(x[1])] * x[1]


def by_class(x):
    return (x * x).sum() if x.__class__ is np.ndarray and x[0].__class__ is np.float64 else x.sum()


def an_ndarray_of(x):
    y = np.ndarray(3)
    y[:] = x * x
    return y.sum() if type(y) is np.ndarray else x.sum()


def by_dispatch(x):
    return squared(x) + squared(x[0]) + Method().squared(x)


class Holder:
    def __init__(self, function):
        self.function, self.table = function, [by_type]

    def call(self, x):
        return self.function(x) + HELD["a"](x)


HELD = {"a": by_table}
HOLDER = Holder(an_ndarray_of)


def by_attribute(x):
    return HOLDER.function(x) + HOLDER.call(x)


def otherwise_named(x):
    """`type` for all that is no recorded value."""

    class Made(metaclass=Meta):
        pass

    class Own(type):
        pass

    two = type("Two", (), {"value": 2})
    holds = isinstance(Made, type) and type(Made) is Meta and issubclass(Meta, type) and type(Meta) is type
    holds &= isinstance(Own("Name", (), {}), type) and int is int and {type: 1}[type] == 1
    holds &= isinstance(type, type) and type.__name__ == "type" and (type | None) is not None
    return (x**2).sum() * two.value if holds else x.sum()


def an_ndarray(x):
    y, z = np.ndarray((2, 3)), np.ndarray(shape=3, dtype=np.float64)
    y[0], z[...] = x, x * x
    y[1] = 1.0
    holds = isinstance(y, np.ndarray) and np.ndarray.__len__ and issubclass(np.ndarray, np.ndarray)
    return (y * z).sum() if holds else x.sum()


def numbers(x):
    return np.float64(x[0]) ** 2 + (np.float64(x) ** 2).sum() + np.double([x[0], 1.0])[0] + np.float64("2") * x[1]


PROGRAMS = [
    HOLDER.call, by_attribute, by_type, by_type_of_a_number, by_table, by_class, by_dispatch, otherwise_named,
    an_ndarray, numbers,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_gradient(program):
    expected = gradients(program, [X])[0]
    compiled = tape.compile(tape.func.grad(program))
    for found in (tape.func.grad(program)(X), compiled(X), compiled(X), tape.func.jacfwd(program)(X)):
        assert_allclose(found, expected, rtol=1e-7)
    assert_allclose(tape.vmap(program)(np.stack([X, X])), [program(X)] * 2)


def test_nothing_is_left_behind():
    tape.func.grad(an_ndarray)(X)
    tape.func.grad(by_type)(X)
    with pytest.raises(ZeroDivisionError):
        tape.func.grad(lambda x: x.sum() / 0 if type(x) is np.ndarray and 1 // 0 else np.ndarray(3))(X)
    assert "type" not in globals()
    assert type(np) is types.ModuleType


def test_no_other_thread_notices():
    held, stop = collections.Counter(), threading.Event()

    def look():
        while not stop.is_set():
            found = np.ndarray(2), np.float64(1.5)
            held[type(found[0]) is np.ndarray and type(found[1]) is np.float64 and type(np.zeros(1)) is np.ndarray] += 1
            pickle.loads(pickle.dumps(np.ndarray))

    def program(x):
        y = np.ndarray(3)
        y[:] = x * x
        while len(held) == 0 or held.total() < 20:
            y[:] = x * x
        return y.sum() if type(y) is np.ndarray else x.sum()

    thread = threading.Thread(target=look)
    thread.start()
    try:
        assert_allclose(tape.func.grad(program)(X), 2 * X)
    finally:
        stop.set()
        thread.join()
    assert set(held) == {True}


def test_constructors_of_a_module_that_is_named_through_another():
    inner, outer = types.ModuleType("users_inner"), types.ModuleType("users_outer")
    exec("from numpy import zeros\ndef fill(x):\n    y = zeros(3)\n    y[:] = x * x\n    return y.sum()", vars(inner))
    outer.inner = inner
    assert_allclose(tape.func.grad(lambda x: outer.inner.fill(x))(X), 2 * X)
    globals()["users_outer"] = outer
    assert_allclose(tape.func.grad(lambda x: users_outer.inner.fill(x))(X), 2 * X)  # noqa: F821


class Wrapping:
    def __init__(self, x):
        self.x = x

    def __array__(self, dtype=None, copy=None):
        return self.x


def test_an_object_that_gives_an_array():
    assert_allclose(tape.func.grad(lambda x: (np.asarray(Wrapping(x * 2)) ** 2).sum())(X), 8 * X)
    assert_allclose(tape.func.grad(lambda x: (np.array(Wrapping(x * 2), float) ** 2).sum())(X), 8 * X)


class Vector:
    def __init__(self, x):
        self.x = x

    def __rmul__(self, k):
        return Vector(k * self.x)


def test_a_number_beside_a_class_with_operators():
    assert_allclose(
        tape.func.grad(lambda x: (x[0] * Vector(x)).x.sum())(X), gradients(lambda x: x[0] * x.sum(), [X])[0]
    )


def test_an_array_of_ours_that_a_compiled_function_reads_is_watched():
    held, table = tape.numpy.array([1.0, 2.0, 3.0]), {"a": tape.numpy.array([1.0, 2.0, 3.0])}
    by_name, by_key = tape.compile(lambda x: x * held), tape.compile(tape.func.grad(lambda x: (x * table["a"]).sum()))
    for value in (1.0, 5.0, 7.0):
        held[0] = table["a"][0] = value
        for _ in range(2):
            assert_allclose(by_name(X), X * [value, 2, 3])
            assert_allclose(by_key(X), [value, 2, 3])
    table["a"] = tape.numpy.array(X)
    assert_allclose(by_key(X), X)


MATRIX = np.array([[1.0, 2.0], [3.0, 4.0]]).view(np.matrix)
WITH_A_MATRIX = {
    "its product": lambda x: (x * MATRIX).sum(),
    "the product from its side": lambda x: (MATRIX * x).sum(),
    "matmul": lambda x: (MATRIX @ x).sum(),
    "a ufunc": lambda x: np.multiply(x, MATRIX).sum(),
    "a function": lambda x: np.dot(MATRIX, x).sum(),
}


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
@pytest.mark.parametrize("name", WITH_A_MATRIX)
@pytest.mark.parametrize("compiled", [False, True])
def test_matrices_of_numpy_are_refused_as_constants(name, compiled):
    """``*`` of a matrix is `matmul`, so what the array face would do elementwise is a wrong number."""
    gradient = tape.func.grad(WITH_A_MATRIX[name])
    with pytest.raises(TypeError, match=r"np\.asarray|plain numbers"):
        (tape.compile(gradient) if compiled else gradient)(np.ones((2, 2)))


@pytest.mark.parametrize("compiled", [False, True])
def test_matrices_of_numpy_are_refused_as_arguments(compiled):
    gradient = tape.func.grad(lambda m: (m * m).sum())
    with pytest.raises(TypeError, match=r"np\.asarray|plain numbers"):
        (tape.compile(gradient) if compiled else gradient)(MATRIX)


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_a_compiled_function_without_a_transform_gives_the_product_of_matrices():
    x = np.array([[1.0, 2.0], [0.5, 4.0]])
    compiled = tape.compile(lambda x: x * MATRIX)
    with pytest.warns(RuntimeWarning, match="without compiling from here on"):
        assert_allclose(compiled(x), x @ np.asarray(MATRIX))
    for k in range(3):
        assert_allclose(compiled(x + k), (x + k) @ np.asarray(MATRIX))


class Tagged(np.ndarray):
    """An array that knows where it is from."""

    def __array_finalize__(self, of):
        self.tag = getattr(of, "tag", "new")


class Adding(np.ndarray):
    """An array whose ``*`` adds."""

    def __mul__(self, other):
        return np.asarray(self) + other

    __rmul__ = __mul__


class Shifting(np.ndarray):
    def __array_ufunc__(self, ufunc, how, *given, **named):
        return getattr(ufunc, how)(*map(np.asarray, given), **named) + 1000.0


class Answering(np.ndarray):
    def __array_function__(self, function, kinds, args, named):
        return 77.0


CLASSES = {kind.__name__: np.arange(1.0, 5.0).view(kind) for kind in (Tagged, Adding, Shifting, Answering, np.recarray)}
WITH_A_CLASS = {
    "its product": lambda x, a: x * a, "the product from its side": lambda x, a: a * x,
    "a number": lambda x, a: x[0] * a,
    "a ufunc": lambda x, a: np.multiply(x, a), "outer": lambda x, a: np.subtract.outer(x, a), "@": lambda x, a: x @ a,
    "a function": lambda x, a: np.stack([x, a]), "a choice": lambda x, a: np.where(x > 1, x, a),
    "augmented": lambda x, a: operator.iadd(x * 1, a), "a comparison": lambda x, a: (x < a) * x,
    "returned": lambda x, a: (a, x * 2), "swallowed": lambda x, a: swallowing(lambda: x * a, x),
    "an array of it": lambda x, a: x * np.asarray(a), "an element": lambda x, a: x * a[1],
}  # fmt: skip


def swallowing(call, otherwise):
    try:
        return call()
    except TypeError:
        return otherwise


@pytest.mark.filterwarnings("ignore:tape.compile runs:RuntimeWarning")
@pytest.mark.parametrize("name", WITH_A_CLASS)
@pytest.mark.parametrize("kind", CLASSES)
def test_arrays_of_classes_with_rules_of_their_own(kind, name):
    """A compiled function runs as it is; a derivative gives what NumPy gives, as plain arrays do, or refuses."""

    def f(x, a=CLASSES[kind]):
        return WITH_A_CLASS[name](x, a)

    def facts(result):
        return [(type(z), np.asarray(z).tolist()) for z in (result if isinstance(result, tuple) else (result,))]

    expected, compiled, given = facts(f(X4)), tape.compile(f), tape.compile(WITH_A_CLASS[name])
    for _ in range(3):
        assert facts(compiled(X4)) == facts(given(X4, CLASSES[kind])) == expected
    by_its_own = kind in ("Adding", "Shifting") and name == "the product from its side"
    if name in ("an array of it", "an element") or by_its_own:
        assert facts(tape.func.vjp(f, X4)[0]) == expected
    else:
        with pytest.raises(TypeError, match=r"np\.asarray\(a\)|plain numbers"):
            tape.func.vjp(f, X4)


X4 = np.array([0.5, 2.0, 1.0, 3.0])


NAMES = (
    "__len__", "__iter__", "__getitem__", "__index__", "__contains__", "__matmul__", "__setitem__", "__and__",
    "__add__", "__array__", "__array_interface__", "__array_namespace__", "__int__", "__float__", "__call__", "shape",
    "tolist",
)  # fmt: skip
ABSTRACT = (
    *(collections.abc.Iterable, collections.abc.Sized, collections.abc.Container, collections.abc.Sequence),
    *(collections.abc.Iterator, collections.abc.Reversible, collections.abc.Hashable, typing.SupportsIndex),
)
ATTEMPTS = {
    "iter": iter, "list": list, "len": len, "index": operator.index, "range": range, "in": lambda x: 1.0 in x,
    "@": lambda x: x @ x, "*": lambda x: [*x], "reversed": reversed, "[()]": lambda x: x[()], "[0]": lambda x: x[0],
    "[...]": lambda x: x[...], "[None]": lambda x: x[None], "iterable": np.iterable, "max": max, "sum": sum,
    "of a list": lambda x: [5, 6, 7][x], "repeated": lambda x: [1, 2] * x, "set": set,
}  # fmt: skip
TAKEN = {
    "number": lambda v: v[0], "sum": lambda v: v.sum(), "product": lambda v: v[0] * v[1], "item": lambda v: v[0].item(),
    "of a list": lambda v: v.tolist()[0], "array": lambda v: v, "without axes": lambda v: v[0, ...],
    "comparison": lambda v: v[0] == v[1],
}  # fmt: skip


def told_by(x):
    """What a program can tell a number, or an array, by."""
    found = {name: hasattr(x, name) for name in NAMES} | {kind.__name__: isinstance(x, kind) for kind in ABSTRACT}
    for name, attempt in ATTEMPTS.items():
        try:
            attempt(x)
            found[name] = True
        except (TypeError, IndexError, ValueError) as error:
            found[name] = next(kind for kind in (TypeError, IndexError, ValueError) if isinstance(error, kind))
    return found | {"no iterator": getattr(x, "__iter__", None) is None}


@pytest.mark.parametrize("dtype", ["?", "i1", "u8", "i8", "f2", "f4", "f8", "c16"])
def test_numbers_have_what_numpys_and_pythons_have_and_no_more(dtype):
    v = np.array([1, 1]).astype(dtype)
    odd = {"__int__", "__float__"} if dtype == "c16" else set()  # which Python's complex numbers have here
    for name, take in TAKEN.items():
        found = []

        def f(x, take=take, found=found):
            found.append(told_by(take((x + v.real).astype(dtype))))
            return x.sum()

        tape.func.grad(f)(np.zeros(2))
        tape.compile(f)(np.zeros(2))
        for one in found:
            assert {k for k, told in told_by(take(v)).items() if told != one[k]} <= odd, name
