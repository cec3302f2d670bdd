"""Random programs of numbers and short vectors, with branches, through their entries: as by themselves."""

from __future__ import annotations

import random

import numpy as np
import pytest
from entries import at_once  # noqa: F401  (a fixture)

import tape

BINARY = (lambda x, y: x * y, lambda x, y: x - 0.5 * y, lambda x, y: tape.where(x > y, x, y * 0.25))
UNARY = (lambda x: x * 0.5 + 1.0, lambda x: -x, tape.tanh, lambda x: x * x)


def program(chance):
    """A random function of two numbers and a vector, which goes another way for other numbers."""
    steps = [(chance.choice(("unary", "binary", "branch")), chance.random(), chance.random()) for _ in range(8)]
    wanted = [chance.randrange(3, 8) for _ in range(chance.randrange(1, 4))]
    shape = chance.choice((tuple, list, lambda found: dict(enumerate(found)), lambda found: found[0]))

    def function(x, y, v):
        values = [x, y, v]
        for kind, one, two in steps:
            a, b = values[int(one * len(values))], values[int(two * len(values))]
            if kind == "unary":
                made = UNARY[int(two * len(UNARY))](a)
            elif kind == "binary":
                made = BINARY[int((one + two) / 2 * len(BINARY))](a, b)
            else:
                decides = x * one - y * two
                made = a * 1.5 if decides > 0.1 else b - 2.0
            values.append(made)
        return shape([values[k] for k in wanted])

    return function


def flat(found):
    items = found.values() if isinstance(found, dict) else found if isinstance(found, (list, tuple)) else [found]
    return [np.asarray(x) for x in items]


@pytest.mark.parametrize("seed", range(12))
def test_random_programs(seed):
    function = program(random.Random(seed))
    fast = tape.compile(function, tier="optimised", threads=1)
    draw, entered = np.random.default_rng(seed), 0
    for _ in range(40):
        arguments = (*draw.normal(size=2).tolist(), draw.normal(size=3))
        expected = function(*map(tape.tensor, arguments))
        if fast._entry is not None:
            found = fast._entry(arguments, {})
            if found is not NotImplemented:
                entered += 1
                compare(found, expected)
        compare(fast(*arguments), expected)
    assert entered


def compare(found, expected):
    assert type(found) is type(expected) or isinstance(expected, tape.Tensor)
    for x, y in zip(flat(found), flat(expected), strict=True):
        assert x.dtype == y.dtype
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-14)
