"""Exponentials, logarithms, trigonometry and their kin; complex numbers as length and angle."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..core.batching import elementwise as broadcasting
from ..core.differentiate import ZERO
from ..core.domain import NONZERO, POSITIVE, REAL, UNIT, Case, Interval, cases_of
from ..core.hints import Hints
from ..core.lane import Intrinsic, Math, Via
from ..core.op import ADJOINT, HOLOMORPHIC, elementwise, general, is_complex, ready
from ..shapes.parts import complex, dot_part
from ..shapes.shape import cast
from ..shapes.sums import sum_to
from .comparison import eq, ge
from .selection import abs, sgn, where


def _alarm(depth: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The alarm of a logarithm of numbers so deep in its domain: a root is invalid where it is, and sooner made.

    Its pole is that of a quotient, which is mostly its derivative and made anyway.  No logarithm of a number of 64 bits
    is larger than what is added.
    """

    def alarm(x: Any) -> Any:
        if is_complex(x):
            return None
        d = depth(x)
        return sqrt(d) + (1024.0 + 0.0 * (1.0 / d))

    return alarm


exp = elementwise(
    "exp", np.exp, lambda z: z, lane=Math("exp"),
    complex=HOLOMORPHIC, domain=(REAL,), doc="Exponential: z = eˣ.",
)

expm1 = elementwise(
    "expm1", np.expm1, lambda z: z + 1.0, scipy=("expm1",), lane=Math("expm1"), complex=HOLOMORPHIC, domain=(REAL,),
    doc="z = eˣ − 1, accurate near 0.",
)

exp2 = elementwise(
    "exp2", np.exp2, lambda z: 0.6931471805599453 * z, scipy=("exp2",), lane=Math("exp2"),
    complex=HOLOMORPHIC, domain=(REAL,), doc="Power of two: z = 2ˣ.",
)

log = elementwise(
    "log", np.log, lambda x: 1.0 / x, lane=Math("log"), hints=Hints(alarm=_alarm(lambda x: x)),
    complex=HOLOMORPHIC, domain=(POSITIVE,), doc="Natural logarithm.",
)

log1p = elementwise(
    "log1p", np.log1p, lambda x: 1.0 / (1.0 + x), scipy=("log1p",),
    hints=Hints(lanes_first=True, alarm=_alarm(lambda x: x + 1.0)), lane=Math("log1p"), node="Log1PBackward0",
    complex=HOLOMORPHIC, domain=(Interval(-0.9, 4.0),),
    doc="z = log(1 + x), accurate near 0.",
)

log2 = elementwise(
    "log2", np.log2, lambda x: 1.4426950408889634 / x, lane=Math("log2"), complex=HOLOMORPHIC, domain=(POSITIVE,),
    hints=Hints(alarm=_alarm(lambda x: x)), doc="Logarithm to base 2.",
)

log10 = elementwise(
    "log10", np.log10, lambda x: 0.4342944819032518 / x, lane=Math("log10"), complex=HOLOMORPHIC, domain=(POSITIVE,),
    hints=Hints(alarm=_alarm(lambda x: x)), doc="Logarithm to base 10.",
)

sqrt = elementwise(
    "sqrt", np.sqrt, lambda z: 0.5 / z, lane=Intrinsic("sqrt"), complex=HOLOMORPHIC, domain=(POSITIVE,),
    doc="Square root.  The gradient at 0 is inf.",
)

rsqrt = elementwise(
    "rsqrt", lambda x: 1.0 / np.sqrt(x), lambda z: -0.5 * z * z * z,
    lane=Via(lambda x: 1.0 / sqrt(x)), complex=HOLOMORPHIC, domain=(POSITIVE,),
    hints=Hints(steps=lambda s, x: s.ufunc(np.divide, [s.number(1.0, x.spec.dtype), s.ufunc(np.sqrt, [x])])),
    doc="Reciprocal square root: z = x^(−1/2).",
)

cbrt = elementwise(
    "cbrt", np.cbrt, lambda z: 1.0 / (3.0 * z * z), scipy=("cbrt",), lane=Math("cbrt"), domain=(NONZERO,),
    doc="Cube root.  The gradient at 0 is inf.",
)

sin = elementwise(
    "sin", np.sin, lambda x: cos(x), hints=Hints(lanes_first=True), lane=Math("sin"),
    complex=HOLOMORPHIC, domain=(REAL,), doc="Sine.",
)

cos = elementwise(
    "cos", np.cos, lambda x: -sin(x), hints=Hints(lanes_first=True), lane=Math("cos"),
    complex=HOLOMORPHIC, domain=(REAL,), doc="Cosine.",
)

tan = elementwise(
    "tan", np.tan, lambda z: 1.0 + z * z, lane=Math("tan"),
    complex=HOLOMORPHIC, domain=(Interval(-1.3, 1.3),), doc="Tangent.",
)


def _asin_slope(x):  # type: ignore[no-untyped-def]
    """1/√(1 − x²); of complex numbers by factors that keep the side of the branch cut that x lies on."""
    return 1.0 / (sqrt(-(x - 1.0)) * sqrt(x + 1.0) if is_complex(x) else sqrt((1.0 - x) * (1.0 + x)))


asin = elementwise(
    "asin", np.arcsin, lambda x: _asin_slope(x), lane=Math("asin"),
    complex=HOLOMORPHIC, domain=(UNIT,),
    doc="Inverse sine, in [−π/2, π/2].",
)

acos = elementwise(
    "acos", np.arccos, lambda x: -_asin_slope(x), lane=Math("acos"),
    complex=HOLOMORPHIC, domain=(UNIT,),
    doc="Inverse cosine, in [0, π].",
)

atan = elementwise(
    "atan", np.arctan, lambda x: 1.0 / (1.0 + x * x), lane=Math("atan"), complex=HOLOMORPHIC, domain=(REAL,),
    doc="Inverse tangent, in [−π/2, π/2].",
)

atan2 = elementwise(
    "atan2", np.arctan2,
    lambda x, y: where(eq(hypot(x, y), 0.0), 0.0, y / hypot(x, y) / hypot(x, y)),
    lambda x, y: where(eq(hypot(x, y), 0.0), 0.0, -x / hypot(x, y) / hypot(x, y)),
    lane=Math("atan2"), domain=(NONZERO, NONZERO),
    doc="Angle of the point (y, x), in [−π, π]: z = atan(x / y) in the right quadrant.  The gradient at (0, 0) is 0.",
)

hypot = elementwise(
    "hypot", np.hypot,
    lambda x, z: where(eq(z, 0.0), 0.0, x / z),
    lambda y, z: where(eq(z, 0.0), 0.0, y / z),
    hints=Hints(lanes_first=True), lane=Math("hypot"), domain=(REAL, NONZERO),
    doc="""Length of the vector (x, y), without overflow: z = √(x² + y²).

    The gradient at (0, 0) is 0, the smallest subgradient; PyTorch gives nan there.
    """,
)

sinh = elementwise(
    "sinh", np.sinh, lambda x: cosh(x), lane=Math("sinh"),
    complex=HOLOMORPHIC, domain=(REAL,), doc="Hyperbolic sine.",
)

cosh = elementwise(
    "cosh", np.cosh, lambda x: sinh(x), lane=Math("cosh"),
    complex=HOLOMORPHIC, domain=(REAL,), doc="Hyperbolic cosine.",
)

tanh = elementwise(
    "tanh", np.tanh, lambda z: 1.0 - z * z, lane=Math("tanh"),
    complex=HOLOMORPHIC, domain=(REAL,), doc="Hyperbolic tangent.",
)

asinh = elementwise(
    "asinh", np.arcsinh, lambda z: 1.0 / cosh(z), lane=Math("asinh"), complex=HOLOMORPHIC, domain=(REAL,),
    doc="Inverse hyperbolic sine.",
)

acosh = elementwise(
    "acosh", np.arccosh, lambda x: 1.0 / (sqrt(x - 1.0) * sqrt(x + 1.0)), lane=Math("acosh"),
    hints=Hints(alarm=_alarm(lambda x: x - 1.0)),
    complex=HOLOMORPHIC, domain=(Interval(1.2, 4.0),), doc="Inverse hyperbolic cosine, at least 0.",
)

atanh = elementwise(
    "atanh", np.arctanh, lambda x: 1.0 / ((1.0 - x) * (1.0 + x)), lane=Math("atanh"),
    hints=Hints(alarm=_alarm(lambda x: (1.0 - x) * (1.0 + x))),
    complex=HOLOMORPHIC, domain=(UNIT,),
    doc="Inverse hyperbolic tangent.",
)


def negated(x: Any) -> Any:
    """−x as NumPy computes it, but of numbers without a sign in a dtype that has one."""
    dtype = getattr(x, "dtype", None)
    return -x if dtype is None or dtype.kind not in "bu" else np.negative(x, dtype=np.result_type(dtype, np.int8))


def _sigmoid(x):  # type: ignore[no-untyped-def]
    if is_complex(x):
        return 1.0 / (1.0 + np.exp(-x))
    size = np.absolute(x)
    tail = np.exp(-size if size.dtype.kind == "f" else negated(size))
    return np.where(np.greater_equal(x, 0), 1.0, tail)[()].astype(tail.dtype) / (1.0 + tail)


def _sigmoid_lane(x):  # type: ignore[no-untyped-def]
    tail = exp(-abs(x))
    return where(ge(x, 0.0), 1.0, tail) / (1.0 + tail)


sigmoid = elementwise(
    "sigmoid", _sigmoid, lambda z: z * (1.0 - z), scipy=("expit",), hints=Hints(lanes_first=True),
    lane=Via(_sigmoid_lane),
    complex=HOLOMORPHIC, domain=(REAL,),
    doc="Logistic function: z = 1 / (1 + e⁻ˣ), without overflow and accurate in both tails.",
)


def _angle_slope(x: Any) -> Any:
    """i x / |x|², the direction in which the angle grows and how fast; 0 for real numbers, and at 0."""
    if not is_complex(x):
        return ZERO
    at_zero = eq(x, 0.0)
    return where(at_zero, 0.0, 1j * sgn(x) / where(at_zero, 1.0, abs(x)))


def _angle(x: Any) -> Any:
    z = np.angle(x)
    dtype = getattr(x, "dtype", None)  # Python's numbers have none
    return z if dtype is None or dtype.kind != "f" else z.astype(dtype)


angle = elementwise(
    "angle", _angle, lambda x: _angle_slope(x), complex=ADJOINT, domain=(NONZERO,),
    hints=Hints(steps=lambda s, x: s.angle(x)),
    doc="Angle of a complex number, in [−π, π]; 0 or π for a real one.  The gradient at 0 is 0.",
)


def _polar(x: Any, y: Any) -> Any:
    if is_complex(ready(x)) or is_complex(ready(y)):
        raise RuntimeError("polar takes real numbers, a length and an angle")
    return np.asarray(complex(x * np.cos(y), x * np.sin(y)))[()]


def _turn(y: Any) -> Any:
    """exp(iy) for real y."""
    return complex(cos(y), sin(y))


def _polar_jvp(x: Any, y: Any, z: Any, x_dot: Any, y_dot: Any) -> Any:
    forward = 0.0 if x_dot is None else _turn(y) * x_dot
    return forward + (0.0 * z if y_dot is None else 1j * z * y_dot)


polar = general(
    "polar", _polar,
    lambda g, y, x_shape: sum_to(dot_part(_turn(y), g), shape=x_shape),
    lambda g, z, y_shape: sum_to(dot_part(1j * z, g), shape=y_shape),
    jvp=_polar_jvp, complex=ADJOINT,
    cases=cases_of(([(2, 3), (2, 3)], {}), ([(3,), (2, 1)], {}), ([(), ()], {})), batch=broadcasting, lies="operands",
    hints=Hints(
        steps=lambda s, x, y: s.joined(*(s.ufunc(np.multiply, [x, s.ufunc(f, [y])]) for f in (np.cos, np.sin)))
    ),
    doc="The complex number of length x and angle y: z = x exp(iy).",
)


def _over_power(x: Any, exponent: Any) -> Any:
    """x / 2ᵏ for integers k."""
    return x / exp2(cast(exponent, dtype=x.dtype))


def _apart_from_powers(rng: np.random.Generator) -> Iterator[Case]:
    """Cases well apart from powers of two, where the mantissa jumps."""
    for shape in ((2, 3), ()):
        yield (rng.choice([-3.0, 0.75, 6.0, 0.1], shape) * (1.0 + 0.1 * rng.random(shape)),), {}


frexp = general(
    "frexp", lambda x: np.frexp(x), lambda g, z: _over_power(g[0], z[1]),
    jvp=lambda x_dot, z: (_over_power(x_dot, z[1]), None),
    outputs=2, integers=1, cases=_apart_from_powers, batch=broadcasting, lies="operand",
    doc="Mantissa, of at least a half and less than one, and exponent k of the power of two: x = mantissa · 2ᵏ.",
)
