"""What to write instead of a function that does not record, by its name."""

from __future__ import annotations

import numpy as np

CLASSES = tuple(
    f"{name}()" for name, kind in vars(np).items() if isinstance(kind, type) and issubclass(kind, np.generic)
)
"""How NumPy's classes of numbers are called by bare names."""

OWN = (
    "Arrays that this function makes take recorded values: np.zeros(…), np.array(a) or np.copy(a).  What a plain array "
    "makes of itself (a.copy(), a + 0, a.astype(float)) is plain: write np.array(a) there."
)

NEXT = (
    "It goes to the next number that a float can be, which is no function of real numbers and has no derivative.  Add "
    "what is meant: x + np.spacing(tape.stop_gradient(x))."
)

INSTEAD = {
    "scipy.linalg": "Of scipy.linalg record solve, inv, det, pinv, cholesky, cho_factor, cho_solve, solve_triangular, "
    "lu, qr, eigvalsh, svdvals, expm, norm, block_diag, toeplitz, hankel and circulant; of np.linalg nearly all.",
    "scipy.special": "Of scipy.special record the functions whose derivative is elementary, or in there too.",
    "scipy.stats": "pdf, logpdf, pmf, logpmf, cdf, logcdf, sf, logsf, ppf and isf record where the distribution's "
    "formula is written in ufuncs, and rvs with a recorded loc and scale.  Write another one out with scipy.special, "
    "whose gammaln, betaln, xlogy, ndtr, log_ndtr, stdtr, gammainc and betainc record.",
    "scipy.integrate": "Write the sum or the steps out: np.polynomial.legendre.leggauss gives the nodes and weights of "
    "a quadrature, trapezoid, cumulative_trapezoid and simpson (of an odd number of points) record, and so does a loop "
    "of Runge and Kutta's steps.",
    "scipy.interpolate": "np.interp records; of a spline through recorded values, solve for the coefficients with "
    "np.linalg.solve.",
    "scipy.optimize": "Differentiate at the solution: where F(y, x) = 0, dy/dx = −(∂F/∂y)⁻¹ ∂F/∂x, in a "
    "tape.autograd.Function.",
    "scipy.sparse": "A constant sparse matrix times a recorded array records (A @ x, x @ A, A.dot(x), spsolve(A, x)); "
    "for anything else, compute with A.toarray().",
    "scipy.fft": "The functions of np.fft record.",
    "np.nextafter": NEXT,
    "nextafter()": NEXT,
    "numpy.lib.as_strided": "It shows memory by any strides, and so elements more than once, or none of the array's: "
    "index with an array of places, as x[i[:, None] + j], or take np.lib.stride_tricks.sliding_window_view(x, n).",
    "numpy.ma.": "Masked arrays keep plain numbers: write np.where(mask, 0.0, x), or take x[~mask].",
    "type()": "x.dtype.type(v) is NumPy's own class: write np.float64(v) or v.astype(x.dtype).",
    **dict.fromkeys(CLASSES, "A class under a name of its own is NumPy's: write np.{name}(x), or x.astype({name})."),
    **dict.fromkeys(("np.poly", "numpy.lib.poly"), "The classes and functions of numpy.polynomial record."),
    **dict.fromkeys(("np.poly", "np.roots", "np.trim_zeros"), "The classes and functions of numpy.polynomial record."),
}
"""By the room of SciPy's, or the beginning of a name of NumPy's, what to write instead."""


def instead_of(name: str) -> str:
    """What to write in the place of a function."""
    room = next((room for room in INSTEAD if name.startswith(room)), None)
    if room is not None:
        return INSTEAD[room].replace("{name}", name.removesuffix("()"))
    return (
        "Write it with NumPy's own functions on whole arrays; gather numbers with np.array([…]) or np.stack, fill an "
        "array made in this function (np.zeros), or take it from tape.numpy."
    )
