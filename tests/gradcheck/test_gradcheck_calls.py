"""gradcheck and check as they are called: arguments, orders, and inputs that cannot be checked."""

import numpy as np
import pytest

import tape
from tape.autograd.gradcheck import (
    GradcheckError,
    get_analytical_jacobian,
    get_numerical_jacobian,
    gradcheck,
    gradgradcheck,
)
from tape.gradcheck import Unfit, check


def leaf(x, dtype=np.float64):
    return tape.tensor(np.asarray(x, dtype=dtype), requires_grad=True)


def test_a_second_derivative_that_is_lost_is_caught_at_second_order_alone():
    def func(x):
        y = x * x
        y.register_hook(lambda g: g.detach())
        return tape.sin(y).sum()

    x = leaf([0.3, 0.8])
    assert gradcheck(func, x)
    with pytest.raises(GradcheckError, match=r"d grad input 0\[\d\] / d input 0\[\d\]"):
        gradgradcheck(func, x)


def test_where_noise_is_told_from_an_error_no_number_is_tried_anew():
    tried = []

    def func(x):
        y = tape.mm(x, x)
        y.register_hook(lambda g: g * 1.5)
        tried.append(x.detach().numpy().tobytes())
        return y

    assert not check(func, leaf([[0.3, 0.4], [0.5, -0.2]]), causes=False).ok
    assert len(tried) - len(set(tried)) < 40  # 4 numbers, each at 30 steps in both directions


def test_gradgradcheck_takes_grad_outputs():
    x = leaf([0.3, 0.8])
    v = leaf([1.0, -2.0])
    assert gradgradcheck(lambda x: x**3, x, v)
    assert gradgradcheck(lambda x: (x**3, tape.exp(x)), x, gen_non_contig_grad_outputs=True)
    with pytest.raises(RuntimeError, match="got 1 for 2"):
        gradgradcheck(lambda x: (x**3, tape.exp(x)), x, (v,))


def test_pytorch_arguments_are_taken():
    x = leaf([0.3, 0.8])
    assert gradcheck(tape.exp, (x,), eps=1e-6, atol=1e-5, rtol=1e-3, raise_exception=True, nondet_tol=0.0)
    with pytest.warns(UserWarning, match="Input #0 .*double precision floating point"):
        assert gradcheck(tape.exp, (leaf([0.3, 1e6 * 1e-6], np.float32),), eps=1e-6, atol=1e-5, rtol=1e-3)
    assert gradcheck(lambda x, n: x * n, (x, 3), check_grad_dtypes=True)


def test_loose_tolerances_let_a_small_error_pass():
    def func(x):
        y = x * 1.0
        y.register_hook(lambda g: g * 1.0001)
        return y

    x = leaf([1.0, 2.0])
    assert not gradcheck(func, x, raise_exception=False)
    assert gradcheck(func, x, rtol=1e-3)
    assert gradcheck(func, x, atol=1e-3)


def test_structure_below_the_rounding_of_the_output_is_settled_by_a_complex_step():
    """At steps where x * y + y² can be told from rounding, the sine has gone round many times."""
    x, y = np.array([1e-8]), np.array([1e8])
    report = check(lambda x, y: np.sum(x * y + np.sin(x * 1e8) + y * y), (x, y))
    assert report.ok
    assert report.comparisons[0].method == "complex step"


def test_misuse():
    with pytest.raises(ValueError, match="at least one input tensor to require gradient"):
        gradcheck(tape.exp, (tape.tensor([1.0]),))
    with pytest.raises(AssertionError, match="Expected at least one of check_forward_ad or check_backward_ad"):
        gradcheck(tape.exp, leaf([1.0]), check_backward_ad=False)
    with pytest.raises(ValueError, match=r"Write 1\.0 instead of 1"):
        check(np.exp, (1,))
    with pytest.raises(Unfit, match="floating-point or complex"):
        check(lambda x: x > 0, (1.0,))
    with pytest.raises(Unfit, match="nan at these inputs"):
        check(tape.log, (-1.0,))
    rng = np.random.default_rng(0)
    with pytest.raises(Unfit, match="not deterministic"):
        check(lambda x: x * rng.random(), (1.0,))


def test_a_lost_history_is_explained():
    x = leaf([1.0, 2.0])
    with pytest.raises(GradcheckError, match="arrived without a history"):
        gradcheck(lambda x: tape.tensor(2 * x.detach().numpy()), x)


def test_an_output_that_does_not_depend_on_an_input_passes():
    assert check(lambda x, y: (x * 2, y * 3), (np.ones(2), np.ones(3))).ok
    assert check(lambda x: tape.ones(2), (np.ones(2),)).ok


def test_empty_and_zero_dimensional_inputs():
    assert check(lambda x: x * 2, (np.zeros((0, 3)),)).ok
    assert check(lambda x, y: x * y, (np.float64(2.0), np.array(3.0))).ok


def test_gradients_of_the_wrong_dtype_are_reported():
    x = np.float32(1.5)
    report = check(lambda x: np.float32(2) * x, (x,), gradient=lambda x: np.float64(2), dtypes=True)
    assert report.faults == [
        "Gradient has dtype mismatch: the gradient for input 0 has dtype float64; the input has float32"
    ]


def test_a_gradient_by_hand_must_fit():
    x = np.array([1.0, 2.0])
    with pytest.raises(GradcheckError, match=r"shape \(\) for input 0; it must be floating point of shape \(2,\)"):
        check(lambda x: np.sum(x), (x,), gradient=lambda x: 1.0)
    with pytest.raises(GradcheckError, match="gave 1 gradient"):
        check(lambda x, y: np.sum(x * y), (x, x), gradient=lambda x, y: y)
    assert check(lambda x, y: np.sum(x * y), (x, x), gradient=lambda x, y: {"input 1": x, "input 0": y}).ok


def test_a_gradient_by_hand_of_a_function_written_in_tape():
    x = np.array([1.0, 2.0])
    assert check(lambda x: x.pow(3).sum(dim=0), (x,), gradient=lambda x: 3 * x**2).ok
    assert check(lambda x: x.pow(3).sum(dim=0), (x,), gradient=lambda x: 3 * x.pow(2)).ok
    assert not check(lambda x: x.pow(3).sum(dim=0), (x,), gradient=lambda x: 2 * x.pow(2)).ok


def test_inputs_are_left_alone():
    x = np.array([1.0, 2.0, 3.0])
    before = x.copy()
    x.flags.writeable = False
    assert check(lambda x: (x * x).sum(), (x,)).ok
    assert np.array_equal(x, before)


def test_the_names_of_pytorch():
    assert tape.autograd.gradcheck is gradcheck
    assert tape.autograd.gradgradcheck is gradgradcheck
    assert tape.autograd.gradcheck.GradcheckError is GradcheckError
    assert issubclass(GradcheckError, RuntimeError)


# Jacobians under PyTorch's old names.


def outer(xs):
    return tape.outer(*xs), xs[0] * 2


def test_numerical_jacobians():
    x, y = leaf([1.0, 2.0]), leaf([3.0, 4.0, 5.0])
    with pytest.warns(FutureWarning, match="`get_numerical_jacobian` was part of PyTorch's private API"):
        by_x, by_y = get_numerical_jacobian(outer, (x, y), eps=1e-6)
    np.testing.assert_allclose(by_x, np.kron(np.eye(2), [3.0, 4.0, 5.0]), atol=1e-8)
    np.testing.assert_allclose(by_y, np.kron([1.0, 2.0], np.eye(3)), atol=1e-8)
    with pytest.warns(FutureWarning):
        (alone,) = get_numerical_jacobian(outer, (x, y), target=y, eps=1e-6)
    np.testing.assert_array_equal(alone, by_y)
    with pytest.warns(FutureWarning), pytest.raises(ValueError, match="Expected grad_out to be"):
        get_numerical_jacobian(outer, (x, y), grad_out=2.0)
    with pytest.warns(FutureWarning), pytest.raises(ValueError, match="real inputs"):
        get_numerical_jacobian(lambda xs: xs[0] * 1j, x)


def test_analytical_jacobians():
    x, y = leaf([1.0, 2.0]), leaf([3.0, 4.0, 5.0])
    with pytest.warns(FutureWarning, match="`get_analytical_jacobian` was part of PyTorch's private API"):
        (by_x, by_y), *facts = get_analytical_jacobian((x, y), outer((x, y))[0])
    np.testing.assert_array_equal(by_x, np.kron(np.eye(2), [3.0, 4.0, 5.0]))
    np.testing.assert_array_equal(by_y, np.kron([1.0, 2.0], np.eye(3)))
    assert facts == [True, True, True]
    rng = np.random.default_rng(0)
    z = x * 2
    z.register_hook(lambda g: g * rng.random())
    with pytest.warns(FutureWarning):
        assert get_analytical_jacobian((x, y), z)[1:] == (False, True, True)
    with pytest.warns(FutureWarning):
        assert get_analytical_jacobian((x, y), z, nondet_tol=3.0)[1]
    with pytest.warns(FutureWarning), pytest.raises(ValueError, match="Expected grad_out to be"):
        get_analytical_jacobian((x,), z, grad_out=2.0)
    with pytest.warns(FutureWarning), pytest.raises(ValueError, match="expects a real output"):
        get_analytical_jacobian((x,), z * 1j)
