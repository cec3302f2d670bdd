"""Views: what shares memory, who is whose base, and changes that are seen on all sides in every order."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from numpy.testing import assert_allclose
from samples import samples

import tape
from ops import REGISTRY
from tape.autograd import forward_ad as fa, grad
from tape.recording import views

A = np.arange(1.0, 7.0).reshape(2, 3)

VIEWS = {
    "row": lambda x: x[0],
    "last": lambda x: x[-1],
    "element": lambda x: x[1, 2],
    "element of a row": lambda x: x[1][0],
    "slice": lambda x: x[:, 1:],
    "strided": lambda x: x[:, ::2],
    "backwards": lambda x: x[:, ::-1],
    "T": lambda x: x.T,
    "transpose": lambda x: x.transpose(0, 1),
    "permute": lambda x: x.permute(1, 0),
    "view": lambda x: x.view(3, 2),
    "flat": lambda x: x.reshape(-1),
    "unsqueeze": lambda x: x.unsqueeze(1),
    "squeeze": lambda x: x[:1].squeeze(),
    "narrow": lambda x: x.narrow(1, 1, 2),
    "select": lambda x: x.select(1, 1),
    "diagonal": lambda x: x.diagonal(),
    "expanded to its own shape": lambda x: x.expand(2, 3),
    "column of the transpose": lambda x: x.T[:, 0],
    "view of a view of a view": lambda x: x.view(6)[1:].view(5, 1)[2:, 0],
}


def made(requires_grad=True):
    x = tape.tensor(A, requires_grad=requires_grad)
    return x, x * 1.5


@pytest.mark.parametrize("op", [op for op in REGISTRY.values() if op.kind != "composite"], ids=lambda op: op.name)
def test_only_views_share_memory(op):
    if not op.cases and not op.domain:
        return
    for operands, params in samples(op):
        tensors = [tape.tensor(x) for x in operands]
        z = op(*tensors, **params)
        for part in z if isinstance(z, tuple) else (z,):
            shared = any(np.may_share_memory(part._data, t._data) for t in tensors)
            assert shared <= part._is_view(), op.name


@pytest.mark.parametrize("name", VIEWS)
def test_the_base(name):
    _, y = made()
    v = VIEWS[name](y)
    assert v._is_view()
    assert v._base is y
    assert (y._is_view(), y._base) == (False, None)


@pytest.mark.parametrize("history", [True, False])
@pytest.mark.parametrize("name", VIEWS)
def test_a_change_of_a_view_is_seen_by_its_base(name, history):
    x, y = made(history)
    v = VIEWS[name](y)
    expected = y.detach().numpy().copy()
    before = v.detach().numpy().copy()
    v.mul_(10)
    assert_allclose(v.detach().numpy(), 10 * before)
    seen = np.isin(expected, before)
    assert_allclose(y.detach().numpy(), np.where(seen, 10 * expected, expected))
    assert y._version == v._version == 1
    if history:
        assert y.grad_fn.name() == "torch::autograd::CopySlices"
        (g,) = grad(y.sum(), x)
        assert_allclose(g.numpy(), np.where(seen, 15.0, 1.5))


@pytest.mark.parametrize("history", [True, False])
@pytest.mark.parametrize("name", VIEWS)
def test_a_change_of_the_base_is_seen_by_its_views(name, history):
    x, y = made(history)
    v = VIEWS[name](y)
    before = v.detach().numpy().copy()
    y.mul_(10)
    assert_allclose(v.detach().numpy(), 10 * before)
    if history:
        (g,) = grad((v * v).sum(), x)
        assert_allclose(g.numpy().sum(), (2 * 10 * before * 15).sum())


OTHERS = ("row", "element", "strided", "T", "flat", "diagonal", "view of a view of a view")


@pytest.mark.parametrize("second", OTHERS)
@pytest.mark.parametrize("first", VIEWS)
def test_a_change_of_one_view_is_seen_by_another(first, second):
    def f(x, w):
        y = x * 1.5
        v, u = VIEWS[first](y), VIEWS[second](y)
        v.mul_(w)
        u.add_(1.0)
        return (y * y).sum() + (v * v).sum() * (u * u).sum()

    x, w = tape.tensor(A, requires_grad=True), tape.tensor(0.5, requires_grad=True, dtype=tape.float64)
    x_bar, w_bar = grad(f(x, w), (x, w))
    x_dot, w_dot, h = np.cos(A), 0.7, 1e-5
    ends = [f(tape.tensor(A + s * x_dot), tape.tensor(0.5 + s * w_dot)).item() for s in (h, -h)]
    assert_allclose((x_bar.numpy() * x_dot).sum() + w_bar.item() * w_dot, (ends[0] - ends[1]) / (2 * h), rtol=1e-7)


def test_elements_kept_in_a_list():
    """Elements are scalars without memory; each is written back and read again."""
    x, _ = made()
    y = x.reshape(-1) * 1.0
    elements = [y[k] for k in range(6)]
    elements[2].mul_(100)
    y.add_(1)
    assert [e.item() for e in elements] == y.tolist() == [2.0, 3.0, 301.0, 5.0, 6.0, 7.0]
    (g,) = grad(sum(elements), x)
    assert g.tolist() == [[1.0, 1.0, 100.0], [1.0, 1.0, 1.0]]


def test_iteration_gives_views():
    y = tape.zeros(2, 3)
    for i, row in enumerate(y):
        for k, element in enumerate(row):
            element.fill_(10 * i + k)
    assert y.tolist() == [[0.0, 1.0, 2.0], [10.0, 11.0, 12.0]]


def test_detached_twins_share_memory_and_count_but_no_history():
    _, y = made()
    element, d = y[0, 0], y.detach()
    assert not d._is_view()
    assert d[0]._base is d
    d.mul_(2)
    assert (element.item(), y._version, d._version, y.grad_fn.name()) == (3.0, 1, 1, "MulBackward0")
    w = tape.tensor(2.0, requires_grad=True)
    d[0].mul_(w)
    assert (element.item(), y.grad_fn.name(), d.grad_fn.name()) == (6.0, "MulBackward0", "torch::autograd::CopySlices")
    assert grad(d.sum(), w)[0].item() == 18.0


def test_data_shares_memory_alone():
    _, y = made()
    z = (y * y).sum()
    y.data[0].zero_()
    assert (y[0].tolist(), y._version) == ([0.0, 0.0, 0.0], 0)
    z.backward()  # not noticed


def test_several_views_of_one_call():
    _, y = made()
    parts = y.unbind(0)
    with pytest.raises(RuntimeError, match="one of several views"):
        parts[0].mul_(2)
    with pytest.raises(RuntimeError, match="one of several views"):
        y.split(1)[0][0, 0] = 1.0
    with tape.no_grad():
        parts[0].mul_(2)
    y.mul_(2)
    assert parts[0].tolist() == [6.0, 12.0, 18.0]


def test_a_complex_view():
    z = tape.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    y = z * 1
    tape.view_as_real(y)[:, 0].mul_(3)
    assert y.tolist() == [3 + 2j, 9 - 1j]
    (g,) = grad((y.real * 2 + y.imag).sum(), z)
    assert g.tolist() == [6 + 1j, 6 + 1j]


def test_duals_and_their_views():
    with fa.dual_level():
        y = fa.make_dual(tape.tensor(A), tape.ones(2, 3, dtype=tape.float64)) * 1.0
        v = y[0]
        v.mul_(v)
        value, tangent = fa.unpack_dual(y)
        assert value.tolist() == [[1.0, 4.0, 9.0], [4.0, 5.0, 6.0]]
        assert tangent.tolist() == [[2.0, 4.0, 6.0], [1.0, 1.0, 1.0]]


def test_a_view_keeps_its_base_and_nothing_else_does():
    y = tape.ones(2, 3)
    gone = weakref.ref(y)
    v = y[0][1]
    del y
    assert gone() is not None
    v.add_(1)
    assert v._base.tolist() == [[1.0, 2.0, 1.0], [1.0, 1.0, 1.0]]
    del v
    gc.collect()
    assert gone() is None


def test_long_chains_of_views_do_not_grow():
    y = base = tape.ones(2, 3)
    for _ in range(1000):
        y = y.T
    assert y._base is base
    assert views.look_of(y).depth <= views.DEEPEST
    y.mul_(tape.tensor(3.0, requires_grad=True))
    assert base.tolist() == [[3.0] * 3] * 2


def test_new_data_leaves_the_views_behind():
    y = tape.zeros(2, 3)
    v = y[0]
    y.data = tape.ones(4)
    v.add_(5)
    assert (v.tolist(), y.tolist(), v._base.tolist()) == ([5.0] * 3, [1.0] * 4, [[5.0] * 3, [0.0] * 3])
    with pytest.raises(RuntimeError, match="detach_"):
        v.detach_()


def test_views_that_the_collector_was_told_to_leave_alone(monkeypatch):
    """`gc.freeze()` hides them from whoever asks Python for all objects."""
    monkeypatch.setattr(views.WATCH, "on", False)
    x = tape.ones(3) * 1
    v = x[:2]
    w = v[:1]
    gc.freeze()

    def f(t):
        x.mul_(t)
        return (v * 2).sum() + w.sum()

    assert tape.func.grad(f)(tape.tensor(3.0)).item() == 5.0


def test_arrays_that_the_collector_was_told_to_leave_alone_gain_lanes():
    def f(t):
        y = np.zeros(3)
        v = y[:2]
        w = v[:1]
        gc.freeze()
        y[0] = t
        return (v * 2).sum() + w.sum()

    assert_allclose(tape.func.vmap(f)(np.array([1.0, 2.0])), [3.0, 6.0])
