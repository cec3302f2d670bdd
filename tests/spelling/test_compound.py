"""Functions that are made of others, against PyTorch's; in eager mode, in place, and under a transformation."""

import numpy as np
import pytest
from peer import torch

import tape
from tape.autograd import gradcheck

RNG = np.random.default_rng(0)
A, B, V, W = (RNG.standard_normal(s) for s in ((3, 4), (2, 3, 4), (4,), (3,)))
S, M = RNG.standard_normal((2, 4, 3)), A @ A.T + np.eye(3)
CALLS = {
    "addmv": (lambda m, x, w, v: m.addmv(w, x, v, beta=0.5, alpha=2), A, W, V),
    "addr": (lambda m, x, w, v: m.addr(x, w, v, alpha=2), A, W, V),
    "baddbmm": (lambda m, b, s, x: m.baddbmm(x, b, s, beta=3), B, S, M),
    "addbmm": (lambda m, b, s, x: x.addbmm(b, s, alpha=0.5), B, S, M),
    "select_scatter": (lambda m, x, v: m.select_scatter(x, v, 0, 1), A, V),
    "slice_scatter": (lambda m, x, b: x.slice_scatter(b[0, :, :2], 1, 0, 4, 2), A, B),
    "diagonal_scatter": (lambda m, x, w: m.diagonal_scatter(x, w, 1), A, W),
    "as_strided_scatter": (lambda m, x, b: m.as_strided_scatter(x, b[0, :2, :2], (2, 2), (1, 4), 1), A, B),
    "unfold": (lambda m, x: x.unfold(1, 2, 2), A),
    "unfold, overlapping": (lambda m, x: x.unfold(-1, 3, 1), B),
    "unfold of a view": (lambda m, x: x.T.unfold(0, 3, 1), A),
    "tensor_split": (lambda m, x: m.tensor_split(x, 3, 1)[0], A),
    "tensor_split at": (lambda m, x: x.tensor_split((1, 3), dim=1)[1], A),
    "sum_to_size": (lambda m, x: x.sum_to_size(1, 4), A),
    "diagflat": (lambda m, x: m.diagflat(x, 1), A),
    "dist": (lambda m, x, b: m.dist(x, b, 3), A, B),
    "renorm": (lambda m, x: m.renorm(x, 2, 0, 1.5), A),
    "inverse": (lambda m, x: x.inverse(), M),
    "logdet": (lambda m, x: m.logdet(x), M),
    "ldexp": (lambda m, x: m.ldexp(x, m.tensor([1.0, 2.0, 3.0, -1.0])), A),
    "lerp": (lambda m, x, b: x.lerp(b, 0.3), A, B),
    "msort": (lambda m, x: m.msort(x), A),
    "narrow_copy": (lambda m, x: x.narrow_copy(1, 1, 2), A),
}


OTHERWISE = {"as_strided_scatter"}
"""Where PyTorch's gradient with respect to the input is that of what was replaced, instead of the rest."""


@pytest.mark.parametrize("name", sorted(set(CALLS) - OTHERWISE))
def test_the_value_and_the_gradients_are_pytorchs(name):
    call, *arrays = CALLS[name]
    ours, theirs = ([m.tensor(a, dtype=m.float64, requires_grad=True) for a in arrays] for m in (tape, torch))
    z, expected = call(tape, *ours), call(torch, *theirs)
    assert np.allclose(z.detach().numpy(), expected.detach().numpy())
    weights = RNG.standard_normal(tuple(z.shape))
    z.backward(tape.tensor(weights))
    expected.backward(torch.tensor(weights))
    for x, y in zip(ours, theirs, strict=True):
        assert np.allclose(x.grad.numpy(), y.grad.numpy())


@pytest.mark.parametrize("name", CALLS)
def test_the_gradients_are_right(name):
    call, *arrays = CALLS[name]
    assert gradcheck(lambda *xs: call(tape, *xs), [tape.tensor(a, requires_grad=True) for a in arrays])


@pytest.mark.parametrize("name", ["unfold", "addmv", "renorm", "sum_to_size", "tensor_split"])
def test_a_batch_is_every_lane(name):
    call, x, *rest = CALLS[name]
    rows = np.stack([x, x * 2.0, -x])
    rest = [tape.tensor(a) for a in rest]
    found = tape.vmap(lambda x: call(tape, x, *rest))(tape.tensor(rows))
    assert np.allclose(found.numpy(), [call(tape, tape.tensor(row), *rest).numpy() for row in rows])


def test_windows_are_views():
    x = tape.zeros(5)
    x.unfold(0, 2, 2).add_(1.0)
    assert x.tolist() == [1.0, 1.0, 1.0, 1.0, 0.0]


def test_an_input_of_weight_0_is_not_read():
    z = tape.full((3,), np.nan).addmv(tape.tensor(A), tape.tensor(V), beta=0)
    assert np.allclose(z.numpy(), A @ V)


def test_in_place():
    w = tape.tensor(W)
    assert w.addmv_(tape.tensor(A), tape.tensor(V)) is w
    assert np.allclose(w.numpy(), W + A @ V)
    assert np.allclose(tape.tensor(A).renorm_(2, 0, 1.0).norm(dim=1).numpy(), np.minimum(np.linalg.norm(A, axis=1), 1))


@pytest.mark.parametrize(
    "named",
    [
        {}, {"spacing": 0.5}, {"dim": 1}, {"spacing": [0.5, 2.0], "edge_order": 2},
        {"dim": (1,), "spacing": [[0.0, 1.0, 3.0, 4.0]]},
    ],
)  # fmt: skip
def test_gradient_is_a_tuple_as_in_torch(named):
    x = np.array([[1.0, 2.0, 4.0, 0.0], [4.0, 3.0, 1.0, 2.0], [0.5, 1.0, 5.0, 3.0]])
    found = tape.gradient(tape.tensor(x), **named)
    coordinates = named.get("spacing")
    if isinstance(coordinates, list) and isinstance(coordinates[0], list):
        named = {**named, "spacing": [torch.tensor(c) for c in coordinates]}
    expected = torch.gradient(torch.tensor(x), **named)
    assert isinstance(found, tuple)
    for z, w in zip(found, expected, strict=True):
        assert np.allclose(z.numpy(), w.numpy())


def test_numbers_that_are_chosen():
    x = tape.tensor([-np.inf, -1.0, 0.0, 2.0, np.inf])
    assert tape.heaviside(x, tape.tensor(0.5)).tolist() == [0.0, 0.0, 0.5, 1.0, 1.0]
    assert (x.isposinf().tolist(), x.isneginf().tolist()) == ([False] * 4 + [True], [True] + [False] * 4)
    assert tape.tensor([[0.0, 1.0], [1.0, 0.0]]).logdet().isnan()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: x.select_scatter(x, 0, 1), r"src must have the shape of what it replaces, \(4,\); got \(3, 4\)"),
        (lambda x: x.unfold(1, 5, 1), "windows of at most the 4 entries"),
        (lambda x: x.sum_to_size(2, 4), r"a shape that broadcasts to \(3, 4\); got \(2, 4\)"),
    ],
)
def test_what_does_not_fit(call, words):
    with pytest.raises(RuntimeError, match=words):
        call(tape.tensor(A))
