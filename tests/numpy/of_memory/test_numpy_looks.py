"""What NumPy gives as a view is a view of a recorded array, and what it gives as a copy is a copy.

Each function looks at arrays that it made, writes into them, through the look if NumPy lets it, and reads both.  NumPy
itself says what comes of that; gradients are compared with differences, eager and compiled.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from contextlib import nullcontext, suppress
from typing import Any

import differences
import numpy as np
import pytest
import scipy.special
from numpy.testing import assert_allclose, assert_array_equal

import tape

X = np.array([0.3, 0.7, -0.2])

LOOKS = [
    "np.flip(w)", "np.flip(W)", "np.flip(W, 0)", "np.flip(W, (0, 1))", "np.flipud(W)", "np.fliplr(W)", "np.rot90(W)",
    "np.rot90(W, 2)", "np.rot90(W, 3)", "np.rot90(W, 4)", "np.rot90(W, -1, axes=(1, 0))", "np.moveaxis(W, 0, 1)",
    "np.rollaxis(W, 1)", "np.rollaxis(W[None], 2)", "np.rollaxis(W[None], 1, 3)", "np.split(w, 3)[0]",
    "np.array_split(W, 2)[0]", "np.array_split(W, 2, axis=1)[1]", "np.hsplit(W, 3)[1]", "np.hsplit(w, 3)[1]",
    "np.vsplit(W, 3)[1]", "np.split(w, [1, 2])[1]", "np.split(w, [2, 1, 5])[2]", "np.split(W, 3, axis=-1)[0]",
    "np.unstack(W)[1]", "np.unstack(W, axis=1)[1]", "np.diag(W)", "np.diag(W, 1)", "np.diag(w)", "np.diagonal(W)",
    "np.linalg.diagonal(W)", "np.broadcast_to(w, (2, 3))", "np.real(w)", "w.real", "np.atleast_1d(w)",
    "np.atleast_2d(w)", "np.atleast_3d(W)", "np.nan_to_num(w, copy=False)", "np.nan_to_num(w)", "np.real_if_close(w)",
    "np.ascontiguousarray(w)", "np.ascontiguousarray(W.T)", "np.asfortranarray(W)", "np.asarray(w)",
    "np.require(w, requirements='C')", "np.require(W.T, requirements=['C', 'W'])", "np.meshgrid(w, w)[0]",
    "np.meshgrid(w, w, w)[1]", "np.meshgrid(w, w, sparse=True)[1]", "np.meshgrid(w, w, sparse=True, copy=False)[1]",
    "np.meshgrid(w, copy=False)[0]", "np.meshgrid(w, w[:1], copy=False)[0]", "np.meshgrid(W, w[:1], copy=False)[0]",
    "np.matrix_transpose(W)", "np.permute_dims(W, (1, 0))", "np.astype(w, float, copy=False)", "np.astype(w, float)",
    "w.astype(float, copy=False)", "np.reshape(w, (3, 1), copy=False)", "np.reshape(W.T, 9)", "W.T.ravel()",
    "W.ravel('F')", "W.ravel('K')", "W.T.ravel('K')", "W.reshape(9, order='F')", "W.T.reshape(9, order='A')",
    "W.flatten()", "np.array(w)", "np.array(w, copy=None)", "np.einsum('ii->i', W)", "np.einsum('ij->ji', W)",
    "np.einsum('i->i', w)", "np.einsum('ji', W)", "np.einsum(W, [0, 1], [1, 0])", "np.einsum(W, [0, 0], [0])",
    "np.einsum('...ij->...ji', W)", "np.einsum('...i->i...', W)", "np.expand_dims(w, 0)", "np.squeeze(w[None])",
    "W.T", "W.mT", "W.swapaxes(0, 1)", "w[...]", "w.view()", "w[None]", "W[1]", "W[:, 1]", "W[1:, ::2]", "W[[0, 1]]",
    "np.take(w, [0, 1])", "w.copy()", "+w", "w.clip(-9, 9)", "np.roll(w, 0)", "np.tile(w, 1)", "np.concatenate([w])",
    "np.pad(w, 0)", "np.block([w])", "np.block(w)", "np.append(w, [])", "np.triu(W, -5)", "np.sum(W, axis=())",
    "np.choose([0, 0, 0], [w])", "np.select([w > -5], [w])", "np.where(w > -5, w, w)", "w.conj()", "np.positive(w)",
    "np.fft.fftshift(w)", "np.ravel(w)", "w.squeeze()", "next(iter(W))", "np.kron(1, w)", "np.resize(w, 3)",
]  # fmt: skip

MADE = {
    "zeros": "w, W = np.zeros(3), np.zeros((3, 3))",
    "strided": "w, W = np.zeros(6)[::2], np.zeros((3, 3)).T",
    "computed": "w, W = x * 1, np.outer(x, x)",
}
TEXT = """
def f(x):
    {made}
    w[1], W[1, 1] = x[0], x[1]
    u = {look}
    w *= x
    before = (u * np.cos(np.arange(np.size(u)).reshape(np.shape(u)))).sum()
    np.multiply(x, x, out=w)
    W += np.outer(x, x)
    {write}
    after = (u * np.sin(np.arange(np.size(u)).reshape(np.shape(u)))).sum()
    return before * 2 + after + (w * np.arange(3)).sum() + (W * np.arange(9).reshape(3, 3)).sum()
"""


def function_of(look: str, made: str, write: str):
    names = {"np": np}
    exec(TEXT.format(made=MADE[made], look=look, write=write), names)
    return names["f"]


@pytest.mark.filterwarnings("ignore:Numpy has detected that you:DeprecationWarning")
@pytest.mark.parametrize(("number", "look"), list(enumerate(LOOKS)), ids=LOOKS)
def test_a_view_where_numpy_gives_one(number, look):
    for turn, made in enumerate(MADE):
        f = function_of(look, made, "u += x[0] * x[1]")
        try:
            f(X)
        except ValueError:
            with pytest.raises((ValueError, RuntimeError), match=r"read-only|expanded"):
                tape.func.grad(f)(X)
            f = function_of(look, made, "pass")
        (wanted,) = differences.gradients(f, [X])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a few are not followed, and step aside
            gradient = tape.func.grad(f)
            for function in (gradient, *[tape.compile(gradient)] * 2 * (turn == number % 3)):
                assert_allclose(function(X), wanted, rtol=1e-6, atol=1e-8)


LEFT = [
    "np.lib.stride_tricks.as_strided(w, (2,), (8,))", "w.data", "w.__array__()[1:]", "np.frombuffer(w)",
    "w.getfield(float)", "memoryview(w.data)",
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:tape.compile runs:RuntimeWarning")
@pytest.mark.parametrize("look", LEFT)
def test_a_write_that_somebody_would_not_see_is_refused(look):
    """Bare numbers of an array are in use when something is written there that carries a gradient."""

    def f(x):
        w = np.zeros(3)
        u = eval(look, {"np": np, "w": w, "memoryview": memoryview})
        w[:] = x * x
        return (np.asarray(u) * w[: len(u)]).sum()

    for transformed in (tape.func.grad(f), tape.compile(tape.func.grad(f))):
        with pytest.raises(TypeError, match="plain numbers were taken before"):
            transformed(X)


asarray = np.asarray
windows = np.lib.stride_tricks.sliding_window_view
EARLY = {
    "one each": lambda w: windows(w, 1)[:, 0], "pairs": lambda w: windows(w, 2),
    "of a part": lambda w: windows(w.T, 2)[1:].T, "bytes": lambda w: w.data,
}  # fmt: skip


@pytest.mark.parametrize("look", EARLY)
def test_what_looked_before_the_first_view_sees_what_is_written_later(look):
    """Or the function runs as it is: compiled it gives what it gives."""

    def f(x):
        w = np.zeros(3)
        u = EARLY[look](w)
        v = w[:2]
        w[0] = x[0]
        v[1] = x[1]
        return np.asarray(u) * 2.0

    compiled = tape.compile(f)
    aside = pytest.warns(RuntimeWarning, match="plain numbers were taken before") if look == "bytes" else nullcontext()
    with aside:
        assert_array_equal(compiled(X), f(X))
    assert_array_equal(compiled(2 * X), f(2 * X))


SLID = {
    "its own": lambda x: np.zeros((3, 3)), "a record": lambda x: np.outer(x, x), "turned": lambda x: np.outer(x, x).T,
    "in columns": lambda x: np.asfortranarray(np.outer(x, x)), "backwards": lambda x: np.zeros((3, 3))[:, ::-1],
    "every second": lambda x: np.zeros((5, 5))[::2, ::2], "a row": lambda x: np.zeros((2, 3))[1],
}  # fmt: skip
SLIDES = (2, -1), ((2, 2), None), (1, 0)
WRITTEN: dict[str, Callable[..., Any]] = {
    "number": lambda w, x: w.__setitem__(1, 7.0), "record": lambda w, x: w.__setitem__(1, x[-1]),
    "through another view": lambda w, x: w[1:].fill(2.0), "added": lambda w, x: w.__iadd__(x[0]),
    "out": lambda w, x: np.multiply(w, 2.0, out=w), "copied": lambda w, x: np.copyto(w, 3.0),
    "sorted": lambda w, x: w.sort(),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:tape.compile runs:RuntimeWarning")
@pytest.mark.parametrize("write", WRITTEN)
@pytest.mark.parametrize("made", SLID)
def test_windows_see_what_is_written_into_the_array(made, write):
    """Or the write is refused, while they are in use and are a copy."""
    known = wrong = 0
    for length, axis in SLIDES:

        def f(x, length=length, axis=axis):
            w = SLID[made](x)
            seen = windows(w, length, axis)
            WRITTEN[write](w, x)
            return np.sin(seen + x[0]).sum() + (seen * seen).sum()

        try:
            wanted = np.array([(f(X + h) - f(X - h)) / 2e-6 for h in 1e-6 * np.eye(3)])
        except ValueError:
            wrong += 1  # a row has one axis
            continue
        gradient = tape.func.grad(f)
        for function in (gradient, tape.compile(gradient), tape.func.jacfwd(f), lambda x: tape.compile(f)(x) - f(x)):
            with suppress(TypeError):
                found = function(X)
                assert_allclose(found, wanted if np.ndim(found) else 0.0, rtol=1e-5, atol=1e-6)
                known += 1
        with suppress(TypeError):
            assert_allclose(tape.func.vmap(f)(np.stack([X, 2 * X])), [f(X), f(2 * X)])
    assert known >= len(SLIDES) - wrong > 0


def test_a_write_that_a_copy_would_not_see_says_what_to_do():
    def f(x):
        w = np.outer(x, x)[::-1]
        seen = windows(w, (2, 2))
        w[0] = 1.0
        return seen.sum()

    with pytest.raises(TypeError, match=r"sliding_window_view\(x.copy\(\), n\)"):
        tape.func.grad(f)(X)


def test_a_write_goes_on_when_nobody_looks_any_more():
    def f(x):
        w = np.zeros(3)
        total = float(np.asarray(memoryview(w.data)).sum()) + len(w.tobytes())
        w[:] = x * x
        return w.sum() + total

    assert_allclose(tape.func.grad(f)(X), 2 * X)


def test_windows_slide():
    for f in (
        lambda x: (windows(x * x, 2) ** 2).sum(),
        lambda x: (windows(np.outer(x, x), (2, 2)) ** 3).sum(),
        lambda x: np.sin(windows(np.outer(x, x), 2, axis=1).mean(-1)).sum(),
    ):
        (wanted,) = differences.gradients(f, [X])
        assert_allclose(tape.func.grad(f)(X), wanted, rtol=1e-6)
        assert_allclose(tape.compile(tape.func.grad(f))(X), wanted, rtol=1e-6)
    with pytest.raises(ValueError, match="cannot be larger"):
        tape.func.grad(lambda x: windows(x, 4).sum())(X)


@pytest.mark.parametrize("made", ["np.zeros((3, 3), order='F')", "np.zeros((3, 4))[:, 1:]", "np.zeros((3, 3), 'f')"])
def test_dot_writes_only_into_what_it_would_give(made):
    def f(x):
        out = eval(made, {"np": np})
        return np.dot(np.outer(x, x), np.outer(x, x), out=out).sum()

    for transformed in (f, tape.func.grad(f)):
        with pytest.raises(ValueError, match="must have the right datatype"):
            transformed(X)


def test_a_mask_that_differs_from_lane_to_lane_writes_into_an_array_that_is_the_same_in_all():
    def f(x):
        w = np.zeros(3)
        w[x > 0] = 1.0
        return w * x

    batch = np.stack([X, -X])
    assert_allclose(tape.vmap(f)(batch), [f(x) for x in batch])


@pytest.mark.parametrize("f", [
    lambda x: np.diff(x, prepend=x.sum()), lambda x: np.diff(x, append=0.5),
    lambda x: np.diff(np.outer(x, x), axis=0, prepend=x[None]), lambda x: np.diff(x, n=2, prepend=[1, 2]),
    lambda x: np.minimum.accumulate(x), lambda x: np.maximum.accumulate(np.outer(x, x), axis=1),
])  # fmt: skip
def test_differences_with_ends_and_running_extremes(f):
    total = lambda x: (f(x) ** 2).sum()  # noqa: E731
    (wanted,) = differences.gradients(total, [X])
    assert_allclose(tape.func.grad(total)(X), wanted, rtol=1e-6, atol=1e-9)
    assert_allclose(tape.compile(tape.func.grad(total))(X), wanted, rtol=1e-6, atol=1e-9)


def test_a_lost_gradient_is_warned_of_in_each_file(tmp_path):
    """Two files with the same text have equal code objects."""
    text = "def f(x):\n    y = float(x)\n    return x * y\n"
    for file in ("one.py", "two.py"):
        names = {}
        exec(compile(text, str(tmp_path / file), "exec"), names)
        with pytest.warns(UserWarning, match="no gradient flows"):
            tape.func.grad(names["f"])(2.0)


zeros = logsumexp = None
"""Stand for what the text of the functions below finds in a module of its own."""


class Layer:
    """An object whose method calls what its module has imported by name."""

    def __init__(self, scale):
        self.scale = scale

    def __call__(self, x):
        return self.scale * logsumexp(x) + zeros_filled(x)[1]


def zeros_filled(x):
    made = zeros(2)
    made[1] = x.sum()
    return made


class Holder:
    def __init__(self, *layers):
        self.layers = list(layers)


@pytest.mark.parametrize("held", [
    lambda layers: lambda x: sum(layer(x) for layer in layers), lambda layers: Through(layers),
])  # fmt: skip
def test_functions_that_are_called_through_containers_and_objects_are_reached(held):
    """Names imported from NumPy and SciPy are replaced in what a list, or an object's attribute, calls."""
    namespace = {"logsumexp": scipy.special.logsumexp, "zeros": np.zeros, "__name__": "somebodys_own"}
    exec(f"{inspect.getsource(zeros_filled)}\n{inspect.getsource(Layer)}", namespace)
    f = held([namespace["Layer"](2.0), namespace["Layer"](3.0)])
    for transformed in (tape.func.grad(f), tape.compile(tape.func.grad(f))):
        assert_allclose(transformed(X), 5 * scipy.special.softmax(X) + 2, rtol=1e-12)


class Through:
    def __init__(self, layers):
        self.inner = Holder(*layers)

    def __call__(self, x):
        return sum(layer(x) for layer in self.inner.layers)


@pytest.mark.parametrize("ufunc", [np.multiply, np.add, np.subtract])
@pytest.mark.parametrize("operand", [lambda w: w, lambda w: w[::-1], lambda w: w[:]], ids=["itself", "flip", "view"])
def test_at_reads_its_operand_before_it_writes(ufunc, operand):
    """The operand may be the array itself, and a place be named twice."""

    def f(x):
        w = x * 1
        ufunc.at(w, [0, 2, 2], operand(w))
        return (w * np.arange(1.0, 4.0)).sum()

    (wanted,) = differences.gradients(f, [X])
    for transformed in (tape.func.grad(f), tape.compile(tape.func.grad(f))):
        assert_allclose(transformed(X), wanted, rtol=1e-8)
    assert_allclose(tape.compile(f)(X), f(X), rtol=1e-14)


def test_a_number_written_under_vmap_is_seen_in_bare_numbers():
    def f(x):
        w = np.zeros(3)
        seen = asarray(w)
        w[1] = 7.0
        return seen.sum() + w.sum() + x.sum()

    assert_array_equal(tape.func.vmap(f)(np.stack([X, X])), [f(X)] * 2)


def test_a_block_of_one_array_is_a_copy():
    def f(x):
        w = np.outer(x, x)
        copy = np.block(w)
        w[1] = 7.0
        return (copy * copy).sum()

    wanted = 4 * X * (X @ X)
    for take in (tape.func.grad, tape.func.jacfwd, tape.func.jacrev, lambda f: tape.compile(tape.func.grad(f))):
        assert_allclose(take(f)(X), wanted)
    assert_allclose(tape.func.vmap(f)(np.stack([X, 2 * X])), [f(X), f(2 * X)])
