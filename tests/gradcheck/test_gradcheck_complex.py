"""gradcheck with complex inputs and outputs: both parts of every element are moved, and both are compared."""

import numpy as np
import pytest

import tape
from tape.autograd import Function
from tape.autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck
from tape.gradcheck import check

MODES = pytest.mark.parametrize("fast", [True, False], ids=["fast", "slow"])


def numbers(*shape, dtype=np.complex128):
    rng = np.random.default_rng(5)
    drawn = rng.uniform(0.5, 1.5, shape)
    value = drawn + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else drawn
    return tape.tensor(np.asarray(value).astype(dtype), requires_grad=True)


FUNCTIONS = {
    "C to C": lambda z: tape.exp(z) * z,
    "C to C, not holomorphic": lambda z: z.conj() * tape.abs(z),
    "C to R": lambda z: tape.abs(z) + z.real,
    "R to C": lambda z: tape.complex(tape.abs(z), z.imag * z.real),
    "C to both": lambda z: (z * z, z.imag, tape.abs(z).sum()),
    "matrices": lambda z: z @ z.mT.conj(),
}


@MODES
@pytest.mark.parametrize("name", FUNCTIONS)
def test_right_gradients_pass(name, fast):
    func, z = FUNCTIONS[name], numbers(2, 2)
    assert gradcheck(
        func, z, check_forward_ad=True, check_batched_grad=True, check_batched_forward_grad=True, fast_mode=fast
    )
    assert gradgradcheck(func, z, check_fwd_over_rev=True, fast_mode=fast)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_right_gradients_pass_in_either_precision(dtype):
    z = numbers(3, dtype=dtype)
    assert gradcheck(lambda z: tape.sin(z) * z.conj(), z, check_forward_ad=True)
    assert gradcheck(lambda z: tape.sin(z) * z.conj(), z, check_forward_ad=True, fast_mode=True)


def test_real_and_complex_inputs_and_outputs_together():
    x, z = numbers(2, dtype=np.float64), numbers(2)
    report = check(lambda x, z: (x * z, x * tape.abs(z)), (x, z), forward=True)
    assert report.ok
    assert {(c.input, c.output): c.checked for c in report.comparisons} == {
        ("input 0", "output 0"): 8, ("input 1", "output 0"): 16, ("input 0", "output 1"): 4, ("input 1", "output 1"): 8,
    }  # fmt: skip


def hooked(func):
    def with_hook(*xs):
        y = func(*xs)
        y.register_hook(lambda g: g * 1.01)
        return y

    return with_hook


@pytest.mark.parametrize(
    ("func", "dtype", "prefix"),
    [
        (lambda z: z * z, np.complex128, "While considering the imaginary part of complex outputs only, "),
        (lambda x: tape.complex(x, x), np.float64, "While considering the imaginary part of complex outputs only, "),
        (lambda z: z.real * 2, np.complex128, "\n"),
    ],
    ids=["C to C", "R to C", "C to R"],
)
def test_which_part_is_wrong(func, dtype, prefix):
    with pytest.raises(GradcheckError) as caught:
        gradcheck(hooked(func), numbers(2, dtype=dtype))
    assert f"{prefix}Jacobian mismatch for output 0 with respect to input 0" in str(caught.value)
    assert not gradcheck(hooked(func), numbers(2, dtype=dtype), raise_exception=False, fast_mode=True)


class Plain(Function):
    """z², whose rules forget to conjugate."""

    @staticmethod
    def forward(ctx, z):
        ctx.save_for_backward(z)
        ctx.save_for_forward(z)
        return z * z

    @staticmethod
    def backward(ctx, g):
        return g * 2 * ctx.saved_tensors[0]

    @staticmethod
    def jvp(ctx, z_dot):
        return z_dot * 2 * ctx.saved_tensors[0].conj()


@MODES
@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_a_conjugate_that_was_forgotten_is_found_and_named(mode, fast):
    report = check(Plain.apply, (numbers(2),), fast=fast, reverse=mode == "reverse", forward=mode == "forward")
    assert not report.ok
    (suspect,) = report.suspects
    assert (suspect.op, suspect.mode) == ("Plain", mode)
    if mode == "forward" and not fast:
        assert "part of complex inputs only, Jacobian computed with forward mode mismatch" in str(report)


def test_the_elements_are_named_with_their_parts():
    def func(z):
        y = z * 1.0
        y.register_hook(lambda g: g.real * (1 + 0j) + 1j * g.imag * np.array([1.0, 1.01]))
        return y

    report = check(func, (numbers(2),))
    (comparison,) = report.comparisons
    assert comparison.pair == "d output[1].imag / d input 0[1].imag"
    assert (comparison.wrong, comparison.checked) == (1, 16)
    assert report.as_dict()["comparisons"][0]["output_part"] == "imag"
