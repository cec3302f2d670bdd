"""`scipy.spatial.distance` on recorded arrays."""

from __future__ import annotations

import numpy as np
import pytest
from differences import check_smooth
from numpy.testing import assert_allclose
from scipy.spatial import distance

from tape import func

X = np.array([0.5, 0.3, 0.8, -0.62, 0.41, 0.1])
Y = np.array([[0.2, 1.4], [0.9, -0.3]])
METRICS = "euclidean", "sqeuclidean", "cityblock", "chebyshev"
CALLS = {
    "squareform": lambda x: (distance.squareform(x) @ np.arange(4.0)) @ np.arange(1.0, 5),
    "minkowski": lambda x: (distance.cdist(x.reshape(3, 2), Y, "minkowski", p=3) ** 2).sum(),
    "minkowski without p": lambda x: (distance.pdist(x.reshape(3, 2), "minkowski") ** 3).sum(),
    **{f"cdist {m}": lambda x, m=m: (distance.cdist(x.reshape(3, 2), Y, m) ** 2 @ [1.0, 2]).sum() for m in METRICS},
    **{f"pdist {m}": lambda x, m=m: distance.pdist(x.reshape(3, 2), m) ** 2 @ [1.0, 2, 3] for m in METRICS},
    "euclidean": lambda x: distance.euclidean(x[:3], x[3:]) ** 3 + distance.sqeuclidean(x[:3], x[3:]),
    "cityblock": lambda x: distance.cityblock(x[:3], x[3:]) ** 2 * distance.chebyshev(x[:3], x[3:]),
}


@pytest.mark.parametrize("name", CALLS)
def test_distances(name):
    assert_allclose(func.grad_and_value(CALLS[name])(X)[1], CALLS[name](X), rtol=1e-13)
    check_smooth(CALLS[name], X)


def test_edges():
    x = X.reshape(3, 2)
    assert func.grad(lambda x: distance.cdist(x[:0], x).sum())(x).tolist() == np.zeros((3, 2)).tolist()
    assert func.jacrev(distance.pdist)(x[:1]).shape == (0, 1, 2)
    assert func.jacfwd(lambda x: distance.cdist(x, x))(x.astype(np.float32)).dtype == np.float64
    assert np.all(np.isfinite(func.grad(lambda x: distance.cdist(x, x).sum())(x)))
    with pytest.raises(ValueError, match="same number of columns"):
        func.grad(lambda x: distance.cdist(x, np.ones((2, 3))).sum())(x)
    with pytest.raises(ValueError, match="Unknown Distance Metric"):
        func.grad(lambda x: distance.pdist(x, "nearness").sum())(x)
    with pytest.raises(TypeError, match="Write another distance"):
        func.grad(lambda x: distance.pdist(x, "cosine").sum())(x)
