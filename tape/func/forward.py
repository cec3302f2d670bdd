"""Forward mode as functions of functions: ``jvp``, ``jacfwd``, ``linearize``, ``hessian``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..backprop.backward import gradients
from ..base.signatures import named_after
from ..base.tensor import Tensor
from ..base.tree import build, structure_of, transform
from ..levels.direction import Direction, make, parts, zeros
from ..numpy.inside import arrays_inside, as_returned, inputs_inside
from ..recording.level import requires_grad
from ..recording.recording_modes import differentiating
from ..recording.wengert import current
from .inner import Argnums, fitting, inexact, movable, outputs_in, split_aux, with_respect_to
from .met_again import latest, sweeping
from .owners import look_for_kept, without_nobodys
from .reverse import Called, check_chunk_size, jacrev
from .seeds import blocks_along


@inputs_inside
def jvp(
    func: Callable[..., Any], primals: tuple[Any, ...], tangents: tuple[Any, ...], *, strict: bool = False,
    has_aux: bool = False,
) -> Any:  # fmt: skip
    """The value of a function and J ẋ, the derivative of its outputs along the tangents.

    Gives ``(output, jvp_out)``, or ``(output, jvp_out, aux)``.  No history is needed: it works in
    `no_grad`, and with ops that record nothing.

    Args:
        func: takes and returns tensors, or tuples, lists and dicts of tensors.
        primals: the arguments, as a tuple.
        tangents: a direction for each, in the same structure.
        strict: refuse an output that does not depend on the primals.
        has_aux: `func` returns ``(output, aux)``.

    Raises:
        RuntimeError: if structures, shapes or dtypes do not fit.

    >>> import tape
    >>> x, v = tape.tensor([1.0, 2.0]), tape.tensor([1.0, 0.0])
    >>> jvp(lambda x: (x * x).sum(), (x,), (v,))
    (tensor(5.), tensor(2.))
    """
    if not isinstance(primals, tuple):
        raise RuntimeError(f"jvp() takes the primals as a tuple, func(*primals); got {type(primals).__name__}")
    structure, xs, of_these = with_respect_to(func, primals, {}, None, "jvp()")
    movable(xs, "jvp()")
    x_dots = fitting(structure, xs, tangents, "the tangents of jvp()", "the primals")
    since = latest()
    with Direction() as level:
        moving = [make(x, x_dot, level) for x, x_dot in zip(xs, x_dots)]
        output, aux = split_aux(of_these(moving), has_aux, "jvp()")
        look_for_kept(output, since, with_history=True)
        pairs = [parts(z, level) for z in outputs_in(output, "jvp()")]
        aux = transform(lambda x: parts(x, level)[0], aux)
    if strict and any(z_dot is None for _, z_dot in pairs):
        raise RuntimeError("jvp(strict=True): an output of the function does not depend on the primals")
    values = [without_nobodys(z) for z, _ in pairs]
    moved = [zeros(z) if z_dot is None else without_nobodys(z_dot) for z, z_dot in pairs]
    value, tangent = as_returned(func, build(structure_of(output), values)), build(structure_of(output), moved)
    return (value, tangent, as_returned(func, aux, last=True)) if has_aux else (value, tangent)


@arrays_inside
def jacfwd(
    func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, *, chunk_size: int | None = None,
    randomness: str = "error",
) -> Callable[..., Any]:  # fmt: skip
    """The function that computes the Jacobian of `func` in forward mode.

    The result is that of `jacrev`.  `func` is called once, with a batch of directions as in `vmap`; or
    once for every ``chunk_size`` of them.  ``randomness`` is that of `vmap`.

    >>> import tape
    >>> jacfwd(lambda x: x * x)(tape.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    check_chunk_size("jacfwd", chunk_size)

    def jacobian(*args: Any) -> Any:
        structure, given, of_these = with_respect_to(func, args, {}, argnums, "jacfwd()")
        seen: list[Any] = []

        def call(moving: Sequence[Tensor], direction: Direction | None) -> list[Tensor]:
            since = latest()
            output, aux = split_aux(of_these(moving), has_aux, "jacfwd()")
            look_for_kept(output, since, with_history=True)
            still = aux if direction is None else transform(lambda x: parts(x, direction)[0], aux)
            seen[:] = [structure_of(output), still]
            return inexact(outputs_in(output, "jacfwd()"), "jacfwd()")

        blocks = blocks_along(call, movable(given, "jacfwd()"), chunk_size, randomness)
        made, aux = seen
        jac = build(made, [build(structure, map(without_nobodys, row)) for row in blocks])
        return (jac, as_returned(func, aux, last=True)) if has_aux else jac

    return named_after(func, jacobian, "jacfwd")


@arrays_inside
def hessian(func: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """The function that computes the second derivatives of `func`: forward over reverse, jacfwd(jacrev(func)).

    >>> import tape
    >>> hessian(lambda x: (x**3).sum())(tape.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)


@inputs_inside
def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """The value of a function, and its derivative there as a function: tangents ↦ J ẋ.

    `func` is called once, with the ``primals``.  Its pullback u(g) = gᵀJ is recorded with g as a variable; it is
    linear in g, so the gradient of ⟨u, ẋ⟩ with respect to g is J ẋ, one sweep for each direction.  A function that
    switches recording off (`no_grad`) is called once more for each direction, with `jvp`, which that does not stop.

    >>> import tape
    >>> z, push = linearize(lambda x: x.sin(), tape.tensor([0.0, 1.0]))
    >>> push(tape.tensor([1.0, 0.0]))
    tensor([1., 0.])
    """
    stopped = current().stopped
    called = Called(func, primals, {}, None, False, "linearize()")
    inner, made = called.inner, structure_of(called.output)
    if current().stopped > stopped:
        inexact(outputs_in(called.output, "linearize()"), "linearize()")
        return called.value, lambda *tangents: jvp(func, primals, tangents)[1]
    with differentiating():
        outputs = inexact(outputs_in(called.output, "linearize()"), "linearize()")
        gs = [inner.variable(zeros(z)._data) for z in outputs]
        us = inner.gradients(outputs, gs, retain=True, create=True)

    def jvp_fn(*tangents: Any) -> Any:
        """J ẋ, in the structure of the output, for a tangent in the place of each primal."""
        x_dots = fitting(called.structure, inner.targets, tangents, "the tangents", "the primals")
        pairs = [(u, t) for u, t in zip(us, x_dots) if u is not None and requires_grad(u)]
        if not pairs:
            return build(made, map(zeros, outputs))
        sources, weights = zip(*pairs)
        create = current().recording and inner.is_seen_outside(*sources, *weights)
        with sweeping(create):
            z_dots = gradients(sources, weights, gs, True, create, True)
        return build(made, [zeros(z) if d is None else inner.outside(d) for z, d in zip(outputs, z_dots)])

    return called.value, jvp_fn
