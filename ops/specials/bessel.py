"""Bessel and Airy functions.

Derivatives lead to the neighbouring orders (NIST Digital Library of Mathematical Functions, 10.6 and 10.29); by the
order itself nothing can be differentiated.
"""

from __future__ import annotations

from typing import Any

from ..core.domain import POSITIVE, REAL, Interval
from ..core.op import composite, elementwise, ready
from ..pointwise.selection import sign
from .scipys import NotDifferentiated, scipy_function

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
