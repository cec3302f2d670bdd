"""Forward mode by hand: ``dual_level``, ``make_dual``, ``unpack_dual``.

>>> import tape
>>> x, v = tape.tensor([1.0, 2.0]), tape.tensor([1.0, 0.0])
>>> with dual_level():
...     y = (make_dual(x, v) ** 3).sum()
...     unpack_dual(y)
UnpackedDualTensor(primal=tensor(9.), tangent=tensor(3.))
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import ops

from ..base.tensor import Tensor
from ..recording.level import innermost, live
from .batch import Batch
from .batched import Batched
from .direction import Direction, make, parts

F = TypeVar("F", bound=Callable[..., Any])

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]

_levels: list[Direction] = []
"""The level that is entered, if any: there is one in the process, as in PyTorch."""


def __getattr__(name: str) -> Any:
    """``_current_level``, which PyTorch's users read: 0 within a level, −1 outside."""
    if name == "_current_level":
        return len(_levels) - 1
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class UnpackedDualTensor(NamedTuple):
    """A tensor's value and its tangent, which is None where it does not move."""

    primal: Tensor
    tangent: Tensor | None


def enter_dual_level() -> int:
    """Begin to take a directional derivative; gives the number of the level, 0.

    Raises:
        RuntimeError: within another level: `tape.func.jvp` nests.
    """
    if _levels:
        raise RuntimeError(
            "Nested forward mode AD is not supported at the moment: a dual level is entered already.\n"
            "Leave it first, or take derivatives of derivatives with tape.func.jvp, which nests."
        )
    _levels.append(Direction())
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """End a level; its tangents are forgotten.

    Raises:
        RuntimeError: if no level is entered, or another one than ``level``.
    """
    if not _levels or level not in (None, 0):
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was entered; "
            f"got level {level}, entered are {list(range(len(_levels)))}"
        )
    _levels.pop().alive = False


class dual_level:
    """A directional derivative is taken within: as a context, or as a decorator.

    Tangents live until the block is left, by an exception too.  `tape.no_grad` has no effect on them.
    """

    __slots__ = ()

    def __new__(cls, function: Any = None) -> Any:
        made = object.__new__(cls)
        return made if function is None else made(function)

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *_: Any) -> None:
        exit_dual_level()

    def __call__(self, function: F) -> F:
        @functools.wraps(function)
        def within(*args: Any, **kwargs: Any) -> Any:
            with dual_level():
                return function(*args, **kwargs)

        return within  # type: ignore[return-value]


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """The same tensor, moving in the direction of ``tangent``.

    It shares memory and history with ``tensor``, and memory with a ``tangent`` that is laid out in the same way.
    Differentiable in both arguments.

    Raises:
        RuntimeError: without a `dual_level`, if shapes or dtypes differ, or if the tensor or the
            tangent moves at this level already.
        TypeError: if one of them is no tensor.
        ValueError: if one of them is not floating point or complex.
    """
    for name, x in {"primal": tensor, "tangent": tangent}.items():
        if not isinstance(x, Tensor):
            raise TypeError(f"make_dual() takes tensors; its {name} is {type(x).__name__}. Convert with tape.tensor().")
        if not x._spec.inexact:
            raise ValueError(
                f"Expected {name} to be floating point or complex in make_dual(); got {x.dtype}. Use .double()."
            )
    current = _level(level)
    if current is None:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists: make_dual() needs one to take the "
            "derivative at.\nCall it under `with tape.autograd.forward_ad.dual_level():`."
        )
    if _parts(tangent, current)[1] is not None:
        raise RuntimeError(
            "Setting a forward grad that itself has a forward gradient at the same level is not supported; pass "
            "unpack_dual(tangent).primal, or nest with tape.func.jvp for second derivatives"
        )
    if _parts(tensor, current)[1] is not None:
        raise RuntimeError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level is not "
            "supported; pass unpack_dual(tensor).primal to give it another one"
        )
    if tangent._spec.shape != tensor._spec.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of its tensor: the tensor has shape "
            f"{tensor._spec.shape}, the tangent {tangent._spec.shape}"
        )
    if tangent._spec.dtype != tensor._spec.dtype:
        raise RuntimeError(
            f"a tangent must have the dtype of its tensor: the tensor is {tensor.dtype}, the tangent {tangent.dtype}; "
            f"convert it with .to({tensor.dtype})"
        )
    if _steps(tangent) != _steps(tensor):
        tangent = ops.clone(tangent)
    return _paired(tensor, tangent, current)


def _steps(x: Tensor) -> list[tuple[int, int]]:
    """The axes along which a tensor has several elements, and how far they are apart there."""
    return [(i, step) for i, (n, step) in enumerate(zip(x.shape, x.stride())) if n > 1]


def _paired(primal: Tensor, tangent: Tensor, level: Direction) -> Tensor:
    """A dual at a level; of tensors that `vmap` maps at an inner one, in each of the lanes."""
    inner = innermost((primal, tangent))
    if isinstance(inner, Batch) and inner.depth > level.depth:
        x, x_dot = (x if has_lanes else inner.full(x) for x, has_lanes in map(inner.parts, (primal, tangent)))
        return inner.layer(_paired(x, x_dot, level))
    if inner is not None and inner.depth > level.depth:
        raise RuntimeError(
            "make_dual() cannot use an outer dual level within a transformation of tape.func that was entered later.\n"
            "Enter the dual level inside of the function, or use tape.func.jvp."
        )
    return make(live(primal), tangent, level)


def _parts(x: Tensor, level: Direction) -> tuple[Any, Any]:
    """Value and tangent at a level, also below the lanes of inner ones."""
    x = live(x)
    if isinstance(x, Batched) and x._level.depth > level.depth:
        value, tangent = _parts(x._primal, level)
        return x._level.layer(value), None if tangent is None else x._level.layer(tangent)
    return parts(x, level)


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """A tensor's value, a new view of it, and its tangent at the level that is entered; None where it does not move."""
    current = _level(level)
    if current is None:
        return UnpackedDualTensor(live(tensor), None)
    primal, tangent = _parts(tensor, current)
    return UnpackedDualTensor(ops.reshape(primal, shape=primal._spec.shape), tangent)


def _level(number: int | None) -> Direction | None:
    if number is None or number == 0:
        return _levels[0] if _levels else None
    return None
