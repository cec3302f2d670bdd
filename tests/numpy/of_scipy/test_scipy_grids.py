"""Interpolation by SciPy in several dimensions: SciPy's values, derivatives by differences."""

from __future__ import annotations

import numpy as np
import pytest
from differences import check_smooth, slopes
from numpy.testing import assert_allclose
from scipy import interpolate

import tape
from tape import func

rng = np.random.default_rng(0)
LINES = np.array([0.0, 0.4, 1.0, 1.7, 2.5, 3.0]), np.linspace(-1, 1, 6)
Z = np.sin(LINES[0])[:, None] * np.cos(2 * LINES[1]) + 0.1 * rng.normal(size=(6, 6))
AT = np.array([[0.3, -0.5], [1.2, 0.3], [2.2, 0.7]])
X = AT.ravel()
V = np.array([0.3, 0.9, 1.4, 0.8, 0.1])
POINTS = np.concatenate([rng.uniform(-1, 1, (8, 2)), [[-1, -1], [-1, 1], [1.2, -1], [1, 1.3]]])
HEIGHTS = np.sin(POINTS[:, 0] * 2) + POINTS[:, 1]
METHODS = ("linear", "nearest", "slinear", "cubic", "quintic")
SPLINE = interpolate.RegularGridInterpolator(LINES, Z, "cubic")
FILLED = interpolate.RegularGridInterpolator(LINES, Z, bounds_error=False, fill_value=2.0)
BEYOND = interpolate.RegularGridInterpolator([LINES[0][::-1], LINES[1]], Z, bounds_error=False, fill_value=None)
SURFACE = interpolate.RectBivariateSpline(*LINES, Z, kx=2)
TRIANGLES = interpolate.LinearNDInterpolator(POINTS, np.stack([HEIGHTS, HEIGHTS**2], 1))
NEAREST = interpolate.NearestNDInterpolator(POINTS, HEIGHTS)
KERNELS = (
    "thin_plate_spline", "linear", "cubic", "quintic", "multiquadric", "inverse_multiquadric", "inverse_quadratic",
    "gaussian",
)  # fmt: skip
RADIAL = {k: interpolate.RBFInterpolator(POINTS, HEIGHTS, kernel=k, epsilon=1.3, smoothing=0.1) for k in KERNELS}
GRIDS = {m: interpolate.RegularGridInterpolator(LINES, Z, m) for m in METHODS}


def grid(v):
    """Values on a grid that depend on five numbers."""
    return np.tile(np.append(v, v[0] * v[1]), 6).reshape(6, 6) * np.cos(np.arange(6.0))[:, None]


def near(x):
    return x.reshape(3, 2) / 3


def among(v):
    return np.concatenate([v, v**2, v[:2] * 3])


def radial(v, kernel="cubic", smoothing=0.1, **how):
    f = interpolate.RBFInterpolator(POINTS, among(v), kernel=kernel, epsilon=1.3, smoothing=smoothing, **how)
    return (f(AT / 3) ** 2).sum() + v.sum()


CALLS = {
    **{f"at places, {m}": (lambda x, m=m: (GRIDS[m](x.reshape(3, 2)) ** 2).sum() + 0.1 * x.sum(), X) for m in METHODS},
    **{f"of values, {m}": (lambda v, m=m: (interpolate.RegularGridInterpolator(LINES, grid(v), m)(AT) ** 2).sum(), V)
        for m in ("linear", "nearest")},
    "derivatives": (lambda x: (SPLINE(x.reshape(3, 2), nu=(1, 0)) ** 2).sum(), X),
    "filled": (lambda x: (FILLED(1.9 * x.reshape(3, 2)) ** 2).sum() + x[0], X),
    "descending": (lambda x: (BEYOND(1.9 * x.reshape(3, 2)) ** 2).sum(), X),
    "descending values": (lambda v: (interpolate.RegularGridInterpolator([LINES[0][::-1], LINES[1]], grid(v))(AT) ** 2
        ).sum(), V),
    "columns": (lambda v: (interpolate.RegularGridInterpolator(LINES[:1], grid(v))(AT[:, 0]) ** 2).sum(), V),
    "interpn": (lambda v: (interpolate.interpn(LINES, grid(v), AT) ** 2).sum(), V),
    "interpn at places": (lambda x: (interpolate.interpn(LINES, Z, (x[:3] + 1, x[3:] / 3), "cubic") ** 2).sum(), X),
    "surface": (lambda x: (SURFACE(np.cumsum(x[:2] ** 2), x[1:3] ** 2 * [1, 3]) ** 2).sum(), X),
    "surface at points": (lambda x: (SURFACE.ev(x[:3], x[3:], dx=1) * SURFACE(x[0], x[3:], grid=False)).sum(), X),
    "volume": (lambda x: SURFACE.integral(x[0], x[2] * 5, x[1], 4.0) ** 2, X),
    "surface of values": (lambda v: (interpolate.RectBivariateSpline(*LINES, grid(v))(LINES[0] - 0.1, AT[:, 1]) ** 2
        ).sum() + interpolate.RectBivariateSpline(*LINES, grid(v)).integral(0, 2, -3, 0.3), V),
    "triangles": (lambda x: (TRIANGLES(near(x)) ** 2).sum() + TRIANGLES(x[0] / 3, x[1] / 3)[1], X),
    "triangles of values": (lambda v: np.nansum(interpolate.LinearNDInterpolator(POINTS, among(v))(AT) ** 2)
        + interpolate.LinearNDInterpolator(POINTS, among(v), -1.0)(AT / 3).sum() ** 2, V),
    "nearest of values": (lambda v: (interpolate.NearestNDInterpolator(POINTS, among(v))(*AT.T) ** 2).sum(), V),
    "griddata": (lambda v: (interpolate.griddata(POINTS, among(v), (AT[:, 0] / 3, AT[:, 1] / 3)) ** 2).sum(), V),
    "griddata, nearest": (lambda v: (interpolate.griddata(POINTS, among(v), AT, "nearest") ** 2).sum(), V),
    "griddata of a line": (lambda v: (interpolate.griddata([3.0, 1, 2, 0, 4], v, AT[:, 0], "cubic") ** 2).sum(), V),
    **{f"radial, {k}": (lambda v, k=k: radial(v, k), V) for k in KERNELS},
    **{f"radial at places, {k}": (lambda x, k=k: (RADIAL[k](near(x)) ** 2).sum(), X) for k in KERNELS},
    "smoothed": (lambda v: radial(v, smoothing=v[0], degree=2), V),
    "radial of points": (lambda x: (interpolate.RBFInterpolator(
        np.concatenate([x.reshape(3, 2) ** 2, [[1.0, 2], [2, 1]]]), V)(POINTS) ** 2).sum(), X),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_calls(name):
    f, x = CALLS[name]
    assert_allclose(func.grad_and_value(f)(x)[1], f(x), rtol=1e-8)
    check_smooth(f, x)


def test_the_nearest_point_at_recorded_places():
    f = lambda x: (NEAREST(near(x)) * x[:3]).sum()  # noqa: E731
    assert_allclose(func.grad(f)(X), slopes(f, X), rtol=1e-6)
    with pytest.warns(RuntimeWarning, match="reads NEAREST"):  # whose tree is C code's
        assert_allclose(tape.compile(func.grad(f))(X), func.grad(f)(X))
    compiled = tape.compile(func.grad(f), assume_constant=[NEAREST])
    assert_allclose(compiled(1.1 * X), func.grad(f)(1.1 * X))


@pytest.mark.parametrize("method", ["slinear", "cubic", "quintic"])
def test_splines_on_a_grid_are_exact(method):
    """SciPy solves for theirs by iterations, unless it is told to take each axis in turn."""

    def f(v, how=""):
        return (interpolate.RegularGridInterpolator(LINES, grid(v), method + how)(AT) ** 2).sum()

    found, value = func.grad_and_value(f)(V)
    assert_allclose(value, f(V, "_legacy"), rtol=1e-10)
    assert_allclose(found, slopes(lambda v: f(v, "_legacy"), V), rtol=1e-6, atol=1e-7)


def test_errors():
    grad = lambda f: func.grad(f)(V)  # noqa: E731
    with pytest.raises(ValueError, match="out of bounds"):
        grad(lambda v: interpolate.interpn(LINES, grid(v), 2 * AT).sum())
    with pytest.raises(ValueError, match="out of bounds"):
        grad(lambda v: SPLINE(v[:2] * 9).sum())
    with pytest.raises(ValueError, match="There are 6 point"):
        grad(lambda v: interpolate.RegularGridInterpolator(LINES, grid(v)[1:])(AT).sum())
    with pytest.raises(TypeError, match=r"griddata needs plain[\s\S]*LinearNDInterpolator"):
        grad(lambda v: interpolate.griddata(POINTS, among(v), AT, "cubic").sum())
    with pytest.raises(TypeError, match="RegularGridInterpolator needs plain numbers"):
        grad(lambda v: interpolate.RegularGridInterpolator([v], V)(V[:, None]).sum())
    with pytest.raises(TypeError, match="needs plain"):
        grad(lambda v: interpolate.RegularGridInterpolator(LINES, grid(v), "pchip")(AT).sum())
    with pytest.raises(TypeError, match="needs plain"):
        grad(lambda v: interpolate.RBFInterpolator(POINTS, among(v), neighbors=5)(AT).sum())
