"""``backward`` and ``grad``: checking what was asked, and adding the adjoints to ``.grad``."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from ops import REGISTRY

from ..base.errors import unused_error
from ..base.locks import new_lock
from ..base.row import key
from ..base.spec import check_fits, implicit
from ..base.tensor import Tensor, Theme
from ..base.untraced import untraced
from ..history.chain import Chain, apply
from ..history.changes import check_unchanged
from ..history.node import EdgeTensor, GradientEdge, tensor_at
from ..recording.recorder import wrap
from ..recording.views import materialise
from ..recording.wengert import current
from .engine import differentiate, grad_batched, node_of

Tuple = tuple[Tensor, ...]
Tensors = Tensor | GradientEdge | Sequence[Tensor | GradientEdge]


class BackwardMethods(Theme):
    """Reverse mode from a tensor."""

    __slots__ = ()

    def backward(
        self,
        gradient: Tensor | None = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Tensors | None = None,
        *,
        retain_variables: bool | None = None,
    ) -> None:
        """Add vᵀJ to the ``.grad`` of every leaf this tensor depends on, where v is ``gradient``.

        Args:
            gradient: v, of this tensor's shape; 1 if left out, which needs a tensor of one element.
            retain_graph: keep what the rules need, so that backward can run again; as ``create_graph`` if None.
            create_graph: record the backward pass itself, for higher derivatives.
            inputs: accumulate into these tensors only.
            retain_variables: old name of ``retain_graph``.

        Raises:
            RuntimeError: if the tensor does not require grad, ``gradient`` does not fit, or the graph was released.

        >>> import tape
        >>> x = tape.tensor([1.0, 2.0], requires_grad=True)
        >>> (x**2).backward(tape.tensor([1.0, 0.1]))
        >>> x.grad
        tensor([2.0000, 0.4000])
        """
        retain_graph = _legacy("retain_variables", retain_variables, "retain_graph", retain_graph)
        _run((self,), (gradient,), retain_graph, create_graph, inputs)


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
    grad_tensors = _legacy("grad_variables", grad_variables, "grad_tensors", grad_tensors)
    retain_graph = _legacy("retain_variables", retain_variables, "retain_graph", retain_graph)
    outputs = _sequence(tensors)
    _run(outputs, _gradients(grad_tensors, outputs), retain_graph, create_graph, inputs)


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
    tensors = _sequence(inputs.values() if isinstance(inputs, dict) else inputs)
    _check_inputs(tensors, "grad()")
    outs = _sequence(outputs)
    weights = _gradients(grad_outputs, outs)
    allowed = materialize_grads if allow_unused is None else allow_unused
    retain = create_graph if retain_graph is None else retain_graph
    for t in {type(t): t for t in (*outs, *tensors) if type(t) is not Tensor}.values():
        t._check_histories((*outs, *tensors))
    how = retain, create_graph, allowed or materialize_grads
    results = gradients(outs, weights, tensors, *how, is_grads_batched)
    if materialize_grads:
        zeros = partial(_zeros, weights=weights if is_grads_batched else None, requires_grad=create_graph)
        results = [zeros(t) if g is None else g for t, g in zip(tensors, results)]
    return dict(zip(inputs, results)) if isinstance(inputs, dict) else tuple(results)


def gradients(
    outputs: Tuple, weights: Sequence[Any], inputs: Tuple, retain: bool, create: bool, unused: bool,
    batched: bool = False,
) -> list[Tensor | None]:  # fmt: skip
    """Gradients of checked outputs; for many weights along a first axis if `batched`."""
    how = outputs, weights, inputs, retain, create, unused
    return grad_batched(_grad_once, *how) if batched else _grad_once(*how)


def _grad_once(
    outputs: Tuple, weights: Sequence[Any], inputs: Tuple, retain: bool, create: bool, unused: bool,
    settled: bool = False,
) -> list[Tensor | None]:  # fmt: skip
    """Gradients; each transformation that tensors belong to differentiates at its level, unless that is `settled`."""
    for t in outputs if settled else (*outputs, *weights, *inputs):
        if type(t) is not Tensor and isinstance(t, Tensor) and t._differentiate is not None:
            return t._differentiate(_grad_once, outputs, weights, inputs, retain, create, unused)
    fitted = _fit_all(outputs, weights, create)
    check_unchanged(outputs, inputs)
    found = differentiate(outputs, fitted, inputs, _hooked, retain_graph=retain, create_graph=create)
    return [_result(t, i, found, unused) for i, t in enumerate(inputs)]


def _result(tensor: Tensor, i: int, found: dict[int, Any], unused: bool) -> Tensor | None:
    """The gradient of input ``i``, out of what a sweep found."""
    k = key(node_of(tensor))
    if k not in found:
        if unused:
            return None
        raise unused_error(i, tensor._spec.shape)
    g = found[k]
    return g if isinstance(g, Tensor) else wrap(np.array(g)[()])


def _hooked(leaf: Tensor, box: list[Any]) -> Any:
    """The adjoint of a leaf that is a target of `grad`, after the hooks of the tensor."""
    g, chain = box.pop(), leaf._chain
    if chain is None or not chain.hooks:
        return g
    return apply(chain.hooks, g if isinstance(g, Tensor) else wrap(np.array(g)[()]), leaf._spec)


def _zeros(tensor: Tensor, weights: Sequence[Any] | None, requires_grad: bool) -> Tensor:
    lead = () if weights is None else weights[0].shape[:1]
    return wrap(np.zeros((*lead, *tensor._spec.shape), tensor.dtype)[()], True if requires_grad else None)


def _run(
    outputs: Sequence[Tensor], weights: Sequence[Any], retain: bool | None, create: bool, inputs: Tensors | None
) -> None:
    for t in outputs:
        t._refuse_recording(
            "backward() was called; use tape.autograd.grad or tape.func.grad inside a compiled function"
        )
    targets = None if inputs is None else _sequence(inputs)
    if targets is not None:
        _check_inputs(targets, "backward()")
    gradients = _fit_all(outputs, weights, create)
    check_unchanged(outputs, targets)
    for t in targets or ():
        if type(t) is not EdgeTensor:
            t.retain_grad()
    retain = create if retain is None else retain
    differentiate(outputs, gradients, targets, _receive, retain_graph=retain, create_graph=create, passing=True)


def _receive(leaf: Tensor, box: list[Any]) -> None:
    """Add an adjoint to a leaf's ``.grad``; it is taken out of its box, so that nothing else holds it.

    A leaf that has stopped requiring grad since it was used gets none.
    """
    chain = leaf._chain
    if chain is None and leaf._node is True:
        with _adding:
            _accumulate(leaf, box)
    elif type(leaf._node) is int:
        raise moved_error()
    elif chain is not None:
        _pass_through(chain, leaf, box)


def moved_error() -> RuntimeError:
    """The error for a leaf that is none any more when its gradient comes."""
    return RuntimeError(
        "leaf variable has been moved into the graph interior: it required grad when it was used, had that taken away, "
        "and was then changed in place from tensors that require grad.\nChange a copy: x = x.detach().clone()."
    )


def _pass_through(chain: Chain, leaf: Tensor, box: list[Any]) -> None:
    """`_receive` for a leaf with hooks."""
    g = box.pop()
    plain = not isinstance(g, Tensor)
    g = apply(chain.hooks, wrap(g) if plain else g, leaf._spec)
    (g,) = chain.enter((g,))
    if g is None or leaf._node is None:
        return
    kept = (g,) if chain.after else ()
    box.append(g._data if plain else g)
    del g
    with _adding:
        _accumulate(leaf, box)
    for hook in tuple(chain.accumulated.values()):
        if hook(leaf) is not None:
            raise RuntimeError(
                "Tensor post accumulate grad hooks should return None: what they return is not used.\nTo change the "
                "gradient, write to .grad, or use register_hook()."
            )
    chain.leave((), kept)


_adding = new_lock()
"""Held while a gradient is added, because leaves are shared between threads."""


def _accumulate(tensor: Tensor, box: list[Any]) -> None:
    """Add an adjoint to ``.grad``: in place, or out of place if a history is being recorded."""
    held = tensor._grad
    if isinstance(box[0], Tensor):
        g = box.pop()
        tensor._grad = REGISTRY["clone"](g) if held is None else held + g
    elif held is None:
        tensor._grad = wrap(own(box))
    elif held._node is None:
        total = materialise(held)
        np.add(total, box[0], out=total)
    else:
        tensor._grad = held + wrap(box.pop())


def _references(box: list[Any]) -> int:
    value = box.pop()
    return sys.getrefcount(value)


_ALONE = untraced(lambda: _references([np.empty(1)]))
"""What `sys.getrefcount` says of an array that was alone in its box."""


def own(box: list[Any]) -> Any:
    """The array in a box of one, copied if anything else may hold its memory."""
    value = box.pop()
    if not isinstance(value, np.ndarray):
        return value
    alone = value.base is None and value.flags.writeable and sys.getrefcount(value) <= _ALONE
    return value if alone else value.copy()


@contextmanager
def _recording(flag: bool):  # type: ignore[no-untyped-def]
    wengert = current()
    before = wengert.recording
    wengert.recording = flag
    try:
        yield
    finally:
        wengert.recording = before


def _legacy(old: str, old_value: Any, new: str, new_value: Any) -> Any:
    """The value of an argument that used to have another name."""
    if old_value is None:
        return new_value
    if new_value is not None:
        raise RuntimeError(f"`{new}` and `{old}` (deprecated) arguments both passed; pass {new} alone")
    warnings.warn(f"{old} is deprecated; write {new}", DeprecationWarning, stacklevel=3)
    return old_value


def _sequence(tensors: Any) -> tuple[Tensor, ...]:
    one = isinstance(tensors, (Tensor, GradientEdge)) or not isinstance(tensors, Iterable)
    found = (tensors,) if one else tuple(tensors)
    if any(isinstance(t, GradientEdge) for t in found):
        found = tuple([tensor_at(t) if isinstance(t, GradientEdge) else t for t in found])
    for t in found:
        if not isinstance(t, Tensor):
            raise TypeError(f"a tensor or a sequence of tensors is required; got {type(t).__name__}")
    return found


def _check_inputs(tensors: Sequence[Tensor], what: str) -> None:
    if not tensors:
        raise RuntimeError(
            f"`inputs` argument to `{what}` cannot be empty: at least one input to differentiate with respect to is "
            "needed"
        )
    for i, t in enumerate(tensors):
        if t._node is None:
            raise RuntimeError(
                f"One of the differentiated Tensors does not require grad: input {i} of {what}, so nothing recorded "
                "how the outputs depend on it.\n"
                "Create it with requires_grad=True (or call requires_grad_()) before computing the outputs."
            )


def _gradients(gradients: Any, outputs: Sequence[Tensor]) -> tuple[Any, ...]:
    """One gradient argument per output."""
    if gradients is None:
        return (None,) * len(outputs)
    found = tuple(gradients) if isinstance(gradients, (tuple, list)) else (gradients,)
    if len(found) != len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(found)} gradients; each output needs one")
    return found


def _fit_all(outputs: Sequence[Tensor], weights: Sequence[Any], create: bool) -> list[Tensor]:
    return [_fit(t, g, i, create) for i, (t, g) in enumerate(zip(outputs, weights))]


def _fit(output: Tensor, gradient: Any, i: int, create: bool) -> Tensor:
    """The gradient argument of an output as a tensor of the output's shape and dtype."""
    spec = output._spec
    if output._node is None:
        raise RuntimeError(
            f"element {i} of tensors does not require grad and does not have a grad_fn, so there is nothing to "
            "differentiate.\n"
            "Create the tensors it is computed from with requires_grad=True, and compute it outside no_grad()."
        )
    if gradient is None:
        return wrap(implicit(spec))
    if isinstance(gradient, (np.ndarray, np.generic)):
        gradient = wrap(gradient)
    if not isinstance(gradient, Tensor):
        raise TypeError(
            f"gradients can be either Tensors or None, but got {type(gradient).__name__} for output {i}. "
            "Convert it with tape.tensor()."
        )
    check_fits(gradient._spec, spec, i)
    if gradient.dtype == spec.dtype:
        return gradient
    with _recording(create):
        return REGISTRY["cast"](gradient, dtype=spec.dtype)
