"""The composites: each called as NumPy calls the function it answers for, and differentiated."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from oracle import Traced, gradients
from samples import inner, noise, slope

import ops
from ops import REGISTRY

rng = np.random.default_rng(11)
A, B, V, W = (rng.normal(size=shape) for shape in ((3, 4), (3, 4), 4, 4))
T = rng.normal(size=(2, 3, 4))
SQUARE = rng.normal(size=(3, 3)) + 3 * np.eye(3)
POSITIVE = SQUARE @ SQUARE.T
MASK = A > 0
C = A + 1j * B

CALLS = {
    "movedim": [((T, 0, -1), {}), ((T, (0, 1), (-1, 0)), {})],
    "ravel": [((T,), {})],
    "broadcast_arrays": [((A, V), {})],
    "cat": [(([A, B],), {}), (([A, B, A], 1), {}), (([A, V], None), {}), (([A, B],), {"axis": -1})],
    "array_split": [((A, 3), {"axis": 1}), ((V, [1, 3]), {})],
    "take_along_axis": [
        ((A, np.argsort(A, 1), 1), {}), ((A, np.array([[0], [2], [1]]), 1), {}), ((A, np.array([3, 0]), None), {}),
    ],
    "repeat_interleave": [((A, 2), {}), ((A, [1, 0, 2], 0), {}), ((A, 2), {"axis": 1})],
    "extract": [((MASK, A), {})],
    "diag": [((V,), {}), ((A,), {}), ((V, 1), {}), ((A, -1), {})],
    "outer": [((V, W), {}), ((A, W), {})],
    "inner": [((V, W), {}), ((A, B), {}), ((A, W), {})],
    "vdot": [((V, W), {}), ((A, B), {})],
    "vecdot": [((A, B), {}), ((T, A), {"axis": -1})],
    "tensordot": [((A, B.T), {"axes": 1}), ((A, B), {}), ((T, A), {"axes": ([1, 2], [0, 1])}), ((V, W), {"axes": 0})],
    "kron": [((A, SQUARE), {}), ((V, W), {}), ((V, A), {})],
    "multi_dot": [(([A, B.T, SQUARE, V[:3]],), {})],
    "einsum": [
        (("ij,kj", A, B), {}), (("ij->", A), {}), (("...j,j", T, V), {}), (("ii", SQUARE), {}), (("i...->...", T), {}),
        (("b...d,...d->b...", T, A), {}), (("ij,kj,lj->ikl", A, B, A), {}), ((A, [0, 1], B, [2, 1], [0, 2]), {}),
        ((T, [..., 0], V, [0]), {}), (("i , j", V, W), {}), (("ba", A), {}),
    ],
    **{f"fft_{name}": [((C,), {}), ((C, 3, 0), {"norm": "ortho"})] for name in ("fft", "ifft", "irfft", "hfft")},
    **{f"fft_{name}": [((A,), {}), ((A, 5), {"axis": 0, "norm": "forward"})] for name in ("rfft", "ihfft")},
    **{f"fft_{name}": [((C,), {"axes": (0, 1)})] for name in ("fftn", "ifftn", "irfftn", "fft2", "ifft2", "irfft2")},
    **{f"fft_{name}": [((T,), {"s": (2, 5), "axes": (2, 1)})] for name in ("rfftn", "rfft2")},
    **{f"fft_{name}": [((A,), {}), ((A, 1), {})] for name in ("fftshift", "ifftshift")},
    "matrix_power": [((SQUARE, 3), {}), ((SQUARE, 1), {})],
    "numpy_eig": [((SQUARE + np.diag([0.0, 4.0, 9.0]),), {})],
    "eigvals": [((SQUARE + np.diag([0.0, 4.0, 9.0]),), {})],
    "numpy_cholesky": [((POSITIVE,), {})],
    "eigvalsh": [((POSITIVE,), {})],
    "svdvals": [((A,), {})],
    "numpy_svd": [((A,), {"full_matrices": False}), ((A,), {"compute_uv": False}), ((SQUARE,), {})],
    "numpy_qr": [((SQUARE,), {}), ((A.T, "r"), {})],
    "numpy_norm": [
        ((A,), {}), ((V, 3), {}), ((V, 1), {}), ((V, np.inf), {}), ((V, -np.inf), {}), ((A, "fro"), {}),
        ((A, "nuc"), {}),
        ((A, 2), {}), ((A, -2), {}), ((A, 1), {}), ((A, -1), {}), ((A, np.inf), {}), ((A, -np.inf), {}),
        ((A, None, 1), {}),
        ((A, 1, 0, True), {}), ((T, None, (0, 2)), {}), ((T, "nuc", (2, 0)), {"keepdims": True}), ((T,), {}),
    ],
    "matrix_norm": [((T,), {}), ((A,), {"ord": 2}), ((T,), {"ord": 1, "keepdims": True})],
    "clip": [
        ((A, -0.5, 0.5), {}), ((A, None, 0.5), {}), ((A,), {"a_min": 0.1, "a_max": None}), ((A, B - 1, B + 1), {}),
    ],
    "float_power": [((np.abs(A), 2), {}), ((np.abs(A), B), {})],
    "numpy_var": [((A,), {}), ((A, 0), {}), ((A, 1), {"ddof": 1, "keepdims": True}), ((A,), {"correction": 2})],
    "numpy_std": [((A,), {}), ((A, 0), {}), ((T, (0, 2)), {"ddof": 1})],
    "average": [((A,), {}), ((A, 1), {}), ((A, 1, np.abs(V)), {}), ((A,), {"weights": np.abs(B)})],
    "ptp": [((A,), {}), ((A, 1), {}), ((A, 0), {"keepdims": True})],
    "nansum": [((np.where(MASK, A, np.nan),), {}), ((A, 1), {})],
    "nanmean": [((np.where(MASK, A, np.nan),), {}), ((A, 0), {"keepdims": True})],
    "numpy_sort": [((A,), {}), ((A, 0), {}), ((A, None), {})],
    "quantile": [
        ((A, 0.3), {}), ((A, [0.1, 0.5], 1), {}), ((T, 0.7, (0, 2)), {"keepdims": True}), ((T, [[0.2, 1.0]], 1), {}),
    ],
    "percentile": [((A, 30), {}), ((A, [25.0, 75.0], 0), {})],
    "numpy_median": [((A,), {}), ((A, 0), {}), ((T, (0, 2)), {"keepdims": True})],
    "diff": [((V,), {}), ((A, 2), {}), ((A, 1, 0), {})],
    "trapezoid": [((A,), {}), ((A, V), {}), ((A,), {"dx": 0.5, "axis": 0}), ((A, B), {})],
    "numpy_dot": [
        ((A, V), {}), ((V, W), {}), ((A, B.T), {}), ((2.0, A), {}), ((T, V), {}),
        ((T, rng.normal(size=(2, 4, 3))), {}),
    ],
    "cross": [((A.T[:, :3], B.T[:, :3]), {}), ((A, B), {"axis": 0})],
    "cov": [((A,), {}), ((V,), {}), ((A,), {"rowvar": False}), ((A,), {"bias": True}), ((A,), {"ddof": 0})],
    "atleast_1d": [((np.array(2.0),), {}), ((V, A), {})],
    "atleast_2d": [((V,), {}), ((np.array(1.0), A), {})],
    "atleast_3d": [((V,), {}), ((A,), {}), ((np.array(1.0),), {})],
    "vstack": [(([V, A],), {}), (((A, B),), {})],
    "hstack": [(([V, W],), {}), (([A, B],), {})],
    "dstack": [(([V, W],), {}), (([A, B],), {})],
    "column_stack": [(([V, W, A.T],), {})],
    "append": [((V, W), {}), ((A, B, 0), {}), ((A, V), {})],
    "fliplr": [((A,), {})],
    "flipud": [((A,), {})],
    "rot90": [((A,), {}), ((A, 2), {}), ((A, -1), {}), ((T, 5, (1, 2)), {}), ((T, 4), {})],
    "hsplit": [((A, 2), {}), ((V, [1]), {})],
    "vsplit": [((A, 3), {})],
    "meshgrid": [((V, W[:2]), {}), ((V, W[:2]), {"indexing": "ij"}), ((V, W, V[:2]), {})],
    "pad": [((A, 1), {}), ((V, (1, 2)), {"constant_values": 3.0}), ((A, ((0, 1), (2, 0))), {})],
}  # fmt: skip

ANSWERING = [op for op in REGISTRY.values() if op.kind == "composite" and op.numpy]
CASES = [(name, i) for name, calls in CALLS.items() for i in range(len(calls))]


def test_every_composite_that_answers_for_numpy_is_called():
    assert {op.name for op in ANSWERING} == set(CALLS)


def parts(z):
    return tuple(z) if isinstance(z, (tuple, list)) else (z,)


def map_arrays(f, args):
    """Apply f to every array of floats among arguments and in sequences of them."""
    if isinstance(args, np.ndarray):
        return f(args) if args.dtype.kind in "fc" else args
    return type(args)(map_arrays(f, a) for a in args) if isinstance(args, (tuple, list)) else args


@pytest.mark.parametrize(("name", "i"), CASES)
def test_value_is_numpys(name, i):
    args, kwargs = CALLS[name][i]
    for f in REGISTRY[name].numpy:
        if f is np.linalg.outer and args[0].ndim > 1:
            continue  # it takes vectors alone
        expected, found = parts(f(*args, **kwargs)), parts(REGISTRY[name](*args, **kwargs))
        for z, w in zip(found, expected, strict=True):
            assert np.shape(z) == np.shape(w)
            assert_allclose(z, w, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("name", "i"), CASES)
def test_gradient_agrees_with_differences(name, i):
    args, kwargs = CALLS[name][i]
    generator = np.random.default_rng(i)
    leaves = []

    def leaf(x):
        leaves.append(Traced(x))
        return leaves[-1]

    zs = [z for z in parts(REGISTRY[name](*map_arrays(leaf, args), **kwargs)) if isinstance(z, Traced)]
    assert zs, "the history is lost"
    gs, ts = ([noise(x.value, generator) for x in xs] for xs in (zs, leaves))
    if name in ("numpy_cholesky", "eigvalsh"):
        ts = [t + t.T for t in ts]
    with np.errstate(all="ignore"):
        bars = gradients(zs, gs, leaves)

    def along(h):
        moved = iter(ts)
        z = parts(REGISTRY[name](*map_arrays(lambda x: x + h * next(moved), args), **kwargs))
        return inner(gs, z)

    found = sum(np.nansum(np.real(np.conj(bar) * t)) for bar, t in zip(bars, ts) if bar is not None)
    assert_allclose(found, slope(along, 1e-4), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ops.einsum("ij,j", A), "1 operands for the 2 terms"),
        (lambda: ops.einsum("...ijk->", V), "does not fit"),
        (lambda: ops.diag(T), "takes a vector or a matrix"),
        (lambda: ops.cat([]), "at least one array"),
        (lambda: ops.tensordot(A, B, 1), "equal lengths"),
        (lambda: ops.mm(V, A), "use matmul"),
        (lambda: ops.numpy_norm(T, 1), "one axis for a vector or two"),
        (lambda: ops.numpy_norm(A, 5), "'fro', 'nuc'"),
        (lambda: ops.norm(T, "nuc"), "two axes of matrices"),
        (lambda: ops.norm(A, "max"), "'fro', 'nuc' or a number"),
        (lambda: ops.matrix_power(SQUARE, -1), "apply inv"),
        (lambda: ops.quantile(V, 1.5), "from 0 to 1"),
        (lambda: ops.topk(V, k=9), "0 ≤ k ≤ 4"),
        (lambda: ops.kthvalue(V, k=0), "1 ≤ k ≤ 4"),
        (lambda: ops.cross(V, W), "length 3"),
        (lambda: ops.average(A, 0, V), "needs weights of shape"),
        (lambda: ops.pad(A, 1, "edge"), "mode 'constant'"),
        (lambda: ops.meshgrid(V, indexing="zz"), "'xy' or 'ij'"),
        (lambda: ops.gelu(V, "exact"), "approximate='none'"),
        (lambda: ops.numpy_qr(A, "complete"), "'reduced' and 'r'"),
        (lambda: ops.diag_embed(V, 0, 1, 1), "two different axes"),
    ],
)
def test_mistakes(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    ("f", "oracle"),
    [
        (lambda x: ops.max(x, axis=1)[0], lambda x: x.max(1)),
        (lambda x: ops.min(x, axis=0)[0], lambda x: x.min(0)),
        (lambda x: ops.flatten(x), np.ravel),
        (lambda x: ops.diag_embed(x, 1), lambda x: np.stack([np.diag(row, 1) for row in x])),
        (lambda x: ops.masked_select(x, MASK), lambda x: x[MASK]),
        (lambda x: ops.masked_select(x, MASK[:, :1]), lambda x: x[MASK[:, 0]].ravel()),
        (lambda x: ops.matrix_power(ops.matmul(x, B.T), 3), lambda x: np.linalg.matrix_power(x @ B.T, 3)),
        (lambda x: ops.silu(x), lambda x: x / (1 + np.exp(-x))),
        (lambda x: ops.gelu(x, "tanh"), lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))),
        (lambda x: ops.elu(x, 0.7), lambda x: np.where(x > 0, x, 0.7 * np.expm1(x))),
        (lambda x: ops.leaky_relu(x, 0.1), lambda x: np.where(x > 0, x, 0.1 * x)),
        (lambda x: ops.lerp(x, B, 0.3), lambda x: 0.7 * x + 0.3 * B),
        (lambda x: ops.addcmul(B, x, x, 2.0), lambda x: B + 2 * x * x),
        (lambda x: ops.addcdiv(x, B, x, 2.0), lambda x: x + 2 * B / x),
        (lambda x: ops.addmm(SQUARE, x, B.T, 2.0, 0.5), lambda x: 2 * SQUARE + 0.5 * x @ B.T),
        (lambda x: ops.unbind(x, axis=1)[2], lambda x: x[:, 2]),
        (lambda x: ops.split(x, indices_or_sections=2, axis=1)[1], lambda x: x[:, 2:]),
    ],
)  # fmt: skip
def test_torch_spelling(f, oracle):
    assert_allclose(f(A), oracle(A), rtol=1e-12, atol=1e-14)
    x, t = Traced(A), rng.normal(size=A.shape)
    z = f(x)
    g = rng.normal(size=z.shape)
    (bar,) = gradients([z], [g], [x])
    assert_allclose(np.sum(bar * t), slope(lambda h: np.sum(g * oracle(A + h * t)), 1e-4), rtol=1e-6, atol=1e-7)
