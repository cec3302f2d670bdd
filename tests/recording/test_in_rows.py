"""Results of tensors' functions lie in memory as PyTorch's do, so what is a view of them there is one here."""

from __future__ import annotations

import numpy as np
import pytest

import tape

FACTORS = np.arange(1.0, 13.0)

MAKE = {
    "softmax": lambda x: tape.softmax(x.t(), 1), "logs": lambda x: tape.log_softmax(x.t(), 0),
    "joined": lambda x: tape.cat([x.t()[:2], x.t()[2:]]), "below": lambda x: tape.vstack([x.t()[:2], x.t()[2:]]),
    "sums": lambda x: x.t().cumsum(0), "products": lambda x: x.t().cumprod(1), "largest": lambda x: x.t().cummax(0)[0],
    "rolled": lambda x: x.t().roll(1, 0), "filled": lambda x: x.t().masked_fill(x.t() > 5, 0.5),
    "total": lambda x: tape.stack([x, x, x]).permute(2, 1, 0).sum(2),
    "spread": lambda x: tape.stack([x, x, x + 1, 2 * x]).permute(2, 1, 0).std(2),
    "norms": lambda x: tape.stack([x, x]).permute(2, 1, 0).norm(dim=2),
    "triangles": lambda x: x.t()[:, :, None].tril()[:, :, 0],
    "scattered": lambda x: x.t().scatter(0, tape.tensor([[0]]), 1.0),
    "copied": lambda x: x.t().index_copy(0, tape.tensor([1]), x.t()[:1]),
    "along": lambda x: x.t().take_along_dim(tape.tensor([[0, 0, 1], [1, 2, 0], [0, 1, 2], [2, 1, 0]]), 1),
}  # fmt: skip
LOOK = {
    "view": lambda z: z.view(-1), "reshape": lambda z: z.reshape(-1), "flatten": lambda z: z.flatten(),
    "ravel": lambda z: z.ravel(), "part": lambda z: z[:2].view(-1), "contiguous": lambda z: z.contiguous().view(-1),
    "unflatten": lambda z: z.unflatten(0, (2, 2)).view(-1),
}  # fmt: skip


def numbers():
    return FACTORS.reshape(3, 4) / 10


@pytest.mark.parametrize("look", LOOK.values(), ids=LOOK)
@pytest.mark.parametrize("make", MAKE.values(), ids=MAKE)
@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_what_is_written_through_a_view_shows_in_the_result(make, look, compiled):
    def f(x):
        z = make(x)
        look(z)[:3].mul_(0)
        return z

    f = tape.compile(f) if compiled else f
    expected = make(tape.tensor(numbers())).tolist()
    expected[0] = [0.0, 0.0, 0.0]
    for _ in range(1 + compiled):
        for tracked in (False, True):
            z = f(tape.tensor(numbers(), requires_grad=tracked))
            assert z.is_contiguous()
            assert np.allclose(z.detach().numpy(), expected)


SAVED = {name: MAKE[name] for name in ("softmax", "logs", "spread", "products", "norms")}


@pytest.mark.parametrize("make", SAVED.values(), ids=SAVED)
@pytest.mark.parametrize("look", ["view", "reshape", "flatten"])
def test_what_backward_saved_and_a_view_has_overwritten_is_found_out(make, look):
    """So it is in PyTorch; a program keeps values, and has the gradient of the new ones."""

    def f(x):
        z = make(x)
        LOOK[look](z)[:3].mul_(0)
        return (z * tape.tensor(FACTORS).reshape(4, 3)).sum()

    x = tape.tensor(numbers(), requires_grad=True)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        f(x).backward()
    keeping = tape.tensor(numbers(), requires_grad=True)
    weights = FACTORS.reshape(4, 3).copy()
    weights[0] = 0
    (make(keeping) * tape.tensor(weights)).sum().backward()
    gradient = tape.compile(tape.func.grad(f))
    for _ in range(2):
        assert np.allclose(gradient(x.detach()).numpy(), keeping.grad.numpy())


@pytest.mark.parametrize("held", [lambda z: z.detach(), lambda z: (z * z).sum(), lambda z: z.detach().numpy()])
def test_whoever_else_holds_the_result_sees_what_is_written(held):
    z = tape.softmax(tape.tensor(numbers(), requires_grad=True).t(), 1)
    other = held(z)
    z.view(-1)[:3].mul_(0)
    assert z[0].tolist() == [0, 0, 0]
    if other.ndim:
        assert other[0].tolist() == [0, 0, 0]


@pytest.mark.parametrize("make", [lambda x: x.t().exp(), lambda x: x.t().clone(), lambda x: x.t() * 2])
def test_what_works_by_elements_lies_as_its_operand_and_has_no_view_in_a_row(make):
    x = tape.tensor(numbers(), requires_grad=True)
    z = make(x)
    assert z.stride() == (1, 4)
    kept = z.detach()
    with pytest.raises(RuntimeError, match="view size"):
        z.view(-1)
    with pytest.raises(RuntimeError, match="view size"):
        z[:2].view(-1)
    z.reshape(-1)[:3].mul_(0)
    assert kept.tolist() == make(x).tolist()


@pytest.mark.parametrize("make", MAKE.values(), ids=MAKE)
@pytest.mark.parametrize("look", ["view", "reshape", "part"])
def test_so_they_do_under_transforms(make, look):
    def f(x):
        z = make(x)
        v = LOOK[look](z)
        v[:3].mul_(0)
        return (z * z).sum() + v.sum()

    def as_values(x):
        z = make(x)
        z = tape.cat([z[:1] * 0, z[1:]])
        return (z * z).sum() + (z if look != "part" else z[:2]).sum()

    x = tape.tensor(numbers())
    lanes = tape.stack([x, x + 1])
    of = tape.func
    for transform in (of.jacfwd, lambda g: lambda x: of.jvp(g, (x,), (x,))[1], of.vmap):
        given = lanes if transform is of.vmap else x
        assert np.allclose(transform(f)(given).numpy(), transform(as_values)(given).numpy())
    if make in SAVED.values():
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            of.grad(f)(x)
        return
    assert np.allclose(of.grad(f)(x).numpy(), of.grad(as_values)(x).numpy())
    assert np.allclose(of.vmap(of.grad(f))(lanes).numpy(), of.vmap(of.grad(as_values))(lanes).numpy())


def test_arrays_go_by_numpy():
    def f(x):
        z = np.cumsum(x.T, axis=0)
        z.reshape(-1)[:3] = 0  # a copy
        return z

    for g in (f, tape.compile(f)):
        assert np.array_equal(g(numbers()), f(numbers()))
    assert tape.func.jacrev(f)(numbers()).any(axis=(2, 3)).all()


def test_ops_of_ones_own_lie_as_they_give_it():
    import ops

    turned = ops.linear("in_rows_turned", lambda x: np.array(x.T, order="K"), lambda g: ops.in_rows_turned(g))
    try:
        assert turned(tape.tensor(numbers())).stride() == (1, 4)
    finally:
        ops.remove("in_rows_turned")
