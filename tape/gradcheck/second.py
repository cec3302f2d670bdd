"""The gradient of a function as a function of its own, so that it can be checked in turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..backward import grad
from ..leaf import leaf
from .subject import Subject, has_history, plain


@dataclass
class SecondOrder:
    """The function (inputs…, grad_outputs…) ↦ vᵀJ with its arguments.

    Attributes:
        func: gives a dict of the vjps, by the name of what they are derivatives for.
        arguments: the inputs, then the grad_outputs.
        wrt: which of them are checked.
        names: a name for each.
    """

    func: Callable[..., dict[str, Any]]
    arguments: list[Any]
    wrt: list[int]
    names: list[str]


def second_order(
    func: Callable[..., Any],
    inputs: Sequence[Any],
    wrt: Sequence[int],
    names: Sequence[str],
    grad_outputs: Sequence[Any] | None = None,
    *,
    strided: bool = False,
    seed: int = 0,
) -> SecondOrder:
    """Make the function of the inputs and of v that gives vᵀJ.

    Args:
        func, inputs, wrt, names: as for `Subject`.
        grad_outputs: v, one per float output; random if None, away from zero.
        strided: give v in memory that is not contiguous.

    Raises:
        ValueError: if the number of ``grad_outputs`` is not that of the float outputs.
    """
    subject = Subject(func, inputs, wrt, names)
    subject.flat(subject.point())
    if grad_outputs is None:
        grad_outputs = _random(subject, np.random.default_rng(seed), strided)
    if len(grad_outputs) != len(subject.shapes):
        raise ValueError(
            f"grad_outputs must be as many as the float outputs: got {len(grad_outputs)} for {len(subject.shapes)}"
        )
    n = len(inputs)

    def gradient(*arguments: Any) -> dict[str, Any]:
        xs, vs = arguments[:n], arguments[n:]
        targets = [xs[i] for i in wrt]
        outs = subject.outputs(func(*xs))
        pairs = [(o, v) for o, v in zip(outs, vs) if has_history(o)]
        bars = grad(
            [o for o, _ in pairs], targets, [v for _, v in pairs], create_graph=True, allow_unused=True
        ) if pairs else [None] * len(targets)  # fmt: skip
        found = {f"grad {names[i]}": bar for i, bar in zip(wrt, bars) if bar is not None}
        return found or {f"grad {names[wrt[0]]}": leaf(np.zeros_like(plain(targets[0])))}

    gradient.__name__ = f"gradient of {subject.title}"
    checked = [*wrt, *range(n, n + len(subject.shapes))]
    known = [*names, *(f"v of {name}" for name in subject.output_names)]
    return SecondOrder(gradient, [*inputs, *grad_outputs], checked, known)


def _random(subject: Subject, rng: np.random.Generator, strided: bool) -> list[Any]:
    """One random v per output: of size 1/2 to 3/2 and either sign."""
    made = []
    for shape, dtype in zip(subject.shapes, subject.dtypes):
        v = (rng.uniform(0.5, 1.5, shape) * rng.choice([-1.0, 1.0], shape)).astype(dtype)
        if strided and v.ndim:
            v = np.repeat(v, 2, axis=-1)[..., ::2]
        made.append(leaf(v if v.ndim else v[()]))
    return made
