"""Making tensors, reading them, and what Python and the PyTorch spellings ask of them."""

import copy
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest

import tape


@pytest.mark.parametrize(
    ("data", "dtype"),
    [
        (1.5, "float64"),
        ([1, 2], "int64"),
        ([True], "bool"),
        (1j, "complex128"),
        (np.float32(1), "float32"),
        ([], "float64"),
        ([[1.0], [2.0]], "float64"),
        (np.arange(3, dtype=np.int16), "int16"),
    ],
)
def test_tensor_takes_the_dtype_of_its_data(data, dtype):
    made = tape.tensor(data)
    assert made.dtype == np.dtype(dtype)
    assert np.array_equal(made.numpy(), np.asarray(data))


def test_tensor_copies_and_from_numpy_shares():
    array = np.zeros(2)
    copied, shared, as_shared = tape.tensor(array), tape.from_numpy(array), tape.as_tensor(array)
    array[0] = 7.0
    assert (copied.tolist(), shared.tolist(), as_shared.tolist()) == ([0, 0], [7, 0], [7, 0])
    shared.fill_(3.0)
    assert array.tolist() == [3.0, 3.0]


def test_tensor_of_tensors():
    rows = [tape.tensor(1.0, requires_grad=True), tape.tensor(2.0)]
    with pytest.warns(UserWarning, match="as_tensor"):
        made = tape.tensor([rows, rows])
    assert made.tolist() == [[1.0, 2.0], [1.0, 2.0]]
    assert not made.requires_grad


def test_default_dtype_applies_to_python_numbers_only():
    tape.set_default_dtype(tape.float32)
    try:
        assert tape.tensor(1.0).dtype == tape.zeros(1).dtype == tape.float32
        assert tape.tensor(np.ones(1)).dtype == tape.float64
        assert tape.tensor(1j).dtype == tape.complex64
        assert repr(tape.tensor(1.0)) == "tensor(1.)"
    finally:
        tape.set_default_dtype(tape.float64)


def test_old_constructors():
    assert tape.FloatTensor([1, 2]).dtype == tape.float32
    assert tape.LongTensor([1, 2]).dtype == tape.int64
    assert tape.DoubleTensor(2, 3).shape == (2, 3)
    assert tape.Tensor(2, 3).shape == (2, 3)
    assert tape.Tensor([2, 3]).tolist() == [2.0, 3.0]
    assert isinstance(tape.ones(1, dtype=tape.float32), tape.FloatTensor)
    assert not isinstance(tape.ones(1), tape.FloatTensor)


@pytest.mark.parametrize("name", ["zeros", "ones", "empty", "rand", "randn"])
def test_factories(name):
    factory, like = getattr(tape, name), getattr(tape, f"{name}_like")
    assert factory(2, 3).shape == factory((2, 3)).shape == factory(tape.zeros(2, 3).shape).shape == (2, 3)
    assert factory(()).shape == ()
    with tape.no_grad():
        assert factory(2, requires_grad=True).requires_grad
    assert like(tape.ones(4, dtype=tape.float32)).dtype == tape.float32


def test_sequences():
    assert tape.arange(1, 7, 2).tolist() == [1, 3, 5]
    assert tape.linspace(0, 1, 3).tolist() == [0.0, 0.5, 1.0]
    assert tape.eye(2).tolist() == [[1, 0], [0, 1]]
    assert tape.full((2,), 3.5).tolist() == [3.5, 3.5]
    assert tape.full_like(tape.ones(1, dtype=tape.float32), 2).dtype == tape.float32


def test_seeded_numbers_repeat():
    tape.manual_seed(3)
    first = tape.randn(4), tape.randint(0, 9, (3,)), tape.randperm(5)
    tape.manual_seed(3)
    second = tape.randn(4), tape.randint(0, 9, (3,)), tape.randperm(5)
    assert all(tape.equal(a, b) for a, b in zip(first, second))


def test_data_shares_memory_without_history():
    x = tape.tensor(2.0, requires_grad=True)
    x.data.fill_(5.0)
    assert (x.item(), x.requires_grad, x._version) == (5.0, True, 0)
    x.data = tape.ones(3)
    assert x.shape == (3,)
    (x * x).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0, 2.0]


def test_detach_shares_memory_and_version():
    x = tape.ones(2, requires_grad=True)
    twin = (x * 1).detach()
    y = x.detach()
    y.add_(1.0)
    assert x.tolist() == [2.0, 2.0]
    assert (x._version, y._version, twin._version) == (1, 1, 0)
    view = y[:1]
    view.zero_()
    assert (x.tolist(), x._version) == ([0.0, 2.0], 2)


def test_detach_in_place():
    x = tape.ones(2, requires_grad=True)
    y = x * 2
    assert y.detach_() is y
    assert y.is_leaf
    assert not y.requires_grad


X = np.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize(
    ("compute", "is_view"),
    [
        (lambda x: x[0], True),
        (lambda x: x[:, 1:], True),
        (lambda x: x.T, True),
        (lambda x: x.reshape(3, 2), True),
        (lambda x: x.unsqueeze(0), True),
        (lambda x: x.expand(4, 2, 3), True),
        (lambda x: x.split(1)[0], True),
        (lambda x: x.unbind()[1], True),
        (lambda x: x.clone(), False),
        (lambda x: x[[0, 1]], False),
        (lambda x: x[:, [0, 2]], False),
        (lambda x: x.softmax(0), False),
        (lambda x: x.max(0)[0], False),
        (lambda x: x.sum(0, keepdim=True), False),
        (lambda x: tape.einsum("ij->ji", x), True),
        (lambda x: tape.einsum("ij->j", x), False),
        (lambda x: x * 2, False),
    ],
)
def test_views_are_told_by_the_op(compute, is_view):
    z = compute(tape.tensor(X, requires_grad=True))
    assert z._is_view() is is_view
    if not is_view:
        assert z.detach_() is z
        assert z.is_leaf


def test_the_base_of_a_view():
    x = tape.tensor(X, requires_grad=True)
    assert x.T[0]._base is x
    assert x.split(1)[1]._base is x
    assert ((x * 2)._base, x._base, x.clone()._base) == (None, None, None)
    y = x * 2
    base = y.T[1:]._base
    assert base.grad_fn is y.grad_fn
    assert np.shares_memory(base.detach().numpy(), y.detach().numpy())
    np.testing.assert_array_equal(base.detach().numpy(), 2 * X)


def test_a_copy_without_history_is_no_view():
    x = tape.tensor(X)
    assert (x.clone()._is_view(), x[0]._is_view()) == (False, True)


def test_parameters_step_under_no_grad():
    w = tape.ones(2, requires_grad=True)
    for _ in range(3):
        (w * w).sum().backward()
        with tape.no_grad():
            before = w
            w -= 0.25 * w.grad
            w.grad.zero_()
        assert before is w
    assert w.tolist() == [0.125, 0.125]
    assert w._version == 3


def test_in_place_on_plain_tensors():
    x = tape.zeros(2, 2)
    x[0] = tape.tensor([1.0, 2.0])
    x[x == 0] = 5.0
    x += 1
    x.mul_(2).clamp_(max=10.0)
    assert x.tolist() == [[4.0, 6.0], [10.0, 10.0]]
    assert x.copy_(tape.ones(2)).tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_python_numbers():
    x = tape.tensor([3])
    assert (float(x), int(x), bool(x), x.item(), [0, 1, 2, 9][x]) == (3.0, 3, True, 3, 9)
    assert f"{tape.tensor(2.5):.2f}" == "2.50"


def put(t):
    np.zeros(2)[0] = t


@pytest.mark.parametrize("convert", [float, int, complex, np.float64, math.exp, put])
def test_a_number_without_its_history_warns(convert):
    x = tape.tensor([1.0], requires_grad=True)
    for t in (x[0], x * 2):
        if t.ndim and convert in (np.float64, put):
            continue
        with pytest.warns(UserWarning, match="no gradient flows") as caught:
            convert(t)
        assert [w.filename for w in caught] == [__file__]
    convert(x.detach()[0])
    assert (x.item(), bool(x), f"{x[0]:.1f}") == (1.0, True, "1.0")


def test_python_sequences():
    x = tape.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    assert len(x) == 2
    assert [row.tolist() for row in x] == [[1.0, 2.0], [3.0, 4.0]]
    assert 3.0 in x
    assert 5.0 not in x
    first, second = x
    (first * second).sum().backward()
    assert x.grad.tolist() == [[3.0, 4.0], [1.0, 2.0]]


def test_hash_is_identity():
    x = tape.ones(1)
    assert {x: 1}[x] == 1
    assert hash(x) != hash(tape.ones(1))


@pytest.mark.parametrize("requires_grad", [False, True])
def test_pickle_keeps_requires_grad(requires_grad):
    x = tape.tensor([1.0, 2.0], requires_grad=requires_grad)
    y = pickle.loads(pickle.dumps(x * 1))
    assert (y.tolist(), y.requires_grad, y.is_leaf) == ([1.0, 2.0], requires_grad, True)


def test_deepcopy_of_a_leaf():
    x = tape.tensor([1.0], requires_grad=True)
    (x * 2).sum().backward()
    y, again = copy.deepcopy([x, x])
    assert y is again
    assert y.requires_grad
    y.detach().zero_()
    y.grad.zero_()
    assert (x.tolist(), x.grad.tolist()) == ([1.0], [2.0])


def test_numpys_transpose_is_permute():
    x = tape.zeros(2, 3, 4)
    for call in (x.transpose, lambda *axes: tape.transpose(x, *axes), x.swapaxes):
        with pytest.raises(TypeError, match=r"exchanges two(.|\n)*got 3: \(2, 0, 1\)(.|\n)*\.permute\(2, 0, 1\)"):
            call(2, 0, 1)
    assert x.transpose((2, 0, 1)).shape == x.permute(2, 0, 1).shape == np.transpose(x, (2, 0, 1)).shape == (4, 2, 3)


def test_shapes_in_both_spellings():
    x = tape.arange(24.0).reshape(2, 3, 4)
    assert x.view(6, -1).shape == x.reshape((6, 4)).shape == (6, 4)
    assert x.permute(2, 0, 1).shape == x.transpose(0, 2).transpose(1, 2).shape == (4, 2, 3)
    assert x.sum(dim=1).tolist() == x.sum(axis=1).tolist() == tape.sum(x, 1).tolist()
    assert x.mean(dim=(0, 2), keepdim=True).shape == x.mean(axis=(0, 2), keepdims=True).shape == (1, 3, 1)
    assert x.mean(dim=[0, -1]).shape == (3,)
    assert x.unsqueeze(1).squeeze(1).shape == x.shape
    assert x.expand(5, -1, -1, -1).shape == (5, 2, 3, 4)
    assert x.flatten(start_dim=1).shape == (2, 12)
    assert [part.shape[1] for part in x.split(2, dim=1)] == [2, 1]
    assert [part.shape[2] for part in x.chunk(3, dim=2)] == [2, 2]
    assert len(x.unbind(2)) == 4
    assert tape.cat([x, x], dim=1).shape == (2, 6, 4)
    assert tape.stack((x, x), dim=-1).shape == (2, 3, 4, 2)
    assert x.repeat(1, 2, 1).shape == (2, 6, 4)
    assert x.T.shape == (4, 3, 2)
    assert x.mT.shape == (2, 4, 3)


def test_max_means_three_things():
    x = tape.tensor([[1.0, 5.0, 5.0], [4.0, 2.0, 0.0]], requires_grad=True)
    assert x.max().item() == 5.0
    values, indices = x.max(dim=1)
    assert (values.tolist(), indices.tolist()) == ([5.0, 4.0], [1, 0])
    values.sum().backward()
    assert x.grad.tolist() == [[0, 1, 0], [1, 0, 0]]
    assert tape.max(x, tape.full((2, 3), 3.0)).tolist() == [[3, 5, 5], [4, 3, 3]]
    assert np.max(x, axis=1).tolist() == [5.0, 4.0]


def test_norm_means_the_vector_norm_of_what_is_reduced():
    x = tape.tensor([[3.0, -4.0], [0.0, 12.0]])
    assert (x.norm().item(), x.norm(p=1).item(), tape.norm(x, p=float("inf")).item()) == (13.0, 19.0, 12.0)
    assert (x.norm(0).item(), x.norm(1, dim=(0, 1)).item()) == (3.0, 19.0)
    assert x.norm(p=1, dim=1, keepdim=True).tolist() == [[7.0], [12.0]]
    assert x.norm(1, [0, 1]).item() == 19.0
    assert np.linalg.norm(x, 1).item() == 16.0


def test_spread_in_both_spellings():
    x = tape.tensor([1.0, 2.0, 4.0])
    assert x.std().item() == pytest.approx(np.std([1, 2, 4], ddof=1))
    assert x.std(unbiased=False).item() == x.std(correction=0).item() == pytest.approx(np.std([1, 2, 4]))
    assert np.std(x).item() == pytest.approx(np.std([1, 2, 4]))


def test_numpys_names():
    x = tape.tensor([0.25, 0.5], requires_grad=True)
    for name, same in {
        "concatenate": "cat", "concat": "cat", "arcsin": "asin", "arccos": "acos", "arctan": "atan",
        "arctan2": "atan2", "multiply": "mul", "absolute": "abs", "true_divide": "div",
    }.items():  # fmt: skip
        assert getattr(tape, name) is getattr(tape, same)
    np.testing.assert_array_equal(x.arcsin().detach(), np.arcsin([0.25, 0.5]))
    assert (tape.multiply(x, 2.0).tolist(), x.cpu() is x) == ([0.5, 1.0], True)
    assert tape.concatenate([x, x]).grad_fn.name() == "CatBackward0"


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "exp", "maximum"])
def test_out(name):
    x, t = tape.tensor([1.0, 2.0]), tape.zeros(2)
    function, operands = getattr(tape, name), [x] if name == "exp" else [x, x + 1]
    assert function(*operands, out=t) is t
    assert t.tolist() == function(*operands).tolist()
    x.requires_grad_()
    with pytest.raises(RuntimeError, match=rf"{name}\(out=…\) does not record"):
        function(*operands, out=t)


def test_spellings_of_matrices():
    x = tape.arange(8.0).reshape(2, 2, 2)
    assert x.diagonal(dim1=1, dim2=2).tolist() == x.diagonal(0, 1, 2).tolist() == [[0.0, 3.0], [4.0, 7.0]]
    assert x.diagonal(axis1=1, axis2=2).tolist() == [[0.0, 3.0], [4.0, 7.0]]
    assert tape.diag_embed(tape.ones(1, 2), dim1=0, dim2=2).shape == (2, 1, 2)
    assert tape.einsum("i,i", [x[0, 0], x[0, 1]]).item() == 3.0
    assert tape.tensor([1.0, 3.0, 2.0, 3.0]).argsort(descending=True).tolist() == [1, 3, 2, 0]


def test_casts():
    x = tape.tensor([1.7, -1.7], requires_grad=True)
    assert x.float().dtype == tape.float32
    assert x.to(tape.ones(1, dtype=tape.float32)).dtype == tape.float32
    assert x.double() is x
    whole = x.long()
    assert (whole.tolist(), whole.requires_grad) == ([1, -1], False)
    x.float().sum().backward()
    assert x.grad.dtype == tape.float64


def test_indexing_reads_like_numpy():
    array = np.arange(24.0).reshape(2, 3, 4)
    x = tape.tensor(array)
    chosen = tape.tensor([2, 0])
    assert tape.equal(x[1], tape.tensor(array[1]))
    assert tape.equal(x[..., -1], tape.tensor(array[..., -1]))
    assert tape.equal(x[:, chosen], tape.tensor(array[:, [2, 0]]))
    assert tape.equal(x[x > 5], tape.tensor(array[array > 5]))
    assert tape.equal(x[None, :, 1::2], tape.tensor(array[None, :, 1::2]))


@pytest.mark.parametrize("wrap", [lambda i: i, tape.from_numpy])
@pytest.mark.parametrize("place", [lambda i: i, lambda i: (slice(None), i), lambda i: (i, slice(None))])
def test_an_index_may_change_after_it_was_used(wrap, place):
    x = tape.ones(3, 3, requires_grad=True)
    array = np.array([0, 1])
    y, expected = x[place(wrap(array))], np.zeros((3, 3))
    expected[place(np.array([0, 1]))] = 1.0
    array[:] = 2
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), expected)


def test_a_mask_may_change_after_it_was_used():
    x = tape.ones(3, requires_grad=True)
    mask = np.array([True, False, True])
    y = x[mask]
    mask[:] = [False, True, False]
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 0.0, 1.0]


def test_no_derivative_no_grad_fn():
    x = tape.tensor([1.0, 2.0], requires_grad=True)
    for result in (x > 1, x == x, x.argmax(), x.long(), x.isnan()):
        assert result.grad_fn is None
        assert not result.requires_grad


def test_fractions_are_numbers():
    x = tape.tensor([2.0], requires_grad=True)
    z = x * Fraction(1, 2) + Fraction(1, 4) / x
    z.sum().backward()
    assert (z.tolist(), x.grad.tolist(), (x ** Fraction(1, 2)).item()) == ([1.125], [0.4375], 2**0.5)


def test_out_takes_a_ufunc_of_a_number():
    t = tape.zeros(2)
    assert np.negative(2, out=t) is t
    assert t.tolist() == [-2.0, -2.0]


def test_splitting_nothing():
    assert [p.shape for p in tape.ones(0, 2).split(0)] == [(0, 2)]
