"""Indices that count from zero alone, where PyTorch refuses negative ones."""

from __future__ import annotations

import numpy as np
import pytest

import tape

X = tape.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
ONES = tape.ones(1, 3)


def row(k):
    return tape.tensor([[k, 0, 1]])


def one(k):
    return tape.tensor([k])


REFUSING = {
    "gather": lambda k: tape.gather(X, 0, row(k)),
    "gather from the end of the axes": lambda k: X.gather(-2, row(k)),
    "gather of a number": lambda k: tape.gather(tape.tensor(3.0), 0, tape.tensor(k)),
    "scatter": lambda k: tape.scatter(X, 0, row(k), ONES),
    "scatter of a number": lambda k: tape.scatter(X, 0, row(k), 2.0),
    "scatter in place": lambda k: X.clone().scatter_(0, row(k), ONES),
    "scatter_add": lambda k: tape.scatter_add(X, 0, row(k), ONES),
    "scatter_add in place": lambda k: X.clone().scatter_add_(0, row(k), ONES),
    **{
        f"scatter_reduce {how}": lambda k, how=how: tape.scatter_reduce(X, 0, row(k), ONES, how)
        for how in ("sum", "prod", "mean", "amax", "amin")
    },
    "index_select": lambda k: tape.index_select(X, 0, one(k)),
    "index_add": lambda k: tape.index_add(X, 0, one(k), ONES),
    "index_add in place": lambda k: X.clone().index_add_(0, one(k), ONES),
    "index_copy": lambda k: tape.index_copy(X, 0, one(k), ONES),
    "index_reduce": lambda k: tape.index_reduce(X, 0, one(k), ONES, "amax"),
    "batched": lambda k: tape.vmap(lambda i: tape.gather(X, 0, i))(tape.stack([row(0), row(k)])),
}


@pytest.mark.parametrize("name", REFUSING)
def test_what_is_no_index_is_refused(name):
    call = REFUSING[name]
    call(0)
    for k in (-1, -2, -3, 2, 5):
        with pytest.raises(IndexError) as caught:
            call(k)
        assert isinstance(caught.value, RuntimeError)
        assert f"got {k}" in str(caught.value)


def test_numpys_functions_and_indexing_count_from_the_end():
    k = tape.tensor([-1])
    assert X[k].tolist() == np.take(X, k, axis=0).tolist() == [[4.0, 5.0, 6.0]]
    assert np.take_along_axis(X, row(-1), 0).tolist() == [[4.0, 2.0, 6.0]]
    assert tape.take_along_dim(X, row(-1), 0).tolist() == [[4.0, 2.0, 6.0]]
    assert tape.take(X, k).tolist() == [6.0]
    assert tape.index_fill(X, 0, k, 0.0)[1].tolist() == [0.0] * 3
    w = X.clone().requires_grad_()
    np.take(w, k, axis=0).sum().backward()
    assert w.grad.tolist() == [[0.0] * 3, [1.0] * 3]


@pytest.mark.parametrize("f", [lambda x, i: tape.gather(x, 0, i), lambda x, i: tape.index_select(x, 0, i[0])])
def test_replays_verify_as_well(f):
    fast = tape.compile(f)
    for k in (0, 1):
        assert fast(X, row(k)).tolist() == f(X, row(k)).tolist()
    with pytest.raises(IndexError, match="from 0 to 1"):
        fast(X, row(-1))
    assert fast(X, row(1)).tolist() == f(X, row(1)).tolist()
    assert len(fast.programs) == 1


def test_narrow():
    assert tape.narrow(X, 1, -2, 2).tolist() == [[2.0, 3.0], [5.0, 6.0]]
    assert tape.narrow(X, 0, 2, 0).shape == (0, 3)
    for start, length in ((-3, 1), (1, 2), (3, 0), (0, -1)):
        with pytest.raises(IndexError, match="narrow"):
            tape.narrow(X, 0, start, length)
