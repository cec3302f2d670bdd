"""What can be wrong with a gradient apart from its numbers, or with the function, as sentences.

Adjoints and tangents that are left out must do the same as zeros.  In PyTorch an output that nothing depends on hands
None to the function that made it, and to its hooks.  Here a record without adjoint is passed over; what a custom
function with several outputs does with the None of one of them, and what it and the hooks would do in PyTorch, is tried
out on each of the records that the outputs depend on.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ops.core.bundle import Bundle

from ..base.location import locate
from ..base.row import CODE, LASTI, PARAMS, X, Y
from ..base.spec import Spec
from ..base.tensor import Tensor
from ..history.propagate import name_of
from ..recording.recorder import CUSTOM
from ..recording.recording_modes import no_grad
from ..recording.wengert import op_of, operands
from .derivatives.gradcheck_errors import GradcheckError, Unfit
from .derivatives.report import FORWARD, Report
from .derivatives.subject import Array, Jacobian, Subject, TrackedCall, components, has_history, plain, pull

PHRASE = "Expected backward function to handle undefined output grads"
WARNING = (
    "Backwards compatibility: New undefined gradient support checking feature of PyTorch's is on by default here too: "
    "{} Pass check_undefined_grad=False to do without it."
)


def undefined_adjoints(subject: Subject, recorded: TrackedCall, *, hooks: bool) -> list[str]:
    """What is wrong where adjoints are left out, as sentences; `hooks` says whether those of tensors are tried too."""
    named = zip(subject.output_axes, recorded.outs)
    outs = [(axis.name, o) for axis, o in named if has_history(o)]
    faults = [*_left_out(subject, recorded.leaves, outs), *dict.fromkeys(_nothing_to(recorded, hooks))]
    if faults:
        warnings.warn(WARNING.format(faults[0].splitlines()[0]), UserWarning, stacklevel=4)
    return faults


def _left_out(subject: Subject, leaves: Sequence[Tensor], outs: Sequence[tuple[str, Tensor]]) -> Iterator[str]:
    """Each output's adjoint alone must do the same as among adjoints of zeros for the others."""
    if len(outs) < 2:
        return
    for j, (output, out) in enumerate(outs):
        zeros = [np.zeros(o.shape, dtype=o.dtype)[()] for _, o in outs]
        zeros[j] = one = np.ones(out.shape, dtype=out.dtype)[()]
        try:
            alone, among = pull([out], leaves, [one]), pull([o for _, o in outs], leaves, zeros)
        except RuntimeError as error:
            yield f"{PHRASE}: with only the adjoint of {output} defined it raised {_said(error)}"
            continue
        for i, a, b in zip(subject.wrt, alone, among):
            if not _equal(a, b):
                yield (
                    f"{PHRASE}: the gradient for {subject.names[i]} with only the adjoint of {output} defined differs "
                    "from the one where the other outputs get adjoints of zeros"
                )


def _equal(a: Any, b: Any) -> bool:
    """Whether two gradients are the same, None being zero."""
    x, y = (0.0 if g is None else plain(g) for g in (a, b))
    return bool(np.all((x == y) | (np.isnan(x) & np.isnan(y))))


def _nothing_to(recorded: TrackedCall, hooks: bool) -> Iterator[str]:
    """What custom functions and hooks make of nothing, which must be nothing or zeros."""
    for wengert, rows in recorded.histories():
        for handle, row in rows.items():
            if hooks and handle in wengert.hooks:
                yield from _hooks(wengert.hooks[handle].hooks, f"the result of {name_of(row)}", row)
            if op_of(row) is CUSTOM:
                yield from _custom(row)
    for leaf in recorded.leaves if hooks else ():
        yield from _hooks(leaf._chain.hooks if leaf._chain else {}, "an input", None)


def _hooks(hooks: dict[int, Callable[[Any], Any]], of: str, row: list[Any] | None) -> Iterator[str]:
    for hook in tuple(hooks.values()):
        try:
            result = hook(None)
        except RuntimeError as error:
            yield f"{PHRASE}: a hook on {of} raised {_said(error)} when given None for the gradient{_at(row)}"
        except Exception:  # it took None for a tensor, and here it is never given None
            continue
        else:
            if not _nothing(result):
                yield f"{PHRASE}: a hook on {of} made a gradient that is not zero out of None{_at(row)}"


def _custom(row: list[Any]) -> Iterator[str]:
    """A custom function gets None for all its outputs, and for each while the others are zeros."""
    (ctx,) = row[PARAMS]
    wanted = tuple(i for i, ref in enumerate(operands(row[X], row[Y])) if ref is not None)
    zeros = {i: np.zeros(s.shape, s.dtype)[()] for i, s in enumerate(ctx._outputs) if isinstance(s, Spec) and s.inexact}
    trials = [{}, *({i: z for i, z in zeros.items() if i != j} for j in zeros)] if len(zeros) > 1 else [{}]
    for parts in trials:
        given = "None" if not parts else "None for one output and zeros for the others"
        try:
            with no_grad():
                bars = ctx.vjp(Bundle(parts), wanted)
        except Exception as error:
            yield f"{PHRASE}: {name_of(row)}.backward raised {_said(error)} when given {given}{_at(row)}"
            return
        if not all(map(_nothing, bars)):
            yield f"{PHRASE}: {name_of(row)}.backward gave a gradient that is not zero when given {given}{_at(row)}"
            return


def _nothing(x: Any) -> bool:
    return x is None or not np.any(plain(x))


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _at(row: list[Any] | None) -> str:
    return "" if row is None else f"\n    recorded at {locate(row[CODE], row[LASTI])}"


def not_finite(subject: Subject, first: Array) -> Unfit:
    """The error for a function that is not finite at the point."""
    k = int(np.argmin(np.isfinite(first)))
    return Unfit(
        f"{subject.title} gives {first[k]} at these inputs ({int(np.sum(~np.isfinite(first)))} of {len(first)} "
        "output elements are not finite). Choose inputs inside its domain."
    )


def check_repeatable(subject: Subject, first: Array, again: Array, nondet_tol: float) -> None:
    """The function must be the same every time.

    Raises:
        Unfit: if it is not.
        GradcheckError: if the function is itself a gradient, which is not the same every time.
    """
    gap = np.max(np.abs(again - first), initial=0.0)
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


def differing(subject: Subject, jacobian: Jacobian, again: Jacobian, nondet_tol: float) -> list[str]:
    """Gradients that are not the same when they are computed once more."""
    faults = []
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


def not_multiplied(subject: Subject, found: Sequence[Tensor | None]) -> list[str]:
    """Gradients of results that are not zero where every adjoint is: what `TrackedCall.of_zeros` gives."""
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
