"""Interpolation by SciPy of recorded values and at recorded places: SciPy's values, derivatives by differences."""

from __future__ import annotations

import numpy as np
import pytest
from differences import check_smooth, slopes
from numpy.testing import assert_allclose
from scipy import interpolate

import tape
from tape import func

KNOTS = np.array([0.0, 0.4, 1.0, 1.5, 2.3, 3.0])
Y = np.array([0.3, 0.9, 1.4, 0.8, 0.1, 0.5])
AT = np.array([0.2, 0.7, 1.2, 1.8, 2.9, 3.2])
INSIDE = np.array([0.2, 0.7, 1.2, 1.8, 2.5, 2.9])
WEIGHTS = np.cos(np.arange(6.0))
CUBIC = interpolate.CubicSpline(KNOTS, np.stack([Y, Y**2], axis=1))
AKIMA = interpolate.Akima1DInterpolator(KNOTS, Y, extrapolate=True)
SPLINE = interpolate.make_interp_spline(KNOTS, np.stack([Y, Y**2]), axis=1)
SMOOTH = interpolate.UnivariateSpline(KNOTS, Y, s=0.05)
TCK = interpolate.splrep(KNOTS, Y)
PARAMETRIC = interpolate.splprep([Y, Y**2], u=KNOTS, s=0)[0]
AROUND = interpolate.CubicSpline(KNOTS, np.append(Y[:-1], Y[0]), bc_type="periodic")
BERNSTEIN = interpolate.BPoly.from_derivatives(KNOTS, np.stack([Y, Y**2], axis=1))
POLYNOMIAL = interpolate.BarycentricInterpolator(KNOTS, Y)

PLACES = {
    "CubicSpline": lambda x: (CUBIC(x.reshape(2, 3)) ** 2).sum(),
    "a derivative": lambda x: (CUBIC(x, 1) * CUBIC.derivative(2)(x)).sum(),
    "nothing outside": lambda x: np.nansum(CUBIC(x, extrapolate=False) ** 2),
    "an integral": lambda x: (CUBIC.integrate(x[0], x[5]) ** 2).sum() + CUBIC.antiderivative()(x[1]).sum(),
    "periodic": lambda x: (AROUND(4 * x) ** 2).sum() + AROUND.integrate(x[0], 3 * x[1]),
    "Akima": lambda x: (AKIMA(x) ** 3).sum(),
    "PPoly.from_spline": lambda x: (interpolate.PPoly.from_spline(TCK)(x) ** 3).sum(),
    "BPoly": lambda x: (BERNSTEIN(x) ** 2).sum(),
    "BSpline": lambda x: (SPLINE(x.reshape(3, 2)) ** 2).sum(),
    "its derivatives": lambda x: (SPLINE(x, 1) * SPLINE(x[::-1], 2)).sum() + SPLINE.derivative()(x[0]).sum(),
    "its integral": lambda x: (SPLINE.integrate(x[0], x[1]) ** 2).sum() + SPLINE.antiderivative()(x[0])[0],
    "its part within": lambda x: SPLINE.integrate(x[0], x[5], extrapolate=False)[0] ** 2,
    "UnivariateSpline": lambda x: (SMOOTH(x) * SMOOTH(x, 1)).sum() + SMOOTH.integral(x[0], x[4]) ** 2,
    "its ends": lambda x: (SMOOTH(x, ext=1) ** 2).sum() + (SMOOTH(2 * x, ext="const") * x).sum(),
    "splev": lambda x: (interpolate.splev(x, TCK) ** 2).sum() + interpolate.splint(x[0], x[1], TCK) ** 2,
    "splev of a curve": lambda x: np.prod(interpolate.splev(x[:2], PARAMETRIC, der=1)),
    "interp1d": lambda x: (interpolate.interp1d(KNOTS, Y, fill_value="extrapolate")(x) ** 2).sum(),
    "cubic interp1d": lambda x: (interpolate.interp1d(KNOTS, Y, "cubic")(x[:5]) ** 2).sum(),
    "interp1d with a value": lambda x: (interpolate.interp1d(KNOTS, Y, fill_value=(1, 2), bounds_error=False)(x) ** 2)
    @ WEIGHTS,
    "steps": lambda x: (interpolate.interp1d(KNOTS, Y, "previous")(x[:5]) * interpolate.interp1d(KNOTS, Y, "nearest")(
        x[:5] + 0.01) * x[:5]).sum(),
    "Barycentric": lambda x: (POLYNOMIAL(x[:4]) ** 2).sum() + POLYNOMIAL(KNOTS[1] * x[0] / AT[0]) ** 2,
    "Krogh": lambda x: (interpolate.krogh_interpolate(KNOTS, Y, x[:4]) ** 2).sum(),
    "pchip_interpolate": lambda x: (interpolate.pchip_interpolate(KNOTS, Y, x, 1) ** 2).sum(),
}  # fmt: skip


@pytest.mark.parametrize("name", PLACES)
def test_places(name):
    f = PLACES[name]
    assert_allclose(func.grad_and_value(f)(AT)[1], f(AT), rtol=1e-11)
    check_smooth(f, AT)


def through(y, at=AT, kind=interpolate.CubicSpline, **how):
    return kind(KNOTS, y, **how)(at)


VALUES = {
    "CubicSpline": lambda y: (through(y) ** 2).sum() + interpolate.CubicSpline(KNOTS, y)(AT[0], 1) ** 2,
    "natural": lambda y: (through(y, bc_type="natural") ** 3).sum(),
    "clamped": lambda y: (through(y, bc_type=("clamped", "not-a-knot")) ** 3).sum(),
    "slopes at the ends": lambda y: (through(y, bc_type=((1, y[0] ** 2), (2, 0.3))) ** 3).sum(),
    "columns": lambda y: (through(np.stack([y, y**2]), axis=1)[:, ::2] ** 2).sum(),
    "periodic": lambda y: (through(np.append(y[:-1], y[0]), bc_type="periodic") ** 2).sum(),
    "its integral": lambda y: interpolate.CubicSpline(KNOTS, y).integrate(0.1, 2.7) ** 2,
    "its antiderivative": lambda y: (interpolate.CubicSpline(KNOTS, y).antiderivative(2)(AT) ** 2).sum(),
    "its derivative": lambda y: (interpolate.CubicSpline(KNOTS, y).derivative()(AT) ** 2).sum(),
    "two points": lambda y: (interpolate.CubicSpline(KNOTS[:2], y[:2])(AT) ** 2).sum(),
    "three points": lambda y: (interpolate.CubicSpline(KNOTS[:3], y[:3])(AT) ** 2).sum(),
    "knots": lambda x: (interpolate.CubicSpline(np.cumsum(x) - 0.1, Y)(AT) ** 2).sum(),
    "hermite": lambda y: (through(y, kind=interpolate.CubicHermiteSpline, dydx=y**2) ** 2).sum(),
    "pchip": lambda y: (through(y, kind=interpolate.PchipInterpolator) ** 2).sum(),
    "pchip of knots": lambda x: (interpolate.PchipInterpolator(np.cumsum(x) - 0.1, x**2)(AT) ** 2).sum(),
    "Akima": lambda y: np.nansum(through(y, kind=interpolate.Akima1DInterpolator) ** 2),
    "makima": lambda y: (through(y, INSIDE, interpolate.Akima1DInterpolator, method="makima") ** 2).sum(),
    "PPoly": lambda y: (interpolate.PPoly(y.reshape(3, 2), [0, 1, 2.0])(AT) ** 2).sum(),
    "BSpline": lambda y: (interpolate.BSpline([0, 0, 0, 0, 1, 2, 3, 3, 3, 3.0], y, 3)(INSIDE, 1) ** 2).sum(),
    "make_interp_spline": lambda y: (interpolate.make_interp_spline(KNOTS, np.stack([y, y**2], 1), k=4)(AT) ** 2).sum(),
    "its ends": lambda y: (interpolate.make_interp_spline(KNOTS, y, bc_type=([(1, y[0])], [(2, 0.5)]))(AT) ** 2).sum(),
    "its natural ends": lambda y: interpolate.make_interp_spline(KNOTS, y, bc_type="natural").integrate(0, 2.0) ** 2,
    "its derivatives": lambda y: interpolate.make_interp_spline(KNOTS, y).derivative(2)(AT).prod(),
    "around": lambda y: (
        interpolate.make_interp_spline(KNOTS, np.append(y[:-1], y[0]), bc_type="periodic")(2 * AT) ** 2
    ).sum(),
    "make_lsq_spline": lambda y: (
        interpolate.make_lsq_spline(KNOTS, y, [0, 0, 0, 1.2, 3, 3, 3], 2, w=WEIGHTS**2 + 1)(AT) ** 2
    ).sum(),
    "make_smoothing_spline": lambda y: (interpolate.make_smoothing_spline(KNOTS, y, lam=0.1)(AT) ** 2).sum(),
    "splrep": lambda y: (interpolate.splev(AT, interpolate.splrep(KNOTS, y), der=1) ** 2).sum(),
    "splder": lambda y: interpolate.splev(AT, interpolate.splder(interpolate.splrep(KNOTS, y))).prod(),
    "splantider": lambda y: interpolate.splev(AT, interpolate.splantider(interpolate.splrep(KNOTS, y))).prod(),
    "UnivariateSpline": lambda y: (interpolate.UnivariateSpline(KNOTS, y, s=0, ext="const")(AT) ** 2).sum(),
    "InterpolatedUnivariateSpline": lambda y: (
        interpolate.InterpolatedUnivariateSpline(KNOTS, y).antiderivative()(AT) ** 2
    ).sum(),
    "LSQUnivariateSpline": lambda y: interpolate.LSQUnivariateSpline(KNOTS, y, [1.2], k=2).integral(0.2, 4.0) ** 2,
    "a derivative of it": lambda y: interpolate.UnivariateSpline(KNOTS, y, s=0).derivative()(AT).prod(),
    "interp1d": lambda y: (interpolate.interp1d(KNOTS, np.stack([y, y**2]))(INSIDE) ** 2).sum(),
    "shuffled": lambda y: (interpolate.interp1d(KNOTS[::-1], y, "quadratic")(INSIDE) ** 2).sum(),
    "interp1d beyond": lambda y: (interpolate.interp1d(KNOTS, y, "previous", fill_value="extrapolate")(AT) ** 2).sum(),
    "interp1d of knots": lambda x: (
        interpolate.interp1d(np.cumsum(x) - 0.1, x**2, fill_value="extrapolate")(AT) ** 2
    ).sum(),
    "Barycentric": lambda y: (interpolate.BarycentricInterpolator(KNOTS, y)(INSIDE) ** 2).sum(),
}


@pytest.mark.parametrize("name", VALUES)
def test_values(name):
    f = VALUES[name]
    assert_allclose(func.grad_and_value(f)(Y)[1], f(Y), rtol=1e-9)
    check_smooth(f, Y)


def test_what_a_function_makes_itself_may_be_knots():
    def f(y):
        x = np.linspace(0.0, 3.0, 6)
        parts = interpolate.CubicSpline(x, y), interpolate.UnivariateSpline(x, y, s=0), interpolate.interp1d(x, y)
        return sum((part(INSIDE) ** 2).sum() for part in parts) + interpolate.make_interp_spline(x, y)(0.3)

    assert_allclose(func.grad_and_value(f)(Y)[1], f(Y), rtol=1e-12)
    check_smooth(f, Y)


def test_compiled_functions_search_in_each_call():
    def f(x):
        return CUBIC(x).sum() + SPLINE(x).sum() + interpolate.CubicSpline(KNOTS, x)(AT).sum()

    program = tape.record(func.grad(f), AT)
    assert "stops              0" in str(program.statistics())
    assert_allclose(program(AT[::-1].copy()), func.grad(f)(AT[::-1].copy()), rtol=1e-12)


def test_objects_are_scipys():
    def f(y):
        spline = interpolate.CubicSpline(KNOTS, y)
        assert isinstance(spline, interpolate.PPoly)
        assert type(spline).__name__ == "CubicSpline"
        assert_allclose(tape.stop_gradient(spline.c), interpolate.CubicSpline(KNOTS, Y).c)
        assert spline.x is not None
        assert type(interpolate.CubicSpline(KNOTS, Y)) is interpolate.CubicSpline
        return (spline.c**2).sum()

    found = func.grad(f)(Y)
    assert_allclose(found, func.grad(lambda y: (interpolate.CubicSpline(KNOTS, y).c ** 2).sum())(Y))
    assert func.grad(lambda y: interpolate.CubicSpline(KNOTS, y)(AT).sum())(Y.astype(np.float32)).dtype == np.float32


def test_barycentric_interpolate_draws_an_order():
    f = lambda y: (interpolate.barycentric_interpolate(KNOTS, y, y) ** 2).sum()  # noqa: E731
    assert_allclose(func.grad(f)(Y), slopes(f, Y), rtol=1e-6)


def test_errors():
    grad = lambda f: func.grad(f)(Y)  # noqa: E731
    with pytest.raises(ValueError, match="The length of `y` along"):
        grad(lambda y: interpolate.CubicSpline(KNOTS, y[1:])(AT).sum())
    with pytest.raises(ValueError, match="strictly increasing"):
        grad(lambda y: interpolate.CubicSpline(y, Y)(AT).sum())
    with pytest.raises(ValueError, match="finite"):
        grad(lambda y: interpolate.PchipInterpolator(KNOTS, np.where(KNOTS > 1, np.nan, y))(AT).sum())
    with pytest.raises(ValueError, match="must be identical"):
        grad(lambda y: interpolate.CubicSpline(KNOTS, y, bc_type="periodic")(AT).sum())
    with pytest.raises(ValueError, match="beyond the interpolation range"):
        grad(lambda y: interpolate.interp1d(KNOTS, y)(AT).sum())
    with pytest.raises(ValueError, match="not in the domain"):
        grad(lambda y: interpolate.UnivariateSpline(KNOTS, Y, s=0, ext=2)(y + 3).sum())
    with pytest.raises(TypeError, match=r"make_smoothing_spline needs plain[\s\S]*with lam"):
        grad(lambda y: interpolate.make_smoothing_spline(KNOTS, y)(AT).sum())
    with pytest.raises(TypeError, match=r"UnivariateSpline[\s\S]*with s=0"):
        grad(lambda y: interpolate.UnivariateSpline(KNOTS, y)(AT).sum())
    with pytest.raises(TypeError, match="CubicSpline takes recorded knots"):
        grad(lambda y: interpolate.make_interp_spline(np.cumsum(y), Y)(AT).sum())
    with pytest.raises(TypeError, match=r"roots[\s\S]*brentq"):
        grad(lambda y: interpolate.CubicSpline(KNOTS, y).roots().sum())
