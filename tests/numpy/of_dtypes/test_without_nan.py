"""Functions without nan, and `np.unwrap`, of numbers of each dtype: small do not wrap, large stay exact."""

from __future__ import annotations

import numpy as np
import pytest
from outcomes import outcome, same

import tape

DTYPES = "? i1 u1 i2 u2 i4 u4 i8 u8 f2 f4 f8 c8 c16".split()  # noqa: SIM905
PROGRAMS = {
    "nanmedian": lambda v: np.nanmedian(v), "rows": lambda v: np.nanmedian(v.reshape(2, 2), 1, keepdims=True),
    "nanquantile": lambda v: np.nanquantile(v, 0.4), "shares": lambda v: np.nanquantile(v, [0.4, 0.1]),
    "nanpercentile": lambda v: np.nanpercentile(v, 30), "lower": lambda v: np.nanquantile(v, 0.4, method="lower"),
    "beyond": lambda v: np.nanquantile(v, 1.4), "nancumsum": lambda v: np.nancumsum(v),
    "nancumprod": lambda v: np.nancumprod(v.reshape(2, 2), axis=1), "mean": lambda v: np.nanmean(v),
    "weighted": lambda v: np.nanquantile(v, [0.4], weights=[1, 2, 3, 4], method="inverted_cdf"),
    "percentile": lambda v: np.percentile(v, [40], weights=[1, 2, 3, 4], method="inverted_cdf"),
    "weight of one": lambda v: np.quantile(v, 0.4, weights=[1, 2, 3, 4], method="inverted_cdf"),
    "of rows": lambda v: np.nanquantile(v.reshape(1, 4), 0.4, 1, weights=[1, 2, 3, 4], method="inverted_cdf"),
    **{f"share of {k}": lambda v, k=k: np.nanquantile(v, k(0.4)) for k in (np.float16, np.float32, np.array)},
    **{f"percents {k}": lambda v, k=k: np.nanpercentile(v, k(40)) for k in (np.float16, np.int64, np.array)},
    "empty": lambda v: np.nanquantile(v[:0], [0.4, 0.1]),
    "unwrap": lambda v: np.unwrap(v), "whole": lambda v: np.unwrap(v, period=256),
    "odd": lambda v: np.unwrap(v.reshape(2, 2), axis=0, period=7), "discont": lambda v: np.unwrap(v, 5, period=7),
}  # fmt: skip


def near(dtype):
    return 4 * np.finfo(dtype).eps, 0


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.filterwarnings("ignore")
def test_they_give_what_numpys_give(dtype):
    kind = np.dtype(dtype)
    largest = np.iinfo(kind).max - 5 if kind.kind in "iu" else 0
    for v in (np.array([0.3, 7.0, 2.0, 4.5]).astype(kind), np.array([0, 3, 1, 2], kind) + kind.type(largest)):
        for name, f in PROGRAMS.items():
            expected, fast = outcome(f, v), tape.compile(f)
            for _ in range(2):
                assert same(found := outcome(fast, v), expected, near), (name, v, found, expected)


@pytest.mark.parametrize("dtype", ["f2", "f4"])
@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "ihfft", "fft2", "ifft2", "rfft2", "fftn", "ifftn", "irfft2"])
def test_fourier_transforms_round_where_numpys_do(name, norm, dtype):
    transform, x = getattr(np.fft, name), (np.arange(12.0).reshape(3, 4) * 0.7).astype(dtype)
    for f in (lambda x: transform(x, norm=norm), lambda x: transform(x.T, axes=(0,), norm=norm) if "n" in name else x):
        fast = tape.compile(f)
        for _ in range(2):
            assert same(fast(x), f(x), lambda dtype: (4 * np.finfo(dtype).eps, 1e-6))
