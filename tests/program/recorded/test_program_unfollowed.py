"""Changes in place that a recorded list cannot follow: the function runs as it is; what is refused stays refused."""

import numpy as np
import pytest
from transformed import X, check_never_wrong

import tape
from tape.func import jvp


def several_views(x):
    y = x * 2
    a, _ = tape.split(y, 2)
    a.mul_(2)
    return y.sum()


def rows_of_a_view(x):
    y = x * 2
    parts = tape.unbind(y.reshape(2, 2))
    parts[0].mul_(3.0)
    return (y * y).sum()


def detached(x):
    y = x * 2
    z = y.detach()
    z.mul_(3.0)
    return (y * y).sum()


def detached_before(x):
    y = x * 2
    z = y.detach()
    y.mul_(3.0)
    return (z * x).sum()


def without_recording(x):
    y = x * 2
    with tape.no_grad():
        y[0:2].mul_(3.0)
    return (y * x).sum()


def far_away(x):
    y = x * 1.0
    v = y
    for _ in range(20):
        v = v.reshape(4)
    v.mul_(2.0)
    return y.sum()


def twin_of_a_buffer(x):
    y = tape.zeros(4)
    y.data.add_(x)
    return (y * x).sum()


def twin_of_a_part(x):
    y = tape.zeros(4)
    part = y[:2].data
    part += x[:2]
    return (y * x).sum()


def seen_by_numpy(x):
    y = tape.zeros(4)
    array = y.numpy()
    y[:2] = x[:2]
    return x.sum() * float(array[0])


def data_of_a_tensor_with_a_tangent(x):
    return jvp(change_data, (x,), (x,))[1]


def change_data(x):
    y = x * 2
    y.data.mul_(3.0)
    return (y * y).sum()


UNFOLLOWED = [
    several_views, rows_of_a_view, detached, detached_before, without_recording, far_away, twin_of_a_buffer,
    twin_of_a_part, seen_by_numpy, data_of_a_tensor_with_a_tangent,
]  # fmt: skip


@pytest.mark.parametrize("function", UNFOLLOWED, ids=lambda f: f.__name__)
@pytest.mark.parametrize("transformation", ["itself", "jvp"])
@pytest.mark.filterwarnings("ignore:tape.compile runs")
def test_what_cannot_be_followed_is_never_wrong(function, transformation):
    check_never_wrong(function, transformation)


@pytest.mark.filterwarnings("ignore:tape.compile runs")
def test_an_array_of_the_callers_is_written():
    array = np.zeros(4)

    def f(x):
        y = tape.from_numpy(array)
        y[1] = x.sum()
        return y * 2

    fast = tape.compile(f)
    for x in (X, X + 1, X):
        fast(x)
        assert array[1] == x.sum()


def test_arguments_are_changed_for_the_caller():
    def f(x):
        x[0:2].mul_(3.0)
        return x.sum()

    x = tape.tensor(X)
    with pytest.warns(RuntimeWarning, match="argument"):
        assert tape.compile(f)(x).item() == 16.0
    assert x.tolist() == [3.0, 6.0, 3.0, 4.0]


def test_a_view_of_what_moves_is_not_left_behind():
    """Eager execution refuses it: the view of a tensor that moves already would have to move in another direction."""

    def inner(x):
        y = x * 1
        flat = y.reshape(-1)

        def g(u):
            flat.add_(u.sum())
            return y.sum() * u

        return jvp(g, (x * 1,), (x * 0.5,))[1]

    with (
        pytest.warns(RuntimeWarning, match="tape.compile runs"),
        pytest.raises(RuntimeError, match="another direction"),
    ):
        tape.compile(lambda x: jvp(inner, (x,), (x * 2,)))(tape.tensor(X))


def change_leaf(x):
    w = (x * 2).detach().requires_grad_()
    w.mul_(2)
    return w.sum()


def change_expanded(x):
    y = (x * 2)[0:1].expand(4)
    y.mul_(2.0)
    return y.sum()


def change_view_without_history(x):
    y = x * 2
    with tape.no_grad():
        v = y[:2]
    v.mul_(2.0)
    return y.sum()


def write_view_without_history(x):
    y = tape.zeros(4)
    with tape.no_grad():
        v = y[:2]
    v += x[0]
    return y.sum()


REFUSED = [change_leaf, change_expanded, change_view_without_history, write_view_without_history]


@pytest.mark.parametrize("function", REFUSED, ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore:tape.compile runs")
def test_what_is_refused_stays_refused(function):
    fast = tape.compile(function)
    for _ in range(2):
        with pytest.raises(RuntimeError):
            fast(tape.tensor(X, requires_grad=True))
