"""The function under check: called on arrays, giving its outputs as one flat vector of real numbers; and its gradient.

That is ours, by reverse sweeps; forward mode has a room of its own (`tape.gradcheck.tangent_checks`).
"""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...backprop.backward import gradients
from ...base.row import OP
from ...base.spec import SPECS
from ...base.tensor import Tensor
from ...history.propagate import behind
from ...recording.recorder import CUSTOM, wrap
from ...recording.wengert import WengertList
from .gradcheck_errors import GradcheckError, Unfit, Unsteady

Array = np.ndarray[Any, Any]
PARTS = "real", "imag"


@dataclass(frozen=True)
class Axis:
    """One input or output, as a stretch of real numbers: a complex element is two of them.

    Attributes:
        name: what it is called in messages.
        number: its place among the inputs, or among the outputs that are checked.
        shape, dtype: of the array.
        whole: whether all of it is taken together as one number, along a direction.
        is_complex: whether its elements are.
        size: how many real numbers it is.
    """

    name: str
    number: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    whole: bool = False
    is_complex: bool = field(init=False)
    size: int = field(init=False)

    def __post_init__(self) -> None:
        is_complex = self.dtype.kind == "c"
        object.__setattr__(self, "is_complex", is_complex)
        object.__setattr__(self, "size", 1 if self.whole else math.prod(self.shape) * (2 if is_complex else 1))

    def place(self, k: int) -> tuple[tuple[int, ...] | None, str]:
        """The index of real number k, and which part of the element it is where that is complex."""
        if self.whole:
            return None, ""
        element, part = divmod(k, 2) if self.is_complex else (k, None)
        index = tuple(map(int, np.unravel_index(element, self.shape))) if self.shape else ()
        return index, "" if part is None else PARTS[part]


class TrackedCall:
    """A call of a function, with its history.

    Attributes:
        leaves: the checked inputs.
        outs: the outputs that are checked.
        flat: these one after the other, as real numbers in float64.
        tracked: those of them that a gradient flows back from.
    """

    def __init__(self, leaves: list[Any], outs: list[Any]):
        self.leaves, self.outs, self.flat = leaves, outs, flattened(outs)
        self.tracked = [out for out in outs if has_history(out)]

    def histories(self) -> list[tuple[WengertList, dict[int, list[Any]]]]:
        """The lists that the outputs depend on, each with the records there by handle, latest first."""
        return behind({out._node for out in self.tracked if out._node is not True})

    def only_ops(self) -> bool:
        """Whether a gradient flows through ops alone: no custom function is asked for it, and no hook."""
        if any(leaf._chain for leaf in self.leaves):
            return False
        for wengert, rows in self.histories():
            if not wengert.hooks.keys().isdisjoint(rows) or any(row[OP] == CUSTOM.code for row in rows.values()):
                return False
        return True

    def of_zeros(self) -> Sequence[Tensor | None]:
        """What the gradients are where every adjoint is zero."""
        outs = self.tracked
        return pull(outs, self.leaves, [np.zeros(o._spec.shape, o._spec.dtype)[()] for o in outs]) if outs else []


class Subject:
    """A function of several inputs, seen as a function of those that are checked.

    Args:
        func: the function; it is called with all inputs, in order.
        inputs: tensors, arrays, numbers, or anything else that the function takes.
        wrt: positions of the inputs that are checked: floating point or complex.
        names: a name for every input.

    Attributes:
        axes: of every output that is checked; set by the first call.
        kept: names of the outputs that are checked; all that are floating point or complex if None.
        lenient: whether a function without any such output will do.
        needs_history: whether the function itself takes gradients, so that its inputs must require grad.
    """

    needs_history = False

    def __init__(self, func: Callable[..., Any], inputs: Sequence[Any], wrt: Sequence[int], names: Sequence[str]):
        self.func = func
        self.inputs = list(inputs)
        self.wrt = list(wrt)
        self.names = list(names)
        self.axes: list[Axis] | None = None
        self.kept: set[str] | None = None
        self.lenient = False
        self._calls = [0]

    @property
    def evaluations(self) -> int:
        """How often the function was called for its outputs, by this subject and its likes."""
        return self._calls[0]

    def like(self) -> Subject:
        """The same function, of whose outputs nothing is known yet: at inputs of another dtype they are others."""
        other = copy.copy(self)
        other.axes = None
        return other

    def point(self) -> list[Array]:
        """The values of the checked inputs."""
        return [np.array(plain(self.inputs[i])) for i in self.wrt]

    def input_axes(self, arrays: Sequence[Array]) -> list[Axis]:
        """The checked inputs as axes."""
        return [Axis(self.names[i], i, x.shape, x.dtype) for i, x in zip(self.wrt, arrays)]

    def arguments(self, arrays: Sequence[Array], *, requires_grad: bool = True) -> list[Any]:
        """All arguments of one call, fresh leaves at the checked positions."""
        given = list(self.inputs)
        for i, x in zip(self.wrt, arrays):
            given[i] = wrap(laid_out(x, plain(self.inputs[i])), True if requires_grad else None)
        return given

    def outputs(self, result: Any) -> list[Any]:
        """The outputs to check among what the function returned.

        Raises:
            Unfit: if there are none.
            Unsteady: if they are of other shapes or dtypes than in the first call.
        """
        found = {
            name: out
            for name, out in named(result).items()
            if is_inexact(out) and (self.kept is None or name in self.kept)
        }
        if not found and not (self.lenient and _nothing_or_tensors(result)):
            raise Unfit(
                f"{self.title} returned {describe(result)}; a gradient can be checked where the output is "
                "floating-point or complex numbers. Return a float tensor or array, or a tuple of them."
            )
        values = [np.asarray(plain(out)) for out in found.values()]
        axes = [Axis(name, j, x.shape, x.dtype) for j, (name, x) in enumerate(zip(found, values))]
        if self.axes is None:
            self.axes = axes
        elif axes != self.axes:
            raise Unsteady(self.axes, axes)
        return list(found.values())

    @property
    def output_axes(self) -> list[Axis]:
        """`axes`, which a call has found."""
        assert self.axes is not None
        return self.axes

    @property
    def title(self) -> str:
        """What the function is called in messages."""
        return title_of(self.func)

    def recorded(self, arrays: Sequence[Array]) -> TrackedCall:
        """A call with leaves that require grad."""
        self._calls[0] += 1
        given = self.arguments(arrays)
        return TrackedCall([given[i] for i in self.wrt], self.outputs(self.func(*given)))

    def call(self, arrays: Sequence[Array]) -> list[Any]:
        """The outputs to check, of leaves that require grad."""
        return self.recorded(arrays).outs

    def flat(self, arrays: Sequence[Array]) -> Array:
        """All outputs at the given values of the checked inputs, one after the other, as real numbers in float64."""
        return self.recorded(arrays).flat

    def complex_flat(self, arrays: Sequence[Array]) -> Array:
        """The outputs of a real function at complex values, on plain arrays; raises where it cannot take them."""
        given = [plain(x) for x in self.inputs]
        for i, x in zip(self.wrt, arrays):
            given[i] = x[()]
        with warnings.catch_warnings():
            warnings.simplefilter("error", np.exceptions.ComplexWarning)
            result = named(self.func(*given))
        parts = [np.asarray(result[axis.name]) for axis in self.output_axes]
        flat = np.concatenate([out.astype(np.complex128).ravel() for out in parts])
        if [out.shape for out in parts] != [axis.shape for axis in self.output_axes]:
            raise TypeError("the function does not keep its shapes at complex values")
        return flat


def title_of(func: Callable[..., Any]) -> str:
    return getattr(func, "__name__", type(func).__name__)


def plain(x: Any) -> Any:
    """The NumPy value of a tensor; anything else as it is."""
    return x._data if isinstance(x, Tensor) else x


def has_history(x: Any) -> bool:
    """Whether a gradient flows from this output back to anything."""
    return isinstance(x, Tensor) and x._node is not None


def components(x: Any) -> Array:
    """A value as one flat vector in float64, in which the parts of a complex number follow each other."""
    flat = np.asarray(plain(x)).ravel()
    return flat.astype(np.complex128).view(np.float64) if flat.dtype.kind == "c" else flat.astype(np.float64)


def flattened(outs: Sequence[Any]) -> Array:
    """Several values as one such vector."""
    return np.concatenate([components(out) for out in outs]) if outs else np.zeros(0)


def real_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of the parts of a complex dtype; a real one itself."""
    return np.zeros(0, dtype).real.dtype


def units(x: Array) -> Any:
    """One after the other, the arrays of the form of x that are 1, or the imaginary unit, in one element."""
    for k in range(x.size):
        for one in (1.0, 1.0j) if x.dtype.kind == "c" else (1.0,):
            g = np.zeros(x.shape, dtype=x.dtype)
            g.flat[k] = one
            yield g[()]


def laid_out(x: Array, template: Any) -> Any:
    """A copy of an array in memory that is ordered, and has gaps, as a template's."""
    if not isinstance(template, np.ndarray) or not template.ndim or template.shape != x.shape:
        return np.array(x)[()]
    if template.flags.forc:
        return np.array(x, order="F" if template.flags.f_contiguous and not template.flags.c_contiguous else "C")
    order = np.argsort([-abs(step) for step in template.strides], kind="stable")
    shape = [x.shape[axis] for axis in order]
    room = np.zeros((*shape[:-1], 2 * shape[-1]), x.dtype)[..., ::2].transpose(np.argsort(order))
    room = room[tuple([slice(None, None, -1 if step < 0 else 1) for step in template.strides])]
    room[...] = x
    return room


def is_inexact(x: Any) -> bool:
    """Whether this is floating-point or complex numbers."""
    value = plain(x)
    if isinstance(value, (np.ndarray, np.generic)):
        return SPECS[value.shape, value.dtype].inexact
    return isinstance(value, (float, complex))


def named(result: Any) -> dict[str, Any]:
    """What a function returned, by name."""
    if isinstance(result, Mapping):
        return {str(name): out for name, out in result.items()}
    if isinstance(result, (tuple, list)):
        return {f"output {j}": out for j, out in enumerate(result)}
    return {"output": result}


def _nothing_or_tensors(result: Any) -> bool:
    return all(isinstance(out, Tensor) for out in named(result).values())


def describe(result: Any) -> str:
    """What a function returned, in words."""
    if isinstance(result, (tuple, list)):
        return f"a {type(result).__name__} of " + (", ".join(map(describe, result)) or "nothing")
    value = plain(result)
    if isinstance(value, (np.ndarray, np.generic)):
        return f"{value.dtype} of shape {value.shape}"
    return "None" if result is None else f"a value of type {type(result).__name__}"


@dataclass
class Jacobian:
    """Derivatives of every number of the outputs with respect to every number of the checked inputs.

    Attributes:
        blocks: per checked input, an array (numbers of the outputs, numbers of the input) in float64.
        dtypes: per checked input, the dtypes that its gradients had.
    """

    blocks: list[Array]
    dtypes: list[set[np.dtype[Any]]] = field(default_factory=list)


def reverse(subject: Subject, arrays: Sequence[Array]) -> Jacobian:
    """The Jacobian by reverse sweeps, one for each number of the outputs; see `swept`."""
    return swept(subject, subject.recorded(arrays))


def swept(subject: Subject, recorded: TrackedCall, weights: Sequence[Array] | None = None) -> Jacobian:
    """The Jacobian by reverse sweeps over a call; with weights, one for each output, uᵀJ.

    A complex output has two for each number: adjoints of 1 and of i give the gradients of its real and of its
    imaginary part, each as ∂/∂x + i ∂/∂y where the input is complex.

    Raises:
        GradcheckError: if a gradient does not have the shape of its input.
    """
    leaves = recorded.leaves
    jacobian = Jacobian([], [set() for _ in leaves])
    rows: list[list[Array]] = [[] for _ in leaves]
    for j, out in enumerate(recorded.outs):
        for g in units(np.asarray(plain(out))) if weights is None else [weights[j]]:
            found = pull([out], leaves, [g]) if has_history(out) else [None] * len(leaves)
            for k, bar in enumerate(found):
                rows[k].append(_row(bar, leaves[k], subject.names[subject.wrt[k]]))
                if bar is not None:
                    jacobian.dtypes[k].add(bar._spec.dtype)
    jacobian.blocks = [np.array(row).reshape(len(row), components(x).size) for row, x in zip(rows, leaves)]
    return jacobian


def pull(outs: Sequence[Tensor], leaves: Sequence[Tensor], gs: Sequence[Array]) -> Sequence[Tensor | None]:
    """Vector-Jacobian products, None for an input that the outputs do not depend on."""
    return gradients(tuple(outs), [wrap(g) for g in gs], tuple(leaves), retain=True, create=False, unused=True)


def _row(bar: Any, x: Tensor, name: str) -> Array:
    if bar is None:
        return np.zeros(components(x).size)
    if np.shape(plain(bar)) != np.shape(plain(x)):
        raise GradcheckError(
            f"Analytical gradient has incorrect size: that for {name} has shape {np.shape(plain(bar))}; it must have "
            f"the input's, {np.shape(plain(x))}"
        )
    if bar._spec.dtype.kind != x._spec.dtype.kind:
        raise GradcheckError(f"Gradient has dtype mismatch: that for {name} is {bar.dtype}; the input is {x.dtype}")
    return components(bar)
