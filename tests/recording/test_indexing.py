"""Indices as PyTorch reads them where NumPy reads them otherwise."""

import numpy as np
import pytest

import tape

X = np.arange(24.0).reshape(4, 3, 2)
LISTS = {
    "lists of numbers": [[1, 1, 3], [0, 2, 0]],
    "nested lists": [[[1, 2], [0, 0]], [[0, 1], [1, 1]]],
    "lists of other lengths": [[3, 1, 3], [0]],
    "slices": [slice(None), [0, 2]],
    "tensors": [tape.tensor([0, 3]), tape.tensor([1, 1])],
    "arrays": [np.array([0, 3]), np.array([1, 1])],
    "a new axis": [2, None],
    "an ellipsis": [Ellipsis, 1],
}


@pytest.mark.parametrize("name", LISTS)
def test_a_list_of_indices_is_one_for_each_axis(name):
    index = LISTS[name]
    plain = tuple(np.asarray(i) if isinstance(i, (list, tape.Tensor)) else i for i in index)
    x = tape.tensor(X, requires_grad=True)
    with pytest.warns(UserWarning, match=r"x\[tuple\(index\)\]"):
        y = x[index]
    assert np.array_equal(y.detach().numpy(), X[plain])
    y.sum().backward()
    expected = np.zeros_like(X)
    np.add.at(expected, plain, 1.0)
    assert np.array_equal(x.grad.numpy(), expected)
    written = tape.tensor(X)
    with pytest.warns(UserWarning, match=r"x\[tuple\(index\)\]"):
        written[index] = -1.0
    wanted = X.copy()
    wanted[plain] = -1.0
    assert np.array_equal(written.numpy(), wanted)


def test_a_list_of_numbers_or_truths_is_an_array():
    x = tape.tensor(X)
    assert np.array_equal(x[[2, 0]].numpy(), X[[2, 0]])
    assert np.array_equal(x[[True, False, False, True]].numpy(), X[[0, 3]])
    assert np.array_equal(x[([[0, 1], [1, 0]],)].numpy(), X[np.array([[0, 1], [1, 0]])])
