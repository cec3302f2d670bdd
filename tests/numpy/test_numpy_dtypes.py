"""What dtypes join to: arrays, arrays without axes, NumPy's numbers and Python's, in every pair, as NumPy has it."""

from __future__ import annotations

import itertools
import operator
import random
import warnings

import numpy as np
import pytest

import tape
import tape.numpy
from ops.core.op import answers
from tape.base.tensor import Face

DTYPES = ("bool", "int8", "uint8", "int32", "int64", "uint64", "float16", "float32", "float64", "complex64",
          "complex128")  # fmt: skip
KINDS = ("array", "no axes", "number")
PYTHON = (True, 2, 1.5, 1.5j)

UFUNCS = {
    f.__name__: f for f in answers()
    if isinstance(f, np.ufunc) and (f.nin, f.nout) == (2, 1) and (f.signature is None or f is np.matmul)
}  # fmt: skip
OPERATORS = {name: getattr(operator, name) for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lt")}
FUNCTIONS = {
    "where": lambda x, y: np.where(np.ones(np.shape(x), bool), x, y),
    "concatenate": lambda x, y: np.concatenate([np.atleast_1d(x), np.atleast_1d(y)]),
    "append": np.append,
    "outer": np.outer,
    "inner": np.inner,
    "dot": np.dot,
    "kron": np.kron,
    "einsum": lambda x, y: np.einsum("...,...->...", x, y),
    "clip": lambda x, y: np.clip(x, None, y),
    "full_like": lambda x, y: np.full_like(x, y),
    "choose": lambda x, y: np.choose(np.zeros(np.shape(x), int), [x, y]),
    "linspace": lambda x, y: np.linspace(x, y, 3),
    "geomspace": lambda x, y: np.geomspace(x, y, 3),
    "average": lambda x, y: np.average(x, weights=y) if np.shape(x) == np.shape(y) else 0.0,
    "trapezoid": lambda x, y: np.trapezoid(x, y) if np.ndim(x) and np.ndim(y) else 0.0,
    "sum": lambda x, y: np.sum(x, initial=y) if not np.ndim(y) else 0.0,
    "in place": lambda x, y: operator.iadd(x.copy(), y),
    "assigned": lambda x, y: assigned(x, y),
}
UNARY = ("mean", "median", "std", "cumsum", "diff", "square", "sign", "rint", "fix", "frexp", "modf", "sinc", "ptp")
KNOWN = {
    # NumPy warns and drops the imaginary part, or compares it as a second key; these are refused.
    *itertools.product(("sum", "full_like", "assigned"), ("complex64", "complex128")),
}


def assigned(x, y):
    z = x.copy()
    z[...] = y
    return z


def made(dtype, kind, values=(1.0, 2.0, 3.0)):
    x = np.array(values).astype(dtype)
    return x if kind == "array" else x[0] if kind == "number" else np.array(x[0])


def pairs(other=(2.0, 1.0, 2.0)):
    """Every pair of dtypes and kinds of which one is an array; the kinds of which the second is Python's."""
    for a, b, (k, m) in itertools.product(DTYPES, DTYPES, itertools.product(KINDS, KINDS)):
        if k != "number":
            yield made(a, k), made(b, m, other)
    for a, k, y in itertools.product(DTYPES, KINDS[:2], PYTHON):
        yield made(a, k), y


def told(f, *xs):
    """What a call gives, as arrays; the type of what it raises."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = f(*xs)
    except (TypeError, ValueError, OverflowError, RuntimeError) as error:
        return type(error)
    return [x._tensor.numpy(force=True) if isinstance(x, Face) else np.asarray(x) for x in leaves(found)]


def leaves(x):
    return [leaf for part in x for leaf in leaves(part)] if isinstance(x, (tuple, list)) else [x]


def agree(name, f, recorded, *xs):
    wanted, found = told(f, *xs), told(recorded)
    operands = [(type(x).__name__, str(getattr(x, "dtype", x))) for x in xs]
    said = f"{name} of {operands}: {wanted} and {found}"
    if isinstance(wanted, type) or isinstance(found, type):
        dropped = any((name, str(getattr(x, "dtype", ""))) in KNOWN for x in xs)
        assert dropped or (isinstance(wanted, type) and isinstance(found, type)), said
        return
    for a, b in zip(wanted, found, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape), said
        if a.dtype.kind in "fc":
            eps = np.finfo(a.dtype).eps
            np.testing.assert_allclose(a, b, rtol=8 * eps, atol=8 * eps, err_msg=said)
        else:
            np.testing.assert_array_equal(a, b, err_msg=said)


@pytest.mark.parametrize("name", [*UFUNCS, *FUNCTIONS, *(f"operator {name}" for name in OPERATORS)])
def test_two_operands(name):
    f = UFUNCS.get(name) or FUNCTIONS.get(name) or OPERATORS[name.removeprefix("operator ")]
    for x, y in random.Random(name).sample(list(pairs()), 150):
        agree(name, f, lambda x=x, y=y: f(tape.numpy.array(x), y), x, y)
        if isinstance(y, np.ndarray):
            agree(name, f, lambda x=x, y=y: f(tape.numpy.array(x), tape.numpy.array(y)), x, y)


@pytest.mark.parametrize("name", UNARY)
def test_one_operand(name):
    for dtype in DTYPES:
        x = made(dtype, "array")
        agree(name, getattr(np, name), lambda x=x: getattr(np, name)(tape.numpy.array(x)), x)


@pytest.mark.parametrize("name", ["add", "multiply", "power", "where", "concatenate", "linspace", "sum"])
def test_two_operands_compiled_and_mapped(name):
    f = UFUNCS.get(name) or FUNCTIONS[name]
    drawn = [
        (x, y) for x, y in pairs() if x.ndim and np.ndim(y) == (x.ndim if name != "sum" else 0) and x.dtype.kind == "f"
    ]
    for x, y in random.Random(name).sample(drawn, 6):
        compiled = tape.compile(lambda x, y=y: f(x, y))
        compiled(x)
        agree(name, f, lambda x=x, compiled=compiled: compiled(x), x, y)
        rows = told(lambda x=x, y=y: tape.vmap(lambda x: f(x, y))(np.stack([x, x])))
        agree(name, f, lambda rows=rows: [row[1] for row in rows], x, y)


def test_whole_numbers_beyond_a_dtype_are_refused_as_by_numpy():
    x = np.array([1, 2, 3], np.int8)
    for f in (np.fmax, np.fmin, np.maximum, np.full_like, np.power):
        with pytest.raises(OverflowError):
            f(tape.numpy.array(x), 2**40)
    assert np.clip(tape.numpy.array(x), -(2**40), 2**40).tolist() == [1, 2, 3]


@pytest.mark.parametrize("kind", [np.dtypes.Float64DType, np.dtypes.Float32DType, np.dtypes.Complex128DType])
@pytest.mark.parametrize(
    "f",
    [
        lambda x, kind: np.subtract(x, 2, dtype=kind),
        lambda x, kind: np.sum(x, 0, kind),
        lambda x, kind: np.mean(x, dtype=kind),
        lambda x, kind: np.add.reduce(x, dtype=kind),
        lambda x, kind: np.zeros(3, kind) + x,
        lambda x, kind: np.array([x[0], 1.0], kind),
        lambda x, kind: np.full(2, x[0], dtype=kind),
        lambda x, kind: np.zeros_like(x, dtype=kind) + x,
        lambda x, kind: np.linspace(x[0], x[1], 3, dtype=kind),
        lambda x, kind: x.astype(kind),
    ],
)
def test_classes_of_dtypes_are_what_numpy_takes_them_for(f, kind):
    x, found = np.array([0.5, 1.5, 2.5]), []
    expected = f(x, kind)
    gradient = tape.func.grad(lambda x: np.sum(np.real(found.append(f(x, kind)) or found[-1])))(x)
    assert gradient.dtype == x.dtype
    np.testing.assert_array_equal(tape.stop_gradient(found[0]), expected, strict=True)


OF_16_BITS = (
    "x + 65519.0", "65520.0 - x", "x / 70000", "70000.0 / x", "x * 1e5", "x % 1e-10", "x[0] * 70000.0", "x[0] / 1e5",
    "x * np.float32(70000)", "x[0] + np.float32(2)", "np.add(x, 65519.0)", "np.cumsum(x)", "np.cumprod(x)", "x % 0.3",
    "np.add.accumulate(x)", "x.reshape(5, 8).sum(0)", "np.exp(x) @ x", "np.var(x)", "x**2", "-x", "x**3",
    "np.maximum(x, 70000.0)", "np.where(x > 0, x, 1e-9)",
)  # fmt: skip


@pytest.mark.parametrize("program", OF_16_BITS)
def test_numbers_of_16_bits_are_computed_as_numpy_does(program):
    f = eval(f"lambda x: {program}", {"np": np})
    x = np.random.default_rng(0).normal(size=40).astype(np.float16)
    compiled = tape.compile(f)
    with np.errstate(all="ignore"):
        expected = np.asarray(f(x))
        found = [f(tape.numpy.array(x))._tensor.numpy(force=True), compiled(x), compiled(x)]
        found += [tape.func.vjp(f, x)[0], tape.func.jvp(f, (x,), (x,))[0], tape.vmap(f)(np.stack([x, x]))[1]]
    for got in found:
        assert np.asarray(got).dtype == expected.dtype
        np.testing.assert_array_equal(got, expected)


def test_tensors_of_16_bits_are_computed_in_32():
    x = tape.tensor([1.0, 2.0], dtype=tape.float16)
    assert (x / 70000).tolist() == (np.array([1.0, 2.0], np.float32) / 70000).astype(np.float16).tolist()


FOREIGN = np.dtype(float).newbyteorder()


@pytest.mark.parametrize("dtype", [FOREIGN, FOREIGN.str[0] + "f4", FOREIGN.str[0] + "c16", FOREIGN.str[0] + "i8"])
@pytest.mark.parametrize(
    "function", [lambda x: x[0, 1] * 3, lambda x: x.flat[2] + x.flat[1:3].sum(), np.exp, lambda x: x + 1, np.sum]
)
def test_numbers_in_another_order_of_bytes(function, dtype):
    x = np.array([[0.0, 1.0, 2.0], [3.0, 4.0, 0.0]]).astype(dtype)
    compiled = tape.compile(function)
    with pytest.warns(RuntimeWarning, match="whose order of bytes is not the machine's"):
        found = compiled(x)
    np.testing.assert_array_equal(found, function(x))
    np.testing.assert_array_equal(compiled(x), function(x))


def test_numbers_in_another_order_of_bytes_around_a_function_and_in_it():
    x = np.array([1.0, 2.0]).astype(FOREIGN)
    for function in (lambda y: (y * x)[1] * 3.0, lambda y: (y.astype(FOREIGN) * 3.0)[1]):
        compiled = tape.compile(function)
        with pytest.warns(RuntimeWarning, match="whose order of bytes is not the machine's"):
            found = compiled(np.ones(2))
        np.testing.assert_array_equal(found, function(np.ones(2)))


@pytest.mark.parametrize("function", [lambda x: x + 1, lambda x: x * 2.5, np.sum, lambda x: (x * x).sum(0)])
def test_complex_numbers_of_more_than_64_bits(function):
    x = (np.arange(6) * (1 + 2j)).reshape(2, 3).astype(np.clongdouble)
    compiled = tape.compile(function)
    for _ in range(2):
        np.testing.assert_array_equal(compiled(x), function(x))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_i0_is_that_of_numpy_to_the_bit(dtype):
    x = np.linspace(-8, 8, 33).astype(dtype)
    for f in (tape.compile(np.i0), lambda x: tape.func.vjp(np.i0, x)[0]):
        z = f(x)
        assert z.dtype == dtype
        np.testing.assert_array_equal(z, np.i0(x))
