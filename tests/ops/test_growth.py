"""How large what an op gives may be, which a compiled function that looks for overflows relies on."""

import math

import numpy as np
import pytest
from samples import samples

from ops import REGISTRY
from tape.program.shortening.alarms import growth_of

TOLD = [op for op in REGISTRY.values() if op.kind != "composite" and growth_of(op)]


def most(op, operands):
    """The bound that an op declares, for what its operands are."""
    largest = [float(np.abs(x).max(initial=0.0)) for x in map(np.asarray, operands)]
    how = growth_of(op)
    if how == "sum":
        return sum(np.size(x) * m for x, m in zip(operands, largest))
    if how == "power":
        return max(largest[0], 1.0) ** (largest[1] if len(operands) > 1 else 2.0)
    return max(largest) if how == "none" else math.prod(largest)


def largest_of(found):
    """The largest number in what an op gives, the parts of complex ones by themselves."""
    parts = [np.ravel(z) for z in (found if isinstance(found, (list, tuple)) else [found])]
    return max(np.abs(z).max(initial=0.0) for part in parts for z in (np.real(part), np.imag(part)))


@pytest.mark.parametrize("op", TOLD, ids=lambda op: op.name)
def test_nothing_that_an_op_gives_is_larger_than_it_declares(op):
    for operands, params in samples(op):
        for scale in (1.0, 3.0):
            scaled = [scale * x if getattr(x, "dtype", None) == np.float64 else x for x in operands]
            if growth_of(op) == "power":  # of exponents below 1 nothing is said
                scaled[1:] = [np.abs(y) + 1.0 for y in scaled[1:]]
            assert largest_of(op.forward(*scaled, **params)) <= most(op, scaled) * (1 + 1e-12)


def test_sums_products_powers_and_moves_are_told():
    assert {growth_of(op) for op in TOLD} == {"none", "sum", "product", "power"}
    assert {growth_of(REGISTRY[name]) for name in ("transpose", "reshape", "getitem")} == {"none"}
