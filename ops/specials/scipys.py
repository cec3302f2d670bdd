"""Functions of `scipy.special` as forwards of ops, and what an op says of an operand SciPy has no derivative for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def scipy_function(name: str, arity: int = 1, part: int | None = None) -> Callable[..., Any]:
    """A function of `scipy.special`, looked up at its first call: importing `ops` stays cheap.

    Args:
        name: its name there.
        arity: the number of operands.
        part: which of several results is meant; such a function is not SciPy's own.
    """
    found: list[Any] = []

    def loaded(*xs: Any) -> Any:
        if not found:
            import scipy.special

            found.append(getattr(scipy.special, name))
        return found[0](*xs) if part is None else found[0](*xs)[part]

    calls: dict[int, Callable[..., Any]] = {
        1: lambda x: loaded(x),
        2: lambda x, y: loaded(x, y),
        3: lambda x, y, u: loaded(x, y, u),
        4: lambda x, y, u, v: loaded(x, y, u, v),
    }
    call = calls[arity]
    call.scipy = (name,) if part is None else ()  # type: ignore[attr-defined]
    return call


class NotDifferentiated:
    """The rule of an operand, such as the order of a Bessel function, by which nobody here can differentiate.

    Raises:
        NotImplementedError: when it is asked for.
    """

    def __init__(self, name: str, operand: str):
        self.name, self.operand = name, operand

    def __call__(self, g: Any) -> Any:
        raise NotImplementedError(
            f"scipy.special.{self.name} can be differentiated by its last argument only, and a derivative by its "
            f"{self.operand} was asked for.\nIf that is a constant, say so: tape.stop_gradient(x) of an array, "
            "x.detach() of a tensor."
        )
