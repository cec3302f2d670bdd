"""Integrals of elementary functions: error functions, exponential and elliptic integrals, and their kin."""

from __future__ import annotations

from typing import Any

from ..core.domain import NONZERO, POSITIVE, REAL, UNIT, Interval
from ..core.op import composite, elementwise, ready
from ..pointwise.arithmetic import square
from ..pointwise.comparison import eq
from ..pointwise.elementary import cos, cosh, exp, log, sin, sqrt
from ..pointwise.selection import where
from .rarer import PI, SQRT_TWO_PI, sinc
from .scipys import NotDifferentiated, scipy_function
from .usual import SQRT_PI_OVER_TWO, TWO_OVER_SQRT_PI, erf

MODULUS = Interval(0.1, 0.9)

special_erfi = elementwise(
    "special_erfi", scipy_function("erfi"), lambda x: TWO_OVER_SQRT_PI * exp(square(x)), domain=(UNIT,),
    doc="Imaginary error function: z = 2/√π ∫₀ˣ exp(t²) dt.",
)

special_erfcinv = elementwise(
    "special_erfcinv", scipy_function("erfcinv"), lambda z: -SQRT_PI_OVER_TWO * exp(square(z)),
    domain=(Interval(0.1, 1.9),), doc="Inverse of the complementary error function, on (0, 2).",
)

special_dawsn = elementwise(
    "special_dawsn", scipy_function("dawsn"), lambda x, z: 1.0 - 2.0 * x * z, domain=(REAL,),
    doc="Dawson's integral: z = exp(−x²) ∫₀ˣ exp(t²) dt.",
)

special_ndtri_exp = elementwise(
    "special_ndtri_exp", scipy_function("ndtri_exp"), lambda x, z: SQRT_TWO_PI * exp(x + 0.5 * square(z)),
    domain=(Interval(-4.0, -0.1),), doc="Inverse of `log_ndtr`, on (−∞, 0).",
)

special_owens_t = elementwise(
    "special_owens_t", scipy_function("owens_t", 2),
    lambda x, y: exp(-0.5 * square(x)) * erf(x * y * 0.7071067811865476) * (-0.5 / SQRT_TWO_PI),
    lambda x, y: exp(-0.5 * square(x) * (1.0 + square(y))) / (2.0 * PI * (1.0 + square(y))),
    domain=(REAL, REAL),
    doc="Owen's T function: z = 1/(2π) ∫₀ʸ exp(−x² (1 + t²) / 2) / (1 + t²) dt.",
)

special_exp1 = elementwise(
    "special_exp1", scipy_function("exp1"), lambda x: -exp(-x) / x, domain=(Interval(0.5, 4.0),),
    doc="Exponential integral: z = ∫ₓ^∞ e⁻ᵗ / t dt.",
)

special_expi = elementwise(
    "special_expi", scipy_function("expi"), lambda x: exp(x) / x, domain=(Interval(0.5, 4.0),),
    doc="Exponential integral: z = ∫ eᵗ / t dt from −∞ to x, its principal value.",
)

special_si = elementwise(
    "special_si", scipy_function("sici", part=0), lambda x: sinc(x / PI), domain=(NONZERO,),
    doc="Sine integral: z = ∫₀ˣ sin(t) / t dt.",
)

special_ci = elementwise(
    "special_ci", scipy_function("sici", part=1), lambda x: cos(x) / x, domain=(Interval(0.5, 4.0),),
    doc="Cosine integral: z = γ + log(x) + ∫₀ˣ (cos(t) − 1) / t dt.",
)

special_sici = composite(
    "special_sici", lambda x: (special_si(ready(x)), special_ci(ready(x))), scipy=("sici",),
    doc="Sine and cosine integrals.",
)

special_shi = elementwise(
    "special_shi", scipy_function("shichi", part=0), lambda x: 0.5 * (special_exprel(x) + special_exprel(-x)),
    domain=(NONZERO,), doc="Hyperbolic sine integral: z = ∫₀ˣ sinh(t) / t dt.",
)

special_chi = elementwise(
    "special_chi", scipy_function("shichi", part=1), lambda x: cosh(x) / x, domain=(Interval(0.5, 4.0),),
    doc="Hyperbolic cosine integral: z = γ + log(x) + ∫₀ˣ (cosh(t) − 1) / t dt.",
)

special_shichi = composite(
    "special_shichi", lambda x: (special_shi(ready(x)), special_chi(ready(x))), scipy=("shichi",),
    doc="Hyperbolic sine and cosine integrals.",
)

special_fresnels = elementwise(
    "special_fresnels", scipy_function("fresnel", part=0), lambda x: sin(0.5 * PI * square(x)), domain=(UNIT,),
    doc="Fresnel's integral z = ∫₀ˣ sin(π t² / 2) dt.",
)

special_fresnelc = elementwise(
    "special_fresnelc", scipy_function("fresnel", part=1), lambda x: cos(0.5 * PI * square(x)), domain=(UNIT,),
    doc="Fresnel's integral z = ∫₀ˣ cos(π t² / 2) dt.",
)

special_fresnel = composite(
    "special_fresnel", lambda x: (special_fresnels(ready(x)), special_fresnelc(ready(x))), scipy=("fresnel",),
    doc="Fresnel's integrals of sine and cosine.",
)

special_exprel = elementwise(
    "special_exprel", scipy_function("exprel"), lambda x: exprel_slope(x), domain=(REAL,),
    doc="z = (eˣ − 1) / x, and 1 at 0.",
)

special_spence = elementwise(
    "special_spence", scipy_function("spence"),
    lambda x: where(eq(x, 1.0), -1.0, log(x) / where(eq(x, 1.0), 1.0, 1.0 - x)),
    domain=(Interval(0.2, 4.0, avoid=(1.0,), margin=0.2),), doc="Spence's function: z = ∫₁ˣ log(t) / (1 − t) dt.",
)

special_ellipk = elementwise(
    "special_ellipk", scipy_function("ellipk"),
    lambda x, z: where(eq(x, 0.0), PI / 8.0, (special_ellipe(x) - (1.0 - x) * z) / _twice(x) / (1.0 - x)),
    domain=(MODULUS,), doc="Complete elliptic integral of the first kind, of the parameter x = k² (DLMF 19.4.1).",
)

special_ellipe = elementwise(
    "special_ellipe", scipy_function("ellipe"),
    lambda x, z: where(eq(x, 0.0), -PI / 8.0, (z - special_ellipk(x)) / _twice(x)),
    domain=(MODULUS,), doc="Complete elliptic integral of the second kind, of the parameter x = k² (DLMF 19.4.2).",
)


def _twice(x: Any) -> Any:
    """2 x, and 1 in the place of 0."""
    return where(eq(x, 0.0), 1.0, 2.0 * x)


special_ellipkinc = elementwise(
    "special_ellipkinc", scipy_function("ellipkinc", 2),
    lambda x, y: 1.0 / sqrt(1.0 - y * square(sin(x))), NotDifferentiated("ellipkinc", "parameter m"),
    domain=(UNIT, MODULUS), doc="Incomplete elliptic integral of the first kind, of the angle x and the parameter y.",
)

special_ellipeinc = elementwise(
    "special_ellipeinc", scipy_function("ellipeinc", 2),
    lambda x, y: sqrt(1.0 - y * square(sin(x))), NotDifferentiated("ellipeinc", "parameter m"),
    domain=(UNIT, MODULUS), doc="Incomplete elliptic integral of the second kind, of the angle x and the parameter y.",
)

special_wrightomega = elementwise(
    "special_wrightomega", scipy_function("wrightomega"), lambda z: z / (1.0 + z), domain=(REAL,),
    doc="The z with z + log(z) = x.",
)

special_hyp0f1 = elementwise(
    "special_hyp0f1", scipy_function("hyp0f1", 2), NotDifferentiated("hyp0f1", "first argument v"),
    lambda x, y: special_hyp0f1(x + 1.0, y) / x,
    domain=(POSITIVE, REAL), doc="Confluent hypergeometric limit function ₀F₁(; x; y).",
)

special_hyp1f1 = elementwise(
    "special_hyp1f1", scipy_function("hyp1f1", 3),
    NotDifferentiated("hyp1f1", "first argument a"), NotDifferentiated("hyp1f1", "second argument b"),
    lambda x, y, u: x / y * special_hyp1f1(x + 1.0, y + 1.0, u),
    domain=(POSITIVE, POSITIVE, REAL), doc="Confluent hypergeometric function ₁F₁(x; y; u) (DLMF 13.3.15).",
)

special_hyp2f1 = elementwise(
    "special_hyp2f1", scipy_function("hyp2f1", 4),
    NotDifferentiated("hyp2f1", "first argument a"), NotDifferentiated("hyp2f1", "second argument b"),
    NotDifferentiated("hyp2f1", "third argument c"),
    lambda x, y, u, v: x * y / u * special_hyp2f1(x + 1.0, y + 1.0, u + 1.0, v),
    domain=(Interval(0.3, 2.0), Interval(0.3, 2.0), Interval(2.2, 4.0), Interval(-0.7, 0.7)),
    doc="Gauss' hypergeometric function ₂F₁(x, y; u; v) (DLMF 15.5.1).",
)

special_hyperu = elementwise(
    "special_hyperu", scipy_function("hyperu", 3),
    NotDifferentiated("hyperu", "first argument a"), NotDifferentiated("hyperu", "second argument b"),
    lambda x, y, u: -x * special_hyperu(x + 1.0, y + 1.0, u),
    domain=(Interval(0.3, 2.0), Interval(0.3, 2.0), Interval(0.8, 4.0)),
    doc="Tricomi's confluent hypergeometric function U(x, y, u) (DLMF 13.3.22).",
)


def exprel_slope(x: Any) -> Any:
    """The derivative of (eˣ − 1) / x: (eˣ − z) / x away from 0, and near it, where that cancels, ½ ₁F₁(2; 3; x)."""
    near = abs(x) < 0.5
    inside, outside = where(near, x, 0.0), where(near, 1.0, x)
    return where(near, 0.5 * special_hyp1f1(2.0, 3.0, inside), (exp(outside) - special_exprel(outside)) / outside)
