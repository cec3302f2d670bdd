"""Special functions where SciPy's lose digits: beside the zeros of log Γ, in tails of the normal distribution.

Each takes SciPy's value, and puts another one where that would be off by more than a few units in the last place;
numbers of single precision are computed by SciPy in double precision, and need none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..pointwise.elementary import exp, negated
from ..pointwise.selection import rint

SQRT_HALF = 0.7071067811865476
ONE_LESS_EULER = 0.42278433509846713
"""1 − γ, the slope of log Γ at 2."""
SERIES = (
    0.3224670334241132, 0.0673523010531981, 0.020580808427784546, 0.007385551028673986, 0.0028905103307415234,
    0.001192753911703261, 0.0005096695247430425, 0.00022315475845357939, 9.945751278180853e-05,
    4.492623673813314e-05, 2.050721277567069e-05, 9.439488275268397e-06, 4.374866789907488e-06,
    2.039215753801366e-06, 9.55141213040742e-07, 4.492469198764566e-07, 2.1207184805554665e-07,
    1.0043224823968099e-07, 4.7698101693639804e-08,
    2.2711094608943164e-08, 1.0838659214896955e-08, 5.183475041970047e-09, 2.4836745438024785e-09,
    1.1921401405860912e-09,
)  # fmt: skip
"""(ζ(k) − 1) / k for k ≥ 2: log Γ(2 + t) = (1 − γ) t + Σₖ (−t)ᵏ (ζ(k) − 1) / k (Abramowitz & Stegun 6.1.33)."""
FINE = 2.0**20
FAR = 64.0
"""Numbers below it, rounded to multiples of 1 / `FINE`, have squares that are exact."""


def special(name: str) -> Callable[..., Any]:
    """A function of SciPy, which is imported when it is first wanted."""
    import scipy.special

    return getattr(scipy.special, name)


def corrected(z: Any, x: Any, *parts: tuple[Callable[[Any], Any], Callable[[Any], Any]]) -> Any:
    """z with other values of doubles: for each part (which x, and what of those)."""
    if z.dtype != np.float64:
        return z
    x, z = np.asarray(x, np.float64), np.asarray(z)
    for chosen, values in parts:
        where = chosen(x)
        if where.any():
            z = np.array(z)
            z[where] = values(x[where])
    return z[()]


def past_two(t: Any) -> Any:
    """log Γ(2 + t) for |t| ≤ ½, of an array or of what stands for one."""
    y: Any = 0.0
    for c in reversed(SERIES):
        y = c - t * y
    return t * (ONE_LESS_EULER + t * y)


def lgamma(x: Any) -> Any:
    """log |Γ(x)|; beside 1 and 2, where it is 0, by its series there."""
    return corrected(
        special("gammaln")(x), x,
        (lambda x: np.abs(x - 2.0) <= 0.5, lambda x: past_two(x - 2.0)),
        (lambda x: np.abs(x - 1.0) < 0.5, lambda x: past_two(x - 1.0) - np.log1p(x - 1.0)),
    )  # fmt: skip


def digamma(x: Any) -> Any:
    """ψ(x); of negative numbers by reflection, ψ(x) = ψ(1 − x) − π cot πr with r = x − round(x), which is exact."""
    psi = special("psi")

    def reflected(x: Any) -> Any:
        return psi(1.0 - x) - np.pi / np.tan(np.pi * (x - np.rint(x)))

    return corrected(psi(x), x, (lambda x: (x < -1.0) & (x != np.rint(x)), reflected))


def _bell(x: Any, scale: float) -> Any:
    """exp(−scale x²), by a near number whose square is exact, and the rest; of an array or of what stands for one."""
    near = rint(x * FINE) / FINE
    return exp(-scale * near * near) * exp(-scale * (x - near) * (x + near))


def left_tail(x: Any, erfcx: Callable[[Any], Any]) -> Any:
    """Φ(x) for x < −1: exp(−x²/2) erfcx(−x/√2) / 2."""
    return 0.5 * _bell(x, 0.5) * erfcx(-SQRT_HALF * x)


def erfc(x: Any) -> Any:
    """erfc(x); in the right tail exp(−x²) erfcx(x)."""
    z = special("erfc")(x)
    if z.dtype.kind == "c":
        return z
    return corrected(z, x, (lambda x: (x > 1.0) & (x < FAR), lambda x: _bell(x, 1.0) * special("erfcx")(x)))


def ndtr(x: Any) -> Any:
    """Φ(x); in the left tail by `left_tail`."""
    in_tail = lambda x: (x < -1.0) & (x > -FAR), lambda x: left_tail(x, special("erfcx"))
    return corrected(special("ndtr")(x), x, in_tail)


def log_ndtr(x: Any) -> Any:
    """log Φ(x); in the right tail log(1 − Φ(−x))."""
    return corrected(special("log_ndtr")(x), x, (lambda x: x > 1.0, lambda x: np.log1p(-ndtr(-x))))


def logit(x: Any) -> Any:
    """log(x / (1 − x)); around ½, where it is 0, log(1 + s) − log(1 − s) with s = 2x − 1."""
    s = 2.0 * (x - 0.5)
    near = np.less(np.absolute(s), 0.4)
    middle = np.where(near, s, 0.0)
    return np.where(near, np.log1p(middle) - np.log1p(-middle), np.log(x) - np.log1p(negated(x))).astype(s.dtype)[()]
