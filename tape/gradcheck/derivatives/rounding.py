"""How much rounding alone may move a function or a gradient.

Of a gradient that is seen by the same sweep over values that are rounded at random.  Each run multiplies the result of
every op by 1 + ε·u, with u random in [−1, 1] and ε the precision of the gradient under check; what the gradients of
several runs differ by is what rounding can do to it (stochastic arithmetic; Vignes, *Mathematics and Computers in
Simulation* 35, 1993).  A gradient through tanh near 1, where 1 − z² has lost its digits, is not wrong.

How noisy a function is along a line shows in its values at a few neighbouring points.  Differences of high order of a
smooth function vanish at points so close; what is left of them is noise: σₖ² = (k!)² / (2k)! · mean((Δᵏf)²) (Hamming's
table of differences; Moré & Wild, *Estimating computational noise*, SIAM J. Sci. Comput. 33, 2011, (2.5)).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from functools import cache
from math import factorial
from typing import Any

import numpy as np

from ops import REGISTRY, Op

from ...base.limits import finfo
from ...base.tensor import Tensor
from ...recording.recorder import CUSTOM, bind
from .grid import Grid, Outputs, Vector
from .hand_written import Written
from .subject import Array, Jacobian, Subject

POINTS = 8
SPACING = 2.0**-40
"""Of the points, relative to the element."""


class Applied(Tensor):
    """A tensor without the ways of its own that a plain tensor has past ``__bind__``: indexing by one integer."""

    __slots__ = ()

    def __getitem__(self, index: Any) -> Any:
        if type(index) is int and self.ndim:
            return REGISTRY["select"](self, index=index)
        return super().__getitem__(index)


def noise_of(line: Outputs, x: Any, scale: float) -> Vector:
    """Per output, the standard deviation of its noise near x; 0 where it is not finite.

    >>> rng = np.random.default_rng(0)
    >>> found = noise_of(lambda x: np.array([x**2 + 1e-10 * rng.standard_normal()]), np.float64(3.0), 1.0)
    >>> bool(2e-11 < found[0] < 5e-10)
    True
    """
    kind, spacing = type(x), (abs(float(x)) or scale) * SPACING
    with np.errstate(all="ignore"):
        differences = np.array([line(kind(x + k * spacing)) for k in range(POINTS)])
        levels = []
        for k in range(1, POINTS - 1):
            differences = np.diff(differences, axis=0)
            levels.append(np.sqrt(factorial(k) ** 2 / factorial(2 * k) * np.mean(differences**2, axis=0)))
        noise: Vector = np.median(levels[len(levels) // 2 :], axis=0)
    return np.where(np.isfinite(noise), noise, 0.0)


RUNS = 6

Derivative = Callable[[Subject, Sequence[Array]], Jacobian]
"""A way to compute the Jacobian under check."""


class Rounded(Applied):
    """A tensor all of whose descendants are rounded at random."""

    __slots__ = ()

    @staticmethod
    def __bind__(op: Op, operands: Sequence[Any], params: dict[str, Any]) -> Any:
        rounded = {id(x): x for x in operands if type(x) is Rounded}.values()
        _become(rounded, Tensor)  # `bind` sends an op back to the class of an operand that has a `__bind__` of its own
        try:
            z = bind(op if op is CUSTOM else _rounding(op), operands, params)
        finally:
            _become(rounded, Rounded)
        results = z if isinstance(z, tuple) else (z,)
        if op is CUSTOM:  # its forward is a program, which is rounded as a whole
            for out in results:
                out._data = SHAKE.get()(out._data)
        _become(results, Rounded)
        return z


def _become(tensors: Iterable[Tensor], kind: type[Tensor]) -> None:
    for tensor in tensors:
        tensor.__class__ = kind


@cache
def _rounding(op: Op) -> Op:
    """The op with a forward function that rounds at random; its records are the op's own."""
    made = object.__new__(Op)
    made.__dict__.update(op.__dict__)
    made.forward = lambda *operands, **params: SHAKE.get()(op.forward(*operands, **params))
    return made


class _Shake:
    """Moves floating-point values by up to `precision`, relatively; leaves others as they are."""

    def __init__(self, precision: float, *, leaves: bool = True):
        self.rng = np.random.default_rng(0)
        self.precision = precision
        self.leaves = leaves

    def __call__(self, x: Any) -> Any:
        if isinstance(x, tuple):
            return tuple(map(self, x))
        if not isinstance(x, (np.ndarray, np.generic)) or x.dtype.kind not in "fc":
            return x
        off = 1.0 + self.precision * self.rng.uniform(-1.0, 1.0, x.shape)
        if x.dtype.kind == "c":
            off = off + 1j * self.precision * self.rng.uniform(-1.0, 1.0, x.shape)
        return np.multiply(x, off).astype(x.dtype)[()]


SHAKE: ContextVar[_Shake] = ContextVar("SHAKE")


class _Shaken(Subject):
    """A subject of which everything computed from its leaves is rounded at random, and maybe they are too."""

    def __init__(self, subject: Subject):
        super().__init__(subject.func, subject.inputs, subject.wrt, subject.names)
        self.kept, self.lenient, self.needs_history = subject.kept, subject.lenient, subject.needs_history

    def arguments(self, arrays: Sequence[Array], *, requires_grad: bool = True) -> list[Any]:
        shake = SHAKE.get()
        moved = [shake(x) for x in arrays] if shake.leaves else arrays
        given = super().arguments(moved, requires_grad=requires_grad)
        for i in self.wrt:
            given[i].__class__ = Rounded
        return given


def spread(subject: Subject, point: Sequence[Array], precision: float, derivative: Derivative) -> list[Array]:
    """Per checked input, by how much the gradients of a few randomly rounded runs differ."""
    if isinstance(subject, Written):
        return _spread_of_written(subject, point, derivative)
    shaken = _Shaken(subject)
    token = SHAKE.set(_Shake(precision))
    try:
        wide = [x.astype(wide_dtype(x.dtype)) for x in point]
        runs = [derivative(shaken, wide).blocks for _ in range(RUNS)]
    except Exception:  # a function may insist on exact values; then nothing is allowed for rounding
        return [np.zeros((1, axis.size)) for axis in subject.input_axes(point)]
    finally:
        SHAKE.reset(token)
    return [_finite(np.max(parts, axis=0) - np.min(parts, axis=0)) for parts in zip(*runs)]


def output_spread(grid: Grid) -> Array:
    """By how much the outputs of a few randomly rounded runs differ; 0 where they cannot be rounded so."""
    shaken = _Shaken(grid.subject)
    precision = max((finfo(x.dtype).eps for x in grid.point), default=0.0)
    token = SHAKE.set(_Shake(precision, leaves=False))
    try:
        runs = [grid.reduce_outputs(shaken.flat(grid.point)) for _ in range(RUNS)]
    except Exception:  # as above
        return np.zeros(1)
    finally:
        SHAKE.reset(token)
    return _finite(np.max(runs, axis=0) - np.min(runs, axis=0))


@cache
def wide_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of the same kind in which numbers have 53 bits."""
    return np.dtype(np.complex128 if dtype.kind == "c" else np.float64)


def _spread_of_written(subject: Written, point: Sequence[Array], derivative: Derivative) -> list[Array]:
    """The same for a function of plain arrays: between the dtype of its inputs and float64, and between neighbours."""
    rng = np.random.default_rng(0)
    here = derivative(subject, point).blocks
    others = [derivative(subject, [x.astype(np.float64) for x in point]).blocks]
    for _ in range(RUNS):
        beside = [np.nextafter(x, rng.choice([-np.inf, np.inf], size=x.shape).astype(x.dtype)) for x in point]
        others.append(derivative(subject, beside).blocks)
    return [_finite(np.max(np.abs(np.array(parts) - x), axis=0)) for x, parts in zip(here, zip(*others))]


def _finite(x: Array) -> Array:
    return np.where(np.isfinite(x), x, 0.0)
