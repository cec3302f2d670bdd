"""What ``backward`` and ``grad`` are given: outputs, their cotangents and inputs, checked."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ops import REGISTRY

from ..base.spec import Spec, check_fits, implicit
from ..base.tensor import Tensor
from ..history.node import GradientEdge, tensor_at
from ..recording.recorder import wrap
from ..recording.wengert import current

Tensors = Tensor | GradientEdge | Sequence[Tensor | GradientEdge]


def renamed(old: str, old_value: Any, new: str, new_value: Any) -> Any:
    """The value of an argument that used to have another name."""
    if old_value is None:
        return new_value
    if new_value is not None:
        raise RuntimeError(f"`{new}` and `{old}` (deprecated) arguments both passed; pass {new} alone")
    warnings.warn(f"{old} is deprecated; write {new}", DeprecationWarning, stacklevel=3)
    return old_value


def sequence(tensors: Any) -> tuple[Tensor, ...]:
    one = isinstance(tensors, (Tensor, GradientEdge)) or not isinstance(tensors, Iterable)
    found = (tensors,) if one else tuple(tensors)
    if any(isinstance(t, GradientEdge) for t in found):
        found = tuple([tensor_at(t) if isinstance(t, GradientEdge) else t for t in found])
    for t in found:
        if not isinstance(t, Tensor):
            raise TypeError(f"a tensor or a sequence of tensors is required; got {type(t).__name__}")
    return found


def check_inputs(tensors: Sequence[Tensor], what: str) -> None:
    if not tensors:
        raise RuntimeError(
            f"`inputs` argument to `{what}` cannot be empty: at least one input to differentiate with respect to is "
            "needed"
        )
    for i, t in enumerate(tensors):
        if t._node is None:
            raise RuntimeError(
                f"One of the differentiated Tensors does not require grad: input {i} of {what}, so nothing recorded "
                "how the outputs depend on it.\n"
                "Create it with requires_grad=True (or call requires_grad_()) before computing the outputs."
            )


def one_each(gradients: Any, outputs: Sequence[Tensor]) -> tuple[Any, ...]:
    """One gradient argument per output."""
    if gradients is None:
        return (None,) * len(outputs)
    found = tuple(gradients) if isinstance(gradients, (tuple, list)) else (gradients,)
    if len(found) != len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(found)} gradients; each output needs one")
    return found


def as_cotangent(gradient: Any, spec: Spec, i: int, create: bool) -> Tensor:
    """What is given as the gradient of output ``i``, as a tensor of the output's shape and dtype.

    Args:
        spec: that of the output.
        create: whether a conversion is recorded.
    """
    if gradient is None:
        return wrap(implicit(spec))
    if isinstance(gradient, (np.ndarray, np.generic)):
        gradient = wrap(gradient)
    if not isinstance(gradient, Tensor):
        raise TypeError(
            f"gradients can be either Tensors or None, but got {type(gradient).__name__} for output {i}. "
            "Convert it with tape.tensor()."
        )
    check_fits(gradient._spec, spec, i)
    if gradient.dtype == spec.dtype:
        return gradient
    with recording(create):
        return REGISTRY["cast"](gradient, dtype=spec.dtype)


@contextmanager
def recording(flag: bool) -> Iterator[None]:
    """While this lasts, gradients are on or off in this thread."""
    wengert = current()
    before = wengert.recording
    wengert.recording = flag
    try:
        yield
    finally:
        wengert.recording = before
