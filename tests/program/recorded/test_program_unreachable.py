"""Arrays and tensors that a function made while it was recorded: constants, unless somebody can still change them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import tape
from tape.program import record

KEPT: list = []


def keep(x, part=lambda x: x):
    KEPT.append(part(x))
    return x


def two_views(x, a):
    return x * a[:3] + a[3:]


def fixed(function, *args):
    """For each array or tensor that the list holds, whether it is a constant."""
    return [not getattr(c, "_spec", None) and not c.flags.writeable for c in record(function, *args).recorded.constants]


MADE = {
    "array": lambda x: x * np.arange(3.0),
    "view": lambda x: x * np.arange(6.0)[::2],
    "two views": lambda x: two_views(x, np.arange(6.0)),
    "tensor": lambda x: x * tape.tensor([1.0, 2.0, 3.0]),
    "view of a tensor": lambda x: x * tape.tensor(2.0).expand(3),
    "views of a tensor": lambda x: x * tape.ones(2, 4).t()[1:, 0] * tape.arange(3.0).flip(0).view(3),
    "hessian": tape.func.hessian(lambda x: (np.sin(x) * x[0]).sum()),
}


@pytest.mark.parametrize("name", MADE)
def test_what_nobody_reaches_is_a_constant(name):
    assert fixed(MADE[name], np.ones(3)) != []
    assert all(fixed(MADE[name], np.ones(3)))


HELD = {
    "array": lambda x: x * keep(np.arange(3.0)),
    "view of a held array": lambda x: x * keep(np.arange(6.0))[::2],
    "other view": lambda x: x * keep(np.arange(3.0), lambda a: a[1:]),
    "memory": lambda x: x * keep(np.arange(3.0), lambda a: a.data),
    "tensor": lambda x: x * keep(tape.tensor([1.0, 2.0, 3.0])),
    "other view of a tensor": lambda x: x * keep(tape.tensor([1.0, 2.0, 3.0]), lambda t: t[1:]),
    "view of a view that is held": lambda x: x * keep(tape.ones(2, 4).t())[1:, 0],
    "view of a tensor that is held": lambda x: x * keep(tape.tensor([[1.0, 2.0, 3.0]]), lambda t: t.view(3)).view(3),
    "twin of a tensor": lambda x: x * keep(tape.tensor([1.0, 2.0, 3.0]), lambda t: t.detach()),
    "numbers of a tensor": lambda x: x * keep(tape.tensor([1.0, 2.0, 3.0]), lambda t: t.numpy()),
    "tensor on an array": lambda x: x * tape.from_numpy(keep(np.arange(3.0))),
    "memory of another kind": lambda x: x * np.frombuffer(keep(bytearray(24))),
}


@pytest.mark.parametrize("name", HELD)
def test_what_somebody_holds_is_none(name):
    KEPT.clear()
    assert fixed(HELD[name], np.ones(3)) == [False]


def test_a_held_array_is_read_anew():
    KEPT.clear()
    program = record(HELD["array"], np.ones(3))
    KEPT[0][:] = 5
    assert_array_equal(program(np.ones(3)), [5, 5, 5])


@pytest.mark.parametrize("dtype", [float, int])
def test_a_read_only_view_of_what_somebody_holds_is_read_anew(dtype):
    w = np.ones(3, dtype)
    view = np.broadcast_to(w, (2, 3))
    program = record(lambda x: x * view, np.ones((2, 3)))
    w[:] = 5
    assert_array_equal(program(np.ones((2, 3))), np.full((2, 3), 5))
    with pytest.raises(tape.program.NotNative, match=r"from outside|by NumPy"):
        program.njit()


def test_a_constant_array_is_computed_with_once():
    program = record(lambda x: x + (tape.tensor([1.0, 2.0]) * 3).sin().sum(), np.ones(3))
    assert len(program) == 3
    assert_array_equal(program(np.ones(3)), np.full(3, 1 + np.sin([3.0, 6.0]).sum()))


@pytest.mark.parametrize("whole", [np.arange(3), np.array([True, False, True]), np.arange(3, dtype=np.uint8)])
def test_whole_numbers_are_widened_once(whole):
    def f(x):
        own = whole.copy()
        return x * own, x > own, tape.where(x > own, x, own)

    for dtype in (np.float64, np.float32):
        x = np.array([2.5, -0.5, 1.0], dtype)
        program = record(f, x)
        for z, expected in zip(program(x), f(x)):
            assert z.dtype == expected.dtype
            assert_array_equal(z, expected)
