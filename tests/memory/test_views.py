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
        assert y.grad_fn.name() == "CopySlices"
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
    assert (element.item(), y.grad_fn.name(), d.grad_fn.name()) == (6.0, "MulBackward0", "CopySlices")
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


def test_views_made_without_recording():
    _, y = made()
    with tape.no_grad():
        v = y[0]
    with pytest.raises(RuntimeError, match="view was created in no_grad mode and"):
        v.mul_(2)
    y.mul_(2)
    with pytest.raises(RuntimeError, match="view was created in no_grad mode and"):
        v.sum().backward()
    with tape.no_grad():
        v.zero_()
    assert y[0].tolist() == [0.0, 0.0, 0.0]


def test_a_plain_base_gets_a_history_through_a_view():
    w = tape.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = tape.zeros(2, 3)
    early, row = y[:, 1], y[0]
    row.copy_(w * w)
    assert early.requires_grad
    assert grad(early.sum(), w, retain_graph=True)[0].tolist() == [0.0, 4.0, 0.0]
    assert grad(y.sum(), w)[0].tolist() == [2.0, 4.0, 6.0]


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


def test_the_message_says_which_result_of_which_operation_is_barred():
    _, y = made()
    with pytest.raises(RuntimeError, match=r"Output 1 of Unbind is a view .* function that returns multiple views"):
        y.unbind()[1].add_(1)
    with tape.no_grad():
        several = y.unbind()
    with pytest.raises(RuntimeError, match="A view was created in no_grad mode"):
        several[0].add_(1)
    with tape.no_grad():
        z = y.detach().view(6)
    z.requires_grad_()
    with pytest.raises(RuntimeError, match="Output 0 of View is a view of a view which was created in no_grad mode"):
        z.view(2, 3).add_(1)


@pytest.mark.parametrize("take", [lambda y: y.view(6), lambda y: y[0], lambda y: y[0, 1:], lambda y: y.unbind()[1]])
def test_views_made_in_inference_mode(take):
    _, y = made()
    with tape.inference_mode():
        v = take(y)
    assert (v.requires_grad, v.is_leaf, v.is_inference()) == (True, True, False)
    with pytest.raises(RuntimeError, match="created in inference mode and is being modified inplace in normal mode"):
        v.add_(1)
    y.mul_(2)
    with pytest.raises(RuntimeError, match="created in inference mode and its base"):
        v.sum().backward()


def test_a_view_without_history_says_what_its_base_says():
    x = tape.ones(3)
    v, w = x[:2], x.detach()[:2]
    assert not v.requires_grad
    x.requires_grad_()
    assert (v.requires_grad, w.requires_grad) == (True, False)
    with tape.no_grad():
        part = (x * 2)[1:]
        assert (x[0].requires_grad, part.requires_grad) == (True, False)


def returning(result):
    class Custom(tape.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return result(x)

        @staticmethod
        def backward(ctx, *gs):
            return gs[0].expand(2, 3).clone()

    return Custom.apply


@pytest.mark.parametrize("result", [lambda x: x.T, lambda x: x[0], lambda x: x[0, 1], lambda x: x])
def test_views_that_a_custom_function_returns(result):
    _, y = made()
    v = returning(result)(y)
    assert v._base is y
    with pytest.raises(RuntimeError, match=r"Output 0 of Custom is a view .* created inside a custom Function"):
        v.add_(1)
    with tape.no_grad():
        v.fill_(7.0)
    assert result(y.detach()).max() == 7.0
    y.mul_(2)
    assert v.max() == 14.0
    with pytest.raises(RuntimeError, match="no gradient can flow through this view any more"):
        v.sum().backward()


def test_views_of_what_a_custom_function_has_made_itself():
    _, y = made()
    v = returning(lambda x: (x * 2)[0])(y)
    with pytest.raises(RuntimeError, match="created inside a custom Function"):
        v.add_(1)
    several = returning(lambda x: (x[0], x[1] * 2))(y)
    with pytest.raises(RuntimeError, match=r"Output 0 of Custom is a view .* function that returns multiple views"):
        several[0].add_(1)
    several[1].add_(1)


def test_a_view_of_a_plain_tensor_that_a_custom_function_returns():
    w, x = tape.tensor(1.0, requires_grad=True), tape.ones(2, 3)
    v = returning(lambda x: x[0])(x)
    v.add_(1)
    assert x[0, 0] == 2.0
    with pytest.raises(RuntimeError, match="created inside a custom Function"):
        v.add_(w)


@pytest.mark.parametrize("mode", [tape.no_grad, tape.inference_mode])
def test_a_view_without_history_that_was_changed_can_only_be_read(mode):
    x = tape.ones(3, requires_grad=True)
    with mode():
        v, w, later = x[1:], x[0], x.view(3)
        v.mul_(2.0)
        new = x[1:]
    assert (v.tolist(), w.item(), x.tolist()) == ([2.0, 2.0], 1.0, [1.0, 2.0, 2.0])
    for changed in (v, w, later):
        assert changed.requires_grad
        assert repr(changed).endswith("grad_fn=<Invalid>)")
        with pytest.raises(RuntimeError, match="its base or another view of its base has been modified inplace"):
            _ = changed.grad_fn
        with pytest.raises(RuntimeError, match="its base or another view of its base has been modified inplace"):
            (changed * 2).sum().backward()
    assert (new.grad_fn, repr(new)) == (None, "tensor([2., 2.], requires_grad=True)")
    with tape.no_grad():
        assert (v * 2).tolist() == [4.0, 4.0]


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


@pytest.mark.parametrize("index", [True, np.True_, (None, True), False])
@pytest.mark.parametrize("changes", ["what was read", "what it was read of"])
def test_a_number_that_is_read_by_a_mask_is_copied(index, changes):
    """Whether it lies in memory of its own yet or not."""
    x = tape.tensor(2.0, requires_grad=True)
    z = x * 1
    v = z[index]
    assert not v._is_view()
    (v if changes == "what was read" else z).mul_(3)
    (z * z + (v * v).sum()).backward()
    of_z, of_v = (4.0, 36.0) if changes == "what was read" else (36.0, 4.0)
    assert x.grad.item() == of_z + of_v * v.numel()


IN_COLUMNS = {
    "softmax": lambda x: tape.softmax(x.t(), 1), "joined": lambda x: tape.cat([x.t(), x.t()]),
    "sums": lambda x: x.t().cumsum(0), "rolled": lambda x: tape.roll(x.t(), (1, 0), (0, 1)),
    "cumulative": lambda x: x.t().cummax(0)[0], "product": lambda x: x.t() * 2,
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:tape.compile runs:RuntimeWarning")
@pytest.mark.parametrize("make", IN_COLUMNS.values(), ids=IN_COLUMNS)
@pytest.mark.parametrize("tracked", [False, True])
def test_a_view_of_what_does_not_lie_in_rows_shows_its_memory(make, tracked):
    """PyTorch has most of them in rows; NumPy lays them out as their operands are."""

    def through_the_view(x):
        z = make(x)
        z.view(-1)[:3].mul_(0)
        return z

    def seen_in_the_view(x):
        z = make(x)
        v = z.view(-1)
        z[0].mul_(0)
        return v.view(z.shape)

    def as_a_copy(x):
        z = make(x)
        return tape.cat([z[:1] * 0, z[1:]])

    whole = lambda x: make(x).view(-1)  # noqa: E731
    assert tape.vmap(whole)(tape.ones(2, 3, 4)).shape == (2, make(tape.ones(3, 4)).numel())
    assert tape.func.jacfwd(whole)(tape.ones(3, 4)).shape[1:] == (3, 4)
    if tracked and make is IN_COLUMNS["softmax"]:
        return  # its numbers are saved
    x = tape.arange(12.0).reshape(3, 4).requires_grad_(tracked)
    expected = as_a_copy(x)
    for f in (through_the_view, seen_in_the_view):
        for g in (f, tape.compile(f)):
            for _ in range(2):
                found = g(x)
                assert found.tolist() == expected.tolist()
                if tracked:
                    gradients = [tape.autograd.grad((z * z).sum(), x, retain_graph=True)[0] for z in (found, expected)]
                    assert gradients[0].tolist() == gradients[1].tolist()


CHANGES = {
    "written over": lambda y: y.copy_(tape.full((4,), 0.9)),
    "scaled": lambda y: y.mul_(2.0),
    "a part": lambda y: y[2:].fill_(5.0),
    "an element": lambda y: y.__setitem__(1, 5.0),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize(
    "look", [lambda y: y[1:], lambda y: y.view(2, 2), lambda y: y[1:][1:], lambda y: y.split(2)[1]]
)
def test_a_view_of_what_was_detached_in_place_has_no_gradient_once_that_changes(change, look):
    """Its numbers are others than those that its history told of."""
    x = tape.ones(4, requires_grad=True)
    y = x * 3.0
    v = look(y)
    y.detach_()
    (before,) = tape.autograd.grad((v * v).sum(), x, retain_graph=True)
    assert before.sum().item() == 18.0 * v.numel()
    CHANGES[change](y)
    assert v.requires_grad
    assert v.tolist() == look(y).tolist()
    assert tape.autograd.grad((v * v).sum(), x, allow_unused=True) == (None,)


def test_a_view_of_what_was_detached_in_place_is_not_changed_with_a_history():
    y = tape.ones(4, requires_grad=True) * 3.0
    v = y[1:]
    y.detach_()
    with pytest.raises(RuntimeError, match="taken out of that by detach_"):
        v.mul_(2.0)
    assert y.tolist() == [3.0] * 4
    assert not y.requires_grad
    y.mul_(tape.ones(4, requires_grad=True))  # which has a history again, and so has its view
    v.mul_(2.0)
    assert y.tolist() == [3.0, 6.0, 6.0, 6.0]
