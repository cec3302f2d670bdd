"""Discrete Fourier transforms, in PyTorch's (``dim``) and NumPy's (``axis``) words: `tape.fft.fft`, `rfft`, `fftn`, ….

>>> import tape
>>> x = tape.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
>>> tape.fft.rfft(x)
tensor([10.+0.j, -2.+2.j, -2.+0.j], grad_fn=<FftR2CBackward0>)
>>> tape.fft.rfft(x).abs().square().sum().backward()
>>> x.grad
tensor([12., 20., 20., 28.])
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ops import REGISTRY

from .base.dtypes import check_dtype, get_default_dtype
from .base.tensor import Tensor
from .recording.functions import TRANSFORMS, public
from .recording.leaf import leaf

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...  # the transforms, which are taken from the registry


def _frequencies(name: str, make: Any, what: str) -> Any:
    def frequencies(n: int, d: float = 1.0, *, dtype: Any = None, requires_grad: bool = False) -> Tensor:
        if n < 1:
            raise ValueError(f"{name} needs at least one element; got n={n}")
        return leaf(make(n, d).astype(check_dtype(dtype) or get_default_dtype()), requires_grad)

    frequencies.__name__ = frequencies.__qualname__ = name
    frequencies.__doc__ = f"The frequencies, in cycles per unit, that {what} n samples taken d apart tells apart."
    return frequencies


fftfreq = _frequencies("fftfreq", np.fft.fftfreq, "`fft` of")
rfftfreq = _frequencies("rfftfreq", np.fft.rfftfreq, "`rfft` of")

__all__ = ["fftfreq", "rfftfreq"]
for _op in REGISTRY.values():
    if _op.kind == "composite" and _op.name.startswith(TRANSFORMS):
        _function = public(_op)
        _function.__name__ = _function.__qualname__ = _op.name.removeprefix(TRANSFORMS)
        _function.__module__ = __name__
        globals()[_function.__name__] = _function
        __all__ += [_function.__name__]  # noqa: PLE0604
