"""Numerical derivatives with a step chosen for each element, and an honest estimate of their error.

The plain central difference at step h = ε^(1/3)·scale balances truncation, which grows as h², with
rounding, which grows as 1/h (Nocedal & Wright, *Numerical Optimization*, 8.1).  It settles most
elements.  Where it disagrees with the gradient under check, `settle` looks closer: differences at
a ladder of steps, Richardson's extrapolation, and the entry whose own error is smallest among
those that smaller steps do not contradict (after Ridders, *Advances in Engineering Software* 4,
1982, who has no defence against noise and aliasing; see `_errors` and `_contradicted`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .grid import ROUNDING, Outputs, Vector, pair

RATIO = 4.0
ORDERS = 3
AT_ONCE = 512
"""So many numbers are compared at once with those at smaller steps; all of one step are."""
LEAST_REACH, LEAST_STEP = 1e-13, 1e-290
COMPLEX_STEP, COMPLEX_ERROR = 1e-100, 1e-12


@dataclass
class Estimate:
    """What is known about the derivative of every output along one element.

    Attributes:
        value: the derivative.
        error: how far it may be off.
        step: the step it was taken with.
        low, high: the interval of one-sided slopes at a kink, else equal to `value`.
        other: the complex step's derivative where it differs from `value` and no difference at a step
            well below the element's size speaks against it; else nan.
        method: ``"central"``, ``"richardson"``, ``"complex step"`` or ``"kink"``, per output.
    """

    value: Vector
    error: Vector
    step: Vector
    low: Vector
    high: Vector
    other: Vector
    method: np.ndarray[Any, Any]


def settle(
    line: Outputs, x: Any, scale: float, eps: Vector, complex_line: Outputs | None = None, noise: Vector | float = 0.0
) -> Estimate:
    """The derivative of every output along one element, as well as the function allows.

    `noise` is by how much the outputs are known to be off, where rounding inside the function is
    more than the precision `eps` of an output of that size.

    `complex_line` evaluates the function at complex numbers (None or an exception where it
    cannot): for an analytic function Im f(x + ih)/h has no cancellation at all.  It sharpens the
    value where it agrees with the differences; ``abs`` and its like are not analytic.  It is the
    `Estimate.other` possibility where the function's local behaviour is lost in rounding.
    """
    steps = _ladder(float(x), scale, float(np.max(eps, initial=0.0)))
    pairs = [pair(line, x, h, eps, noise) for h in steps]
    differences = np.array([p[0].value for p in pairs])
    rounding = np.array([p[0].rounding for p in pairs])
    taken = np.array([p[0].step for p in pairs])
    reach = max(1e-2 * (abs(float(x)) or scale), LEAST_REACH)
    found, errors = _best(differences, rounding, taken, reach)
    _mark_kinks(found, line(x), pairs, taken, rounding, reach)
    if complex_line is not None:
        near = taken < 10 * reach
        _refine_by_complex_step(found, complex_line, float(x), scale, differences[near], errors[near])
    return found


def _ladder(x: float, scale: float, eps: float) -> list[float]:
    """Steps from half the size of the element and its array, or of 1, down to where only rounding is left."""
    top = 0.5 * max(abs(x), scale, 1.0)
    bottom = max(16 * eps * abs(x), eps * min(scale, 1.0), LEAST_STEP)
    count = int(np.log(top / bottom) / np.log(RATIO)) + 1
    return [top * RATIO**-k for k in range(max(count, 6))]


def _best(
    differences: np.ndarray, rounding: np.ndarray, steps: np.ndarray, reach: float
) -> tuple[Estimate, np.ndarray]:
    """Per output, the entry of the extrapolation table with the smallest error.

    Also gives the error of every plain difference.
    """
    with np.errstate(all="ignore"):
        table = [np.where(_staircase(differences, steps, reach), np.nan, differences)]
        for order in range(1, ORDERS):
            weight = RATIO ** (2 * order)
            table.append((weight * table[-1][1:] - table[-1][:-1]) / (weight - 1))
        errors = _errors(table, rounding, steps)
        trusted = [_contradicted(t, e, table[0], errors[0]) for t, e in zip(table, errors)]
    values, found = np.concatenate(table), np.concatenate(trusted)
    used = np.concatenate([steps[: len(t)] for t in table])
    orders = np.repeat(np.arange(ORDERS), [len(t) for t in table])
    at, each = np.argmin(found, axis=0), np.arange(values.shape[1])
    value, error = values[at, each], found[at, each]
    value = np.where(np.isfinite(error), value, np.nan)
    method = np.where(orders[at] > 0, "richardson", "central").astype(object)
    estimate = Estimate(value, error, used[at], value.copy(), value.copy(), np.full_like(value, np.nan), method)
    return estimate, errors[0]


def _errors(table: list[np.ndarray], rounding: np.ndarray, steps: np.ndarray) -> list[np.ndarray]:
    """Error of each entry: of three neighbours' spread, rounding, and the noise seen at smaller steps.

    Rounding is bounded from the size of the outputs.  A function that cancels inside is noisier
    than that; what the differences at all smaller steps disagree by, times their step, says by how much.
    """
    spread = np.abs(np.diff(table[0], axis=0)) * steps[1:, None]
    spread = np.where(np.isfinite(spread), spread, 0.0)
    noise = np.zeros_like(table[0])
    noise[:-1] = np.maximum.accumulate(spread[::-1], axis=0)[::-1]
    noise[:-1] = np.concatenate([noise[1:-1], noise[-1:]])
    errors = []
    for order, entries in enumerate(table):
        n = len(entries)
        away = np.full_like(entries, np.inf)
        near = np.abs(np.diff(entries, axis=0))
        away[:-2] = np.maximum(near[:-1], near[1:])
        floor = np.maximum(rounding[order : order + n], noise[:n] / steps[order : order + n, None])
        error = np.maximum(away, floor)
        errors.append(np.where(np.isfinite(entries) & np.isfinite(error), error, np.inf))
    return errors


def _staircase(differences: np.ndarray, steps: np.ndarray, reach: float) -> np.ndarray:
    """Differences that vanish only because the step was lost to rounding inside the function.

    They are zero from the smallest step up to one well below the size of the element, and not
    above; a function that is truly constant here is so for more than rounding's reach.
    """
    quiet = np.logical_and.accumulate((differences == 0)[::-1], axis=0)[::-1]
    extent = np.max(np.where(quiet, steps[:, None], 0.0), axis=0)
    moves = np.any(np.isfinite(differences) & (differences != 0), axis=0)
    left = np.sum(np.isfinite(differences) & ~quiet, axis=0) > ORDERS
    lost: np.ndarray = quiet & (moves & left & (extent < reach))
    return lost


def _contradicted(entries: np.ndarray, errors: np.ndarray, plain: np.ndarray, plain_errors: np.ndarray) -> np.ndarray:
    """Errors, raised where the plain difference at a smaller step disagrees by more than both errors.

    A step of many periods of an oscillation gives consistent zeros; smaller steps know better.
    """
    raised = errors.copy()
    for k, rows, smaller in _parts(entries, len(plain), 1):
        gap = np.abs(entries[rows, None] - plain[k + 1 :]) / ROUNDING - plain_errors[k + 1 :]
        gap = np.where(smaller & np.isfinite(gap), gap, 0.0)
        raised[rows] = np.maximum(errors[rows], np.max(gap, axis=1, initial=0.0))
    return raised


def _parts(table: np.ndarray, steps: int, apart: int) -> Iterator[tuple[int, slice, np.ndarray]]:
    """The rows of a table, one per step, in turn; several at once where they are short.

    Gives the first row, the rows, and of every step from `apart` places after the first one on, whether it is so far
    after each of the rows: (rows, steps, 1).
    """
    several = max(1, AT_ONCE // max(table.shape[1], 1))
    for k in range(0, len(table), several):
        rows = slice(k, min(k + several, len(table)))
        yield k, rows, (np.arange(k, steps - apart) >= np.arange(k, rows.stop)[:, None])[..., None]


def _mark_kinks(
    found: Estimate, here: Vector, pairs: list[Any], steps: np.ndarray, rounding: np.ndarray, reach: float
) -> None:
    """Where the slopes from the left and the right differ, any value between them is right.

    The kink must be at the element itself: its slopes are those of steps within a hundredth of `reach`.
    """
    with np.errstate(all="ignore"):
        right = np.array([(high - here) / h for (_, high, _), h in zip(pairs, steps)])
        left = np.array([(here - low) / h for (_, _, low), h in zip(pairs, steps)])
        jump = right - left
        steady = np.abs(jump[:-2] - jump[2:]) <= 0.02 * np.abs(jump[:-2])
        near = (steps[:-2] < 1e-2 * reach)[:, None]
        kink = near & steady & (np.abs(jump[:-2]) > 1e3 * rounding[:-2]) & (np.abs(jump[2:]) > 10 * rounding[2:])
        kink &= ~_fades(jump, rounding)
    for j in np.flatnonzero(kink.any(axis=0)):
        k = len(kink) - 1 - int(np.argmax(kink[::-1, j]))
        slopes = left[k + 1, j], right[k + 1, j]
        found.low[j], found.high[j] = min(slopes), max(slopes)
        found.value[j], found.step[j], found.method[j] = sum(slopes) / 2, steps[k + 1], "kink"
        found.error[j] = max(float(abs(jump[k, j] - jump[k + 2, j])), float(rounding[k + 1, j]))


def _fades(jump: np.ndarray, rounding: np.ndarray) -> np.ndarray:
    """Per step but the last two, whether the slopes come together again at smaller steps, above rounding."""
    fades = np.zeros(jump[:-2].shape, dtype=bool)
    for k, rows, smaller in _parts(fades, len(jump), 3):
        size, later = np.abs(jump[rows, None]), slice(k + 3, None)
        clear = size > 100 * rounding[later]
        fades[rows] = np.any(smaller & clear & (np.abs(jump[later] - jump[rows, None]) > 0.1 * size), axis=1)
    return fades


def _refine_by_complex_step(
    found: Estimate, line: Outputs, x: float, scale: float, near: np.ndarray, errors: np.ndarray
) -> None:
    """Take the complex step's digits where the differences confirm them; note it where they cannot tell."""
    h = COMPLEX_STEP * (abs(x) or scale)
    try:
        with np.errstate(all="ignore"):
            sharp = np.imag(line(complex(x, h))) / h
    except Exception:  # the function cannot take complex numbers: nothing is gained or lost
        return
    size = np.maximum(np.abs(sharp), np.abs(found.value))
    smooth = found.method != "kink"
    agrees = (np.abs(sharp - found.value) <= found.error) & (found.error < 0.1 * size) & smooth
    better = agrees & (found.error > COMPLEX_ERROR * size)
    for field in (found.value, found.low, found.high):
        field[better] = sharp[better]
    found.error[better], found.step[better] = COMPLEX_ERROR * size[better], h
    found.method[better] = "complex step"
    contradicted = np.any(np.isfinite(errors) & (np.abs(near - sharp) > ROUNDING * errors), axis=0)
    found.other[:] = np.where(~agrees & smooth & ~contradicted & np.isfinite(sharp), sharp, np.nan)


STEPS = 12


GROWTH = 1.1
"""By how much a slope without bound must grow from each step to the next, RATIO times shorter one; √x has 2."""


def slopes(line: Outputs, x: Any, scale: float) -> tuple[Vector, Vector, Vector]:
    """The steps, and per step and output the slopes (f(x) − f(x−h))/h and (f(x+h) − f(x))/h.

    The longest step is a thousandth of the element's size, or of its array's where it is 0.  A slope is nan where the
    step is lost to rounding.
    """
    kind, here = type(x), line(x)
    steps = 1e-3 * (abs(float(x)) or scale) * RATIO ** -np.arange(STEPS)
    left, right, taken = [], [], []
    with np.errstate(all="ignore"):
        for h in steps:
            above, below = kind(x + h), kind(x - h)
            up, down = float(above) - float(x), float(x) - float(below)
            right.append((line(above) - here) / (up or np.nan))
            left.append((here - line(below)) / (down or np.nan))
            taken.append(up)
    return np.array(taken), np.array(left), np.array(right)


def vertical(line: Outputs, x: Any, scale: float) -> Vector:
    """Per output, the sign of the slopes on both sides if they grow without bound as the step shrinks, else 0."""
    _, left, right = slopes(line, x, scale)
    sides = np.array([left, right])
    with np.errstate(all="ignore"):
        grows = np.all(np.abs(sides[:, 1:]) > GROWTH * np.abs(sides[:, :-1]), axis=(0, 1))
    signs = np.sign(sides)
    same = np.all(signs == signs[:1, :1], axis=(0, 1))
    vertical: Vector = np.where(grows & same, signs[0, 0], 0.0)
    return vertical
