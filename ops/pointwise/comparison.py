"""Comparisons and logic: ops whose results are booleans and have no derivative."""

from __future__ import annotations

import operator

import numpy as np

from ..core.hints import Hints
from ..core.lane import Compare, Mask, Via
from ..core.op import plain

lt = plain("lt", operator.lt, numpy=(np.less,), symbol="lt", lane=Compare("<"), doc="x < y, elementwise.")
le = plain("le", operator.le, numpy=(np.less_equal,), symbol="le", lane=Compare("<="), doc="x ≤ y, elementwise.")
gt = plain("gt", operator.gt, numpy=(np.greater,), symbol="gt", lane=Compare(">"), doc="x > y, elementwise.")
ge = plain("ge", operator.ge, numpy=(np.greater_equal,), symbol="ge", lane=Compare(">="), doc="x ≥ y, elementwise.")
eq = plain("eq", np.equal, symbol="eq", lane=Compare("=="), complex=True, doc="x = y, elementwise.")
ne = plain("ne", np.not_equal, symbol="ne", lane=Compare("!="), complex=True, doc="x ≠ y, elementwise.")

logical_and = plain(
    "logical_and", np.logical_and, lane=Mask("and_"), complex=True, doc="x and y, elementwise.",
    hints=Hints(decides={(0, False): 0, (0, True): 1, (1, False): 1, (1, True): 0}),
)
logical_or = plain(
    "logical_or", np.logical_or, lane=Mask("or_"), complex=True, doc="x or y, elementwise.",
    hints=Hints(decides={(0, False): 1, (0, True): 0, (1, False): 0, (1, True): 1}),
)
logical_xor = plain("logical_xor", np.logical_xor, complex=True, doc="Exactly one of x and y, elementwise.")
logical_not = plain("logical_not", np.logical_not, lane=Mask("not_"), complex=True, doc="not x, elementwise.")

bitwise_and = plain("bitwise_and", np.bitwise_and, symbol="and", doc="x & y on integers or booleans.")
bitwise_or = plain("bitwise_or", np.bitwise_or, symbol="or", doc="x | y on integers or booleans.")
bitwise_xor = plain("bitwise_xor", np.bitwise_xor, symbol="xor", doc="x ^ y on integers or booleans.")
bitwise_not = plain("bitwise_not", np.invert, symbol="invert", doc="~x on integers or booleans.")
bitwise_left_shift = plain("bitwise_left_shift", np.left_shift, symbol="lshift", doc="x << y on integers.")
bitwise_right_shift = plain("bitwise_right_shift", np.right_shift, symbol="rshift", doc="x >> y on integers.")

isnan = plain("isnan", np.isnan, lane=Via(lambda x: ne(x, x)), complex=True, doc="Whether x is nan, elementwise.")
isinf = plain(
    "isinf", np.isinf, lane=Via(lambda x: logical_or(eq(x, float("inf")), eq(x, -float("inf")))),
    complex=True, doc="Whether x is infinite, elementwise.",
)
isfinite = plain(
    "isfinite", np.isfinite, lane=Via(lambda x: logical_and(lt(x, float("inf")), gt(x, -float("inf")))),
    complex=True, doc="Whether x is finite, elementwise.",
)
signbit = plain("signbit", np.signbit, doc="Whether the sign bit of x is set, elementwise.")

floor_divide = plain(
    "floor_divide", np.floor_divide, symbol="floordiv", doc="Quotient rounded down, elementwise: ⌊x / y⌋.",
)
gcd = plain("gcd", np.gcd, doc="Greatest common divisor of two integers, elementwise.")
lcm = plain("lcm", np.lcm, doc="Lowest common multiple of two integers, elementwise.")
