"""Special functions against values in 50 digits: to a few units in the last place, on every path."""

from __future__ import annotations

import numpy as np
import pytest

import tape

TABLE = {
    "lgamma": [
        (1e-300, 690.7755278982137), (1e-05, 11.512919692895826), (0.3, 1.0957979948180756),
        (0.5, 0.5723649429247001), (0.6, 0.39823385806923495), (0.75, 0.20328095143129538),
        (0.9, 0.06637623973474295), (0.999999999, 5.77215649399226e-10), (1.000000000001, -5.772669797094564e-13),
        (1.001, -0.0005763935982833062), (1.2, -0.08537409000331583), (1.49, -0.12110025854219772),
        (1.5, -0.12078223763524522), (1.6895561275356663, -0.09794236895356935), (1.9, -0.03898427592308336),
        (1.999999999999999, -4.693849032771555e-16), (2.0000000001, 4.2278437011204657e-11),
        (2.1, 0.04543773854448518), (2.49, 0.2776758614151702), (2.6, 0.35741186354897986), (3.7, 1.428072326665388),
        (12.5, 18.734347511936445), (170.3, 702.9773854513282),
    ],
    "digamma": [
        (1e-05, -100000.57719921567), (0.3, -3.502524222200133), (1.0, -0.5772156649015329),
        (1.4616321449683, -6.02550050576728e-14), (1.46163214496837, 7.427911395089404e-15),
        (1.4616321449, -6.615230062364537e-11), (1.5, 0.03648997397857652), (2.5, 0.7031566406452432),
        (30.0, 3.384438132685525), (1000000.0, 13.815510057964191), (-0.3, 2.113309779635399),
        (-1.25, 3.714139120213528), (-2.75, -1.959055264977997), (-8.69523449448112, 0.007769512072755842),
        (-13.999996190568297, -262503.67248097673), (-30.0001, 10003.417445780899), (-5.5, 1.792911330399933),
    ],
    "erfc": [
        (-3.0, 1.9999779095030015), (-0.5, 1.5204998778130465), (0.3, 0.6713732405408726),
        (0.9, 0.20309178757716786), (1.0001, 0.1572577004514797), (1.5, 0.033894853524689274),
        (3.3, 3.0577097964381654e-06), (5.9, 7.190409783550478e-17), (8.2, 4.290212022762982e-31),
        (15.44894193763875, 8.102910512459515e-106), (23.4708066817019, 1.3705514929451433e-241),
        (26.1, 3.081217493314593e-298),
    ],
    "ndtr": [
        (-36.90699443574779, 1.784549764960481e-298), (-30.3, 5.731723503315496e-202),
        (-20.7, 1.7318518790197378e-95), (-12.1, 5.28055876743356e-34), (-5.5, 1.8989562465887718e-08),
        (-2.2, 0.013903447513498604), (-1.3044749150627037, 0.096035853482324), (-1.0001, 0.15863105806885877),
        (-0.7, 0.24196365222307303), (0.0, 0.5), (0.4, 0.6554217416103242), (3.3, 0.9995165758576162),
        (8.0, 0.9999999999999993),
    ],
    "log_ndtr": [
        (-300.5, -45156.74939736104), (-36.9, -685.3328831653506), (-5.2, -16.121659361745767),
        (-1.1, -1.997558846986297), (0.0, -0.6931471805599453), (0.7, -0.2770239422771313),
        (1.3360642113024142, -0.09515075005295483), (3.1, -0.0009680716434015497), (8.8, -6.840807685935546e-19),
        (20.3, -6.429244467698346e-92), (36.98091159318034, -1.16062816661847e-299),
    ],
    "logit": [
        (1e-300, -690.7755278982137), (1e-05, -11.512915464920228), (0.2, -1.3862943611198906),
        (0.29, -0.8953840470548415), (0.31, -0.8001193001121132), (0.4, -0.4054651081081643),
        (0.49999, -4.0000000005373336e-05), (0.5000000044062364, 1.7624945503058598e-08),
        (0.5000031011689265, 1.2404675706338156e-05), (0.6, 0.4054651081081643), (0.69, 0.8001193001121129),
        (0.71, 0.8953840470548412), (0.999, 6.906754778648553), (0.999999999999, 27.63104323789236),
    ],
}  # fmt: skip
"""By function, numbers and what it gives there, computed by mpmath in 50 digits and rounded once."""

BOUND = {"digamma": 64, "erfc": 8, "lgamma": 8, "log_ndtr": 8, "logit": 4, "ndtr": 8}
"""Units in the last place; of negative numbers ψ is a difference."""


def function(name):
    return getattr(tape, name, None) or getattr(tape.special, name)


def ways(name):
    f = function(name)
    yield "eager", lambda x: f(tape.tensor(x)).numpy()
    yield "many", lambda x: f(tape.tensor(np.resize(x, 5000))).numpy()[: x.size]
    yield "numbers", lambda x: np.array([f(tape.tensor(v)).item() for v in x])
    for tier in ("interpret", "quick", "optimised"):
        yield tier, lambda x, tier=tier: tape.compile(f, tier=tier)(tape.tensor(x)).numpy()
        yield f"{tier}, numbers", lambda x, tier=tier: np.array(list(map(tape.compile(f, tier=tier), x)), float)


@pytest.mark.parametrize("name", TABLE)
def test_values(name):
    x, expected = (np.array(column) for column in zip(*TABLE[name], strict=True))
    for way, call in ways(name):
        error = np.abs(call(x) - expected) / np.spacing(np.abs(expected))
        assert error.max() <= BOUND[name], (way, x[error.argmax()], error.max())


@pytest.mark.parametrize("name", TABLE)
def test_single_precision_and_dtypes_are_scipys(name):
    scipy = pytest.importorskip("scipy.special")
    theirs = getattr(scipy, {"lgamma": "gammaln", "digamma": "psi"}.get(name, name))
    for dtype in ("float32", "float64", "int64"):
        x = np.array([1, 2], dtype) if dtype == "int64" else np.array([0.25, 0.5, 0.75], dtype)
        with np.errstate(all="ignore"):
            found, expected = function(name)(tape.tensor(x)).numpy(), theirs(x)
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-6 if dtype == "float32" else 1e-14, atol=1e-300)


@pytest.mark.parametrize("name", TABLE)
def test_what_is_not_finite(name):
    scipy = pytest.importorskip("scipy.special")
    theirs = getattr(scipy, {"lgamma": "gammaln", "digamma": "psi"}.get(name, name))
    x = np.array([0.0, -0.0, 1.0, 2.0, -1.0, -2.0, -1e20, 1e20, 700.0, -700.0, np.inf, -np.inf, np.nan])
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(function(name)(tape.tensor(x)).numpy(), theirs(x), rtol=1e-13)
