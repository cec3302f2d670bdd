"""In-place operations: every method against its function, the leaf rules, the count, values that rules still need."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from samples import samples

import tape
from ops import REGISTRY
from tape.autograd import grad, gradcheck
from tape.memory.inplace import names

NAMES = names()
SMOOTH = [
    op for op in REGISTRY.values() if op.name in NAMES and op.kind == "elementwise" and op.name not in ("zero", "fill")
]


def leaf(*values, **options):
    return tape.tensor(np.array(values), requires_grad=True, **options)


@pytest.mark.parametrize("op", SMOOTH, ids=lambda op: op.name)
def test_in_place_gives_the_value_and_the_gradients_of_the_function(op):
    """The result goes on being used, so both the old and the new value flow into the gradient."""
    operands, params = next(iter(samples(op)))
    shape = np.broadcast_shapes(*map(np.shape, operands))
    first = np.array(np.broadcast_to(operands[0], shape))

    def run(change):
        tensors = [tape.tensor(x, requires_grad=x.dtype.kind == "f") for x in (first, *operands[1:])]
        old = tensors[0] * 1.0
        z = change(old, *tensors[1:])
        asked = [t for t in tensors if t.requires_grad]
        return z.detach().numpy(), [g.detach().numpy() for g in grad((z * z).sum(), asked, materialize_grads=True)]

    z, bars = run(lambda x, *rest: getattr(tape, op.name)(x, *rest, **params))
    if z.shape != shape or z.dtype.kind != "f":
        return
    found, found_bars = run(lambda x, *rest: getattr(x, f"{op.name}_")(*rest, **params))
    assert_allclose(found, z)
    for bar, found_bar in zip(bars, found_bars, strict=True):
        assert_allclose(found_bar, bar)


@pytest.mark.parametrize("name", ["mul_", "add_", "sub_", "div_", "pow_", "atan2_", "hypot_"])
def test_a_tensor_changed_by_itself(name):
    x = leaf(0.5, 1.5)
    assert gradcheck(lambda x: getattr(y := x * 1.0, name)(y), (x,))


def test_in_place_of_in_place_of_in_place():
    x = leaf(0.3, 0.8)
    assert gradcheck(lambda x: x.clone().mul_(2).sin_().add_(x).div_(x).mul_(x).exp_(), (x,))
    y = x.clone()
    y *= 3
    y += x
    y -= 1
    y /= 2
    y **= 2
    assert y.grad_fn.name() == "PowBackward0"
    assert_allclose(y.detach().numpy(), ((4 * x.detach().numpy() - 1) / 2) ** 2)
    assert_allclose(grad(y.sum(), x)[0].numpy(), 2 * (4 * x.detach().numpy() - 1))


def test_create_graph_through_in_place():
    x = leaf(0.5, 2.0)
    y = x.clone()
    y.mul_(x).mul_(x)
    (g,) = grad(y.sum(), x, create_graph=True)
    (h,) = grad(g.sum(), x)
    assert_allclose(g.detach().numpy(), 3 * x.detach().numpy() ** 2)
    assert_allclose(h.numpy(), 6 * x.detach().numpy())


def test_a_plain_tensor_gets_a_history():
    x, y = leaf(1.0, 2.0), tape.zeros(2, dtype=tape.float64)
    y.add_(x * x)
    assert not y.is_leaf
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]


def test_what_is_overwritten_gets_a_gradient_of_zeros():
    for overwrite in (
        lambda y: y.zero_(),
        lambda y: y.fill_(3.0),
        lambda y: y.copy_(tape.ones(2)),
        lambda y: y.normal_(),
    ):
        x = leaf(1.0, 2.0)
        y = overwrite(x * 2)
        assert y.requires_grad
        y.sum().backward()
        assert x.grad.tolist() == [0.0, 0.0]


def test_values_written_have_their_gradient():
    w, x = leaf(3.0), tape.zeros(2, 2, dtype=tape.float64)
    x.copy_(w)
    assert grad((x * tape.tensor([[1.0, 2.0], [3.0, 4.0]])).sum(), w)[0].tolist() == [10.0]
    s = tape.tensor(2.0, requires_grad=True)
    assert grad(tape.zeros(3).fill_(s).sum(), s)[0].item() == 3.0


def test_scalars_are_summed_up_in_place():
    x = leaf(1.0, 2.0, 3.0)
    total = tape.zeros((), dtype=tape.float64)
    for k in range(3):
        total += x[k] * x[k]
    assert (total.item(), total._version) == (14.0, 3)
    total.backward()
    assert x.grad.tolist() == [2.0, 4.0, 6.0]


def test_leaves_and_views_of_leaves_are_refused():
    x = leaf(1.0, 2.0)
    for change in (lambda: x.mul_(2), lambda: x.__setitem__(0, 1.0), lambda: x.t_(), lambda: x.normal_()):
        with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
            change()
    for change in (lambda: x[:1].mul_(2), lambda: x.reshape(2, 1).__setitem__(0, 1.0), lambda: x[0].add_(1)):
        with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
            change()
    assert x.tolist() == [1.0, 2.0]
    with tape.no_grad():
        x[:1].mul_(5)
        x[1] = 7.0
    assert (x.tolist(), x.is_leaf, x._version) == ([5.0, 7.0], True, 2)


def test_without_recording_the_history_stays():
    x = leaf(1.0, 2.0)
    y = x * 2
    with tape.no_grad():
        y.mul_(5)
    assert (y.tolist(), y.grad_fn.name(), y._version) == ([10.0, 20.0], "MulBackward0", 1)
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


CHANGED = {
    "a number": lambda y: y.mul_(2),
    "a value at an index": lambda y: y.__setitem__(0, 5.0),
    "a view": lambda y: y[1:].add_(1),
    "a detached twin": lambda y: y.detach().zero_(),
    "an element": lambda y: y[1].zero_(),
    "row after row": lambda y: [y[i].add_(1) for i in range(len(y))],
}


@pytest.mark.parametrize("how", CHANGED)
def test_a_value_that_a_rule_still_needs(how):
    """The message names both operations and both lines."""
    x = leaf(1.0, 2.0)
    y = x * 1.5
    z = y * y
    CHANGED[how](y)
    with pytest.raises(RuntimeError) as caught:
        z.sum().backward()
    text = str(caught.value)
    assert "the gradient of mul needs was changed in place" in text
    assert text.count("test_inplace.py") == 2
    assert "z = y * y" in text


def test_a_scalar_that_a_rule_still_needs():
    x = leaf(1.0, 2.0)
    s = x.sum()
    z = s * s
    s.add_(1)
    with pytest.raises(RuntimeError, match=r"mul needs was changed .*\n.*\n.*add_"):
        z.backward()


def test_values_of_the_changed_tensor_that_its_own_rule_needs():
    x = leaf(0.5, 1.0)
    y = (x * 1.0).exp_()
    y.sum().backward(retain_graph=True)
    y.add_(1)
    with pytest.raises(RuntimeError, match=r"exp needs was changed .*\n.*\n.*add_"):
        y.sum().backward()


def test_changes_after_backward_are_no_mistake():
    x = leaf(1.0, 2.0)
    for _ in range(3):
        y = x * x
        (y * y).sum().backward()
        with tape.no_grad():
            x -= 0.01 * x.grad
        x.grad.zero_()
    assert x._version == 3


def test_hooks_stay_and_retained_gradients_move():
    x = leaf(1.0, 2.0)
    y, seen = x * 2, []
    y.register_hook(lambda g: seen.append(g.tolist()))
    y.retain_grad()
    y.mul_(5)
    y.register_hook(lambda g: seen.append(g.tolist()))
    y.sum().backward()
    assert seen == [[1.0, 1.0], [5.0, 5.0]]
    assert y.grad.tolist() == [1.0, 1.0]


def test_what_does_not_fit():
    with pytest.raises(RuntimeError, match="cannot be stored in a tensor of int64"):
        tape.tensor([1]).add_(0.5)
    with pytest.raises(RuntimeError, match=r"shape \(3, 2\)"):
        (leaf(1.0, 2.0) * 1).add_(tape.ones(3, 2))
    with pytest.raises(RuntimeError, match="does not fit a place of shape"):
        (leaf(1.0, 2.0) * 1)[:] = tape.ones(3)
    with pytest.raises(IndexError):
        (leaf(1.0, 2.0) * 1)[5] = 1.0
    with pytest.raises(RuntimeError, match="expanded"):
        (leaf(1.0) * 1).expand(3).add_(1)


def test_a_mistake_leaves_value_and_history_alone():
    x = leaf(1.0, 2.0)
    y = x * 2
    for change in (lambda: y.add_(tape.ones(3)), lambda: y.__setitem__(slice(None), tape.ones(3))):
        with pytest.raises(RuntimeError):
            change()
    assert (y.tolist(), y.grad_fn.name()) == ([2.0, 4.0], "MulBackward0")
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


PUTS = {
    "a number": lambda z, v: z.__setitem__(1, v[0]),
    "a slice": lambda z, v: z.__setitem__(slice(1, None), v[:2]),
    "a mask": lambda z, v: z.__setitem__(z.detach() > 0.7, v[0]),
    "an index array": lambda z, v: z.__setitem__(tape.tensor([2, 0]), v[:2]),
    "everything": lambda z, v: z.__setitem__(..., v),
    "a wider value": lambda z, v: z.__setitem__(slice(0, 2), v[:2].reshape(1, 2)),
    "index_put_": lambda z, v: z.index_put_((tape.tensor([0, 2]),), v[:2]),
    "index_put_ that adds": lambda z, v: z.index_put_((tape.tensor([0, 0]),), v[:2], accumulate=True),
    "index_add_": lambda z, v: z.index_add_(0, tape.tensor([0, 0, 1]), v),
    "index_copy_": lambda z, v: z.index_copy_(0, tape.tensor([2, 1]), v[:2]),
    "index_fill_": lambda z, v: z.index_fill_(0, tape.tensor([1]), 2.0),
    "masked_fill_": lambda z, v: z.masked_fill_(tape.tensor([True, False, True]), v[1]),
    "masked_scatter_": lambda z, v: z.masked_scatter_(tape.tensor([True, False, True]), v),
    "scatter_add_": lambda z, v: z.scatter_add_(0, tape.tensor([0, 0, 2]), v),
    "put_": lambda z, v: z.put_(tape.tensor([1, 2]), v[:2]),
    "addcmul_": lambda z, v: z.addcmul_(v, v),
    "lerp_": lambda z, v: z.lerp_(v, 0.25),
    "clamp_": lambda z, v: z.clamp_(0.6, 1.2),
    "cumsum_": lambda z, v: z.cumsum_(0),
}


@pytest.mark.parametrize("name", PUTS)
def test_writing_at_places(name):
    def f(x, v):
        z = x * 1.5
        PUTS[name](z, v * 2)
        return z * x

    assert gradcheck(f, (leaf(0.3, 0.5, 1.1), leaf(0.7, 0.2, 0.4)))


def test_writing_into_a_tensor_element_by_element():
    x = leaf(1.0, 2.0, 3.0)
    y = tape.zeros(4, dtype=tape.float64)
    y[0] = 1.0
    for k in range(3):
        y[k + 1] = y[k] * x[k]
    y.sum().backward()
    assert (y.tolist(), x.grad.tolist()) == ([1.0, 1.0, 2.0, 6.0], [9.0, 4.0, 2.0])


def test_the_shape_in_place():
    x = tape.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    y = x * 2
    row = y[0]
    y.t_().unsqueeze_(0)
    row.mul_(10)
    assert (y.shape, y.tolist(), y._version) == ((1, 2, 2), [[[20.0, 6.0], [40.0, 8.0]]], 3)
    (y * y).sum().backward()
    assert x.grad.tolist() == [[800.0, 1600.0], [24.0, 32.0]]
    assert tape.ones(1, 3).squeeze_().shape == (3,)


def test_random_numbers_in_place():
    _ = tape.manual_seed(0)
    x = tape.zeros(1000)
    draws = {"normal_": (), "uniform_": (2.0, 3.0), "bernoulli_": (0.25,), "random_": (5, 9), "exponential_": (2.0,)}
    means = {name: getattr(x, name)(*arguments).mean().item() for name, arguments in draws.items()}
    expected = {"normal_": 0.0, "uniform_": 2.5, "bernoulli_": 0.25, "random_": 6.5, "exponential_": 0.5}
    for name, mean in expected.items():
        assert abs(means[name] - mean) < 0.15, name
    assert x._version == 5


def test_changes_that_nothing_sees():
    """Through ``.data``, ``numpy()`` and views of them, where `detect_changes` is on."""

    def through(change):
        x = leaf(1.0, 2.0)
        with tape.autograd.detect_changes():
            y = x * 3
            z = (y * y).sum()
        change(y)
        return z

    for change in (lambda y: y.data.zero_(), lambda y: y.detach().numpy().fill(0.0), lambda y: y.data[1:].add_(1)):
        with pytest.raises(RuntimeError, match=r"mul needs was changed after .*\n.*z = \(y \* y\)"):
            through(change).backward()
    with pytest.raises(RuntimeError, match=r"changed in place .*\n.*\n.*by mul_\(\)"):
        through(lambda y: y.mul_(2)).backward()
    through(lambda y: y.data.mul_(1)).backward()
    z = through(lambda y: None)
    z.backward(retain_graph=True)
    z.backward()
