"""Gamma and beta functions, complete and incomplete, and the distributions that are made of them.

Derivatives are those of the NIST Digital Library of Mathematical Functions, chapters 5 and 8.
"""

from __future__ import annotations

from typing import Any

from ..core.domain import POSITIVE, Interval
from ..core.op import elementwise
from ..pointwise.elementary import exp, log, log1p
from .rarer import xlog1py
from .scipys import NotDifferentiated, scipy_function
from .usual import digamma, lgamma, xlogy

LOG_PI = 1.1447298858494002
SHAPE = Interval(0.7, 3.0)
QUANTILE = Interval(0.1, 0.9)


def _log_gamma_density(a: Any, x: Any) -> Any:
    """log(xᵃ⁻¹ e⁻ˣ / Γ(a)): the density of the gamma distribution (DLMF 8.8.13)."""
    return xlogy(a - 1.0, x) - x - lgamma(a)


def _log_beta_density(a: Any, b: Any, x: Any) -> Any:
    """log(xᵃ⁻¹ (1 − x)ᵇ⁻¹ / B(a, b)): the density of the beta distribution (DLMF 8.17.20)."""
    return xlogy(a - 1.0, x) + xlog1py(b - 1.0, -x) - special_betaln(a, b)


def _t_density(df: Any, t: Any) -> Any:
    """The density of Student's distribution."""
    scale = lgamma(0.5 * df + 0.5) - lgamma(0.5 * df) - 0.5 * (log(df) + LOG_PI)
    return exp(scale - 0.5 * (df + 1.0) * log1p(t * t / df))


special_gamma = elementwise(
    "special_gamma", scipy_function("gamma"), lambda x, z: z * digamma(x), domain=(POSITIVE,),
    doc="The gamma function.",
)

special_rgamma = elementwise(
    "special_rgamma", scipy_function("rgamma"), lambda x, z: -z * digamma(x), domain=(POSITIVE,),
    doc="z = 1 / Γ(x); its derivative is nan where Γ has a pole.",
)

special_loggamma = elementwise(
    "special_loggamma", scipy_function("loggamma"), lambda x: digamma(x), domain=(POSITIVE,),
    doc="Principal branch of log Γ(x), of real numbers: nan below 0.",
)

special_gammasgn = elementwise(
    "special_gammasgn", scipy_function("gammasgn"), lambda: 0.0, domain=(POSITIVE,), doc="Sign of the gamma function.",
)

special_beta = elementwise(
    "special_beta", scipy_function("beta", 2),
    lambda x, y, z: z * (digamma(x) - digamma(x + y)), lambda x, y, z: z * (digamma(y) - digamma(x + y)),
    domain=(POSITIVE, POSITIVE), doc="z = Γ(x) Γ(y) / Γ(x + y).",
)

special_betaln = elementwise(
    "special_betaln", scipy_function("betaln", 2),
    lambda x, y: digamma(x) - digamma(x + y), lambda x, y: digamma(y) - digamma(x + y),
    domain=(POSITIVE, POSITIVE), doc="z = log |B(x, y)|.",
)

special_poch = elementwise(
    "special_poch", scipy_function("poch", 2),
    lambda x, y, z: z * (digamma(x + y) - digamma(x)), lambda x, y, z: z * digamma(x + y),
    domain=(POSITIVE, POSITIVE), doc="Rising factorial: z = Γ(x + y) / Γ(x).",
)

special_binom = elementwise(
    "special_binom", scipy_function("binom", 2),
    lambda x, y, z: z * (digamma(x + 1.0) - digamma(x - y + 1.0)),
    lambda x, y, z: z * (digamma(x - y + 1.0) - digamma(y + 1.0)),
    domain=(Interval(2.2, 4.0), Interval(0.2, 1.8)),
    doc="Binomial coefficient: z = Γ(x + 1) / (Γ(y + 1) Γ(x − y + 1)).",
)

special_gammainc = elementwise(
    "special_gammainc", scipy_function("gammainc", 2), NotDifferentiated("gammainc", "first argument a"),
    lambda x, y: exp(_log_gamma_density(x, y)),
    domain=(SHAPE, POSITIVE), doc="Lower incomplete gamma function, regularised: z = P(x, y).",
)

special_gammaincc = elementwise(
    "special_gammaincc", scipy_function("gammaincc", 2), NotDifferentiated("gammaincc", "first argument a"),
    lambda x, y: -exp(_log_gamma_density(x, y)),
    domain=(SHAPE, POSITIVE), doc="Upper incomplete gamma function, regularised: z = Q(x, y).",
)

special_gammaincinv = elementwise(
    "special_gammaincinv", scipy_function("gammaincinv", 2), NotDifferentiated("gammaincinv", "first argument a"),
    lambda x, z: exp(-_log_gamma_density(x, z)),
    domain=(SHAPE, QUANTILE), doc="The z with P(x, z) = y.",
)

special_gammainccinv = elementwise(
    "special_gammainccinv", scipy_function("gammainccinv", 2), NotDifferentiated("gammainccinv", "first argument a"),
    lambda x, z: -exp(-_log_gamma_density(x, z)),
    domain=(SHAPE, QUANTILE), doc="The z with Q(x, z) = y.",
)

special_betainc = elementwise(
    "special_betainc", scipy_function("betainc", 3),
    NotDifferentiated("betainc", "first argument a"), NotDifferentiated("betainc", "second argument b"),
    lambda x, y, u: exp(_log_beta_density(x, y, u)),
    domain=(SHAPE, SHAPE, QUANTILE), doc="Incomplete beta function, regularised: z = I(u; x, y).",
)

special_betaincc = elementwise(
    "special_betaincc", scipy_function("betaincc", 3),
    NotDifferentiated("betaincc", "first argument a"), NotDifferentiated("betaincc", "second argument b"),
    lambda x, y, u: -exp(_log_beta_density(x, y, u)),
    domain=(SHAPE, SHAPE, QUANTILE), doc="z = 1 − I(u; x, y).",
)

special_betaincinv = elementwise(
    "special_betaincinv", scipy_function("betaincinv", 3),
    NotDifferentiated("betaincinv", "first argument a"), NotDifferentiated("betaincinv", "second argument b"),
    lambda x, y, z: exp(-_log_beta_density(x, y, z)),
    domain=(SHAPE, SHAPE, QUANTILE), doc="The z with I(z; x, y) = u.",
)

special_chdtr = elementwise(
    "special_chdtr", scipy_function("chdtr", 2), NotDifferentiated("chdtr", "degrees of freedom"),
    lambda x, y: 0.5 * exp(_log_gamma_density(0.5 * x, 0.5 * y)),
    domain=(POSITIVE, POSITIVE), doc="Distribution function of χ² with x degrees of freedom.",
)

special_chdtrc = elementwise(
    "special_chdtrc", scipy_function("chdtrc", 2), NotDifferentiated("chdtrc", "degrees of freedom"),
    lambda x, y: -0.5 * exp(_log_gamma_density(0.5 * x, 0.5 * y)),
    domain=(POSITIVE, POSITIVE), doc="Survival function of χ² with x degrees of freedom.",
)

special_stdtr = elementwise(
    "special_stdtr", scipy_function("stdtr", 2), NotDifferentiated("stdtr", "degrees of freedom"),
    lambda x, y: _t_density(x, y),
    domain=(POSITIVE, Interval()), doc="Distribution function of Student's t with x degrees of freedom.",
)

special_stdtrit = elementwise(
    "special_stdtrit", scipy_function("stdtrit", 2), NotDifferentiated("stdtrit", "degrees of freedom"),
    lambda x, z: 1.0 / _t_density(x, z),
    domain=(Interval(1.0, 4.0), QUANTILE), doc="Quantile y of Student's t with x degrees of freedom.",
)

special_zeta = elementwise(
    "special_zeta", scipy_function("zeta", 2), NotDifferentiated("zeta", "first argument x"),
    lambda x, y: -x * special_zeta(x + 1.0, y),
    domain=(Interval(1.5, 4.0), Interval(0.5, 4.0)), doc="Hurwitz's zeta function: z = Σₖ (k + y)⁻ˣ (DLMF 25.11.17).",
)
