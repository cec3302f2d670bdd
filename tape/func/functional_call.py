"""One call of a user's function for `tape.autograd.functional`: what goes in, what comes out, what is refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import ops

from ..base.spec import implicit
from ..base.tensor import Tensor
from ..levels.direction import Direction, Dual, make, zeros
from ..numpy.inside import Inside, as_returned
from ..recording.level import history, live, requires_grad, within
from ..recording.recorder import wrap
from ..recording.recording_modes import differentiating
from ..recording.wengert import key
from .inner import Inner
from .owners import look_for_kept

Tensors = Tensor | tuple[Tensor, ...]
Found = list[Tensor | None]


class FunctionalCall:
    """One call of a user's function on new tensors in the place of its inputs.

    Attributes:
        new: these tensors, which gradients are taken with respect to.
        outputs: what the function returned.
        many_inputs, many_outputs: whether these were tuples.
    """

    def __init__(self, name: str, func: Callable[..., Any], inputs: Any, create_graph: bool, strict: bool):
        self.name, self.func, self.create, self.strict = name, func, create_graph, strict
        self.many_inputs, given = tuple_of(inputs, "inputs", name)
        self.inner = Inner(recording=create_graph)
        for x in given if create_graph else ():
            x._check_histories((x,))  # of one without, the results depend on a leaf of this call's own
        with differentiating():
            self.arguments = [self.inner.argument(x) for x in given]
        self.new = self.inner.targets
        self.outputs: list[Tensor] = []
        self.many_outputs = False

    def run(self, x_dots: Sequence[Tensor | None] | None = None, level: Direction | None = None) -> None:
        """Call the function, on tensors that move if directions are given."""
        xs: Sequence[Tensor] = self.arguments
        if x_dots is not None and level is not None:
            xs = [make(x, ones(x) if d is None else d, level) for x, d in zip(xs, x_dots)]
        with self.inner.calling(), differentiating(), within():
            result = self.func(*xs)
            look_for_kept(result, self.inner.past.begin, with_history=True, in_reverse=True)
        self.many_outputs, outputs = tuple_of(result, "outputs of the user-provided function", self.name)
        self.outputs = list(outputs)
        if self.strict:
            for i, z in enumerate(outputs):
                if not z.requires_grad:
                    raise RuntimeError(
                        f"Output {i} of the user-provided function does not require gradients: it does not depend on "
                        "the inputs.\nIn strict mode every output must be computed from the inputs; use strict=False "
                        "to get zeros."
                    )

    def vector(self, v: Any, refs: Sequence[Tensor], many: bool, what: str) -> list[Tensor | None]:
        """The vector as a list that fits; None for 1 where it was left out."""
        if v is None:
            if len(refs) != 1 or refs[0]._spec.size != 1:
                raise RuntimeError(
                    f"The vector v can only be None if {what} a single tensor with a single element; {self.name}() got "
                    f"shapes {[x._spec.shape for x in refs]}"
                )
            return [None]
        _, found = tuple_of(v, "v", self.name)
        if len(found) != len(refs):
            raise RuntimeError(
                f"{self.name}: v is a tuple of invalid length: it needs {len(refs)}, as what {what}; got {len(found)}"
                if many
                else f"{self.name}: The given v should contain a single Tensor. It has {len(found)}"
            )
        for i, (x, ref) in enumerate(zip(found, refs)):
            if x._spec.shape != ref._spec.shape:
                entry = f"entry {i} of " if many else ""
                raise RuntimeError(f"{self.name}: {entry}v has invalid size: should be {ref.shape}, but got {x.shape}")
        kept = found if self.create else [detached(x) for x in found]
        return [x if x._spec.dtype == ref._spec.dtype else ops.cast(x, dtype=ref._spec.dtype)
                for x, ref in zip(kept, refs)]  # fmt: skip

    def gradients(self, outputs: Sequence[Tensor], weights: Sequence[Tensor | None], *, create: bool) -> Found:
        """Σ ⟨weight, output⟩ differentiated with respect to the new tensors."""
        return self.inner.gradients(outputs, weights, retain=True, create=create)

    def slopes(self, needed: bool = True) -> list[Tensor]:
        """The gradient of the function, which must be a scalar, recorded; nothing if it is not needed."""
        if self.many_outputs:
            raise RuntimeError(
                f"The function given to {self.name} should return a single Tensor; got a tuple of {len(self.outputs)}"
            )
        if self.outputs[0]._spec.size != 1:
            raise RuntimeError(
                f"The Tensor returned by the function given to {self.name} should contain a single element; got shape "
                f"{self.outputs[0]._spec.shape}"
            )
        implicit(self.outputs[0]._spec)
        if not needed:
            return []
        with differentiating():
            found = self.gradients(self.outputs, [None], create=True)
        if self.strict:
            for i, g in enumerate(found):
                if g is None or not requires_grad(g):
                    start = f"The output of the user-provided function is independent of input {i}, so that "
                    start = start if g is None else ""
                    raise RuntimeError(
                        f"{start}the jacobian of the user-provided function with respect to input {i} is independent "
                        f"of the input.\nIn {self.name}() this is not allowed in strict mode: the function must be "
                        "twice differentiable and not linear; use strict=False to get zeros."
                    )
        return [zeros(x) if g is None else g for x, g in zip(self.new, found)]

    def check_used(self) -> None:
        """In strict mode, raise if no output depends on one of the inputs."""
        if not self.strict:
            return
        reached = set(history(self.outputs))
        for i, x in enumerate(self.new):
            primal = live(x)
            if key(primal if primal._node is True else primal._node) not in reached:
                raise self.independent("The output", f"input {i}")

    def by_input(self, found: Sequence[Tensor | None], of_jacobian: bool = False) -> list[Tensor]:
        """A derivative of the output, or of the jacobian, for each input."""
        what, derivative = ("The jacobian", "hessian") if of_jacobian else ("The output", "jacobian")
        return self._filled(found, self.new, derivative, lambda i: (what, f"input {i}"))

    def by_output(self, found: Sequence[Tensor | None]) -> list[Tensor]:
        """A derivative for each output."""
        return self._filled(found, self.outputs, "jacobian", lambda i: (f"Output {i}", "the inputs"))

    def _filled(
        self, found: Sequence[Tensor | None], refs: Sequence[Tensor], derivative: str,
        what_of: Callable[[int], tuple[str, str]],
    ) -> list[Tensor]:  # fmt: skip
        """Results with zeros for what is independent, which strict mode refuses."""
        for i, g in enumerate(found if self.strict else ()):
            if g is None:
                raise self.independent(*what_of(i))
            if self.create and not requires_grad(g):
                raise RuntimeError(
                    f"{self.name}: the {derivative} of the user-provided function is independent of input {i}. Result "
                    f"{i} cannot be differentiated.\nThis is not allowed in strict mode when create_graph=True; use "
                    "strict=False."
                )
        return [zeros(ref) if g is None else g for g, ref in zip(found, refs)]

    def independent(self, what: str, of: str) -> RuntimeError:
        return RuntimeError(
            f"{what} of the user-provided function is independent of {of}.\n"
            f"In {self.name}() this is not allowed in strict mode; use strict=False to get zeros."
        )

    def give(self, results: Sequence[Tensor], many: bool) -> Any:
        """Results as the user gets them: without history unless asked for, a tuple if there may be many."""
        kept = tuple(results) if self.create else tuple(map(detached, results))
        if self.create:
            self.inner.gives(kept, to_anybody=not isinstance(self.func, Inside))
        return kept if many else kept[0]

    def give_outputs(self) -> Any:
        return as_returned(self.func, self.give(self.outputs, self.many_outputs))


def tuple_of(x: Any, what: str, name: str) -> tuple[bool, tuple[Tensor, ...]]:
    """Whether something is a tuple, and the tensors in it.

    Raises:
        TypeError: if something else than a tensor is in it.
    """
    many = isinstance(x, tuple)
    found = x if many else (x,)
    for i, element in enumerate(found):
        if not isinstance(element, Tensor):
            place = f"the value at index {i}" if many else "it"
            raise TypeError(
                f"The {what} given to {name} must be either a Tensor or a tuple of Tensors but {place} has type "
                f"{type(element).__name__}. Convert it with tape.tensor() or np.array()."
            )
    return many, found


def detached(x: Tensor) -> Tensor:
    """A tensor without history, which goes on moving if it does."""
    x = live(x)
    if isinstance(x, Dual):
        assert x._tangent is not None
        return make(detached(x._primal), detached(x._tangent), x._level)
    return x.detach() if x._node is not None or x.requires_grad else x  # a view may have only the history of its base


def ones(x: Tensor) -> Tensor:
    return wrap(np.ones(x._spec.shape, x._spec.dtype)[()])
