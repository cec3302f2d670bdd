"""Filters and interpolation of `scipy.ndimage` on recorded arrays: SciPy's values, derivatives by differences."""

from __future__ import annotations

import numpy as np
import pytest
from differences import check_smooth
from numpy.testing import assert_allclose
from scipy import ndimage

import tape
from tape import func

rng = np.random.default_rng(0)
X = np.sin(np.arange(1.0, 7))
IMAGE, BLUR = rng.normal(size=(5, 6)), rng.normal(size=(3, 2))
AT = rng.uniform(-3.7, 7.7, (2, 9))
TURNED = np.eye(2) + 0.3 * rng.normal(size=(2, 2))
MODES = ("reflect", "nearest", "mirror", "wrap", "constant", "grid-mirror", "grid-wrap", "grid-constant")

FILTERS = {
    "correlate": lambda x, how: ndimage.correlate(x, BLUR, **how),
    "moved": lambda x, how: ndimage.correlate(x, np.ones((5, 7)), origin=(1, -2), **how),
    "convolve": lambda x, how: ndimage.convolve(x, BLUR, **how),
    "convolve1d": lambda x, how: ndimage.convolve1d(x, [1.0, 2.0, 0.5, 3.0], 0, origin=-1, **how),
    "correlate1d": lambda x, how: ndimage.correlate1d(x, [1.0, 2.0], **how),
    "gaussian_filter": lambda x, how: ndimage.gaussian_filter(x, [1.2, 0.7], order=(0, 1), **how),
    "gaussian_filter1d": lambda x, how: ndimage.gaussian_filter1d(x, 1.2, 0, 3, **how),
    "uniform_filter": lambda x, how: ndimage.uniform_filter(x, (3, 2), **how),
    "sobel": lambda x, how: ndimage.sobel(x, 0, **how),
    "prewitt": lambda x, how: ndimage.prewitt(x, **how),
    "laplace": lambda x, how: ndimage.laplace(x, **how),
    "gaussian_laplace": lambda x, how: ndimage.gaussian_laplace(x, 1.1, truncate=3.0, **how),
    "gaussian_gradient_magnitude": lambda x, how: ndimage.gaussian_gradient_magnitude(x, 1.1, **how),
    "maximum_filter": lambda x, how: ndimage.maximum_filter(x, 3, **how),
    "minimum_filter": lambda x, how: ndimage.minimum_filter(x, footprint=BLUR > 0, origin=(1, 0), **how),
    "median_filter": lambda x, how: ndimage.median_filter(x, (2, 3), **how),
    "maximum_filter1d": lambda x, how: ndimage.maximum_filter1d(x, 3, 0, **how),
    "minimum_filter1d": lambda x, how: ndimage.minimum_filter1d(x, 4, origin=1, **how),
    "rank_filter": lambda x, how: ndimage.rank_filter(x, -2, footprint=BLUR > -0.5, **how),
    "percentile_filter": lambda x, how: ndimage.percentile_filter(x, 20, size=(3, 2), **how),
}
SPLINES = {
    "map_coordinates": lambda x, how: ndimage.map_coordinates(x, AT, **how),
    "shift": lambda x, how: ndimage.shift(x, (0.3, -1.7), **how),
    "zoom": lambda x, how: ndimage.zoom(x, (1.7, 0.6), **how),
    "affine_transform": lambda x, how: ndimage.affine_transform(x, TURNED, (0.3, 0.5), **how),
    "stretched": lambda x, how: ndimage.affine_transform(x, [0.7, -1.2], 0.4, **how),
    "homogeneous": lambda x, how: ndimage.affine_transform(x, np.c_[TURNED, [0.3, 0.5]], output_shape=(3, 4), **how),
    "rotate": lambda x, how: ndimage.rotate(x, 20.0, **how),
    "as it is": lambda x, how: ndimage.shift(x, 0.4, prefilter=False, **how),
}


def same(f):
    found = func.vjp(f, IMAGE)[0]
    assert_allclose(found, f(IMAGE), rtol=1e-9, atol=1e-11)
    assert found.dtype == IMAGE.dtype


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", FILTERS)
def test_filters(name, mode):
    same(lambda x: FILTERS[name](x, {"mode": mode, "cval": 0.5}))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", SPLINES)
def test_splines(name, mode):
    for order in range(6):
        same(lambda x, order=order: SPLINES[name](x, {"mode": mode, "cval": 1.5, "order": order}))


def plane(x):
    return np.outer(x, np.cos(x + np.arange(5.0)[:, None])[:, 1])


CALLS = {
    **{name: lambda x, f=f: (f(plane(x), {"mode": "mirror"}) ** 2).sum() + x.sum() for name, f in FILTERS.items()},
    **{name: lambda x, f=f: (f(plane(x), {"mode": "grid-constant"}) ** 2).sum() for name, f in SPLINES.items()},
    "weights": lambda x: (ndimage.convolve(IMAGE, x.reshape(2, 3)) * ndimage.correlate1d(IMAGE, x[:3])).sum(),
    "sigma": lambda x: (ndimage.gaussian_filter(IMAGE, 1.1 + 0.1 * x[:2], order=(0, 2), radius=3) ** 2).sum(),
    "coordinates": lambda x: (ndimage.map_coordinates(IMAGE, [2 + 2 * x, 3 - x * x[1]], mode="mirror") ** 2).sum(),
    "lines": lambda x: (ndimage.map_coordinates(IMAGE, [2 + 2 * x, 3 - x * x[1]], order=1, mode="reflect") ** 2).sum(),
    "by how much": lambda x: (ndimage.shift(IMAGE, x[:2], mode="nearest", order=2) ** 2).sum(),
    "matrix": lambda x: (ndimage.affine_transform(IMAGE, x[:4].reshape(2, 2), x[4:], mode="grid-wrap") ** 2).sum(),
    "angle": lambda x: (ndimage.rotate(IMAGE, 20 * x[0], reshape=False, mode="wrap", order=5) ** 2).sum(),
    "spline_filter": lambda x: (ndimage.spline_filter(plane(x), 4) ** 3).sum(),
    "three axes": lambda x: (ndimage.rotate(np.multiply.outer(plane(x), [1.0, 2]), 30, (0, 1)) ** 2).sum(),
    "percent of a line": lambda x: (ndimage.gaussian_filter1d(np.tile(x, 100), 2.0)[:50:9] ** 2).sum(),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_calls(name):
    assert_allclose(func.grad_and_value(CALLS[name])(X)[1], CALLS[name](X), rtol=1e-9)
    check_smooth(CALLS[name], X)


def test_programs_read_at_other_places_in_each_call():
    f = CALLS["coordinates"]
    program = tape.record(func.grad(f), X)
    assert_allclose(program(0.3 * X), func.grad(f)(0.3 * X), rtol=1e-12)


def test_precision_is_scipys():
    x = IMAGE.astype(np.float32)
    for f in (
        lambda x: ndimage.gaussian_filter(x, 1.0), lambda x: ndimage.convolve(x, BLUR), ndimage.sobel,
        lambda x: ndimage.shift(x, 0.5), lambda x: ndimage.median_filter(x, 3),
    ):  # fmt: skip
        found = func.vjp(f, x)[0]
        assert found.dtype == f(x).dtype == np.float32
        assert_allclose(found, f(x), rtol=2e-6, atol=2e-6)


def test_errors():
    grad = lambda f: func.grad(f)(X)  # noqa: E731
    with pytest.raises(TypeError, match=r"rotate needs plain[\s\S]*reshape=False"):
        grad(lambda x: ndimage.rotate(IMAGE, x[0]).sum())
    assert_allclose(
        grad(lambda x: ndimage.zoom(plane(x), 2 * x[0]).sum() - ndimage.zoom(plane(x), 2 * X[0]).sum()), 0, atol=1e-12
    )
    with pytest.raises(TypeError, match=r"generic_filter needs plain[\s\S]*sliding_window_view"):
        grad(lambda x: ndimage.generic_filter(plane(x), np.sum, 3).sum())
    with pytest.raises(ValueError, match="Invalid origin"):
        grad(lambda x: ndimage.correlate(plane(x), BLUR, origin=3).sum())
    with pytest.raises(RuntimeError, match="rank not within filter footprint"):
        grad(lambda x: ndimage.rank_filter(plane(x), 9, 3).sum())
    with pytest.raises(RuntimeError, match="must match"):
        grad(lambda x: ndimage.correlate(plane(x), X).sum())
    with pytest.raises(RuntimeError, match="spline order not supported"):
        grad(lambda x: ndimage.shift(x, 0.5, order=6).sum())
