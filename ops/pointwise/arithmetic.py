"""Sums, products, quotients and powers."""

from __future__ import annotations

import math
import operator
from functools import cache
from typing import Any

import numpy as np

from ..core.differentiate import chain_product
from ..core.domain import NONZERO, POSITIVE, REAL, Interval
from ..core.hints import Hints
from ..core.lane import Instruction, Math, Via
from ..core.op import HOLOMORPHIC, elementwise, is_complex
from .comparison import eq, floor_divide, isfinite, logical_and, logical_not
from .elementary import log, sqrt
from .selection import trunc, where

DEGREE = 0.017453292519943295
MOST_ASKED = 1 << 18
"""NumPy is asked what it does of no more numbers."""


def _pow_partial(y: Any, power: Any) -> Any:
    """y x^(y−1), and 0 where y = 0 and x is 0, nan or so small that 1/x overflows.

    At other x the product is 0 there by itself, and its derivative 1/x with respect to y is kept.
    """
    return where(logical_and(eq(y, 0.0), logical_not(isfinite(power))), 0.0, y * power)


def _inverse(y: Any) -> Any:
    """1/y, infinite for Python's 0 too, as NumPy divides by it."""
    return math.copysign(math.inf, y) if type(y) in (float, int, bool) and not y else 1.0 / y


add = elementwise(
    "add", operator.add, lambda g: g, lambda g: g,
    numpy=(np.add,), symbol="add", lane=Instruction("fadd"), complex=HOLOMORPHIC,
    hints=Hints(neutral={0: -0.0, 1: -0.0}, growth="sum"), domain=(REAL, REAL),
    doc="Sum, elementwise: z = x + y.",
)

sub = elementwise(
    "sub", operator.sub, lambda g: g, lambda g: neg(g),
    node=lambda number: "SubBackward0" if number != 0 else "RsubBackward1",
    numpy=(np.subtract,), symbol="sub", lane=Instruction("fsub"), complex=HOLOMORPHIC,
    hints=Hints(neutral={1: 0.0}, growth="sum"), domain=(REAL, REAL),
    doc="Difference, elementwise: z = x − y.",
)

mul = elementwise(
    "mul", operator.mul, lambda y: y, lambda x: x,
    numpy=(np.multiply,), symbol="mul", lane=Instruction("fmul"), complex=HOLOMORPHIC,
    hints=Hints(neutral={0: 1.0, 1: 1.0}, growth="product"), domain=(REAL, REAL),
    doc="Product, elementwise: z = x y.",
)

div = elementwise(
    "div", operator.truediv, _inverse, lambda x, y: -(x / y) / y,
    numpy=(np.true_divide,), symbol="truediv", lane=Instruction("fdiv"), complex=HOLOMORPHIC,
    hints=Hints(neutral={1: 1.0}), domain=(REAL, NONZERO),
    doc="Quotient, elementwise: z = x / y.  The result is not kept for the gradient, so it may be changed in place.",
)

neg = elementwise(
    "neg", operator.neg, lambda g: neg(g),
    numpy=(np.negative,), symbol="neg", lane=Instruction("fneg"), complex=HOLOMORPHIC,
    hints=Hints(involution=True, growth="none"), domain=(REAL,),
    doc="Negative, elementwise: z = −x.",
)

positive = elementwise(
    "positive", np.positive, lambda g: g, symbol="pos", node="AliasBackward0", lane=Via(lambda x: x * 1.0),
    complex=HOLOMORPHIC, domain=(REAL,), doc="The same number: z = +x.",
)

def _as_base(x: Any, z: Any) -> Any:
    """The base of a power, whose logarithm is complex where the power is; operands but plain numbers are already."""
    return complex(x) if isinstance(x, (int, float)) and is_complex(z) else x


def _pow(x: Any, y: Any) -> Any:
    """x ** y, of an array without axes as of its number: squares of truth values are int64 there, int8 in arrays.

    And of two numbers, of which none has axes, −∞ to the power of ½ is ∞, while arrays take square roots for that.
    """
    if type(x) is np.ndarray and not x.ndim:
        x = x[()]
    if type(y) is np.ndarray and not y.ndim and not np.ndim(x):
        y = y[()]
    return x**y


def _power_below(x: Any, y: Any) -> Any:
    """x^(y−1), the root where y is 3/2: NumPy's operator takes it for arrays, and kernels do not know what has axes."""
    if is_complex(x) or is_complex(y):
        return x ** (y - 1.0)
    if type(y) in (float, int):
        return sqrt(x) if y == 1.5 else x ** (y - 1.0)
    return power_of_number(x, y - 1.0)


def _power_or_root(x: Any, y: Any) -> Any:
    """A power as kernels compute it: the square root where NumPy takes that for a power of ½ (of −∞ it is nan)."""
    if not hasattr(x, "shape") or not hasattr(y, "shape"):  # a plain number
        return None
    if x.dtype not in (np.float64, np.float32) or not x.shape or not _takes_roots(x.shape, y.shape):
        return None
    return _root_or_power(x, y)


def _root_or_power(x: Any, y: Any) -> Any:
    is_half = eq(y, 0.5)
    return where(is_half, sqrt(where(is_half, x, 1.0)), general_power(x, y))


@cache
def _takes_roots(base: tuple[int, ...], exponent: tuple[int, ...]) -> bool:
    """Whether NumPy takes square roots for powers of ½ of arrays of such shapes: where it repeats the exponent.

    That depends on what it copies before it computes, and so on lengths; one exponent is always repeated.
    """
    if math.prod(exponent) != 1 and math.prod(np.broadcast_shapes(base, exponent)) > MOST_ASKED:
        return False
    if math.prod(exponent) == 1:
        base, exponent = (tuple([min(n, 2) for n in shape]) for shape in (base, exponent))
    with np.errstate(invalid="ignore"):
        return bool(np.isnan(_pow(np.full(base, -np.inf), np.full(exponent, 0.5))).all())


def _power_node(number: int | None) -> str:
    return {1: "PowBackward0", None: "PowBackward1", 0: "PowBackward2"}[number]


pow = elementwise(
    "pow", _pow,
    lambda x, y: _pow_partial(y, _power_below(x, y)),
    lambda x, y, z: where(logical_and(eq(x, 0.0), isfinite(z)), 0.0, z * log(_as_base(x, z))),
    node=_power_node, numpy=(np.power,), symbol="pow", lane=Math("pow"), complex=HOLOMORPHIC,
    hints=Hints(
        neutral={1: 1.0}, steps=lambda s, x, y: s.power(x, y), made_of=_power_or_root,
        alarm=lambda x, y: x * x ** (y - 1.0), growth="power", raises=slice(1, 2), raises_of_whole=True,
    ),
    domain=(POSITIVE, REAL),
    doc="Power, elementwise: z = x^y.  The gradient with respect to x is 0 where y = 0, whatever x is.",
)

def _general_power(x: Any, y: Any) -> Any:
    if is_complex(x) or is_complex(y):
        return np.power(x, y)
    return np.float_power(x, y).astype(np.result_type(x, y), copy=False)


general_power = elementwise(
    "general_power", _general_power,
    lambda x, y: _pow_partial(y, general_power(x, y - 1.0)),
    lambda x, y, z: where(logical_and(eq(x, 0.0), isfinite(z)), 0.0, z * log(_as_base(x, z))),
    node="PowBackward0", lane=Math("pow"), complex=HOLOMORPHIC,
    hints=Hints(
        steps=lambda s, x, y: s.general_power(x, y), alarm=lambda x, y: x * general_power(x, y - 1.0),
        growth="power",
    ),
    domain=(POSITIVE, REAL),
    doc="Power, elementwise: z = x^y, without the short ways of NumPy's operator.",
)

def _power_of_number(x: Any, y: Any) -> Any:
    with np.errstate(invalid="ignore"):
        root = np.sqrt(np.where(np.equal(y, 0.5), x, 1.0))
    return np.where(np.equal(y, 0.5), root, np.power(x, y))[()]


power_of_number = elementwise(
    "power_of_number", lambda x, y: np.power(x, y) if not (np.ndim(x) or np.ndim(y)) else _power_of_number(x, y),
    lambda x, y: _pow_partial(y, power_of_number(x, y - 1.0)),
    lambda x, y, z: where(logical_and(eq(x, 0.0), isfinite(z)), 0.0, z * log(x)),
    node=_power_node, lane=Via(_root_or_power),
    hints=Hints(
        alarm=lambda x, y: x * general_power(x, y - 1.0), growth="power", raises=slice(1, 2), raises_of_whole=True
    ),
    domain=(POSITIVE, REAL),
    doc="Power of real numbers: z = x^y, as `np.power` computes it of two without axes: the root where y is ½.",
)

square = elementwise(
    "square", np.square, lambda x: 2.0 * x,
    node="PowBackward0", lane=Via(lambda x: x * x), complex=HOLOMORPHIC, domain=(REAL,), hints=Hints(growth="power"),
    doc="Square, elementwise: z = x².",
)

reciprocal = elementwise(
    "reciprocal", np.reciprocal, lambda z: -z * z,
    lane=Via(lambda x: 1.0 / x), complex=HOLOMORPHIC, domain=(NONZERO,),
    doc="Reciprocal, elementwise: z = 1 / x.",
)

remainder = elementwise(
    "remainder", np.remainder, lambda g: g, lambda x, y: -floor_divide(x, y),
    node=lambda number: f"RemainderBackward{int(number != 1)}",
    symbol="mod", domain=(Interval(4.2, 4.8), Interval(1.65, 2.05)),
    doc="Remainder of the division rounded down: z = x − y ⌊x / y⌋, with the sign of y.",
)

fmod = elementwise(
    "fmod", np.fmod, lambda g: g, lambda x, y: -trunc(x / y),
    node=lambda number: f"FmodBackward{int(number != 1)}",
    lane=Math("fmod"), domain=(Interval(-4.8, -4.2), Interval(1.65, 2.05)),
    doc="Remainder of the division rounded towards zero, with the sign of x.",
)

deg2rad = elementwise(
    "deg2rad", np.deg2rad, lambda: DEGREE, node="Deg2RadBackward0", numpy=(np.radians,),
    lane=Via(lambda x: x * DEGREE), domain=(REAL,), doc="Degrees to radians: z = x π / 180.",
)

rad2deg = elementwise(
    "rad2deg", np.rad2deg, lambda: 1.0 / DEGREE, node="Rad2DegBackward0", numpy=(np.degrees,),
    lane=Via(lambda x: x * (1.0 / DEGREE)), domain=(REAL,), doc="Radians to degrees: z = 180 x / π.",
)

chain_mul = elementwise(
    "chain_mul", chain_product, lambda y: y, lambda x: x,
    node="MulBackward0", lane=Via(lambda x, y: where(eq(x, 0.0), 0.0, x * y)),
    hints=Hints(neutral={0: 1.0, 1: 1.0}, steps=lambda s, x, y: s.chain_product(x, y), growth="product"),
    complex=HOLOMORPHIC, domain=(NONZERO, REAL),
    doc="""Product of the chain rule: z = x y, and 0 where the adjoint x is 0 whatever y is.

    What does not influence the output has no influence, also where the partial is infinite or
    nan: this is what keeps ``where(c, f(x), x)`` clean of the branch that was not taken.
    """,
)
