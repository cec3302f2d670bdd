"""Products with Jacobians and Hessians, and these themselves, of functions of tensors.

A tensor in gives a tensor out; a tuple in gives a tuple out, nested where there are several inputs
and several outputs.  `tape.func` has the same as functions of functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import ops

from ..dual import Direction, Dual, make, parts, zeros
from ..func.inner import Inner, history, requires_grad
from ..func.reverse import unit_vectors
from ..level import live
from ..propagate import key
from ..record import wrap
from ..tensor import Tensor
from ..wengert import current
from .grad_mode import enable_grad, set_grad_enabled

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

Tensors = Tensor | tuple[Tensor, ...]
Found = list[Tensor | None]


def vjp(
    func: Callable[..., Any], inputs: Tensors, v: Tensors | None = None, create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """The value of a function and vᵀJ.

    Args:
        func: takes the inputs, returns a tensor or a tuple of tensors.
        inputs: a tensor or a tuple of tensors.
        v: of the shapes of the outputs; 1 if left out, which needs a single output of one element.
        create_graph: record everything, so that both results can be differentiated.
        strict: refuse an input that no output depends on, instead of giving zeros for it.

    Raises:
        TypeError: if inputs, outputs or v are no tensors.
        RuntimeError: if v does not fit; in strict mode, if something is independent of the inputs.

    >>> import tape
    >>> vjp(lambda x: x * x, tape.tensor([1.0, 2.0]), tape.tensor([1.0, 10.0]))
    (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    call = _Call("vjp", func, inputs, create_graph, strict)
    call.run()
    weights = call.vector(v, call.outputs, call.many_outputs, "the function returns")
    found = call.gradients(call.outputs, weights, create=create_graph)
    return call.give_outputs(), call.give(call.filled(found, call.new, "the output"), call.many_inputs)


def jvp(
    func: Callable[..., Any], inputs: Tensors, v: Tensors | None = None, create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """The value of a function and J v, in forward mode.

    Arguments and errors are those of `vjp`, with v of the shapes of the inputs.

    >>> import tape
    >>> jvp(lambda x: x * x, tape.tensor([1.0, 2.0]), tape.tensor([1.0, 10.0]))
    (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    call = _Call("jvp", func, inputs, create_graph, strict)
    with Direction() as level:
        call.run(call.vector(v, call.new, call.many_inputs, "the function takes"), level)
        pairs = [parts(z, level) for z in call.outputs]
    call.outputs = [z for z, _ in pairs]
    call.check_used()
    found = [z_dot for _, z_dot in pairs]
    return call.give_outputs(), call.give(call.filled(found, call.outputs, "output"), call.many_outputs)


def vhp(
    func: Callable[..., Any], inputs: Tensors, v: Tensors | None = None, create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """The value of a scalar function and vᵀH, where H is its Hessian: reverse over reverse.

    Arguments and errors are those of `vjp`, with v of the shapes of the inputs; `hvp` is cheaper.

    >>> import tape
    >>> vhp(lambda x: (x**3).sum(), tape.tensor([1.0, 2.0]), tape.tensor([1.0, 10.0]))
    (tensor(9.), tensor([  6., 120.]))
    """
    call = _Call("vhp", func, inputs, create_graph, strict)
    weights = call.vector(v, call.new, call.many_inputs, "the function takes")
    call.run()
    slopes = call.slopes()
    found = call.gradients(slopes, weights, create=create_graph)
    return call.give_outputs(), call.give(call.filled(found, call.new, "the jacobian"), call.many_inputs)


def hvp(
    func: Callable[..., Any], inputs: Tensors, v: Tensors | None = None, create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """The value of a scalar function and H v, where H is its Hessian: the gradient of ∇f · v, taken forward.

    Arguments and errors are those of `vhp`.

    >>> import tape
    >>> hvp(lambda x: (x**3).sum(), tape.tensor([1.0, 2.0]), tape.tensor([1.0, 10.0]))
    (tensor(9.), tensor([  6., 120.]))
    """
    call = _Call("hvp", func, inputs, create_graph, strict)
    with Direction() as level:
        call.run(call.vector(v, call.new, call.many_inputs, "the function takes"), level)
        pairs = [parts(z, level) for z in call.outputs]
    call.outputs = [z for z, _ in pairs]
    call.slopes(needed=strict)
    moved = [z_dot for _, z_dot in pairs if z_dot is not None]
    found = call.gradients(moved, [_ones(z_dot) for z_dot in moved], create=create_graph)
    return call.give_outputs(), call.give(call.filled(found, call.new, "the jacobian"), call.many_inputs)


def jacobian(
    func: Callable[..., Any], inputs: Tensors, create_graph: bool = False, strict: bool = False,
    vectorize: bool = False, strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """The Jacobian of a function: ``J[i][j]`` has the shape of output i followed by that of input j.

    A single input, or output, that is no tuple has no index.

    Args:
        func: takes the inputs, returns a tensor or a tuple of tensors.
        inputs: a tensor or a tuple of tensors.
        create_graph: record everything, so that the Jacobian can be differentiated.
        strict: refuse an output that is independent of an input, instead of giving zeros.
        vectorize: taken for PyTorch's sake: rows and columns are computed one by one either way.
        strategy: ``"reverse-mode"``, a sweep for each element of the outputs, or
            ``"forward-mode"``, a call of the function for each element of the inputs.

    Raises:
        TypeError: if inputs or outputs are no tensors.
        RuntimeError: in strict mode, if something is independent of the inputs; if ``strict``
            is combined with ``vectorize`` or forward mode.
        ValueError: on another strategy.

    >>> import tape
    >>> jacobian(lambda x, y: x * y, (tape.tensor([1.0, 2.0]), tape.tensor(3.0)))
    (tensor([[3., 0.],
            [0., 3.]]), tensor([1., 2.]))
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise ValueError(f'strategy must be "forward-mode" or "reverse-mode"; got {strategy!r}')
    if strict and (vectorize or strategy == "forward-mode"):
        raise RuntimeError(
            "jacobian: strict=True goes with strategy='reverse-mode' and vectorize=False alone; leave out one of them"
        )
    call = _Call("jacobian", func, inputs, create_graph, strict)
    rows = _columnwise(call) if strategy == "forward-mode" else _rowwise(call)
    results = tuple(call.give(row, call.many_inputs) for row in rows)
    return results if call.many_outputs else results[0]


def hessian(
    func: Callable[..., Any], inputs: Tensors, create_graph: bool = False, strict: bool = False,
    vectorize: bool = False, outer_jacobian_strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """The second derivatives of a scalar function: ``H[i][j]`` has the shape of input i followed by that of input j.

    Arguments and errors are those of `jacobian`, which is taken of the gradient by
    ``outer_jacobian_strategy``.

    >>> import tape
    >>> hessian(lambda x: (x**3).sum(), tape.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    many, given = _tuple_of(inputs, "inputs", "hessian")

    def slopes(*xs: Tensor) -> tuple[Tensor, ...]:
        call = _Call("hessian", func, tuple(xs), True, strict)
        call.run()
        return tuple(call.slopes())

    found = jacobian(slopes, given, create_graph, strict, vectorize, outer_jacobian_strategy)
    return found if many else found[0][0]


class _Call:
    """One call of a user's function on new tensors in the place of its inputs.

    Attributes:
        new: these tensors, which gradients are taken with respect to.
        outputs: what the function returned.
        many_inputs, many_outputs: whether these were tuples.
    """

    def __init__(self, name: str, func: Callable[..., Any], inputs: Any, create_graph: bool, strict: bool):
        self.name, self.func, self.create, self.strict = name, func, create_graph, strict
        self.many_inputs, given = _tuple_of(inputs, "inputs", name)
        self.inner = Inner(recording=create_graph)
        with enable_grad():
            self.arguments = [self.inner.argument(x) for x in given]
        self.new = self.inner.targets
        self.outputs: list[Tensor] = []
        self.many_outputs = False

    def run(self, x_dots: Sequence[Tensor | None] | None = None, level: Direction | None = None) -> None:
        """Call the function, on tensors that move if directions are given."""
        xs: Sequence[Tensor] = self.arguments
        if x_dots is not None and level is not None:
            xs = [make(x, _ones(x) if d is None else d, level) for x, d in zip(xs, x_dots)]
        with enable_grad():
            result = self.func(*xs)
        self.many_outputs, outputs = _tuple_of(result, "outputs of the user-provided function", self.name)
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
                    f"{self.name}: the vector v can only be left out where {what} a single tensor with a single "
                    f"element; got shapes {[x._spec.shape for x in refs]}"
                )
            return [None]
        _, found = _tuple_of(v, "v", self.name)
        if len(found) != len(refs):
            raise RuntimeError(
                f"{self.name}: v is a tuple of invalid length: it needs {len(refs)}, for what {what}; got {len(found)}"
                if many
                else f"{self.name}: the given v should contain a single tensor; got {len(found)}"
            )
        for i, (x, ref) in enumerate(zip(found, refs)):
            if x._spec.shape != ref._spec.shape:
                entry = f"entry {i} of " if many else ""
                raise RuntimeError(
                    f"{self.name}: {entry}v has invalid size: it must have shape {ref._spec.shape}, and has "
                    f"{x._spec.shape}"
                )
        kept = found if self.create else [_detached(x) for x in found]
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
        if not needed:
            return []
        with enable_grad():
            found = self.gradients(self.outputs, [_ones(self.outputs[0])], create=True)
        if self.strict:
            for i, g in enumerate(found):
                if g is None:
                    raise self.independent("the output", f"input {i}")
                if not requires_grad(g):
                    raise RuntimeError(
                        f"{self.name}: the jacobian of the user-provided function with respect to input {i} is "
                        "independent of the input, as that of a linear function is.\nIn strict mode the function must "
                        "be twice differentiable; use strict=False to get zeros."
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
                raise self.independent("the output", f"input {i}")

    def filled(self, found: Sequence[Tensor | None], refs: Sequence[Tensor], what: str) -> list[Tensor]:
        """Results with zeros for what is independent, which strict mode refuses."""
        for i, g in enumerate(found if self.strict else ()):
            if g is None:
                raise self.independent(*((f"output {i}", "the inputs") if what == "output" else (what, f"input {i}")))
            if self.create and not requires_grad(g):
                raise RuntimeError(
                    f"{self.name}: result {i} is independent of the inputs, so it cannot be differentiated.\nThis is "
                    "not allowed in strict mode when create_graph=True; use strict=False."
                )
        return [zeros(ref) if g is None else g for g, ref in zip(found, refs)]

    def independent(self, what: str, of: str) -> RuntimeError:
        return RuntimeError(
            f"{self.name}: {what} of the user-provided function is independent of {of}.\n"
            "This is not allowed in strict mode; use strict=False to get zeros."
        )

    def give(self, results: Sequence[Tensor], many: bool) -> Any:
        """Results as the user gets them: without history unless asked for, a tuple if there may be many."""
        kept = tuple(results) if self.create else tuple(map(_detached, results))
        return kept if many else kept[0]

    def give_outputs(self) -> Any:
        return self.give(self.outputs, self.many_outputs)


def _rowwise(call: _Call) -> list[list[Tensor]]:
    """Per output, the Jacobian with respect to each input, a sweep for each of the output's elements."""
    call.run()
    return [_rows(call, i, z) for i, z in enumerate(call.outputs)]


def _rows(call: _Call, i: int, z: Tensor) -> list[Tensor]:
    shape = z._spec.shape
    rows = []
    for e in unit_vectors(z):
        found = call.gradients([z], [e], create=call.create)
        for j, g in enumerate(found if call.strict else ()):
            if g is None:
                raise call.independent(f"output {i}", f"input {j}")
            if call.create and not requires_grad(g):
                raise RuntimeError(
                    f"{call.name}: the jacobian of the user-provided function is independent of input {j}.\nThis is "
                    "not allowed in strict mode when create_graph=True; use strict=False."
                )
        rows.append([zeros(x) if g is None else g for x, g in zip(call.new, found)])
    if not rows:
        return [wrap(np.zeros((*shape, *x._spec.shape), x.dtype)) for x in call.new]
    with set_grad_enabled(call.create):
        return [
            ops.reshape(ops.stack(*column, axis=0), shape=(*shape, *x._spec.shape))
            for x, column in zip(call.new, zip(*rows))
        ]


def _columnwise(call: _Call) -> list[list[Tensor]]:
    """The same, with a call of the function for each element of the inputs."""
    call.run()
    outputs = call.outputs
    arguments = call.arguments if call.create else list(map(_detached, call.arguments))
    blocks: list[list[Tensor]] = [[] for _ in outputs]
    for j, x in enumerate(arguments):
        columns = []
        for e in unit_vectors(x):
            with Direction() as level, set_grad_enabled(call.create or current().recording):
                moving = [make(a, e, level) if k == j else a for k, a in enumerate(arguments)]
                _, zs = _tuple_of(call.func(*moving), "outputs of the user-provided function", call.name)
                columns.append([parts(z, level) for z in zs])
        for i, z in enumerate(outputs):
            column = [zeros(p) if d is None else d for p, d in (c[i] for c in columns)]
            shape = (*z._spec.shape, *x._spec.shape)
            with set_grad_enabled(call.create):
                stacked = ops.stack(*column, axis=-1) if column else wrap(np.zeros(shape, z.dtype))
                blocks[i].append(ops.reshape(stacked, shape=shape))
    return blocks


def _tuple_of(x: Any, what: str, name: str) -> tuple[bool, tuple[Tensor, ...]]:
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
                f"{type(element).__name__}. Convert it with tape.tensor()."
            )
    return many, found


def _detached(x: Tensor) -> Tensor:
    """A tensor without history, which goes on moving if it does."""
    x = live(x)
    if isinstance(x, Dual):
        assert x._tangent is not None
        return make(_detached(x._primal), _detached(x._tangent), x._level)
    return x.detach() if x._node is not None else x


def _ones(x: Tensor) -> Tensor:
    return wrap(np.ones(x._spec.shape, x._spec.dtype)[()])
