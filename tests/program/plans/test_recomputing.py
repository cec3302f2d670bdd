"""Large values that later kernels compute again: which, and that nothing else changes."""

from __future__ import annotations

import numpy as np
import pytest

import tape
from ops import REGISTRY
from tape.program.plans import replay
from tape.program.plans.plan import Plan
from tape.program.plans.recomputing import is_quick, recomputed


@pytest.fixture(autouse=True)
def _checked(monkeypatch):
    """Every piece of memory is followed by bytes that nobody may write to."""
    monkeypatch.setattr(Plan.__init__, "__defaults__", (True,))


def distances(c, x):
    return ((x[:, None, :] - c[None, :, :]) ** 2).sum(axis=2)


def k_means(c, x):
    return np.amin(distances(c, x), axis=1).sum()


def count(function, name, *args):
    """How many records of an op a plan has."""
    made = tape.record(function, *args).replay
    bodies = [step.body.listing for step in made.steps if hasattr(step, "body")]
    return max(int((listing.code == REGISTRY[name].code).sum()) for listing in [made.listing, *bodies])


def both(function, monkeypatch, *args, **options):
    """What a function gives compiled, and what without such records."""
    found = [np.array(z) for z in tape.compile(function, **options)(*args)]
    with monkeypatch.context() as patch:
        patch.setattr(replay, "recomputed", lambda listing: listing)
        plain = [np.array(z) for z in tape.compile(function, **options)(*args)]
    return found, plain


def centres_and_points(rows, dtype=np.float64, columns=32):
    rng = np.random.default_rng(rows)
    return rng.normal(size=(10, columns)).astype(dtype), rng.normal(size=(rows, columns)).astype(dtype)


gradient = tape.func.grad_and_value(k_means, argnums=(0, 1))


@pytest.mark.parametrize("rows", [50, 400, 10_000])
def test_differences_are_taken_again_for_the_adjoint(rows):
    assert count(tape.func.grad_and_value(k_means), "sub", *centres_and_points(rows)) == 2


def test_what_is_small_read_elsewhere_or_takes_time_is_not():
    c, x = centres_and_points(400)
    assert count(tape.func.grad_and_value(k_means), "sub", c, x[:5]) == 1

    def given_back(c, x):
        away = x[:, None, :] - c[None, :, :]
        return away, ((away**2).sum(axis=2, keepdims=True) * away).sum(axis=2)

    assert count(given_back, "sub", c, x) == 1

    def of_quotients(c, x):
        away = x[:, None, :] / c[None, :, :]
        return ((away**2).sum(axis=2, keepdims=True) * away).sum(axis=2)

    assert count(of_quotients, "div", c, x) == 1
    assert not is_quick(REGISTRY["exp"])
    assert is_quick(REGISTRY["square"])


def test_where_an_operand_would_be_spread_over_all_it_is_not():
    """The last kernel goes through all elements and not by rows."""

    def function(c, x):
        away = x[:, None, :] - c[None, :, :]
        return away / (1.0 + (away**2).sum(axis=2, keepdims=True))

    assert count(function, "sub", *centres_and_points(400)) == 1


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("rows", [400, 10_000])
def test_nothing_else_changes(rows, threads, dtype, monkeypatch):
    c, x = centres_and_points(rows, dtype)
    c[3] = c[4]
    x[7, 3], x[9, 0], c[5, 1] = np.nan, np.inf, -0.0
    with np.errstate(all="ignore"):
        for found, plain in zip(
            *both(lambda *a: [*gradient(*a)[0], gradient(*a)[1]], monkeypatch, c, x, threads=threads)
        ):
            assert found.dtype == dtype
            np.testing.assert_array_equal(found, plain)


def test_threads_do_not_change_the_bits():
    c, x = centres_and_points(10_000)
    one, three = (tape.compile(tape.func.grad(k_means), threads=n) for n in (1, 3))
    for _ in range(3):
        np.testing.assert_array_equal(one(c, x), three(c, x))


@pytest.mark.parametrize("columns", [16, 17, 19])
def test_arrays_that_lie_otherwise(columns, monkeypatch):
    rng = np.random.default_rng(0)
    c, x = rng.normal(size=(columns, 20))[:, ::2].T, rng.normal(size=(columns, 900))[:, ::-2].T
    found, plain = both(lambda *a: gradient(*a)[0], monkeypatch, c, x)
    for a, b in zip(found, plain):
        np.testing.assert_array_equal(a, b)
    wanted = tape.func.grad(k_means, argnums=(0, 1))(c, x)
    for a, b in zip(found, wanted):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def test_a_value_that_several_later_kernels_read(monkeypatch):
    def function(c, x):
        away = x[:, None, :] - c[None, :, :]
        first = (away * away).sum(axis=2, keepdims=True)
        second = (away * first).sum(axis=2, keepdims=True)
        return ((away * second).sum(axis=2),)

    args = centres_and_points(300)
    assert count(function, "sub", *args) == 3
    (found,), (plain,) = both(function, monkeypatch, *args)
    np.testing.assert_array_equal(found, plain)
    np.testing.assert_allclose(found, function(*args)[0], rtol=1e-12)


def test_a_list_without_such_records_is_the_same():
    listing = tape.record(lambda x: (np.exp(x) * x).sum(), np.ones((300, 200))).listing
    assert recomputed(listing) is listing
