"""Names of nodes depend on the form of an operation as PyTorch's do: which operand is a plain number, and axes."""

from __future__ import annotations

import pytest

import tape

torch = pytest.importorskip("torch")

FORMS = (
    "x**2", "x**3", "x**0.5", "x**s", "x**x", "2**x", "0.5**x", "s**x", "x.pow(x)", "lib.pow(2, x)", "x.square()",
    "x - 1", "1 - x", "x - s", "s - x", "x % 2", "x % s", "lib.fmod(x, 2)", "lib.fmod(x, x)", "lib.copysign(x, 1.0)",
    "lib.copysign(x, x)", "lib.xlogy(x, x)", "lib.xlogy(2.0, x)", "lib.xlogy(x, 2.0)", "lib.xlogy(s, x)",
    "lib.special.xlog1py(x, x)", "lib.special.xlog1py(2.0, x)", "lib.special.xlog1py(x, 2.0)", "x.clamp(0, 1)",
    "x.clamp(min=0)", "x.clamp(max=1)", "x.clamp(min=s)", "x.clamp(max=x)", "x * 2", "x + 1",
    "m.squeeze()", "m.squeeze(0)", "m.squeeze((0, 1))", "m[...]", "m[0]", "m[0:1]", "m[None]", "m @ m", "m @ x[:1]",
    "x @ x", "m[None] * 1 @ m if 0 else lib.bmm(m[None], m[None])",
)  # fmt: skip


def named(form, library):
    x = library.tensor([0.5, 0.75], requires_grad=True)
    s, m = library.tensor(0.25), library.tensor([[1.5]], requires_grad=True)
    return eval(form, {"lib": library, "x": x, "s": s, "m": m}).grad_fn.name()


@pytest.mark.parametrize("form", FORMS)
def test_names_are_pytorchs(form):
    assert named(form, tape) == named(form, torch)


def in_place(library):
    x = library.ones(2, requires_grad=True)
    y, z = x.clone(), x.clone()
    y[0].mul_(2)
    return [
        (node.name(), type(node).__name__)
        for node in (y.grad_fn, z.copy_(x).grad_fn, x.clone().grad_fn.next_functions[0][0])
    ]


def test_nodes_that_pytorch_names_with_their_room():
    assert in_place(tape) == in_place(torch)
