"""Special functions under the names of `torch.special`.

>>> import tape
>>> tape.special.expit(tape.tensor([0.0, 1.0]))
tensor([0.5000, 0.7311])
"""

from __future__ import annotations

from typing import Any

from ops import REGISTRY

from .recording.functions import FUNCTIONS, public

SAME = (
    "digamma", "entr", "erf", "erfc", "erfcx", "erfinv", "exp2", "expm1", "i0", "i0e", "i1", "i1e", "log1p",
    "log_ndtr", "log_softmax", "logit", "logsumexp", "ndtr", "ndtri", "polygamma", "round", "sinc", "softmax",
    "xlog1py", "xlogy",
)  # fmt: skip
"""The functions that the library has under the same name."""

expit, gammaln, multigammaln, psi = (FUNCTIONS[name] for name in ("sigmoid", "lgamma", "mvlgamma", "digamma"))


globals().update({name: FUNCTIONS[name] for name in SAME})

OF_SCIPY = {
    "airy_ai": "ai", "bessel_j0": "j0", "bessel_j1": "j1", "bessel_y0": "y0", "bessel_y1": "y1",
    "gammainc": "gammainc", "gammaincc": "gammaincc", "modified_bessel_i0": "i0", "modified_bessel_i1": "i1",
    "modified_bessel_k0": "k0", "modified_bessel_k1": "k1", "scaled_modified_bessel_k0": "k0e",
    "scaled_modified_bessel_k1": "k1e", "zeta": "zeta",
}  # fmt: skip
"""Functions that SciPy has too, by their names there."""


def _renamed(name: str, same: str) -> Any:
    function = public(REGISTRY[same] if same in SAME else REGISTRY[f"special_{same}"])
    function.__name__ = function.__qualname__ = name
    return function


globals().update({name: _renamed(name, same) for name, same in OF_SCIPY.items()})
__all__ = ["expit", "gammaln", "multigammaln", "psi", *SAME, *OF_SCIPY]  # noqa: PLE0604
