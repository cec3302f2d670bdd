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

from collections.abc import Sequence
from functools import partial, wraps
from typing import TYPE_CHECKING, Any

import numpy as np

from ops import REGISTRY
from ops.core.axis_order import Order, empty_in, order_of

from .base.dtypes import check_dtype, get_default_dtype
from .base.tensor import Tensor
from .recording.functions import TRANSFORMS, public
from .recording.laying import giving_rows, laid_by
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


def _laying(transform: Any) -> Any:
    """A transform whose results lie as PyTorch's do."""
    name, dims = transform.__name__, {"2": (-2, -1), "n": None}.get(transform.__name__[-1], -1)
    if name.endswith("shift"):
        return giving_rows(transform)

    @wraps(transform)
    def function(*args: Any, **kwargs: Any) -> Tensor:
        along = [kwargs[key] for key in ("dim", "axis", "axes") if key in kwargs] or list(args[2:3]) or [dims]
        size = kwargs.get("s", args[1] if len(args) > 1 else None)
        z: Tensor = transform(*args, **kwargs)
        if name.endswith("fftn") and name[0] in "fi" and not z._spec.complex:  # over no dimensions
            z = z.to(np.result_type(z.dtype, np.complex64))
        return laid_by(
            z, args[:1] or list(kwargs.values())[:1], partial(_order, along[0], size, "r" in name or "h" in name)
        )

    return function


def _order(along: Any, size: Any, real: bool, shapes: Sequence[Any], strides: Sequence[Sequence[int]]) -> Order:
    """The order of a transform: in front the axes that are not transformed, each part by the length of its steps.

    Of a transform from or to real numbers the axis that is halved stands last.
    """
    steps = strides[0]
    if not real:  # numbers are made complex first
        steps = empty_in(order_of(shapes[0], strides), shapes[0], np.int8).strides
    if along is None:
        along = (
            range(len(steps)) if size is None or isinstance(size, int) else range(len(steps) - len(size), len(steps))
        )
    axes = [axis % len(steps) for axis in ((along,) if isinstance(along, int) else along)]
    longest = lambda axis: -abs(steps[axis])  # noqa: E731
    others = sorted([axis for axis in range(len(steps)) if axis not in axes], key=longest)
    halved = axes[-1:] if real else []
    return (*others, *sorted(axes[: len(axes) - len(halved)], key=longest), *halved)


__all__ = ["fftfreq", "rfftfreq"]
for _op in REGISTRY.values():
    if _op.kind == "composite" and _op.name.startswith(TRANSFORMS):
        _function = public(_op)
        _function.__name__ = _function.__qualname__ = _op.name.removeprefix(TRANSFORMS)
        _function = _laying(_function)
        _function.__module__ = __name__
        globals()[_function.__name__] = _function
        __all__ += [_function.__name__]  # noqa: PLE0604
