"""Shapes and dtypes of what is computed later are those that the op gives; what is looked at fits in little memory."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tape
from ops import REGISTRY
from tape.base.spec import spec
from tape.program.recorded.large import later
from tape.program.recorded.large.foreseen import foreseen

OPS = [op for op in REGISTRY.values() if op.cases is not None and op.kind != "composite"]
"""Ops that say which operands they are tried with; elementwise ops have a domain instead, and one way to broadcast."""
N = 1 << 16


@pytest.fixture
def all_later(monkeypatch):
    """Every array counts as large."""
    monkeypatch.setattr(later, "LARGE", 1)


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
@pytest.mark.usefixtures("all_later")
def test_what_is_foreseen_is_what_the_op_gives(op):
    for seed in range(2):
        for operands, params in op.cases(np.random.default_rng(seed)):
            values = [later.later(x) for x in operands]
            try:
                found = foreseen(op, values, params)
            except ValueError:
                continue
            if found is None:
                continue
            wanted = later.evaluated(op, operands, params)
            pairs = list(zip(found, wanted, strict=True)) if op.outputs != 1 else [(found, wanted)]
            assert op.outputs in (len(pairs), -1)
            for ours, theirs in ((z, np.asarray(given)) for z, given in pairs):
                assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
                assert lies_as_foreseen(ours, theirs)


def lies_as_foreseen(ours, theirs):
    """Whether an array lies as it was said to, if anything was said; axes of length 1 lie anyhow."""
    said = later.strides_of(hidden(ours))
    if said is None or not theirs.size:
        return True
    return all(n == 1 or a == b for n, a, b in zip(theirs.shape, said, theirs.strides))


def in_columns(x):
    return np.asfortranarray(x)


def backwards(x):
    return x[::-1].copy()[::-1]


def between_others(x):
    """Its last axes change places."""
    return np.swapaxes(np.swapaxes(x, -1, -2).copy(), -1, -2) if x.ndim > 1 else x


@pytest.mark.parametrize("lay", [in_columns, backwards, between_others])
@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
@pytest.mark.usefixtures("all_later")
def test_how_results_lie_is_foreseen_however_operands_do(op, lay):
    for case, params in op.cases(np.random.default_rng(0)):
        operands = [lay(x) if isinstance(x, np.ndarray) and x.ndim else x for x in case]
        values = [later.later(x) for x in operands]
        try:
            found = foreseen(op, list(map(hidden, values)), params)
            wanted = later.evaluated(op, operands, params)
        except ValueError:
            continue
        if found is None:
            continue
        pairs = list(zip(found, wanted, strict=True)) if op.outputs != 1 else [(found, wanted)]
        assert all(lies_as_foreseen(ours, np.asarray(theirs)) for ours, theirs in pairs)


@pytest.mark.parametrize("lay", [in_columns, backwards, np.copy])
@pytest.mark.parametrize("op", [op for op in REGISTRY.values() if op.broadcasts and op.arity < 3 and not op.params])
@pytest.mark.usefixtures("all_later")
def test_so_it_is_where_they_are_broadcast(op, lay):
    x = lay(np.linspace(0.1, 0.9, 24).reshape(2, 3, 4))
    others = [x, x[:1], x[0], x[..., :1], x[0, :, :1], np.broadcast_to(x[0, 0], (2, 3, 4)), np.float64(0.5)]
    for operands in itertools.product(others, repeat=op.arity):
        if not any(isinstance(x, np.ndarray) for x in operands):
            continue
        try:
            with np.errstate(all="ignore"):
                found = foreseen(op, [hidden(later.later(x)) for x in operands], {})
                wanted = np.asarray(later.evaluated(op, operands, {}))
        except (TypeError, ValueError):
            continue
        assert found is None or lies_as_foreseen(found, wanted)


KINDS = np.ones(3), np.ones((2, 1)), np.ones(3, np.float32), np.ones((2, 3), np.complex128), np.float64(1.0), 1.0
"""Operands of which what an op gives is remembered."""


@pytest.mark.parametrize(
    "op", [op for op in REGISTRY.values() if op.broadcasts and not op.params], ids=lambda op: op.name
)
@pytest.mark.usefixtures("all_later")
def test_what_is_remembered_of_operands_of_one_kind_is_not_taken_for_another(op):
    for operands in [*itertools.product(KINDS, repeat=op.arity)] * 2:
        values = [hidden(later.later(x)) for x in operands]
        if not any(map(later.is_later, values)):
            continue
        try:
            with np.errstate(all="ignore"):
                wanted = op.forward(*operands)
        except TypeError:
            continue
        found = foreseen(op, values, {})
        if found is not None:
            assert (found.shape, found.dtype) == (np.shape(wanted), wanted.dtype), operands


def hidden(value):
    """A large array whose numbers are not known yet, but how it lies."""
    if type(value) is later.Later and value.value is not None:
        value.strides, value.value = None if value.ordered else value.value.strides, None
    return value


def test_most_ops_are_foreseen():
    """The others are those whose numbers decide, or may be refused."""
    unforeseen = set()
    for op in OPS:
        cases = list(op.cases(np.random.default_rng(0)))
        values = [[later.Later(later.spec_of(np.asarray(x))) for x in operands] for operands, _ in cases]
        if not any(foreseen(op, xs, params) is not None for xs, (_, params) in zip(values, cases)):
            unforeseen.add(op.name)
    assert unforeseen == {"function_of_matrix", "masked_choice", "masked_place", "solve"}


def test_recording_rolls_joins_and_products_keeps_no_large_arrays():
    def f(x):
        for _ in range(3):
            x = np.roll(x, 1, 0) + np.concatenate([x[1:], x[:1]]) * np.cumsum(x, axis=1) + np.sort(x, axis=0)
        return (x @ x.T).max() + np.linalg.norm(x) + x.argmax()

    x = np.random.default_rng(0).uniform(size=(200, 200)) / 200
    first, again = tape.record(f, x), tape.record(f, x)
    assert first.recording_bytes == again.recording_bytes == 0
    np.testing.assert_allclose(again(x), f(x))


def looked_at(x, rounds):
    looks = []
    for _ in range(rounds):
        x = np.tanh(x) + np.roll(x, 1) * 0.5
        looks.append(bool(x.sum() > 0))
    return x, looks


def test_what_was_looked_at_is_kept_within_bounds():
    x = np.random.default_rng(0).uniform(size=N)
    freely = tape.record(looked_at, x, 12)
    assert freely.recording_bytes >= 12 * 8 * N
    tightly = tape.compile(looked_at, most_memory=4 * 8 * N)
    np.testing.assert_allclose(tightly(x, 12)[0], looked_at(x, 12)[0], rtol=1e-14)
    assert tightly.statistics().programs[0].recording_memory <= 8 * 8 * N


def test_arrays_that_come_of_an_argument_of_some_size_are_let_go_of_too():
    def parts_looked_at(x, rounds):
        for _ in range(rounds):
            x = x * 0.5 + np.roll(x, 1) * 0.25
            if x[:9].sum() + x.sum() < 0:
                x = -x
        return x

    x = np.random.default_rng(0).uniform(size=4096)
    assert tape.record(parts_looked_at, x, 12).recording_bytes >= 12 * x.nbytes
    tightly = tape.compile(parts_looked_at, most_memory=4 * x.nbytes)
    np.testing.assert_allclose(tightly(x, 12), parts_looked_at(x, 12), rtol=1e-14)
    assert tightly.statistics().programs[0].recording_memory <= 8 * x.nbytes


def singular_or_not(x):
    try:
        return np.linalg.cholesky(x).sum()
    except np.linalg.LinAlgError:
        return x[0, 0] - 1.0


def with_or_without_nan(x):
    try:
        return np.linalg.eigvalsh(x).sum()
    except np.linalg.LinAlgError:
        return x[0, 0] * 0.0


@pytest.mark.usefixtures("all_later")
@pytest.mark.parametrize(
    ("f", "bad", "warning"),
    [
        (singular_or_not, -np.eye(3), "it goes on where an operation fails"),
        (with_or_without_nan, np.full((3, 3), np.nan), "it goes on where an operation fails"),
    ],
)
def test_what_a_function_does_where_its_numbers_are_refused_is_done(f, bad, warning):
    good = np.eye(3) + 0.1
    fast = tape.compile(f)
    with pytest.warns(RuntimeWarning, match=warning), np.errstate(all="ignore"):
        np.testing.assert_allclose(fast(bad), f(bad))
    for x in (good, bad, good):
        np.testing.assert_allclose(fast(x), f(x))
    fast = tape.compile(f)
    np.testing.assert_allclose(fast(good), f(good))
    with pytest.warns(RuntimeWarning, match="its replay raised LinAlgError"):
        np.testing.assert_allclose(fast(bad), f(bad))
    for x in (bad, good):
        np.testing.assert_allclose(fast(x), f(x))


def heated(x):
    for _ in range(12):
        x = x + np.pad(np.sin(x[1:-1] * x[2:]) - x[:-2] ** 2, 1)
    return (x * x).sum()


def test_memory_is_reported_and_bounded():
    x = np.random.default_rng(0).uniform(size=N)
    program = tape.record(tape.func.grad(heated), x)
    statistics = program.statistics()
    assert statistics.memory >= statistics.live_peak // 3 > x.nbytes  # most are never in memory, or made again
    assert statistics.recording_memory == 0 == program.recording_bytes
    assert f"{statistics.memory:,} bytes" in str(statistics)
    needed = tape.compile(tape.func.grad(heated))  # which watches the sum, that no result needs
    with np.errstate(all="ignore"):
        needed(x)
    memory = needed.programs[0].statistics().memory
    assert statistics.memory <= memory <= statistics.memory + 128
    enough = tape.compile(tape.func.grad(heated), most_memory=memory)
    with np.errstate(all="ignore"):  # it overflows, and would be called itself to warn of that
        np.testing.assert_allclose(enough(x), program(x))
    tight = tape.compile(tape.func.grad(heated), most_memory=memory - 1)
    for _ in range(2):
        with pytest.raises(MemoryError, match="most_memory= allows"):
            tight(x)
    with pytest.raises(ValueError, match="most_memory= must be a whole number"):
        tape.compile(heated, most_memory=0)


def test_a_number_that_is_computed_later_can_be_looked_at():
    """It lies in order whether or not that was noted, for there is only one."""
    number = later.Later(spec((), np.dtype(np.float64)))
    found = foreseen(REGISTRY["getitem"], [number], {"index": ...})
    assert type(found) is later.Later
    assert found.shape == later.lying(number).shape == ()
