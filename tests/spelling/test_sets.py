"""Different elements, and bounds."""

import numpy as np
import pytest

import tape

torch = pytest.importorskip("torch")
A = np.random.default_rng(0).integers(0, 4, (5, 3))


def same(ours, theirs):
    assert isinstance(ours, tuple) == isinstance(theirs, tuple)
    for a, b in zip(ours, theirs, strict=True) if isinstance(ours, tuple) else [(ours, theirs)]:
        np.testing.assert_array_equal(a.numpy(), b.numpy())


@pytest.mark.parametrize("name", ["unique", "unique_consecutive"])
@pytest.mark.parametrize("dim", [None, 0, -1])
@pytest.mark.parametrize("counts", [False, True])
@pytest.mark.parametrize("inverse", [False, True])
def test_as_in_torch(name, dim, counts, inverse):
    for values in (A, np.sort(A, axis=None).reshape(A.shape), A[:1], A.astype(float)):
        kwargs = {"dim": dim, "return_counts": counts, "return_inverse": inverse}
        same(getattr(tape, name)(tape.tensor(values), **kwargs), getattr(torch, name)(torch.tensor(values), **kwargs))


def test_the_gradient_goes_to_the_first_of_equals():
    for name in ("unique", "unique_consecutive"):
        x = tape.tensor([1.0, 1.0], requires_grad=True)
        getattr(x, name)().sum().backward()
        assert x.grad.tolist() == [1.0, 0.0]


@pytest.mark.parametrize("right", [False, True])
def test_bucketize(right):
    bounds = [1, 3, 5, 7]
    for x in (A, np.float64(3.0)):
        same(
            tape.bucketize(tape.tensor(x), tape.tensor(bounds), right=right),
            torch.bucketize(torch.tensor(x), torch.tensor(bounds), right=right),
        )
