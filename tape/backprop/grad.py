"""``backward`` and ``grad`` as functions of tensors; gradients of many weightings of the outputs at once."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..base.tensor import Tensor
from ..levels.batch import Batch
from ..recording.recorder import wrap
from .backward import gradients, run
from .cotangents import Tensors, check_inputs, one_each, renamed, sequence


def backward_all(
    tensors: Tensors,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Tensors | None = None,
    *,
    retain_variables: bool | None = None,
) -> None:
    """Add the gradients of several tensors, each weighted by its ``grad_tensors``, to their leaves.

    See `Tensor.backward`; ``grad_variables`` is the old name of ``grad_tensors``.
    """
    grad_tensors = renamed("grad_variables", grad_variables, "grad_tensors", grad_tensors)
    retain_graph = renamed("retain_variables", retain_variables, "retain_graph", retain_graph)
    outputs = sequence(tensors)
    run(outputs, one_each(grad_tensors, outputs), retain_graph, create_graph, inputs)


backward_all.__name__ = backward_all.__qualname__ = "backward"


def grad(
    outputs: Tensors,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> Any:
    """Gradients of the (weighted) sum of outputs with respect to inputs; ``.grad`` stays as it is.

    Args:
        outputs: tensors to differentiate.
        inputs: a tensor, a sequence or a dict of them; a dict gives a dict, else a tuple is given.
        grad_outputs: weights, of the outputs' shapes; 1 where None, which needs an output of one element.
        retain_graph: keep what the rules need; as ``create_graph`` if None.
        create_graph: record the computation of the gradients.
        only_inputs: ignored, always true.
        allow_unused: give None for an input that no output depends on; as ``materialize_grads`` if None.
        is_grads_batched: every weight has a leading axis; so have the results, one vector at a time.
        materialize_grads: give zeros for an input that no output depends on; with ``create_graph`` they require grad,
            so that they can be differentiated again.

    Raises:
        RuntimeError: if something does not require grad, was not used, does not fit, or was released.
        ValueError: on empty inputs, or contradictory flags.

    >>> import tape
    >>> x = tape.tensor(3.0, requires_grad=True)
    >>> grad(x**2, x)
    (tensor(6.),)
    """
    if not only_inputs:
        warnings.warn("only_inputs=False does nothing any more: only inputs get gradients", FutureWarning, stacklevel=2)
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, which gives zeros for unused "
            "inputs; got allow_unused=False"
        )
    tensors = sequence(inputs.values() if isinstance(inputs, dict) else inputs)
    check_inputs(tensors, "grad()")
    outs = sequence(outputs)
    weights = one_each(grad_outputs, outs)
    allowed = materialize_grads if allow_unused is None else allow_unused
    retain = create_graph if retain_graph is None else retain_graph
    for t in {type(t): t for t in (*outs, *tensors) if type(t) is not Tensor}.values():
        t._check_histories((*outs, *tensors))
    differentiate = partial(grad_batched, gradients) if is_grads_batched else gradients
    results = differentiate(outs, weights, tensors, retain, create_graph, allowed or materialize_grads)
    if materialize_grads:
        zeros = partial(_zeros, weights=weights if is_grads_batched else None, requires_grad=create_graph)
        results = [zeros(t) if g is None else g for t, g in zip(tensors, results)]
    return dict(zip(inputs, results)) if isinstance(inputs, dict) else tuple(results)


def _zeros(tensor: Tensor, weights: Sequence[Any] | None, requires_grad: bool) -> Tensor:
    lead = () if weights is None else weights[0].shape[:1]
    return wrap(np.zeros((*lead, *tensor._spec.shape), tensor.dtype)[()], True if requires_grad else None)


def grad_batched(
    reverse: Callable[..., Any], outputs: Sequence[Tensor], weights: Sequence[Any], inputs: Sequence[Tensor],
    retain: bool, create: bool, unused: bool,
) -> list[Tensor | None]:  # fmt: skip
    """``reverse(outputs, weights, inputs, …)`` for weights with one more axis, the first, along which vectors lie.

    Raises:
        RuntimeError: unless every output has a weight, with the same number of vectors.
    """
    given = [None if w is None else w if isinstance(w, Tensor) else wrap(w) for w in weights]
    lengths = {w._spec.shape[0] for w in given if w is not None and w.ndim}
    if len(lengths) != 1 or any(w is None or not w.ndim for w in given):
        raise RuntimeError(
            "is_grads_batched=True needs a grad_outputs for every output, all with the same leading length; got shapes "
            f"{[None if w is None else tuple(w.shape) for w in given]}"
        )
    for i, (z, w) in enumerate(zip(outputs, given)):
        if w._spec.shape[1:] != z._spec.shape:  # type: ignore[union-attr]
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch "
                f"dimension: the gradients of output {i} must have its shape {z._spec.shape} behind that; got "
                f"{w._spec.shape}"  # type: ignore[union-attr]
            )
    return over_vectors(lengths.pop(), reverse, outputs, given, inputs, retain, create, unused)  # type: ignore[arg-type]


def over_vectors(
    n: int, reverse: Callable[..., Any], outputs: Sequence[Tensor], weights: Sequence[Tensor],
    inputs: Sequence[Tensor], *how: bool,
) -> list[Tensor | None]:  # fmt: skip
    """Gradients for n vectors at once, along the first axis of weights and results."""
    with Batch(n) as level:
        found = reverse(tuple(outputs), tuple(map(level.layer, weights)), tuple(inputs), *how)
        below = [(None, False) if g is None else level.parts(g) for g in found]
        return [None if g is None else g if has_lanes else level.full(g) for g, has_lanes in below]
