"""Reverse mode as functions of functions: ``grad``, ``vjp``, ``jacrev``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

import ops

from ..base.signatures import named_after
from ..base.tensor import Tensor
from ..base.tree import build, structure_of, transform
from ..numpy.inside import arrays_inside, as_returned, inputs_inside
from ..recording.level import within
from ..recording.recording_modes import differentiating, set_grad_enabled
from ..recording.wengert import current
from .inner import Argnums, Inner, fitting, inexact, outputs_in, split_aux, with_respect_to
from .owners import look_for_kept
from .seeds import no_block, rows_of


class Called:
    """A function called on new arguments, to be differentiated with respect to the chosen."""

    def __init__(
        self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: Any, argnums: Argnums | None, aux: bool,
        name: str,
    ):  # fmt: skip
        self.structure, given, of_these = with_respect_to(func, args, kwargs, argnums, name)
        self.inner = Inner()
        with self.inner.calling(), differentiating(), within():
            result = of_these([self.inner.argument(x) for x in given])
            look_for_kept(result, self.inner.past.begin, in_reverse=True)
        self.function = func
        self.output, rest = split_aux(result, aux, name)
        self.aux = as_returned(func, transform(self.inner.outside, rest), last=True) if aux else None

    @property
    def value(self) -> Any:
        return as_returned(self.function, transform(self.inner.outside, self.output))

    def gradients(
        self, outputs: Iterable[Tensor], weights: Iterable[Any], *, retain: bool, create: bool | None = None
    ) -> list[Tensor]:
        return self.inner.filled(self.inner.gradients(outputs, weights, retain=retain, create=create))


@arrays_inside
def grad(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The function that computes the gradient of `func`, which returns a scalar.

    Args:
        func: takes tensors, or tuples, lists and dicts of tensors; gives a tensor without axes.
        argnums: position of the argument to differentiate, or a tuple of positions.
        has_aux: `func` returns ``(output, aux)``; the gradient function then gives ``(gradient, aux)``.

    Raises:
        RuntimeError: when called, if `func` does not return a scalar, or `argnums` does not exist.
        ValueError: when called, if an argument to be differentiated holds something else than tensors.

    >>> import tape
    >>> grad(grad(lambda x: x**3))(tape.tensor(2.0))
    tensor(12.)
    """
    both = grad_and_value(func, argnums, has_aux)

    def gradient(*args: Any, **kwargs: Any) -> Any:
        found, value = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return named_after(func, gradient, "grad")


def _remedy(output: Any) -> str:
    """What to do with a function that returned something else than a tensor without axes."""
    if output is None:
        return "Let it return what is to be differentiated; a function without a return statement returns None."
    if isinstance(output, (int, float, complex, np.generic, np.ndarray)):
        return (
            "That has no history: return the tensor itself, without float(), .item() or .numpy(); "
            "a constant has no gradient."
        )
    if isinstance(output, Tensor):
        return "Reduce it, as with .sum(), or use vjp() or jacrev()."
    return "Return the one to be differentiated, with has_aux=True beside other things, or use vjp() or jacrev()."


@arrays_inside
def grad_and_value(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """Like `grad`, with the value beside: ``(gradient, value)``, or ``(gradient, (value, aux))``.

    >>> import tape
    >>> grad_and_value(lambda x: (x * x).sum())(tape.tensor([1.0, 2.0]))
    (tensor([2., 4.]), tensor(5.))
    """

    def both(*args: Any, **kwargs: Any) -> Any:
        called = Called(func, args, kwargs, argnums, has_aux, "grad()")
        z = called.output
        if not isinstance(z, Tensor) or z.ndim:
            got = f"a tensor of shape {z._spec.shape}" if isinstance(z, Tensor) else type(z).__name__
            raise RuntimeError(
                f"grad() differentiates functions that return a tensor without axes; this one returned {got}.\n"
                f"{_remedy(z)}"
            )
        inexact([z], "grad()")
        found = build(called.structure, called.gradients([z], [None], retain=False))
        return (found, (called.value, called.aux)) if has_aux else (found, called.value)

    return named_after(func, both, "grad_and_value")


@arrays_inside
def value_and_grad(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """`grad_and_value` in JAX's order: ``(value, gradient)``, or ``((value, aux), gradient)``."""
    both = grad_and_value(func, argnums, has_aux)
    return named_after(func, lambda *args, **kwargs: both(*args, **kwargs)[::-1], "value_and_grad")


@inputs_inside
def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The value of a function, and the function g ↦ gᵀJ, a tuple with an entry for each of the primals.

    Gives ``(output, vjp_fn)``, or ``(output, vjp_fn, aux)``.  ``vjp_fn`` takes cotangents in the
    structure of the output, and can be called again.

    Raises:
        RuntimeError: if the output holds something else than floating tensors; by ``vjp_fn``, if
            the cotangents do not have its structure.

    >>> import tape
    >>> z, pull = vjp(lambda x: x * x, tape.tensor([1.0, 2.0]))
    >>> z, pull(tape.tensor([1.0, 10.0]))
    (tensor([1., 4.]), (tensor([ 2., 40.]),))
    """
    called = Called(func, primals, {}, tuple(range(len(primals))), has_aux, "vjp()")
    outputs = inexact(outputs_in(called.output, "vjp()"), "vjp()")
    structure = structure_of(called.output)

    def vjp_fn(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        """gᵀJ for cotangents g in the structure of the output."""
        weights = fitting(structure, outputs, cotangents, "the cotangents of vjp()", "the outputs")
        with set_grad_enabled(current().recording if create_graph is None else create_graph):
            return build(called.structure, called.gradients(outputs, weights, retain=retain_graph))

    return (called.value, vjp_fn, called.aux) if has_aux else (called.value, vjp_fn)


@arrays_inside
def jacrev(
    func: Callable[..., Any], argnums: Argnums = 0, *, has_aux: bool = False, chunk_size: int | None = None
) -> Callable[..., Any]:
    """The function that computes the Jacobian of `func` in reverse mode: a sweep for each element of the output.

    The Jacobian has the structure of the output with, in the place of each tensor, the structure of
    the chosen arguments; each entry has the shape of the output followed by that of the argument.

    Complex numbers, which PyTorch refuses: a real output has its gradient ∂z/∂a + i ∂z/∂b with respect to x = a + ib;
    a complex one ∂z/∂x = ½ (∂z/∂a − i ∂z/∂b), the derivative of a holomorphic function, or dz/dx for a real x.

    Args:
        func: takes and returns tensors, or tuples, lists and dicts of tensors.
        argnums: position of the argument to differentiate, or a tuple of positions.
        has_aux: `func` returns ``(output, aux)``, and ``(jacobian, aux)`` is given.
        chunk_size: how many rows to compute at a time, in one sweep with batched adjoints; 1 for a sweep for
            each.  None leaves the choice to an estimate of the time.

    >>> import tape
    >>> jacrev(lambda x: x * x)(tape.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    check_chunk_size("jacrev", chunk_size)

    def jacobian(*args: Any, **kwargs: Any) -> Any:
        called = Called(func, args, kwargs, argnums, has_aux, "jacrev()")
        outputs = inexact(outputs_in(called.output, "jacrev()"), "jacrev()")
        create = current().recording and called.inner.is_seen_outside(*outputs)
        found = [build(called.structure, _rows(called, z, create, chunk_size)) for z in outputs]
        blocks = build(structure_of(called.output), found)
        return (blocks, called.aux) if has_aux else blocks

    return named_after(func, jacobian, "jacrev")


def _rows(called: Called, z: Tensor, create: bool, chunk_size: int | None) -> list[Tensor]:
    """The Jacobian of one output with respect to each target."""
    shape = z._spec.shape
    found = rows_of(called.inner, z, create, chunk_size)
    return [
        no_block(z, t) if g is None
        else called.inner.outside(ops.reshape(g, shape=(*shape, *t._spec.shape)))
        for t, g in zip(called.inner.targets, found)
    ]  # fmt: skip


def check_chunk_size(name: str, chunk_size: int | None) -> None:
    """Raise ValueError unless a chunk size is positive."""
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"{name}: chunk_size must be greater than 0; got {chunk_size}")
