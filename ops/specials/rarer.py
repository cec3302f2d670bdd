"""Rarer special functions: Bessel functions, the normal distribution, entropies; evaluated by SciPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..core.domain import POSITIVE, REAL, Interval
from ..core.op import HOLOMORPHIC, composite, elementwise, ready
from ..pointwise.arithmetic import square
from ..pointwise.comparison import eq, gt, logical_and, logical_not
from ..pointwise.elementary import cos, exp, log, log1p
from ..pointwise.selection import sign, where
from . import accurate
from .scipys import scipy_function
from .usual import lgamma

SQRT_TWO_PI = 2.5066282746310002
PI = math.pi


def _over(numerator: Any, x: Any, at_zero: float) -> Any:
    """The quotient by x, with its limit at 0."""
    zero = eq(x, 0.0)
    return where(zero, at_zero, numerator / where(zero, 1.0, x))


sinc = elementwise(
    "sinc", lambda x: np.sinc(x), lambda x, z: _over(cos(PI * x) - z, x, 0.0),
    numpy=(np.sinc,), complex=HOLOMORPHIC, domain=(Interval(avoid=(0.0,)),), doc="z = sin(πx) / (πx), and 1 at 0.",
)

i0 = elementwise(
    "i0", scipy_function("i0"), lambda x: i1(x), numpy=(np.i0,), domain=(REAL,),
    doc="Modified Bessel function of the first kind, of order 0.",
)

i0e = elementwise(
    "i0e", scipy_function("i0e"), lambda x, z: i1e(x) - sign(x) * z, node="SpecialI0EBackward0", domain=(REAL,),
    doc="`i0` without its growth: z = exp(−|x|) I₀(x).",
)

i1 = elementwise(
    "i1", scipy_function("i1"), lambda x, z: i0(x) - _over(z, x, 0.5), node="SpecialI1Backward0",
    domain=(Interval(avoid=(0.0,)),), doc="Modified Bessel function of the first kind, of order 1.",
)

i1e = elementwise(
    "i1e", scipy_function("i1e"), lambda x, z: i0e(x) - sign(x) * z - _over(z, x, 0.5), node="SpecialI1EBackward0",
    domain=(Interval(avoid=(0.0,)),), doc="`i1` without its growth: z = exp(−|x|) I₁(x).",
)

erfcx = elementwise(
    "erfcx", scipy_function("erfcx"), lambda x, z: 2.0 * x * z - 1.1283791670955126, node="SpecialErfcxBackward0",
    domain=(REAL,), doc="Scaled complementary error function: z = exp(x²) erfc(x).",
)

ndtr = elementwise(
    "ndtr", accurate.ndtr, lambda x: exp(-0.5 * square(x)) / SQRT_TWO_PI, node="SpecialNdtrBackward0",
    scipy=("ndtr",), domain=(REAL,), doc="Distribution function of the normal distribution.",
)

log_ndtr = elementwise(
    "log_ndtr", accurate.log_ndtr, lambda x: 0.7978845608028654 / erfcx(x * -0.7071067811865476),
    node="SpecialLogNdtrBackward0", scipy=("log_ndtr",), domain=(REAL,),
    doc="Logarithm of `ndtr`, accurate in the left tail.",
)

ndtri = elementwise(
    "ndtri", scipy_function("ndtri"), lambda z: SQRT_TWO_PI * exp(0.5 * square(z)), node="SpecialNdtriBackward0",
    domain=(Interval(0.05, 0.95),), doc="Inverse of `ndtr`, on (0, 1).",
)

entr = elementwise(
    "entr", scipy_function("entr"), lambda x: -log(x) - 1.0, node="SpecialEntrBackward0", domain=(POSITIVE,),
    doc="Term of an entropy: z = −x log(x), 0 at 0 and −inf below.",
)

xlog1py = elementwise(
    "xlog1py", scipy_function("xlog1py", 2),
    lambda x, y: where(logical_and(eq(x, 0.0), logical_not(gt(y, -1.0))), 0.0, log1p(y)),
    lambda x, y: where(logical_and(eq(x, 0.0), eq(y, -1.0)), 0.0, x / (1.0 + y)),
    node="SpecialXlog1PyBackward0", domain=(REAL, Interval(-0.8, 4.0)),
    doc="z = x log(1 + y), and 0 where x = 0 unless y is nan.",
)


def _mvlgamma(x: Any, p: int) -> Any:
    """Logarithm of the gamma function of p × p matrices: Σⱼ lgamma(x − j/2) + p (p − 1)/4 log π, j = 0 … p − 1."""
    x = ready(x)
    total = lgamma(x) + p * (p - 1) / 4 * math.log(PI)
    for j in range(1, p):
        total = total + lgamma(x - j / 2)
    return total


mvlgamma = composite("mvlgamma", _mvlgamma)
