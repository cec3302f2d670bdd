"""The transformations of `tape.func` by the rule: those of tensors, which take arrays too."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..func import forward, mapping, reverse
from .inside import Inside, arrays_inside, as_tensors, counts_as_arrays, holds_faces, outside

grad = arrays_inside(reverse.grad)
grad_and_value = arrays_inside(reverse.grad_and_value)
value_and_grad = arrays_inside(reverse.value_and_grad)
jacrev = arrays_inside(reverse.jacrev)
jacfwd = arrays_inside(forward.jacfwd)
hessian = arrays_inside(forward.hessian)
vmap = arrays_inside(mapping.vmap)


@functools.wraps(forward.jvp)
def jvp(
    func: Callable[..., Any], primals: tuple[Any, ...], tangents: tuple[Any, ...], *, strict: bool = False,
    has_aux: bool = False,
) -> Any:  # fmt: skip
    if not counts_as_arrays((primals, tangents)):
        return forward.jvp(func, primals, tangents, strict=strict, has_aux=has_aux)
    given, directions = as_tensors(primals), as_tensors(tangents)
    found = forward.jvp(Inside(func), given, directions, strict=strict, has_aux=has_aux)
    return outside(found, holds_faces((primals, tangents)))


@functools.wraps(reverse.vjp)
def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    if not counts_as_arrays(primals):
        return reverse.vjp(func, *primals, has_aux=has_aux)
    output, pull, *aux = reverse.vjp(Inside(func), *as_tensors(primals), has_aux=has_aux)
    keep = holds_faces(primals)
    return (outside(output, keep), _linear(pull, keep), *outside(tuple(aux), keep))


@functools.wraps(forward.linearize)
def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    if not counts_as_arrays(primals):
        return forward.linearize(func, *primals)
    output, push = forward.linearize(Inside(func), *as_tensors(primals))
    keep = holds_faces(primals)
    return outside(output, keep), _linear(push, keep)


def _linear(function: Callable[..., Any], keep: bool) -> Callable[..., Any]:
    """A linear function of tensors as one of arrays."""

    @functools.wraps(function)
    def call(*vectors: Any, **how: Any) -> Any:
        return outside(function(*as_tensors(vectors), **how), keep or holds_faces(vectors))

    return call
