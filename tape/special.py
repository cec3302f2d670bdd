"""Special functions under the names of `torch.special`.

>>> import tape
>>> tape.special.expit(tape.tensor([0.0, 1.0]))
tensor([0.5000, 0.7311])
"""

from __future__ import annotations

from .recording.functions import FUNCTIONS

SAME = (
    "digamma", "entr", "erf", "erfc", "erfcx", "erfinv", "exp2", "expm1", "i0", "i0e", "i1", "i1e", "log1p",
    "log_ndtr", "log_softmax", "logit", "logsumexp", "ndtr", "ndtri", "polygamma", "round", "sinc", "softmax",
    "xlog1py", "xlogy",
)  # fmt: skip
"""The functions that the library has under the same name."""

expit, gammaln, multigammaln, psi = (FUNCTIONS[name] for name in ("sigmoid", "lgamma", "mvlgamma", "digamma"))


globals().update({name: FUNCTIONS[name] for name in SAME})
__all__ = ["expit", "gammaln", "multigammaln", "psi", *SAME]  # noqa: PLE0604
