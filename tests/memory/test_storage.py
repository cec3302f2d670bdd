"""The memory of tensors: other strides, other sizes, other memory."""

import numpy as np
import pytest

import tape
from tape.autograd import grad, gradcheck

X = np.arange(12.0).reshape(3, 4)


def strided(x, size, stride, start):
    return np.lib.stride_tricks.as_strided(x.reshape(-1)[start:], size, [8 * s for s in stride])


@pytest.mark.parametrize(("size", "stride", "start"), [((2, 3), (4, 1), 1), ((3, 2), (1, 1), 0), ((2,), (0,), 5)])
def test_as_strided_reads_the_memory_and_adds_what_it_reads_twice(size, stride, start):
    x = tape.tensor(X, requires_grad=True)
    y = x.as_strided(size, stride, start)
    assert np.array_equal(y.detach().numpy(), strided(X, size, stride, start))
    assert (y._base is x, y.storage_offset(), y.grad_fn.name()) == (True, start, "AsStridedBackward0")
    w = np.random.default_rng(0).standard_normal(size)
    expected = np.zeros_like(X)
    np.add.at(expected.reshape(-1), strided(np.arange(12.0).reshape(3, 4), size, stride, start).astype(int), w)
    assert np.allclose(grad(y, x, tape.tensor(w))[0].numpy(), expected)


def test_as_strided_of_a_view_counts_in_the_memory_of_the_base():
    x = tape.tensor(X, requires_grad=True)
    assert x.T.as_strided((2,), (1,)).tolist() == [0.0, 1.0]
    assert x[1:].as_strided((2,), (1,)).tolist() == [4.0, 5.0]
    assert x[1:].as_strided((2,), (1,), 0).tolist() == [0.0, 1.0]
    assert gradcheck(lambda x: (x[1:] ** 2).T.as_strided((2, 2), (1, 2), 1), (x,))
    with pytest.raises(RuntimeError, match=r"can access memory outside of `tensor`.* element 12; the tensor has 12"):
        x.as_strided((2,), (12,))
    with pytest.raises(RuntimeError, match="a stride of 0 or more for each size"):
        x.as_strided((2,), (1, 1))


def test_as_strided_counts_the_elements_of_a_lane_or_of_a_tensor_that_moves():
    rows = tape.tensor(np.arange(8.0).reshape(2, 4))
    assert tape.vmap(lambda x: x.as_strided((2, 2), (1, 1), 1))(rows).tolist() == [
        [[1.0, 2.0], [2.0, 3.0]], [[5.0, 6.0], [6.0, 7.0]],
    ]  # fmt: skip
    _, moved = tape.func.jvp(lambda x: x.as_strided((2,), (2,)), (rows[0],), (rows[1],))
    assert moved.tolist() == [4.0, 6.0]
    with pytest.raises(RuntimeError, match="can access memory outside of `tensor`"):
        tape.vmap(lambda x: x.as_strided((5,), (1,)))(rows)


def test_in_place_changes_through_as_strided_reach_the_base():
    x = tape.tensor(X, requires_grad=True)
    y = x * 1.0
    y.as_strided((2, 2), (4, 1), 1).mul_(10.0)
    expected = np.ones_like(X)
    expected[:2, 1:3] = 10.0
    assert np.array_equal(grad(y.sum(), x)[0].numpy(), expected)


@pytest.mark.parametrize(
    "change", [lambda y: y.as_strided_((2, 2), (1, 4), 1), lambda y: y.t_(), lambda y: y.unsqueeze_(0)]
)
def test_a_new_shape_is_part_of_the_history_under_no_grad_too(change):
    x = tape.tensor(X, requires_grad=True)
    y = x * 2.0
    with tape.no_grad():
        change(y)
    same = change(tape.tensor(X))
    assert (y.shape, y._is_view(), y.requires_grad, y._version) == (same.shape, False, True, 1)
    y.mul_(3.0)
    expected = np.zeros_like(X)
    expected.reshape(-1)[same.numpy().astype(int).reshape(-1)] = 6.0
    assert np.array_equal(grad(y.sum(), x)[0].numpy(), expected)


def test_a_view_that_gets_another_shape_is_a_view_of_the_same_base():
    x = tape.tensor(X, requires_grad=True)
    y = x * 2.0
    v = y[1:]
    v.t_()
    v.as_strided_((2,), (5,))
    assert v._base is y
    v.mul_(0.0)
    expected = np.full_like(X, 2.0)
    expected.reshape(-1)[[4, 9]] = 0.0
    assert np.array_equal(grad(y.sum(), x)[0].numpy(), expected)


def test_an_inference_tensor_keeps_its_shape_outside():
    with tape.inference_mode():
        x = tape.ones(1, 2)
    for change in (lambda: x.t_(), lambda: x.resize_(1), lambda: x.set_(tape.ones(1))):
        with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode"):
            change()


def test_resize_goes_on_with_the_numbers_of_the_memory():
    x = tape.tensor([1.0, 2.0, 3.0])
    assert x.resize_(2) is x
    assert (x.tolist(), x._version) == ([1.0, 2.0], 1)
    x.resize_as_(tape.zeros(2, 2))
    assert (x.tolist(), x._version) == ([[1.0, 2.0], [3.0, 0.0]], 2)
    x.resize_(2, 2)
    assert x._version == 2
    x.add_(1)
    assert x.tolist() == [[2.0, 3.0], [4.0, 1.0]]


def test_resize_is_refused_where_gradients_or_views_would_not_fit():
    with pytest.raises(RuntimeError, match="cannot resize variables that require grad"):
        tape.ones(2, requires_grad=True).resize_(3)
    x = tape.ones(2)
    v = x[:1]
    with pytest.raises(RuntimeError, match="memory that other tensors or arrays look at cannot grow"):
        x.resize_(3)
    assert v.resize_(2).tolist() == [1.0, 1.0]


MADE = {
    "made": lambda: tape.ones(4),
    "computed": lambda: tape.ones(4) * 2,
    "summed": lambda: tape.ones(3, 4).sum(0),
    "multiplied": lambda: tape.ones(3, 3) @ tape.ones(3, 3),
    "a number": lambda: tape.tensor(3.0),
    "of an array": lambda: tape.from_numpy(np.ones(3)),
    "grown": lambda: tape.ones(2).resize_(4),
    "shrunk": lambda: tape.ones(6).resize_(4),
}
SHARED = {
    "array": lambda x: x.numpy(),
    "asarray": np.asarray,
    "part": lambda x: x.numpy().reshape(-1)[:1],
    "tensor of the array": lambda x: tape.from_numpy(x.numpy()),
    "detached": lambda x: x.detach(),
}


@pytest.mark.parametrize("share", SHARED.values(), ids=SHARED)
@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_memory_grows_only_where_nothing_else_looks_at_it(make, share):
    x = make()
    size = x.numel()
    other = share(x)
    with pytest.raises(RuntimeError, match="cannot grow"):
        x.resize_(size + 9)
    assert x.numel() == size
    del other
    assert x.resize_(size + 9).tolist()[:size] == make().reshape(-1).tolist()


def test_what_records_saved_stays_when_memory_grows():
    x, w = tape.tensor([2.0, 3.0]), tape.ones(2, requires_grad=True)
    y = (x * w).sum()
    x.resize_(4)
    x.zero_()
    y.backward()
    assert w.grad.tolist() == [2.0, 3.0]


def test_memory_that_nothing_else_holds_grows_without_a_look_through_the_records(monkeypatch):
    monkeypatch.setattr("tape.memory.storage._times_saved", lambda array: pytest.fail("it went through all records"))
    x = tape.ones(2)
    for size in range(3, 6):
        assert x.resize_(size).numel() == size


def test_set_shares_the_memory_of_the_source():
    x, y = tape.zeros(3, requires_grad=True), tape.ones(2)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        x.set_(y)
    with tape.no_grad():
        x.set_(y)
    y.add_(1)
    assert (x.tolist(), x.requires_grad, x._version) == ([2.0, 2.0], True, 2)
    (x * x).sum().backward()
    assert x.grad.tolist() == [4.0, 4.0]
    with pytest.raises(RuntimeError, match="needs a source of the tensor's dtype"):
        y.set_(tape.ones(2, dtype=tape.float32))
    assert y.set_().shape == (0,)


def test_the_count_of_changes_goes_on_when_other_memory_is_put_under():
    x = tape.ones(1, 2)
    x.add_(1).add_(1)
    v = x[:]
    x.data = tape.zeros(2, 3)
    assert x._version == 2
    x.add_(1)
    assert (x._version, v._version) == (3, 3)
    v.add_(1)
    assert (x._version, v._version) == (4, 4)
    assert (x.sum().item(), v.sum().item()) == (6.0, 8.0)


def test_unsafe_parts_may_be_changed():
    x = tape.tensor(X, requires_grad=True)
    for parts in (
        lambda y: y.unsafe_split(1),
        lambda y: y.unsafe_split_with_sizes((1, 2)),
        lambda y: y.unsafe_chunk(2),
    ):
        y = x * 1.0
        first, second = parts(y)[:2]
        first[:1].mul_(second[:1])
        row = len(first)
        expected = np.array([[0.0] * 4] * 3)
        expected[:row] = 1.0
        expected[[0, row]] = X[[row, 0]]
        assert np.array_equal(grad(first.sum(), x)[0].numpy(), expected)


def test_new_makes_tensors_of_the_same_dtype():
    x = tape.ones(1, dtype=tape.int32)
    assert (x.new(2, 3).shape, x.new(2).dtype, x.new([1, 2]).tolist(), x.new(x.size()).shape) == (
        (2, 3), tape.int32, [1, 2], (1,),
    )  # fmt: skip


def test_whose_memory_a_tensor_looks_at():
    x = tape.zeros(2, 3)
    row, column = x[1], x[:, 1:2]
    for view in (row, column, x.detach(), x.T):
        assert view.storage().data_ptr() == x.untyped_storage().data_ptr() == x.data_ptr()
        assert len(view.storage()) == view.storage().size() == 6
        assert view.untyped_storage().nbytes() == view.untyped_storage().size() == 48
    row.add_(1.0)
    assert column.storage().tolist() == [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]
    assert x.clone().storage().data_ptr() != x.storage().data_ptr()
    with tape.autograd.forward_ad.dual_level():
        dual = tape.autograd.forward_ad.make_dual(x, tape.ones(2, 3))
        assert dual.storage().data_ptr() == x.storage().data_ptr()


WINDOWS = {
    "as_strided": lambda t: t.as_strided((2,), (1,)),
    "as_strided of a view": lambda t: t[1:].as_strided((2,), (1,), 0),
    "as_strided of a view, from where it begins": lambda t: t[1:].as_strided((2,), (1,)),
    "unfold": lambda t: t.unfold(0, 2, 1)[0],
}


def changed_through(look):
    def f(x):
        t = x * 1
        look(t).mul_(x[0])
        return (t**2).sum()

    return f


def changed_below(look):
    """The tensor begins to move, in lanes that are made for it, before the view is taken."""

    def f(x):
        t = tape.full([3], 1.5, dtype=x.dtype)
        t[0] = x.sum()
        seen = look(t)
        t.sin_()
        return (seen * (tape.arange(2.0) + 1.0)).sum() + t.prod()

    return f


@pytest.mark.parametrize("changed", [changed_through, changed_below])
@pytest.mark.parametrize("name", WINDOWS)
def test_a_window_on_lanes_or_on_what_moves_is_a_view(name, changed):
    f, x = changed(WINDOWS[name]), np.array([1.0, 2.0, 0.3])
    value = lambda v: f(tape.tensor(v)).item()  # noqa: E731
    expected = [(value(x + e) - value(x - e)) / 2e-6 for e in 1e-6 * np.eye(3)]
    assert np.allclose(tape.func.jacfwd(f)(tape.tensor(x)).numpy(), expected, atol=1e-7)
    if changed is changed_through:
        rows = np.stack([x, x + 0.1, x - 0.2])
        assert np.allclose(tape.func.grad(f)(tape.tensor(x)).numpy(), expected, atol=1e-7)
        assert np.allclose(tape.vmap(f)(tape.tensor(rows)).numpy(), [value(v) for v in rows])
        assert np.allclose(tape.vmap(tape.func.grad(f))(tape.tensor(rows)).numpy()[0], expected, atol=1e-7)


def test_a_window_on_lanes_that_do_not_lie_in_order_cannot_be_written():
    turned = tape.tensor(np.arange(24.0).reshape(2, 3, 4))
    lanes = tape.vmap(lambda x: x.as_strided((2, 2), (4, 1)) * 1, in_dims=2)(turned.transpose(0, 1))
    assert lanes.shape == (4, 2, 2)

    def write(x):
        x.as_strided((2,), (1,)).mul_(2.0)
        return x

    with pytest.raises(RuntimeError, match=r"read-only, .* does not lie in order"):
        tape.vmap(write, in_dims=2)(turned.transpose(0, 1))
