"""Choices and kinks: where, maximum, clamp, abs, and rounding; their values at ties are PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ..core.domain import NONZERO, REAL, TRUTH, Interval
from ..core.hints import Hints
from ..core.lane import Intrinsic, Select, Via
from ..core.op import ADJOINT, HOLOMORPHIC, Op, elementwise
from ..shapes.parts import conj, real
from .comparison import eq, ge, gt, isfinite, isnan, le, logical_and, logical_or, lt

where = elementwise(
    "where", lambda condition, x, y: np.asarray(np.where(condition, x, y))[()],
    None, lambda g, condition: where(condition, g, 0.0), lambda g, condition: where(condition, 0.0, g),
    numpy=(np.where,), lane=Select(), complex=HOLOMORPHIC, domain=(TRUTH, REAL, REAL),
    hints=Hints(
        decides={(0, True): 1, (0, False): 2}, steps=lambda s, condition, x, y: s.choose(condition, x, y)
    ),
    doc="""Choice, elementwise: z = x where the condition holds, else y.

    The branch that was not taken gets an exact zero, also where its own value or partial is nan.
    """,
)

abs = elementwise(
    "abs", np.absolute, lambda x: sgn(x), symbol="abs", numpy=(np.fabs,), lane=Intrinsic("fabs"),
    complex=ADJOINT, domain=(NONZERO,),
    doc="Absolute value.  The gradient at 0 is 0.",
)

sign = elementwise(
    "sign", np.sign, lambda: 0.0,
    lane=Via(lambda x: where(gt(x, 0.0), 1.0, where(lt(x, 0.0), -1.0, where(eq(x, 0.0), 0.0, x)))),
    domain=(NONZERO,), doc="Sign: −1, 0 or 1.  Its gradient is 0 everywhere.",
)


def _turning(g: Any, x: Any, z: Any) -> Any:
    """(g − z Re(conj(z) g)) / |x|: what of a change is at right angles to x; it is its own adjoint."""
    return where(logical_or(eq(x, 0.0), eq(g, 0.0)), 0.0, (g - z * real(g * conj(z))) / abs(x))


sgn = elementwise(
    "sgn", lambda x: np.sign(x), lambda g, x, z: _turning(g, x, z), jvp=lambda x_dot, x, z: _turning(x_dot, x, z),
    hints=Hints(steps=lambda s, x: s.ufunc(np.sign, [x])),
    lane=Via(lambda x: sign(x)), complex=ADJOINT, domain=(NONZERO,),
    doc="Direction: x / |x|, and 0 at 0; for real numbers the sign.  The gradient at 0 is 0.",
)

relu = elementwise(
    "relu", lambda x: np.maximum(x, 0), lambda g, z: where(gt(z, 0.0), g, 0.0),
    lane=Via(lambda x: where(le(x, 0.0), 0.0, x)), domain=(NONZERO,),
    doc="Positive part: z = max(x, 0).  The gradient at 0 is 0.",
)

maximum = elementwise(
    "maximum", np.maximum,
    lambda g, x, y: where(lt(x, y), 0.0, where(eq(x, y), 0.5 * g, g)),
    lambda g, x, y: where(lt(y, x), 0.0, where(eq(x, y), 0.5 * g, g)),
    lane=Via(lambda x, y: where(logical_or(gt(x, y), isnan(x)), x, y)), domain=(REAL, REAL),
    doc="Larger of two numbers, elementwise; nan if either is, with the gradient of both.  "
    "A tie splits the gradient evenly.",
)

minimum = elementwise(
    "minimum", np.minimum,
    lambda g, x, y: where(gt(x, y), 0.0, where(eq(x, y), 0.5 * g, g)),
    lambda g, x, y: where(gt(y, x), 0.0, where(eq(x, y), 0.5 * g, g)),
    lane=Via(lambda x, y: where(logical_or(lt(x, y), isnan(x)), x, y)), domain=(REAL, REAL),
    doc="Smaller of two numbers, elementwise; nan if either is, with the gradient of both.  "
    "A tie splits the gradient evenly.",
)


@cache
def _first_of_zeros(ufunc: Any, dtype: np.dtype[Any]) -> bool:
    """Whether NumPy takes the first of two zeros that are numbers; of arrays that depends on places and lengths."""
    zero = dtype.type(0.0)
    return bool(np.signbit(ufunc(-zero, zero)) > np.signbit(ufunc(zero, -zero)))


def _extreme_of_two(name: str, ufunc: Any, further: Op, as_far: Op, doc: str, of_arrays: Op | None = None) -> Op:
    """Declare the further of two numbers; with `of_arrays`, the op for two in which zeros of both signs may meet."""

    def made_of(x: Any, y: Any) -> Any:
        dtype = x.dtype if hasattr(x, "dtype") else y.dtype
        if any(type(k) in (float, int) and dtype.type(k) != 0.0 for k in (x, y)):
            return None
        if np.shape(x) or np.shape(y) or any(getattr(k, "dtype", dtype) != dtype for k in (x, y)):
            return of_arrays(x, y)  # type: ignore[misc]
        return None if _first_of_zeros(ufunc, dtype) else where(logical_or(further(x, y), isnan(y)), x, y)

    def is_first(x: Any, y: Any) -> Any:
        return logical_or(as_far(x, y), isnan(y))

    return elementwise(
        name, ufunc if of_arrays else lambda x, y: ufunc(x, y),
        lambda g, x, y: where(is_first(x, y), g, 0.0), lambda g, x, y: where(is_first(x, y), 0.0, g),
        lane=Via(lambda x, y: where(is_first(x, y), x, y)) if of_arrays else None,
        hints=Hints(made_of=made_of) if of_arrays else Hints(steps=lambda s, x, y: s.ufunc(ufunc, [x, y])),
        domain=(REAL, REAL), doc=doc,
    )  # fmt: skip


fmax_of_arrays = _extreme_of_two(
    "fmax_of_arrays", np.fmax, gt, ge, "What fmax gives where zeros of both signs may meet: NumPy's loop alone knows."
)
fmin_of_arrays = _extreme_of_two(
    "fmin_of_arrays", np.fmin, lt, le, "What fmin gives where zeros of both signs may meet: NumPy's loop alone knows."
)
fmax = _extreme_of_two(
    "fmax", np.fmax, gt, ge,
    "Larger of two numbers, elementwise; a nan counts as missing.  At a tie the gradient flows to x.", fmax_of_arrays,
)
fmin = _extreme_of_two(
    "fmin", np.fmin, lt, le,
    "Smaller of two numbers, elementwise; a nan counts as missing.  At a tie the gradient flows to x.", fmin_of_arrays,
)

CLIP: Any = getattr(getattr(np, "_core").umath, "clip", np.clip)  # noqa: B009
"""The ufunc behind `np.clip`: at a bound it gives x, with the sign of its zero, where a maximum gives either."""


def _between(x: Any, low: Any, high: Any) -> Any:
    """x between two bounds; the second one holds if they contradict each other, and nan is passed on."""
    x = where(logical_or(ge(x, low), isnan(x)), x, low)
    return where(logical_or(le(x, high), isnan(x)), x, high)


def _between_arrays(x: Any, low: Any, high: Any) -> Any:
    """The same with bounds that are arrays: of two zeros the bound's, as NumPy has it there."""
    x = where(logical_or(gt(x, low), isnan(x)), x, low)
    return where(logical_or(lt(x, high), isnan(x)), x, high)


def _clamp(name: str, between: Callable[..., Any], doc: str) -> Op:
    return elementwise(
        name, lambda x, low, high: CLIP(x, low, high),
        lambda g, x, low, high: where(logical_and(ge(x, low), le(x, high)), g, 0.0),
        lambda g, x, low, high: where(logical_and(lt(x, low), lt(low, high)), g, 0.0),
        lambda g, x, low, high: where(logical_or(gt(x, high), ge(low, high)), g, 0.0),
        node="ClampBackward1", lane=Via(between),
        domain=(REAL, Interval(-2.0, -1.0), Interval(1.0, 2.0)),
        hints=Hints(steps=lambda s, x, low, high: s.ufunc(CLIP, [x, low, high])),
        doc=doc,
    )


clamp = _clamp("clamp", _between, "z = min(max(x, low), high).  At a bound the gradient passes to x.")
clamp_to_arrays = _clamp(
    "clamp_to_arrays", _between_arrays, "z = min(max(x, low), high), of bounds that differ from place to place."
)


def _limit_node(number: int | None) -> str:
    return f"ClampBackward{int(number == 1)}"


clamp_min = elementwise(
    "clamp_min", lambda x, low: np.maximum(x, low),
    lambda g, x, low: where(ge(x, low), g, 0.0), lambda g, x, low: where(lt(x, low), g, 0.0),
    node=_limit_node, lane=Via(lambda x, low: maximum(x, low)), domain=(REAL, REAL),
    hints=Hints(steps=lambda s, x, low: s.ufunc(np.maximum, [x, low])),
    doc="z = max(x, low).  At the bound the gradient passes to x.",
)

clamp_max = elementwise(
    "clamp_max", lambda x, high: np.minimum(x, high),
    lambda g, x, high: where(le(x, high), g, 0.0), lambda g, x, high: where(gt(x, high), g, 0.0),
    node=_limit_node, lane=Via(lambda x, high: minimum(x, high)), domain=(REAL, REAL),
    hints=Hints(steps=lambda s, x, high: s.ufunc(np.minimum, [x, high])),
    doc="z = min(x, high).  At the bound the gradient passes to x.",
)

masked_fill = elementwise(
    "masked_fill", lambda x, mask, value: np.asarray(np.where(mask, value, x))[()],
    lambda g, mask: where(mask, 0.0, g), None, lambda g, mask: where(mask, g, 0.0),
    lane=Via(lambda x, mask, value: where(mask, value, x)),
    complex=HOLOMORPHIC, domain=(REAL, TRUTH, REAL), lies="rows",
    hints=Hints(steps=lambda s, x, mask, value: s.choose(mask, value, x)),
    doc="x with the value put where the mask holds.",
)

copysign = elementwise(
    "copysign", np.copysign, lambda x, z: where(eq(x, 0.0), 0.0, z / x), lambda: 0.0,
    node=lambda number: f"CopysignBackward{int(number == 1)}", lane=Intrinsic("copysign"), domain=(NONZERO, NONZERO),
    doc="|x| with the sign of y.  The gradient with respect to x is 0 at 0.",
)


numpy_spacing = elementwise(
    "numpy_spacing", np.spacing, lambda: 0.0, domain=(NONZERO,),
    hints=Hints(steps=lambda s, x: s.ufunc(np.spacing, [x])),
    doc="""Distance to the next float away from 0, with the sign of x.

    It is constant between powers of 2, and its gradient 0.
    """,
)

numpy_nextafter = elementwise(
    "numpy_nextafter", np.nextafter, lambda: 1.0, lambda: 0.0, domain=(NONZERO, NONZERO),
    hints=Hints(steps=lambda s, x, y: s.ufunc(np.nextafter, [x, y])),
    doc="Next float after x towards y: among real numbers that is x, and the gradient passes to it.",
)


def _nan_to_num(x: Any, *, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    return np.nan_to_num(x, True, 0.0 if nan is None else nan, posinf, neginf)


def _nan_to_num_by_records(x: Any, nan: Any, posinf: Any, neginf: Any) -> Any:
    """`np.nan_to_num` of real numbers in ops, by plain numbers."""
    limits = np.finfo(x.dtype)
    nan = 0.0 if nan is None else nan
    posinf, neginf = limits.max if posinf is None else posinf, limits.min if neginf is None else neginf
    if not NUMBERS.issuperset(map(type, (nan, posinf, neginf))):
        return None
    finite = where(eq(x, np.inf), float(posinf), where(eq(x, -np.inf), float(neginf), x))
    return where(isnan(x), float(nan), finite)


NUMBERS = frozenset({float, int, np.float64, np.float32})

nan_to_num = elementwise(
    "nan_to_num", _nan_to_num,
    lambda g, x: where(isfinite(x), g, 0.0),
    numpy=(np.nan_to_num,), domain=(REAL,), hints=Hints(made_of=_nan_to_num_by_records),
    doc="nan and infinities replaced by numbers, which are constants.  The result is always a copy.",
)

floor = elementwise(
    "floor", np.floor, lambda: 0.0, lane=Intrinsic("floor"), domain=(Interval(avoid=tuple(range(-3, 4))),),
    doc="Largest integer that is not greater.  The gradient is 0 everywhere.",
)

ceil = elementwise(
    "ceil", np.ceil, lambda: 0.0, lane=Intrinsic("ceil"), domain=(Interval(avoid=tuple(range(-3, 4))),),
    doc="Smallest integer that is not less.  The gradient is 0 everywhere.",
)

trunc = elementwise(
    "trunc", np.trunc, lambda: 0.0, numpy=(np.fix,), lane=Intrinsic("trunc"),
    domain=(Interval(avoid=tuple(range(-3, 4))),),
    doc="Integer part, towards zero.  The gradient is 0 everywhere.",
)

round = elementwise(
    "round", lambda x, *, decimals=0: np.round(x, decimals), lambda: 0.0,
    node=lambda decimals: "RoundBackward0" if decimals == 0 else "RoundBackward1",
    numpy=(np.round, np.around), scipy=("round",),
    hints=Hints(steps=lambda s, x, decimals: None if decimals or x.spec.dtype.kind != "f" else s.ufunc(np.rint, [x])),
    domain=(Interval(avoid=tuple(k / 2 for k in range(-7, 8))),),
    doc="Nearest number with that many decimals, halves to even.  The gradient is 0 everywhere.",
)

frac = elementwise(
    "frac", lambda x: x - np.trunc(x), lambda g: g, lane=Via(lambda x: x - trunc(x)),
    domain=(Interval(avoid=tuple(range(-3, 4))),), doc="Fractional part: z = x − trunc(x).",
)

rint = elementwise(
    "rint", np.rint, lambda: 0.0, node="RoundBackward0", lane=Intrinsic("nearbyint"),
    domain=(Interval(avoid=tuple(k / 2 for k in range(-7, 8))),),
    doc="Nearest integer, halves to even.  The gradient is 0 everywhere.",
)
