"""Errors that more than one room raises, most of them about operands that do not go together.

A refusal that the user's own `except` swallows is raised again where the function ends.  A function that tries
something and goes another way if that fails (``try: … except Exception: …``) would go that way because of us: with
plain arrays the same succeeds.  Its result would be that of another program, so there is none.
"""

from __future__ import annotations

import warnings
from _thread import get_ident
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from ops import Op

from .location import Location


class AsItIs(RuntimeError):
    """No list can repeat what a function does: it has to run as it is, and raises and warns by itself."""


class ShapeError(RuntimeError, ValueError):
    """Operands whose shapes do not go together: PyTorch calls it a RuntimeError, NumPy a ValueError."""


class ComplexError(RuntimeError, TypeError):
    """Complex numbers where an operation has no meaning for them: a RuntimeError in PyTorch, a TypeError in NumPy."""


def not_for_complex(op: Op) -> ComplexError:
    """The error for a complex operand of an op that orders or rounds numbers, or has no complex form here."""
    return ComplexError(
        f"{op.name} has no meaning for complex numbers, and an operand is complex.\n"
        "Apply it to what you mean: the .real or .imag part, or the absolute value .abs()."
    )


ADVICE = {
    "elementwise": "Elementwise operands must broadcast: counted from the last axis, lengths must be equal or 1. "
    "Insert an axis with .unsqueeze(), or reshape one of them.",
    "matmul": "The last axis of the left operand must be as long as the last but one of the right (the only one of a "
    "vector). Transpose one of them with .mT.",
}


def misfit(op: Op, values: Sequence[Any], error: ValueError) -> ValueError:
    """The error for operands that an op cannot take, told with their shapes; other errors as they are."""
    if type(error) is not ValueError or not all(hasattr(v, "shape") or np.isscalar(v) for v in values):
        return error
    if op.kind == "elementwise" and _broadcast(values):  # what a user's function raised itself
        return error
    shapes = " and ".join(str(np.shape(v)) for v in values)
    advice = ADVICE.get(op.name) or ADVICE.get(op.kind, "")
    return ShapeError(f"{op.name} cannot take shapes {shapes}: {error}.\n{advice}".rstrip())


def _broadcast(values: Sequence[Any]) -> bool:
    try:
        np.broadcast_shapes(*map(np.shape, values))
    except ValueError:
        return False
    return True


def view_error(shape: Sequence[int], wanted: Sequence[int]) -> RuntimeError:
    """The error for a view in a shape that the memory, as the tensor looks at it, does not have."""
    return RuntimeError(
        f"view size {tuple(wanted)} is not compatible with input tensor's size {tuple(shape)} and stride (at least one "
        "dimension spans across two contiguous subspaces).\nUse .reshape(...) instead, which copies where it has to: "
        "what is written into a copy is not seen in the tensor."
    )


def used_up_error(operation: str, location: Location) -> RuntimeError:
    """The error for a second backward through a record whose values the first one has released."""
    return RuntimeError(
        "Trying to backward through the graph a second time (or directly access saved tensors after they have already "
        f"been freed): the values that {operation} needs were released by the first backward.\n"
        f"  recorded at {location}\n"
        "Specify retain_graph=True in the first backward if you need to run it twice, or compute the output again."
    )


def unused_error(i: int, shape: Sequence[int]) -> RuntimeError:
    """The error for an input of `grad` that no output depends on."""
    return RuntimeError(
        f"The differentiated Tensor at index {i}, of shape {tuple(shape)}, appears to not have been used in the graph: "
        "no output depends on it.\nSet allow_unused=True to get None for it, or materialize_grads=True to get zeros."
    )


def warn_left(name: str) -> None:
    """Warn that a plain number leaves a history behind."""
    warnings.warn(
        f"{name}() makes a plain number of a tensor that requires grad, so no gradient flows "
        "through it.\nCompute with the tensor itself (tape.exp, not math.exp), and gather results in a tensor "
        "(tape.zeros, np.zeros_like(x), tape.stack): an array, such as np.zeros gives, holds bare numbers.\nIf "
        "it needs no gradient, say .item() or .detach().",
        UserWarning,
        stacklevel=3,
    )


Refusal = TypeVar("Refusal", bound=BaseException)

_noted: dict[int, list[list[BaseException]]] = {}
"""By thread, for each function of the user's that runs in it, one inside the other, what was refused."""


def note(error: Refusal) -> Refusal:
    """Remember a refusal until the function ends that met it."""
    scopes = _noted.get(get_ident())
    if scopes:
        scopes[-1].append(error)
    return error


@contextmanager
def not_noted() -> Iterator[None]:
    """What is refused meanwhile is told to whoever called, and the function around them has swallowed nothing."""
    scopes = _noted.setdefault(get_ident(), [])
    scopes.append([])
    try:
        yield
    finally:
        scopes.pop()
        if not scopes:
            _noted.pop(get_ident(), None)


class unswallowed:
    """Raise the first refusal if the function went on in spite of it.

    C code that goes on is told of by Python, as a SystemError, or raises an error of its own.  What is refused to a
    function inside another one is the business of whoever called it, such as `tape.compile`, which runs it as it is.
    """

    def __enter__(self) -> None:
        self.noted: list[BaseException] = []
        _noted.setdefault(get_ident(), []).append(self.noted)

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        ident, noted = get_ident(), self.noted
        _noted[ident].pop()
        if not _noted[ident]:
            del _noted[ident]
        if noted and error is None:
            raise noted[0]
        if noted and isinstance(error, Exception) and not isinstance(error, type(noted[0])):
            if error is noted[0].__cause__:  # which it did not swallow
                return
            raise noted[0] from (None if isinstance(error, SystemError) else error)


def moved_error() -> RuntimeError:
    """The error for a leaf that is none any more when its gradient comes."""
    return RuntimeError(
        "leaf variable has been moved into the graph interior: it required grad when it was used, had that taken away, "
        "and was then changed in place from tensors that require grad.\nChange a copy: x = x.detach().clone()."
    )
