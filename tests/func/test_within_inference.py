"""Derivatives that are taken within `inference_mode`, or `no_grad`, are what they are outside."""

import numpy as np
import pytest

import tape

TRANSFORMS = {
    "grad": lambda f, x: tape.func.grad(lambda z: f(z).sum())(x),
    "jacrev": lambda f, x: tape.func.jacrev(f)(x),
    "jacfwd": lambda f, x: tape.func.jacfwd(f)(x),
    "hessian": lambda f, x: tape.func.hessian(lambda z: f(z).sum())(x),
    "vjp": lambda f, x: tape.func.vjp(f, x)[1](x)[0],
    "jvp": lambda f, x: tape.func.jvp(f, (x,), (x,))[1],
    "linearize": lambda f, x: tape.func.linearize(f, x)[1](x),
    "vmap of grad": lambda f, x: tape.vmap(tape.func.grad(lambda z: f(z).sum()))(tape.stack([x, 2 * x])),
    "functional.jacobian": lambda f, x: tape.autograd.functional.jacobian(f, x),
    "functional.hessian": lambda f, x: tape.autograd.functional.hessian(lambda z: f(z).sum(), x),
}
FUNCTIONS = {
    "cubes": lambda z: z * z * z,
    "filled": lambda z: filled(z),
}


def filled(z):
    y = tape.zeros_like(z)
    y[0], y[1] = z[1] * z[1], z[0]
    y += z
    return y * y


@pytest.mark.parametrize("mode", [tape.inference_mode, tape.no_grad])
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_a_derivative_does_not_depend_on_where_it_is_taken(transform, name, mode):
    take, f = TRANSFORMS[transform], FUNCTIONS[name]
    wanted = take(f, tape.tensor([1.0, 2.0])).detach().numpy()
    assert np.any(wanted)
    with mode():
        for requires_grad in (False, True):
            found = take(f, tape.tensor([1.0, 2.0], requires_grad=requires_grad))
            assert not found.requires_grad
            np.testing.assert_array_equal(found.numpy(), wanted)


def test_a_function_may_save_what_was_made_in_inference_mode_around_it():
    with tape.inference_mode():
        w = tape.tensor([3.0, 4.0])
        gradient = tape.func.grad(lambda z: (w * z * z).sum())(tape.tensor([1.0, 2.0]))
        assert not tape.is_grad_enabled()
        assert tape.is_inference_mode_enabled()
    assert gradient.tolist() == [6.0, 16.0]
    x = tape.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved"):
        w * x


def test_an_error_within_a_derivative_leaves_the_mode_as_it_was():
    def fail(z):
        raise ZeroDivisionError

    with tape.inference_mode():
        with pytest.raises(ZeroDivisionError):
            tape.func.grad(fail)(tape.tensor(1.0))
        w = tape.tensor([3.0, 4.0])
        assert w.is_inference()
        assert tape.is_inference_mode_enabled()
    x = tape.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved"):
        w * x
