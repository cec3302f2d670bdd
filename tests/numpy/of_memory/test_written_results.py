"""What is written into a result is seen in what it was made of where NumPy gives the array itself, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest

import tape

FUNCTIONS = {
    "pad by none": lambda v: np.pad(v, 0), "pad by edges": lambda v: np.pad(v, 0, mode="edge"),
    "pad around": lambda v: np.pad(v, 0, mode="wrap"), "roll": lambda v: np.roll(v, 0), "tile": lambda v: np.tile(v, 1),
    "resize": lambda v: np.resize(v, np.shape(v)), "copy": lambda v: np.copy(v), "block": lambda v: np.block(v),
    "where": lambda v: np.where(True, v, v), "select": lambda v: np.select([np.ones(np.shape(v), bool)], [v]),
    "real": lambda v: np.real(v), "float64": lambda v: np.float64(v), "double": lambda v: np.double(v),
    "float32": lambda v: np.float32(v), "asarray": lambda v: np.asarray(v), "array": lambda v: np.array(v),
    "flip": lambda v: np.flip(v), "squeeze": lambda v: np.squeeze(v), "clip": lambda v: np.clip(v, None, 99.0),
    "nan_to_num": lambda v: np.nan_to_num(v), "round": lambda v: np.round(v, 8), "conj": lambda v: np.conj(v),
    "positive": lambda v: np.positive(v), "transpose": lambda v: np.transpose(v), "ravel": lambda v: np.ravel(v),
    "atleast_1d": lambda v: np.atleast_1d(v), "astype": lambda v: v.astype(float, copy=False),
    "broadcast_arrays": lambda v: np.broadcast_arrays(v)[0], "stack": lambda v: np.stack([v])[0],
    "sum over no axis": lambda v: np.sum(v, axis=()), "largest over no axis": lambda v: np.max(v, axis=()),
    "einsum": lambda v: np.einsum("...->...", v), "moveaxis": lambda v: np.moveaxis(v, [], []),
    "ascontiguousarray": lambda v: np.ascontiguousarray(v), "asfortranarray": lambda v: np.asfortranarray(v),
    "vectorize": lambda v: np.vectorize(lambda x: x)(v), "ellipsis": lambda v: v[...],
    "hstack": lambda v: np.hstack([v]),
    "kron": lambda v: np.kron(1.0, v), "maximum": lambda v: np.maximum(v, -99.0), "append": lambda v: np.append(v, []),
    "fftshift": lambda v: np.fft.fftshift(v), "nothing deleted": lambda v: np.delete(v, []),
}  # fmt: skip
POINTS = [
    np.array(1.5), np.array([1.5]), np.array([1.0, 2.0, 3.0]), np.arange(1.0, 5.0).reshape(2, 2),
    np.arange(1.0, 7.0).reshape(2, 3).T,
]  # fmt: skip


def written(function, write):
    """The array that a function is given, and what it gives, after a write into that, if it is an array."""

    def program(x):
        v = np.array(x)
        w = function(v)
        if isinstance(w, np.ndarray) and w.flags.writeable:
            write(w)
        return v, w

    return program


def add(w):
    w += 1


def fill(w):
    w[...] = 7.0


@pytest.mark.parametrize("write", [add, fill])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_writes_are_seen_where_numpy_shows_them(name, write):
    program = written(FUNCTIONS[name], write)
    for x in POINTS:
        try:
            expected = program(x.copy())
        except (TypeError, ValueError):
            continue  # of a number, say
        compiled = tape.compile(program)
        for _ in range(2):
            for got, wanted in zip(compiled(x.copy()), expected):
                np.testing.assert_array_equal(got, wanted)
        # What it does is linear, and the same everywhere.
        keeps = tape.func.grad(lambda x: np.sum(program(x)[0]))(x.copy())
        seen = np.sum(program((x + 1.0).copy())[0]) - np.sum(
            expected[0]
        )  # what it does is linear, and the same everywhere
        np.testing.assert_allclose(np.sum(keeps), seen, atol=1e-12)


def test_a_plain_array_of_the_shape_of_all_is_given_itself():
    """What is written there is seen in the array around, and recorded values are refused."""
    around = np.ones(3)

    def program(x):
        np.broadcast_arrays(around, x)[0][0] += 5.0
        return np.sum(around * x)

    np.testing.assert_array_equal(tape.func.grad(program)(np.arange(3.0)), [6.0, 1.0, 1.0])
    with pytest.warns(RuntimeWarning, match="without compiling"):
        assert tape.compile(program)(np.arange(1.0, 4.0)) == 16.0
    assert around[0] == 11.0
    with pytest.raises(TypeError, match="needs plain numbers"):
        tape.func.grad(lambda x: np.broadcast_arrays(around, x)[0].put(0, x[0]) or x.sum())(np.arange(3.0))


@pytest.mark.parametrize("f", [lambda f: f, tape.compile], ids=["eager", "compiled"])
def test_a_plain_array_that_is_spread_is_there_to_read(f):
    around = np.arange(3.0)

    def program(x):
        a, b = np.broadcast_arrays(around, x)
        return np.sum(a * b + a.sum())

    gradient = f(tape.func.grad(program))
    for first in (0.0, 7.0, 8.0):
        around[0] = first
        np.testing.assert_array_equal(gradient(np.ones((2, 3))), np.broadcast_to(around, (2, 3)))
        np.testing.assert_array_equal(gradient(np.ones(3)), around)

    def writing(x):
        np.broadcast_arrays(around, x)[0][0] = 2.0
        return np.sum(around * x)

    with pytest.raises(ValueError, match="read-only"):
        tape.func.grad(writing)(np.ones((2, 3)))
