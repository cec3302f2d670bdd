"""The whole check of a gradient: run the function, take both Jacobians, compare, find the cause."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from .analytic import Jacobian, Written, pull, sweep_jacobian
from .compare import Tolerances, compare
from .errors import Unfit
from .report import WRONG, Report
from .rounding import output_spread, spread
from .subject import Array, Subject, has_history, plain
from .suspects import find_suspects


def check(
    func: Callable[..., Any],
    inputs: Any,
    *,
    wrt: Sequence[int | str] | None = None,
    names: Sequence[str] | None = None,
    gradient: Callable[..., Any] | None = None,
    eps: float | None = None,
    atol: float | None = None,
    rtol: float | None = None,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    progress: Callable[[int, int], object] | None = None,
) -> Report:
    """Compare the gradient of a function with differences of the function.

    Args:
        func: takes the inputs in order, returns a float tensor or array, or a tuple, list or dict of them.
        inputs: a tuple or list of tensors, arrays, numbers or anything else; or one such input.
        wrt: positions or names of the inputs to check; all that are real floating point if None.
        names: of the inputs, for the report.
        gradient: a function written by hand, checked in place of ours; see `tape.gradcheck.analytic.Written`.
        eps: step of the plain difference; chosen per element and dtype if None.
        atol, rtol: tolerances; None means they follow from the dtype and are chosen per element.
        nondet_tol: how much two computations of the same gradient may differ.
        check_undefined_grad: where there are several outputs, leaving the adjoint of one out must be
            the same as an adjoint of zeros.
        check_grad_dtypes: gradients must have the dtype of their input.
        progress: called with the number of elements done and of all elements.

    Raises:
        Unfit: if the function has no real float output, is nan or infinite here, or is random; or if a
            gradient written by hand is missing or has the wrong shape.
        GradcheckError: if a gradient of ours has the wrong shape.
        ValueError: if there is nothing to check.

    >>> report = check(lambda x, y: x * y, (np.array([1.0, 2.0]), 3.0))
    >>> report.ok
    True
    >>> check(np.square, 2.0, gradient=lambda x: x).worst.pair
    'd output / d input 0'
    """
    given = list(inputs) if isinstance(inputs, (tuple, list)) else [inputs]
    known = list(names) if names is not None else [f"input {i}" for i in range(len(given))]
    positions = _positions(given, known, wrt)
    if gradient is None:
        subject = Subject(func, given, positions, known)
    else:
        subject = Written(func, given, positions, known, gradient)
    point = subject.point()
    report = Report()
    with np.errstate(all="ignore"):
        _check_function(subject, point)
        jacobian = _jacobian(subject, point)
        report.faults += _faults(subject, point, jacobian, nondet_tol, check_grad_dtypes)
        if check_undefined_grad and gradient is None:
            report.faults += _undefined(subject, point)
        _compare(subject, point, jacobian, Tolerances(eps, atol, rtol), report, progress)
        report.faults += _lost(jacobian, report)
        report.evaluations = subject.evaluations
        if report.wrong and gradient is None:
            report.suspects, report.lines = find_suspects(func, subject.arguments(point))
    return report


def _positions(given: list[Any], names: list[str], wrt: Sequence[int | str] | None) -> list[int]:
    """Positions of the inputs to check."""
    if wrt is None:
        found = [i for i, x in enumerate(given) if _dtype(x).kind == "f"]
        if not found:
            raise ValueError(
                "a gradient can be checked with respect to real floating-point inputs; got "
                f"{', '.join(type(plain(x)).__name__ for x in given) or 'no input'}. Write 1.0 instead of 1."
            )
        return found
    found = [names.index(i) if isinstance(i, str) else i for i in wrt]
    for i in found:
        if _dtype(given[i]).kind == "c":
            raise NotImplementedError(f"{names[i]} is complex; gradcheck handles real inputs so far")
        if _dtype(given[i]).kind != "f":
            raise ValueError(f"{names[i]} is {_dtype(given[i])}; only floating-point inputs have a gradient")
    return found


def _dtype(x: Any) -> np.dtype[Any]:
    value = plain(x)
    numeric = isinstance(value, (np.ndarray, np.generic, float, complex))
    return np.asarray(value).dtype if numeric else np.dtype(object)


def _check_function(subject: Subject, point: list[Array]) -> None:
    """The function must be finite here, and the same every time."""
    first = subject.flat(point)
    if not np.all(np.isfinite(first)):
        k = int(np.argmin(np.isfinite(first)))
        raise Unfit(
            f"{subject.title} gives {first[k]} at these inputs ({int(np.sum(~np.isfinite(first)))} of {len(first)} "
            "output elements are not finite). Choose inputs inside its domain."
        )
    second = subject.flat(point)
    if len(second) != len(first) or not np.array_equal(first, second):
        raise Unfit(
            f"{subject.title} is not deterministic: two calls at the same inputs differ. "
            "Seed its random numbers inside the function, or pass them as an input."
        )


def _jacobian(subject: Subject, point: Sequence[Array]) -> Jacobian:
    return subject.jacobian(point) if isinstance(subject, Written) else sweep_jacobian(subject, point)


def _faults(
    subject: Subject, point: list[Array], jacobian: Jacobian, nondet_tol: float, check_dtypes: bool
) -> list[str]:
    """What is wrong with the gradient apart from its numbers."""
    faults = []
    again = _jacobian(subject, point)
    for name, x, y in zip(_wrt_names(subject), jacobian.blocks, again.blocks):
        gaps = np.where((x == y) | (np.isnan(x) & np.isnan(y)), 0.0, np.nan_to_num(np.abs(x - y), nan=np.inf))
        gap = float(np.max(gaps, initial=0.0))
        if gap > nondet_tol:
            where = np.unravel_index(int(np.argmax(gaps)), x.shape)
            faults.append(
                f"the gradient for {name} is not deterministic: two computations at the same inputs gave "
                f"{x[where]:.10g} and {y[where]:.10g}, which differ by {gap:.3g} (allowed: nondet_tol={nondet_tol:g})"
            )
    for name, x, found in zip(_wrt_names(subject), point, jacobian.dtypes):
        wrong = sorted(str(d) for d in found if d != x.dtype)
        if check_dtypes and wrong:
            faults.append(f"the gradient for {name} has dtype {', '.join(wrong)}; the input has {x.dtype}")
    return faults


def _lost(jacobian: Jacobian, report: Report) -> list[str]:
    """Outputs that do depend on the inputs, but came without a history."""
    return [
        f"{name} arrived without a history, so its gradient is zero: the function left the tensors behind "
        "(float(), .item(), .numpy(), .detach() and np.array() do)"
        for name in jacobian.detached
        if any(c.output == name and c.verdict == WRONG for c in report.comparisons)
    ]


def _undefined(subject: Subject, point: list[Array]) -> list[str]:
    """Leaving the adjoint of an output out must do the same as an adjoint of zeros."""
    given = subject.arguments(point)
    leaves = [given[i] for i in subject.wrt]
    outs = [o for o in subject.outputs(subject.func(*given)) if has_history(o)]
    if len(outs) < 2:
        return []
    faults = []
    for j, out in enumerate(outs):
        ones = np.ones(out.shape, dtype=out.dtype)[()]
        zeros = [np.zeros(o.shape, dtype=o.dtype)[()] if i != j else ones for i, o in enumerate(outs)]
        alone, among = pull([out], leaves, [ones]), pull(outs, leaves, zeros)
        for name, a, b in zip(_wrt_names(subject), alone, among):
            if not _equal(a, b):
                faults.append(
                    f"the gradient for {name} with only the adjoint of {subject.output_names[j]} defined differs from "
                    "the one where the other outputs get adjoints of zeros"
                )
    return faults


def _equal(a: Any, b: Any) -> bool:
    """Whether two gradients are the same, None being zero."""
    x, y = (0.0 if g is None else plain(g) for g in (a, b))
    return bool(np.all((x == y) | (np.isnan(x) & np.isnan(y))))


def _wrt_names(subject: Subject) -> list[str]:
    return [subject.names[i] for i in subject.wrt]


def _compare(
    subject: Subject, point: list[Array], jacobian: Jacobian, tolerances: Tolerances, report: Report,
    progress: Callable[[int, int], object] | None,
) -> None:  # fmt: skip
    """Compare with differences, taken in float64 where the function allows it."""
    shapes, dtypes = list(subject.shapes), list(subject.dtypes)
    coarse = max(np.finfo(x.dtype).eps for x in point)
    precision = np.array([max(np.finfo(d).eps, coarse) for s, d in zip(shapes, dtypes) for _ in range(_size(s))])
    here = subject.flat(point)
    wide = _widened(subject, point, here)

    @cache
    def noise() -> tuple[Array, list[Array]]:
        floor = precision[:, None] * np.abs(here)[:, None]
        rounding = spread(subject, point, float(np.max(precision, initial=0.0)))
        sizes = [max(float(np.max(np.abs(x), initial=0.0)), 1.0) for x in point]
        return output_spread(subject, wide), [r + floor / size for r, size in zip(rounding, sizes)]

    total = sum(x.size for x in point)
    tick = (lambda done: None) if progress is None else (lambda done: progress(done, total))
    report.comparisons += compare(subject, wide, jacobian.blocks, precision, noise, tolerances, tick)


def _widened(subject: Subject, point: list[Array], here: Array) -> list[Array]:
    """The point in float64 if the function accepts it and computes the same thing there."""
    wide = [x.astype(np.float64) if x.dtype.itemsize < 8 else x for x in point]
    if all(x.dtype == y.dtype for x, y in zip(wide, point)):
        return point
    try:
        there = subject.flat(wide)
    except Exception:  # a function may insist on its dtype; then its own precision is what there is
        subject.flat(point)
        return point
    coarse = max(float(np.finfo(x.dtype).eps) for x in point)
    same = here.shape == there.shape and np.allclose(here, there, rtol=1e4 * coarse, atol=1e4 * coarse)
    if not same:
        subject.flat(point)
    return wide if same else point


def _size(shape: tuple[int, ...]) -> int:
    return int(np.prod(shape))
