"""assert_close: what passes, and what the message says where it does not."""

import pytest

import tape
from tape.testing import assert_close

X = tape.tensor([1.0, 2.0])

EQUAL = [
    (X, X + 1e-9, {}),
    (X.float(), X.float() + 1e-6, {}),
    (X, X + 0.1, {"rtol": 0.0, "atol": 0.2}),
    ([X, {"a": 1.0}], [X, {"a": 1.0 + 1e-9}], {}),
    (X, X.float(), {"check_dtype": False}),
    (tape.tensor(float("nan")), tape.tensor(float("nan")), {"equal_nan": True}),
    (1, 1, {}),
    (tape.tensor([1, 2]), tape.tensor([1, 2]), {}),
    (X * (1 + 1j), X * (1 + 1j), {}),
]

DIFFERENT = [
    (X, X + 0.5, {}, r"2 of 2 elements differ, most of all index \(0,\): 1.0 and 1.5 are 0.5 apart"),
    (X, X[:1], {}, r"the shapes differ: \(2,\) and \(1,\)"),
    (X, X.float(), {}, "the dtypes differ: float64 and float32; pass check_dtype=False"),
    (X, 1.0, {}, "a Tensor and a float cannot be compared"),
    ([X], [X, X], {}, "the lengths differ: 1 and 2"),
    ({"a": X}, {"b": X}, {}, r"the keys differ: \[\"'a'\"\]"),
    ({"a": [X, X]}, {"a": [X, X * 2]}, {}, r"at \['a'\]\[1\]: 2 of 2"),
    (tape.tensor([1, 2]), tape.tensor([1, 3]), {}, r"1 of 2 elements differs, most of all index \(1,\)"),
    (tape.tensor(float("nan")), tape.tensor(float("nan")), {}, "1 of 1 element differs"),
    (tape.ones(2, 2).T, tape.ones(2, 2), {"check_stride": True}, "the strides differ"),
    (X, X + 1, {"msg": "mine"}, r"^mine$"),
    (X, X + 1, {"msg": lambda what: what.upper()}, "ELEMENTS DIFFER"),
]


@pytest.mark.parametrize(("a", "b", "kwargs"), EQUAL)
def test_equal(a, b, kwargs):
    assert_close(a, b, **kwargs)


@pytest.mark.parametrize(("a", "b", "kwargs", "message"), DIFFERENT)
def test_different(a, b, kwargs, message):
    with pytest.raises(AssertionError, match=message):
        assert_close(a, b, **kwargs)


def test_one_tolerance_is_not_enough():
    with pytest.raises(ValueError, match=r"together or not at all; got rtol=0\.1, atol=None"):
        assert_close(X, X, rtol=0.1)
