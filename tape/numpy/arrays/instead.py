"""What to write in the place of what would lose a gradient, for the errors that say so."""

from __future__ import annotations

import re
import sys

import numpy as np

CLASSES = tuple(
    f"{name}()" for name, kind in vars(np).items() if isinstance(kind, type) and issubclass(kind, np.generic)
)
"""How NumPy's classes of numbers are called by bare names."""

OWN = (
    "Arrays that this function makes take recorded values: np.zeros(…), np.array(a) or np.copy(a).  What a plain array "
    "makes of itself (a.copy(), a + 0, a.astype(float)) is plain: write np.array(a) there."
)

OBJECTS = "Arrays of objects and of records keep plain things: take a list, or an array of numbers for each field."

DRAWN = (
    "Draw numbers that depend on nothing, and make of them what is meant: m + s * rng.normal(size=n), "
    "a + (b - a) * rng.random(n), s * rng.exponential(size=n), m + np.linalg.cholesky(c) @ rng.normal(size=n)."
)

INSTEAD = {
    "scipy.linalg": "Of scipy.linalg record solve, inv, det, pinv, cholesky, cho_factor, cho_solve, solve_triangular, "
    "lu, qr, eig, eigvals, eigvalsh, eigh(…, eigvals_only=True) and eigh(…, driver='evd'), svd, svdvals, polar, lstsq, "
    "solve_banded, solveh_banded, cho_solve_banded, solve_toeplitz, solve_circulant, matmul_toeplitz, solve_sylvester "
    "and those of Lyapunov, expm, sqrtm, logm, cosm and the like, norm, block_diag, toeplitz, hankel and circulant; of "
    "np.linalg nearly all.",
    "scipy.special": "Of scipy.special record the functions whose derivative is elementary, or in there too.",
    "scipy.stats": "Statistics of samples record as they are written: np.mean, np.var, np.corrcoef, np.quantile.  "
    "Of distributions pdf, logpdf, pmf, logpmf, cdf, logcdf, sf, logsf, ppf and isf record where the distribution's "
    "formula is written in ufuncs, and rvs with a recorded loc and scale.  Write another one out with scipy.special, "
    "whose gammaln, betaln, xlogy, ndtr, log_ndtr, stdtr, gammainc and betainc record.",
    "scipy.integrate": "quad, dblquad, nquad (in two dimensions), odeint and solve_ivp record, whatever their function "
    "reads, and so do trapezoid, cumulative_trapezoid and simpson (of an odd number of points).  Write another sum "
    "out: "
    "np.polynomial.legendre.leggauss gives the nodes and weights of a quadrature.",
    "scipy.interpolate": "CubicSpline, CubicHermiteSpline, PchipInterpolator, Akima1DInterpolator, PPoly, BSpline, "
    "make_interp_spline, make_lsq_spline, make_smoothing_spline (with lam), interp1d, UnivariateSpline and splrep "
    "(with s=0), splev, RegularGridInterpolator and interpn (linear, nearest, slinear, cubic, quintic), griddata and "
    "LinearNDInterpolator, NearestNDInterpolator, RectBivariateSpline, RBFInterpolator (without neighbors) and "
    "np.interp record, at recorded places too; CubicSpline takes recorded knots.  A root of a spline is that of "
    "scipy.optimize.brentq; of other interpolation, solve for the coefficients with np.linalg.solve.",
    "scipy.optimize": "brentq, bisect, ridder, toms748, newton, root_scalar, root, fsolve, fixed_point, minimize, "
    "minimize_scalar (without constraints), least_squares, leastsq, curve_fit, nnls, fmin, fmin_bfgs, brent and "
    "others, basinhopping, differential_evolution and dual_annealing have derivatives, whatever their function reads.  "
    "Write another problem as one of these, or differentiate at the solution: where F(y, x) = 0, "
    "dy/dx = −(∂F/∂y)⁻¹ ∂F/∂x, in a Function.",
    "scipy.spatial": "cdist, pdist, squareform, euclidean, sqeuclidean, cityblock and chebyshev record, of minkowski "
    "cdist and pdist.  Write another distance with differences: x[:, None] - y.",
    "scipy.sparse": "A constant sparse matrix times a recorded array records (A @ x, x @ A, A.dot(x), spsolve(A, x)); "
    "for anything else, compute with A.toarray().",
    "scipy.signal": "convolve, fftconvolve, correlate, convolve2d and correlate2d record, and the functions of np.fft; "
    "of one array of floats lfilter, sosfilt, filtfilt, sosfiltfilt, savgol_filter, detrend, hilbert, resample, "
    "resample_poly, upfirdn, decimate, czt and zoom_fft, of at most 4096 numbers along the axis.  A recursive filter "
    "with recorded coefficients is a loop; spectra over time are np.fft.rfft of windows, which are those of "
    "np.lib.stride_tricks.sliding_window_view.",
    "scipy.ndimage": "Of arrays of floats record, without output=, convolve, correlate, gaussian_filter, "
    "uniform_filter, sobel, prewitt, laplace, gaussian_laplace, gaussian_gradient_magnitude, maximum_filter, "
    "minimum_filter, median_filter, rank_filter, percentile_filter and those along one axis; map_coordinates, shift, "
    "zoom, affine_transform, rotate (by a recorded angle with reshape=False) and spline_filter.  Other windows are "
    "those of np.lib.stride_tricks.sliding_window_view.",
    "scipy.fft": "The functions of np.fft record, and dct, idct, dst and idst.",
    **dict.fromkeys(
        ("choice()", "permutation()", "permuted()", "shuffle()"),
        "Draw places, and read there: x[rng.choice(len(x))], x[rng.permutation(len(x))].",
    ),
    **dict.fromkeys(
        (
            "normal()",
            "uniform()",
            "exponential()",
            "multivariate_normal()",
            "laplace()",
            "gumbel()",
            "logistic()",
            "rayleigh()",
            "lognormal()",
            "weibull()",
        ),
        DRAWN,
    ),
    "broadcast()": "np.broadcast_shapes(x.shape, y.shape) says the shape, and the arrays of "
    "np.broadcast_arrays(x, y) have the elements.",
    "statistics.": "np.mean, np.median, np.std and np.var record.",
    **dict.fromkeys(
        ("numpy.matrixlib.", "numpy.asmatrix", "numpy.bmat"),
        "Matrices of that class have other rules: take arrays of two axes, x @ y for their *, x.T, and "
        "np.linalg.inv(x) for x.I; np.block puts parts together.",
    ),
    "numpy.lib.as_strided": "It shows memory by any strides, and so elements more than once, or none of the array's: "
    "index with an array of places, as x[i[:, None] + j], or take np.lib.stride_tricks.sliding_window_view(x, n).",
    "complex()": "Write a + 1j * b, which records.",
    "numpy.ma.": "Masked arrays keep plain numbers: write np.where(mask, 0.0, x), or take x[~mask].",
    "type()": "x.dtype.type(v) is NumPy's own class: write np.float64(v) or v.astype(x.dtype).",
    **dict.fromkeys(CLASSES, "A class under a name of its own is NumPy's: write np.{name}(x), or x.astype({name})."),
    **dict.fromkeys(("np.poly", "numpy.lib.poly"), "The classes and functions of numpy.polynomial record."),
    **dict.fromkeys(("np.poly", "np.roots", "np.trim_zeros"), "The classes and functions of numpy.polynomial record."),
}
"""By the room of SciPy's, or the beginning of a name of NumPy's, what to write instead."""


BY_NAME = (
    "So does {name}, called with usual arguments by name or by what keeps it; where it is not found, as what another "
    "function returns, it is SciPy's own, which computes with plain numbers."
)
"""Of a function that records if it is called so."""
NOT_MADE_HERE = "into an array that was not made in this function"


def instead_of(name: str, what: str = "") -> str:
    """What to write in the place of a function, which asked for `what`."""
    if NOT_MADE_HERE in what or "dtype object" in what:
        return f"{OWN}  {OBJECTS}" if NOT_MADE_HERE in what else OBJECTS
    ufunc = next((n for n in ("np", "special") if _is_ufunc(n, name.removesuffix("()"))), None)
    if ufunc and name.endswith("()"):
        return f"It makes a plain array of a list itself, and asks nobody: write {ufunc}.{name[:-2]}(np.array([…]))."
    if name.endswith("(vectorized)"):
        return "np.vectorize(f) records, and calls as often; np.frompyfunc asks for plain objects."
    room = next((room for room in INSTEAD if name.startswith(room)), None)
    if room is None and name.endswith("()") and not hasattr(np, name[:-2]):  # C code, of which a frame tells nothing
        room = next((r for r in INSTEAD if r.startswith("scipy.") and hasattr(sys.modules.get(r), name[:-2])), None)
    if room is not None:
        text = INSTEAD[room].replace("{name}", name.removesuffix("()"))
        listed = room.startswith("scipy.") and name.rpartition(".")[2] in re.findall(r"\w+", text)
        return f"{text}  {BY_NAME.format(name=name)}" if listed else text
    return (
        "Write it with NumPy's own functions on whole arrays; gather numbers with np.array([…]) or np.stack, fill an "
        "array made in this function (np.zeros), or take it from tape.numpy."
    )


def _is_ufunc(room: str, name: str) -> bool:
    module = np if room == "np" else sys.modules.get("scipy.special")
    return isinstance(getattr(module, name, None), np.ufunc)
