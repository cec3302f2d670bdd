"""What can be wrong with a gradient apart from its numbers, or with the function, as sentences."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .derivatives.analytic import Jacobian, pull
from .derivatives.gradcheck_errors import GradcheckError, Unfit
from .derivatives.report import FORWARD, Report
from .derivatives.rounding import Derivative
from .derivatives.subject import Array, Subject, components, flattened, has_history


def check_function(subject: Subject, point: Sequence[Array], nondet_tol: float) -> None:
    """The function must be finite at the point, and the same every time.

    Raises:
        Unfit: if it is not.
        GradcheckError: if the function is itself a gradient, which is not the same every time.
    """
    first = flattened(subject.call(point))
    if not np.all(np.isfinite(first)):
        k = int(np.argmin(np.isfinite(first)))
        raise Unfit(
            f"{subject.title} gives {first[k]} at these inputs ({int(np.sum(~np.isfinite(first)))} of {len(first)} "
            "output elements are not finite). Choose inputs inside its domain."
        )
    gap = np.max(np.abs(flattened(subject.call(point)) - first), initial=0.0)
    if gap > nondet_tol and subject.needs_history:
        raise GradcheckError(
            f"Backward is not reentrant: the {subject.title} is not deterministic, two computations at the same inputs "
            f"differ by {gap:.3g} (allowed: nondet_tol={nondet_tol:g})"
        )
    if gap > nondet_tol or np.isnan(gap):
        raise Unfit(
            f"{subject.title} is not deterministic: two calls at the same inputs differ. "
            "Seed its random numbers inside the function, or pass them as an input."
        )


def differing(
    subject: Subject, point: Sequence[Array], jacobian: Jacobian, derivative: Derivative, nondet_tol: float
) -> list[str]:
    """Gradients that are not the same when they are computed once more."""
    faults = []
    again = derivative(subject, point)
    for name, x, y in zip(_checked(subject), jacobian.blocks, again.blocks):
        gaps = np.where((x == y) | (np.isnan(x) & np.isnan(y)), 0.0, np.nan_to_num(np.abs(x - y), nan=np.inf))
        gap = float(np.max(gaps, initial=0.0))
        if gap > nondet_tol:
            where = np.unravel_index(int(np.argmax(gaps)), x.shape)
            faults.append(
                f"Backward is not reentrant: the gradient for {name} is not deterministic, two computations at the "
                f"same inputs gave {x[where]:.10g} and {y[where]:.10g}, which differ by {gap:.3g} (allowed: "
                f"nondet_tol={nondet_tol:g})"
            )
    return faults


def mistyped(subject: Subject, point: Sequence[Array], jacobian: Jacobian) -> list[str]:
    """Gradients that do not have the dtype of their input."""
    faults = []
    for name, x, found in zip(_checked(subject), point, jacobian.dtypes):
        wrong = sorted(str(d) for d in found if d != x.dtype)
        if wrong:
            faults.append(
                f"Gradient has dtype mismatch: the gradient for {name} has dtype {', '.join(wrong)}; the input has "
                f"{x.dtype}"
            )
    return faults


def not_multiplied(subject: Subject, point: Sequence[Array]) -> list[str]:
    """Gradients that are not zero where every adjoint is."""
    given = subject.arguments(point)
    leaves = [given[i] for i in subject.wrt]
    outs = [o for o in subject.outputs(subject.func(*given)) if has_history(o)]
    if not outs:
        return []
    found = pull(outs, leaves, [np.zeros(o.shape, dtype=o.dtype)[()] for o in outs])
    faults = []
    for name, bar in zip(_checked(subject), found):
        numbers = np.zeros(0) if bar is None else components(bar)
        wrong = numbers[numbers != 0]
        if wrong.size:
            faults.append(
                f"backward not multiplied by grad_output: with adjoints of zeros the gradient for {name} is not zero "
                f"but {wrong[0]:.10g} ({wrong.size} such numbers)"
            )
    return faults


def without_history(subject: Subject, point: Sequence[Array]) -> list[str]:
    """Names of the outputs that no gradient flows back from."""
    outs = subject.call(point)
    return [axis.name for axis, out in zip(subject.output_axes, outs) if not has_history(out)]


def lost(detached: Sequence[str], report: Report) -> list[str]:
    """Outputs that do depend on the inputs, but came without a history."""
    wrong = {c.output for c in report.comparisons if c.mode != FORWARD and not c.ok}
    return [
        f"Numerical gradient for function expected to be zero: {name} arrived without a history, so its gradient is "
        "zero, and yet it depends on the inputs: the function left the tensors behind (float(), .item(), .numpy(), "
        ".detach() and np.array() do)"
        for name in detached
        if name in wrong
    ]


def _checked(subject: Subject) -> list[str]:
    return [subject.names[i] for i in subject.wrt]
