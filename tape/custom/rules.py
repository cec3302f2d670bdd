"""The two rules of a custom function's record, which call the user's own, and check what they return."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import ops
from ops.core.bundle import Bundle
from ops.core.op import in_dtype

from ..base.row import HANDLE
from ..base.spec import Spec
from ..base.tensor import Tensor
from ..history.keeping import Row
from ..history.node import node_of
from ..recording.recorder import wrap
from ..recording.version import count
from ..recording.views import base_of
from ..recording.wengert import WengertList, current
from .context import FunctionCtx


def direction(ctx: FunctionCtx, spec: Spec | None, part: Any) -> Tensor | None:
    """The tangent of an input, as ``jvp`` gets it: that of the tensor itself, so that changes in place reach it."""
    if part is None or spec is None:
        return ctx._zeros(spec) if spec is not None and spec.inexact else None
    return part if isinstance(part, Tensor) else wrap(part.copy(), None, spec)


def checked(
    ctx: FunctionCtx, found: Sequence[Any], given: Sequence[Any], counts: Sequence[int], xs: Sequence[Any],
    zs: Sequence[Any],
) -> tuple[Any, ...]:  # fmt: skip
    """The tangents that jvp has returned for the outputs `zs`, from those that were given for the inputs `xs`.

    Args:
        counts: how often the given ones had been changed in place before.

    Raises:
        TypeError, RuntimeError: if one does not fit its output, or does not follow it: a changed input has the tangent
            that was given, changed in place, and a view of an input has a view of its tangent.
    """
    specs = [spec for spec in ctx._outputs if spec is not None]
    for i, (t, spec) in enumerate(zip(found, specs)):
        if t is not None:
            _check_fits(ctx, i, t, spec)
    for i, k in ctx._dirty:
        if found[i] is not given[k] or (_is_plain(found[i]) and count(found[i]) == counts[k]):
            raise RuntimeError(
                "An inplace custom Function is not modifying the forward mode gradients inplace: "
                f"{ctx._title}.forward changes input {k} in place and returns it as output {i}.\nThe jvp function must "
                "modify the corresponding gradient inplace too, and return it."
            )
    changed = [i for i, _ in ctx._dirty]
    for i, (t, z) in enumerate(zip(found, zs)):
        if _is_plain(t) and _is_plain(z) and i not in changed:
            _check_view(ctx, t, [k for k, x in enumerate(xs) if (i, k) in ctx._same or _looks(z, x)], given, xs)
    return tuple(found)


def _check_fits(ctx: FunctionCtx, i: int, t: Any, spec: Spec) -> None:
    if not isinstance(t, Tensor):
        raise TypeError(f"{ctx._title}.jvp must return tensors or None; tangent {i} is a {type(t).__name__}")
    if not spec.inexact or i in ctx._plain:
        raise refused(ctx, i)
    if t._spec.shape != spec.shape:
        raise RuntimeError(
            f"{ctx._title}.jvp must return tangents of the outputs' shapes: output {i} has shape {spec.shape}, its "
            f"tangent {t._spec.shape}"
        )


def refused(ctx: FunctionCtx, i: int) -> RuntimeError:
    """The error for the tangent of something that has none."""
    return RuntimeError(
        f"{ctx._title}.jvp returned a tangent at position {i}, but the corresponding output of forward is not a "
        "differentiable tensor. You should return None at that position instead."
    )


def _looks(z: Tensor, x: Any) -> bool:
    return _is_plain(x) and z._is_view() and base_of(x) is base_of(z)


def _check_view(ctx: FunctionCtx, t: Tensor, seen: Sequence[int], given: Sequence[Any], xs: Sequence[Any]) -> None:
    """Raise unless the tangent of a result that looks at the memory of some inputs looks at that of their tangents."""
    for k in seen:
        if _is_plain(given[k]) and not (t._is_view() and base_of(t) is base_of(given[k])):
            place = "same base as the " if _is_plain(xs[k]) and xs[k]._is_view() else ""
            whose = f" of the {place}given tangent" if t._is_view() else ""
            raise RuntimeError(
                "A custom Function's forward is returning a view (or an input as-is) but its jvp is not returning a "
                f"view{whose}: {ctx._title}.\nMake the tangent of the output from that of the input as the output is "
                "made, for an input as it is by x_dot.view_as(x_dot), or let forward return a copy."
            )


def counts_of(tangents: Sequence[Any]) -> list[int]:
    """How often tangents have been changed in place."""
    return [count(t) if _is_plain(t) else 0 for t in tangents]


def _is_plain(x: Any) -> bool:
    return type(x) is Tensor


OF_THE_NODE = frozenset({"metadata", "next_functions", "register_hook", "register_prehook"})


class BackwardCFunction(FunctionCtx):
    """The ctx of a record: base of each function's own class, which is named after the function.

    What the node of the record has to tell, such as ``next_functions``, can be asked of it too.
    """

    __slots__ = ()

    requires_grad = True

    def __getattr__(self, name: str) -> Any:
        row = self._row() if name in OF_THE_NODE else None
        return super().__getattr__(name) if row is None else getattr(node_of(row[HANDLE])[0], name)

    def vjp(self, g: Any, wanted: tuple[int, ...], row: Row | None = None) -> list[Any]:
        """The user's backward: an adjoint, or None, for each tensor among the inputs.

        `g` is the adjoint of the only output, or a `Bundle` of those of several; `row` is the record's, if at hand.
        """
        inputs, positions = self._inputs, self._positions
        n = len(inputs)
        useful = wanted if len(positions) == n else tuple([positions[k] for k in wanted])
        self.needs_input_grad = (True,) * n if len(useful) == n else tuple([i in useful for i in range(n)])
        backward = self._function._backward()
        grads = self._gradients(g)
        wengert = current()
        recording, where, outer = wengert.recording, wengert.where, self._present_row
        wengert.where, self._present_row = None, row  # the user's own lines are what is recorded now
        try:
            result = backward(self, *grads)
        finally:
            wengert.recording, wengert.where, self._present_row = recording, where, outer
        bars = self._checked(result)
        title = self._title
        made = [_fit(bars[i], inputs[i], i, title) if i in useful else None for i in positions]
        # Without recording a copy, because the sweep takes it for its own and the user may still hold the memory.
        return made if recording else [bar._data.copy() if type(bar) is Tensor else bar for bar in made]

    def _gradients(self, g: Any) -> list[Tensor | None]:
        """The gradients of the outputs, from the adjoint of the only one or the bundle of those of several."""
        if type(g) is Bundle:
            return [self._gradient(spec, g[i]) for i, spec in enumerate(self._outputs)]
        return [self._gradient(self._outputs[0], g)]

    def _gradient(self, spec: Spec | None, part: Any) -> Tensor | None:
        """The gradient of one output, in memory of its own."""
        if part is None:
            return self._zeros(spec)
        if not isinstance(part, Tensor):
            return wrap(part.copy(), None, spec)
        return part if part._node is not None or type(part) is not Tensor else wrap(part._data.copy())

    def _checked(self, result: Any) -> tuple[Any, ...]:
        """What backward returned, one item for each input."""
        n = len(self._inputs)
        if n == 1 and isinstance(result, Tensor) and self._inputs[0] is not None:
            return (result,)
        bars = result if isinstance(result, tuple) else tuple(result) if isinstance(result, list) else (result,)
        if len(bars) < n or any(bar is not None for bar in bars[n:]):
            raise RuntimeError(
                f"{self._title}.backward must return one gradient for each of the {n} inputs of forward; it returned "
                f"{len(bars)}.\nReturn None for an input that has no gradient."
            )
        for i, (bar, spec) in enumerate(zip(bars, self._inputs)):
            if bar is not None and not isinstance(bar, Tensor):
                raise RuntimeError(
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
        tangents = [None if spec is None else direction(self, spec, next(rest)) for spec in self._inputs]
        given = [tangents[k] for k in self._positions]
        counts = counts_of(given) if self._dirty else []
        self._present = tuple(xs), tuple(z)
        try:
            with UserCode(current()):
                result = rule(self, *tangents)
        finally:
            self._present = None
        found = result if isinstance(result, tuple) else (result,)
        if len(found) != len(self._outputs):
            raise RuntimeError(
                f"{self._title}.jvp must return one tangent for each of the {len(self._outputs)} outputs of forward; it"
                f" returned {len(found)}"
            )
        for i, spec in enumerate(self._outputs):
            if spec is None and found[i] is not None:
                raise refused(self, i)
        return checked(self, [found[i] for i in self._tensor_outputs()], given, counts, xs, z)


class UserCode:
    """The user's own lines are what is recorded within, and what they switch is switched back after."""

    __slots__ = ("recording", "wengert", "where")

    def __init__(self, wengert: WengertList):
        self.wengert = wengert

    def __enter__(self) -> None:
        wengert = self.wengert
        self.recording, self.where = wengert.recording, wengert.where
        wengert.where = None

    def __exit__(self, *_: Any) -> None:
        self.wengert.recording, self.wengert.where = self.recording, self.where


def _fit(bar: Any, spec: Any, i: int, title: str) -> Any:
    """A gradient in its input's shape and dtype: summed over the axes along which the input would be expanded."""
    if bar is None or bar._spec is spec:
        return bar
    if bar._spec.shape != spec.shape:
        try:
            fits = np.broadcast_shapes(spec.shape, bar._spec.shape) == bar._spec.shape
        except ValueError:
            fits = False
        if not fits:
            raise RuntimeError(
                f"Function {title}Backward returned an invalid gradient at index {i} - got {list(bar._spec.shape)} but "
                f"expected shape compatible with {list(spec.shape)}: that of the input, or one that it expands to."
            )
        bar = ops.sum_to(bar, shape=spec.shape)
    if bar._spec.complex and not spec.complex:
        raise RuntimeError(
            f"Function {title}Backward returned an invalid gradient at index {i} - a {bar.dtype} for an input of dtype "
            f"{spec.dtype}: return its real part, or what the gradient of a real input is."
        )
    return in_dtype(bar, spec.dtype)
