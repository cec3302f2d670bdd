"""Matching the inputs from the command line with the arguments of the function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .inputs import BadInput, Given, Reader
from .model import calling, parameters


@dataclass
class CallPlan:
    """A call that is ready to be made.

    Attributes:
        func, gradient: take `values`, in order; what they raise is `CallFailed`.
        names, values: of the arguments that are passed.
        wrt: names of those that are checked.
        returned: whether the function returns its gradient beside its value.
        peer: the library that the function is written in, if its gradient is checked.
    """

    func: Callable[..., Any]
    gradient: Callable[..., Any] | None
    names: list[str]
    values: list[Any]
    wrt: list[str]
    returned: bool = False
    peer: str | None = None

    @property
    def given(self) -> Callable[..., Any] | bool | None:
        """The gradient that is checked in place of one that is computed, as `check` takes it."""
        return self.returned or self.gradient

    @property
    def whose(self) -> str:
        """Whose gradient is checked, in a word."""
        if self.gradient is not None:
            return getattr(self.gradient, "__name__", "by hand")
        return self.peer or ("returned" if self.returned else "tape")

    def described(self) -> list[dict[str, Any]]:
        """The inputs as name, shape, dtype and whether they are checked."""
        rows = []
        for name, value in zip(self.names, self.values):
            numeric = isinstance(value, (np.ndarray, np.generic, int, float, complex))
            array = np.asarray(value) if numeric else None
            rows.append(
                {
                    "name": name,
                    "shape": None if array is None else list(array.shape),
                    "dtype": type(value).__name__ if array is None else str(array.dtype),
                    "checked": name in self.wrt,
                }
            )
        return rows


def plan(
    func: Callable[..., Any],
    inputs: Sequence[Given],
    wrt: list[str] | None,
    reader: Reader,
    gradient: Callable[..., Any] | None,
) -> CallPlan:
    """Give every argument its value and choose what is checked.

    Checked are the named arguments; without names, every float input that was not read from a
    file: data are not what one differentiates by.

    Raises:
        BadInput: if an argument has no value, an input no argument, or nothing can be checked.
    """
    title = getattr(func, "__name__", "the function")
    known = parameters(func)
    given = _by_name(inputs, known, title)
    values = {name: g.value for name, g in given.items()}
    for name in wrt or []:
        values[name] = reader.cast(_to_check(name, given, known, title))
    for name, p in known.items():
        if name not in values and p.default is inspect.Parameter.empty:
            raise BadInput(f"{title} needs a value for {name!r}: add --input '{name}=…'")
    ordered = {name: values[name] for name in known if name in values}
    chosen = wrt if wrt is not None else [n for n in ordered if _is_float(ordered[n]) and not given[n].from_file]
    if not chosen:
        raise BadInput(
            f"nothing to check: none of the inputs of {title} is a float that was not read from a file. "
            "Name one with --wrt, or write 1.0 instead of 1."
        )
    names = list(ordered)
    by_hand = None if gradient is None else calling(gradient, _accepted(gradient, names))
    return CallPlan(calling(func, names), by_hand, names, list(ordered.values()), chosen)


def _by_name(inputs: Sequence[Given], known: dict[str, inspect.Parameter], title: str) -> dict[str, Given]:
    given: dict[str, Given] = {}
    for g in inputs:
        if g.name not in known:
            raise BadInput(f"{title} has no argument {g.name!r}; it has {', '.join(known) or 'none'}")
        if g.name in given:
            raise BadInput(f"{g.name!r} is given twice")
        given[g.name] = g
    return given


def _to_check(name: str, given: dict[str, Given], known: dict[str, inspect.Parameter], title: str) -> Any:
    """The value of an argument named by --wrt, as floats."""
    if name not in known:
        raise BadInput(f"--wrt {name}: {title} has no argument {name!r}; it has {', '.join(known) or 'none'}")
    value = given[name].value if name in given else known[name].default
    if value is inspect.Parameter.empty:
        raise BadInput(f"{title} needs a value for {name!r}: add --input '{name}=…'")
    if isinstance(value, (int, float, complex, np.ndarray, np.generic)) and np.asarray(value).dtype.kind in "iufc":
        array = np.asarray(value)
        return (array if array.dtype.kind in "fc" else array.astype(np.float64))[()]
    raise BadInput(f"--wrt {name}: only numbers have a gradient; {name} is {type(value).__name__}")


def _accepted(gradient: Callable[..., Any], names: list[str]) -> list[str]:
    """The function's argument names, all of which a gradient by hand must take."""
    flexible = any(p.kind is p.VAR_KEYWORD for p in inspect.signature(gradient).parameters.values())
    missing = [n for n in names if n not in parameters(gradient)]
    if missing and not flexible:
        title = getattr(gradient, "__name__", "the gradient")
        raise BadInput(
            f"{title} must take the arguments of the function it is a gradient of: {', '.join(missing)} missing"
        )
    return names


def _is_float(value: Any) -> bool:
    return isinstance(value, (float, complex, np.ndarray, np.generic)) and np.asarray(value).dtype.kind in "fc"
