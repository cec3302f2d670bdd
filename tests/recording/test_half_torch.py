"""16-bit floating point against PyTorch: promotion, values, gradients, limits."""

from __future__ import annotations

import itertools
import operator

import numpy as np
import pytest
from numpy.testing import assert_allclose

import tape

torch = pytest.importorskip("torch")
pytest.importorskip("ml_dtypes")

NAMES = ("float16", "bfloat16", "float32", "float64", "int64", "int8", "uint8", "bool", "complex64")
NARROW = ("float16", "bfloat16")
SHAPES = ((2,), ())


def made(library, name, shape):
    return library.ones(shape, dtype=getattr(library, name))


@pytest.mark.parametrize("pair", [p for p in itertools.product(NAMES, NAMES) if set(p) & set(NARROW)])
def test_promotion(pair):
    for shapes in itertools.product(SHAPES, SHAPES):
        ours, theirs = ([made(lib, *spec) for spec in zip(pair, shapes)] for lib in (tape, torch))
        if "complex64" in pair:  # PyTorch has a complex type of two float16, NumPy none
            assert (ours[0] * ours[1]).dtype == tape.complex64
            continue
        for op in ("mul", "add", "maximum", "atan2"):
            expected = str(getattr(torch, op)(*theirs).dtype)
            assert f"torch.{getattr(tape, op)(*ours).dtype}" == expected, (op, pair, shapes)


@pytest.mark.parametrize("name", NARROW)
def test_plain_numbers_do_not_promote(name):
    for value in (2, 2.5, True):  # a number of more digits is rounded by PyTorch first, which loses some
        for shape in SHAPES:
            ours, theirs = made(tape, name, shape), made(torch, name, shape)
            for f in (operator.mul, operator.add, operator.pow, lambda t, v: v / t):
                assert f"torch.{f(ours, value).dtype}" == str(f(theirs, value).dtype)
                assert f(ours, value).tolist() == f(theirs, value).tolist()


PROGRAMS = {
    "chain": lambda lib, x, y: ((x * y).exp() + x.sin() / y).sum(),
    "product": lambda lib, x, y: (x @ y.T).tanh().mean(),
    "softmax": lambda lib, x, y: (lib.softmax(x, -1) * y).sum(),
    "logsumexp": lambda lib, x, y: lib.logsumexp(x * y, 0).sum(),
    "cumulative": lambda lib, x, y: (x.cumsum(0) * y.cumprod(1)).sum(),
    "index": lambda lib, x, y: (x[1] * y[:, 2].sum() + x[lib.tensor([0, 0])].sum()).sum(),
    "join": lambda lib, x, y: lib.cat([x, y], 0).var(0).sum(),
    "choose": lambda lib, x, y: lib.where(x > y, x, y * 2).prod(0).sum(),
    "mixed": lambda lib, x, y: (x.float() * y).sum() + (x * y.double()).sum(),
    "sorted": lambda lib, x, y: (x.sort(0)[0] * y).sum(),
    "power": lambda lib, x, y: (x.abs() ** 1.5).sum() + (y**2).sum().sqrt(),
}


@pytest.mark.parametrize("name", NARROW)
@pytest.mark.parametrize("program", PROGRAMS)
def test_values_and_gradients(program, name):
    rng = np.random.default_rng(7)
    values = [rng.uniform(0.3, 1.2, (3, 4)) for _ in range(2)]
    f, dtype = PROGRAMS[program], getattr(tape, name)
    ours = [tape.tensor(v, dtype=dtype, requires_grad=True) for v in values]
    theirs = [torch.tensor(v).to(getattr(torch, name)).requires_grad_() for v in values]
    a, b = f(tape, *ours), f(torch, *theirs)
    assert str(b.dtype) == f"torch.{a.dtype}"
    eps = tape.finfo(dtype).eps
    assert_allclose(a.item(), b.item(), rtol=4 * eps)
    a.backward()
    b.backward()
    for x, y in zip(ours, theirs):
        assert x.grad.dtype == dtype
        expected = y.grad.double().numpy()
        assert_allclose(x.grad.double().numpy(), expected, rtol=8 * eps, atol=8 * eps * np.abs(expected).max())


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64", "complex64"])
def test_finfo(name):
    ours, theirs = tape.finfo(getattr(tape, name)), torch.finfo(getattr(torch, name))
    for fact in ("bits", "eps", "max", "min", "tiny", "smallest_normal", "dtype"):
        assert getattr(ours, fact) == getattr(theirs, fact), fact
    assert tape.finfo().dtype == "float64"
    with pytest.raises(TypeError, match="iinfo"):
        tape.finfo(tape.int64)


@pytest.mark.parametrize("name", ["int8", "uint8", "int16", "int32", "int64"])
def test_iinfo(name):
    ours, theirs = tape.iinfo(getattr(tape, name)), torch.iinfo(getattr(torch, name))
    for fact in ("bits", "max", "min", "dtype"):
        assert getattr(ours, fact) == getattr(theirs, fact)
    with pytest.raises(TypeError, match="finfo"):
        tape.iinfo(tape.half)
