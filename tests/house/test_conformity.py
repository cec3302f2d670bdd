"""Details of PyTorch's behaviour that its users meet without thinking of them."""

import numpy as np
import pytest

import tape

X = tape.tensor(np.arange(6.0).reshape(2, 3))


@pytest.mark.parametrize(
    ("named", "plain"),
    [
        (lambda: tape.reshape(X, shape=(3, 2)), X.reshape(3, 2)),
        (lambda: X.view(size=(3, 2)), X.view(3, 2)),
        (lambda: tape.permute(X, dims=(1, 0)), X.T),
        (lambda: X.expand(size=(2, 2, 3)), X.expand(2, 2, 3)),
        (lambda: X.repeat(repeats=(1, 2)), X.repeat(1, 2)),
        (lambda: tape.tile(X, dims=(2,)), X.tile(2)),
        (lambda: tape.flip(X, dims=[0]), X.flip(0)),
        (lambda: tape.flatten(X, start_dim=0, end_dim=1), X.flatten()),
    ],
)
def test_sizes_by_name(named, plain):
    assert tape.equal(named(), plain)


def test_sizes_by_position_and_by_name_are_too_many():
    with pytest.raises(TypeError, match=r"not both; got \(3, 2\) and \(2, 3\)"):
        X.reshape(3, 2, shape=(2, 3))


def test_nothing_to_do_gives_the_tensor_itself():
    v = tape.ones(3, requires_grad=True)
    for same in (v.flatten(), v.flatten(0), v.flatten(-1, -1), +v, v.positive(), v.contiguous(), v.to("cpu"), v.cpu()):
        assert same is v
    assert X.flatten() is not X
    with pytest.raises(RuntimeError, match="needs numbers"):
        +tape.tensor([True])


def test_a_leaf_that_no_longer_requires_grad_gets_none():
    seen = []
    x, y = (tape.ones(2, requires_grad=True) for _ in range(2))
    z = (x * y).sum()
    y.register_hook(seen.append)
    x.requires_grad_(False)
    y.requires_grad_(False)
    z.backward()
    assert x.grad is None
    assert y.grad is None
    assert len(seen) == 1


@pytest.mark.parametrize("name", ["floor", "ceil", "round", "trunc", "sign"])
def test_a_gradient_that_is_zero_everywhere_depends_on_nothing(name):
    x, g = tape.tensor([1.3, -2.6], requires_grad=True), tape.ones(2, requires_grad=True)
    (bar,) = tape.autograd.grad(getattr(x, name)(), x, g, create_graph=True)
    assert not bar.requires_grad
    np.testing.assert_array_equal(bar.numpy(), [0, 0])


def test_decorating_a_class_warns():
    with pytest.warns(FutureWarning, match="Decorating classes is deprecated"):

        @tape.no_grad()
        class Maker:
            def __init__(self):
                self.recording = tape.is_grad_enabled()

            def method(self):
                return tape.is_grad_enabled()

    assert not Maker().recording
    assert Maker().method()


@pytest.mark.parametrize("name", ["var", "std"])
def test_spread_and_mean(name):
    both, alone = getattr(tape, f"{name}_mean"), getattr(tape, name)
    for args, kwargs in [((), {}), ((0,), {}), ((1, False), {}), ((), {"dim": (0, 1), "keepdim": True})]:
        spread, mean = both(X, *args, **kwargs)
        assert tape.equal(spread, alone(X, *args, **kwargs))
        assert mean.shape == spread.shape
    assert tape.equal(both(X, 0)[1], X.mean(0))


def test_cuts_of_one_axis():
    a, b = X.split_with_sizes([1, 2], 1)
    assert (a.shape, b.shape) == ((2, 1), (2, 2))
    assert X.unflatten(1, (3, -1)).shape == (2, 3, 1)
    with pytest.raises(RuntimeError, match=r"cannot cut dimension 1, of length 3, into \(2, 2\)"):
        X.unflatten(1, (2, 2))


def test_shapes_together():
    a, b = tape.broadcast_tensors(tape.ones(2, 1, requires_grad=True), tape.ones(3))
    assert a.shape == b.shape == (2, 3) == tape.broadcast_shapes((2, 1), (3,))
    a.sum().backward()
    with pytest.raises(RuntimeError, match=r"shapes \(2,\), \(3,\) do not broadcast"):
        tape.broadcast_shapes((2,), (3,))


def test_questions():
    assert X.is_signed()
    assert not tape.ones(1, dtype=tape.uint8).is_signed()
    assert (X.itemsize, X.nbytes) == (8, 48)
    assert X.is_same_size(X + 1)
    assert not X.is_same_size(X.T)
    assert tape.is_nonzero(tape.tensor([2.0]))
    with pytest.raises(RuntimeError, match=r"one element|ambiguous"):
        tape.is_nonzero(X)


def test_linalg_has_the_defaults_of_numpy_and_torch():
    a = np.random.default_rng(0).random((3, 4))
    for ours, theirs in zip(tape.linalg.svd(tape.tensor(a)), np.linalg.svd(a)):
        assert ours.shape == theirs.shape
    assert tape.linalg.norm(tape.tensor(a), dim=1).shape == (3,)
    assert tape.linalg.matrix_power(tape.eye(2) * 2, 3)[0, 0] == 8
    assert set(tape.linalg.__all__) >= {"solve", "inv", "det", "eigh", "qr", "cholesky", "matmul", "matrix_norm"}


def test_integers_of_any_dtype():
    for dtype in (tape.float32, tape.uint8, tape.int32):
        drawn = tape.randint(5, (100,), dtype=dtype)
        assert drawn.dtype == dtype
        assert set(drawn.tolist()) == {0, 1, 2, 3, 4}


@pytest.mark.parametrize(("x", "index"), [(1.5, 0), (1.5, [0, 0]), ([1.5, 2.0], 1), ([1.5, 2.0], [1, 1, 0])])
def test_gather_where_something_has_no_dimensions(x, index):
    x = tape.tensor(x, requires_grad=True)
    index = tape.tensor(index)
    for sparse in (False, True):
        chosen = x.gather(0, index, sparse_grad=sparse)
        assert chosen.shape == index.shape
        np.testing.assert_array_equal(chosen.numpy(force=True), np.take(x.numpy(force=True), index.numpy()))
        x.grad = None
        chosen.sum().backward()
        np.testing.assert_array_equal(
            np.ravel(x.grad.numpy()), np.bincount(np.ravel(index.numpy()), minlength=x.numel())
        )


def test_every_name_of_dir_is_there():
    x = tape.ones(2, 2, dtype=tape.complex128, requires_grad=True)
    assert "shape" in dir(x)
    for name in dir(x):
        assert hasattr(x, name)
    assert x.layout == tape.strided
    assert x.to_dense() is x


def test_functions_beside_methods():
    with tape.inference_mode():
        made = tape.ones(2)
    assert tape.is_inference(made)
    assert not tape.is_inference(X)
    assert [p.shape for p in tape.unsafe_split(X, 2, 1)] == [(2, 2), (2, 1)]
    assert len(X.unsafe_chunk(3, 1)) == 3


def test_the_level_of_forward_mode_is_told():
    from tape.autograd import forward_ad

    assert forward_ad._current_level == -1
    with forward_ad.dual_level():
        assert forward_ad._current_level == 0
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        forward_ad.nothing  # noqa: B018
