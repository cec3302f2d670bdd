"""Gamma and beta functions, complete and incomplete, the distributions made of them, and Bessel functions.

Derivatives are those of the NIST Digital Library of Mathematical Functions, chapters 5 and 8.  Those of Bessel
functions lead to the neighbouring orders (10.6 and 10.29); by the order itself nothing can be differentiated.
"""

from __future__ import annotations

from typing import Any

from ..core.domain import POSITIVE, REAL, Interval
from ..core.op import composite, elementwise, ready
from ..pointwise.elementary import exp, log, log1p
from ..pointwise.selection import sign, trunc
from .scipys import NotDifferentiated, scipy_function
from .usual import digamma, lgamma, xlog1py, xlogy

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


ORDER = Interval(0.1, 2.5)


def _order(name: str) -> NotDifferentiated:
    return NotDifferentiated(name, "order")


special_j0 = elementwise(
    "special_j0", scipy_function("j0"), lambda x: -special_j1(x), domain=(REAL,),
    doc="Bessel function of the first kind, of order 0.",
)

special_j1 = elementwise(
    "special_j1", scipy_function("j1"), lambda x: 0.5 * (special_j0(x) - special_jv(2.0, x)), domain=(REAL,),
    doc="Bessel function of the first kind, of order 1.",
)

special_y0 = elementwise(
    "special_y0", scipy_function("y0"), lambda x: -special_y1(x), domain=(POSITIVE,),
    doc="Bessel function of the second kind, of order 0.",
)

special_y1 = elementwise(
    "special_y1", scipy_function("y1"), lambda x, z: special_y0(x) - z / x, domain=(Interval(0.5, 4.0),),
    doc="Bessel function of the second kind, of order 1.",
)

special_k0 = elementwise(
    "special_k0", scipy_function("k0"), lambda x: -special_k1(x), domain=(POSITIVE,),
    doc="Modified Bessel function of the second kind, of order 0.",
)

special_k1 = elementwise(
    "special_k1", scipy_function("k1"), lambda x, z: -special_k0(x) - z / x, domain=(Interval(0.5, 4.0),),
    doc="Modified Bessel function of the second kind, of order 1.",
)

special_k0e = elementwise(
    "special_k0e", scipy_function("k0e"), lambda x, z: z - special_k1e(x), domain=(POSITIVE,),
    doc="`special_k0` without its decay: z = eˣ K₀(x).",
)

special_k1e = elementwise(
    "special_k1e", scipy_function("k1e"), lambda x, z: z - special_k0e(x) - z / x, domain=(Interval(0.5, 4.0),),
    doc="`special_k1` without its decay: z = eˣ K₁(x).",
)

special_jv = elementwise(
    "special_jv", scipy_function("jv", 2), _order("jv"),
    lambda x, y: 0.5 * (special_jv(x - 1.0, y) - special_jv(x + 1.0, y)),
    domain=(ORDER, Interval(0.5, 4.0)), doc="Bessel function of the first kind, of order x.",
)

special_yv = elementwise(
    "special_yv", scipy_function("yv", 2), _order("yv"),
    lambda x, y: 0.5 * (special_yv(x - 1.0, y) - special_yv(x + 1.0, y)),
    domain=(ORDER, Interval(1.0, 4.0)), doc="Bessel function of the second kind, of order x.",
)

special_yn = composite(
    "special_yn", lambda x, y: special_yv(trunc(ready(x)), y), scipy=("yn",),
    doc="Bessel function of the second kind, of whole order x.",
)

special_iv = elementwise(
    "special_iv", scipy_function("iv", 2), _order("iv"),
    lambda x, y: 0.5 * (special_iv(x - 1.0, y) + special_iv(x + 1.0, y)),
    domain=(ORDER, Interval(0.5, 4.0)), doc="Modified Bessel function of the first kind, of order x.",
)

special_ive = elementwise(
    "special_ive", scipy_function("ive", 2), _order("ive"),
    lambda x, y, z: 0.5 * (special_ive(x - 1.0, y) + special_ive(x + 1.0, y)) - sign(y) * z,
    domain=(ORDER, Interval(0.5, 4.0)), doc="`special_iv` without its growth: z = exp(−|y|) Iₓ(y).",
)

special_kv = elementwise(
    "special_kv", scipy_function("kv", 2), _order("kv"),
    lambda x, y: -0.5 * (special_kv(x - 1.0, y) + special_kv(x + 1.0, y)),
    domain=(ORDER, Interval(1.0, 4.0)), doc="Modified Bessel function of the second kind, of order x.",
)

special_kve = elementwise(
    "special_kve", scipy_function("kve", 2), _order("kve"),
    lambda x, y, z: z - 0.5 * (special_kve(x - 1.0, y) + special_kve(x + 1.0, y)),
    domain=(ORDER, Interval(1.0, 4.0)), doc="`special_kv` without its decay: z = exp(y) Kₓ(y).",
)

special_ai = elementwise(
    "special_ai", scipy_function("airy", part=0), lambda x: special_aip(x), domain=(REAL,), doc="Airy function Ai.",
)

special_aip = elementwise(
    "special_aip", scipy_function("airy", part=1), lambda x: x * special_ai(x), domain=(REAL,),
    doc="Derivative of the Airy function Ai (DLMF 9.2.1).",
)

special_bi = elementwise(
    "special_bi", scipy_function("airy", part=2), lambda x: special_bip(x), domain=(REAL,), doc="Airy function Bi.",
)

special_bip = elementwise(
    "special_bip", scipy_function("airy", part=3), lambda x: x * special_bi(x), domain=(REAL,),
    doc="Derivative of the Airy function Bi.",
)


def _airy(x: Any) -> tuple[Any, ...]:
    """The Airy functions Ai and Bi, each with its derivative: Ai, Ai′, Bi, Bi′."""
    x = ready(x)
    return special_ai(x), special_aip(x), special_bi(x), special_bip(x)


special_airy = composite("special_airy", _airy, scipy=("airy",))
