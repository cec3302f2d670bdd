"""vmap: which arguments are mapped, where results go, what is refused, and random numbers."""

from __future__ import annotations

from collections import namedtuple
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import tape
from tape.autograd import forward_ad, functional
from tape.func import vmap
from tape.recording.level import active

X = tape.arange(6.0).reshape(3, 2)
Y = tape.tensor([1.0, -2.0, 0.5])
Pair = namedtuple("Pair", "a b")


def test_tape_has_it_too():
    assert tape.vmap is vmap
    assert vmap(lambda x: x, 0).__name__ == "vmap(<lambda>)"


@pytest.mark.parametrize(
    ("in_dims", "args", "expected"),
    [
        (0, (X, X), X + X),
        ((0, None), (X, X[0]), X + X[0]),
        ((0, None), (X, 2.0), X + 2.0),
        ((-1, 0), (X.T, X), X + X),
        ((1, -2), (X.T, X), X + X),
    ],
)
def test_in_dims(in_dims, args, expected):
    assert_array_equal(vmap(lambda x, y: x + y, in_dims=in_dims)(*args), expected)


def test_in_dims_are_built_like_the_arguments_or_their_containers():
    assert_array_equal(vmap(lambda p: p.a + p.b, in_dims=(Pair(0, None),))(Pair(X, X[0])), X + X[0])
    product = vmap(lambda d: d["x"] * d["y"][0], in_dims=({"y": None, "x": 1},))
    assert_array_equal(product({"x": X.T, "y": [Y[1]]}), -2 * X)
    assert_array_equal(vmap(lambda d, s: d["x"] + s, in_dims=(0, None))({"x": X}, 1.0), X + 1)


def test_arguments_by_name_are_not_mapped():
    assert vmap(lambda x, b=None: x + b)(X, b=X).shape == (3, 3, 2)


def test_out_dims():
    assert vmap(lambda x: x, out_dims=-1)(X).shape == (2, 3)
    assert vmap(lambda x: x, out_dims=(1,))(X).shape == (2, 3)
    first, second = vmap(lambda x: [x, (x, x)], out_dims=[0, (1, 0)])(X)
    assert (first.shape, second[0].shape, second[1].shape) == ((3, 2), (2, 3), (3, 2))
    kept, word = vmap(lambda x: (x, "word"), out_dims=(0, None))(X)
    assert (kept.shape, word) == ((3, 2), "word")
    assert vmap(lambda x: Y, out_dims=None)(X) is Y
    assert_array_equal(vmap(lambda x: Y)(X), np.tile(Y.numpy(), (3, 1)))
    assert vmap(lambda x: ())(X) == ()
    assert vmap(tape.sin)(tape.ones(0, 2)).shape == (0, 2)
    assert vmap(lambda x, i: tape.isin(x, i))(tape.ones(0, 2), tape.ones(0, 4)).dtype == bool


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: vmap(tape.sin, in_dims="a")(X), ValueError, "expected `in_dims` to be int"),
        (lambda: vmap(tape.add, in_dims=[0, 0])(X, X), ValueError, "expected `in_dims` to be int"),
        (lambda: vmap(tape.add, in_dims=(0,))(X, X), ValueError, "not compatible with the structure of `inputs`"),
        (lambda: vmap(len, in_dims=([0, 0],))((X, X)), ValueError, "not compatible with the structure"),
        (lambda: vmap(len, in_dims=({"x": 0},))({"y": X}), ValueError, "not compatible with the structure"),
        (lambda: vmap(tape.add, in_dims=(0, 0.5))(X, X), ValueError, "Got in_dim=0.5"),
        (lambda: vmap(tape.add, in_dims=(None, None))(X, X), ValueError, "at least one Tensor to vmap over"),
        (lambda: vmap(lambda: X)(), ValueError, "got no inputs"),
        (lambda: vmap(tape.sin, in_dims=2)(X), ValueError, "-2 <= in_dim < 2"),
        (lambda: vmap(tape.sin)(tape.tensor(1.0)), ValueError, "dimensionality 0"),
        (lambda: vmap(tape.add)(X, Y[:2]), ValueError, r"same size in the mapped dimension, got sizes \[3, 2\]"),
        (lambda: vmap(tape.mul)(X, 2.0), ValueError, "Say None for it"),
        (lambda: vmap(lambda x: 1)(X), ValueError, "must only return Tensors, got type <class 'int'>"),
        (lambda: vmap(lambda x: None)(X), ValueError, "must only return Tensors"),
        (lambda: vmap(lambda x: x, out_dims=None)(X), ValueError, "not return a BatchedTensor when out_dim is None"),
        (lambda: vmap(lambda x: (x, x), out_dims=(0,))(X), ValueError, "structure of `outputs`"),
        (lambda: vmap(lambda x: x, out_dims=(0, 0))(X), ValueError, "structure of `outputs`"),
        (lambda: vmap(lambda x: x, out_dims=0.5)(X), ValueError, "must be an int, None"),
        (lambda: vmap(lambda x: x, out_dims=2)(X), IndexError, "Dimension out of range"),
        (lambda: vmap(tape.sin, chunk_size=0)(X), ValueError, "chunk_size should be None or greater than 0"),
        (lambda: vmap(tape.sin, randomness="some")(X), RuntimeError, "'error', 'different' and 'same'; got 'some'"),
        (lambda: vmap(lambda x: x if x.sum() > 0 else -x)(X), RuntimeError, r"data-dependent (.|\n)*tape.where"),
        (lambda: vmap(lambda x: x.sum().item())(X), RuntimeError, r"item\(\) on a Tensor"),
        (lambda: vmap(lambda x: float(x[0]))(X), RuntimeError, r"float\(\)"),
        (lambda: vmap(lambda x: int(x[0]))(X), RuntimeError, r"int\(\)"),
        (lambda: vmap(lambda x: x.tolist())(X), RuntimeError, r"tolist\(\)"),
        (lambda: vmap(lambda x: x.numpy())(X), RuntimeError, r"numpy\(\)"),
        (lambda: vmap(lambda x: np.linalg.matrix_rank(x))(X), TypeError, "no rule for tensors"),
        (lambda: vmap(lambda x: 1.0 in x)(X), RuntimeError, "differ from lane to lane"),
        (lambda: vmap(lambda x: range(x[0].long()))(X), RuntimeError, "differ from lane to lane"),
        (lambda: vmap(lambda x: x[x > 0])(X), RuntimeError, "boolean mask(.|\n)*tape.where"),
        (lambda: vmap(lambda x: x.nonzero())(X), RuntimeError, "differ from lane to lane"),
        (lambda: vmap(lambda x: x[[x[0].long(), 0]])(X), IndexError, "stack them"),
        (lambda: vmap(lambda x: x.sum(2))(X), np.exceptions.AxisError, "axis 2 is out of bounds for .* dimension 1"),
        (lambda: vmap(lambda x: x.sum(-2))(X), np.exceptions.AxisError, "axis -2 is out of bounds"),
        (lambda: vmap(lambda x: x.reshape(3))(X), RuntimeError, r"shape \(2,\) has 2 elements"),
        (lambda: vmap(lambda x: x.requires_grad_())(X), RuntimeError, "requires_grad_"),
    ],
)  # fmt: skip
def test_refused(call, error, text):
    with pytest.raises(error, match=text):
        call()
    assert_array_equal(vmap(lambda x: x + 1)(X), X + 1)  # and nothing is left behind


def test_chunks_and_their_last_one():
    for size in (1, 2, 3, 4):
        z, w = vmap(lambda x: (x * 2, {"s": x.sum()}), chunk_size=size, out_dims=(1, 0))(X)
        assert_array_equal(z, 2 * X.T)
        assert_array_equal(w["s"], X.sum(1))


def test_what_a_lane_looks_like():
    seen = []
    vmap(lambda x: seen.extend([x.shape, x.ndim, len(x), x.dtype, x.numel(), repr(x)]) or x)(X)
    assert seen[:5] == [(2,), 1, 2, np.float64, 2]
    assert seen[5].startswith("batched(tensor([[0., 1.]")
    assert [tuple(row.shape) for row in vmap(lambda x: tuple(x))(X)] == [(3,), (3,)]


def test_a_tensor_that_escapes_is_the_batch():
    escaped = []
    vmap(lambda x: escaped.append(x) or x)(X)
    assert_array_equal(escaped[0] * 2, X * 2)
    assert_array_equal(escaped[0].numpy(), X)
    assert escaped[0].shape == (3, 2)
    assert repr(escaped[0]) == repr(X)


def test_numpy_functions_and_arrays_take_part():
    a = np.array([10.0, 20.0])
    assert_array_equal(vmap(lambda x: np.maximum(a * x, np.sin(x)).sum())(X), (a * X.numpy()).sum(1))
    assert_array_equal(vmap(lambda x: np.concatenate([x, a]))(X)[:, 2:], np.tile(a, (3, 1)))


def test_random_numbers():
    with pytest.raises(RuntimeError, match="called random operation while in randomness error mode"):
        vmap(lambda x: x + tape.randn(2))(X)
    for draw in (
        tape.rand, tape.randn, tape.randperm, lambda n: tape.randint(10**9, (n,)), lambda n: tape.rand_like(X[0]),
        lambda n: tape.normal(0.0, 1.0, (n,)),
    ):  # fmt: skip
        same = vmap(lambda x, draw=draw: draw(20), randomness="same")(X)
        assert_array_equal(same[0], same[1])
        assert same.shape[0] == 3
        rows = vmap(lambda x, draw=draw: draw(20), randomness="different")(X).numpy()
        assert not (rows[0] == rows[1]).all()
    tape.manual_seed(3)
    in_chunks = vmap(lambda x: tape.randn(2), randomness="same", chunk_size=1)(X)
    assert_array_equal(in_chunks[0], in_chunks[2])


def test_random_numbers_in_nested_maps():
    inner = vmap(lambda y: tape.randn(()), randomness="different")
    shared = vmap(inner, randomness="same")(X)
    assert_array_equal(shared[0], shared[1])
    assert shared[0, 0] != shared[0, 1]
    assert len(set(vmap(inner, randomness="different")(X).numpy().ravel())) == 6
    with pytest.raises(RuntimeError, match="randomness"):
        vmap(inner)(X)


def test_new_tensors_after_batched_ones_have_lanes():
    def fill(x):
        z, w = tape.zeros_like(x), x.new_full((2, 2), 1.0)
        z += x
        w[0] = x
        return z, w, tape.full_like(x, 7.0)

    z, w, sevens = vmap(fill)(X)
    assert_array_equal(z, X)
    assert_array_equal(w[:, 0], X)
    assert_array_equal(w[:, 1], tape.ones(3, 2))
    assert_array_equal(sevens, tape.full((3, 2), 7.0))


@pytest.mark.parametrize(
    "change",
    [lambda z, x: z.add_(x), lambda z, x: z.copy_(x), lambda z, x: z.__setitem__(0, x[0]), lambda z, x: z.fill_(x[0])],
)
def test_what_all_lanes_share_cannot_hold_what_differs(change):
    with pytest.raises(RuntimeError, match="inplace arithmetic is not possible"):
        vmap(lambda x: change(tape.zeros(2), x) or x)(X)


def test_in_place_changes_of_arguments_are_seen_outside():
    x = X.clone()
    vmap(lambda a, b: a.mul_(b).add_(1.0))(x, X)
    assert_array_equal(x, X * X + 1)


def test_masked_assignment():
    def clipped(x):
        x = x.clone()
        x[x > 2] = -1.0
        x[tape.tensor([True, False])] += 10.0
        return x

    assert_array_equal(vmap(clipped)(X), [[10.0, 1.0], [12.0, -1.0], [9.0, -1.0]])


def test_plain_reverse_mode_within():
    """autograd.grad of what the map itself has made; what is shared needs tape.func."""
    x, w = X.clone().requires_grad_(), tape.ones(2, requires_grad=True)
    rows = vmap(lambda a: tape.autograd.grad((a**3).sum(), a)[0])(x)
    assert_allclose(rows.detach(), 3 * X**2)
    with pytest.raises(RuntimeError, match="lanes' parts of the gradient have been added up"):
        vmap(lambda a: tape.autograd.grad((w * a).sum(), w)[0])(x)
    with pytest.raises(RuntimeError, match="not have been used"):
        vmap(lambda a: tape.autograd.grad((a * 2).sum(), w)[0])(x)
    with pytest.raises(RuntimeError, match="backward"):
        vmap(lambda a: (w * a).sum().backward())(x)


def test_hooks_see_the_lanes():
    seen = []

    def f(x):
        y = x * 2
        y.register_hook(lambda g: seen.append(g.shape) or g * 10)
        return (y * y).sum()

    x = X.clone().requires_grad_()
    vmap(f)(x).sum().backward()
    assert_array_equal(x.grad, 80 * X)
    assert seen == [(2,)]
    assert_array_equal(vmap(tape.func.grad(f))(X), 80 * X)


def test_duals_by_hand():
    """The level outside, the duals made in each lane or around the whole batch."""
    cosine = np.cos(X)
    with forward_ad.dual_level():
        moving = forward_ad.make_dual(X, X * 2)
        assert_allclose(forward_ad.unpack_dual(vmap(tape.sin)(moving)).tangent, cosine * 2 * X)

        def push(x, v):
            z, z_dot = forward_ad.unpack_dual(forward_ad.make_dual(x, v).sin())
            assert z.shape == z_dot.shape == (2,)
            return z_dot

        assert_allclose(vmap(push)(X, X), cosine * X)
        assert_allclose(vmap(push, in_dims=(None, 0))(X[1], tape.eye(2)), np.diag(cosine[1]))
        assert vmap(lambda x: (x, forward_ad.unpack_dual(x).tangent), out_dims=(0, None))(X)[1] is None
        with pytest.raises(RuntimeError, match="already has a forward gradient at the same level"):
            vmap(lambda x: forward_ad.make_dual(forward_ad.make_dual(x, x), x))(X)


def test_functional_within():
    f = lambda x: (x**3).sum()  # noqa: E731
    assert_allclose(vmap(lambda x: functional.jacobian(f, x))(X), 3 * X**2)
    assert_allclose(vmap(lambda x: functional.hvp(f, x, x)[1])(X), 6 * X**2)
    assert_allclose(vmap(lambda x: functional.hessian(f, x))(X)[2], np.diag(6 * X[2]))
    assert_allclose(vmap(lambda x: functional.vjp(lambda w: w * x, X[0], x)[1])(X), X * X)


def test_the_state_of_a_batched_tensor():
    def look(x):
        assert (x.is_leaf, x.requires_grad, x.grad) == (True, True, None)
        assert (x.is_contiguous(), x.contiguous().shape) == (True, (2,))
        assert (x.stride(), x._version, (x * 2).grad_fn.name()) == ((1,), 0, "MulBackward0")
        return x.detach()

    assert not vmap(look)(X.clone().requires_grad_()).requires_grad


def test_threads_do_not_see_each_others_maps():
    def work(k):
        return vmap(tape.func.grad(lambda x: (x**k).sum()))(X), list(active())

    with ThreadPoolExecutor(4) as pool:
        for k, (found, batches) in zip(range(1, 20), pool.map(work, range(1, 20))):
            assert_allclose(found, k * X ** (k - 1))
            assert batches == []


def test_an_exception_leaves_the_map():
    with pytest.raises(ZeroDivisionError):
        vmap(lambda x: vmap(lambda y: 1 / 0)(x))(X)
    assert active() == []
    assert tape.randn(2).shape == (2,)


def test_gather_with_an_index_in_lanes():
    a, j = np.arange(12.0).reshape(3, 4), np.array([[0, 1], [3, 3], [2, 0]])
    found = tape.vmap(lambda x, i: x.gather(0, i))(tape.tensor(a), tape.tensor(j))
    np.testing.assert_array_equal(found.numpy(), np.take_along_axis(a, j, axis=1))


@pytest.mark.parametrize("constant", [np.ones((2, 3)), np.arange(6.0).reshape(2, 3).T, np.float64(2.0), np.zeros(0)])
@pytest.mark.parametrize("n", [1, 3])
def test_arrays_that_are_the_same_in_all_lanes_have_memory_of_their_own(constant, n):
    def f(x):
        return tape.func.vmap(lambda x: constant)(x)

    compiled = tape.compile(f)
    for found in (f(np.ones(n)), compiled(np.ones(n)), compiled(np.ones(n))):
        np.testing.assert_array_equal(found, np.stack([constant] * n))
        assert found.flags.c_contiguous
        found[...] = 7.0
        assert not np.any(constant == 7.0)
