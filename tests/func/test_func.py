"""``tape.func``: derivatives as functions of functions, the same in both modes and in every nesting."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from derivatives import V, X, bumpy, close, value
from hypothesis import given, settings, strategies as st

import tape
from tape.func import grad, hessian, jacfwd, jacrev, jvp, linearize


def vector(x):
    return tape.stack([x.sin() * x[0], x.flip(0) ** 2, x.cumsum(0).exp()])


@pytest.mark.parametrize("first", [jacrev, jacfwd])
@pytest.mark.parametrize("second", [jacrev, jacfwd])
@pytest.mark.parametrize("third", [jacrev, jacfwd])
def test_three_derivatives_in_every_nesting(first, second, third):
    found = first(second(third(bumpy)))(X)
    assert found.shape == (3, 3, 3)
    assert not found.requires_grad
    close(found, grad_of_hessian(), rtol=1e-7, atol=1e-8)
    for axes in itertools.permutations(range(3)):
        close(found, np.transpose(value(found), axes), rtol=1e-8)


def grad_of_hessian():
    """By differences of the second derivative."""
    h = 1e-3
    columns = [(hessian(bumpy)(X + h * e) - hessian(bumpy)(X - h * e)) / (2 * h) for e in tape.eye(3)]
    finer = [(hessian(bumpy)(X + h / 2 * e) - hessian(bumpy)(X - h / 2 * e)) / h for e in tape.eye(3)]
    return np.stack([(4 * value(f) - value(c)) / 3 for c, f in zip(columns, finer)], axis=-1)


def test_jacobians_agree_in_both_modes():
    close(jacrev(vector)(X), jacfwd(vector)(X))
    assert jacrev(vector)(X).shape == (3, 3, 3)


def test_hessian_of_a_known_function():
    a = tape.tensor([[2.0, 1.0], [0.0, 3.0]])
    close(hessian(lambda x: x @ a @ x)(tape.tensor([1.0, 2.0])), [[4.0, 1.0], [1.0, 6.0]])


def test_a_chain_of_four_grads():
    f = lambda x: x**6  # noqa: E731
    for n in range(1, 5):
        f = grad(f)
        close(f(tape.tensor(2.0)), np.prod(np.arange(6, 6 - n, -1)) * 2.0 ** (6 - n))


def test_linearize_calls_once_and_agrees_with_jvp():
    calls = []

    def f(x, y):
        calls.append(1)
        return {"a": vector(x) * y, "b": x.sum()}

    y = tape.tensor(2.0)
    z, push = linearize(f, X, y)
    for e in tape.eye(3):
        expected = jvp(f, (X, y), (e, tape.tensor(0.5)))
        assert list(push(e, tape.tensor(0.5))) == ["a", "b"]
        for name in ("a", "b"):
            close(z[name], expected[0][name])
            close(push(e, tape.tensor(0.5))[name], expected[1][name])
    assert len(calls) == 1 + 3


STOPPED = {
    "no_grad": lambda m: m.no_grad(), "switched": lambda m: m.set_grad_enabled(False),
    "inference": lambda m: m.inference_mode(),
}  # fmt: skip


@pytest.mark.parametrize("off", STOPPED)
def test_linearize_goes_on_where_its_function_does_not_record(off):
    """As `jvp`, and PyTorch's, do; its value has the history that it has elsewhere."""

    def f(x):
        with STOPPED[off](tape):
            y = x**2
        return x * (y + 0 if off == "inference" else y)

    x, v = tape.tensor([1.0, 2.0]), tape.tensor([1.0, 0.5])
    expected = [3.0, 6.0]
    for g in (lambda x, v: linearize(f, x)[1](v), lambda x, v: tape.vmap(linearize(f, x)[1])(v[None])[0]):
        for h in (g, tape.compile(g)) if off != "inference" else (g,):
            close(h(x, v), expected)
            close(tape.tensor(h(x.numpy(), v.numpy())), expected)
            with tape.no_grad():
                close(h(x, v), expected)
    if off != "inference":
        leaf = tape.tensor([1.0, 2.0], requires_grad=True)
        linearize(f, leaf)[0].sum().backward()
        close(leaf.grad, [1.0, 4.0])
        close(grad(lambda x: linearize(f, x)[1](v).sum())(x), grad(lambda x: jvp(f, (x,), (v,))[1].sum())(x))
    with pytest.raises(RuntimeError, match="structure of the primals"):
        linearize(f, x)[1](v, v)
    with pytest.raises(RuntimeError, match="floating point or complex"):
        linearize(lambda x: f(x) > 0, x)


def test_linearize_within_other_derivatives():
    def slope(x):
        return linearize(bumpy, x)[1](V)

    expected = value(hessian(bumpy)(X)) @ value(V)
    close(grad(slope)(X), expected)
    close(jacfwd(slope)(X), expected)


def test_what_is_constant_has_zeros():
    z, push = linearize(lambda x: tape.ones(2), X)
    close(push(V), [0.0, 0.0])
    close(jvp(lambda x: tape.ones(2), (X,), (V,))[1], [0.0, 0.0])
    close(grad(lambda x: tape.tensor(1.0))(X), np.zeros(3))
    close(jacrev(lambda x: tape.ones(2))(X), np.zeros((2, 3)))
    close(jacfwd(lambda x: tape.ones(2))(X), np.zeros((2, 3)))
    assert z.shape == (2,)


def test_empty_tensors():
    empty = tape.zeros(0)
    for jac in (jacrev, jacfwd):
        assert jac(lambda x: tape.stack([x.sum(), x.sum()]))(empty).shape == (2, 0)
        assert jac(lambda x: x[:0])(X).shape == (0, 3)


class Cube(tape.autograd.Function):
    """k x³."""

    @staticmethod
    def forward(ctx, x, k):
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)
        ctx.k = k
        return k * x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * ctx.k * x**2 * g, None

    @staticmethod
    def jvp(ctx, x_dot, _):
        (x,) = ctx.saved_tensors
        return 3 * ctx.k * x**2 * x_dot


def test_custom_functions_in_both_modes():
    f = lambda x: Cube.apply(x, 2.0).sum()  # noqa: E731
    for outer, within in itertools.product([jacrev, jacfwd], repeat=2):
        close(outer(within(f))(X), np.diag(12 * value(X)))
    close(linearize(f, X)[1](V), np.sum(6 * value(X) ** 2 * value(V)))


# Random programs.

UNARY = ["sin", "cos", "tanh", "square", "neg", "sigmoid", "cumsum", "flip", "softmax"]


@given(st.lists(st.sampled_from([*UNARY, "add", "mul", "matmul", "index", "max"]), max_size=6), st.integers(0, 2**31))
@settings(max_examples=40)
def test_random_programs_have_one_hessian(steps, seed):
    x = tape.tensor(np.random.default_rng(seed).uniform(-1, 1, 3))

    def program(x):
        y = x
        for step in steps:
            if step in ("cumsum", "softmax"):
                y = getattr(y, step)(dim=0)
            elif step == "flip":
                y = y.flip(0)
            elif step == "matmul":
                y = (y.reshape(3, 1) * x) @ y
            elif step == "index":
                y = y[[2, 0, 0]]
            elif step == "max":
                y = y * y.max()
            else:
                y = getattr(y, step)(x) if step in ("add", "mul") else getattr(y, step)()
        return (y * x).sum()

    expected = hessian(program)(x)
    for outer, within in ((jacrev, jacrev), (jacfwd, jacfwd), (jacrev, jacfwd)):
        close(outer(within(program))(x), expected, rtol=1e-7, atol=1e-8)
    close(expected, value(expected).T, rtol=1e-7, atol=1e-8)


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:`torch.jit:FutureWarning")  # torch's own, of its own code
def test_against_torch():
    torch = pytest.importorskip("torch")
    x = torch.tensor(X.tolist(), dtype=torch.float64)

    def theirs(x):
        m = x.reshape(-1, 1) * torch.arange(1.0, 4.0, dtype=torch.float64)
        positive = torch.where(x > 0, x, 1.0)
        return (
            (torch.sin(x) * x**3).sum(dim=0) + torch.exp(x[0] * x[-1]) + (m @ m.T).tanh().mean() + positive.prod()
        )  # fmt: skip

    for name in ("grad", "hessian", "jacrev", "jacfwd"):
        close(getattr(tape.func, name)(bumpy)(X), getattr(torch.func, name)(theirs)(x).numpy())
