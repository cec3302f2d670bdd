"""``gradcheck`` and ``gradgradcheck`` under PyTorch's names and with its arguments.

`tape.gradcheck.check` does the work and gives a report instead of a yes or no.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..gradcheck.check import check
from ..gradcheck.errors import GradcheckError
from ..gradcheck.second import second_order
from ..gradcheck.subject import has_history
from ..tensor import Tensor

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]

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

    Every input that requires grad is checked against every float output.  ``eps``, ``atol`` and
    ``rtol`` may be given as in PyTorch; left out, they follow from the dtype and are chosen for
    each element, so that float32 and badly scaled inputs are checked as strictly as they allow.

    Args:
        func: takes the inputs, returns a float tensor or a tuple of them.
        inputs: a tensor or a tuple; what does not require grad is passed on as it is.
        eps: step of the plain central difference.
        atol, rtol: tolerances: |analytic − numeric| ≤ atol + rtol·|numeric| + error of the difference.
        raise_exception: raise on a wrong gradient rather than return False.
        nondet_tol: how much two computations of the same gradient may differ.
        check_undefined_grad: an output without adjoint must do the same as one with an adjoint of zeros.
        check_grad_dtypes: gradients must have their input's dtype.

    Raises:
        GradcheckError: if a gradient is wrong; it names input, output, index, both values, the
            error over the tolerance, and the user's lines that recorded the ops at fault.
        ValueError: if no input requires grad.
        NotImplementedError: if an option is switched on that tape does not have.

    >>> import tape
    >>> x = tape.tensor([0.5, -2.0], requires_grad=True)
    >>> gradcheck(lambda x: (x * x * x).sum(), (x,))
    True
    """
    _refuse(
        check_batched_grad=check_batched_grad, check_batched_forward_grad=check_batched_forward_grad,
        check_forward_ad=check_forward_ad, fast_mode=fast_mode, masked=bool(masked),
    )  # fmt: skip
    if not check_backward_ad:
        raise ValueError("check_backward_ad=False leaves nothing to check: only reverse mode is checked")
    given = _inputs(inputs)
    return _run(
        func, given, _requiring(given, "gradcheck"), None, raise_exception, eps=eps, atol=atol, rtol=rtol,
        nondet_tol=nondet_tol, check_undefined_grad=check_undefined_grad, check_grad_dtypes=check_grad_dtypes,
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
    errors are those of `gradcheck`; ``grad_outputs`` are random where they are left out.

    >>> import tape
    >>> x = tape.tensor([0.5, -2.0], requires_grad=True)
    >>> gradgradcheck(lambda x: x * x * x, (x,))
    True
    """
    _refuse(
        check_batched_grad=check_batched_grad, check_fwd_over_rev=check_fwd_over_rev, fast_mode=fast_mode, masked=masked
    )
    if not check_rev_over_rev:
        raise ValueError("check_rev_over_rev=False leaves nothing to check: only reverse over reverse is checked")
    given = _inputs(inputs)
    wrt = _requiring(given, "gradgradcheck")
    weights = None if grad_outputs is None else _inputs(grad_outputs)
    names = [f"input {i}" for i in range(len(given))]
    second = second_order(func, given, wrt, names, weights, strided=gen_non_contig_grad_outputs)
    return _run(
        second.func, second.arguments, second.wrt, second.names, raise_exception, eps=eps, atol=atol, rtol=rtol,
        nondet_tol=nondet_tol, check_undefined_grad=check_undefined_grad, check_grad_dtypes=check_grad_dtypes,
    )  # fmt: skip


def _run(
    func: Callable[..., Any], given: list[Any], wrt: list[int], names: list[str] | None, raises: bool, **options: Any
) -> bool:
    try:
        report = check(func, given, wrt=wrt, names=names, **options)
        if not report.ok:
            raise GradcheckError(f"the gradient of {_title(func)} is wrong\n{report}")
    except GradcheckError:
        if raises:
            raise
        return False
    return True


def _refuse(**options: bool) -> None:
    wanted = [name for name, on in options.items() if on]
    if wanted:
        raise NotImplementedError(f"{wanted[0]}=True: tape does not check this yet. Leave it out.")


def _inputs(inputs: Any) -> list[Any]:
    return list(inputs) if isinstance(inputs, (tuple, list)) else [inputs]


def _requiring(inputs: list[Any], caller: str) -> list[int]:
    found = [i for i, x in enumerate(inputs) if has_history(x)]
    if not found:
        raise ValueError(
            f"{caller} needs at least one input that requires grad; got {len(inputs)} that do not. "
            "Pass tensors made with requires_grad=True."
        )
    for i in found:
        if np.dtype(inputs[i].dtype).kind == "c":
            raise NotImplementedError(f"input {i} is complex; {caller} handles real inputs so far")
    return found


def _title(func: Callable[..., Any]) -> str:
    return getattr(func, "__name__", type(func).__name__)


gradcheck.GradcheckError = gradgradcheck.GradcheckError = GradcheckError  # type: ignore[attr-defined]
