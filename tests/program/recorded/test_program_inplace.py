"""Changes in place in compiled functions: who shares memory sees them, and derivatives go through them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from transformed import IN_LANES, X, cases, check_as_in_eager_execution, quietly

import tape
from tape.func import grad, hessian, vmap


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


FUNCTIONS = [
    buffer, changed_twice, recurrence, running_sum, arithmetic, view_changed, base_changed, both_changed, view_of_view,
    of_a_lost_base, one_element, set_to_zero, transposed, diagonal, masked, rows, indexed_by_a_tensor,
    elements_of_a_constant,
]  # fmt: skip
WITHOUT_LANES = {buffer, changed_twice, running_sum, rows, diagonal, elements_of_a_constant}
"""`vmap` refuses to write what differs from lane to lane into a tensor that does not."""
OVERWRITTEN = {(recurrence, "hessian"), (recurrence, "grads"), (running_sum, "hessian")}
"""Eager execution refuses these, as PyTorch does: what a gradient needs is overwritten.  Values in a list are not."""


@pytest.mark.parametrize(
    ("function", "transformation"), cases(FUNCTIONS, {(f, name) for f in WITHOUT_LANES for name in IN_LANES})
)
def test_as_in_eager_execution(function, transformation):
    check_as_in_eager_execution(function, transformation, compare=(function, transformation) not in OVERWRITTEN)


@pytest.mark.parametrize("function", [recurrence, running_sum], ids=lambda f: f.__name__)
def test_what_was_overwritten_has_its_derivatives_all_the_same(function):
    """By finite differences of what eager execution gives."""
    gradient = grad(function)
    found = tape.compile(hessian(function))(tape.tensor(X)).numpy()
    if function not in WITHOUT_LANES:
        lanes = tape.compile(vmap(gradient))(tape.tensor(np.stack([X, X + 1])))
        assert_allclose(lanes[0].numpy(), gradient(tape.tensor(X)).numpy())
    for column, e in zip(found.T, 1e-6 * np.eye(4)):
        ahead, behind = gradient(tape.tensor(X + e)).numpy(), gradient(tape.tensor(X - e)).numpy()
        assert_allclose(column, (ahead - behind) / 2e-6, rtol=1e-5, atol=1e-5)


def test_views_in_16_bits_are_followed():
    def f(x):
        y = x * 1
        y[0:2].mul_(2)
        v = y[1:]
        y.add_(1)
        return y * v.sum()

    x = tape.tensor(X).to(tape.float16)
    assert quietly(tape.compile(f), x).tolist() == f(x).tolist()


def test_a_saved_program_has_its_changes(tmp_path):
    program = tape.record(view_changed, tape.tensor(X))
    program.save(tmp_path / "p")
    loaded = tape.load(tmp_path / "p")
    assert_allclose(loaded(tape.tensor(X + 1)).numpy(), view_changed(tape.tensor(X + 1)).numpy())


def test_a_large_copy_is_written_into():
    """How a large array lies is not known while it is recorded, but a copy is nobody else's, and in row-major order."""

    def f(x):
        y = x * 1.0
        for _ in range(3):
            z = y.copy()
            z[1:-1, 1:-1] += 0.1 * (y[:-2, 1:-1] + y[2:, 1:-1])
            z[0] = z[1]
            z.reshape(-1)[:5] *= 2.0
            y = y.T.copy("F").T + z
        return (y**2).sum()

    x = np.random.default_rng(0).standard_normal((60, 60))
    fast = tape.compile(tape.func.value_and_grad(f))
    for _ in range(3):
        value, gradient = fast(x)
    assert len(fast.programs) == 1
    expected_value, expected = tape.func.value_and_grad(f)(x)
    assert_allclose(value, expected_value)
    assert_allclose(gradient, expected)


@pytest.mark.parametrize("ufunc", [np.add, np.subtract], ids=lambda u: u.__name__)
def test_sums_at_places_are_few_records(ufunc):
    """However often a place is named; what is added comes in NumPy's order, so the bits are NumPy's."""
    rng = np.random.default_rng(0)
    places, rows, x = rng.integers(-7, 7, 500), rng.integers(3, size=20), rng.standard_normal(500)

    def sums(x):
        y, z = np.ones(7), x[:6].reshape(3, 2) * 1.0
        ufunc.at(y, places, x)
        ufunc.at(z, rows, x[:2] * x[:40].reshape(20, 2))
        return y, z

    program = tape.record(sums, x)
    assert len(program.recorded) < 40
    for found, expected in zip(program(x), sums(x)):
        assert found.tolist() == expected.tolist()
    (y, z), sign = sums(x), 1.0 if ufunc is np.add else -1.0
    gradient = tape.compile(tape.func.grad(lambda x: sum((part**2).sum() for part in sums(x))))(x)
    assert_allclose(gradient[40:], sign * 2 * y[places][40:])
    each = (np.arange(40) // 2, np.arange(40) % 2)
    by_sum = 2 * z[rows][each]
    expected = sign * (2 * y[places[:40]] + by_sum * x[np.arange(40) % 2])
    expected[:6] += 2 * z.ravel()
    expected[:2] += sign * (by_sum * x[:40]).reshape(20, 2).sum(axis=0)
    assert_allclose(gradient[:40], expected)


def test_what_is_rounded_after_each_sum_is_rounded_at_each_place():
    """NumPy adds numbers of 64 bits to one of 32 bits one after the other."""

    def f(x):
        y = np.zeros(2, np.float32)
        np.add.at(y, [0, 1, 0, 1, 0], x)
        return y

    x = np.array([0.1, 1e8, 1e-9, 4.0, 0.3])
    assert tape.compile(f)(x).tolist() == f(x).tolist()


def test_what_was_changed_in_place_is_not_written_again():
    """``y[i] += x`` changes a view, and then writes the view where it lies."""

    def f(x):
        y = np.zeros((6, 6)) + x[0]
        for _ in range(4):
            y[1:-1, 1:-1] += x[1] * y[2:, 1:-1]
            y[2, :] *= x[2]
            y[:, 1:3][1:, ...] -= x[3]
        v = y[1:3]
        y[1:3] = v
        y[2:4] = v  # another place
        y[1:3] = v * x[0]
        y[np.array([0, 1])] = y[1:3]
        return (y**3).sum()

    x = np.array([0.5, 0.3, 1.1, 0.2])
    program = tape.record(f, x)
    assert len(program.recorded) < 120  # more if each is written twice
    fast, eager = tape.compile(tape.func.value_and_grad(f)), tape.func.value_and_grad(f)(x)
    for _ in range(3):
        value, gradient = fast(x)
    assert_allclose(value, f(x))
    assert_allclose(gradient, eager[1])
    difference = (f(x + 1e-6) - f(x - 1e-6)) / 2e-6
    assert_allclose(gradient.sum(), difference, rtol=1e-7)


# Whose record a cell, a view or a cotangent is.


def a_view_of_a_cell(x):
    a, y = x * 2.0, tape.zeros(2, 3)
    v = y[0]
    y[0] = a
    return tape.autograd.grad((v * a).sum(), v)[0]


def a_hook_on_a_view_of_a_cell(x):
    a, y = x * 2.0, tape.zeros(2, 3)
    v = y[0]
    y[0] = a
    v.register_hook(lambda g: 10.0 * g)
    return tape.autograd.grad((v * a).sum(), x)[0]


def a_cotangent_that_was_written_into(x):
    y = tape.zeros(3)
    y.add_(x)
    return tape.autograd.grad(x * 3.0, x, grad_outputs=y, create_graph=True)[0]


def made_and_changed_without_history(x):
    with tape.no_grad():
        y = x * 2.0
        v = y[1:]
        y.add_(1.0)
    return v * x[1:]


def numbers_put_into_an_element_of_a_constant(x):
    z = x + 1.0
    v = z[0]
    v[...] = v
    v[...] = x[0]
    return v * v


@pytest.mark.filterwarnings("ignore:tape.compile runs a_hook:RuntimeWarning")
@pytest.mark.parametrize(
    "function",
    [
        a_view_of_a_cell, a_hook_on_a_view_of_a_cell, a_cotangent_that_was_written_into,
        made_and_changed_without_history, numbers_put_into_an_element_of_a_constant,
    ],
)  # fmt: skip
def test_records_are_told_apart(function):
    fast = tape.compile(function)
    for _ in range(2):
        found = []
        for f in (function, fast):
            x = tape.tensor([1.0, 2.0, 3.0], requires_grad=True)
            z = f(x)
            g = grad(lambda x: f(x).sum())(x.detach())  # noqa: B023
            found.append((z.detach().numpy(), g.numpy()))
        for own, its in zip(*found, strict=True):
            assert_allclose(its, own)


def test_what_is_written_into_a_cell_and_the_view_of_that_are_two_arrays():
    def function(x):
        a, y = x * 2.0, np.zeros((2, 3))
        v = y[0]
        y[0] = a
        return v, a

    fast = tape.compile(function)
    for _ in range(2):
        v, a = fast(np.array([1.0, 2.0, 3.0]))
        assert not np.shares_memory(v, a)


@pytest.mark.filterwarnings("ignore:tape.compile runs:RuntimeWarning")
@pytest.mark.parametrize("change", [lambda y, v: v.add_(1.0), lambda y, v: y.add_(1.0)])
def test_a_view_that_was_made_without_history_is_not_written_into(change):
    def function(x):
        with tape.no_grad():
            y = x * 2.0
            v = y[1:]
            change(y, v)
        v.mul_(x[1:])
        return v

    x = tape.tensor([1.0, 2.0, 3.0], requires_grad=True)
    for f in (function, tape.compile(function)):
        with pytest.raises(RuntimeError, match="no_grad"):
            f(x)
