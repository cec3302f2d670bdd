"""Adjoints and tangents that are left out must do the same as zeros.

In PyTorch an output that nothing depends on hands None to the function that made it, and to its
hooks.  Here a record without adjoint is passed over; what a custom function with several outputs
does with the None of one of them, and what it and the hooks would do in PyTorch, is tried out on
each of the records that the outputs depend on.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ops.core.bundle import Bundle

from ..base.location import locate
from ..base.row import CODE, LASTI, PARAMS, X, Y, name_of, op_of, operands
from ..base.spec import Spec
from ..base.tensor import Tensor
from ..history.propagate import visit
from ..recording.recorder import CUSTOM
from ..recording.recording_modes import no_grad
from ..recording.wengert import list_of
from .derivatives.analytic import pull
from .derivatives.subject import Array, Subject, has_history, plain

PHRASE = "Expected backward function to handle undefined output grads"
WARNING = (
    "Backwards compatibility: New undefined gradient support checking feature of PyTorch's is on by default here too: "
    "{} Pass check_undefined_grad=False to do without it."
)


def undefined_adjoints(subject: Subject, point: Sequence[Array], *, hooks: bool) -> list[str]:
    """What is wrong where adjoints are left out, as sentences; `hooks` says whether those of tensors are tried too."""
    given = subject.arguments(point)
    leaves = [given[i] for i in subject.wrt]
    results = subject.outputs(subject.func(*given))
    outs = [(axis.name, o) for axis, o in zip(subject.output_axes, results) if has_history(o)]
    faults = [*_left_out(subject, leaves, outs), *dict.fromkeys(_nothing_to([o for _, o in outs], leaves, hooks))]
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


def _nothing_to(outs: Sequence[Tensor], leaves: Sequence[Tensor], hooks: bool) -> Iterator[str]:
    """What custom functions and hooks make of nothing, which must be nothing or zeros."""
    handles = {o._node for o in outs if o._node is not True}
    for wengert in {list_of(handle) for handle in handles}:
        rows = visit(wengert, [handle for handle in handles if wengert.owns(handle)], None)
        for handle, row in rows.items():
            if hooks and handle in wengert.hooks:
                yield from _hooks(wengert.hooks[handle].hooks, f"the result of {name_of(row)}", row)
            if op_of(row) is CUSTOM:
                yield from _custom(row)
    for leaf in leaves if hooks else ():
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
