"""Forward mode as functions of functions: ``jvp``, ``jacfwd``, ``linearize``, ``hessian``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import ops

from ..backward import grad
from ..dual import Direction, make, parts, zeros
from ..history import requires_grad
from ..record import wrap
from ..tensor import Tensor
from ..wengert import current
from .arguments import (
    Argnums,
    chosen,
    fitting,
    inexact,
    matching,
    named_after,
    outputs_in,
    refuse_complex,
    replaced,
    split_aux,
    tensors_in,
)
from .inner import Inner
from .reverse import check_chunk_size, jacrev, recording, unit_vectors
from .tree import Structure, build, structure_of, transform


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
    structure = structure_of(primals)
    xs = tensors_in(primals, "the primals of jvp()")
    x_dots = fitting(matching(structure, tangents, "the tangents of jvp()", "the primals"), xs, "the tangents of jvp()",
                     "the primals")  # fmt: skip
    with Direction() as level:
        moving = build(structure, [make(x, x_dot, level) for x, x_dot in zip(inexact(xs, "jvp()"), x_dots)])
        output, aux = split_aux(func(*moving), has_aux, "jvp()")
        pairs = [parts(z, level) for z in outputs_in(output, "jvp()")]
        aux = transform(lambda x: parts(x, level)[0], aux)
    if strict and any(z_dot is None for _, z_dot in pairs):
        raise RuntimeError("jvp(strict=True): an output of the function does not depend on the primals")
    values = [z for z, _ in pairs]
    moved = [zeros(z) if z_dot is None else z_dot for z, z_dot in pairs]
    results = build(structure_of(output), values), build(structure_of(output), moved)
    return (*results, aux) if has_aux else results


def jacfwd(
    func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, *, chunk_size: int | None = None,
    randomness: str = "error",
) -> Callable[..., Any]:  # fmt: skip
    """The function that computes the Jacobian of `func` in forward mode: a call for each element of the arguments.

    The result is that of `jacrev`.  ``chunk_size`` and ``randomness`` are taken for PyTorch's sake:
    columns are computed one by one.

    >>> import tape
    >>> jacfwd(lambda x: x * x)(tape.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    check_chunk_size("jacfwd", chunk_size)

    def jacobian(*args: Any) -> Any:
        wrt = chosen(argnums, args)
        structure = structure_of(wrt)
        xs = inexact(tensors_in(wrt, "jacfwd(): the arguments that are differentiated"), "jacfwd()")
        refuse_complex("jacfwd()", xs, "arguments")
        columns = _Columns(func, argnums, args, structure, xs, has_aux)
        blocks = [columns.along(j) for j in range(len(xs))]
        outputs, made, aux = columns.result()
        refuse_complex("jacfwd()", outputs, "results")
        jac = build(made, [build(structure, _blocks(z, xs, [b[i] for b in blocks])) for i, z in enumerate(outputs)])
        return (jac, aux) if has_aux else jac

    return named_after(func, jacobian, "jacfwd")


class _Columns:
    """Derivatives of a function along the elements of its arguments, one at a time."""

    def __init__(
        self, func: Callable[..., Any], argnums: Argnums, args: tuple[Any, ...], structure: Structure,
        xs: list[Tensor], has_aux: bool,
    ):  # fmt: skip
        self.func, self.argnums, self.args, self.structure, self.xs, self.has_aux = (
            func, argnums, args, structure, xs, has_aux
        )  # fmt: skip
        self._seen: Any = None

    def along(self, j: int) -> list[list[Tensor]]:
        """For each output, its derivatives along the elements of one of the tensors."""
        columns = [self._call(j, e) for e in unit_vectors(self.xs[j])]
        return [list(column) for column in zip(*columns)] if columns else [[] for _ in self.result()[0]]

    def result(self) -> Any:
        """Outputs, their structure and aux, of the first call."""
        if self._seen is None:
            self._call(0, None)
        return self._seen

    def _call(self, j: int, e: Tensor | None) -> list[Tensor]:
        with Direction() as level:
            new = [make(x, e, level) if k == j and e is not None else x for k, x in enumerate(self.xs)]
            args = replaced(self.argnums, self.args, build(self.structure, new))
            output, aux = split_aux(self.func(*args), self.has_aux, "jacfwd()")
            pairs = [parts(z, level) for z in inexact(outputs_in(output, "jacfwd()"), "jacfwd()")]
            if self._seen is None:
                aux = transform(lambda x: parts(x, level)[0], aux)
                self._seen = [z for z, _ in pairs], structure_of(output), aux
        return [zeros(z) if z_dot is None else z_dot for z, z_dot in pairs]


def _blocks(z: Tensor, xs: list[Tensor], columns: list[list[Tensor]]) -> list[Tensor]:
    """The Jacobian of one output with respect to each tensor, out of its columns."""
    blocks = []
    for x, column in zip(xs, columns):
        shape = (*z._spec.shape, *x._spec.shape)
        stacked = ops.stack(*column, axis=-1) if column else wrap(np.zeros(shape, z.dtype))
        blocks.append(ops.reshape(stacked, shape=shape))
    return blocks


def hessian(func: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """The function that computes the second derivatives of `func`: forward over reverse, jacfwd(jacrev(func)).

    >>> import tape
    >>> hessian(lambda x: (x**3).sum())(tape.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """The value of a function, and its derivative there as a function: tangents ↦ J ẋ.

    `func` is called once.  Its pullback u(g) = gᵀJ is recorded with g as a variable; it is linear in
    g, so the gradient of ⟨u, ẋ⟩ with respect to g is J ẋ, one sweep for each direction.

    >>> import tape
    >>> z, push = linearize(lambda x: x.sin(), tape.tensor([0.0, 1.0]))
    >>> push(tape.tensor([1.0, 0.0]))
    tensor([1., 0.])
    """
    inner = Inner()
    structure = structure_of(primals)
    xs = tensors_in(primals, "the primals of linearize()")
    with recording():
        output = func(*build(structure, map(inner.argument, xs)))
        outputs = inexact(outputs_in(output, "linearize()"), "linearize()")
        gs = [inner.leaf(zeros(z)._data) for z in outputs]
        us = inner.gradients(outputs, gs, retain=True, create=True)
    made = structure_of(output)

    def jvp_fn(*tangents: Any) -> Any:
        """J ẋ, in the structure of the output, for a tangent in the place of each primal."""
        given = matching(structure, tangents, "the tangents", "the primals")
        x_dots = fitting(given, xs, "the tangents", "the primals")
        pairs = [(u, t) for u, t in zip(us, x_dots) if u is not None and requires_grad(u)]
        if not pairs:
            return build(made, map(zeros, outputs))
        sources, weights = zip(*pairs)
        create = current().recording and inner.is_seen_outside(*sources, *weights)
        z_dots = grad(sources, gs, weights, retain_graph=True, create_graph=create, allow_unused=True)
        return build(made, [zeros(z) if d is None else inner.outside(d) for z, d in zip(outputs, z_dots)])

    return transform(inner.outside, output), jvp_fn
