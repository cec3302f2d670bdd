"""Special functions under the names of `torch.special`.

>>> import tape
>>> tape.special.expit(tape.tensor([0.0, 1.0]))
tensor([0.5000, 0.7311])
"""

from __future__ import annotations

from typing import Any

import ops

from .functions import FUNCTIONS
from .record import as_tensor
from .tensor import Tensor

SAME = (
    "digamma", "entr", "erf", "erfc", "erfcx", "erfinv", "exp2", "expm1", "i0", "i0e", "i1", "i1e", "log1p",
    "log_ndtr", "log_softmax", "logit", "logsumexp", "ndtr", "ndtri", "round", "sinc", "softmax", "xlog1py", "xlogy",
)  # fmt: skip
"""The functions that the library has under the same name."""

expit, gammaln, multigammaln, psi = (FUNCTIONS[name] for name in ("sigmoid", "lgamma", "mvlgamma", "digamma"))


def polygamma(n: int, input: Any) -> Tensor:
    """The n-th derivative of `digamma`."""
    return as_tensor(ops.polygamma(input, n=n) if n else ops.digamma(input))


globals().update({name: FUNCTIONS[name] for name in SAME})
__all__ = ["expit", "gammaln", "multigammaln", "polygamma", "psi", *SAME]  # noqa: PLE0604
