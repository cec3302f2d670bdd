"""`math` and `cmath` compute in double precision, whatever the dtype of what they are given."""

from __future__ import annotations

import cmath
import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
from outcomes import same

import tape
from tape.numpy import mathematics
from tape.numpy.mathematics import FUNCTIONS

DTYPES = "? i1 u1 i2 u2 i4 u4 i8 u8 f2 f4 f8 c8 c16".split()  # noqa: SIM905
OF_TWO = frozenset({"pow", "atan2", "copysign", "fmod", "remainder", "hypot", "rect", "isclose"})
OF_ITERABLES = frozenset({"fsum", "prod"})
MORE = {
    "three": lambda v: (math.hypot(v[0], v[1], v[2]), math.hypot(v[0]), math.hypot(v[0] * 1e200, 1e200, 1e200)),
    "large": lambda v: math.pow(v[0], 60), "one": lambda v: math.sin(v[:1]), "floor": lambda v: math.floor(v[:1]),
    "start": lambda v: math.prod(v, start=v[0]), "lengths": lambda v: math.dist(v, [1.0]),
    "dist": lambda v: math.dist(v, v[::-1]), "list": lambda v: math.sqrt([v[0]]),
    "ldexp": lambda v: math.ldexp(v[0], 3),
    "near": lambda v: math.isclose(v[1], v[0], abs_tol=2.5), "base": lambda v: math.log(v[1], 3),
    "tolerance": lambda v: math.isclose(v[1], v[0], abs_tol=-1),
}  # fmt: skip
WRITTEN = frozenset({"dist", "ldexp", "sumprod", "fma"})


def program(module, name):
    function = getattr(module, name)
    if name in OF_ITERABLES:
        return lambda v: function(v)
    return (lambda v: function(v[0], v[1])) if name in OF_TWO else lambda v: function(v[1])


PROGRAMS = MORE | {
    f"{module.__name__}.{name}": program(module, name) for module, name in FUNCTIONS if name not in WRITTEN
}


def outcome(f, v):
    """What a function gives, or the type of what it raises, and what it warns of."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            found = f(v)
        except Exception as error:
            found = type(error)
    return found, {w.category for w in seen if "tape.compile" not in str(w.message)}


@pytest.mark.parametrize("dtype", DTYPES)
def test_they_give_what_pythons_give(dtype):
    v = (np.array([200, 3, 7]) / (7 if dtype[0] in "fc" else 1) - (0.5j if dtype[0] == "c" else 0)).astype(dtype)
    for name, f in PROGRAMS.items():
        expected, warned = outcome(f, v)
        fast = tape.compile(f)
        for _ in range(2):
            found, told = outcome(fast, v)
            assert same(found, expected, lambda dtype: (4e-15, 0)), (name, v, found, expected)
            assert told == warned, (name, v, told, warned)


def test_lanes_do_so_too():
    v = np.array([[200, 3], [3, 200]], np.uint8)
    assert tape.func.vmap(lambda v: math.pow(v[0], 2))(v).tolist() == [40000.0, 9.0]
    assert tape.func.vmap(lambda v: math.dist(v, v[::-1]))(v).tolist() == [math.dist(w, w[::-1]) for w in v]
    assert tape.func.vmap(lambda v: math.fsum(v))(np.array([[1e16, 1, -1e16], [1, 2, 3]])).tolist() == [1.0, 6.0]


def test_sums_are_rounded_once_and_differentiated():
    x = np.array([1e16, 1.0, -1e16])
    for f in (lambda v: math.fsum(v), tape.compile(lambda v: math.fsum(v))):
        assert f(x) == 1.0
        assert tape.func.grad(lambda v, f=f: f(v) * v[0])(x).tolist() == [1e16 + 1.0, 1e16, 1e16]
    fast = tape.compile(lambda v: math.fsum(v))
    fast(x)
    with pytest.raises(OverflowError):
        fast(np.full(3, 1e308))
    with pytest.raises(ValueError, match="fsum"):
        fast(np.array([np.inf, -np.inf, 1.0]))
    assert np.allclose(tape.func.hessian(lambda v: math.fsum(v) * v[0])(np.ones(2)), [[2, 1], [1, 0]])


def test_fma_rounds_once():
    fma = mathematics.checked(lambda x, y, z: x * y + z, mathematics._fma, mathematics.as_real)
    fast = tape.compile(lambda v: fma(v[0], v[1], v[2]))
    rng = np.random.default_rng(0)
    for _ in range(50):
        x, y = rng.standard_normal(2) * 10.0 ** rng.integers(-160, 150, 2)
        v = np.array([x, y, -x * y * rng.choice([1.0, 1.0 + 1e-15, 0.5])])
        assert fast(v) == float(Fraction(v[0]) * Fraction(v[1]) + Fraction(v[2]))
    assert tape.func.grad(lambda v: fma(v[0], v[1], v[2]))(np.array([2.0, 3.0, 4.0])).tolist() == [3.0, 2.0, 1.0]


def test_sumprod_is_exact_of_pythons_numbers_alone():
    x = np.array([1e16, 1.0, -1e16])
    ones = [1.0, 1.0, 1.0]
    assert tape.compile(lambda v: mathematics.sumprod(v.tolist(), ones))(x) == 1.0
    assert tape.compile(lambda v: mathematics.sumprod(list(v), ones))(x) == 0.0
    whole = tape.compile(lambda v: mathematics.sumprod(list(v), list(v)))(np.array([10, 3], np.uint8))
    assert (whole.dtype, whole) == (np.uint8, 109)
    assert tape.func.grad(lambda v: mathematics.sumprod(v.tolist(), v.tolist()))(np.arange(3.0)).tolist() == [0, 2, 4]


def test_branch_cuts_know_the_sign_of_zero():
    z = np.array([complex(-1.0, -0.0)])
    assert tape.compile(lambda v: cmath.sqrt(v[0]))(z) == cmath.sqrt(z[0])
    assert tape.compile(lambda v: cmath.phase(v[0]))(z) == cmath.phase(z[0])
