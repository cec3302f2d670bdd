"""Tensors made in inference mode: outside of it they are constants that nothing may save or change."""

from __future__ import annotations

from _thread import get_ident
from collections.abc import Sequence
from typing import Any

import numpy as np

from ops import Op

from ..base.tensor import Tensor
from .views import infer
from .wengert import INFERRING, current


class InferenceTensor(Tensor):
    """A tensor made in inference mode; a class of its own, so that the short ways of recording need not look for it."""

    __slots__ = ()
    _inference = True


def mark(tensor: Tensor) -> None:
    """Note of a tensor just made whether that was in inference mode; a view is what its base is (`alike`)."""
    if get_ident() in INFERRING:
        value = tensor._data
        if not isinstance(value, np.ndarray) or value.base is None:
            _set(tensor, True)


def alike(view: Tensor, base: Tensor) -> Tensor:
    """A view of a tensor, as made in inference mode if that was."""
    if get_ident() in INFERRING:
        infer(view)
    if view._inference != base._inference:
        _set(view, base._inference)
    return view


def _set(tensor: Tensor, flag: bool) -> None:
    kind = type(tensor)
    if kind is Tensor or kind is InferenceTensor:
        tensor.__class__ = InferenceTensor if flag else Tensor
    else:
        tensor._inference = flag


def settle(op: Op, operands: Sequence[Any], params: dict[str, Any], results: Sequence[Tensor]) -> None:
    """Note of the results of an operation that was not recorded whether they were made in inference mode."""
    is_view = op.is_view(params) and isinstance(operands[0], Tensor)
    for made in results:
        if is_view:
            alike(made, operands[0])
        elif get_ident() in INFERRING:
            _set(made, True)


def stays_out(op: Op, operands: Sequence[Any], params: dict[str, Any], wanted: Sequence[int]) -> bool:
    """Whether an operation is not recorded although gradients may flow: a view of what was made in inference mode.

    Raises:
        RuntimeError: if the record would save the value of an operand that was made there.
    """
    if op.is_view(params) and operands[0]._inference:
        return True
    if current().inferred:
        return False
    needs = op.needs(wanted)
    for i, x in enumerate(operands):
        if isinstance(x, Tensor) and x._inference and ("xs" if op.variadic else op.operands[i]) in needs:
            raise cannot_be_saved(f"the gradient of {op.name} needs its value")
    return False


def cannot_be_saved(why: str) -> RuntimeError:
    """The error where a record would save what was made in inference mode."""
    return RuntimeError(
        f"Inference tensors cannot be saved for backward: one was made in inference_mode(), and {why}.\n"
        "Use a clone() of it, or make it under no_grad() instead."
    )


def check_changeable(tensor: Tensor, operation: str) -> None:
    """Raise if a tensor was made in inference mode, which has been left.

    Raises:
        RuntimeError: saying so.
    """
    if tensor._inference and get_ident() not in INFERRING:
        raise RuntimeError(
            f"{operation}: Inplace update to inference tensor outside InferenceMode is not allowed.\nChange a clone() "
            "of it, or change it within `with tape.inference_mode():`."
        )
