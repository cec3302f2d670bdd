"""What kernels compute by arithmetic alone, NumPy computes as well: the same bits, in every tier, at every length."""

from __future__ import annotations

import numpy as np
import pytest

import tape

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
@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("dtype", [*DTYPES, np.complex128], ids=lambda d: d.__name__)
def test_products_of_the_chain_rule(dtype, tier):
    """An adjoint of 0 stays 0 beside what is not finite, and else has the sign that the product has."""
    partials, adjoints = (x.ravel().astype(dtype) for x in np.meshgrid(HOSTILE, HOSTILE))

    def pulled(x, g):
        return tape.func.vjp(lambda z: z * x, x)[1](g)[0]

    fast = tape.compile(pulled, tier=tier)
    wanted = bits(pulled(partials, adjoints))
    assert bits(fast(partials, adjoints)) == wanted
    finite = np.isfinite(partials)
    assert bits(pulled(partials, adjoints)[finite]) == bits((adjoints * np.conj(partials))[finite])
    if dtype in DTYPES:
        one_by_one = np.array([pulled(*pair) for pair in zip(partials, adjoints)])
        assert bits(one_by_one) == wanted  # no other number changes the sign of a zero


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("f", [np.tanh, np.square, np.cosh, np.arctan], ids=lambda f: f.__name__)
def test_signs_of_zeros_in_second_derivatives(f, tier):
    slope = tape.func.vmap(tape.func.grad(tape.func.grad(lambda x: f(x) * x)))
    x = np.array([0.0, -0.0, 1.0])
    assert bits(np.signbit(tape.compile(slope, tier=tier)(x))) == bits(np.signbit(slope(x)))


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
