"""Both sweeps give the same bits, also beside infinities, zeros of both signs, and nan."""

from __future__ import annotations

import numpy as np
import pytest

import tape

ODD = np.array([0.0, -0.0, 1.0, -1.0, 2.5, np.inf, -np.inf, np.nan, 1e-310, -1e300])
FORMS = {
    **{f"x**{k}": (lambda x, k=k: x**k) for k in (0.5, 1.5, 2.5, -0.5, 2.0, 3.0, -1.0, 0.0, 1.0, 4.0)},
    **{f"x**tensor({k})": (lambda x, k=k: x ** tape.tensor(k)) for k in (0.5, 1.5, 2.0)},
    **{f"{k}**x": (lambda x, k=k: k**x) for k in (0.5, 1.5, -2.0, 0.0)},
    "x**x": lambda x: x**x, "fmax": lambda x: tape.fmax(x, x.flip(0) if x.ndim else -x),
    "maximum": lambda x: tape.maximum(x, -x), "hypot": lambda x: tape.hypot(x, x + 1.0), "1/x": lambda x: 1.0 / x,
    "atan2": lambda x: tape.atan2(x, -x), "xlogy": lambda x: tape.xlogy(x, x), "sqrt": tape.sqrt, "log": tape.log,
}  # fmt: skip


def slopes(f, x, jitted, monkeypatch):
    with monkeypatch.context() as patch:
        if not jitted:
            patch.setattr("tape.backprop.backward.jitted", lambda room: None)
        x = tape.tensor(x, requires_grad=True)
        return tape.autograd.grad(f(x).sum(), x)[0].numpy()


@pytest.mark.parametrize("name", FORMS)
def test_slopes_at_odd_numbers(name, monkeypatch):
    with np.errstate(all="ignore"):
        for x in (ODD, *ODD, *ODD.reshape(-1, 1)):
            found = [slopes(FORMS[name], x, jitted, monkeypatch) for jitted in (False, True)]
            signs = [np.signbit(np.where(np.isnan(z), 0.0, z)).tolist() for z in found]
            np.testing.assert_array_equal(*found)
            assert signs[0] == signs[1], (name, x)


@pytest.mark.parametrize("x", [np.float64(-np.inf), np.full(3, -np.inf), np.full(1, -np.inf)])
def test_the_slope_of_a_power_of_three_halves_is_a_root(x, monkeypatch):
    compiled = tape.compile(tape.func.grad(lambda x: (x**1.5).sum()))
    with np.errstate(all="ignore"):
        for found in (*(slopes(FORMS["x**1.5"], x, jitted, monkeypatch) for jitted in (False, True)), compiled(x)):
            assert np.isnan(found).all()
