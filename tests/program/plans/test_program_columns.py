"""Array code along one long axis, compiled as code of its columns: against NumPy, and against the eager gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import tape
from tape.program import record
from tape.program.plans.cutting import array_columns
from tape.program.plans.cutting.array_columns import in_depth

N = 77
"""Rows: some vectors of any width, and a rest."""


def draw(*shape: int, dtype: Any = np.float64) -> np.ndarray:
    return np.random.default_rng(shape).normal(size=shape).astype(dtype)


def distances(centres: Any, x: Any) -> Any:
    return np.sum(np.min(np.sum((x[:, None, :] - centres[None, :, :]) ** 2, axis=2), axis=1))


def scores(w: Any, x: Any) -> Any:
    y = np.tanh(x @ w)
    most = np.max(y, axis=1, keepdims=True)
    e = np.exp(y - most)
    return np.sum(np.log(np.sum(e, axis=1)) + np.squeeze(most, 1)), e / np.sum(e, axis=1, keepdims=True)


def turned(w: Any, x: Any) -> Any:
    y = w @ x  # columns are rows here
    return np.mean(y * y, axis=1), np.mean(np.exp(-(y * y)), axis=0), np.mean(np.sin(y))


def contracted(m: Any, x: Any) -> Any:
    y = np.einsum("kij,nkj->nki", m, x[:, None, :] * np.ones((3, 1)))
    return np.einsum("nki,nkj->kij", np.cos(y), y), np.sum(y, axis=(0, 2)), np.sum(y, axis=2)


def crossed(x: Any, y: Any) -> Any:
    z = (x * x + np.sin(x)).T @ np.exp(-y * y)
    return z, np.transpose(x * y + x)[::-1]


def chosen(x: Any, limit: Any) -> Any:
    inside = (x > limit) & (x < 1.0)
    y = np.where(inside, x * x, np.abs(x)) + inside
    return np.prod(y, axis=1), np.sum(y * y, axis=0, keepdims=True), np.max(y, axis=-1)


def reshaped(x: Any) -> Any:
    y = np.sin(x).reshape(N, 2, 3) * np.cos(x).reshape(N, 3, 2).transpose(0, 2, 1)
    return np.sum(y[:, 1] * y[:, 0, ::-1], axis=1), np.broadcast_to(np.sum(y, axis=2)[:, :, None], (N, 2, 4))


CASES: dict[str, tuple[Callable[..., Any], tuple[np.ndarray, ...]]] = {
    "distances": (distances, (draw(5, 3), draw(N, 3))),
    "scores": (scores, (draw(3, 4), draw(N, 3))),
    "turned": (turned, (draw(3, 4), draw(4, N))),
    "contracted": (contracted, (draw(3, 2, 2), draw(N, 2))),
    "crossed": (crossed, (draw(N, 3), draw(N, 2)[:, :1])),
    "chosen": (chosen, (draw(N, 4), np.asarray(0.1))),
    "reshaped": (reshaped, (draw(N, 6),)),
}


def flat(found: Any) -> list[np.ndarray]:
    return [np.asarray(x) for x in (found if isinstance(found, tuple) else (found,))]


def by_columns(replay: Any) -> bool:
    return replay.listing is not replay.recorded


@pytest.fixture(autouse=True)
def always(monkeypatch: Any) -> None:
    """Columns even where few records are computed for each that is read."""
    monkeypatch.setattr(array_columns, "WORTH", 0)


def total(f: Any) -> Any:
    """A number out of what a function gives, in which no two results have the same part."""
    return lambda *xs: sum(np.sum(np.cos(z) * (k + 1.5)) for k, z in enumerate(as_tuple(f(*xs))))


def as_tuple(found: Any) -> tuple[Any, ...]:
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.parametrize("name", CASES)
def test_values_are_numpys(name: str) -> None:
    f, inputs = CASES[name]
    program = tape.record(f, *inputs)
    assert by_columns(program.replay)
    for found, expected in zip(flat(program(*inputs)), flat(f(*inputs)), strict=True):
        assert found.shape == expected.shape
        assert found.dtype == expected.dtype
        assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_those_of_arrays(name: str, monkeypatch: Any) -> None:
    f, inputs = CASES[name]
    gradient = tape.func.grad_and_value(total(f), argnums=tuple(range(len(inputs))))
    program = tape.record(gradient, *inputs)
    assert by_columns(program.replay)
    monkeypatch.setattr(array_columns, "LENGTH", -1)
    arrays = tape.record(gradient, *inputs)
    assert not by_columns(arrays.replay)
    (found, value), (expected, also) = program(*inputs), arrays(*inputs)
    assert_allclose(value, also, rtol=1e-12)
    for x, y in zip(found, expected, strict=True):
        assert_allclose(x, y, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("name", ["distances", "scores", "chosen"])
def test_single_precision_stays_single(name: str) -> None:
    f, inputs = CASES[name]
    inputs = tuple(x.astype(np.float32) for x in inputs)
    program = tape.record(f, *inputs)
    assert by_columns(program.replay)
    for found, expected in zip(flat(program(*inputs)), flat(f(*inputs)), strict=True):
        assert found.dtype == np.float32
        assert_allclose(found, expected, rtol=2e-5, atol=1e-5)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_where_numpy_has_it(bad: float) -> None:
    for name in ("distances", "scores", "chosen"):
        f, inputs = CASES[name]
        program = tape.record(f, *inputs)
        inputs = tuple(x.copy() for x in inputs)
        inputs[-1 if name != "chosen" else 0][3, 1] = bad
        with np.errstate(all="ignore"):
            expected = flat(f(*inputs))
        for x, y in zip(flat(program(*inputs)), expected, strict=True):
            assert_allclose(x, y, rtol=1e-12, atol=1e-13)


def test_arguments_may_lie_anyhow() -> None:
    f, (centres, x) = CASES["distances"]
    compiled = tape.compile(f)
    wide = np.repeat(np.asfortranarray(x), 2, axis=0)[::2]
    for _ in range(3):
        assert_allclose(compiled(centres, wide), f(centres, x), rtol=1e-13)


def test_threads_take_parts_of_the_rows() -> None:
    centres, x = draw(5, 3), draw(40_000, 3)
    one, two = (tape.compile(tape.func.grad_and_value(distances), threads=t) for t in (1, 2))
    for x_bar, y_bar in zip(flat(one(centres, x)), flat(two(centres, x)), strict=True):
        assert_array_equal(x_bar, y_bar)


def test_sums_over_rows_are_no_worse_than_numpys() -> None:
    x = np.abs(draw(200_000, 2)) + 1e-3
    f = lambda x: np.sum(np.sqrt(x) * x[:, :1] + 0.1, axis=0)  # noqa: E731
    exact = np.sum((np.sqrt(x) * x[:, :1] + 0.1).astype(np.longdouble), axis=0)
    program = tape.record(f, x)
    assert by_columns(program.replay)
    ours, numpys = (np.max(np.abs(y - exact) / exact) for y in (program(x), f(x)))
    assert ours <= max(numpys, 1e-14)


def test_a_guard_ends_a_replay() -> None:
    def f(centres: Any, x: Any) -> Any:
        y = distances(centres, x)
        return y * 2.0 if y > 1.0 else y

    centres, x = CASES["distances"][1]
    compiled = tape.compile(f)
    for scale in (1.0, 1e-3, 1.0, 1e-3):
        assert_allclose(compiled(scale * centres, scale * x), f(scale * centres, scale * x), rtol=1e-12)


def test_numpy_goes_by_arrays_meanwhile() -> None:
    f, inputs = CASES["scores"]
    replay = tape.record(f, *inputs).replay
    for found, expected in zip(replay.in_python(inputs), flat(f(*inputs)), strict=True):
        assert_array_equal(found, expected)


def test_few_rows_empty_axes_and_large_products_stay_arrays(monkeypatch: Any) -> None:
    monkeypatch.undo()
    for f, inputs in (
        (distances, (draw(5, 3), draw(20, 3))),
        (lambda x: np.sum(np.exp(x), axis=1), (draw(N, 0),)),
        (lambda w, x: np.tanh(x @ w), (draw(32, 32), draw(N, 32))),
        (lambda x: np.exp(x) @ x, (draw(N, N),)),
    ):
        program = tape.record(f, *inputs)
        assert not by_columns(program.replay)
        assert_allclose(program(*inputs), f(*inputs), rtol=1e-12, atol=1e-11)


def test_little_work_for_much_reading_stays_one_of_arrays(monkeypatch: Any) -> None:
    monkeypatch.undo()
    x = draw(N, 6)
    assert not by_columns(tape.record(lambda x: np.sum(x * x, axis=1), x).replay)
    assert by_columns(tape.record(distances, draw(5, 3), draw(N, 3)).replay)


def test_jitted_code_calls_programs_of_columns() -> None:
    numba = pytest.importorskip("numba")
    f, (centres, x) = CASES["distances"]
    jitted = tape.record(tape.func.grad_and_value(f), centres, x).njit()

    @numba.njit
    def call(centres: Any, x: Any) -> Any:
        return jitted(centres, x)

    gradient, value = call(centres, x)
    expected, also = tape.func.grad_and_value(f)(centres, x)
    assert_allclose(value, also, rtol=1e-13)
    assert_allclose(gradient, expected, rtol=1e-12)


def test_statistics_tell_of_the_kernel_and_of_little_memory(monkeypatch: Any) -> None:
    inputs = draw(5, 3), draw(1000, 3)
    program = tape.record(tape.func.grad_and_value(distances), *inputs)
    found = program.statistics()
    assert found.kernels[0].elements == 1000
    assert found.live_peak < 2 * inputs[1].nbytes
    monkeypatch.setattr(array_columns, "LENGTH", -1)
    assert tape.record(tape.func.grad_and_value(distances), *inputs).statistics().memory > 10 * found.memory


def test_records_are_made_shortly_before_they_are_read():
    """Each comes after its operands, and the gradient of a column before anything is made for the next one."""

    def f(c, x):
        return np.amin(((x[:, None, :] - c[None]) ** 2).sum(2), 1).sum()

    rng = np.random.default_rng(0)
    c, x = rng.standard_normal((3, 4)), rng.standard_normal((100, 4))
    program = tape.record(tape.func.grad_and_value(f), c, x)
    listing = program.replay.listing
    assert listing is not program.listing
    for k in range(len(listing)):
        assert all(j < k for j in listing.operands(k))
    names = [op.name for k in range(len(listing)) if (op := listing.op(k)) is not None]
    assert 0 < names.index("square") - names.index("sub") < 4
    last = len(names) - 1 - names[::-1].index("chain_mul")
    assert "sum" in names[names.index("chain_mul") : last]
    found, value = tape.compile(tape.func.grad_and_value(f), tier="quick")(c, x)
    wanted, expected = tape.func.grad_and_value(f)(c, x)
    assert_allclose(value, expected, rtol=1e-12)
    assert_allclose(found, wanted, rtol=1e-11)


def test_an_order_in_depth_keeps_what_is_computed():
    listing = record(lambda x, y: (np.sin(x) * y + np.cos(x), np.exp(y).sum(), x @ y), *np.ones((2, 5))).listing
    found = in_depth(listing)
    assert sorted(found.code.tolist()) == sorted(listing.code.tolist())
    for one, other in zip(found.outputs.tolist(), listing.outputs.tolist()):
        assert formula(found, one) == formula(listing, other)


def formula(listing, k):
    op = listing.op(k)
    given = () if op is not None else (int(listing.code[k]), int(listing.param[k]))
    return (op and op.name, *given, *(formula(listing, j) for j in listing.operands(k)))
