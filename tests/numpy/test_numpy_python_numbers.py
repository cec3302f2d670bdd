"""Numbers of Python's that are recorded: what `math`, ``.item()`` and ``.tolist()`` give goes by Python's rules."""

from __future__ import annotations

import cmath
import json
import math
import warnings

import numpy as np
import pytest
from arrays import seen

import tape
from tape.base.tree import transform

X = np.array([0.3, -0.7, 2.0])
SPACE = {"np": np, "math": math, "cmath": cmath}
MADE = ("math.sin(x[{}])", "x[{}].item()", "x.tolist()[{}]", "(math.fsum([x[{}], 1.0]) * 2)")
NUMERIC = """
A / (B + 3) | A // B | A % B | A ** 2 | 2 ** A | abs(A) ** B | divmod(A, B)[1] | A - B * 3 | 1 / B | -A + +B | abs(B)
round(B, 1) * A | A * x[0] | np.sin(A) * B | A * x | x @ x * A | max(A, B) | min(A, 0.0) | sum([A, B]) | A.real * B
A.conjugate() + B.imag | (A > B) + (B > A) * A | ((A > 0) - (B > 0)) * A | A if (A > B) is True else B | A * True
np.where(x > A, x, B).sum() | np.array([A, B, 1.0]) @ x | np.float64(A) / 0.5 | math.exp(A) / math.exp(B) | A == 'a'
np.maximum(A, x).sum() | A * np.float64(2) | float.__mul__(2.0, 3.0) * A | math.hypot(A, B) ** 0.5 | (A, B) < (B, A)
math.dist(x, x * A) | math.dist([1.0, 2, 3], x) * A
math.dist([A, 1.0], (2.0, B)) | math.dist((A,), [B]) | cmath.polar(A + 1j * B)[0] * B | cmath.polar(A - 1j)[1]
"""
ELSE = """
A.item() | A.shape | A.dtype | A.sum() | A.T | A[()] | len(A) | list(A) | 1.0 in A | A.astype(float) | A.tolist()
A / 0.0 | A // 0 | A % 0.0 | divmod(A, 0.0) | 1 / (A - A) | (A - A) ** -1.0 | (abs(A) + 9) ** 1e9 | ~A | A @ A | A | 1
A < None | A < [1] | A + 'a' | A + None | [1, 2] * A | (1, 2) * A | A << 1 | hasattr(A, 'ndim') | A == [1.0] | A == None
repr(A) | str(A) | f'{A:.3f}' | isinstance(A, np.float64) | isinstance(A, float) | A.is_integer()
"""


def programs(text):
    found = [piece.strip() for line in text.strip().splitlines() for piece in line.split(" | ")]
    return [piece for piece in found if piece]


def function(program, made):
    text = program.replace("A", made.format(0)).replace("B", made.format(1))
    return eval(f"lambda x: {text}", dict(SPACE))


def outcome(f, x):
    """What a function gives, with its type; or the type of what it raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return seen(f(x))
        except Exception as error:
            return type(error)


def numbers(found):
    """The numbers in an outcome, with which a compiled function's are compared."""
    return found if isinstance(found, type) else np.asarray(found[-1]).tolist()


def same(found, expected):
    if isinstance(found, type) or isinstance(expected, type):
        return found is expected
    if found[0] != expected[0] or isinstance(expected[-1], (str, bool)):
        return found == expected
    return np.allclose(found[-1], expected[-1], rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("made", MADE)
def test_they_give_and_raise_what_pythons_do(made):
    for program in programs(NUMERIC) + programs(ELSE):
        f, found = function(program, made), []
        expected = outcome(f, X)
        tape.func.grad(lambda x, f=f, found=found: (found.append(outcome(f, x)), x.sum())[1])(X)
        assert same(found[0], expected), (program, expected, found)


def test_compiled_they_are_the_same():
    for program in programs(NUMERIC) + programs(ELSE):
        f = function(program, MADE[0])
        fast = tape.compile(f)
        for x in (X, X, -X, 2 * X):
            expected, found = numbers(outcome(f, x)), numbers(outcome(fast, x))
            assert found == expected or np.allclose(found, expected, rtol=1e-13, atol=1e-15), program


def test_a_power_of_a_negative_one_is_complex_and_has_a_derivative():
    def f(x):
        return (math.sin(x[1]) ** 0.5).imag * x[0]

    step = 1e-6 * np.eye(3)[1]
    slope = (f(X + step) - f(X - step)) / 2e-6
    np.testing.assert_allclose(tape.func.grad(f)(X), [f(X) / X[0], slope, 0], rtol=1e-6)


def test_lanes_have_a_truth_each():
    def f(x):
        positive = [math.sin(e) > 0 for e in x]
        return x[0] * (positive[1] + positive[2]) + sum(positive) - -positive[0] * 2 + (True + positive[1]) * x[1]

    rows = np.stack([X, -X, 2 * X])
    np.testing.assert_array_equal(tape.func.vmap(f)(rows), [f(row) for row in rows])


def test_beside_an_array_of_32_bits_they_do_not_count_as_64():
    def f(x):
        small = np.ones(2, np.float32)
        return small * math.sin(x[0]), np.maximum(math.sin(x[0]), small), small * x[0]

    kinds = []
    tape.func.grad(lambda x: (kinds.extend(z.dtype for z in f(x)), x.sum())[1])(X)
    assert kinds == [z.dtype for z in f(X)]


def test_the_library_reads_what_the_user_is_told_is_not_there():
    def f(x):
        t = math.sin(x[0])
        assert not hasattr(t, "shape")
        w = np.zeros(3)
        w[1] = t
        w[[0, 2]] = [t, x[1].item()]
        t = t + 0.0 * np.asarray(t).sum() + 0.0 * np.atleast_1d(t)[0]
        return np.sum(np.array([t, 1.0]) * t) + np.stack([t, x[0]]).sum() + w @ np.full(3, t) + np.hstack([t, x]).prod()

    expected = [(f(X + e) - f(X - e)) / 2e-6 for e in 1e-6 * np.eye(3)]
    np.testing.assert_allclose(tape.func.grad(f)(X), expected, rtol=1e-7)


def test_the_angle_of_a_complex_number_that_is_looked_at_is_recorded():
    def f(x):
        return cmath.polar(x[0] + 1j * x[1])

    np.testing.assert_allclose(tape.record(f, X)(2 * X), f(2 * X), rtol=1e-15)


def kinds(x):
    other = x.copy()
    other += np.float32(1.5)
    names = type(x).__name__, type(other).__name__
    return (x * 2 if isinstance(x, (int, float, np.number)) else x * 3), other.dtype.name, names


SCALARS = (
    np.float64(2.0), np.array(2.0), np.float32(2.0), np.array(2.0, np.float32), np.float16(2.0), np.complex64(1j),
    np.array([2.0]),
)  # fmt: skip


@pytest.mark.parametrize("first", range(len(SCALARS)))
def test_numbers_of_numpys_are_numbers_in_compiled_functions(first):
    """A number and an array without axes are not the same to a function, whichever it was recorded for."""
    compiled = tape.compile(kinds)
    for x in (*SCALARS[first:], *SCALARS[:first]) * 3:
        assert compiled(x) == kinds(x)


def test_a_program_takes_numbers_and_arrays_without_axes():
    for x in (np.float64(3.0), np.array(3.0), 3.0):
        program = tape.record(lambda x: 2 * x + 1, x)
        assert [program(y) for y in (np.float64(4.0), np.array(4.0), 4.0)] == [9.0] * 3


def test_absolute_values_of_complex_numbers_are_those_of_their_class():
    """Python and NumPy's scalars take `hypot`, the ufunc `np.abs` does not: they differ in the last digit."""
    functions = {"abs": abs, "np.abs": np.abs, "polar": lambda z: cmath.polar(z)[0]}
    for z in np.random.default_rng(0).normal(size=(50, 2)) @ [1, 1j]:
        for name, f in functions.items():
            assert tape.func.jvp(f, (z,), (z,))[0] == f(z), name
            assert tape.compile(f)(z) == f(z), name
    assert tape.func.grad(lambda x: abs(x * (3 + 4j)))(np.float64(2.0)) == 5.0


DTYPES = [np.dtype(kind) for kind in ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8")]
INTEGERS = """
sum(v.tolist()) | v.tolist()[1] - v.tolist()[0] | v.sum().item() ** 60 | 10 ** (np.argmax(v).item() + 18)
(v[0].item() << 8) | v[1].item() | ~v[1].item() | isinstance(v.item(0), int) | v[0].item() is True
np.array(v.tolist()).dtype.name | np.ones(2, 'f4') * v.tolist()[0] | str(v.tolist()) | json.dumps(v[:2].tolist())
{k: i for i, k in enumerate(v.tolist())} | np.outer(v, v).tolist() | v[:0].tolist() | v.item() | v[0].tolist() * 1000
1 / (v > 250).sum().item() | 1 % (v > 250).sum().item() | divmod(v[0].item(), 7) | type(v[0].item()).__name__
round(v[0]) * 1000 | round(v[0], 1) | round(v[0], -1) | round(v[0], None) | int(v[0]) * 10**6 | math.trunc(v[0])
math.floor(v[0]) * 10**6 | math.ceil(v[0]) * 10**6 | v[0].item().bit_length() | f"{v[0].item():>5}" | "%x" % v.item(1)
[v[j] for j in v.tolist()]
"""
FLOATS_OF_INTEGERS = """
math.sin(v[0]) | math.sqrt(v[0]) | math.pow(v[0], v[1]) | math.fmod(v[0], v[1]) | math.hypot(v[0], v[1])
math.log(v[0] + 1) | math.log(v[2], 3) | math.copysign(v[0], -1) | math.fsum(v) | math.dist(v, v[::-1]) | math.prod(v)
math.isclose(v[0], v[1]) | math.ldexp(v[0], 3) | math.ldexp(1.5, v[2]) | math.frexp(v[0]) | cmath.sqrt(v[0])
cmath.phase(v[0]) | math.gamma(v[2] + 1) | math.remainder(v[0], 3) | math.gcd(v[0], v[1]) | math.comb(10, v[2])
math.fabs(v[0]) | math.modf(v[0])
"""


def as_compiled(found):
    """What a function gives, as a compiled one gives it: floats of Python's are NumPy's."""
    return transform(lambda x: {float: np.float64, complex: np.complex128}.get(type(x), lambda x: x)(x), found)


def numbers_of(dtype):
    return np.array([200 if dtype.itemsize > 1 or dtype.kind == "u" else 100, 100, 2]).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_integers_and_truth_values_of_pythons_are_pythons_own(dtype):
    """They know no overflow, raise, print as Python's, and weigh nothing beside an array; no gradient is lost by it."""
    v = numbers_of(dtype)
    for program in programs(INTEGERS) + programs(FLOATS_OF_INTEGERS):
        f, found = eval(f"lambda v: {program}", {**SPACE, "json": json}), []
        fast, expected = tape.compile(f), outcome(f, v)
        for x in (v, v, v[::-1].copy(), v):
            found_now, plainly = (outcome(lambda x, g=g: as_compiled(g(x)), x) for g in (fast, f))
            assert found_now == plainly, program

        def noted(x, f=f, found=found):
            found.append(outcome(f, (x + v).astype(dtype)))
            return x.sum()

        tape.func.grad(noted)(np.zeros(3))
        tape.func.jvp(noted, (np.zeros(3),), (X,))
        assert found == [expected] * 2, program


def test_a_truth_value_counts_in_a_gradient():
    def f(v):
        return v.sum() * ((v > 0.1).tolist()[0] + (v > 0.1).item(2))

    assert tape.func.grad(f)(X).tolist() == tape.compile(tape.func.grad(f))(X).tolist() == [2.0, 2.0, 2.0]
    assert tape.func.jacfwd(f)(X).tolist() == tape.func.jacrev(f)(X).tolist() == [2.0, 2.0, 2.0]


def test_integers_that_differ_from_lane_to_lane_are_not_told():
    for take in (lambda v: (v > 0).tolist(), lambda v: v.argmax().item(), lambda v: round(v.argmax())):
        with pytest.raises(RuntimeError, match="from lane to lane"):
            tape.func.vmap(lambda v, take=take: (take(v), v)[1])(np.stack([X, -X]))


def test_lists_of_integers_are_one_guard():
    program = tape.record(lambda v: v * sum((v > 0).tolist()), np.arange(100.0))
    assert len(program.guards) == 1


KINDS = "?", "i1", "u1", "i4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"
VECTORISED = """
V(lambda p, q: (p + q) / 2)(v[:-1], v[1:]) | V(lambda p, q: abs(p - q), otypes=[int])(v[:-1], v[1:])
V(math.sqrt)(v) | V(lambda n: n**30 % 7)(v) | V(lambda n: n**40)(v) | V(lambda n: n * 1000, otypes=['u1'])(v)
V(lambda n: (n, n * 300))(v) | V(lambda n: n * 2, cache=True)(v) | V(lambda p, q=2: p * q)(v, q=3)
V(lambda p, q: p * len(q), excluded={1})(v, [1, 2]) | V(lambda n: type(n).__name__, otypes=['U9'])(v)
V(lambda n: f'{n}')(v) | V(lambda n: n == True)(v) | V(lambda n: [1])(v) | V(lambda n: n / 2, otypes=[int])(v)
V(lambda n: n * 1e30, otypes=[int])(v) | V(lambda n: n + 1j, otypes=[float])(v) | V(lambda n: n * 2)(v[:0])
V(lambda n: n * 2, otypes='d')(v[:0]) | V(lambda n: 0 if n > 150 else n * 0.5)(v) | V(round)(v)
V(lambda n: 1 / (n - 2))(v) | V(lambda n: n / 2 if n > 0 else 10**30)(v) | V(lambda n: n // 3)(np.outer(v, v).T)
V(lambda n: n > 3, otypes=[bool])(v) | V(lambda n: n * 0.1, otypes=['e'])(v) | V(lambda n: np.float32(n) * 0.1)(v)
V(lambda p, q: p * 100 * q)([v[0], 3], [[v[1]], [v[0]]]) | V(lambda p, q: p * 100 + q)(v, v[0])
V(lambda n: np.sin(n))(v) | V(lambda p: p * 100)([v, v]) | V(lambda p, q: p + q, excluded={0, 1})(v, v)
np.frompyfunc(lambda n: n * 1000, 1, 1)(v) + 0
"""


@pytest.mark.parametrize("dtype", KINDS)
def test_vectorize_hands_over_numbers_of_pythons(dtype):
    v = np.array([100 if dtype in ("?", "i1") else 200, 100, 2]).astype(dtype)
    for program in programs(VECTORISED):
        f = eval(f"lambda v: {program}", {**SPACE, "V": np.vectorize})
        fast = tape.compile(f)
        for x in (v, v, v[::-1].copy()):
            found_now, plainly = (outcome(lambda x, g=g: as_compiled(g(x)), x) for g in (fast, f))
            assert found_now == plainly, program


def test_vectorize_has_derivatives_beside_integers():
    def f(x):
        halves = np.vectorize(lambda p, k: p * p / 2 if k else p)(x, x > 0)
        products = np.vectorize(lambda p, q: p * q)([x[0], 3.0], [[x[1]], [x[0]]])
        return halves.sum() + products.sum() + np.vectorize(lambda p, q: p / q)(x, x[0]).sum()

    x = np.array([0.5, -1.3, 2.0])
    expected = [(f(x + e) - f(x - e)) / 2e-6 for e in 1e-6 * np.eye(3)]
    for how in (tape.func.grad(f), tape.func.jacfwd(f), tape.compile(tape.func.grad(f))):
        np.testing.assert_allclose(how(x), expected, rtol=1e-7)
    with pytest.raises(RuntimeError, match="from lane to lane"):
        tape.func.vmap(f)(np.stack([x, -x]))
