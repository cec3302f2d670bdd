"""``view`` of what a function is given, or reads from around it, raises where the memory has no such view."""

from __future__ import annotations

import pytest

import tape

W = tape.arange(6.0).reshape(2, 3)
P = tape.arange(24.0).reshape(2, 3, 4).permute(2, 0, 1)
T, PART, WIDE = W.t(), W[:, 1:], tape.ones(1, 3).expand(2, 3)
OWN = W.t() * 2
X = tape.ones(6)


def outcome(f, *arguments):
    try:
        return f(*arguments).tolist()
    except RuntimeError as error:
        return str(error).split("\n")[0]


AROUND = {
    "turned": lambda x: x * T.view(-1), "in rows": lambda x: x * W.view(-1), "part": lambda x: x[:4] * PART.view(-1),
    "part as it is": lambda x: x[:4].view(2, 2) * PART.view(2, 2), "repeated": lambda x: x * WIDE.view(-1),
    "repeated as it is": lambda x: x * WIDE.view(2, 3, 1).sum(), "axes together": lambda x: x[0] * P.view(8, 3),
    "axes that lie together": lambda x: x[0] * P.view(4, 6), "like another": lambda x: x * T.view_as(x),
    "after a view": lambda x: x * T.unflatten(0, (3, 1)).view(6), "row": lambda x: x[:2] * T[1].view(2),
    "column": lambda x: x[:3] * W.T[:, 1].view(3), "reshaped": lambda x: x * T.reshape(-1),
    "memory of its own": lambda x: x * OWN.view(-1),
    "gradient": lambda x: tape.func.grad(lambda x: (x * T.view(-1)).sum())(x),
    "gradient in rows": lambda x: tape.func.grad(lambda x: (x * W.view(-1)).sum())(x),
}  # fmt: skip


@pytest.mark.parametrize("name", AROUND)
@pytest.mark.filterwarnings("ignore:tape.compile runs .* it raised RuntimeError:RuntimeWarning")
def test_views_of_tensors_from_around(name):
    f = AROUND[name]
    expected, compiled = outcome(f, X), tape.compile(f)
    assert isinstance(expected, str) == (name in (
        "turned", "part", "repeated", "axes together", "like another", "after a view", "gradient",
    ))  # fmt: skip
    for _ in range(3):
        assert outcome(compiled, X) == expected


@pytest.mark.filterwarnings(
    "ignore:tape.compile runs .* (it asks for a view|it raised|what it gives depends):RuntimeWarning"
)
def test_views_of_arguments():
    for f in (
        lambda y: y.view(-1) * 2, lambda y: y.view(3, 2) * y.view(3, 2), lambda y: (y * 2).view(-1),
        lambda y: y.t().view(-1), lambda y: tape.func.grad(lambda z: (z.view(-1) ** 2).sum())(y),
        lambda y: tape.vmap(lambda z: z.view(-1))(y.view(2, 3, 1)),
    ):  # fmt: skip
        compiled = tape.compile(f)
        for y in (W, tape.arange(6.0).reshape(3, 2).t(), W * 2, tape.arange(12.0).reshape(2, 6)[:, ::2], W):
            expected = outcome(f, y)
            for _ in range(2):
                assert outcome(compiled, y) == expected


def test_functions_that_look_at_arguments_in_rows_stay_compiled():
    compiled = tape.compile(lambda y: (y.view(-1) * 2).sum() + y.view(3, 2)[0, 0])
    for k in range(5):
        assert compiled(W + k).item() == ((W + k) * 2).sum().item() + k
    assert "of which 0 run without compiling" in str(compiled.statistics())
