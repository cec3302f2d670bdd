"""Objects read by address: what is awkward ends in the Python path or in an exception, never in wrong numbers."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from numba import njit

import tape
from tape.base import jit_door
from tape.jit.machine import object_layout
from tape.jit.machine.state import ARRAY_TYPE
from tape.jit.machine.workspace import Workspace
from tape.jit.sweeps.objects import int_value, is_small
from tape.jit.sweeps.values import array_size, readable, value_address, value_size


@njit
def look(state, value, kind):
    """Whether a value is readable, its size and its address."""
    if not readable(state, value, kind):
        return 0, 0, 0
    return 1, value_size(state, value), value_address(state, value)


@njit
def integer(state, address):
    return is_small(state, address), int_value(state, address)


@njit
def size(address):
    return array_size(address)


STATE = Workspace()


def values(kind):
    """Pairs of a value and whether kernels may read it."""
    own, other = (np.float64, np.float32)[:: 1 - 2 * kind]
    plain = np.arange(12, dtype=own).reshape(3, 4)
    frozen = plain.copy()
    frozen.flags.writeable = False
    odd = np.frombuffer(np.zeros(33, np.uint8).tobytes()[1:], own, 2)

    class Sub(np.ndarray):
        pass

    yield from ((plain, True), (frozen, True), (plain[1], True), (plain[1:], True), (np.zeros((0, 3), own), True))
    yield from ((np.array(2.5, own), True), (own(2.5), True), (2.5, True))
    yield from ((plain[:, 1:], False), (plain.T, False), (plain[::-1], False), (odd, odd.flags.aligned))
    yield from (
        (plain.astype(other), False),
        (plain.astype(plain.dtype.newbyteorder()), False),
        (plain.view(Sub), False),
    )
    yield from (
        (other(2.5), False),
        (plain.astype(int), False),
        (plain.astype(complex), False),
        (3, False),
        (None, False),
    )
    yield from (
        (np.zeros(3, [("a", own)]), False),
        (np.array(["x"]), False),
        (np.array([1.0], object), False),
        ("text", False),
    )
    yield from ((np.broadcast_to(own(1), (3,)), False), (np.bool_(True), False), (np.int64(3), False))


@pytest.mark.parametrize("kind", [0, 1])
def test_readable_values(kind):
    work = Workspace()
    for value, suits in values(kind):
        ok, n, address = look(work.address, id(value), kind)
        assert bool(ok) == suits, (value, type(value))
        if suits and isinstance(value, np.ndarray):
            assert (n, address) == (value.size, value.ctypes.data)
        elif suits:
            assert n == 1


def test_sizes_of_arrays_of_every_rank():
    for shape in [(), (0,), (5,), (2, 3), (2, 0, 3), (1,) * 20, (2,) * 10]:
        array = np.zeros(shape)
        assert size(id(array)) == array.size


def test_integers():
    for value in (0, 1, 255, (1 << 30) - 1, 1 << 30, (1 << 45) + 7, (1 << 60) - 1):
        small, read = integer(STATE.address, id(value))
        assert small
        assert read == value
    for value in (-1, -(1 << 40), 1 << 60, 1 << 100):
        assert not integer(STATE.address, id(value))[0]


def test_the_layout_was_confirmed_here():
    assert object_layout.CHECKED
    assert Workspace().state[ARRAY_TYPE] == id(np.ndarray)


def arrays(folder):
    """Arrays that a user may hand to a tensor, all with the numbers 1 … 6."""
    plain = np.arange(1.0, 7.0).reshape(2, 3)
    mapped = np.memmap(folder / "numbers", dtype=float, mode="w+", shape=(2, 3))
    mapped[:] = plain
    frozen = plain.copy()
    frozen.flags.writeable = False
    big = np.zeros((4, 6))
    big[::2, ::2] = plain
    yield from (plain, mapped, frozen, np.asfortranarray(plain), plain[::-1, ::-1][::-1, ::-1], big[::2, ::2])
    yield plain.astype(">f8")
    yield np.frombuffer(b"\0" + plain.tobytes(), np.uint8)[1:].view(float).reshape(2, 3)


def test_awkward_arrays_give_the_same_gradients(tmp_path):
    expected = None
    for array in arrays(tmp_path):
        x = tape.as_tensor(array).requires_grad_()
        y = tape.sin(x) * x / (x + array)
        (y * array).sum().backward()
        expected = x.grad.numpy() if expected is None else expected
        np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize("bad", [np.zeros(2, [("a", float)]), np.array(["x"]), np.array([None])])
def test_what_is_no_number_is_refused(bad):
    with pytest.raises((TypeError, RuntimeError, ValueError)):
        tape.as_tensor(bad).requires_grad_()


def test_without_reading_memory_everything_is_the_same():
    """The seeds' situations and the tests of autograd, with the native half switched off."""
    here = os.path.dirname(os.path.dirname(__file__))
    files = [os.path.join(here, *name) for name in (("house", "test_seeds.py"), ("recording", "test_autograd.py"))]
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *files]
    env = os.environ | {"TAPE_JIT": "0", "PYTHONPATH": os.pathsep.join([os.path.dirname(here), here])}
    done = subprocess.run(
        command, env=env, cwd=os.path.dirname(here), capture_output=True, text=True, timeout=200, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:]


def test_a_layout_that_does_not_hold_switches_the_native_half_off(monkeypatch):
    monkeypatch.setattr(object_layout, "CHECKED", False)
    jit_door.jitted.cache_clear()
    try:
        assert jit_door.jitted("driving.run") is None
        x = tape.tensor([1.0, 2.0], requires_grad=True)
        (x * x).sum().backward()
        assert x.grad.tolist() == [2.0, 4.0]
    finally:
        jit_door.jitted.cache_clear()
