"""Whether ``reshape`` and ``contiguous`` give a view or a copy is as in eager execution, where it is as memory lies."""

import numpy as np
import pytest
from transformed import IN_LANES, cases, check_as_in_eager_execution, check_never_wrong

import tape


def written_in_another_order(x):
    y = x.reshape(2, 2) * 1.0
    y.copy_((x * x).reshape(2, 2).T)
    flat = y.reshape(-1)  # a look, however the list has what was copied
    flat[1:] *= x[0]
    return (y**2).sum()


def one_number_as_a_vector(x):
    y = x.sum()
    flat = y.reshape(-1)
    flat[0].fill_(y.sum())
    return tape.sin(flat * 0.7).sum() + y


def brought_in_order(x):
    y = x.reshape(2, 2) * 1.0
    y.T.contiguous().mul_(3.0)  # a copy
    y.contiguous().mul_(x[0])
    return (y**2).sum()


def itself_brought_in_order(x):
    y = tape.zeros(4)
    y.copy_(x)
    y.contiguous().mul_(x[0])
    return (y**2).sum()


FUNCTIONS = [written_in_another_order, one_number_as_a_vector, brought_in_order, itself_brought_in_order]


@pytest.mark.parametrize(
    ("function", "transformation"), cases(FUNCTIONS, {(itself_brought_in_order, name) for name in IN_LANES})
)
def test_as_in_eager_execution(function, transformation):
    check_as_in_eager_execution(function, transformation)


def turned_and_flattened(x):
    y = (x * 1.0).reshape(2, 2).T
    flat = y.reshape(-1)  # a copy
    flat.mul_(3.0)
    y.mul_(2.0)
    return (y.sum() * flat).sum()


def turned_buffer(x):
    y = tape.from_numpy(np.ones((2, 2)).T)
    y[0] = x[:2]
    flat = y.reshape(-1)  # a copy
    flat.mul_(3.0)
    return (y * y).sum()


@pytest.mark.parametrize("function", [turned_and_flattened, turned_buffer], ids=lambda f: f.__name__)
@pytest.mark.parametrize("transformation", ["itself", "jvp"])
@pytest.mark.filterwarnings("ignore:tape.compile runs")
def test_a_copy_is_not_taken_for_a_view(function, transformation):
    check_never_wrong(function, transformation)


@pytest.mark.filterwarnings("ignore:tape.compile runs")
def test_a_large_copy_is_not_taken_for_a_view():
    def f(x):
        flat = (x * 2).T.reshape(-1)
        y = x * 2
        own = y.T.reshape(-1)
        own *= 3.0
        return y.sum() + flat.sum()

    x = np.ones((300, 400))
    assert tape.compile(f)(x) == f(x)


def flattened(x):
    y = x * 2
    y.reshape(-1).mul_(3)
    return y * 1


def brought_in_order_and_changed(x):
    v = (x * 1).T.contiguous()
    v.mul_(3)
    return v + x


def argument_in_order(x):
    v = x.T.contiguous()
    v.mul_(3)
    return v + x


@pytest.mark.filterwarnings("ignore:tape.compile runs")
@pytest.mark.parametrize(
    "function", [flattened, brought_in_order_and_changed, argument_in_order], ids=lambda f: f.__name__
)
@pytest.mark.parametrize("first", ["C", "F"])
def test_arguments_may_lie_otherwise(function, first):
    """Whether ``reshape`` and ``contiguous`` give a view is as the argument lies in memory."""
    fast, other = tape.compile(function), "CF"[first == "C"]
    for order in (first, first, other, first, other):
        x, z = (np.array([[1.0, 2.0], [3.0, 4.0]], order=order) for _ in range(2))
        found, expected = fast(tape.from_numpy(x)), function(tape.from_numpy(z))
        assert found.tolist() == expected.tolist()
        assert x.tolist() == z.tolist()
