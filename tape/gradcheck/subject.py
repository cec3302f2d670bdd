"""The function under check: called on arrays, giving its outputs as one flat vector and its Jacobian."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..leaf import leaf
from ..tensor import Tensor
from .errors import Unfit

Array = np.ndarray[Any, Any]


class Subject:
    """A function of several inputs, seen as a function of those that are checked.

    Args:
        func: the function; it is called with all inputs, in order.
        inputs: tensors, arrays, numbers, or anything else that the function takes.
        wrt: positions of the inputs that are checked: real floating point.
        names: a name for every input.

    Attributes:
        shapes, dtypes: of every float output; set by the first call.
        output_names: a name for every float output.
        evaluations: number of calls so far.
    """

    def __init__(self, func: Callable[..., Any], inputs: Sequence[Any], wrt: Sequence[int], names: Sequence[str]):
        self.func = func
        self.inputs = list(inputs)
        self.wrt = list(wrt)
        self.names = list(names)
        self.shapes: list[tuple[int, ...]] = []
        self.dtypes: list[np.dtype[Any]] = []
        self.output_names: list[str] = []
        self.evaluations = 0

    def point(self) -> list[Array]:
        """The values of the checked inputs."""
        return [np.array(plain(self.inputs[i])) for i in self.wrt]

    def arguments(self, arrays: Sequence[Array]) -> list[Any]:
        """All arguments of one call, fresh leaves at the checked positions."""
        given = list(self.inputs)
        for i, x in zip(self.wrt, arrays):
            given[i] = leaf(np.array(x)[()], requires_grad=True)
        return given

    def outputs(self, result: Any) -> list[Any]:
        """The float outputs among what the function returned; what they are is noted."""
        found = {name: out for name, out in _named(result).items() if _is_float(out)}
        if not found:
            raise Unfit(
                f"{self.title} returned {_describe(result)}; a gradient can be checked where the output is real "
                "floating-point numbers. Return a float tensor or array, or a tuple of them."
            )
        self.output_names, outs = list(found), list(found.values())
        self.shapes = [np.shape(plain(out)) for out in outs]
        self.dtypes = [np.asarray(plain(out)).dtype for out in outs]
        return outs

    @property
    def title(self) -> str:
        """What the function is called in messages."""
        return getattr(self.func, "__name__", type(self.func).__name__)

    def flat(self, arrays: Sequence[Array]) -> Array:
        """All outputs at the given values of the checked inputs, one after the other, in float64."""
        self.evaluations += 1
        outs = self.outputs(self.func(*self.arguments(arrays)))
        return np.concatenate([np.asarray(plain(out), dtype=np.float64).ravel() for out in outs])

    def complex_flat(self, arrays: Sequence[Array]) -> Array:
        """The same at complex values, on plain arrays; raises where the function cannot take them."""
        given = [plain(x) for x in self.inputs]
        for i, x in zip(self.wrt, arrays):
            given[i] = x[()]
        with warnings.catch_warnings():
            warnings.simplefilter("error", np.exceptions.ComplexWarning)
            result = list(_named(self.func(*given)).values())
        parts = [np.asarray(out) for out in result if np.asarray(out).dtype.kind in "fc"]
        flat = np.concatenate([out.astype(np.complex128).ravel() for out in parts])
        if [out.shape for out in parts] != self.shapes:
            raise TypeError("the function does not keep its shapes at complex values")
        return flat


def plain(x: Any) -> Any:
    """The NumPy value of a tensor; anything else as it is."""
    return x._data if isinstance(x, Tensor) else x


def has_history(x: Any) -> bool:
    """Whether a gradient flows from this output back to anything."""
    return isinstance(x, Tensor) and x._node is not None


def _is_float(x: Any) -> bool:
    value = plain(x)
    return isinstance(value, (float, np.ndarray, np.floating)) and np.asarray(value).dtype.kind == "f"


def _named(result: Any) -> dict[str, Any]:
    if isinstance(result, Mapping):
        return {str(name): out for name, out in result.items()}
    if isinstance(result, (tuple, list)):
        return {f"output {j}": out for j, out in enumerate(result)}
    return {"output": result}


def _describe(result: Any) -> str:
    if isinstance(result, (tuple, list)):
        return f"a {type(result).__name__} of " + (", ".join(map(_describe, result)) or "nothing")
    value = plain(result)
    if isinstance(value, (np.ndarray, np.generic)):
        return f"{value.dtype} of shape {value.shape}"
    return "None" if result is None else f"a value of type {type(result).__name__}"
