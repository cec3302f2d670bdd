"""Products with Jacobians and Hessians, and these themselves, of functions of tensors.

A tensor in gives a tensor out; a tuple in gives a tuple out, nested where there are several inputs
and several outputs.  `tape.func` has the same as functions of functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ops

from ..base.tensor import Tensor
from ..func.functional_call import FunctionalCall, Tensors, detached, ones, tuple_of
from ..func.met_again import latest
from ..func.owners import look_for_kept
from ..func.seeds import blocks_along, no_block, rows_of
from ..levels.direction import Direction, RecordedDirection, parts
from ..numpy.inside import inputs_inside
from ..recording.level import requires_grad
from ..recording.recording_modes import set_grad_enabled
from ..recording.views import leave
from ..recording.wengert import current

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


@inputs_inside
def vjp(
    func: Callable[..., Any], inputs: Tensors, v: Tensors | None = None, create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """The value of a function and vᵀJ.

    Args:
        func: takes the inputs, returns a tensor or a tuple of tensors.
        inputs: a tensor or a tuple of tensors.
        v: of the shapes of the outputs; 1 if left out, which needs a single output of one element.
        create_graph: record everything, under `no_grad` too, so that both results can be differentiated.
        strict: refuse an input that no output depends on, instead of giving zeros for it.

    Raises:
        TypeError: if inputs, outputs or v are no tensors.
        RuntimeError: if v does not fit; in strict mode, if something is independent of the inputs.

    >>> import tape
    >>> vjp(lambda x: x * x, tape.tensor([1.0, 2.0]), tape.tensor([1.0, 10.0]))
    (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    call = FunctionalCall("vjp", func, inputs, create_graph, strict)
    call.run()
    weights = call.vector(v, call.outputs, call.many_outputs, "the user-provided function returns")
    found = call.gradients(call.outputs, weights, create=create_graph)
    return call.give_outputs(), call.give(call.by_input(found), call.many_inputs)


@inputs_inside
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
    call = FunctionalCall("jvp", func, inputs, create_graph, strict)
    with RecordedDirection() as level:
        call.run(call.vector(v, call.new, call.many_inputs, "the input to the user-provided function is"), level)
        pairs = [parts(z, level) for z in call.outputs]
    call.outputs = [z for z, _ in pairs]
    call.check_used()
    found = [z_dot for _, z_dot in pairs]
    return call.give_outputs(), call.give(call.by_output(found), call.many_outputs)


@inputs_inside
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
    call = FunctionalCall("vhp", func, inputs, create_graph, strict)
    weights = call.vector(v, call.new, call.many_inputs, "the input to the user-provided function is")
    call.run()
    slopes = call.slopes()
    found = call.gradients(slopes, weights, create=create_graph)
    return call.give_outputs(), call.give(call.by_input(found, of_jacobian=True), call.many_inputs)


@inputs_inside
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
    call = FunctionalCall("hvp", func, inputs, create_graph, strict)
    with RecordedDirection() as level:
        call.run(call.vector(v, call.new, call.many_inputs, "the input to the user-provided function is"), level)
        pairs = [parts(z, level) for z in call.outputs]
    call.outputs = [z for z, _ in pairs]
    call.slopes(needed=strict)
    moved = [z_dot for _, z_dot in pairs if z_dot is not None]
    found = call.gradients(moved, [ones(z_dot) for z_dot in moved], create=create_graph)
    return call.give_outputs(), call.give(call.by_input(found, of_jacobian=True), call.many_inputs)


@inputs_inside
def jacobian(
    func: Callable[..., Any], inputs: Tensors, create_graph: bool = False, strict: bool = False,
    vectorize: bool = False, strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """The Jacobian of a function: ``J[i][j]`` has the shape of output i followed by that of input j.

    A single input, or output, that is no tuple has no index.  With complex numbers the entries are what
    `tape.func.jacrev` says: ∂z/∂x of a complex output, and the gradient of a real one.

    Args:
        func: takes the inputs, returns a tensor or a tuple of tensors.
        inputs: a tensor or a tuple of tensors.
        create_graph: record everything, under `no_grad` too, so that the Jacobian can be differentiated.
        strict: refuse an output that is independent of an input, instead of giving zeros.
        vectorize: one sweep for all elements of an output, with batched adjoints as in `tape.vmap`, in the place
            of one for each.
        strategy: ``"reverse-mode"``, or ``"forward-mode"``, which calls the function once with a batch of directions.

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
            "jacobian: strict=True and vectorize=True, or strategy='forward-mode', are not supported together; "
            "leave out one of them"
        )
    call = FunctionalCall("jacobian", func, inputs, create_graph, strict)
    rows = _columnwise(call) if strategy == "forward-mode" else _rowwise(call, vectorize)
    results = tuple(call.give(list(map(_alone, row)), call.many_inputs) for row in rows)
    return results if call.many_outputs else results[0]


@inputs_inside
def hessian(
    func: Callable[..., Any], inputs: Tensors, create_graph: bool = False, strict: bool = False,
    vectorize: bool = False, outer_jacobian_strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """The second derivatives of a scalar function: ``H[i][j]`` has the shape of input i followed by that of input j.

    Arguments and errors are those of `jacobian`, which is taken of the gradient by
    ``outer_jacobian_strategy``.  Of complex inputs it is ∂(∇f)/∂x = 2 ∂²f/∂x∂x̄; what ∇f depends on x̄ shows in
    `hvp`, and in the Hessian of the function of `tape.view_as_real`.

    >>> import tape
    >>> hessian(lambda x: (x**3).sum(), tape.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    many, given = tuple_of(inputs, "inputs", "hessian")

    def slopes(*xs: Tensor) -> tuple[Tensor, ...]:
        call = FunctionalCall("hessian", func, tuple(xs), True, strict)
        call.run()
        return tuple(call.slopes())

    found = jacobian(slopes, given, create_graph, strict, vectorize, outer_jacobian_strategy)
    return found if many else found[0][0]


def _alone(block: Tensor) -> Tensor:
    """A block of a Jacobian; one that was not recorded as no view of what it was cut from, which nobody else has."""
    return leave(block) if type(block) is Tensor and block._node is None else block


def _rowwise(call: FunctionalCall, vectorize: bool) -> list[list[Tensor]]:
    """Per output, the Jacobian with respect to each input: a sweep for each of the output's elements, or for all."""
    call.run()
    found = []
    for i, z in enumerate(call.outputs):
        with set_grad_enabled(call.create):
            rows = rows_of(call.inner, z, call.create, None if vectorize else 1, vectorize)
        if z._spec.size:
            _check_rows(call, i, rows)
        found.append([_block(call, g, z, x) for g, x in zip(rows, call.new)])
    return found


def _block(call: FunctionalCall, rows: Tensor | None, z: Tensor, x: Tensor) -> Tensor:
    if rows is None:
        return no_block(z, x)
    with set_grad_enabled(call.create):
        return ops.reshape(rows, shape=(*z._spec.shape, *x._spec.shape))


def _check_rows(call: FunctionalCall, i: int, rows: Sequence[Tensor | None]) -> None:
    """In strict mode, raise if an output is independent of an input, or its derivative is."""
    for j, g in enumerate(rows if call.strict else ()):
        if g is None:
            raise call.independent(f"Output {i}", f"input {j}")
        if call.create and not requires_grad(g):
            raise RuntimeError(
                f"{call.name}: the jacobian of the user-provided function is independent of input {j}.\nThis is "
                "not allowed in strict mode when create_graph=True; use strict=False."
            )


def _columnwise(call: FunctionalCall) -> list[list[Tensor]]:
    """The same in forward mode, with a call of the function for all elements of the inputs."""
    arguments = call.arguments if call.create or call.inner.cuts else list(map(detached, call.arguments))

    def outputs(moving: Sequence[Tensor], direction: Direction | None) -> Sequence[Tensor]:
        since = latest()
        with set_grad_enabled(call.create or bool(call.inner.cuts) or current().recording):
            result = call.func(*moving)
            look_for_kept(result, since, with_history=True)
        call.many_outputs, found = tuple_of(result, "outputs of the user-provided function", call.name)
        return found

    with call.inner.calling(), set_grad_enabled(call.create):
        return blocks_along(outputs, arguments, None)
