"""Records that go by rows, done tile by tile: against NumPy, and against the same program of whole arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import tape
from tape.program.plans import plan, replay, threads
from tape.program.plans.cutting import array_columns, tiles
from tape.program.plans.cutting.row_rules import NotByRows, RowRules
from tape.program.plans.round_step import TilesStep

ROWS = 16
D = 5


def draw(*shape: int, dtype: Any = np.float64) -> np.ndarray:
    return np.random.default_rng(shape).normal(size=shape).astype(dtype)


def logistic(w: Any, x: Any, y: Any) -> Any:
    return np.mean(np.log1p(np.exp(-y * (x @ w))))


def network(weights: Any, x: Any, y: Any) -> Any:
    first, shift, second = weights
    return np.sum((np.tanh(x @ first + shift) @ second - y) ** 2)


def nearest(centres: Any, x: Any, y: Any) -> Any:
    return np.sum(np.min(np.sum((x[:, None, :] - centres[None]) ** 2, axis=2), axis=1) * y * y)


def likelihood(parameters: Any, x: Any, y: Any) -> Any:
    factor, mean = parameters
    z = (x - mean) @ factor
    return 0.5 * np.sum(z * z) - y.shape[0] * np.sum(np.log(np.diag(factor)))


def mixed(parameters: Any, x: Any, y: Any) -> Any:
    factors, means = parameters
    z = np.einsum("kij,nkj->nki", factors, x[:, None, :] - means)
    inner = -0.5 * np.sum(z * z, axis=2)
    most = np.max(inner, axis=1)
    return np.sum(y * (most + np.log(np.sum(np.exp(inner - most[:, None]), axis=1))))


CASES: dict[str, tuple[Callable[..., Any], Any]] = {
    "logistic": (logistic, draw(D)),
    "network": (network, (draw(D, 4), draw(4), draw(4, 1)[:, 0])),
    "nearest": (nearest, draw(3, D)),
    "likelihood": (likelihood, (np.eye(D) + 0.1 * np.abs(draw(D, D)), draw(D))),
    "mixed": (mixed, (draw(3, D, D), draw(3, D))),
}


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiles of `ROWS` rows of however little data, canaries behind all memory, and no records for columns."""
    for name, value in {"MOST": ROWS, "TILES": 1, "LEAST_BYTES": 1}.items():
        monkeypatch.setattr(tiles, name, value)
    monkeypatch.setattr(array_columns, "LEAST", 2)
    monkeypatch.setattr(replay, "by_columns", lambda listing: listing)
    monkeypatch.setattr(plan.Plan.__init__, "__defaults__", (True,))


def steps_of(compiled: Any) -> list[TilesStep]:
    return [step for path in compiled.programs for step in path.replay.steps if isinstance(step, TilesStep)]


def flat(result: Any) -> list[np.ndarray]:
    if isinstance(result, (tuple, list)):
        return [x for part in result for x in flat(part)]
    return [np.asarray(result)]


def data(n: int, dtype: Any = np.float64) -> tuple[np.ndarray, np.ndarray]:
    return draw(n, D, dtype=dtype), np.sign(draw(n, dtype=dtype) + 0.1)


@pytest.mark.parametrize("case", CASES)
def test_tiles_give_what_whole_arrays_give(case: str) -> None:
    program, parameters = CASES[case]
    whole = tape.func.grad_and_value(program)
    for n in (6, ROWS - 1, ROWS, ROWS + 1, 2 * ROWS, 3 * ROWS - 3, 3 * ROWS):
        x, y = data(n)
        compiled = tape.compile(whole)
        for _ in range(2):
            found = flat(compiled(parameters, x, y))
        for z, expected in zip(found, flat(whole(parameters, x, y)), strict=True):
            assert_allclose(z, expected, rtol=1e-12, atol=1e-13)
        if n >= ROWS:
            assert steps_of(compiled)


def test_every_number_of_rows() -> None:
    parameters = CASES["logistic"][1]
    for n in range(3 * ROWS + 1):
        x, y = data(n)
        compiled = tape.compile(lambda w, x, y: np.sum(np.log1p(np.exp(-y * (x @ w)))) + np.sum(w))
        expected = np.sum(np.log1p(np.exp(-y * (x @ parameters)))) + np.sum(parameters)
        for _ in range(2):
            assert_allclose(compiled(parameters, x, y), expected, rtol=1e-13)


@pytest.mark.parametrize("case", CASES)
def test_the_same_bits_whatever_the_number_of_threads(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "ENOUGH", 1)
    monkeypatch.setattr(threads, "cores", lambda: 3)
    program, parameters = CASES[case]
    x, y = data(40 * ROWS + 3)
    found = []
    for count in (1, 2, 5, None):
        compiled = tape.compile(tape.func.grad_and_value(program), threads=count)
        found += [flat(compiled(parameters, x, y)) for _ in range(3)]
        shared = [step.threads for step in steps_of(compiled)]
        assert max(shared) == (0 if count == 1 else count or 3)
        assert (compiled.statistics().programs[0].stops > 0) == (count != 1)
    for result in found[1:]:
        for z, expected in zip(result, found[0], strict=True):
            assert_array_equal(z, expected)


def test_single_precision_and_arrays_that_lie_otherwise() -> None:
    x, y = data(5 * ROWS + 1, np.float32)
    w = CASES["logistic"][1].astype(np.float32)
    whole = tape.func.grad_and_value(logistic)
    compiled = tape.compile(whole)
    for given in (x, np.asfortranarray(x), x[::-1].copy()[::-1]):
        for z, expected in zip(flat(compiled(w, given, y)), flat(whole(w, given, y)), strict=True):
            assert z.dtype == np.float32
            assert_allclose(z, expected, rtol=2e-6, atol=1e-6)
    assert steps_of(compiled)


def test_what_comes_before_and_after_and_is_captured() -> None:
    rows = draw(4 * ROWS + 5, D)
    rows.flags.writeable = False

    def program(w: Any) -> Any:
        u = np.tanh(w) * np.sum(w)
        z = rows @ u
        total = np.sum(z * z)
        return total / np.sum(u), np.log(total) + np.sin(z) @ rows

    compiled, w = tape.compile(program), draw(D)
    for factor in (1.0, 2.0, 3.0):
        for z, expected in zip(compiled(factor * w), program(factor * w), strict=True):
            assert_allclose(z, expected, rtol=1e-12)
    assert steps_of(compiled)


def test_guards_on_totals() -> None:
    def program(w: Any, x: Any, y: Any) -> Any:
        total = np.sum((x @ w - y) ** 2)
        return np.sqrt(total) if total > 10.0 else total

    (x, y), w = data(6 * ROWS), draw(D)
    compiled = tape.compile(program)
    for factor in (0.0, 1.0, 1e-3, 2.0):
        assert_allclose(compiled(w, factor * x, factor * y), program(w, factor * x, factor * y), rtol=1e-12)
    assert len(compiled.programs) == 2
    assert steps_of(compiled)


@pytest.mark.parametrize(
    "program",
    [
        lambda w, x: (x @ w, np.sum(x @ w)),  # the rows themselves are wanted
        lambda w, x: np.sum((x @ w - np.mean(x @ w)) ** 2),  # rows need a total
        lambda w, x: np.sum(np.cumsum(x @ w)),  # rows need the rows before them
        lambda w, x: np.sum((x @ w)[::-1] * (x @ w)),  # or others
        lambda w, x: np.max(x @ w),  # no sum
        lambda w, x: np.sum((x @ w)[1:] * (x @ w)[:-1]),
    ],
)
def test_what_does_not_go_by_rows(program: Callable[..., Any]) -> None:
    x, w = draw(4 * ROWS + 1, D), draw(D)
    compiled = tape.compile(program)
    for _ in range(2):
        for z, expected in zip(flat(compiled(w, x)), flat(program(w, x)), strict=True):
            assert_allclose(z, expected, rtol=1e-12)
    assert not steps_of(compiled)


def test_a_plan_does_not_grow_with_the_rows() -> None:
    def plan_of(n: int) -> Any:
        compiled = tape.compile(tape.func.grad_and_value(logistic))
        compiled(CASES["logistic"][1], *data(n))
        assert steps_of(compiled)
        return compiled.programs[0].replay.sweeper.plan

    few, many = plan_of(40 * ROWS), plan_of(400 * ROWS)
    assert few.count == many.count
    assert few.nbytes == many.nbytes


def test_all_rows_count_once() -> None:
    """Each row adds a power of two of its own: none is left out, and none is there twice."""
    for n in (33, 47, 48, 52):
        x = np.zeros((n, 2))
        x[:, 0] = 2.0 ** np.arange(n)
        compiled = tape.compile(lambda w, x: (np.sum(x @ w), x.T @ (x @ w * 0.0 + 1.0)))
        value, both = compiled(np.array([1.0, 0.0]), x)
        assert steps_of(compiled)
        assert value == both[0] == 2.0**n - 1.0


def test_machine_code_of_ones_own_runs_tiles() -> None:
    x, y = data(7 * ROWS + 2)
    w = CASES["logistic"][1]
    native = tape.record(logistic, w, x, y).njit()
    assert_allclose(native(w, x, y), logistic(w, x, y), rtol=1e-12)


def test_rules_tell_totals_from_rows() -> None:
    listing = tape.record(tape.func.grad_and_value(logistic), CASES["logistic"][1], *data(100)).listing
    rules = RowRules(listing, 100)
    assert {listing.spec_of(k).shape for k in rules.totals} == {(), (D,)}  # type: ignore[union-attr]
    assert all(listing.spec_of(k).shape[axis] == 100 for k, axis in rules.axes.items())  # type: ignore[union-attr]
    with pytest.raises(NotByRows):
        RowRules(tape.record(lambda x: np.cumsum(x), draw(100)).listing, 100)
