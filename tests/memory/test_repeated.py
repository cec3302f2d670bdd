"""Writing into expanded tensors, whose elements are one number in memory."""

import numpy as np
import pytest

import tape
from tape.autograd import grad


def expanded(*shape):
    x = tape.tensor([1.0], requires_grad=True)
    y = x * 2.0
    return x, y, y.expand(*shape)


def test_fill_and_zero_set_the_number_that_is_repeated():
    for base in (tape.ones(2, 1), tape.ones(())):
        e = base.expand(2, 3)
        assert e.fill_(3.0) is e
        assert (e.tolist(), base.max().item(), e._version) == ([[3.0] * 3] * 2, 3.0, 1)
        assert e.zero_().sum() == base.sum() == 0.0


def test_a_number_that_fills_an_expanded_tensor_has_its_gradient_once():
    w = tape.tensor(5.0, requires_grad=True)
    x, y, e = expanded(3)
    e.fill_(w * 2.0)
    assert (e.tolist(), y.tolist()) == ([10.0] * 3, [10.0])
    assert [g.item() for g in grad(y.sum(), [x, w])] == [0.0, 2.0]
    x, y, e = expanded(3)
    e.zero_()
    assert (e.requires_grad, grad(e.sum(), x)[0].item()) == (True, 0.0)


@pytest.mark.parametrize(
    ("index", "value"),
    [(0, 5.0), (slice(1, 2), 5.0), ([0, 2], 5.0), (np.array([0, 2]), [4.0, 5.0]), (np.array([True, False, True]), 5.0)],
)
def test_assigning_to_a_part_changes_all(index, value):
    w = tape.tensor(value, requires_grad=True)
    x, y, e = expanded(3)
    e[index] = w * 1.0
    assert (e.tolist(), y.tolist(), y._version) == ([5.0] * 3, [5.0], 1)
    assert grad(e.sum(), x, retain_graph=True)[0].item() == 0.0
    assert np.array_equal(np.atleast_1d(grad(e.sum(), w)[0].numpy())[:-1], [0.0] * (w.numel() - 1))
    assert e.grad_fn.name() == "ExpandBackward0"
    plain = tape.zeros(2, 1).expand(2, 3)
    plain[1, index] = tape.tensor(value)
    assert plain.tolist() == [[0.0] * 3, [5.0] * 3]


@pytest.mark.parametrize(
    "change",
    [
        lambda e: e.add_(1.0), lambda e: e.copy_(tape.ones(3)), lambda e: e.__setitem__(slice(None), 1.0),
        lambda e: tape.ones(4).as_strided((3, 2), (1, 1)).mul_(2.0),
    ],
)  # fmt: skip
def test_other_changes_are_refused(change):
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor refers to a single memory"):
        change(tape.ones(1).expand(3))


def test_an_expanded_view_that_is_barred():
    with tape.no_grad():
        _, y, _ = expanded(3)
    y.requires_grad_()
    with tape.no_grad():
        e = y.expand(3)
    with pytest.raises(RuntimeError, match="created in no_grad mode"):
        e.zero_()


def test_one_element_of_an_expanded_tensor_is_a_number_of_its_own():
    e = tape.ones(1).expand(3)
    e[0] = 6.0
    e[0].div_(2.0)
    e[1:2].add_(1.0)
    assert e.tolist() == [4.0] * 3
    x, y, e = expanded(3)
    e[2].mul_(3.0)
    assert (y.tolist(), grad(e.sum(), x)[0].item()) == ([6.0], 18.0)


def test_a_read_only_array_stays_read_only():
    array = np.ones(3)
    array.flags.writeable = False
    x = tape.from_numpy(array)
    for change in (lambda: x.add_(1), lambda: x[1:].add_(1), lambda: x[0].fill_(0.0), lambda: x.expand(2, 3).zero_()):
        with pytest.raises((RuntimeError, ValueError), match="read-only"):
            change()
    assert array.tolist() == [1.0] * 3
