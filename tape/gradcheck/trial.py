"""Whether the gradient is wrong at a point, where the point may lie on a kink of the function.

Along one element a kink shows as two slopes, and whatever lies between is accepted.  One along
other directions, as of the median of equal numbers, does not show so.  There the gradients at
points around are asked: at a kink, a gradient is a mean of such as are right nearby (Clarke,
*Optimization and Nonsmooth Analysis*, 1983, theorem 2.5.1).
"""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .checking import Asked, check, elementwise, subject_of
from .derivatives.gradcheck_errors import GradcheckError, Unfit, Unsteady
from .derivatives.grid import Grid
from .derivatives.report import RIGHT, WRONG, Report
from .derivatives.sides import Sides, between_slopes, sides_of
from .derivatives.subject import Array, Subject

UNFIT, REFUSED, KINK = "no gradient to check", "refused", "kink"
AROUND, ENOUGH, DISTANCE, SLACK = 8, 3, 1e-6, 1e-3
"""So many points around are asked, or so many if none is right, so far away relative to the element; gradients differ
so much between them.
"""


POLE = 1e3
"""An output that is so many times that of a point nearby is at a pole, where nothing can be told."""

MANY = 256
"""Jacobians of more elements are not looked at from both sides element by element."""


class TimeIsOver(BaseException):
    """The time is over; no `Exception`, which Hypothesis would take for a failure."""


class Trial:
    """The question of whether a gradient is wrong at a point, with an account of all that were tried.

    Attributes:
        failing: the point at which it was found wrong last, or None.
        tried: how many were tried before the first such, by what came of them.
        refusal: what was raised when a gradient was first refused.
    """

    def __init__(
        self, func: Callable[..., Any], subject: Subject, how: dict[str, Any], examples: int, seconds: float,
        progress: Callable[[int, int], object] | None,
    ):  # fmt: skip
        self.func, self.inputs, self.wrt, self.names = func, subject.inputs, subject.wrt, subject.names
        self.how, self.examples, self.end, self.progress = how, examples, time.monotonic() + seconds, progress
        self.failing: list[Array] | None = None
        self.tried: Counter[str] = Counter()
        self.refusal: str | None = None

    def __call__(self, point: Sequence[Array]) -> bool:
        """Try a point.

        Raises:
            TimeIsOver: when the time is over.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of numbers that overflow and the like, which are tried on purpose
            outcome = self._outcome(point)
        if self.failing is None:  # while the input is made smaller, there is nothing to count
            self.tried[outcome] += 1
            if self.progress is not None:
                self.progress(min(self.tried.total(), self.examples), self.examples)
        if outcome == WRONG:
            self.failing = [np.array(x) for x in point]
        if time.monotonic() > self.end:
            raise TimeIsOver
        return outcome == WRONG

    def examined(self, point: Sequence[Array]) -> tuple[list[Any], Report, str | None, Sides | None]:
        """What is wrong at a point: the inputs, the report or why there is none, the slopes of the worst element."""
        values = self.values(point)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                report = self._check(values, causes=True)
                worst = report.worst
                sides = None if worst is None or worst.ok else sides_of(self._subject(point), worst)
        except GradcheckError as error:
            return values, Report(), str(error), None
        return values, report, None, sides

    def values(self, point: Sequence[Array]) -> list[Any]:
        """All inputs, with those of a point among them."""
        values = list(self.inputs)
        for i, x in zip(self.wrt, point):
            values[i] = np.array(x)[()]
        return values

    def _outcome(self, point: Sequence[Array]) -> str:
        try:
            report = self._check(self.values(point))
        except (Unfit, Unsteady):
            return UNFIT
        except GradcheckError:
            return WRONG
        except Exception as error:
            return self._raised(point, error)
        if report.faults and all(c.ok for c in report.comparisons):
            return WRONG
        if report.wrong:
            return WRONG if self._wrong_around(point) else KINK
        return KINK if any(c.kinks for c in report.comparisons) else RIGHT

    def _raised(self, point: Sequence[Array], error: Exception) -> str:
        """Whether the function could not be computed here, or its gradient alone."""
        subject = self._subject(point)
        try:
            with np.errstate(all="ignore"):
                subject.call(subject.point())
        except Exception:  # the point is outside of its domain
            return UNFIT
        if self.refusal is None:
            self.refusal = f"{type(error).__name__}: {error}"
        return REFUSED

    def _check(self, values: list[Any], causes: bool = False) -> Report:
        return check(self.func, values, wrt=self.wrt, names=self.names, causes=causes, **self.how)

    def _subject(self, point: Sequence[Array]) -> Subject:
        how: dict[str, Any] = {k: self.how[k] for k in ("gradient", "library", "arrays") if k in self.how}
        return subject_of(self.func, self.values(point), Asked(wrt=self.wrt, names=self.names, **how))

    def _wrong_around(self, point: Sequence[Array]) -> bool:
        """Whether the gradient here is no slope, and none that is right around here: more than a kink."""
        here = self._blocks(point)
        if sum(block.size for block in here) <= MANY and self._between(point, here):
            return False
        rng = np.random.default_rng(0)
        right: list[list[Array]] = []
        value = np.abs(self._value(point))
        for n in range(AROUND):
            if n == ENOUGH and not right:
                return True
            beside = [_shifted(x, rng) for x in point]
            try:
                if np.any(value > POLE * np.abs(self._value(beside))):
                    return False
                if self._check(self.values(beside)).ok:
                    right.append(self._blocks(beside))
            except Exception:  # outside of its domain
                continue
        if not right:
            return True
        pairs = zip(here, zip(*right))
        return not all(_among(block, np.array(others)) for block, others in pairs if block.shape == others[0].shape)

    def _value(self, point: Sequence[Array]) -> Array:
        subject = self._subject(point)
        with np.errstate(all="ignore"):
            return subject.flat(subject.point())

    def _between(self, point: Sequence[Array], blocks: list[Array]) -> bool:
        """Whether the Jacobians, one after the other for each mode, lie between the slopes."""
        subject = self._subject(point)
        with np.errstate(all="ignore"):
            subject.call(subject.point())
            grid, n = Grid(subject, subject.point()), len(point)
            return all(between_slopes(grid, blocks[k : k + n]) for k in range(0, len(blocks), n))

    def _blocks(self, point: Sequence[Array]) -> list[Array]:
        """The Jacobian under check, in every mode."""
        subject = self._subject(point)
        with np.errstate(all="ignore"):
            subject.call(subject.point())
            ours = [mode for mode in ("reverse", "forward") if self.how.get(mode, mode == "reverse")]
            modes = [getattr(subject, "mode", None) or mode for mode in ours]
            return [block for mode in modes for block in elementwise(mode)(subject, subject.point()).blocks]


def _shifted(x: Array, rng: np.random.Generator) -> Array:
    """A point nearby, in no special direction."""
    with np.errstate(all="ignore"):
        sizes = np.abs(x)
        largest = np.max(sizes, initial=0.0, where=np.isfinite(sizes))
        sizes = np.where(sizes > 0, sizes, largest if largest > 0 else 1.0)
        step = max(DISTANCE, 1e2 * np.finfo(x.dtype).eps)
        return np.asarray(x + step * sizes * rng.uniform(-1.0, 1.0, x.shape)).astype(x.dtype)


def _among(block: Array, others: Array) -> bool:
    """Whether each derivative lies between those of other points.

    Where these differ, they are only a sample of what there is at a kink: as much again is allowed on both sides.
    """
    low, high = others.min(axis=0), others.max(axis=0)
    with np.errstate(all="ignore"):
        slack = np.maximum(SLACK * np.maximum(np.abs(low), np.abs(high)), high - low)
    return bool(np.all((low - slack <= block) & (block <= high + slack)))
