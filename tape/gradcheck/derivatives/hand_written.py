"""The gradient under check, written by hand."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...recording.leaf import leaf
from .gradcheck_errors import Unfit
from .report import BY_HAND
from .subject import Array, Jacobian, Subject, describe, plain, title_of


def _on_arrays_or_tensors(func: Callable[..., Any]) -> Callable[..., Any]:
    """The function of plain arrays; if the first call shows that it takes none, of tensors."""
    known: list[Callable[[Any], Any]] = []

    @functools.wraps(func)
    def call(*values: Any) -> Any:
        if known:
            return func(*map(known[0], values))
        try:
            result, way = func(*values), _as_it_is
        except Exception as error:
            try:
                result, way = func(*map(_as_tensor, values)), _as_tensor
            except Exception:
                raise error from None
        known.append(way)
        return result

    return call


def _as_it_is(x: Any) -> Any:
    return x


def _as_tensor(x: Any) -> Any:
    return leaf(x) if isinstance(x, (np.ndarray, np.floating)) else x


def split(func: Callable[..., Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The function and the gradient that one function gives: ``value, gradient`` or ``value, gradient, gradient…``.

    >>> value, gradient = split(lambda x, y: (x * y, y, x))
    >>> value(2.0, 3.0), gradient(2.0, 3.0)
    (6.0, (3.0, 2.0))
    """

    def both(*arguments: Any) -> tuple[Any, Any]:
        result = func(*arguments)
        if not (isinstance(result, (tuple, list)) and len(result) > 1):
            raise Unfit(f"{title_of(func)} must return its value and its gradient, as a tuple; got {describe(result)}")
        value, *parts = result
        return value, parts[0] if len(parts) == 1 else tuple(parts)

    @functools.wraps(func)
    def value(*arguments: Any) -> Any:
        return both(*arguments)[0]

    @functools.wraps(func)
    def gradient(*arguments: Any) -> Any:
        return both(*arguments)[1]

    return value, gradient


class Written(Subject):
    """A function whose gradient the user wrote by hand: both run on plain arrays, or if that fails on tensors.

    Attributes:
        mode: what the report calls the way in which the gradient was computed.

    Args:
        gradient: called with the same inputs as the function; returns the gradient with respect
            to the checked inputs: an array for one, a tuple or list in their order, or a dict by
            name.  A function with an output of shape s has gradients of shape s + the input's.
    """

    mode = BY_HAND

    def __init__(
        self, func: Callable[..., Any], inputs: Sequence[Any], wrt: Sequence[int], names: Sequence[str],
        gradient: Callable[..., Any],
    ):  # fmt: skip
        super().__init__(_on_arrays_or_tensors(func), inputs, wrt, names)
        self.gradient = _on_arrays_or_tensors(gradient)

    def arguments(self, arrays: Sequence[Array], *, requires_grad: bool = True) -> list[Any]:
        """All arguments of one call, as NumPy values of their own."""
        given = [np.array(x)[()] if isinstance(x, np.ndarray) else x for x in map(plain, self.inputs)]
        for i, x in zip(self.wrt, arrays):
            given[i] = np.array(x)[()]
        return given

    def jacobian(self, arrays: Sequence[Array]) -> Jacobian:
        """What the user's function says.

        Raises:
            Unfit: if there are several outputs, or a gradient is missing or has the wrong shape.
        """
        if len(self.output_axes) != 1:
            n = len(self.output_axes)
            raise Unfit(f"a gradient written by hand is checked for one output; {self.title} has {n}")
        (out,) = self.output_axes
        self.check_real(arrays)
        wanted = [self.names[i] for i in self.wrt]
        parts = self._parts(self.gradient(*self.arguments(arrays)), wanted)
        blocks, dtypes = [], []
        for name, given, x in zip(wanted, parts, arrays):
            part = np.asarray(plain(given))
            expected = (*out.shape, *x.shape)
            if part.shape != expected or part.dtype.kind not in "fiu":
                raise Unfit(
                    f"{self._gradient_title} gave {part.dtype} of shape {part.shape} for {name}; "
                    f"it must be floating point of shape {expected}"
                )
            blocks.append(part.astype(np.float64).reshape(-1, x.size) if x.size else np.zeros((part.size, 0)))
            dtypes.append({part.dtype})
        return Jacobian(blocks, dtypes)

    def check_real(self, arrays: Sequence[Array]) -> None:
        """Raise `Unfit` if an input or output is complex: what a gradient is there differs between libraries."""
        if any(axis.is_complex for axis in self.output_axes) or any(x.dtype.kind == "c" for x in arrays):
            raise Unfit(f"a gradient {self._origin} is checked for real inputs and outputs; split them into real parts")

    @property
    def _origin(self) -> str:
        return "written by hand" if self.mode == BY_HAND else f"of {self.mode}"

    def _parts(self, result: Any, wanted: list[str]) -> list[Any]:
        if isinstance(result, Mapping):
            missing = [name for name in wanted if name not in result]
            if missing:
                raise Unfit(
                    f"{self._gradient_title} gave a dict with {', '.join(map(repr, result)) or 'nothing'}; "
                    f"gradients for {', '.join(missing)} are missing"
                )
            return [result[name] for name in wanted]
        parts = list(result) if isinstance(result, (tuple, list)) else [result]
        if len(parts) != len(wanted):
            raise Unfit(
                f"{self._gradient_title} gave {len(parts)} gradient(s); {len(wanted)} are checked, in this order: "
                f"{', '.join(wanted)}. Return a tuple, or a dict by name."
            )
        return parts

    @property
    def _gradient_title(self) -> str:
        return title_of(self.gradient)
