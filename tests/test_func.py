"""``tape.func``: derivatives as functions of functions, in both modes and nested in each other."""

from __future__ import annotations

import itertools
from collections import namedtuple
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose
from samples import DIFFERENTIABLE, directions, inner, noise, samples, single

import tape
from tape.func import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, value_and_grad, vjp

X = tape.tensor([0.3, -0.7, 1.2])
V = tape.tensor([1.0, 0.5, -2.0])
EVERY_OP = pytest.mark.parametrize("op", DIFFERENTIABLE, ids=lambda op: op.name)


def value(x):
    return x.detach().numpy()


def close(x, y, **how):
    assert_allclose(value(x), value(y) if isinstance(y, tape.Tensor) else y, **{"rtol": 1e-9, "atol": 1e-10, **how})


def bumpy(x):
    """A scalar of a vector, made of operators, methods, functions, NumPy's functions, indices and a matrix."""
    m = x.reshape(-1, 1) * tape.arange(1.0, 4.0)
    return (np.sin(x) * x**3).sum(dim=0) + tape.exp(x[0] * x[-1]) + (m @ m.T).tanh().mean() + x[x > 0].prod()


def vector(x):
    return tape.stack([x.sin() * x[0], x.flip(0) ** 2, x.cumsum(0).exp()])


# Every op.


def moving_part(op, operands, params):
    """An op as a function of its active operands, and what it is called on."""
    ts = directions(op, operands, np.random.default_rng(11))

    def function(*moving):
        whole = list(operands)
        for i, x in zip(ts, moving):
            whole[i] = x
        z = op(*whole, **params)
        return tuple(p for p in (z if isinstance(z, tuple) else (z,)) if p.dtype.kind in "fc")

    return function, tuple(tape.tensor(operands[i]) for i in ts), tuple(map(tape.tensor, ts.values()))


@EVERY_OP
def test_forward_mode_is_the_transpose_of_reverse(op):
    rng = np.random.default_rng(12)
    for operands, params in samples(op):
        function, xs, x_dots = moving_part(op, operands, params)
        zs, z_dots = jvp(function, xs, x_dots)
        outputs, pull = vjp(function, *xs)
        gs = tuple(tape.tensor(noise(value(z), rng)) for z in outputs)
        for z, again, z_dot in zip(zs, outputs, z_dots):
            close(z, again)
            assert z_dot.shape == z.shape
            assert z_dot.dtype == z.dtype
        forward = inner(map(value, gs), map(value, z_dots))
        backward = inner(map(value, pull(gs)), map(value, x_dots))
        assert_allclose(forward, backward, rtol=1e-9, atol=1e-10, err_msg=f"{params}")


@EVERY_OP
def test_forward_over_reverse_agrees_with_reverse_over_forward(op):
    """d/dx of ⟨g, J(x) ẋ⟩, by pushing ẋ through the pullback and by pulling g through the pushforward."""
    rng = np.random.default_rng(13)
    for operands, params in samples(op):
        function, xs, x_dots = moving_part(op, operands, params)
        gs = tuple(tape.tensor(noise(value(z), rng)) for z in function(*xs))

        def pulled(*xs, function=function, gs=gs):
            return vjp(function, *xs)[1](gs)

        def pushed(*xs, function=function, gs=gs, x_dots=x_dots):
            return sum(((g.conj() * d).real.sum() for g, d in zip(gs, jvp(function, xs, x_dots)[1])), tape.tensor(0.0))

        over_reverse = jvp(pulled, xs, x_dots)[1]
        over_forward = grad(pushed, argnums=tuple(range(len(xs))))(*xs)
        for a, b in zip(over_reverse, over_forward):
            close(a, b, rtol=1e-7, atol=1e-8)


@EVERY_OP
def test_forward_mode_in_single_precision(op):
    for operands, params in samples(op)[:1]:
        singles = tuple(map(single, operands))
        given = params if op.name != "cast" else {"dtype": np.dtype(np.float32)}
        function, xs, x_dots = moving_part(op, singles, given)
        zs, z_dots = jvp(function, xs, tuple(t.to(x.dtype) for t, x in zip(x_dots, xs)))
        assert {z.dtype for z in (*zs, *z_dots)} <= {np.dtype(np.float32), np.dtype(np.complex64)}


# The same derivative in every way.


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


# Nested derivatives do not see each other's tensors.


def test_perturbations_are_not_confused():
    one = tape.tensor(1.0)
    for outer, within in itertools.product([grad, jacfwd, jacrev], repeat=2):
        close(outer(lambda x, d=within: x * d(lambda y: x + y)(one))(tape.tensor(3.0)), 1.0)
        close(outer(lambda x, d=within: x * d(lambda y: x * y)(one))(tape.tensor(3.0)), 6.0)


def test_the_same_tensor_in_and_around():
    x = tape.tensor(3.0)
    close(grad(lambda y: x * y)(x), 3.0)
    close(jacfwd(lambda y: x * y)(x), 3.0)


def test_a_captured_leaf_gets_its_gradient():
    for derivative in (grad, jacrev, jacfwd, lambda f: lambda x: linearize(f, x)[1](tape.tensor(1.0))):
        w = tape.tensor(2.0, requires_grad=True)
        found = derivative(lambda x, w=w: w * x**2)(tape.tensor(3.0))
        assert found.requires_grad
        found.backward()
        close(w.grad, 6.0)


def test_results_have_no_history_but_the_callers():
    w = tape.tensor(2.0, requires_grad=True)
    found, z = grad_and_value(lambda x: x**2 + w)(tape.tensor(3.0))
    assert not found.requires_grad
    assert z.requires_grad
    with tape.no_grad():
        assert not grad(lambda x: w * x**2)(tape.tensor(3.0)).requires_grad
    x = tape.tensor(3.0, requires_grad=True)
    found = grad(lambda x: x**3)(x)
    found.backward()
    close(x.grad, 18.0)


def test_no_grad_outside_is_not_obeyed_and_inside_is():
    with tape.no_grad():
        close(grad(grad(lambda x: x**3))(tape.tensor(2.0)), 12.0)
        close(jvp(lambda x: x**3, (tape.tensor(2.0),), (tape.tensor(1.0),))[1], 12.0)
        assert not tape.is_grad_enabled()

    def held(x):
        with tape.no_grad():
            c = x**2
        return x - c

    close(grad(held)(tape.tensor(3.0)), 1.0)
    close(jvp(held, (tape.tensor(3.0),), (tape.tensor(1.0),))[1], -5.0)
    assert tape.is_grad_enabled()


def test_modes_come_back_after_exceptions():
    def fails(x):
        raise KeyError("here")

    for derivative in (grad, jacrev, jacfwd, hessian):
        with tape.no_grad():
            with pytest.raises(KeyError):
                derivative(fails)(X)
            assert not tape.is_grad_enabled()
    assert tape.is_grad_enabled()


def test_detach_stops_both_modes():
    close(grad(lambda x: x * x.detach())(tape.tensor(3.0)), 3.0)
    close(jacfwd(lambda x: x * x.detach())(tape.tensor(3.0)), 3.0)


def test_a_value_that_escapes_is_an_ordinary_tensor():
    kept = []
    jvp(lambda x: kept.append(x * 2) or x, (X,), (V,))
    assert (kept[0] + 1).tolist() == pytest.approx((X * 2 + 1).tolist())
    assert "tangent" not in repr(kept[0])


# Arguments and results.


def test_argnums():
    def f(x, y, z):
        return (x * y**2 * z**3).sum()

    args = tape.tensor(2.0), tape.tensor(3.0), tape.tensor(0.5)
    close(grad(f)(*args), 9 / 8)
    close(grad(f, -1)(*args), 2 * 9 * 3 / 4)
    found = grad(f, argnums=(2, 0))(*args)
    assert isinstance(found, tuple)
    close(found[0], 2 * 9 * 3 / 4)
    close(found[1], 9 / 8)
    blocks = hessian(f, argnums=(0, 1))(*args)
    close(blocks[0][1], 2 * 3 / 8)
    close(blocks[1][1], 2 * 2 / 8)
    close(jacfwd(f, (1,))(*args)[0], jacrev(f, 1)(*args))


def test_keyword_arguments_are_passed_on():
    close(grad(lambda x, *, power: x**power)(tape.tensor(2.0), power=3), 12.0)


def test_nested_structures():
    pair = namedtuple("pair", ("left", "right"))
    tree = {"w": [X, pair(V, tape.tensor(2.0))], "b": (tape.tensor(1.0),)}

    def f(t):
        return (t["w"][0] * t["w"][1].left * t["w"][1].right).sum() * t["b"][0]

    found = grad(f)(tree)
    assert list(found) == ["w", "b"]
    assert isinstance(found["w"][1], pair)
    close(found["w"][0], 2 * value(V))
    close(found["w"][1].right, np.sum(value(X) * value(V)))
    close(found["b"][0], value(f(tree)))
    z, z_dot = jvp(f, (tree,), (tree,))
    close(z_dot, 4 * value(z))
    jac = jacrev(lambda t: {"out": t["w"][0] * t["b"][0]})(tree)
    close(jac["out"]["w"][0], np.eye(3))
    close(jac["out"]["b"][0], X)
    forward = jacfwd(lambda t: {"out": t["w"][0] * t["b"][0]})(tree)
    close(forward["out"]["b"][0], X)
    assert forward["out"]["w"][1].left.shape == (3, 3)


def test_a_dict_in_another_order_fits():
    z, pull = vjp(lambda x: {"a": x, "b": 2 * x}, X)
    close(pull({"b": V, "a": X})[0], 2 * value(V) + value(X))
    assert list(z) == ["a", "b"]


def test_has_aux():
    def f(x):
        return (x**2).sum(), {"twice": x * 2, "note": "text"}

    found, aux = grad(f, has_aux=True)(X)
    close(found, 2 * value(X))
    close(aux["twice"], 2 * value(X))
    assert not aux["twice"].requires_grad
    assert aux["note"] == "text"
    found, (z, aux) = grad_and_value(f, has_aux=True)(X)
    close(z, np.sum(value(X) ** 2))
    (z, aux), found = value_and_grad(f, has_aux=True)(X)
    close(found, 2 * value(X))
    for jac in (jacrev, jacfwd):
        found, aux = jac(f, has_aux=True)(X)
        close(found, 2 * value(X))
        assert "tangent" not in repr(aux["twice"])
    assert jvp(f, (X,), (V,), has_aux=True)[2]["note"] == "text"
    _, pull, aux = vjp(f, X, has_aux=True)
    close(pull(tape.tensor(1.0))[0], 2 * value(X))


def test_vjp_can_be_called_again_and_recorded():
    x = tape.tensor([1.0, 2.0], requires_grad=True)
    _, pull = vjp(lambda x: x**3, x)
    (first,), (again,) = pull(tape.ones(2)), pull(tape.ones(2))
    close(first, again)
    first.sum().backward()
    close(x.grad, [6.0, 12.0])
    assert not pull(tape.ones(2), create_graph=False)[0].requires_grad


def test_values_agree_with_what_is_called():
    close(value_and_grad(bumpy)(X)[0], bumpy(X))
    assert grad(bumpy).__name__ == "grad(bumpy)"
    assert grad(bumpy).__doc__ == bumpy.__doc__


# Custom functions, threads.


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


def test_threads_differentiate_at_the_same_time():
    expected = value(hessian(bumpy)(X))
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: hessian(bumpy)(X), range(12)):
            close(found, expected)


# In place on tensors that move.


def test_in_place_changes_are_followed():
    def f(x):
        y = x.clone()
        y += x
        y *= x
        y[0] = y[1] * x[2]
        y[1:].mul_(x[0])
        view = y.reshape(3, 1)
        view.exp_()
        y.sub_(1.0)
        return y

    def plain(x):
        y = (x + x) * x
        rest = y[1:] * x[0]
        return tape.cat([(y[1] * x[2]).reshape(1), rest]).exp() - 1.0

    for derive in (jacfwd, lambda g: lambda x: jacfwd(jacfwd(g))(x)):
        close(derive(f)(X), derive(plain)(X))


def test_a_buffer_is_filled():
    def f(x):
        y = tape.zeros(3)
        y[0] = x[1] ** 2
        y[1:] = x[:2]
        z = tape.ones(3)
        z *= y
        z.add_(1.0)
        return z

    def plain(x):
        return tape.stack([x[1] ** 2, x[0], x[1]]) + 1.0

    close(jacfwd(f)(X), jacfwd(plain)(X))
    close(jacfwd(jacfwd(f))(X), jacfwd(jacfwd(plain))(X))


def test_a_buffer_is_filled_through_a_view():
    def f(x):
        y = tape.zeros(3)
        view, last = y[1:], y[2]
        view[0] = x[0] ** 2
        last += x[2]
        return y

    def plain(x):
        return tape.stack([x[1] * 0.0, x[0] ** 2, x[2]])

    close(jacfwd(f)(X), jacfwd(plain)(X))
    close(jacfwd(jacfwd(f))(X), jacfwd(jacfwd(plain))(X))
    close(jacfwd(jacrev(f))(X), jacfwd(jacrev(plain))(X))
    close(jacrev(jacfwd(f))(X), jacrev(jacfwd(plain))(X))


def test_filling_forgets_the_tangent():
    def f(x):
        y = x * 2
        y[0] = 5.0
        y[1:2].fill_(1.0)
        z = x * 3
        z.zero_()
        w = x * 1
        w.copy_(y)
        return w + z

    close(jacfwd(f)(X), np.diag([0.0, 0.0, 2.0]))


def test_an_inner_tangent_arrives_in_an_outer_tensor():
    def outer(x):
        def inner(y):
            z = x * 2
            z[0] = y[0] * x[0]
            return z

        return jvp(inner, (x,), (x,))[1]

    close(jacfwd(outer)(X), np.diag([2 * value(X)[0], 0.0, 0.0]))


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


# Mistakes.


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: grad(lambda x: x)(X), RuntimeError, "without axes; this one returned a tensor of shape \\(3,\\)"),
        (lambda: grad(lambda x: 1.0)(X), RuntimeError, "returned float"),
        (lambda: grad(lambda x: (x > 0).sum())(X), RuntimeError, "floating point or complex; got int64"),
        (lambda: grad(bumpy)(1.0), ValueError, "must be tensors.*got float"),
        (lambda: grad(bumpy)([]), ValueError, "at least one tensor"),
        (lambda: grad(lambda x: x.sum())(tape.arange(3)), RuntimeError, "floating point and complex dtype"),
        (lambda: grad(bumpy, 1)(X), RuntimeError, "argnums 1 does not exist.*1 positional"),
        (lambda: grad(bumpy, ())(X), RuntimeError, "at least one argument"),
        (lambda: grad(bumpy, (0, -1))(X), RuntimeError, "each argument once"),
        (lambda: grad(bumpy, 0.5)(X), RuntimeError, "int or Tuple"),
        (lambda: grad(bumpy, has_aux=True)(X), RuntimeError, r"should be a tuple \(output, aux\)"),
        (lambda: jvp(bumpy, X, (V,)), RuntimeError, "primals as a tuple"),
        (lambda: jvp(bumpy, (X,), (V, V)), RuntimeError, r"structure of the primals, \(\*,\)"),
        (lambda: jvp(bumpy, (X,), (V[:2],)), RuntimeError, r"number 0 must have \(3,\), has \(2,\)"),
        (lambda: jvp(bumpy, (X,), (V.float(),)), RuntimeError, "must be float64, is float32"),
        (lambda: jvp(bumpy, (X,), (1.0,)), RuntimeError, "number 0 is float"),
        (lambda: jvp(lambda x: tape.ones(2), (X,), (V,), strict=True), RuntimeError, "does not depend"),
        (lambda: jvp(lambda x: "text", (X,), (V,)), RuntimeError, "got str"),
        (lambda: vjp(lambda x: x, X)[1]((V,)), RuntimeError, "structure of the output"),
        (lambda: vjp(lambda x: x, X)[1](V[:1]), RuntimeError, "shapes of the outputs"),
        (lambda: vjp(lambda x: (), X), RuntimeError, "at least one tensor"),
        (lambda: jacrev(bumpy, chunk_size=0), ValueError, "greater than 0"),
        (lambda: jacrev(lambda x: x > 0)(X), RuntimeError, "has_aux"),
        (lambda: linearize(bumpy, X)[1](V, V), RuntimeError, "structure of the primals"),
        (lambda: jvp(lambda x: x.numpy(), (X,), (V,)), RuntimeError, "carries a tangent"),
        (lambda: jvp(lambda x: np.asarray(x), (X,), (V,)), RuntimeError, "carries a tangent"),
    ],
)  # fmt: skip
def test_mistakes(call, error, text):
    with pytest.raises(error, match=f"(?s){text}"):
        call()
