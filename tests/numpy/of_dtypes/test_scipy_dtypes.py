"""SciPy's functions of numbers of each dtype compute in the dtypes in which SciPy does, and raise what it raises."""

from __future__ import annotations

import numpy as np
import pytest
from outcomes import outcome, same

import tape
from ops import REGISTRY

sp = pytest.importorskip("scipy.special")
sl = pytest.importorskip("scipy.linalg")
st = pytest.importorskip("scipy.stats")

DTYPES = "? i1 u1 i2 u2 i4 u8 i8 f2 f4 f8 c8 c16".split()  # noqa: SIM905


def ufunc(f):
    return {
        1: lambda v: f(v), 2: lambda v: f(v, v[::-1]), 3: lambda v: f(v, v[::-1], v),
    }.get(f.nin, lambda v: f(v, v, v, v))  # fmt: skip


NAMES = sorted({name for op in REGISTRY.values() for name in op.scipy})
UFUNCS = [f for name in NAMES if isinstance(f := getattr(sp, name, None), np.ufunc)]
PROGRAMS = """
sp.logsumexp(v) | sp.log_softmax(v) | sp.softmax(v) | sp.polygamma(1, v) | sp.polygamma(0, v) | sp.multigammaln(v, 1)
sp.factorial(v) | sp.comb(v, 2) | sp.comb(v, v) | sp.log1p(v[0]) + sp.expit(v[1]) | st.norm.cdf(v) | st.norm.pdf(v)
st.norm.logsf(v) | st.norm.logpdf(v) | st.expon.cdf(v, 0, v[1]) | st.expon.pdf(v, 0, v[1]) | st.norm.ppf(v)
st.poisson.pmf(v, 2) | st.gamma.pdf(v, v) | sl.inv(M) | sl.det(M) | sl.qr(M) | sl.svdvals(M) | sl.eigvalsh(M)
sl.cholesky(M) | sl.pinv(M) | sl.lu(M) | sl.lu_factor(M) | sl.expm(M) | sl.norm(M) | sl.solve(M, v)
sl.solve_triangular(M, v) | sl.cho_solve(sl.cho_factor(M), v) | sl.lu_solve(sl.lu_factor(M), v) | sl.block_diag(v, M)
sl.toeplitz(v) | sl.hankel(v) | sl.circulant(v) | sl.solve_triangular(M.astype('f4'), v)
"""


def program(text):
    text = text.strip().replace("M", "(np.diag(v) + np.eye(2, dtype=v.dtype))")
    return eval(f"lambda v: {text}", {"np": np, "sp": sp, "sl": sl, "st": st})


FUNCTIONS = {f.__name__: ufunc(f) for f in UFUNCS} | {
    text.strip(): program(text) for line in PROGRAMS.strip().splitlines() for text in line.split(" | ")
}


def near(dtype):
    return 1e-12 if dtype.char in "dD" else 3e-3, 1e-14


def near_32_bits(dtype):
    """Numbers in 64 bits, made of some in 32: SciPy 1.18 decomposes matrices of these in an order of its own."""
    return 1e-7 if dtype.char in "dD" else 3e-3, 1e-14


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.filterwarnings("ignore")
def test_they_give_what_scipys_give(dtype):
    v = np.array([0.1, 0.7] if dtype[0] in "fc" else [3, 1]).astype(dtype)
    for name, f in FUNCTIONS.items():
        expected, fast = outcome(f, v), tape.compile(f)
        nearness = near_32_bits if name == "sl.det(M)" and dtype in ("f4", "c8") else near
        for _ in range(2):
            assert same(found := outcome(fast, v), expected, nearness), (name, v, found, expected)


def test_no_number_wraps_in_lanes():
    v = np.array([[3, 1], [1, 2]], np.uint8)
    for f in (sp.log_expit, sp.logit, sp.log1p, sp.expit):
        with np.errstate(all="ignore"):
            assert same(tape.func.vmap(lambda x, f=f: f(x))(v), f(v))
