"""``ctx``: what one application of a custom function keeps from its forward for its backward.

Here is what the user calls on it, and the two rules of its record, which call the user's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

import ops
from ops.bundle import Bundle

from ..record import wrap
from ..spec import Spec
from ..tensor import Tensor
from ..wengert import current
from .keeping import Keeper


class FunctionCtx(Keeper):
    """What ``forward`` or ``setup_context`` writes, and ``backward`` reads; takes attributes of any name.

    Attributes:
        needs_input_grad: for each argument of ``apply``, whether its gradient is of use.
    """

    __slots__ = ("__weakref__", "_dirty", "_inputs", "_materialize", "_plain", "_recording", "needs_input_grad")

    needs_input_grad: tuple[bool, ...]

    def __init__(self, inputs: tuple[Any, ...], recording: bool):
        self._inputs: tuple[Spec | None, ...] = tuple([x._spec if isinstance(x, Tensor) else None for x in inputs])
        super().__init__()
        self._recording = recording
        self._dirty: tuple[Any, ...] = ()
        self._plain: tuple[Any, ...] = ()
        self._materialize = True
        self.needs_input_grad = tuple([isinstance(x, Tensor) and x._node is not None for x in inputs])

    def name(self) -> str:
        """The name of the node, as PyTorch spells it: that of the class, and ``Backward``."""
        return type(self).__name__

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep inputs, outputs or other tensors for `saved_tensors`; a second call replaces the first.

        They are released by a backward without ``retain_graph``, and keep their place in the history.

        Raises:
            TypeError: if something is neither a tensor nor None.
        """
        self._saved = self._tensors("save_for_backward", tensors)

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Keep tensors that ``jvp`` finds in `saved_tensors`, in place of those saved for backward.

        Raises:
            TypeError: if something is neither a tensor nor None.
        """
        self._forward = self._tensors("save_for_forward", tensors)

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Say which inputs ``forward`` has changed in place; each must also be one of its outputs.

        Raises:
            RuntimeError: for a tensor that requires grad.
        """
        for x in tensors:
            if isinstance(x, Tensor) and x._node is not None and self._recording:
                what = "a leaf that requires grad" if x.is_leaf else "a tensor that has a history"
                raise RuntimeError(
                    f"mark_dirty() in {self._title}.forward names {what}: its value before the change may be needed by "
                    "gradients.\nLet forward change and return a copy instead: x = x.clone()."
                )
        self._dirty = self._tensors("mark_dirty", tensors)

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Say which outputs have no gradient; ``backward`` still gets an argument for each."""
        self._plain = self._tensors("mark_non_differentiable", tensors)

    def set_materialize_grads(self, value: bool) -> None:
        """Whether ``backward`` gets zeros (the default) or None for an output that nothing depends on."""
        self._materialize = bool(value)

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """What `save_for_backward` was given, each tensor in its place in the history.

        Raises:
            RuntimeError: after a backward has released them, or if one was changed in place since.
        """
        if self._present is not None and self._forward is not None:
            return self.saved_for_forward
        return self._unpack(self._saved, 0)

    @property
    def saved_for_forward(self) -> tuple[Tensor | None, ...]:
        """What `save_for_forward` was given."""
        return self._unpack(self._forward or (), len(self._saved))

    def _tensors(self, what: str, tensors: tuple[Any, ...]) -> tuple[Any, ...]:
        for i, x in enumerate(tensors):
            if x is not None and not isinstance(x, Tensor):
                raise TypeError(
                    f"{what}() takes tensors and None; argument {i} in {self._title} is of type {type(x).__name__}.\n"
                    "Keep other things as attributes: ctx.name = value."
                )
        return tensors

    def vjp(self, g: Bundle, wanted: tuple[int, ...]) -> list[Any]:
        """The user's backward: an adjoint, or None, for each tensor among the inputs."""
        positions = [i for i, spec in enumerate(self._inputs) if spec is not None]
        useful = {positions[k] for k in wanted}
        self.needs_input_grad = tuple([i in useful for i in range(len(self._inputs))])
        backward = self._function._backward()
        grads = [self._gradient(spec, g[i]) for i, spec in enumerate(self._outputs)]
        with in_user_code() as recording:
            result = backward(self, *grads)
        bars = self._checked(result)
        made = [_fit(bars[i], self._inputs[i], i, self._title) if i in useful else None for i in positions]
        # Without recording a view, so that nobody takes memory that the user may still hold for his own.
        return made if recording else [None if bar is None else _shown(bar._data) for bar in made]

    def _gradient(self, spec: Spec | None, part: Any) -> Tensor | None:
        """The gradient of one output, in memory of its own."""
        if part is None:
            if spec is None or not (self._materialize and spec.inexact):
                return None
            return wrap(np.zeros(spec.shape, spec.dtype)[()])
        if not isinstance(part, Tensor):
            return wrap(_copy(part))
        return part if part._node is not None or type(part) is not Tensor else wrap(_copy(part._data))

    def _checked(self, result: Any) -> tuple[Any, ...]:
        """What backward returned, one item for each input."""
        bars = result if isinstance(result, tuple) else tuple(result) if isinstance(result, list) else (result,)
        n = len(self._inputs)
        if len(bars) < n or any(bar is not None for bar in bars[n:]):
            raise RuntimeError(
                f"{self._title}.backward must return one gradient for each of the {n} inputs of forward; it returned "
                f"{len(bars)}.\nReturn None for an input that has no gradient."
            )
        for i, (bar, spec) in enumerate(zip(bars, self._inputs)):
            if bar is not None and not isinstance(bar, Tensor):
                raise TypeError(
                    f"{self._title}.backward must return tensors or None; gradient {i} is of type {type(bar).__name__}."
                    " Convert it with tape.as_tensor()."
                )
            if bar is not None and spec is None:
                raise RuntimeError(
                    f"{self._title}.backward returned a gradient for input {i}, which is not a tensor; return None"
                )
        return bars[:n]

    def jvp(self, xs: Sequence[Any], z: Sequence[Any], x_dots: Sequence[Any]) -> tuple[Any, ...]:
        """The user's jvp: a tangent, or None, for each tensor among the outputs.

        `xs` and `z` stand for inputs and outputs that were saved.
        """
        rule = self._function._jvp()
        rest = iter(x_dots)
        tangents = [None if spec is None else self._gradient(spec, next(rest)) for spec in self._inputs]
        self._present = tuple(xs), tuple(z)
        try:
            with in_user_code():
                result = rule(self, *tangents)
        finally:
            self._present = None
        found = result if isinstance(result, tuple) else (result,)
        if len(found) != len(self._outputs):
            raise RuntimeError(
                f"{self._title}.jvp must return one tangent for each of the {len(self._outputs)} outputs of forward; it"
                f" returned {len(found)}"
            )
        return tuple([self._tangent(found[i], i) for i in self._tensor_outputs()])

    def _tangent(self, t: Any, i: int) -> Any:
        spec = self._outputs[i]
        if t is None or spec is None:
            return None
        if not isinstance(t, Tensor):
            raise TypeError(f"{self._title}.jvp must return tensors or None; tangent {i} is a {type(t).__name__}")
        if t._spec.shape != spec.shape:
            raise RuntimeError(
                f"{self._title}.jvp must return tangents of the outputs' shapes: output {i} has shape {spec.shape}, its"
                f" tangent {t._spec.shape}"
            )
        return t


@contextmanager
def in_user_code(recording: bool | None = None):  # type: ignore[no-untyped-def]
    """The user's own lines are what is recorded within, and what they switch is switched back after.

    `recording` says whether anything is recorded at all; None leaves it as it is.
    """
    wengert = current()
    before = wengert.recording, wengert.where
    wengert.where = None
    if recording is not None:
        wengert.recording = recording
    try:
        yield wengert.recording
    finally:
        wengert.recording, wengert.where = before


def _copy(value: Any) -> Any:
    """A value in memory of its own."""
    return np.array(value) if np.ndim(value) else np.array(value)[()]


def _shown(value: Any) -> Any:
    return value.view() if isinstance(value, np.ndarray) else value


def _fit(bar: Any, spec: Any, i: int, title: str) -> Any:
    """A gradient in its input's shape: summed over the axes along which the input would be expanded."""
    if bar is None:
        return None
    if bar._spec.shape != spec.shape:
        try:
            fits = np.broadcast_shapes(spec.shape, bar._spec.shape) == bar._spec.shape
        except ValueError:
            fits = False
        if not fits:
            raise RuntimeError(
                f"{title}.backward must return gradients of the inputs' shapes, or of shapes that those expand to: "
                f"input {i} has shape {spec.shape}, its gradient {bar._spec.shape}"
            )
        bar = ops.sum_to(bar, shape=spec.shape)
    if bar.dtype.kind != "c" or spec.dtype.kind == "c":
        return bar
    return wrap(np.real(bar._data)) if bar._node is None else bar.real
