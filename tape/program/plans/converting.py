"""Numbers of one dtype as those of another: steps for what NumPy's ``astype`` does."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.spec import spec
from .indexmaps import axes_of
from .plan_places import PlanValue

KERNELS = {
    (np.dtype(z), np.dtype(x)): name
    for z, x, name in (
        (np.float64, np.float32, "f64_of_f32"), (np.float32, np.float64, "f32_of_f64"),
        (np.float64, np.int64, "f64_of_int"), (np.float32, np.int64, "f32_of_int"),
        (np.float64, np.bool_, "f64_of_bool"), (np.float32, np.bool_, "f32_of_bool"),
        (np.int64, np.bool_, "int_of_bool"), (np.bool_, np.float64, "bool_of_f64"),
        (np.bool_, np.float32, "bool_of_f32"), (np.bool_, np.int64, "bool_of_int"),
    )
}  # fmt: skip
"""By dtypes of z and x, the kernel of `tape.jit.sweeps.astype`."""


def castable(x: np.dtype[Any], z: np.dtype[Any]) -> bool:
    """Whether there are steps for numbers of dtype x as those of dtype z; the imaginary part is not left away."""
    x_kind, z_kind = x.kind, z.kind
    if x == z:
        return True
    if z_kind == "c":
        part = real_of(z)
        return castable(real_of(x) if x_kind == "c" else x, part)
    return x_kind != "c" and (z, x) in KERNELS


def real_of(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of the parts of complex numbers."""
    return np.dtype(np.float32 if dtype in (np.complex64, np.float32) else np.float64)


def converted(plan: Any, z: PlanValue, x: PlanValue) -> PlanValue:
    """Steps that put the numbers of x, as those of its own dtype, into z, which has the same shape."""
    if z.spec.dtype.kind != "c":
        _convert(plan, z, x)
        return z
    part = real_of(z.spec.dtype)
    if x.spec.dtype.kind == "c":
        shape, own = (*x.spec.shape, 2), real_of(x.spec.dtype)
        _convert(
            plan,
            z._replace(strides=(*z.strides, part.itemsize), spec=spec(shape, part)),
            x._replace(strides=(*x.strides, own.itemsize), spec=spec(shape, own)),
        )
        return z
    plan.fill(z)
    _convert(plan, z._replace(spec=spec(z.spec.shape, part)), x)
    return z


def _convert(plan: Any, z: PlanValue, x: PlanValue) -> None:
    """The same for real numbers; those of one dtype are copied."""
    if z.spec.dtype == x.spec.dtype:
        plan.place(z, x)
        return
    kernel = KERNELS[z.spec.dtype, x.spec.dtype]
    axes = axes_of(z.spec.shape, z.strides, x.strides)
    plan.strided(kernel, z.spec.dtype.itemsize, z.place, x.place, axes, room="sweeps.astype")
