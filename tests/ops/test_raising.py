"""Ops that raise for some numbers say so, for a compiled program does them even if nobody reads what they give."""

import warnings

import numpy as np
import pytest
from samples import samples

import tape
from ops import REGISTRY

OF_DERIVATIVES = frozenset({"masked_place", "deposit", "cofactor", "cholesky_adjoint"})
"""Ops that only rules apply, after an op of which the same can be said."""

SHAPES = frozenset({"view_as_real"})
"""Ops that raise because of a dtype."""

OPS = [
    op for op in REGISTRY.values()
    if op.kind != "composite" and not op.scipy and op.name not in OF_DERIVATIVES | SHAPES
]  # fmt: skip
"""SciPy's ufuncs raise nothing; some of them take for ever for such numbers."""

PLAIN = [np.array([1.0, 2.0, 3.0]), np.array([1, 2, 3]), np.array([[2.0, 1.0], [1.0, 3.0]])]


def drawn(op):
    """Operands and parameters of an op, also as whole numbers."""
    try:
        found = samples(op)
    except Exception:  # an op without a derivative has none
        found = [((x,) * op.arity, {}) for x in PLAIN] if op.arity <= 3 else []
    for operands, params in found:
        yield operands, params
        yield (
            tuple(np.abs(x).astype(int) if getattr(x, "dtype", np.dtype("?")).kind == "f" else x for x in operands),
            params,
        )


def hostile(x):
    """Other numbers in an array of the same shape and dtype."""
    kind = x.dtype.kind
    for value in {"f": (np.nan, np.inf, 0.0, -1.0), "i": (0, -1, 10**6), "b": (False, True)}.get(kind, ()):
        yield np.full_like(x, value)
    if kind in "fi":
        yield -x
        yield x.reshape(-1)[::-1].reshape(x.shape)


def raises(op, operands, params):
    try:
        op(*operands, **params)
    except Exception:
        return True
    return False


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_an_op_that_raises_for_some_numbers_says_for_those_of_which_operands(op):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for operands, params in drawn(op):
            if raises(op, operands, params):
                continue
            said = range(len(operands))[op.hints.raises] if op.hints.raises is not None else ()
            for i, x in enumerate(operands):
                if i in said or not isinstance(x, np.ndarray):
                    continue
                for other in hostile(x):
                    assert not raises(op, (*operands[:i], other, *operands[i + 1 :]), params), (i, other)


UNREAD = {
    "bins": (lambda x, i: np.digitize(x, i), np.array([0, 3, 1])),
    "powers": (lambda x, i: i ** (2 - i), np.array([1, 2, 3])),
    "counts": (lambda x, i: np.bincount(i), np.array([0, 1, -2])),
    "values": (lambda x, i: np.linalg.eigvals(np.diag(x / (i - 3)) + np.outer(x, x)), np.array([3, 3, 3])),
}


@pytest.mark.filterwarnings("ignore:tape.compile runs:RuntimeWarning", "ignore:divide by zero:RuntimeWarning")
@pytest.mark.parametrize("transform", [lambda f: f, tape.func.grad], ids=["value", "grad"])
@pytest.mark.parametrize("case", UNREAD)
def test_what_nobody_reads_raises_in_a_compiled_function_too(case, transform):
    compute, bad = UNREAD[case]

    def f(x, i):
        compute(x, i)
        return (x * x).sum()

    x, good = np.array([1.0, 2.0, 3.0]), np.array([0, 1, 2])
    fast = tape.compile(transform(f))
    for _ in range(2):
        np.testing.assert_allclose(fast(x, good), transform(f)(x, good))
        with pytest.raises((ValueError, np.linalg.LinAlgError)):
            fast(x, bad)
