"""`np.nditer` over recorded arrays: the elements that NumPy visits, in its order; sequences that are no lists."""

from __future__ import annotations

import inspect
import warnings
from collections import UserList, deque

import numpy as np
import pytest
from differences import gradients
from numpy.testing import assert_allclose

import tape
import tape.numpy as tnp

M = np.arange(6.0).reshape(2, 3) / 5 + 0.2


def in_order(elements):
    """A number that depends on the order."""
    total = 0.0
    for v in elements:
        total = 0.9 * total + v * v
    return total


def by_index(x):
    it, total = np.nditer(x, flags=["multi_index"]), 0.0
    while not it.finished:
        total = total + it[0] ** 2 * (it.multi_index[0] + 2 * it.multi_index[1])
        it.iternext()
    return total


def into_another(x):
    y = np.zeros_like(x)
    with np.nditer([x, y], op_flags=[["readonly"], ["writeonly"]]) as it:
        for a, b in it:
            b[...] = a * a
    return (y * M).sum()


def into_itself(x):
    y = x.copy()
    with np.nditer(y, op_flags=["readwrite"]) as it:
        for v in it:
            v[...] = v * v
    return (y * M).sum()


def into_a_new_one(x):
    it = np.nditer([x, np.arange(3.0), None])
    for a, b, c in it:
        c[...] = a * a * b
    return (it.operands[2] * M).sum()


def numbered(x):
    it, y = np.nditer(x, flags=["c_index"], order="F"), np.zeros(6)
    for v in it:
        y[it.index] = v * v * it.index
    return y @ np.arange(6.0)


PROGRAMS = [
    lambda x: in_order(np.nditer(x)), lambda x: in_order(np.nditer(x.T)), lambda x: in_order(np.nditer(x, order="F")),
    lambda x: in_order(np.nditer(x[:, ::-1])), by_index, into_another, into_itself, into_a_new_one, numbered,
    lambda x: sum(a * a * b for a, b in np.nditer([x, np.arange(3.0)])),
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_elements(program):
    expected = gradients(program, [M])[0]
    compiled = tape.compile(tape.func.grad(program))
    for found in (tape.func.grad(program)(M), compiled(M), compiled(M), tape.func.jacfwd(program)(M)):
        assert_allclose(found, expected, rtol=1e-6, atol=1e-8)
    assert_allclose(tape.compile(program)(M), program(M), rtol=1e-13)


def test_elements_that_are_read_only():
    def f(x):
        for v in np.nditer(x):
            v[...] = 0.0
        return x.sum()

    for call in (f, tape.func.grad(f)):
        with pytest.raises(ValueError, match="read-only"):
            call(M.copy())


@pytest.mark.parametrize("how", [{"flags": ["external_loop"]}, {"op_dtypes": ["float32"]}, {"op_axes": [[1, 0]]}])
def test_what_goes_otherwise_is_refused(how):
    with pytest.raises(TypeError, match=r"np\.nditer needs plain numbers"):
        tape.func.grad(lambda x: in_order(np.nditer(x, **how)))(M)


def test_plain_arrays_are_numpys_business():
    assert_allclose(
        tape.func.grad(lambda x: x.sum() * sum(float(v) for v in np.nditer(M)))(M), np.full((2, 3), M.sum())
    )


@pytest.mark.filterwarnings("ignore:tape.compile runs")
def test_the_order_in_memory_is_that_of_the_arguments_of_the_call():
    def program(x):
        return sum((k + 1) * v for k, v in enumerate(np.nditer(x)))

    compiled = tape.compile(tape.func.grad_and_value(program))
    for x in (M, np.asfortranarray(M), M):
        assert_allclose(compiled(x)[1], program(x))


@pytest.mark.parametrize("through", [lambda f: f, tape.compile])
def test_arrays_in_columns_stay_so_when_they_are_written_by_rows(through):
    def program(x):
        y = np.zeros((2, 3), order="F")
        y[0], y[1] = x[0], x[1]
        return sum((k + 1) * v for k, v in enumerate(np.nditer(y * 2)))

    assert_allclose(through(tape.func.grad_and_value(program))(M)[1], program(M))


@pytest.mark.parametrize("flags", [[], ["multi_index"], ["c_index"]])
@pytest.mark.parametrize("x", [M, M.T, np.arange(8.0).reshape(2, 2, 2).swapaxes(0, 1), np.array(2.0)])
def test_the_shape_is_that_of_the_axes_that_numpy_goes_along(x, flags):
    def program(x):
        it = np.nditer(x, flags=flags)
        return x.sum() * it.itersize * sum((k + 1) * n for k, n in enumerate(it.shape))

    assert_allclose(tape.func.grad_and_value(program)(x)[1], program(x))


def test_by_the_name_of_a_class_in_tape_numpy():
    def program(x):
        y = tnp.ndarray((2,), tnp.float64)
        y[...] = x[0, :2]
        return tnp.float32(x[1, 0]) * sum(v * v for v in tnp.nditer(x)) + y.sum()

    assert isinstance(M, tnp.ndarray)
    assert tnp.float64 is np.float64
    for transform in (tape.func.grad, lambda f: tape.compile(tape.func.grad(f))):
        assert_allclose(transform(program)(M), tape.func.grad(plainly)(M))


def test_functions_of_tape_numpy_are_known_to_compiled_ones():
    """NumPy's functions in C carry their signatures with them, from NumPy 2.4 on."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compiled = tape.compile(tape.func.grad(lambda x: tnp.dot(x, x).sum() + tnp.vdot(x, x)))
        assert_allclose(compiled(np.eye(3)), compiled(np.eye(3)))
    assert inspect.signature(tnp.dot) == inspect.signature(np.dot)


def plainly(x):
    return x[1, 0] * (x * x).sum() + x[0, :2].sum()


NUMBERS = np.array([1.0, 3.0, 2.0])


class OwnSequence:
    """A sequence by its methods alone."""

    def __init__(self, numbers):
        self.numbers = list(numbers)

    def __len__(self):
        return len(self.numbers)

    def __getitem__(self, k):
        return self.numbers[k]


OF_NUMBERS = {
    "array": np.array, "asarray": np.asarray, "mean": np.mean, "sum": np.sum, "max": np.max, "median": np.median,
    "cumsum": np.cumsum, "std": np.std, "diff": np.diff, "norm": np.linalg.norm,
    "dot": lambda s: np.dot(s, [2.0, 3.0]),
}  # fmt: skip
OF_ARRAYS = {"stack": np.stack, "concatenate": np.concatenate, "vstack": np.vstack, "hstack": np.hstack}


@pytest.mark.parametrize("name", OF_NUMBERS)
def test_of_numbers_in_a_deque(name):
    function = OF_NUMBERS[name]

    def f(kind, x):
        window = kind(maxlen=2) if kind is deque else []
        for v in x:
            window.append(v * v)
        return np.sum(function(window if kind is deque else window[-2:]) * 1.0)

    expected = tape.func.grad(lambda x: f(list, x))(NUMBERS)
    for gradient in (tape.func.grad(lambda x: f(deque, x)), tape.compile(tape.func.grad(lambda x: f(deque, x)))):
        for _ in range(2):
            np.testing.assert_array_equal(gradient(NUMBERS), expected)


@pytest.mark.parametrize("kind", [deque, UserList, OwnSequence])
@pytest.mark.parametrize("name", OF_ARRAYS)
def test_of_arrays_in_other_sequences(name, kind):
    function = OF_ARRAYS[name]

    def f(kind, x):
        return np.sum(function(kind([x, x * x])) ** 2)

    np.testing.assert_array_equal(tape.func.vjp(lambda x: f(kind, x), NUMBERS)[0], f(kind, NUMBERS))
    np.testing.assert_array_equal(
        tape.func.grad(lambda x: f(kind, x))(NUMBERS), tape.func.grad(lambda x: f(list, x))(NUMBERS)
    )
