"""SciPy's entropies, losses, Box and Cox's powers, and trigonometry in degrees."""

from __future__ import annotations

import math
from typing import Any

from ..core.domain import POSITIVE, REAL, Interval
from ..core.op import elementwise
from ..pointwise.arithmetic import square
from ..pointwise.comparison import le
from ..pointwise.elementary import exp, hypot, log, log1p, sin
from ..pointwise.selection import abs, clamp, where
from .integrals import exprel_slope
from .scipys import scipy_function

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
