"""Functions of several tensors, which PyTorch takes one by one or in one list."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..base.signatures import passing_on
from ..base.tensor import Tensor
from ..memory.shaping import broadcast_shapes, expand
from ..recording.calls import derived, function_only


def _listed(args: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """The tensors of a call that has them in one list; None of another call, of whose lists each is one operand."""
    if len(args) == 1 and isinstance(args[0], (list, tuple)) and any(isinstance(x, Tensor) for x in args[0]):
        return tuple(args[0])
    return None


def _raising(name: str) -> None:
    """A function that gives one result for each operand, and a tuple of them unless that stands alone."""
    raised: Callable[..., Any] = derived[name]

    def function(*tensors: Any) -> Any:
        listed = _listed(tensors)
        return raised(*tensors) if listed is None else tuple(map(raised, listed))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{derived[name].__doc__}\n\nOf several ``tensors``, or of a list of them, a tuple."
    function_only(function)


for _name in ("atleast_1d", "atleast_2d", "atleast_3d"):
    _raising(_name)


@function_only
def meshgrid(*tensors: Any, indexing: str = "ij") -> tuple[Tensor, ...]:
    """Coordinates of a grid, from those along each axis: ``tensors``, vectors or numbers, one by one or in a list.

    Args:
        indexing: ``"ij"``, as in PyTorch, gives shape (len(x), len(y), …); ``"xy"``, as `numpy.meshgrid` does without
            it, (len(y), len(x), …).

    Raises:
        ValueError: if it is neither.

    >>> import tape
    >>> x, y = tape.meshgrid([tape.arange(2), tape.arange(3)])
    >>> x
    tensor([[0, 0, 0],
            [1, 1, 1]])
    """
    z: tuple[Tensor, ...] = derived["meshgrid"](*(_listed(tensors) or tensors), indexing=indexing)
    return z


@function_only
def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """Views of ``tensors``, given one by one or in a list, in the shape that they have together."""
    listed = _listed(tensors) or tensors
    shape = broadcast_shapes(*(t._spec.shape for t in listed))
    return tuple(expand(t, shape) for t in listed)


@function_only
def einsum(*operands: Any, **named: Any) -> Tensor:
    """Sum of products over named axes, as `numpy.einsum` has it; the operands may also stand in a list.

    >>> import tape
    >>> tape.einsum("i,i->", [tape.ones(3), tape.arange(3.0)])
    tensor(3.)
    """
    listed = _listed(operands[1:])
    operands = operands if listed is None else (operands[0], *listed)
    z: Tensor = derived["einsum"](*operands, **named)
    return z


passing_on(einsum, derived["einsum"], gives="Tensor")
