"""Programs in plain NumPy under each transform, arrays in and arrays out, beside differences of what NumPy computes."""

from __future__ import annotations

from functools import cache

import differences
import numpy as np
import pytest
from kernels import INTEGER_KERNELS, KERNELS, Kernel
from numpy.testing import assert_allclose

import tape

CLOSE = {"rtol": 2e-6, "atol": 2e-7}

every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)


def argnums(kernel: Kernel) -> tuple[int, ...]:
    return tuple(range(len(kernel.inputs())))


@cache
def gradients(kernel: Kernel, number: int = 0) -> tuple[np.ndarray, ...]:
    return tuple(differences.gradients(kernel.scalar, kernel.inputs(number)))


def directions(kernel: Kernel, number: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng((11, number))
    return tuple(rng.uniform(-1, 1, x.shape) for x in kernel.inputs())


def agree(found, wanted, **how):
    """Arrays came out, of the right shapes, with the right numbers."""
    assert len(found) == len(wanted)
    for g, d in zip(found, wanted):
        assert type(g) is np.ndarray
        assert g.shape == d.shape
        assert_allclose(g, d, **{**CLOSE, **how})


def called(function, inputs):
    """Call it; its arguments must stay as they are."""
    before = [x.copy() for x in inputs]
    result = function(*inputs)
    for x, y in zip(inputs, before):
        assert_allclose(x, y, rtol=0, atol=0)
    return result


@every_kernel
def test_grad(kernel):
    agree(called(tape.func.grad(kernel.scalar, argnums(kernel)), kernel.inputs()), gradients(kernel))


@pytest.mark.parametrize("kernel", KERNELS[::2], ids=lambda kernel: kernel.name)
def test_compiled_grad(kernel):
    """Recorded, replayed, and called where it may take another path."""
    function = tape.compile(tape.func.grad(kernel.scalar, argnums(kernel)))
    for number in (0, 0, 1, 0):
        agree(called(function, kernel.inputs(number)), gradients(kernel, number))


@pytest.mark.parametrize("kernel", KERNELS[1::2], ids=lambda kernel: kernel.name)
def test_compiled_grad_and_value(kernel):
    """So is the gradient of every second one; the value comes along with that of the others."""
    function = tape.compile(tape.func.grad_and_value(kernel.scalar, argnums(kernel)))
    for number in (0, 0, 1, 0):
        found, value = called(function, kernel.inputs(number))
        agree(found, gradients(kernel, number))
        assert_allclose(value, kernel.scalar(*kernel.inputs(number)), rtol=1e-9, atol=1e-12)


@every_kernel
def test_compiled(kernel):
    """Without a derivative: the numbers are NumPy's."""
    function = tape.compile(kernel.vector)
    for number in (0, 0, 1):
        inputs = kernel.inputs(number)
        agree([called(function, inputs)], [kernel.vector(*inputs)], rtol=1e-9, atol=1e-12)


@every_kernel
def test_recorded_grad(kernel):
    program = tape.record(tape.func.grad(kernel.scalar, argnums(kernel)), *kernel.inputs())
    agree(called(program, kernel.inputs()), gradients(kernel))


@every_kernel
def test_jacrev(kernel):
    wanted = differences.jacobians(kernel.vector, kernel.inputs())
    agree(called(tape.func.jacrev(kernel.vector, argnums(kernel)), kernel.inputs()), wanted)


@every_kernel
def test_jvp(kernel):
    inputs, v = kernel.inputs(), directions(kernel, 0)
    value, slope = called(lambda *xs: tape.func.jvp(kernel.vector, xs, v), inputs)
    agree([value], [kernel.vector(*inputs)], rtol=1e-9, atol=1e-12)
    agree([slope], [differences.along(kernel.vector, inputs, v)])


CURVED = [kernel for kernel in KERNELS if kernel.curved]


@pytest.mark.parametrize("kernel", CURVED, ids=lambda kernel: kernel.name)
def test_product_of_hessian_and_vector(kernel):
    inputs, v, w = kernel.inputs(), directions(kernel, 0), directions(kernel, 1)
    gradient = tape.func.grad(kernel.scalar, argnums(kernel))
    _, products = called(lambda *xs: tape.func.jvp(gradient, xs, v), inputs)
    assert [type(p) for p in products] == [np.ndarray] * len(inputs)
    found = sum(np.vdot(p, d) for p, d in zip(products, w))
    assert_allclose(found, differences.second(kernel.scalar, inputs, v, w), rtol=1e-4, atol=1e-5)


def drawn_integers() -> np.ndarray:
    return np.random.default_rng(5).integers(0, 4, 8)


@pytest.mark.parametrize("program", INTEGER_KERNELS, ids=lambda program: program.__name__)
def test_integers_have_no_gradient(program):
    with pytest.raises((TypeError, RuntimeError, ValueError), match=r"float|integer|int64|dtype"):
        tape.func.grad(lambda x: np.sum(program(x)))(drawn_integers())


@pytest.mark.parametrize("program", INTEGER_KERNELS, ids=lambda program: program.__name__)
@pytest.mark.filterwarnings("ignore:tape.compile")
def test_integers_compile_to_what_they_are(program):
    function = tape.compile(program)
    for _ in range(3):
        assert_allclose(np.asarray(function(drawn_integers())), program(drawn_integers()), rtol=0, atol=0)


@every_kernel
def test_differences_of_two_steps_agree(kernel):
    """What all of this is compared with is itself no accident of a step, and does not lie on a kink.

    Along a direction that changes everything: what is wrong of any element is wrong there.
    """
    for number in (0, 1):
        inputs, v = kernel.inputs(number), directions(kernel, number)
        found = differences.along(kernel.scalar, inputs, v, 3e-5)
        wanted = sum(np.vdot(g, d) for g, d in zip(gradients(kernel, number), v))
        assert_allclose(found, wanted, rtol=5e-7, atol=CLOSE["atol"])


def test_a_wrong_gradient_would_be_seen():
    wrong = [g * (1 + 1e-5) for g in gradients(KERNELS[0])]
    with pytest.raises(AssertionError):
        agree(wrong, gradients(KERNELS[0]))


SUMS = {
    "all": lambda x: np.sum(x), "rows": lambda x: x.sum(0), "columns": lambda x: x.sum(axis=1, keepdims=True),
    "mean": lambda x: x.mean(1), "product": lambda x: x @ np.ones(2), "computed": lambda x: np.sum(np.sin(x)),
    "reduce": lambda x: np.add.reduce(x), "running": lambda x: np.cumsum(x, 0),
}  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", SUMS)
def test_a_sum_of_negative_zeros_has_numpys_sign(name, dtype):
    zeros = np.full((3, 2), -0.0, dtype)
    compiled, expected = tape.compile(SUMS[name]), np.signbit(SUMS[name](zeros))
    for _ in range(2):
        np.testing.assert_array_equal(np.signbit(compiled(zeros)), expected)
    np.testing.assert_array_equal(np.signbit(tape.func.vjp(SUMS[name], zeros)[0]), expected)
