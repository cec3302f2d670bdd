"""Functions of SciPy's that are linear along an axis of a recorded array."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.fft
from differences import check_smooth
from numpy.testing import assert_allclose
from scipy import ndimage, signal

from tape import func

X = np.sin(np.arange(1.0, 9))
SOS = signal.butter(2, 0.3, output="sos")
B, A = [1.0, 0.5], [1.0, -0.3]
CALLS = {
    "lfilter": lambda x: (signal.lfilter(B, A, x) ** 2).sum(),
    "lfilter of columns": lambda x: (signal.lfilter(B, A, np.outer(x, x[:2]), axis=0) ** 2).sum(),
    "sosfilt": lambda x: (signal.sosfilt(SOS, np.outer(x[:2], x)) ** 2).sum(),
    "filtfilt": lambda x: (signal.filtfilt(B, A, x) ** 2).sum() + (signal.sosfiltfilt(SOS, x, padlen=5) ** 2).sum(),
    "savgol_filter": lambda x: (signal.savgol_filter(x, 5, 2, deriv=1) ** 2).sum() + signal.detrend(x)[2] ** 2,
    "resample_poly": lambda x: (
        (signal.resample_poly(x, 3, 2, padtype="line") ** 2).sum() + (signal.upfirdn([1.0, 2, 1], x, 2) ** 2).sum()
    ),
    "czt": lambda x: (np.abs(signal.czt(x, 5)) ** 2).sum() + np.abs(signal.zoom_fft(x, [0.1, 0.4], 4)[1]),
    "hilbert": lambda x: np.abs(signal.hilbert(x)).sum() + (signal.resample(x, 11) ** 3).sum(),
    "gaussian_filter1d": lambda x: (ndimage.gaussian_filter1d(np.outer(x, x), 1.2, 0) ** 2).sum(),
    "uniform_filter1d": lambda x: (ndimage.uniform_filter1d(x, 3, mode="constant", cval=2.0) ** 2).sum(),
    "convolve1d": lambda x: (ndimage.convolve1d(x, B) * ndimage.correlate1d(x, B, mode="wrap")).sum(),
    "dct": lambda x: (scipy.fft.dct(x, norm="ortho") ** 3).sum() + (scipy.fft.idst(x, 3, 9) ** 2).sum(),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls(name):
    assert_allclose(func.grad_and_value(CALLS[name])(X)[1], CALLS[name](X), rtol=1e-12)
    check_smooth(CALLS[name], X)


def test_edges():
    x = X.astype(np.float32)
    assert func.jacfwd(lambda x: signal.sosfilt(SOS, x))(x).dtype == signal.sosfilt(SOS, x).dtype
    assert func.jacfwd(lambda x: ndimage.gaussian_filter1d(x, 1.0))(x).dtype == np.float32
    with pytest.raises(TypeError, match="recorded coefficients is a loop"):
        func.grad(lambda b: signal.lfilter(b, A, X).sum())(np.array(B))
    with pytest.raises(ValueError, match="polyorder must be less than window_length"):
        func.grad(lambda x: signal.savgol_filter(x, 3, 5).sum())(X)
    with pytest.raises(TypeError, match="resample_poly needs plain numbers"):
        func.grad(lambda x: signal.resample_poly(x, 3, 2, padtype="median").sum())(X)
    with pytest.raises(TypeError, match="lfilter needs plain numbers"):
        func.grad(lambda x: signal.lfilter(B, A, x, zi=[0.0])[0].sum())(X)
