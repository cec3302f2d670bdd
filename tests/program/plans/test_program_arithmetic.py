"""What kernels compute by arithmetic alone, NumPy computes as well: the same bits, in every tier, at every length."""

from __future__ import annotations

import numpy as np
import pytest

import tape
from ops.core.differentiate import chain_product

RNG = np.random.default_rng(0)
TIERS = ("interpret", "quick", "optimised")
SHAPES = ((), (3,), (17,))
DTYPES = (np.float64, np.float32)
PROGRAMS = {
    "determinant": lambda x, y: x * y - y * x * 1.0,
    "difference of products": lambda x, y: x * x - y * y,
    "discriminant": lambda x, y: np.sqrt(x * x - 4.0 * y * (x * x / (4.0 * y))),
    "what a product rounds": lambda x, y: x * y - (x * y + 0.0),
    "polynomial": lambda x, y: ((x * 0.3 + 1.1) * x - y) * x + 0.7,
    "quotient": lambda x, y: (x - y / x) / (x + y * y) - x,
    "mean of squares": lambda x, y: 0.5 * (x**2 + y**2) - x * y,
    "overflow": lambda x, y: (x * 1e20) * (y * 1e20) * (1e268 if x.dtype == np.float64 else 1.0) - x,
}  # fmt: skip


def bits(found):
    """The bits of results, those of any nan alike."""
    arrays = [np.asarray(x) for x in (found if isinstance(found, tuple) else (found,))]
    return [(x.shape, x.dtype, np.where(np.isnan(x), np.nan, x).tobytes()) for x in arrays]


def numbers(shape, dtype):
    """Two operands, many of whose products round to others."""
    return [np.asarray(RNG.uniform(0.1, 2.0, shape)).astype(dtype)[()] for _ in range(2)]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_derivatives(name, tier):
    """A product is rounded before it is subtracted; else a root of 0 is one of less, and what overflows is finite."""
    program = PROGRAMS[name]

    def slopes(x, y):
        return tape.func.vjp(program, x, y)[1](x)

    def curvature(x, y):
        return tape.func.vjp(lambda x, y: slopes(x, y)[0], x, y)[1](y)

    for f in (program, slopes, curvature):
        for dtype in DTYPES:
            for shape in SHAPES:
                fast = tape.compile(f, tier=tier)
                for _ in range(2):
                    given = numbers(shape, dtype)
                    assert bits(fast(*given)) == bits(f(*given)), (shape, dtype)


HOSTILE = np.array([0.0, -0.0, 1.0, -2.0, np.inf, -np.inf, np.nan, 1e300, -1e-300, 5e-324])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", [*DTYPES, np.complex128], ids=lambda d: d.__name__)
def test_products_of_the_chain_rule(dtype):
    """An adjoint of 0 gives 0, of one sign whatever the partial is; other products are products."""
    partials, adjoints = (x.ravel().astype(dtype) for x in np.meshgrid(HOSTILE, HOSTILE))
    found, plain = chain_product(adjoints, partials), adjoints * partials
    assert bits(found) == bits(np.where(adjoints == 0, 0.0, plain))
    if dtype in DTYPES:
        assert bits(np.array([chain_product(*pair) for pair in zip(adjoints, partials)])) == bits(found)


SIDES = ((), (1,), (3,), (2, 1), (3, 1), (3, 3))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("power", [np.power, np.float_power, lambda x, y: x**y], ids=["np.power", "float_power", "**"])
@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.__name__)
@pytest.mark.parametrize("tier", [None, *TIERS])
def test_roots_of_minus_infinity(tier, dtype, power):
    """A power of ½ that is known in each call only is a root where NumPy takes one: of −∞ nan, and not ∞."""
    for base in SIDES:
        for exponent in SIDES:
            try:
                np.broadcast_shapes(base, exponent)
            except ValueError:
                continue
            fast = tape.compile(lambda x, y: power(x, y), tier=tier)
            fast(np.full(base, 2.0, dtype)[()], np.full(exponent, 3.0, dtype)[()])
            for number in (-np.inf, 4.0, np.inf, -0.0):
                given = np.full(base, number, dtype)[()], np.full(exponent, 0.5, dtype)[()]
                assert bits(fast(*given)) == bits(power(*given)), (base, exponent, number)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("tier", [None, *TIERS])
@pytest.mark.parametrize("exponent", [1.5, 2.5, 2.0, 3.0])
def test_derivatives_of_powers_at_minus_infinity_and_at_zero(exponent, tier):
    """Where the rule comes to a power of ½ of an array, it takes the root that NumPy's operator takes."""
    slope = tape.compile(lambda x: tape.func.vjp(lambda x: x**exponent, x)[1](np.ones_like(x))[0], tier=tier)
    for dtype in DTYPES:
        x = np.array([-np.inf, -0.0, 0.0, 1.0, 4.0, np.inf, np.nan], dtype)
        assert bits(slope(x)) == bits(exponent * x ** (exponent - 1.0)), dtype


MIXED = {
    "nextafter": lambda x: np.nextafter(x, 1.5),
    "nextafter of a number": lambda x: np.nextafter(1.5, x),
    "clip": lambda x: np.clip(x, 0.1, 0.7),
    "maximum": lambda x: np.maximum(x, 0.1),
    "heaviside": lambda x: np.heaviside(x, 0.1),
    "copysign": lambda x: np.copysign(0.1, x),
}


@pytest.mark.parametrize("shape", [(), (5,), (40,)])
@pytest.mark.parametrize("tier", [None, *TIERS])
@pytest.mark.parametrize("name", MIXED)
def test_numbers_of_python_take_the_dtype_of_what_they_meet(name, tier, shape):
    """Steps that ops declare compute in single precision, as NumPy does: in double, the next number is another."""
    x = np.resize(np.array([np.inf, 0.1, 0.7, -np.inf, 2.0, 1.5], np.float32), shape)[()]
    assert bits(tape.compile(MIXED[name], tier=tier)(x)) == bits(MIXED[name](x))


CHOSEN_FIRST = {
    "maximum": lambda x: 1 / np.maximum(x, 0.0),
    "clip": lambda x: 1 / np.clip(x, 0.0, 2.0),
    "where": lambda x: 1 / np.where(x > 0, x, 0.0),
    "sign": lambda x: 1 / np.sign(x),
    "logarithm": lambda x: np.log(np.maximum(x, 0.0)),
    "product": lambda x: np.where(x > 1, x, np.inf) * np.where(x > 1, x, 0.0),
    "nan": lambda x: (1 / x) * np.nan,
}


@pytest.mark.parametrize("tier", [None, *TIERS])
@pytest.mark.parametrize("name", CHOSEN_FIRST)
def test_errors_of_what_a_constant_is_chosen_for(name, tier):
    """LLVM would compute with the constant beforehand, and nothing would tell of the error that it makes."""
    f = CHOSEN_FIRST[name]
    for n in (1, 5, 40):
        fast, x = tape.compile(f, tier=tier), np.resize(np.array([0.0, 2.0, 0.5]), n)
        fast(np.ones(n) * 1.5)
        for _ in range(2):
            with pytest.warns(RuntimeWarning) as told:
                wanted = f(x)
            with pytest.warns(RuntimeWarning) as heard:
                assert bits(fast(x)) == bits(wanted)
            assert {str(w.message) for w in heard} == {str(w.message) for w in told}


@pytest.mark.parametrize("given", [(0.0, -1.0), (-0.0, -3.0), (0.0, -0.5), (-8.0, 1.0 / 3.0)])
@pytest.mark.parametrize("fixed", [None, 0, 1])
@pytest.mark.parametrize("tier", [None, *TIERS])
def test_powers_of_two_numbers(tier, fixed, given):
    """Python's operator raises of such numbers, or gives a complex one; `np.power` gives ∞ or nan, and warns."""
    kept = [x for k, x in enumerate(given) if k != fixed]

    def program(*xs):
        return np.power(*xs) if fixed is None else np.power(given[0], *xs) if fixed == 0 else np.power(*xs, given[1])

    for kinds in (float, np.float64):
        fast = tape.compile(program, tier=tier)
        fast(*[kinds(2.0) for _ in kept])
        with pytest.warns(RuntimeWarning) as told:
            wanted = program(*map(kinds, kept))
        with pytest.warns(RuntimeWarning) as heard:
            assert bits(fast(*map(kinds, kept))) == bits(wanted)
        assert {str(w.message) for w in heard} == {str(w.message) for w in told}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("shape", [(3,), (7,), (2, 3)])
@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.__name__)
@pytest.mark.parametrize("total", [np.sum, np.mean], ids=["sum", "mean"])
@pytest.mark.parametrize("tier", TIERS)
def test_few_are_added_in_order(tier, total, dtype, shape):
    """So what overflows on the way does so in a kernel as well, and nothing else does."""
    large = np.finfo(dtype).max
    fast = tape.compile(lambda x: total(x * 0.5), tier=tier)
    for _ in range(20):
        hostile = RNG.choice(np.array([large, -large, large / 2, 1.0, -0.0, np.inf, np.nan], dtype), shape)
        for x in (hostile, RNG.standard_normal(shape).astype(dtype)):
            assert bits(fast(x)) == bits(total(x * 0.5)), x
