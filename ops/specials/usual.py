"""Special functions with a name of PyTorch's; those of SciPy are imported when they are first evaluated."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.domain import POSITIVE, REAL, UNIT, Interval
from ..core.hints import Hints
from ..core.lane import Math, Via
from ..core.op import HOLOMORPHIC, Op, composite, elementwise, ready
from ..core.registry import REGISTRY
from ..pointwise.arithmetic import square
from ..pointwise.comparison import eq, ge, gt, isinf, le, logical_and, logical_not, lt, ne
from ..pointwise.elementary import cos, exp, exp2, log, log1p, negated, sigmoid, sin, tan
from ..pointwise.selection import abs, maximum, relu, rint, sign, where
from . import accurate
from .scipys import scipy_function

TWO_OVER_SQRT_PI = 1.1283791670955126
SQRT_PI_OVER_TWO = 0.8862269254527580


def _polygamma(x: Any, *, n: int = 1) -> Any:
    from scipy.special import polygamma

    x = np.asarray(x)
    return polygamma(n, x).astype(x.dtype if x.dtype.kind == "f" else np.float64)[()]


erf = elementwise(
    "erf", scipy_function("erf"), lambda x: TWO_OVER_SQRT_PI * exp(-square(x)),
    hints=Hints(lanes_first=True), lane=Math("erf"), complex=HOLOMORPHIC, domain=(REAL,),
    doc="Error function: z = 2/√π ∫₀ˣ exp(−t²) dt.",
)

erfc = elementwise(
    "erfc", accurate.erfc, lambda x: -TWO_OVER_SQRT_PI * exp(-square(x)),
    hints=Hints(lanes_first=True), lane=Math("erfc"), scipy=("erfc",), complex=HOLOMORPHIC, domain=(REAL,),
    doc="Complementary error function: z = 1 − erf(x), accurate in the right tail.",
)

erfinv = elementwise(
    "erfinv", scipy_function("erfinv"), lambda z: SQRT_PI_OVER_TWO * exp(square(z)), domain=(UNIT,),
    doc="Inverse of the error function on (−1, 1).",
)



def _uncorrected(name: str, rule: Callable[..., Any], domain: Interval) -> Op:
    """A function of SciPy's as it is, which compiled programs correct by other records."""
    return elementwise(
        f"uncorrected_{name}", lambda x: accurate.special(name)(x), rule, domain=(domain,),
        hints=Hints(steps=lambda s, x: s.ufunc(accurate.special(name), [x])),
        doc=f"`scipy.special.{name}` as SciPy computes it, which `ops.specials.accurate` corrects.",
    )  # fmt: skip


_gammaln = _uncorrected("gammaln", lambda x: digamma(x), POSITIVE)
_psi = _uncorrected("psi", lambda x: polygamma(x, n=1), POSITIVE)


def _lgamma_by_records(x: Any) -> Any:
    """`accurate.lgamma`."""
    z = _gammaln(x)
    if x.dtype != np.float64:
        return z
    past_two, past_one = x - 2.0, x - 1.0
    near_two, near_one = le(abs(past_two), 0.5), lt(abs(past_one), 0.5)
    past_one = where(near_one, past_one, 0.0)
    series = accurate.past_two(where(near_one, past_one, where(near_two, past_two, 0.0)))
    return where(near_one, series - log1p(past_one), where(near_two, series, z))


def _digamma_by_records(x: Any) -> Any:
    """`accurate.digamma`."""
    if x.dtype != np.float64:
        return _psi(x)
    beside = x - rint(x)
    turned = logical_and(lt(x, -1.0), ne(beside, 0.0))
    z = _psi(where(turned, 1.0 - x, x))
    return where(turned, z - PI / tan(PI * where(turned, beside, 0.25)), z)


lgamma = elementwise(
    "lgamma", accurate.lgamma, lambda x: digamma(x), scipy=("gammaln",), domain=(POSITIVE,),
    hints=Hints(made_of=_lgamma_by_records), doc="Logarithm of the absolute value of the gamma function.",
)

digamma = elementwise(
    "digamma", accurate.digamma, lambda x: polygamma(x, n=1), scipy=("psi", "digamma"), domain=(POSITIVE,),
    hints=Hints(made_of=_digamma_by_records), doc="Logarithmic derivative of the gamma function.",
)


def _polygamma_by_records(x: Any, n: int) -> Any:
    if n < 1 or x.dtype != np.float64:
        return None
    return (-1.0) ** (n + 1) * math.gamma(n + 1.0) * REGISTRY["special_zeta"](n + 1.0, x)


polygamma = elementwise(
    "polygamma", _polygamma, lambda x, n: polygamma(x, n=n + 1), domain=(Interval(0.5, 4.0),),
    hints=Hints(made_of=_polygamma_by_records),
    doc="The n-th derivative of `digamma`, for n ≥ 1.",
)

xlogy = elementwise(
    "xlogy", scipy_function("xlogy", 2),
    lambda x, y: where(logical_and(eq(x, 0.0), le(y, 0.0)), 0.0, log(y)),
    lambda x, y: where(logical_and(eq(x, 0.0), eq(y, 0.0)), 0.0, x / y),
    node=lambda number: f"XlogyBackward{0 if number is None else number + 1}", hints=Hints(lanes_first=True),
    lane=Via(lambda x, y: where(logical_and(eq(x, 0.0), eq(y, y)), 0.0, x * log(y))),
    domain=(REAL, POSITIVE),
    doc="z = x log(y), and 0 where x = 0 unless y is nan.  The gradient with respect to x at x = y = 0 is 0.",
)


def _share(x: Any, y: Any, z: Any) -> Any:
    """∂ log(eˣ + eʸ)/∂x = 1 / (1 + e^(y−x)); equal infinities: half of +inf each, nothing of −inf."""
    return _even_at_infinity(x, y, z, sigmoid(x - y))


def _share2(x: Any, y: Any, z: Any) -> Any:
    return _even_at_infinity(x, y, z, 1.0 / (1.0 + exp2(y - x)))


def _even_at_infinity(x: Any, y: Any, z: Any, share: Any) -> Any:
    equal = logical_and(isinf(z), eq(x, y))
    return where(logical_and(equal, gt(z, 0.0)), 0.5, where(equal, 0.0, share))


def _logaddexp_lane(x: Any, y: Any) -> Any:
    from_top = log1p(exp(-abs(x - y)))
    return where(eq(x, y), x + 0.6931471805599453, maximum(x, y) + from_top)


logaddexp = elementwise(
    "logaddexp", np.logaddexp,
    lambda x, y, z: _share(x, y, z), lambda x, y, z: _share(y, x, z),
    lane=Via(_logaddexp_lane, heeds_nan=True), domain=(REAL, REAL),
    doc="""Logarithm of a sum of exponentials: z = log(eˣ + eʸ), without overflow.

    Where x = y = −inf the gradient is 0: no finite change of either moves the result (PyTorch: nan).
    """,
)

logaddexp2 = elementwise(
    "logaddexp2", np.logaddexp2,
    lambda x, y, z: _share2(x, y, z), lambda x, y, z: _share2(y, x, z),
    node="Logaddexp2Backward0", domain=(REAL, REAL), doc="z = log₂(2ˣ + 2ʸ), without overflow.",
)

softplus = elementwise(
    "softplus", lambda x: np.logaddexp(x, 0.0), lambda x: sigmoid(x),
    hints=Hints(lanes_first=True), lane=Via(lambda x: relu(x) + log1p(exp(-abs(x))), heeds_nan=True), domain=(REAL,),
    doc="Smooth positive part: z = log(1 + eˣ), without overflow.",
)

logsigmoid = elementwise(
    "logsigmoid", lambda x: -np.logaddexp(negated(x), 0.0),
    lambda x: sigmoid(-x), node="LogSigmoidBackward0", scipy=("log_expit",),
    hints=Hints(lanes_first=True),
    lane=Via(lambda x: -(where(gt(x, 0.0), 0.0, -x) + log1p(exp(-abs(x)))), heeds_nan=True),
    domain=(REAL,),
    doc="Logarithm of the logistic function: z = −log(1 + e⁻ˣ), without overflow.",
)


def _logit_lane(x: Any) -> Any:
    s = 2.0 * (x - 0.5)
    return where(lt(abs(s), 0.4), log1p(s) - log1p(-s), log(x) - log1p(-x))


logit = elementwise(
    "logit", accurate.logit, lambda x: where(logical_and(ge(x, 0.0), le(x, 1.0)), 1.0 / (x * (1.0 - x)), math.nan),
    lane=Via(_logit_lane), scipy=("logit",), domain=(Interval(0.05, 0.95),),
    doc="Inverse of the logistic function: z = log(x / (1 − x)).  Outside of [0, 1] it is nan, and so is its slope.",
)


SQRT_TWO_PI = 2.5066282746310002
PI = math.pi


def _over(numerator: Any, x: Any, at_zero: float) -> Any:
    """The quotient by x, with its limit at 0."""
    zero = eq(x, 0.0)
    return where(zero, at_zero, numerator / where(zero, 1.0, x))


sinc = elementwise(
    "sinc", lambda x: np.sinc(x), lambda x, z: _over(cos(PI * x) - z, x, 0.0),
    numpy=(np.sinc,), complex=HOLOMORPHIC, domain=(Interval(avoid=(0.0,)),), doc="z = sin(πx) / (πx), and 1 at 0.",
    hints=Hints(made_of=lambda x: _over(sin(PI * x), PI * x, 1.0)),
)

i0 = elementwise(
    "i0", scipy_function("i0"), lambda x: i1(x), domain=(REAL,),
    doc="Modified Bessel function of the first kind, of order 0.",
)

numpy_i0 = elementwise(
    "numpy_i0", lambda x: np.i0(x), lambda x: i1(x), numpy=(np.i0,), domain=(REAL,),
    doc="`i0` by NumPy's own series, whose digits differ from SciPy's: in half precision nearly all of them.",
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



_ndtr = _uncorrected("ndtr", lambda x: exp(-0.5 * square(x)) / SQRT_TWO_PI, REAL)
_log_ndtr = _uncorrected("log_ndtr", lambda x: 0.7978845608028654 / erfcx(x * -0.7071067811865476), REAL)


def _ndtr_by_records(x: Any) -> Any:
    """`accurate.ndtr`."""
    if x.dtype != np.float64:
        return _ndtr(x)
    in_tail = logical_and(lt(x, -1.0), gt(x, -accurate.FAR))
    tail = where(in_tail, x, -1.0)
    return where(in_tail, accurate.left_tail(tail, erfcx), _ndtr(x))


def _log_ndtr_by_records(x: Any) -> Any:
    """`accurate.log_ndtr`."""
    if x.dtype != np.float64:
        return _log_ndtr(x)
    in_tail = gt(x, 1.0)
    return where(in_tail, log1p(-_ndtr_by_records(where(in_tail, -x, -1.0))), _log_ndtr(x))


ndtr = elementwise(
    "ndtr", accurate.ndtr, lambda x: exp(-0.5 * square(x)) / SQRT_TWO_PI, node="SpecialNdtrBackward0",
    scipy=("ndtr",), domain=(REAL,), hints=Hints(made_of=_ndtr_by_records),
    doc="Distribution function of the normal distribution.",
)

log_ndtr = elementwise(
    "log_ndtr", accurate.log_ndtr, lambda x: 0.7978845608028654 / erfcx(x * -0.7071067811865476),
    node="SpecialLogNdtrBackward0", scipy=("log_ndtr",), domain=(REAL,), hints=Hints(made_of=_log_ndtr_by_records),
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
    node=lambda number: f"SpecialXlog1PyBackward{0 if number is None else number + 1}",
    domain=(REAL, Interval(-0.8, 4.0)),
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
