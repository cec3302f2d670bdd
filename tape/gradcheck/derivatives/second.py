"""The gradient of a function as a function of its own, so that it can be checked in turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...backprop.grad import grad
from ...base.tensor import Tensor
from ...recording.leaf import leaf
from .gradcheck_errors import Unfit
from .subject import Subject, has_history, is_inexact, plain


class Gradient:
    """The function (inputs…, grad_outputs…) ↦ vᵀJ; gives a dict of the vjps, by the name of what they are for.

    Attributes:
        inner: the function it is the gradient of.
        count: number of its inputs.
    """

    needs_history = True

    def __init__(self, subject: Subject):
        self.inner, self.count, self.subject = subject.func, len(subject.inputs), subject
        self.__name__ = f"gradient of {subject.title}"

    def __call__(self, *arguments: Any) -> dict[str, Any]:
        xs, vs = arguments[: self.count], arguments[self.count :]
        wrt, names = self.subject.wrt, self.subject.names
        targets = [xs[i] for i in wrt]
        outs = self.subject.outputs(self.inner(*xs))
        pairs = [(o, v) for o, v in zip(outs, vs) if isinstance(o, Tensor) and o.requires_grad]
        bars = grad(
            [o for o, _ in pairs], targets, [v for _, v in pairs], create_graph=True, allow_unused=True
        ) if pairs else [None] * len(targets)  # fmt: skip
        found = {f"grad {names[i]}": bar for i, bar in zip(wrt, bars) if bar is not None}
        return found or {f"grad {names[wrt[0]]}": leaf(np.zeros_like(plain(targets[0])))}


@dataclass
class SecondOrder:
    """The gradient of a function with its arguments.

    Attributes:
        func: the gradient.
        arguments: the inputs, then the grad_outputs.
        wrt: which of them are checked.
        names: a name for each.
    """

    func: Gradient
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
    only_differentiable: bool = False,
    seed: int = 0,
) -> SecondOrder:
    """Make the function of the inputs and of v that gives vᵀJ.

    Args:
        func, inputs, wrt, names: as for `Subject`.
        grad_outputs: v, one per output that is checked; random if None, away from zero.
        strided: give v in memory that is not contiguous.
        only_differentiable: take the outputs that have a history, if any has.

    Raises:
        RuntimeError: if the ``grad_outputs`` do not fit the outputs.
        Unfit: if there is no output to differentiate.
    """
    subject = Subject(func, inputs, wrt, names)
    outs = subject.call(subject.point())
    live = {axis.name for axis, out in zip(subject.output_axes, outs) if has_history(out)}
    if only_differentiable and not live:
        raise Unfit(f"no output of {subject.title} requires grad, so there is no gradient to differentiate")
    if only_differentiable:
        subject.kept, subject.axes = live, None
        subject.call(subject.point())
    if grad_outputs is None:
        grad_outputs = _random(subject, np.random.default_rng(seed), strided)
    _check_fit(subject, grad_outputs)
    n = len(inputs)
    checked = [*wrt, *(n + j for j, v in enumerate(grad_outputs) if is_inexact(v))]
    known = [*names, *(f"v of {axis.name}" for axis in subject.output_axes)]
    return SecondOrder(Gradient(subject), [*inputs, *grad_outputs], checked, known)


def _check_fit(subject: Subject, grad_outputs: Sequence[Any]) -> None:
    shapes = [axis.shape for axis in subject.output_axes]
    if len(grad_outputs) != len(shapes):
        raise RuntimeError(
            f"grad_outputs must be as many as the outputs that are checked: got {len(grad_outputs)} for {len(shapes)}"
        )
    for j, (v, shape) in enumerate(zip(grad_outputs, shapes)):
        if np.shape(plain(v)) != shape:
            raise RuntimeError(
                f"Mismatch in shape: grad_outputs[{j}] has shape {np.shape(plain(v))} and output {j} has shape {shape}"
            )


def _random(subject: Subject, rng: np.random.Generator, strided: bool) -> list[Any]:
    """One random v per output: of size 1/2 to 3/2 and either sign."""
    made = []
    for axis in subject.output_axes:
        v = rng.uniform(0.5, 1.5, axis.shape) * rng.choice([-1.0, 1.0], axis.shape)
        if axis.is_complex:
            v = v + 1j * rng.uniform(0.5, 1.5, axis.shape)
        v = np.asarray(v).astype(axis.dtype)
        if strided and v.ndim:
            v = np.repeat(v, 2, axis=-1)[..., ::2]
        made.append(leaf(v if v.ndim else v[()]))
    return made
