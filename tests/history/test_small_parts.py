"""Adjoints of large arrays of which small parts are read and written: the same numbers as by the rules of the ops."""

from __future__ import annotations

import numpy as np
import pytest
from common.traced_memory import peak_of_another_call
from hypothesis import given, settings, strategies as st

import tape

N = 20  # of N × N numbers a part is moved alone

SHAPES = (N, N), (N * N,), (3, 12, 12)


def indices(shape):
    """An index of integers and slices, of a small part."""
    part = st.integers(-shape[0], shape[0] - 1)
    first = st.one_of(part, st.tuples(part, st.integers(1, 3)).map(lambda t: slice(t[0] % shape[0], None, 7 * t[1])))
    rest = [st.one_of(st.integers(-n, n - 1), st.just(slice(None)), st.just(slice(1, -1, 3))) for n in shape[1:]]
    return st.tuples(first, *rest)


@st.composite
def programs(draw):
    """Steps on two arrays and a number: reads, writes, reads and writes through views, changes of everything."""
    shape = draw(st.sampled_from(SHAPES))
    kinds = st.sampled_from(["read", "write", "add", "square", "look", "number", "both"])
    return shape, draw(st.lists(st.tuples(kinds, indices(shape), st.integers(0, 1)), min_size=1, max_size=7))


def run(shape, steps, x):
    """The sum of what was read, and of what is left."""
    arrays = [x * 1.0, tape.zeros(shape)]
    seen = x.sum() * 0.1
    for kind, index, k in steps:
        y = arrays[k]
        if kind == "read":
            seen = seen + (y[index].clone() ** 2).sum()
        elif kind == "write":
            y[index] = seen * 0.3
        elif kind == "add":
            y[index] += arrays[1 - k][index].clone() * seen.sin()
        elif kind == "square":
            arrays[k] = y * y
        elif kind == "look":
            y[index[0]][...] *= 1.5
        elif kind == "number":
            y[(0,) * len(shape)] = y[(-1,) * len(shape)] * 2.0
        else:
            y[index] = arrays[1 - k][index]
    return seen + sum([(y * tape.linspace(0.0, 1.0, y.numel()).reshape(shape)).sum() for y in arrays])


@settings(deadline=None)
@given(programs())
def test_parts_are_moved_as_rules_say(program):
    shape, steps = program
    x = tape.tensor(np.cos(np.arange(np.prod(shape))).reshape(shape), requires_grad=True)
    (found,) = tape.autograd.grad(run(shape, steps, x), [x])
    (expected,) = tape.autograd.grad(run(shape, steps, x), [x], create_graph=True)
    np.testing.assert_allclose(found.numpy(), expected.detach().numpy(), rtol=1e-12, atol=1e-12)


def a_loop_of_reads(x):
    return sum([np.tanh(x[i, i]) for i in range(len(x))]) + x.sum()


def a_loop_of_writes(x):
    y = x * 1.0
    for i in range(1, len(x)):
        y[i, 0] = y[i - 1, 1] * x[i, i]
    return (y * y).sum()


def a_buffer_that_is_filled(x):
    y = np.zeros_like(x)
    for i in range(1, len(x)):
        y[i, 1:3] = x[i, :2] * y[i - 1, 1]
        y[0, i] = 0.5
    return (y * x).sum()


@pytest.mark.parametrize("function", [a_loop_of_reads, a_loop_of_writes, a_buffer_that_is_filled])
def test_no_round_takes_as_much_memory_as_the_array(function):
    gradient, x = tape.func.grad(function), np.full((150, 150), 0.1)
    assert peak_of_another_call(gradient, x) < 12 * x.nbytes


def test_what_is_kept_of_an_adjoint_is_not_changed_later():
    """An adjoint that a hook, a target or the caller has is nobody's to change, though parts are taken out of it."""
    x = tape.tensor(np.linspace(0.1, 1.0, N * N).reshape(N, N), requires_grad=True)
    y = x * 2.0
    seen = []
    y.register_hook(seen.append)
    z = y.clone()
    z[1, 2] = 0.0
    z.retain_grad()
    before = z * 1.0
    z[3, 4] = x[0, 0]
    weights = tape.tensor(np.cos(np.arange(N * N)).reshape(N, N))
    total = (z * weights).sum() + (before * weights).sum()
    first, second = tape.autograd.grad(total, [z, y], retain_graph=True)
    np.testing.assert_allclose(first.numpy(), weights.numpy())
    expected = 2 * weights.numpy()
    expected[1, 2], expected[3, 4] = 0.0, weights.numpy()[3, 4]
    np.testing.assert_allclose(second.numpy(), expected)
    np.testing.assert_allclose(seen[0].numpy(), expected)
    z.grad = None
    given_one = np.ones((N, N))
    z.backward(tape.tensor(given_one))
    assert (given_one == 1.0).all()
    again = x.grad.numpy().copy()
    np.testing.assert_allclose(z.grad.numpy(), 1.0)
    assert (again[3, 4], again[0, 0], again[1, 2]) == (0.0, 3.0, 0.0)


def written_and_read(y, a):
    y[0] = a
    return y, y[:2].sum() * 2.0 + y[1] * 3.0


def read_through_a_view(y, a):
    y[3:9][2] = a
    return y, y[3:6].sum() + (y[4:7] * a).sum()


def written_twice(y, a):
    y[5] = a
    before = y.clone()
    y[7] = before[8]
    return before, y[6:9].sum() + before[5] * a


@pytest.mark.parametrize("program", [written_and_read, read_through_a_view, written_twice])
@pytest.mark.parametrize("number", [N * N, 20])
def test_adjoints_of_what_lies_between_are_those_of_rules(program, number, either):
    """That of a target is given back, so that no record behind it may take anything out of it."""

    def gradients(create_graph):
        x = tape.tensor(np.linspace(0.1, 1.0, number), requires_grad=True)
        a = tape.tensor(0.5, dtype=tape.float64, requires_grad=True)
        between, total = program(x * 1.0, a)
        return tape.autograd.grad(total, [between, x, a], create_graph=create_graph)

    for found, expected in zip(gradients(False), gradients(True)):
        np.testing.assert_allclose(found.numpy(), expected.detach().numpy())


@pytest.mark.parametrize("index", [slice(3, 5), slice(2, 30, 7), (Ellipsis, slice(1, 2))])
def test_zeros_keep_their_sign(index, either):
    x = tape.tensor(np.ones(N * N), requires_grad=True)
    z = x[index]
    (found,) = tape.autograd.grad(z, [x], tape.full_like(z, -0.0))
    assert np.signbit(found.numpy()).sum() == z.numel()


@pytest.mark.parametrize("dtype", ["float32", "complex128", "float16"])
def test_other_dtypes(dtype):
    x = tape.tensor(np.linspace(0.1, 1.0, N * N).reshape(N, N).astype(dtype), requires_grad=True)
    w = tape.tensor(0.5, dtype=tape.float32, requires_grad=True)

    def f(x):
        y = x * 1.0
        for i in range(4):
            y[i, i] = y[i + 1, 0] * y[i, 1]
        y[7, 1:3] = w
        return y.abs().sum() if y.is_complex() else (y * y).sum()

    found = tape.autograd.grad(f(x), [x, w])
    expected = tape.autograd.grad(f(x), [x, w], create_graph=True)
    for a, b in zip(found, expected):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a.numpy(), b.detach().numpy(), rtol=1e-3 if dtype == "float16" else 1e-5)
