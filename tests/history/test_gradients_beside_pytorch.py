"""Gradients that hooks, custom functions and users hand over, where PyTorch takes them and where it refuses them."""

from __future__ import annotations

import pytest

import tape

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.usefixtures("either"),
    pytest.mark.filterwarnings("ignore:Using backward", "ignore:grad and param do not obey"),
]


def outcome(f, library):
    """What a function gives, or the kind of error."""
    try:
        return f(library)
    except (RuntimeError, TypeError, KeyError) as error:
        return type(error)


def leaf(library, *values, dtype="float64"):
    return library.tensor(list(values), dtype=getattr(library, dtype), requires_grad=True)


RETURNED = {
    "nothing": lambda m, t: None, "a gradient": lambda m, t: t.grad, "a number": lambda m, t: 3.0,
    "a tuple": lambda m, t: (t,),
    "false": lambda m, t: False, "a text": lambda m, t: "x",
}  # fmt: skip


@pytest.mark.parametrize("returned", RETURNED)
@pytest.mark.parametrize("create_graph", [False, True])
def test_what_a_hook_after_accumulation_returns(returned, create_graph):
    def f(library):
        x = leaf(library, 1.0, 2.0)
        x.register_post_accumulate_grad_hook(lambda t: RETURNED[returned](library, t))
        (x * x).sum().backward(create_graph=create_graph)
        return x.grad.tolist()

    assert outcome(f, tape) == outcome(f, torch)


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("where", ["hook of the tensor", "hook before the rule"])
def test_what_retain_grad_has_kept_is_not_what_hooks_change_later(where, create_graph):
    def f(library):
        x = leaf(library, 1.0, 2.0)
        y = x * 3
        y.retain_grad()
        if where == "hook of the tensor":
            y.register_hook(lambda g: g.mul_(2))
        else:
            y.grad_fn.register_prehook(lambda gs: (gs[0].mul_(2),))
        seen = []
        for _ in range(2):
            (y * y).sum().backward(retain_graph=True, create_graph=create_graph)
            seen += [y.grad.tolist(), y.grad.requires_grad, x.grad.tolist()]
        return seen

    assert outcome(f, tape) == outcome(f, torch)


SHAPES = [(3,), (1,), (2, 2), (), (0,)]


@pytest.mark.parametrize("before", SHAPES)
@pytest.mark.parametrize("after", SHAPES)
@pytest.mark.parametrize("create_graph", [False, True])
def test_a_gradient_of_another_shape_than_the_one_that_is_there(before, after, create_graph):
    """PyTorch adds it where one can be broadcast to the other; here that is an error, as for all others."""

    def f(library):
        x = library.ones(before, dtype=library.float64, requires_grad=True)
        (x * 2).sum().backward()
        x.data = library.ones(after, dtype=library.float64)
        (x * x).sum().backward(create_graph=create_graph)
        return x.grad.tolist()

    given, expected = outcome(f, tape), outcome(f, torch)
    assert given == (expected if before == after else RuntimeError)


RETURNS = {
    "complex": lambda m, g: g * 1j, "of another width": lambda m, g: g.to(m.complex64 if g.is_complex() else m.float32),
    "real": lambda m, g: g.real, "as it is": lambda m, g: g, "sums": lambda m, g: g.expand(3, 2),
    "too many": lambda m, g: (g, g), "none": lambda m, g: None, "another shape": lambda m, g: g[:1].repeat(3),
}  # fmt: skip


@pytest.mark.parametrize("returned", RETURNS)
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("create_graph", [False, True])
def test_what_a_custom_function_gives_for_a_gradient(returned, dtype, create_graph):
    def f(library):
        class Own(library.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, g):
                return RETURNS[returned](library, g)

        x = leaf(library, 1.0, 2.0, dtype=dtype)
        library.view_as_real(Own.apply(x) + 0j).sum().backward(create_graph=create_graph)
        return None if x.grad is None else (x.grad.tolist(), str(x.grad.dtype).split(".")[-1])

    assert outcome(f, tape) == outcome(f, torch)


FLAGS = [True, False, 1, 0, "a", "", None, 1.0, [], ()]


@pytest.mark.parametrize("flag", FLAGS, ids=repr)
@pytest.mark.parametrize("required", [False, True])
@pytest.mark.parametrize("how", ["method", "attribute"])
def test_whether_gradients_are_required_is_said_by_true_or_false(flag, required, how):
    def f(library):
        x = library.ones(2, requires_grad=required)
        if how == "method":
            x.requires_grad_(flag)
        else:
            x.requires_grad = flag
        return x.requires_grad

    assert outcome(f, tape) == outcome(f, torch)
