"""Complex numbers as length and angle."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.batching import elementwise as broadcasting
from ..core.domain import NONZERO
from ..core.op import ADJOINT, elementwise, general, is_complex, ready
from ..shapes.parts import complex, dot_part
from ..shapes.shape import cases_of, sum_to
from .comparison import eq
from .elementary import cos, sin
from .selection import abs, sgn, where


def _angle_slope(x: Any) -> Any:
    """i x / |x|², the direction in which the angle grows and how fast; 0 for real numbers, and at 0."""
    if not is_complex(x):
        return 0.0
    at_zero = eq(x, 0.0)
    return where(at_zero, 0.0, 1j * sgn(x) / where(at_zero, 1.0, abs(x)))


def _angle(x: Any) -> Any:
    z = np.angle(x)
    return z.astype(x.dtype) if getattr(x, "dtype", z.dtype).kind == "f" else z


angle = elementwise(
    "angle", _angle, lambda x: _angle_slope(x), numpy=(np.angle,), complex=ADJOINT, domain=(NONZERO,),
    doc="Angle of a complex number, in [−π, π]; 0 or π for a real one.  The gradient at 0 is 0.",
)


def _polar(x: Any, y: Any) -> Any:
    if is_complex(ready(x)) or is_complex(ready(y)):
        raise RuntimeError("polar takes real numbers, a length and an angle")
    return np.asarray(complex(x * np.cos(y), x * np.sin(y)))[()]


def _turn(y: Any) -> Any:
    """exp(iy) for real y."""
    return complex(cos(y), sin(y))


def _polar_jvp(x: Any, y: Any, z: Any, x_dot: Any, y_dot: Any) -> Any:
    forward = 0.0 if x_dot is None else _turn(y) * x_dot
    return forward + (0.0 * z if y_dot is None else 1j * z * y_dot)


polar = general(
    "polar", _polar,
    lambda g, y, x_shape: sum_to(dot_part(_turn(y), g), shape=x_shape),
    lambda g, z, y_shape: sum_to(dot_part(1j * z, g), shape=y_shape),
    jvp=_polar_jvp, complex=ADJOINT,
    cases=cases_of(([(2, 3), (2, 3)], {}), ([(3,), (2, 1)], {}), ([(), ()], {})), batch=broadcasting,
    doc="The complex number of length x and angle y: z = x exp(iy).",
)
