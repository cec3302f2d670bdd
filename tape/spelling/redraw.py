"""Random numbers in place: ``x.normal_()``, ``x.uniform_()``, …, from the generator of `tape.random`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..base.signatures import drawing_as
from ..base.tensor import Tensor
from ..levels.batch import check_redraw
from ..levels.batched import Batched
from ..memory.inplace import change
from ..random import generator as default
from ..recording.calls import method
from ..recording.level import active
from ..recording.recorder import wrap

Draw = Callable[..., Any]


def _drawing(name: str, draw: Draw, doc: str) -> None:
    def redraw(self: Tensor, *args: Any, generator: Any = None, **named: Any) -> Tensor:
        if active():
            check_redraw(self)
        if isinstance(self, Batched) and self._level.alive:  # drawn for all lanes at once
            with self._level.left():
                redraw(self._primal, *args, generator=generator, **named)
            return self

        def compute(tensor: Tensor) -> Tensor:
            shape, dtype = tensor._spec.shape, tensor._spec.dtype
            numbers = draw(generator or default(), shape, *args, **named)
            return wrap(np.asarray(numbers).astype(dtype)[()])

        return change(self, f"{name}_()", compute)

    redraw.__name__ = f"{name}_"
    redraw.__doc__ = f"{doc}  Returns the tensor itself."
    method(drawing_as(redraw, draw))


def _normal(source: Any, shape: Any, mean: float = 0.0, std: float = 1.0) -> Any:
    if std < 0:
        raise RuntimeError(f"normal_() needs a standard deviation that is not negative; got {std}")
    return source.normal(mean, std, shape)


def _uniform(source: Any, shape: Any, a: float = 0.0, b: float = 1.0, **named: Any) -> Any:
    low, high = named.get("from", a), named.get("to", b)
    if low > high:
        raise RuntimeError(f"uniform_() needs bounds in order; got {low} and {high}")
    return source.uniform(low, high, shape)


def _bernoulli(source: Any, shape: Any, p: Any = 0.5) -> Any:
    return source.random(shape) < (p._data if isinstance(p, Tensor) else p)


def _integers(source: Any, shape: Any, low: int = 0, high: int | None = None, **named: Any) -> Any:
    low, high = named.get("from", low), named.get("to", high)
    low, high = (0, low or 1 << 24) if high is None else (low, high)
    return source.integers(low, high, shape)


_drawing("normal", _normal, "Numbers drawn from a normal distribution.")
_drawing("uniform", _uniform, "Numbers drawn evenly from [a, b).")
_drawing("bernoulli", _bernoulli, "1 with probability ``p``, else 0.")
_drawing("random", _integers, "Integers drawn evenly from [low, high).")
_drawing("exponential", lambda g, shape, lambd=1.0: g.exponential(1 / lambd, shape), "Exponential numbers.")
_drawing("log_normal", lambda g, shape, mean=1.0, std=2.0: g.lognormal(mean, std, shape), "Log-normal numbers.")
_drawing("geometric", lambda g, shape, p: g.geometric(p, shape), "Geometrically distributed numbers.")
_drawing(
    "cauchy",
    lambda g, shape, median=0.0, sigma=1.0: median + sigma * g.standard_cauchy(shape),
    "Numbers drawn from Cauchy's distribution.",
)
