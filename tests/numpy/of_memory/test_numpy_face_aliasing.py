"""Views of arrays and writes through them: random programs give the numbers that NumPy gives, eager and compiled.

A program keeps a list of arrays, looks at some of them in new ways, writes through any of them and reads elements,
which must stay what they were.  Gradients are compared with central differences.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st

import tape

quiet = settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))


def _reshaped(y: Any) -> Any:
    return y.reshape(y.shape[::-1])


LOOKS = {
    "first rows": lambda y: y[: max(1, len(y) // 2)], "other rows": lambda y: y[1:], "every second": lambda y: y[::2],
    "backwards": lambda y: y[::-1], "last axis": lambda y: y[..., :1], "turned": lambda y: y.T,
    "in a row": lambda y: y.ravel(), "in a column": lambda y: y.reshape(-1, 1), "reshaped": _reshaped,
    "exchanged": lambda y: y.swapaxes(0, -1), "with an axis": lambda y: y[None], "squeezed": lambda y: y.squeeze(),
    "itself": lambda y: y[...], "a view": lambda y: y.view(), "a copy": lambda y: y.copy(), "a row": lambda y: y[0],
    "flattened": lambda y: y.flatten(), "picked": lambda y: y[[0, -1]], "kept in order": lambda y: y.copy("K"),
    "asked for": lambda y: np.asarray(y), "new": lambda y: np.array(y), "sum": lambda y: y + 0.5,
    "column major": lambda y: y.copy("F").ravel(), "in memory's order": lambda y: y.ravel("K"),
}  # fmt: skip


def _accumulate(y: Any, value: Any) -> None:
    y += value


def _scale(y: Any, value: Any) -> None:
    y *= value


def _element(y: Any, value: Any) -> None:
    y[(0,) * y.ndim] = value


def _row(y: Any, value: Any) -> None:
    y[-1] = value


def _all(y: Any, value: Any) -> None:
    y[...] = value * 2.0


def _masked(y: Any, value: Any) -> None:
    y[np.arange(y.size).reshape(y.shape) % 2 == 0] = value


def _picked(y: Any, value: Any) -> None:
    y[[0, -1]] += value


def _flat(y: Any, value: Any) -> None:
    y.flat[:: max(1, y.size - 1)] = value


def _itself(y: Any, value: Any) -> None:
    y[...] = y[::-1] * value


def _twice(y: Any, value: Any) -> None:
    np.add.at(y, [0, 0], value)


def _put(y: Any, value: Any) -> None:
    np.put(y, [0, -1], value)


def _copied(y: Any, value: Any) -> None:
    np.copyto(y, value, where=np.arange(y.size).reshape(y.shape) < 2)


def _out(y: Any, value: Any) -> None:
    np.multiply(y, value, out=y)


def _sorted(y: Any, value: Any) -> None:
    y.sort(axis=0)


def _filled(y: Any, value: Any) -> None:
    y.fill(value)


CHANGES = [
    _accumulate, _scale, _element, _row, _all, _masked, _picked, _flat, _itself, _twice, _put, _copied, _out, _sorted,
    _filled,
]  # fmt: skip

steps = st.lists(
    st.one_of(
        st.tuples(st.just("look"), st.integers(0, 9), st.sampled_from(sorted(LOOKS))),
        st.tuples(st.just("change"), st.integers(0, 9), st.sampled_from(CHANGES)),
        st.tuples(st.just("read"), st.integers(0, 9), st.just(None)),
    ),
    min_size=3, max_size=10,
)  # fmt: skip
shapes = st.sampled_from([(4,), (2, 3), (3, 3), (2, 1, 3), (1,)])


def program(steps: Any, shape: Any) -> Any:
    """A function of an array that does the steps, on an array of its own."""

    def run(x: Any) -> Any:
        buffer = np.zeros(shape)
        buffer[...] = x
        arrays, elements = [buffer], []
        for what, which, how in steps:
            y = arrays[which % len(arrays)]
            if what == "look":
                arrays.append(how_to_look(y, how))
            elif what == "change":
                how(y, x[(0,) * x.ndim] + 0.25)
            else:
                elements.append(y[(0,) * y.ndim])
        return np.concatenate([*[a.reshape(-1) for a in arrays], np.array([*elements, 0.0])])

    return run


def how_to_look(y: Any, how: str) -> Any:
    found = LOOKS[how](y)
    return found if isinstance(found, np.ndarray) and found.ndim and found.size else y


def start(shape: Any) -> np.ndarray:
    return np.cos(np.arange(np.prod(shape), dtype=float) * 1.7).reshape(shape)


@quiet
@given(steps, shapes)
def test_writes_through_views_are_numpys(steps, shape):
    x, f = start(shape), program(steps, shape)
    expected, kept = f(x.copy()), x.copy()
    found, pull = tape.func.vjp(f, x)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    np.testing.assert_array_equal(x, kept)
    weights = np.sin(1.0 + np.arange(len(expected)))
    (slope,) = pull(weights)
    _check_slope(f, x, weights, slope)


def _check_slope(f: Any, x: np.ndarray, weights: np.ndarray, slope: Any) -> None:
    """Compare with central differences, along one direction; nothing where it bends, as where numbers change places."""
    direction, step = np.cos(2.0 + np.arange(x.size)).reshape(x.shape), 1e-6
    ahead, here, behind = (f(x + t * direction) @ weights for t in (step, 0.0, -step))
    difference = (ahead - behind) / (2 * step)
    assume(abs(ahead - 2 * here + behind) / step < 1e-3 * (1 + abs(difference)))
    np.testing.assert_allclose(np.sum(slope * direction), difference, rtol=1e-5, atol=1e-5)


@quiet
@given(steps, shapes)
def test_compiled_programs_of_views_are_numpys(steps, shape):
    f = program(steps, shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what cannot be recorded runs eagerly, and says so
        compiled = tape.compile(f)
        for factor in (1.0, -0.5, 2.0):
            x = factor * start(shape)
            kept = x.copy()
            np.testing.assert_allclose(compiled(x), f(x.copy()), rtol=1e-12)
            np.testing.assert_array_equal(x, kept)


@quiet
@given(steps, shapes)
def test_arrays_without_gradients_are_numpys(steps, shape):
    f = program(steps, shape)
    x = start(shape)
    made = tape.numpy.array(x)
    np.testing.assert_allclose(np.asarray(f(made)), f(x.copy()), rtol=1e-12)


@pytest.mark.parametrize("order", ["C", "F", "A", "K"])
def test_views_of_copies_follow_the_order(order):
    """Whether ``ravel`` of a copy is a view depends on how the copy lies."""

    def f(x):
        y = x.T.copy(order)
        y.ravel()[0] = 5.0
        return y

    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(tape.func.vjp(f, x)[0], f(x))
    np.testing.assert_array_equal(tape.compile(f)(x), f(x))


def test_a_loop_over_an_array_sees_what_it_writes_there():
    def f(x):
        w = np.ones_like(x) * x[0]
        for e in w:
            w[1:] += e * x[1]
        rows = np.outer(w, x)
        for row in rows:
            rows[-1] += row * 0.5
        for j, e in enumerate(rows.flat):
            rows.flat[j] = e * 0.5
        return w.sum() * rows.sum()

    x = np.array([0.5, 1.5, -0.75])
    expected = [(f(x + h) - f(x - h)) / 2e-6 for h in 1e-6 * np.eye(3)]
    np.testing.assert_allclose(tape.func.grad(f)(x), expected, rtol=1e-6)
    assert tape.compile(f)(x) == f(x)


def test_an_iterator_over_elements_that_is_read_or_written_by_number_begins_anew():
    def f(x):
        every = (x * 2).flat
        first = next(every) * next(every)
        every[1] = 3 * x[0]
        second = next(every) + next(every) * every[2]
        return first * second * next(every)

    x = np.array([0.5, 1.5, -0.75])
    expected = [(f(x + h) - f(x - h)) / 2e-6 for h in 1e-6 * np.eye(3)]
    np.testing.assert_allclose(tape.func.grad(f)(x), expected, rtol=1e-6)


@pytest.mark.parametrize("how", [{}, {"otypes": [float]}, {"cache": True}])
def test_vectorize_calls_as_often_as_numpys_and_with_what_there_was(how):
    def f(x):
        w, total = x * 1.0, np.zeros(1)

        def step(e):
            w[2] += e
            total[0] += e * w[2]
            return e * total[0]

        return np.vectorize(step, **how)(w).sum() + total[0] * w[2]

    x = np.array([0.5, 1.5, -0.75])
    expected = [(f(x + h) - f(x - h)) / 2e-6 for h in 1e-6 * np.eye(3)]
    np.testing.assert_allclose(tape.func.grad(f)(x), expected, rtol=1e-6)


@pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning")  # of NumPy 2.5
def test_setting_the_shape_of_an_array_that_stands_for_several():
    def f(x):
        y = x * 2.0
        whole = y[:]
        y.shape = (2, 2)
        y[0, 1] *= 3.0
        return y @ y, whole

    x = np.arange(4.0) + 1.0
    expected = f(x)
    for k in range(2):

        def part(x, k=k):
            return f(x)[k]

        np.testing.assert_array_equal(tape.func.vmap(part)(np.stack([x, x]))[1], expected[k])
        np.testing.assert_array_equal(tape.func.jacfwd(part)(x), tape.func.jacrev(part)(x))
        np.testing.assert_array_equal(tape.func.jvp(part, (x,), (x,))[0], expected[k])
    with pytest.raises(AttributeError):
        tape.func.jacfwd(lambda x: setattr(np.outer(x, x).T, "shape", (16,)))(x)


ARRAYS_OF_NUMBERS = {
    name: getattr(np, name) for name in (
        "asarray", "array", "asanyarray", "ascontiguousarray", "asfortranarray", "require", "asarray_chkfinite", "copy",
        "real_if_close", "atleast_1d", "ravel",
    )
} | {"as needed": lambda s: np.array(s, copy=None), "reshaped": lambda s: s.reshape(1)}  # fmt: skip


@pytest.mark.parametrize("make", ARRAYS_OF_NUMBERS.values(), ids=ARRAYS_OF_NUMBERS)
def test_no_array_that_is_made_of_a_number_shares_its_memory(make):
    def f(x):
        number = other = x.sum()
        y = make(number)
        y += 1.0
        y[...] *= 2.0
        z = make(x[0])
        z -= 5.0
        return number * other + y.sum() * z.sum() + (x * x).sum()

    x = np.array([1.0, 2.0, 4.0])
    s, first = x.sum(), np.array([1.0, 0.0, 0.0])
    wanted = 2 * s + 2 * (x[0] - 5) + 2 * (s + 1) * first + 2 * x
    assert f(x) == s * s + 2 * (s + 1) * (x[0] - 5) + (x * x).sum() == tape.compile(f)(x)
    for gradient in (tape.func.grad(f), tape.compile(tape.func.grad(f)), tape.func.jacfwd(f)):
        np.testing.assert_allclose(gradient(x), wanted)
