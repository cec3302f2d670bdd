"""Changes in place in compiled functions: who shares memory sees them, and derivatives go through them."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

import tape
from tape.func import grad, hessian, jacfwd, jacrev, jvp, vmap

X = np.array([1.0, 2.0, 3.0, 4.0])


def buffer(x):
    y = tape.zeros(4)
    y[0] = x[0]
    y[1:] = x[1:] * 2
    return (y**3).sum()


def recurrence(x):
    y = x.clone()
    for i in range(1, 4):
        y[i] = tape.sin(y[i - 1]) * x[i] + y[i]
    return (y**2).sum()


def running_sum(x):
    y = tape.zeros(4)
    for i in range(4):
        y[i] += x[i] * (y[i - 1] if i else 1.0)
    return (y * x).sum()


def arithmetic(x):
    y = x * 1.0
    y += x
    y *= x[0]
    y.clamp_(min=0.5).exp_()
    return (y**2).sum()


def view_changed(x):
    y = x * 2
    v = y[0:2]
    v.mul_(x[2])
    return (y**2).sum()


def base_changed(x):
    y = x * 2
    v = y[1:3]
    y.mul_(x[0])
    return (v * v).sum()


def both_changed(x):
    y = x * 2
    v = y[:2]
    y += x[1]
    v *= x[3]
    y -= v.sum()
    return (y * y).sum()


def view_of_view(x):
    y = (x * 1.0).reshape(2, 2)
    row = y.T[1]
    row[0] = x[3] ** 2
    y[1] -= row
    return (y**3).sum()


def of_a_lost_base(x):
    v = (x * 2)[1:]
    w = v[0:2]
    w.mul_(x[0])
    return (v * v).sum()


def one_element(x):
    y = x * 1.0
    first = y[0]
    y[0] = x[1] * 3
    return first * x[2] + y.sum()


def set_to_zero(x):
    y = x * 2
    y.zero_()
    y += x**2
    y.fill_(x[1] * x[0])
    return (y**2).sum()


def transposed(x):
    y = (x * 1).reshape(2, 2)
    y.transpose_(0, 1)
    y[0, 1] = x[0] * 5.0
    return (y * tape.tensor([[1.0, 2], [3, 4]])).sum()


def diagonal(x):
    y = x * tape.ones(4, 1)
    y.fill_diagonal_(0.0)
    y.diagonal(1).add_(x[1:] ** 2)
    return (y**2).sum()


def changed_twice(x):
    y = tape.ones(4)
    y *= x[0]
    y *= x[0]
    return (y * y).sum()


def masked(x):
    y = x.new_zeros(4)
    y[x > 1.5] = 1.0
    y[0] += x[0]
    return (y * x).sum()


def rows(x):
    y = tape.empty(3, 4)
    for i in range(3):
        y[i] = x * (i + 1)
    y[:, 1] = 0.0
    return (y**2).sum()


def written_in_another_order(x):
    y = x.reshape(2, 2) * 1.0
    y.copy_((x * x).reshape(2, 2).T)
    flat = y.reshape(-1)  # a look, however the list has what was copied
    flat[1:] *= x[0]
    return (y**2).sum()


def indexed_by_a_tensor(x):
    y = x * 1
    y[tape.tensor(0)].add_(x[1])
    row = y.reshape(2, 2)[tape.tensor(1)]
    row.mul_(x[2])
    return (y**2).sum()


def elements_of_a_constant(x):
    y = tape.ones(4)
    y[[0, 2]] *= x[:2]
    y[1] -= x[3]
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


FUNCTIONS = [
    buffer, changed_twice, recurrence, running_sum, arithmetic, view_changed, base_changed, both_changed, view_of_view,
    of_a_lost_base, one_element, set_to_zero, transposed, diagonal, masked, rows, written_in_another_order,
    indexed_by_a_tensor, elements_of_a_constant, one_number_as_a_vector, brought_in_order, itself_brought_in_order,
]  # fmt: skip
TRANSFORMATIONS = {
    "itself": lambda f: f,
    "grad": grad,
    "jacrev": jacrev,
    "jacfwd": jacfwd,
    "jvp": lambda f: lambda x: jvp(f, (x,), (x,))[1],
    "hessian": hessian,
    "twice": lambda f: jacrev(jacrev(f)),
    "lanes": vmap,
    "grads": lambda f: vmap(grad(f)),
}
WITHOUT_LANES = {itself_brought_in_order, buffer, changed_twice, running_sum, rows, diagonal, elements_of_a_constant}
"""`vmap` refuses to write what differs from lane to lane into a tensor that does not."""


OVERWRITTEN = {(recurrence, "hessian"), (recurrence, "grads"), (running_sum, "hessian")}
"""Eager execution refuses these, as PyTorch does: what a gradient needs is overwritten.  Values in a list are not."""


def quietly(fast, *args):
    """A call of a compiled function that is compiled."""
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="tape.compile runs")
        return fast(*args)


@pytest.mark.parametrize("transformation", TRANSFORMATIONS)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_as_in_eager_execution(function, transformation):
    made = TRANSFORMATIONS[transformation](function)
    lanes = transformation in ("lanes", "grads")
    if lanes and function in WITHOUT_LANES:
        return
    inputs = [np.stack([x, x + 1]) if lanes else x for x in (X, X[::-1] / 3, X - 2.2)]
    fast = tape.compile(made)
    results = [quietly(fast, x) for x in (*inputs, inputs[0])]
    for x, found in zip((*inputs, inputs[0]), results):
        if (function, transformation) not in OVERWRITTEN:
            assert_allclose(found, made(tape.tensor(x)).numpy(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("function", [recurrence, running_sum], ids=lambda f: f.__name__)
def test_what_was_overwritten_has_its_derivatives_all_the_same(function):
    """By finite differences of what eager execution gives."""
    gradient = grad(function)
    found = tape.compile(hessian(function))(X)
    if function not in WITHOUT_LANES:
        assert_allclose(tape.compile(vmap(gradient))(np.stack([X, X + 1]))[0], gradient(tape.tensor(X)).numpy())
    for column, e in zip(found.T, 1e-6 * np.eye(4)):
        ahead, behind = gradient(tape.tensor(X + e)).numpy(), gradient(tape.tensor(X - e)).numpy()
        assert_allclose(column, (ahead - behind) / 2e-6, rtol=1e-5, atol=1e-5)


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


@pytest.mark.parametrize(
    "function",
    [several_views, rows_of_a_view, detached, detached_before, without_recording, far_away, turned_and_flattened,
        turned_buffer, twin_of_a_buffer, twin_of_a_part, seen_by_numpy, data_of_a_tensor_with_a_tangent],
    ids=lambda f: f.__name__,
)  # fmt: skip
@pytest.mark.parametrize("transformation", ["itself", "jvp"])
@pytest.mark.filterwarnings("ignore:tape.compile runs")
def test_what_cannot_be_followed_is_never_wrong(function, transformation):
    made = TRANSFORMATIONS[transformation](function)
    fast = tape.compile(made)
    for x in (X, X + 1):
        assert_allclose(fast(x), made(tape.tensor(x)).numpy())


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


@pytest.mark.filterwarnings("ignore:tape.compile runs")
def test_a_large_copy_is_not_taken_for_a_view():
    def f(x):
        flat = (x * 2).T.reshape(-1)
        y = x * 2
        own = y.T.reshape(-1)
        own.mul_(3.0)
        return y.sum() + flat.sum()

    x = np.ones((300, 400))
    assert tape.compile(f)(x) == f(tape.tensor(x)).item()


def test_views_in_16_bits_are_followed():
    def f(x):
        y = x * 1
        y[0:2].mul_(2)
        v = y[1:]
        y.add_(1)
        return y * v.sum()

    x = tape.tensor(X).to(tape.float16)
    assert quietly(tape.compile(f), x).tolist() == f(x).tolist()


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
        tape.compile(lambda x: jvp(inner, (x,), (x * 2,)))(X)


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


def test_arguments_are_changed_for_the_caller():
    def f(x):
        x[0:2].mul_(3.0)
        return x.sum()

    x = tape.tensor(X)
    with pytest.warns(RuntimeWarning, match="argument"):
        assert tape.compile(f)(x).item() == 16.0
    assert x.tolist() == [3.0, 6.0, 3.0, 4.0]


def test_a_saved_program_has_its_changes(tmp_path):
    program = tape.record(view_changed, X)
    program.save(tmp_path / "p")
    assert_allclose(tape.load(tmp_path / "p")(X + 1), view_changed(tape.tensor(X + 1)).numpy())


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
