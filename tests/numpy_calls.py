"""A call, or several, of every NumPy function that a composite answers for."""

from __future__ import annotations

import numpy as np

import ops

rng = np.random.default_rng(11)
A, B, V, W = (rng.normal(size=shape) for shape in ((3, 4), (3, 4), 4, 4))
T = rng.normal(size=(2, 3, 4))
SQUARE = rng.normal(size=(3, 3)) + 3 * np.eye(3)
POSITIVE = SQUARE @ SQUARE.T
MASK = A > 0
C = A + 1j * B
HOLES = np.where(B > -0.5, A, np.nan)
POINTS = np.array([-0.8, -0.1, 0.45, 1.3])

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
    "numpy_inner": [((V, W), {}), ((A, B), {}), ((A, W), {}), ((A, 2.0), {})],
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
    "matrix_power": [((SQUARE, 3), {}), ((SQUARE, 1), {}), ((SQUARE, -2), {}), ((SQUARE, -7), {})],
    "numpy_eig": [((SQUARE + np.diag([0.0, 4.0, 9.0]),), {})],
    "eigvals": [((SQUARE + np.diag([0.0, 4.0, 9.0]),), {})],
    "numpy_cholesky": [((POSITIVE,), {}), ((POSITIVE,), {"upper": True})],
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
    "full_like": [((A, V), {}), ((V, np.array(3.0)), {}), ((A, np.array(1.5), np.float64), {"shape": (2, 2)})],
    "float_power": [((np.abs(A), 2), {}), ((np.abs(A), B), {})],
    "numpy_power": [((np.abs(A), 2), {}), ((np.abs(A), B), {})],
    "numpy_var": [((A,), {}), ((A, 0), {}), ((A, 1), {"ddof": 1, "keepdims": True}), ((A,), {"correction": 2}),
                  ((A, 0), {"mean": A.mean(0, keepdims=True)})],
    "numpy_std": [((A,), {"where": A > 0}), ((A, 1), {"where": A < 9, "ddof": 1, "keepdims": True}),
                  ((A,), {}), ((A, 0), {}), ((T, (0, 2)), {"ddof": 1}), ((A,), {"mean": 0.5, "ddof": 1})],
    "numpy_angle": [((A + 1j * B,), {}), ((A + 1j * B, True), {}), ((A,), {"deg": True})],
    "average": [((A,), {}), ((A, 1), {}), ((A, 1, np.abs(V)), {}), ((A,), {"weights": np.abs(B)})],
    "ptp": [((A,), {}), ((A, 1), {}), ((A, 0), {"keepdims": True})],
    "numpy_sort": [((A,), {}), ((A, 0), {}), ((A, None), {})],
    "quantile": [
        ((A, 0.3), {}), ((A, [0.1, 0.5], 1), {}), ((T, 0.7, (0, 2)), {"keepdims": True}), ((T, [[0.2, 1.0]], 1), {}),
    ],
    "percentile": [((A, 30), {}), ((A, [25.0, 75.0], 0), {})],
    "numpy_median": [((A,), {}), ((A, 0), {}), ((T, (0, 2)), {"keepdims": True})],
    "numpy_partition": [((A, 2), {}), ((T, [0, 2]), {"axis": 1}), ((A, 5, None), {})],
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
    "pad": [
        ((A, 1), {}), ((V, (1, 2)), {"constant_values": 3.0}), ((A, ((0, 1), (2, 0))), {}),
        *[((A, ((0, 5), (2, 1)), mode), {}) for mode in ("edge", "reflect", "symmetric", "wrap")],
    ],
    **{f"numpy_{name}": [
        ((A,), {}), ((T, 1), {"keepdims": True}), ((A, 0), {"where": MASK, "initial": 0.3}), ((T, (0, 2)), {}),
        ((A,), {"initial": 0.1}), ((A[:, :0], 1), {"initial": 0.5}), ((A, -1), {"where": MASK[:1], "initial": 2.0}),
    ] for name in ("sum", "prod", "max", "min")},
    "numpy_mean": [
        ((A,), {}), ((T, (0, -1)), {"keepdims": True}), ((A,), {"where": MASK}), ((A, 0), {"where": MASK[:, :1]}),
    ],
    **{name: [((HOLES,), {}), ((HOLES, 1), {}), ((A, 0), {"keepdims": True}), ((HOLES, (0, 1)), {})]
       for name in ("nansum", "nanprod", "nanmean", "nanmax", "nanmin", "nanvar", "nanstd")},
    **{name: [((HOLES,), {}), ((HOLES, 1), {}), ((A, 0), {"keepdims": True})] for name in ("nanargmax", "nanargmin")},
    **{f"numpy_{name}": [((HOLES,), {}), ((1.0 / B,), {})] for name in ("isposinf", "isneginf")},
    "nancumsum": [((HOLES,), {}), ((HOLES, 1), {})],
    "nancumprod": [((HOLES,), {}), ((HOLES, -2), {})],
    **{name: [((V,), {}), ((A,), {"axis": 1, "include_initial": True}), ((V,), {"include_initial": True})]
       for name in ("cumulative_sum", "cumulative_prod")},
    "matrix_trace": [((A,), {}), ((T,), {"offset": 1})],
    "matrix_diagonal": [((A,), {}), ((T,), {"offset": -1})],
    "numpy_cond": [((SQUARE,), {}), ((SQUARE, 1), {}), ((SQUARE, -2), {}), ((SQUARE, "fro"), {})],
    "matvec": [((A, V), {}), ((T, V), {}), ((A, B), {}), ((C, C[0]), {})],
    "vecmat": [((V, A.T), {}), ((V[:3], T), {}), ((C[0], C.T), {})],
    "interp": [
        ((V, POINTS, W), {}), ((np.sort(V), POINTS, np.sort(W)), {"left": -1.0, "right": 2.5}), ((A, POINTS, W), {}),
        ((V, POINTS, W), {"period": 1.7}), ((V, POINTS[:1], W[:1]), {}),
    ],
    "numpy_gradient": [
        ((V,), {}), ((A,), {}), ((A, 0.5), {"axis": 1}), ((T[0].T, 0.5, POINTS[:3]), {"edge_order": 2}),
        ((V, POINTS), {}), ((V, POINTS), {"edge_order": 2}), ((V, np.array(0.3)), {"edge_order": 2}),
    ],
    "ediff1d": [((A,), {}), ((V, W, [1.0]), {}), ((V,), {"to_begin": W[:2]})],
    "unwrap": [((9 * V,), {}), ((9 * A, None, 0), {}), ((9 * A, 2.5), {"period": 4.0})],
    "convolve": [((V, W), {}), ((V, W[:3], "same"), {}), ((W[:3], V, "same"), {}), ((V[:2], W, "valid"), {})],
    "correlate": [
        ((V, W), {}), ((V, W[:3], "same"), {}), ((W[:3], V, "same"), {}), ((V[:2], W, "valid"), {}),
        ((V[:2], W, "full"), {}), ((C[0], C[1][:3], "full"), {}), ((C[1][:3], C[0], "full"), {}),
    ],
    "polyval": [((V, A), {}), (([1.0, -2.0], V), {}), ((V, 0.5), {})],
    "vander": [((V,), {}), ((V, 3), {}), ((V, 3), {"increasing": True})],
    "corrcoef": [((A,), {}), ((A,), {"rowvar": False}), ((V,), {})],
    "numpy_linspace": [
        ((V[:1], W[:1], 5), {}), ((V, 2.0, 4), {"endpoint": False, "axis": -1}), ((V, W, 3), {"retstep": True}),
        ((np.array(0.5), 2.0), {}), ((0.25, np.array(3.0), 1), {}),
    ],
    "numpy_logspace": [((np.array(0.1), np.array(0.7), 4), {}), ((V, W, 3), {"base": 2.0, "axis": 1})],
    "geomspace": [((np.abs(V), np.abs(W), 4), {}), ((-np.abs(V), np.array(-2.0), 3), {"endpoint": False})],
    "numpy_select": [
        (([MASK, B > 0], [A, B]), {}), (([MASK], [A], np.array(2.5)), {}), (([V > 0, V > -1], [A, W]), {}),
    ],
    "choose": [((np.array([0, 2, 1, 0]), [V, W, A]), {}), ((MASK.astype(int), (A, B)), {})],
    "piecewise": [
        ((A, [MASK], [ops.square]), {}), ((V, [V > 0.5, V > 0, V < -0.5], [ops.sin, 2.0, ops.exp, ops.cos]), {}),
        ((V, V > 0, [lambda x, k: k * x, lambda x, k: x - k], 3.0), {}),
    ],
    "numpy_heaviside": [((A, np.array(0.5)), {}), ((np.array([0, 1, -1, 0]), V), {})],
    "divmod": [((A, np.array(0.7)), {}), ((A, B), {})],
    "modf": [((3 * A,), {})],
    "block": [(([[A, B], [B, A]],), {}), (([V, W],), {}), (([[V], [A]],), {}), ((V,), {})],
    "delete": [((V, 1), {}), ((A, [0, 2], 1), {}), ((A, slice(1, None), 0), {})],
    "insert": [
        ((V, 1, np.array(2.0)), {}), ((V, [3, 1, 1], W[:3]), {}), ((A, 1, V, 0), {}), ((A, [0, 2], B[:, :2], 1), {}),
        ((V, slice(0, 2), W[:2]), {}), ((A, -1, A[:, 0], 1), {}), ((V, [2], W), {}), ((A, 1, 2.5, 1), {}),
    ],
    "compress": [(([True, False, True], V), {}), (([False, True], A, 0), {}), ((MASK.ravel(), A), {})],
    "numpy_resize": [((V, 6), {}), ((A, (2, 7)), {})],
    "numpy_bincount": [(([0, 2, 2, 5], V), {}), (([0, 2, 2, 5], V), {"minlength": 9})],
    "apply_along_axis": [
        ((ops.sum, 0, A), {}), ((ops.cumsum, 1, T), {}), ((lambda x: 2 * ops.getitem(x, index=slice(2)), 0, A), {}),
    ],
}  # fmt: skip
for _name in ("matvec", "vecmat"):  # which came with NumPy 2.2
    if not hasattr(np, _name):
        del CALLS[_name]


def parts(z):
    """The results of a function, which may be one."""
    return tuple(z) if isinstance(z, (tuple, list)) else (z,)


def map_arrays(f, args):
    """Apply f to every array of floats among arguments and in sequences of them."""
    if isinstance(args, np.ndarray):
        return f(args) if args.dtype.kind in "fc" else args
    return type(args)(map_arrays(f, a) for a in args) if isinstance(args, (tuple, list)) else args
