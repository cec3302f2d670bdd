"""Integrals of elementary functions: error, exponential and elliptic ones; SciPy's entropies, losses and powers."""

from __future__ import annotations

import math
from typing import Any

from ..core.domain import NONZERO, POSITIVE, REAL, UNIT, Interval
from ..core.op import composite, elementwise, ready
from ..pointwise.arithmetic import square
from ..pointwise.comparison import eq, le
from ..pointwise.elementary import cos, cosh, exp, hypot, log, log1p, sin, sqrt
from ..pointwise.selection import abs, clamp, where
from .scipys import NotDifferentiated, scipy_function
from .usual import PI, SQRT_PI_OVER_TWO, SQRT_TWO_PI, TWO_OVER_SQRT_PI, erf, sinc

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


POWER = Interval(0.3, 2.0)
DEGREE = math.pi / 180.0

special_rel_entr = elementwise(
    "special_rel_entr", scipy_function("rel_entr", 2), lambda x, y: log(x / y) + 1.0, lambda x, y: -x / y,
    domain=(POSITIVE, POSITIVE), doc="Term of a relative entropy: z = x log(x / y).",
)

special_kl_div = elementwise(
    "special_kl_div", scipy_function("kl_div", 2), lambda x, y: log(x / y), lambda x, y: 1.0 - x / y,
    domain=(POSITIVE, POSITIVE), doc="Term of a Kullback–Leibler divergence: z = x log(x / y) − x + y.",
)

special_huber = elementwise(
    "special_huber", scipy_function("huber", 2),
    lambda x, y: where(le(abs(y), x), 0.0, abs(y) - x), lambda x, y: clamp(y, -x, x),
    domain=(Interval(0.6, 1.4), Interval(-3.0, 3.0)),
    doc="Huber's loss of the residual y: y² / 2 up to the threshold x, and linear beyond.",
)

special_pseudo_huber = elementwise(
    "special_pseudo_huber", scipy_function("pseudo_huber", 2),
    lambda x, y: square(y * y / (hypot(x, y) + x)) / hypot(x, y), lambda x, y: x * y / hypot(x, y),
    domain=(POSITIVE, REAL), doc="Smooth form of Huber's loss: z = x² (√(1 + (y/x)²) − 1).",
)

special_exp10 = elementwise(
    "special_exp10", scipy_function("exp10"), lambda z: 2.302585092994046 * z, domain=(REAL,), doc="z = 10ˣ.",
)

special_cosm1 = elementwise(
    "special_cosm1", scipy_function("cosm1"), lambda x: -sin(x), domain=(REAL,),
    doc="z = cos(x) − 1, accurate near 0.",
)

special_sindg = elementwise(
    "special_sindg", scipy_function("sindg"), lambda x: DEGREE * special_cosdg(x), domain=(Interval(-80.0, 80.0),),
    doc="Sine of an angle in degrees.",
)

special_cosdg = elementwise(
    "special_cosdg", scipy_function("cosdg"), lambda x: -DEGREE * special_sindg(x), domain=(Interval(-80.0, 80.0),),
    doc="Cosine of an angle in degrees.",
)

special_tandg = elementwise(
    "special_tandg", scipy_function("tandg"), lambda z: DEGREE * (1.0 + square(z)), domain=(Interval(-70.0, 70.0),),
    doc="Tangent of an angle in degrees.",
)

special_cotdg = elementwise(
    "special_cotdg", scipy_function("cotdg"), lambda z: -DEGREE * (1.0 + square(z)), domain=(Interval(20.0, 160.0),),
    doc="Cotangent of an angle in degrees.",
)

special_powm1 = elementwise(
    "special_powm1", scipy_function("powm1", 2),
    lambda x, y, z: y * (z + 1.0) / x, lambda x, z: log(x) * (z + 1.0),
    domain=(POSITIVE, REAL), doc="z = xʸ − 1, accurate near 0.",
)


def _by_power(log_x: Any, power: Any) -> Any:
    """∂/∂λ of (x^λ − 1)/λ = L (e^{λL} − 1)/(λL), where L = log x: also at λ = 0."""
    return square(log_x) * exprel_slope(power * log_x)


special_boxcox = elementwise(
    "special_boxcox", scipy_function("boxcox", 2),
    lambda x, y: exp((y - 1.0) * log(x)), lambda x, y: _by_power(log(x), y),
    domain=(POSITIVE, POWER), doc="Box and Cox's power: z = (xʸ − 1) / y, and log(x) for y = 0.",
)

special_boxcox1p = elementwise(
    "special_boxcox1p", scipy_function("boxcox1p", 2),
    lambda x, y: exp((y - 1.0) * log1p(x)), lambda x, y: _by_power(log1p(x), y),
    domain=(POSITIVE, POWER), doc="Box and Cox's power of 1 + x.",
)

special_inv_boxcox = elementwise(
    "special_inv_boxcox", scipy_function("inv_boxcox", 2),
    lambda y, z: exp((1.0 - y) * log(z)), lambda y, z: -_by_power(log(z), y) * exp((1.0 - y) * log(z)),
    domain=(POSITIVE, POWER), doc="Inverse of `special_boxcox`: z = (1 + x y)^(1/y), and eˣ for y = 0.",
)

special_inv_boxcox1p = elementwise(
    "special_inv_boxcox1p", scipy_function("inv_boxcox1p", 2),
    lambda y, z: exp((1.0 - y) * log1p(z)), lambda y, z: -_by_power(log1p(z), y) * exp((1.0 - y) * log1p(z)),
    domain=(POSITIVE, POWER), doc="Inverse of `special_boxcox1p`.",
)
