"""Programs called from jitted code and through C function pointers."""

from __future__ import annotations

import gc
import threading

import numba
import numpy as np
import pytest
import scipy.integrate
from numpy.testing import assert_allclose, assert_array_equal

import tape
from tape.program import NotNative, record


def f(x, a):
    return (np.exp(x) * a).sum() + x[0] * np.sin(x[1])


def gradient(x, a):
    return np.array([a * np.exp(x[0]) + np.sin(x[1]), a * np.exp(x[1]) + x[0] * np.cos(x[1])])


@pytest.fixture(scope="module")
def native():
    return record(tape.func.grad_and_value(f), np.ones(2), 1.0).njit()


def test_values_and_gradients(native):
    rng = np.random.default_rng(0)
    for _ in range(5):
        x, a = rng.random(2), rng.random()
        g, value = native(x, a)
        assert_allclose(g, gradient(x, a))
        assert_allclose(value, np.sum(np.exp(x) * a) + x[0] * np.sin(x[1]))


def test_within_jitted_code_and_after_the_program_is_gone(native):
    @numba.njit(nogil=True)
    def descend(x, steps):
        for _ in range(steps):
            g, _value = native(x, 1.0)
            x = x - 0.01 * g
        return x

    gc.collect()
    x = np.array([0.3, 0.2])
    expected = x
    for _ in range(1000):
        expected = expected - 0.01 * gradient(expected, 1.0)
    assert_allclose(descend(x, 1000), expected)
    found = {}
    threads = [threading.Thread(target=lambda k=k: found.update({k: descend(x, 1000 + k)})) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    for k in range(4):
        assert_array_equal(found[k], descend(x, 1000 + k))


@pytest.mark.parametrize("view", [lambda x: x[::2], lambda x: x[::-1][:2], lambda x: x[:2]])
def test_any_layout(native, view):
    x = view(np.array([0.1, 0.2, 0.3, 0.4]))
    assert_allclose(native(x, 2.0)[0], gradient(x, 2.0))


def test_several_kernels_broadcasting_and_truth_values():
    def g(x, y):
        total = (x * y).sum()
        return tape.where(x > y, x * total, y), x > y, (x + total).mean()

    x, y = np.random.default_rng(0).random((5, 3)), np.random.default_rng(1).random(3)
    z, truth, mean = record(g, x, y).njit()(x, y)
    total = np.sum(x * y)
    assert_allclose(z, np.where(x > y, x * total, y))
    assert_array_equal(truth, x > y)
    assert_allclose(mean, np.mean(x + total))


def test_wrong_arguments_are_refused(native):
    with pytest.raises(TypeError):
        native(np.ones(2, np.float32), 1.0)
    with pytest.raises(ValueError, match=r"argument 0 of the program must have shape \(2,\)"):
        native(np.ones(3), 1.0)


def test_guards_are_verified():
    made = record(lambda x: x * 2 if x > 0 else -x, 1.0).njit()
    assert made(3.0) == 6
    with pytest.raises(RuntimeError, match=r"only while bool\(\) gives True at .*test_program_native"):
        made(-3.0)


def test_programs_that_need_python_say_so():
    with pytest.raises(NotNative, match=r"inv, recorded at .*test_program_native.py:\d+"):
        record(lambda x: np.linalg.inv(x), np.eye(2)).njit()
    w = np.ones(2)
    with pytest.raises(NotNative, match=r"array float64\[2\] from outside .* flags.writeable"):
        record(lambda x: x * w, np.ones(2)).njit()
    with pytest.raises(NotNative, match="returns a str"):
        record(lambda x: (x * 2, "name"), np.ones(2)).njit()


def test_a_program_is_compiled_once():
    program = record(lambda x: x * 2, 1.0)
    assert program.njit() is program.njit()


@pytest.mark.parametrize("seen", [np.inf, -np.inf, np.nan, 0.0, -0.0, 1.5])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_guards_compare_as_replays_do(seen, dtype):
    program = record(lambda x: x + np.copysign(dtype(1), float(x)), dtype(seen))
    made = program.njit()
    for x in map(dtype, (np.inf, -np.inf, np.nan, -np.nan, 0.0, -0.0, 1.5, 1.25)):
        try:
            expected = program(x)
        except tape.program.GuardMissed:
            with pytest.raises(RuntimeError, match="recorded list holds only while"):
                made(x)
        else:
            assert_array_equal(made(x), expected)


def test_guards_of_arrays():
    made = record(lambda x: x[x > 0].sum(), np.array([1.0, -2.0, 3.0])).njit()
    assert made(np.array([2.0, -1.0, 4.0])) == 6
    with pytest.raises(RuntimeError, match=r"holds only while .* gives array\(\[ True, False,  True\]\) at"):
        made(np.array([2.0, 1.0, 4.0]))


def test_which_guard_missed():
    def f(x):
        for k in range(300):
            x = np.sin(x) + 2 if x > -k else x * 2
        return x if x < 2.95 else -x

    program = record(f, 0.5)
    made = program.njit()
    assert_allclose(made(0.25), program(0.25))
    with pytest.raises(RuntimeError, match=r"only while bool\(\) gives True at .* in f: x = "):
        made(-np.inf)


def test_results_are_the_callers_own():
    a = np.zeros(3)
    for f in (lambda x: x, lambda x: x.reshape(3), lambda x: x * 1):
        z = record(f, a).njit()(a)
        z[0] = 9
        assert a[0] == 0
    y, z = record(lambda x: (x * 2, x * 2), a).njit()(a)
    y[0] = 7
    assert z[0] == 0
    y, z = record(lambda x: [x * 2] * 2, a).njit()(a)
    y[0] = 7
    assert z[0] == 0


def test_results_that_no_kernel_makes():
    assert record(lambda x: x, 2.0).njit()(3.0) == 3.0
    assert record(lambda x: 3.0, 2.0).njit()(2.0) == 3.0
    assert record(lambda x: np.inf, 2.0).njit()(2.0) == np.inf
    z, name, w = record(lambda x: (x, None, np.arange(2)), np.float32(2)).njit()(np.float32(5))
    assert (z, name) == (5, None)
    assert_array_equal(w, [0, 1])
    assert record(lambda x: (x * 2,), 2.0).njit()(3.0) == (6.0,)
    assert record(lambda x: (x, x > 0), np.float32(2)).njit()(np.float32(-1)) == (-1, False)


def test_results_are_nested_as_the_function_nests_them():
    def f(x, y):
        return (x * 2, [y + 1.0, (x.sum(), 3)]), (), [None]

    program = record(f, np.ones(2), 1.0)
    made = program.njit()
    (z, (w, (total, three))), empty, (none,) = made(np.array([1.0, 2.0]), 4.0)
    assert (z.tolist(), w, total, three, empty, none) == ([2.0, 4.0], 5.0, 3.0, 3, (), None)
    inner = numba.njit(lambda x, y: made(x, y)[0][1][0] + made(x, y)[0][0][1])
    assert inner(np.array([1.0, 2.0]), 4.0) == 9.0
    both = record(tape.func.grad_and_value(lambda a, b: (a * b).sum(), argnums=(0, 1)), np.ones(2), np.ones(2))
    (da, db), value = both.njit()(np.ones(2), np.full(2, 3.0))
    assert (da.tolist(), db.tolist(), value) == ([3.0, 3.0], [1.0, 1.0], 6.0)


@pytest.mark.parametrize("made", [lambda x: {"a": x * 2}, lambda x: (x, [{"a": x}])])
def test_dicts_are_refused(made):
    with pytest.raises(NotNative, match="it returns a dict"):
        record(made, np.ones(2)).njit()


A, B = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4).copy()
MOVING = {
    "sum": (lambda x: x.sum(), A),
    "sum along an axis": (lambda x: x.sum(0), A),
    "mean": (lambda x: x.mean(), A),
    "mean along an axis": (lambda x: x.mean(axis=1, keepdims=True), A),
    "slice": (lambda x: x[1:], A),
    "new axis": (lambda x: (x[:, None] * x).sum(1), A),
    "fancy": (lambda x: x[np.array([1, 0, 1])], A),
    "transposed": (lambda x: x.T, A),
    "turned": (lambda x: np.roll(x[::-1], 1, axis=1), A),
    "joined": (lambda x: np.concatenate([x, x * 2, x[:1]]), A),
    "stacked": (lambda x: np.stack([x[0], x[1] + 1]), A),
    "diagonal": (lambda x: np.trace(x @ x.T), A),
    "matrices": (lambda x: x @ x.T, A),
    "vector and matrix": (lambda x: x[0] @ x.T, A),
    "matrix and vector": (lambda x: x @ x[0], A),
    "vectors": (lambda x: x[0] @ x[1], A),
    "tensordot": (lambda x: np.tensordot(x, x, axes=((1,), (1,))), A),
    "stack of matrices": (lambda x: np.stack([x, x + 1]) @ x.T, A),
    "constant of its own": (lambda x: x * np.linspace(0, 1, 3), A),
    "whole numbers of its own": (lambda x: tape.where(x > np.arange(3), x * np.arange(3), 0.5), A),
    "gradient of a slice": (tape.func.grad(lambda x: (x[1:] ** 2).sum()), A),
    "gradient of an index": (tape.func.grad(lambda x: (x[np.array([1, 1])] ** 2).sum()), A),
    "gradient of a product": (tape.func.grad(lambda x: ((x @ B) ** 2).sum()), A),
    "hessian": (tape.func.hessian(lambda x: (np.sin(x) * x[0]).sum()), A[1]),
    "jacobian": (tape.func.jacrev(lambda x: np.sin(x) * x[0]), A[1]),
}
B.flags.writeable = False


HALF = ["sum along an axis", "mean", "transposed", "gradient of an index", "stack of matrices"]
OF_A_ROW = ["hessian", "jacobian"]
OF_A = [name for name in MOVING if name not in OF_A_ROW]
TOGETHER = [(names, np.float64) for names in (OF_A_ROW, *[OF_A[k::4] for k in range(4)])] + [(HALF, np.float32)]
"""Programs of several results: Numba takes nearly as long for one of them as for all."""


@pytest.mark.parametrize(("names", "dtype"), TOGETHER, ids=lambda x: x[0] if type(x) is list else x.__name__)
def test_what_moves_numbers_and_matrix_products(names, dtype):
    (given, *_), functions = [MOVING[name][1].astype(dtype) for name in names], [MOVING[name][0] for name in names]
    program = record(lambda x: tuple([f(x) for f in functions]), given)
    made = program.njit()
    for x in (given, -given / 3):
        for name, found, expected in zip(names, made(x), program(x), strict=True):
            assert_allclose(found, expected, rtol=1e-5 if dtype == np.float32 else 1e-12, err_msg=name)
            assert np.shape(found) == np.shape(expected), name
            assert np.ndim(found) == 0 or found.dtype == expected.dtype, name


def test_signs_of_zeros_move_too():
    x = np.array([-0.0, 0.0])
    for f in (lambda x: x[::-1], lambda x: np.concatenate([x, x]), lambda x: x[None]):
        assert_array_equal(np.signbit(record(f, x).njit()(x)), np.signbit(f(x)))


def test_a_c_function_has_no_guards():
    with pytest.raises(NotNative, match=r"only while bool\(\) gives True(?s:.*)test_program_native(?s:.*)tape.where"):
        record(lambda x: x * x if x > 0 else -3 * x, 1.0).low_level_callable()
    chosen = record(lambda x: tape.where(x > 0, x * x, -3 * x), 1.0).low_level_callable()
    assert_allclose(scipy.integrate.quad(chosen, -1, 1, points=[0])[0], 1.5 + 1 / 3)


@pytest.mark.parametrize("f", [lambda x, a: x * a, lambda x: x.sum()])
def test_a_c_function_counts_its_numbers(f):
    two = record(f, *((1.0, 2.0) if f.__code__.co_argcount == 2 else (np.ones(2),))).low_level_callable()
    assert np.isfinite(scipy.integrate.quad(two, 0, 1, args=(2.0,))[0])
    assert np.isnan(scipy.integrate.quad(two, 0, 1, full_output=1)[0])
    assert np.isnan(scipy.integrate.quad(two, 0, 1, args=(2.0, 3.0), full_output=1)[0])


def test_low_level_callables():
    one = record(lambda t: np.sin(t) * np.exp(t), 1.0).low_level_callable()
    assert_allclose(scipy.integrate.quad(one, 0, 1)[0], 0.9093306736314786)
    two = record(lambda t, a: np.sin(t) * a, 1.0, 2.0).low_level_callable()
    assert_allclose(scipy.integrate.quad(two, 0, 1, args=(3.0,))[0], 3 * (1 - np.cos(1)))
    vector = record(lambda x: x[0] * x[1], np.ones(2)).low_level_callable()
    assert_allclose(scipy.integrate.quad(vector, 0, 1, args=(3.0,))[0], 1.5)
    with pytest.raises(NotNative, match="one float64 number"):
        record(lambda x: x * 2, np.ones(2)).low_level_callable()
    with pytest.raises(NotNative, match="one vector"):
        record(lambda x: (x * 2).sum(), np.ones((2, 2))).low_level_callable()
