"""Signs of zeros: what NumPy's functions make of −0.0, eager and compiled, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

import tape
import tape.numpy
from tape.base.tensor import Face

SAMPLES = (
    np.array([-0.0]), np.array([0.0, -0.0]), np.array([-0.0, 0.0]), np.array([-0.0, -0.0, -0.0, 1.0, -1.0]),
    np.array([[-0.0, 0.0], [0.0, -0.0]]), np.array([[-0.0, -0.0]]), np.array([-0.3, 0.5, -2.0, -0.0]),
)  # fmt: skip

PROGRAMS = (
    *(f"np.{name}(x)" for name in (
        "sum", "prod", "mean", "max", "min", "median", "nansum", "nanmean", "nanmedian", "cumsum", "cumprod", "diff",
        "negative", "rint", "sign", "sqrt", "square", "cbrt", "sin", "tan", "expm1", "floor", "ceil", "trunc", "round",
        "modf", "frexp", "nan_to_num", "ediff1d", "sort", "add.reduce", "multiply.reduce", "add.accumulate", "conj",
    )),
    *(f"np.{name}(x, {value})" for value in (-0.0, 0.0, 1.0, -2.0) for name in (
        "add", "subtract", "multiply", "divide", "remainder", "fmod", "maximum", "minimum", "copysign", "heaviside",
        "hypot", "arctan2", "floor_divide",
    )),
    *(f"np.clip(x, {low}, {high})" for low in (None, -0.0, 0.0, -1.0) for high in (None, -0.0, 0.0, 1.0)),
    *(f"np.{name}(x, initial={value})" for name in ("max", "min") for value in (-0.0, 0.0)),
    "np.max(x[:0], initial=-0.0)", "np.quantile(x[:1].ravel()[:1], 0.3)", "np.linspace(x, -0.0, 3)",
    "np.linspace(-0.0, x, 3)", "x**3", "x**2", "x * 0.0", "0.0 - x", "x - x", "-x", "abs(x)", "x // 1.0", "x % -1.0",
    "np.where(x >= 0, 0.0, -0.0)", "np.full_like(x, -0.0)", "np.median(x, axis=-1)",
    "np.interp(x, [0.0, 1.0], [0.0, 1.0])",
    "np.gradient(x.ravel()) if x.size > 1 else x",
)  # fmt: skip


def bits(found):
    """Dtypes, shapes, values and signs, of several results in a row."""
    parts = found if isinstance(found, tuple) else (found,)
    arrays = [x._tensor.numpy(force=True) if isinstance(x, Face) else np.asarray(x) for x in parts]
    return [(x.dtype.str, x.shape, x.tolist(), np.signbit(x).tolist() if x.dtype.kind == "f" else 0) for x in arrays]


@pytest.mark.parametrize("program", PROGRAMS)
def test_signs_of_zeros(program):
    f = eval(f"lambda x: {program}", {"np": np})
    for x in SAMPLES:
        with np.errstate(all="ignore"):
            assert repr(bits(f(tape.numpy.array(x)))) == repr(bits(f(x))), (program, x)


@pytest.mark.parametrize("program", ["np.clip(x, 0.0, 1.0)", "np.clip(x, -1.0, -0.0)", "np.modf(x)"])
def test_signs_of_zeros_compiled(program):
    f = eval(f"lambda x: {program}", {"np": np})
    for x in SAMPLES[:4]:
        compiled = tape.compile(f)
        compiled(x)
        assert repr(bits(compiled(x))) == repr(bits(f(x))), (program, x)
