"""Each pass leaves the meaning of a list as it is: random functions, at numbers, nan and infinities."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import tape
from ops import REGISTRY
from tape.base.tensor import Tensor
from tape.program.adjoints import derive  # noqa: F401  which records gradients within programs
from tape.program.capture.record_call import record_call
from tape.program.recorded.expanding import expand
from tape.program.recorded.listing import Listing
from tape.program.recorded.trace import CONSTANT, INPUT
from tape.program.shortening.passes import PASSES, fold, is_fixed, merge, prune, shorten
from tape.recording.recorder import forward_of

SHAPE = 3, 4
UNARY = [op for op in REGISTRY.values() if op.broadcasts and op.arity == 1 and not op.params and op.outputs == 1]
BINARY = [op for op in REGISTRY.values() if op.broadcasts and op.arity == 2 and not op.params and op.outputs == 1]
NEUTRAL = [op for op in BINARY if op.hints.neutral]
ODD = [0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 1e-310, 1e300]


def evaluate(listing: Listing, inputs) -> list:
    """The outputs of a list, record by record with NumPy: the slow obvious way."""
    values: list = []
    with np.errstate(all="ignore"):
        for k in range(len(listing)):
            if listing.code[k] == INPUT:
                values.append(inputs[listing.param[k]])
            elif listing.code[k] == CONSTANT:
                constant = listing.constant(k)
                values.append(constant._data if isinstance(constant, Tensor) else constant)
            else:
                op = listing.op(k)
                values.append(forward_of(op)(*[values[j] for j in listing.operands(k)], **listing.parameters(k)))
    return [values[k] for k in listing.outputs.tolist()]


def random_function(seed):
    """A function of three arrays that applies ops at random, often the same again, often to constants."""

    def f(*xs):
        rng = np.random.default_rng(seed)
        values = list(xs)

        def pick():
            return values[int(rng.integers(len(values)))] if rng.random() < 0.8 else ODD[int(rng.integers(4))]

        for _ in range(40):
            values += _applied(rng, pick, xs[0])
        return [*values[-3:], values[len(values) // 2]]

    return f


def _applied(rng, pick, x):
    """One more value, or none if NumPy refuses."""
    kind = rng.random()
    try:
        if kind < 0.3:
            return [UNARY[rng.integers(len(UNARY))](pick() + x * 0)]
        if kind < 0.6:
            return [BINARY[rng.integers(len(BINARY))](pick(), pick() + x)]
        if kind < 0.8:
            op = NEUTRAL[rng.integers(len(NEUTRAL))]
            side, number = next(iter(op.hints.neutral.items()))
            return [op(number, x * pick()) if side == 0 else op(x * pick(), number)]
        if kind < 0.9:
            y = x * pick()
            return [y.sum(0) + x, y.reshape(*SHAPE) * 1.0, -(-y), (y + 0.0) * y, y.sort(0)[0]]
        return [tape.where(x > pick(), x, pick()), tape.tensor(2.0) * pick() + x]
    except (TypeError, ValueError, RuntimeError):
        return []


def inputs(seed, odd=False):
    """Three arrays of one shape; some with numbers at which much goes wrong."""
    rng = np.random.default_rng(seed)
    xs = [rng.standard_normal(SHAPE) for _ in range(3)]
    if odd:
        xs = [np.where(rng.random(SHAPE) < 0.4, rng.choice(ODD, SHAPE), x) for x in xs]
    return xs


def recorded(f, *xs):
    """The list of one call."""
    return record_call(f, xs, {}, list(xs), False)[0]


def listing(seed):
    """A random list with values in place of the tensors it captures."""
    with np.errstate(all="ignore"):
        return recorded(random_function(seed), *inputs(seed))


def adjoints(seed):
    """The list of a random adjoint: longer, and full of what the passes look for."""

    def f(x, y, z):
        rng = np.random.default_rng(seed)
        values = [x, y, z]
        for _ in range(15):
            a, b = (values[int(rng.integers(len(values)))] for _ in range(2))
            made = a * b, a + b, a - b, np.sin(a), np.exp(a) * 1.0, -a, a * 2.0 + 0.0, np.where(a > b, a, b)
            values.append(made[rng.integers(len(made))])
        return values[-1].sum() + values[-2].mean()

    xs = inputs(seed)
    with np.errstate(all="ignore"):
        return recorded(tape.func.grad(f, argnums=(0, 1, 2)), *xs)


def check_same(before, after, xs):
    found, expected = evaluate(after, xs), evaluate(before, xs)
    assert len(found) == len(expected)
    for z, w in zip(found, expected):
        assert np.shape(z) == np.shape(w)
        assert np.asarray(z).dtype == np.asarray(w).dtype
        assert_array_equal(z, w)
        if np.asarray(w).dtype.kind == "f":
            assert_array_equal(np.signbit(z) | np.isnan(z), np.signbit(w) | np.isnan(w))


seeds = pytest.mark.parametrize("seed", range(40))
STEPS = [*dict.fromkeys(PASSES), shorten]


def keeps_the_meaning(step, before, seed):
    after = step(before)
    for odd in (False, True):
        check_same(before, after, inputs(seed + 1000, odd))
    return after


@seeds
def test_meaning(seed):
    before = listing(seed)
    for step in STEPS:
        after = keeps_the_meaning(step, before, seed)
        assert step in (expand, shorten) or len(after) <= len(before), step


@seeds
def test_meaning_of_adjoints(seed):
    before = adjoints(seed)
    for step in STEPS:
        keeps_the_meaning(step, before, seed)


def stays_a_list(step, before):
    """Operands come first, each record has its spec, its line and its operands, the inputs are as many."""
    after = step(before)
    for k in range(len(after)):
        op = after.op(k)
        assert all(j < k for j in after.operands(k))
        assert op is None or op.variadic or len(after.operands(k)) == op.arity
        assert op is not None or not after.operands(k)
    assert after.first[-1] == len(after.args)
    assert {len(x) for x in (after.param, after.spec, after.line)} == {len(after)}
    return after


@seeds
def test_a_list_stays_a_list_and_once_is_enough(seed):
    """A pass applied to what it gave finds nothing more to do."""
    before = listing(seed)
    for step in STEPS:
        once = stays_a_list(step, before)
        twice = step(once)
        assert len(twice) == len(once), step
        assert_array_equal(twice.code, once.code, step.__name__)
        assert_array_equal(twice.args, once.args, step.__name__)


@seeds
def test_no_pass_changes_its_argument(seed):
    before = listing(seed)
    copies = {name: getattr(before, name).copy() for name in ("code", "first", "args", "param", "spec", "outputs")}
    constants = list(before.constants)
    for step in PASSES:
        step(before)
    for name, copy in copies.items():
        assert_array_equal(getattr(before, name), copy)
    assert all(a is b for a, b in zip(before.constants, constants, strict=True))


# What each pass is for.


def names(listing):
    return Counter(op.name for k in range(len(listing)) if (op := listing.op(k)))


def test_prune_drops_what_no_output_needs():
    found = prune(recorded(lambda x: (np.exp(x), np.sin(x), x * 2.0)[1], np.ones(3)))
    assert names(found) == {"sin": 1}
    assert len(found) == 2


def test_prune_keeps_what_a_guard_looks_at():
    found = prune(recorded(lambda x: np.sin(x) if x.sum() > 0 else x, np.ones(3)))
    assert names(found) == {"sin": 1, "sum": 1, "gt": 1}


def test_fold_computes_constants_once():
    """d(3·2·x)/dx is a number that the adjoint works out of the numbers in the list."""
    before = recorded(tape.func.grad(lambda x: x * 3.0 * 2.0), np.float64(1.0))
    assert names(prune(before)) == {"chain_mul": 2}
    after = prune(fold(before))
    assert not names(after)
    check_same(before, after, [np.float64(1.0)])


def test_fold_leaves_repeated_numbers_to_the_kernels():
    """An array that is one number over and over is none in memory; what is made of it is made in the kernel."""
    before = recorded(tape.func.grad(lambda x: (x * 3.0).sum() * 2.0), np.ones(3))
    after = prune(fold(before))
    assert names(after) == {"broadcast_to": 1, "chain_mul": 1}
    check_same(before, after, [np.ones(3)])


def test_fold_leaves_what_may_change():
    """Arrays that somebody may write to, and tensors, are read anew."""
    array, fixed, tensor = np.array(3.0), np.array(3.0), tape.tensor(3.0)
    fixed.setflags(write=False)
    assert not is_fixed(array)
    assert not is_fixed(tensor)
    assert is_fixed(fixed)
    assert is_fixed(2.0)

    for c, count in ((array, 1), (tensor, 1), (fixed, 0)):
        before = recorded(tape.func.grad(lambda x, c=c: x * c * 2.0), np.float64(1.0))
        assert names(prune(fold(before)))["chain_mul"] == count


@pytest.mark.parametrize(
    "f",
    [lambda x: x * 1.0, lambda x: 1.0 * x, lambda x: x / 1.0, lambda x: x - 0.0, lambda x: -(-x), lambda x: x**1.0,
     lambda x: x.conj(), lambda x: x.reshape(3), lambda x: x.astype(float)],
)  # fmt: skip
def test_merge_drops_what_gives_its_operand_back(f):
    found = prune(merge(recorded(lambda x: np.sin(f(x)), np.ones(3))))
    assert names(found) == {"sin": 1}


def test_merge_keeps_what_changes_the_dtype():
    """int64 · 1.0 is float64, and bool + 0 is int64."""
    for x, c in ((np.arange(3), 1.0), (np.array([True, False]), 1)):
        before = recorded(lambda x, c=c: x * c, x)
        after = shorten(before)
        assert names(after)["mul"] == 1
        check_same(before, after, [x])
    for x in (np.arange(3), np.array([True, False]), np.ones(3, np.float32)):
        before = recorded(lambda x: x.astype(float), x)
        assert names(shorten(before))["cast"] == 1
        check_same(before, shorten(before), [x])


def test_merge_knows_zeros_apart():
    """x + 0.0 gives 0.0 for −0.0, so it is no way to give x back; x − 0.0 and x + (−0.0) are."""
    x = np.array([-0.0, 1.0])
    for f in (lambda x: x + 0.0, lambda x: x - 0.0, lambda x: x + -0.0, lambda x: 0.0 - x, lambda x: x * -1.0):
        before = recorded(f, x)
        (found,), (expected,) = evaluate(shorten(before), [x]), evaluate(before, [x])
        assert_array_equal(np.signbit(found), np.signbit(expected))


def test_merge_computes_equal_records_once():
    found = shorten(
        recorded(lambda x: np.sin(x) * 2.0 + np.sin(x) * 2.0 + (x + 2).sum(0) + (x + 2.0).sum(-1), np.ones(3))
    )
    assert names(found)["sin"] == 1
    assert names(found)["mul"] == 1


def test_merge_knows_equal_constant_arrays():
    """Tables that a library makes anew for each call; zeros of both signs, dtypes and shapes are told apart."""

    def f(x):
        tables = [np.arange(3.0), np.arange(3.0), -np.arange(3.0), np.arange(3.0, dtype=np.float32)]
        return sum((np.sin(x * table) for table in tables), np.sin(x[:, None] * np.arange(3.0)[None]).sum())

    x = np.array([0.5, 1.0, 2.0])
    before = recorded(f, x)
    after = shorten(before)
    assert names(before)["sin"] == 5
    assert names(after)["sin"] == 4
    check_same(before, after, [x])


def test_merge_keeps_parameters_apart():
    def f(x):
        return x.sum(0), x.sum(1), x.sum(0, keepdims=True), x.sum(0), x[1], x[2], x[1]

    assert names(shorten(recorded(f, np.ones((3, 3))))) == {"sum": 3, "select": 2}


def test_merge_takes_a_repeated_number_as_the_number():
    """The adjoint of a mean is no array in memory; where it is all that there is, and large, it stays one."""
    x = np.arange(1.0, 7.0).reshape(2, 3)
    before = recorded(tape.func.grad(lambda x: (x * x).mean()), x)
    after = shorten(before)
    assert "broadcast_to" in names(before)
    assert "broadcast_to" not in names(after)
    check_same(before, after, [x])
    large = np.ones((300, 400))
    assert "broadcast_to" in names(shorten(recorded(tape.func.grad(lambda x: x.mean()), large)))


@pytest.mark.parametrize(
    ("f", "left"),
    [
        (lambda x: x[:2].sum(), {}),
        (lambda x: x[np.array([0, 0])].sum() + x[1], {}),
        (lambda x: x[1:].sum() + (x[:1] * x[:1]).sum(), {"getitem": 1, "add": 1, "scatter": 1}),
        (lambda x: np.stack([x, x * x])[0].sum(), None),
        (lambda x: (x.reshape(3, 1) @ np.float64([[2.0]])).sum(), None),
    ],
)
def test_adjoints_of_sums_are_constants(f, left):
    """What is made of repeated numbers, and of no use to a kernel, is computed once."""
    x = np.arange(1.0, 4.0)
    before = recorded(tape.func.grad(f), x)
    after = shorten(before)
    check_same(before, after, [x])
    found = names(after)
    assert not found.keys() & {"broadcast_to", "sum_to"}
    assert left is None or found.keys() <= left.keys()


def test_large_arrays_are_not_kept_as_constants():
    x = np.ones(1 << 18)
    after = shorten(recorded(tape.func.grad(lambda x: x[:-1].sum()), x))
    assert names(after) == {"broadcast_to": 1, "scatter": 1}


DECIDING = [(op, at, truth, given) for op in REGISTRY.values() for (at, truth), given in op.hints.decides.items()]


@pytest.mark.parametrize(("op", "at", "truth", "given"), DECIDING, ids=str)
def test_what_a_truth_value_decides(op, at, truth, given):
    """It is so as declared, and the passes make use of it."""
    assert len({o for o, *_ in DECIDING}) >= 3
    kinds = [np.bool_ if i in op.chooses or not op.chooses else np.float64 for i in range(op.arity)]
    for seed in range(4):
        values = [np.random.default_rng(seed).integers(0, 2, 3).astype(kind) for kind in kinds]
        values[at] = np.full(3, truth)
        assert_array_equal(forward_of(op)(*values), values[given])
    free = [i for i in range(op.arity) if i != at]

    def f(*xs):
        operands: list = [None] * op.arity
        for i, x in zip(free, xs):
            operands[i] = x
        operands[at] = np.broadcast_to(np.bool_(truth), (3,)).copy() if given == at else np.bool_(truth)
        return op(*operands) if given != at else op(*operands) * 1.0

    xs = [values[i] for i in free]
    before = recorded(f, *xs)
    check_same(before, shorten(before), xs)
    if given != at:
        assert op.name not in names(shorten(before))


def test_nothing_is_decided_where_shapes_differ():
    x = np.arange(3.0)
    before = recorded(lambda x: np.where(np.bool_(True), x.sum(), x), x)
    check_same(before, shorten(before), [x])


def test_a_long_list():
    """Linear in the length: a quadratic pass over 1.5·10⁵ records would not come to an end here."""

    def f(x):
        y = x
        for _ in range(50_000):
            y = y * x + 1.0 - x
        return y

    before = recorded(f, np.float64(0.5))
    assert len(shorten(before)) == len(before) > 150_000
