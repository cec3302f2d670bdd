"""``gradcheck`` and ``gradgradcheck`` under PyTorch's names and with its arguments.

`tape.gradcheck.check` does the work and gives a report instead of a yes or no.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.rooms import Room, on_demand
from ..base.tensor import Tensor
from ..gradcheck.derivatives.gradcheck_errors import GradcheckError

if TYPE_CHECKING:
    from ..gradcheck.derivatives.jacobians import get_analytical_jacobian, get_numerical_jacobian
else:
    _JACOBIANS = ("get_analytical_jacobian", "get_numerical_jacobian")
    __getattr__ = on_demand(
        "tape.autograd.gradcheck", dict.fromkeys(_JACOBIANS, "tape.gradcheck.derivatives.jacobians")
    )

_checking, _second, _subject = map(
    Room, ("tape.gradcheck.checking", "tape.gradcheck.derivatives.second", "tape.gradcheck.derivatives.subject")
)
__all__ = ["GradcheckError", "get_analytical_jacobian", "get_numerical_jacobian", "gradcheck", "gradgradcheck"]

Inputs = Tensor | Sequence[Any]


def gradcheck(
    func: Callable[..., Any],
    inputs: Inputs,
    *,
    eps: float | None = None,
    atol: float | None = None,
    rtol: float | None = None,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Whether the gradients of a function agree with differences of it, at the given inputs.

    Every input that requires grad is checked against every output that does; both may be complex.
    ``eps``, ``atol`` and ``rtol`` may be given as in PyTorch; left out, they follow from the dtype
    and are chosen for each element, so that float32 and badly scaled inputs are checked as strictly
    as they allow.

    Args:
        func: takes the inputs, returns a tensor or a tuple of them.
        inputs: a tensor or a tuple; what does not require grad is passed on as it is.
        eps: step of the plain central difference.
        atol, rtol: tolerances: |analytic − numeric| ≤ atol + rtol·|numeric| + error of the difference.
        raise_exception: raise on a wrong gradient rather than return False.
        nondet_tol: how much two computations of the same gradient may differ.
        check_undefined_grad: an output without adjoint, or an input without tangent, must do the same as one of zeros.
        check_grad_dtypes: gradients must have their input's dtype.
        check_batched_grad: ``grad(…, is_grads_batched=True)`` must give what its parts give one by one.
        check_batched_forward_grad: so must forward mode under `vmap`.
        check_forward_ad: check forward mode.
        check_backward_ad: check reverse mode.
        fast_mode: compare one number uᵀJv for each input and output, along random directions.
        masked: accepted for PyTorch's sake; it is about sparse tensors.

    Raises:
        GradcheckError: if a gradient is wrong; it names input, output, index, both values, the
            error over the tolerance, and the ops at fault with the user's lines that applied them.
        ValueError: if no input requires grad.
        RuntimeError: if the memory of an input overlaps itself.
        AssertionError: if options exclude each other, or outputs change their shape with the inputs' values.

    >>> import tape
    >>> x = tape.tensor([0.5, -2.0], requires_grad=True)
    >>> gradcheck(lambda x: (x * x * x).sum(), (x,))
    True
    """
    _require(check_forward_ad or check_backward_ad, "Expected at least one of check_forward_ad or check_backward_ad")
    _require(check_backward_ad or not check_batched_grad, "check_batched_grad=True requires check_backward_ad")
    _require(check_forward_ad or not check_batched_forward_grad, "check_batched_forward_grad=True requires "
             "check_forward_ad")  # fmt: skip
    given = _inputs(inputs)
    wrt = _checked(given, "gradcheck")
    if (eps, atol, rtol) != (None, None, None):
        _warn_of_narrow(given, wrt)
    return _run(
        func, given, wrt, None, raise_exception, eps=eps, atol=atol, rtol=rtol, nondet_tol=nondet_tol,
        undefined=check_undefined_grad, dtypes=check_grad_dtypes, batched=check_batched_grad,
        batched_forward=check_batched_forward_grad, forward=check_forward_ad, reverse=check_backward_ad, fast=fast_mode,
    )  # fmt: skip


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Inputs,
    grad_outputs: Any = None,
    *,
    eps: float | None = None,
    atol: float | None = None,
    rtol: float | None = None,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Whether the gradients of the gradients of a function agree with differences of its gradients.

    The function checked is (inputs, grad_outputs) ↦ vᵀJ, with respect to both.  Arguments and
    errors are those of `gradcheck`; ``grad_outputs`` are random where they are left out, in memory with
    gaps where ``gen_non_contig_grad_outputs``.  Reverse mode is differentiated by reverse mode
    (``check_rev_over_rev``), by forward mode (``check_fwd_over_rev``), or by both.

    >>> import tape
    >>> x = tape.tensor([0.5, -2.0], requires_grad=True)
    >>> gradgradcheck(lambda x: x * x * x, (x,))
    True
    """
    _require(check_fwd_over_rev or check_rev_over_rev, "Expected at least one of check_fwd_over_rev or "
             "check_rev_over_rev")  # fmt: skip
    _require(check_rev_over_rev or not check_undefined_grad, "check_undefined_grad=True requires check_rev_over_rev")
    _require(check_rev_over_rev or not check_batched_grad, "check_batched_grad=True requires check_rev_over_rev")
    given = _inputs(inputs)
    wrt = _checked(given, "gradgradcheck")
    weights = None if grad_outputs is None else _inputs(grad_outputs)
    names = [f"input {i}" for i in range(len(given))]
    second = _second.second_order(
        func, given, wrt, names, weights, strided=gen_non_contig_grad_outputs, only_differentiable=True
    )
    if (eps, atol, rtol) != (None, None, None):
        _warn_of_narrow(second.arguments, second.wrt)
    return _run(
        second.func, second.arguments, second.wrt, second.names, raise_exception, eps=eps, atol=atol, rtol=rtol,
        nondet_tol=nondet_tol, undefined=check_undefined_grad, dtypes=check_grad_dtypes, batched=check_batched_grad,
        forward=check_fwd_over_rev, reverse=check_rev_over_rev, fast=fast_mode,
    )  # fmt: skip


def _run(
    func: Callable[..., Any], given: list[Any], wrt: list[int], names: list[str] | None, raises: bool, **options: Any
) -> bool:
    try:
        report = _checking.check(func, given, wrt=wrt, names=names, only_differentiable=True, **options)
        if not report.ok:
            raise GradcheckError(f"the gradient of {_subject.title_of(func)} is wrong\n{report}")
    except GradcheckError:
        if raises:
            raise
        return False
    return True


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise AssertionError(f"{what} to be True; got False")


def _inputs(inputs: Any) -> list[Any]:
    return list(inputs) if isinstance(inputs, (tuple, list)) else [inputs]


def _checked(inputs: list[Any], caller: str) -> list[int]:
    """Positions of the inputs that require grad."""
    found = [i for i, x in enumerate(inputs) if _subject.has_history(x)]
    if not found:
        raise ValueError(
            f"{caller} expects at least one input tensor to require gradient; got {len(inputs)} that do not. "
            "Pass tensors made with requires_grad=True."
        )
    for i in found:
        value = inputs[i]._data
        if np.size(value) and any(n > 1 and step == 0 for n, step in zip(value.shape, value.strides)):
            raise RuntimeError(
                f"The {i}th input has a dimension with stride 0: several of its elements are one place in memory, and "
                "none of them can be moved alone.\nPass .contiguous(), or expand it inside the function."
            )
    return found


def _warn_of_narrow(inputs: list[Any], wrt: list[int]) -> None:
    """Steps and tolerances that are given are PyTorch's, and those are for double precision."""
    for i in wrt:
        if inputs[i].dtype.kind != "c" and inputs[i].dtype != np.float64:
            warnings.warn(
                f"Input #{i} requires gradient and is {inputs[i].dtype}, not a double precision floating point or "
                "complex: with eps, atol or rtol given the check may fail for its rounding alone. Leave them out, and "
                "they follow from the dtype.",
                UserWarning,
                stacklevel=3,
            )


gradcheck.GradcheckError = gradgradcheck.GradcheckError = GradcheckError  # type: ignore[attr-defined]
