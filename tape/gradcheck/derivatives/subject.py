"""The function under check: called on arrays, giving its outputs as one flat vector of real numbers, also along lines.

Along a line through the point one element moves, or all of an input.
"""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...base.spec import spec_of
from ...base.tensor import Tensor
from ...recording.leaf import leaf
from .gradcheck_errors import Unfit, Unsteady
from .report import place_of

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
    """

    name: str
    number: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    whole: bool = False

    @property
    def size(self) -> int:
        """How many real numbers it is."""
        return 1 if self.whole else math.prod(self.shape) * (2 if self.is_complex else 1)

    @property
    def is_complex(self) -> bool:
        return self.dtype.kind == "c"

    def place(self, k: int) -> tuple[tuple[int, ...] | None, str]:
        """The index of real number k, and which part of the element it is where that is complex."""
        if self.whole:
            return None, ""
        element, part = divmod(k, 2) if self.is_complex else (k, None)
        index = tuple(map(int, np.unravel_index(element, self.shape))) if self.shape else ()
        return index, "" if part is None else PARTS[part]


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
            given[i] = leaf(laid_out(x, plain(self.inputs[i])), requires_grad=requires_grad)
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

    def call(self, arrays: Sequence[Array]) -> list[Any]:
        """The outputs to check, of leaves that require grad."""
        self._calls[0] += 1
        return self.outputs(self.func(*self.arguments(arrays)))

    def flat(self, arrays: Sequence[Array]) -> Array:
        """All outputs at the given values of the checked inputs, one after the other, as real numbers in float64."""
        return flattened(self.call(arrays))

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
        return spec_of(value).inexact
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


class Line:
    """The outputs as a function of one real number.

    Attributes:
        x: the number at the point.
        scale: the size of what it belongs to.
        unsteady: the error of a call whose outputs were of other shapes or dtypes.
    """

    x: Any
    scale: float
    size: int
    unsteady: Unsteady | None = None

    def flat(self, value: Any) -> Array:
        raise NotImplementedError

    def at_complex(self, value: Any) -> Array:
        raise NotImplementedError

    def where(self) -> str:
        """What moves, in words that follow a verb."""
        return ""

    def __call__(self, value: Any) -> Array:
        """The outputs, nan where the function raises: a step may leave its domain, or its patience."""
        try:
            with np.errstate(all="ignore"):
                return self.flat(value)
        except Unsteady as error:
            self.unsteady = error
        except Exception:
            pass
        return np.full(self.size, np.nan)


class Element(Line):
    """One real number of one input moves; the others hold still."""

    def __init__(self, grid: Grid, k: int, e: int):
        self.grid, self.subject, self.point, self.k, self.e = grid, grid.subject, grid.point, k, e
        numbers, self.scale = grid.numbers(k)
        self.x = real_dtype(self.point[k].dtype).type(numbers[e])
        self.size = sum(axis.size for axis in grid.outputs)

    def moved(self, value: object, dtype: np.dtype[Any] | None = None) -> list[Array]:
        point = list(self.point)
        before = point[self.k]
        x = np.array(before, dtype=dtype, order="C").reshape(-1)
        (x.view(real_dtype(x.dtype)) if before.dtype.kind == "c" else x)[self.e] = value
        point[self.k] = x.reshape(before.shape)
        return point

    def flat(self, value: Any) -> Array:
        return self.subject.flat(self.moved(value))

    def at_complex(self, value: Any) -> Array:
        self.grid.check_real()
        return self.subject.complex_flat(self.moved(value, np.dtype(np.complex128)))

    def where(self) -> str:
        axis = self.grid.inputs[self.k]
        index, part = axis.place(self.e)
        return f" on index {index} of {place_of(axis.name, None, part)}"


class Grid:
    """What is compared: every output with every input, element by element.

    Attributes:
        outputs, inputs: the axes of the Jacobian.
    """

    def __init__(self, subject: Subject, point: Sequence[Array]):
        self.subject, self.point = subject, list(point)
        self.outputs: list[Axis] = subject.output_axes
        self.inputs: list[Axis] = subject.input_axes(point)
        self._numbers: dict[int, tuple[Array, float]] = {}

    def numbers(self, k: int) -> tuple[Array, float]:
        """The numbers of one input, and the size of the largest of them."""
        if k not in self._numbers:
            numbers = components(self.point[k])
            size = np.max(np.abs(numbers))
            self._numbers[k] = numbers, float(size) if np.isfinite(size) and size > 0 else 1.0
        return self._numbers[k]

    def line(self, k: int, e: int) -> Line:
        """The outputs along element e of input k."""
        return Element(self, k, e)

    def check_real(self) -> None:
        """Raise if a complex step would be one of a function that is complex itself."""
        if any(axis.is_complex for axis in (*self.outputs, *self.inputs)):
            raise TypeError("a complex step is one of a real function")

    def reduce(self, blocks: Sequence[Array]) -> list[Array]:
        """The Jacobian of the function as that of what is compared."""
        return list(blocks)

    def reduce_outputs(self, flat: Array) -> Array:
        """The same for the outputs."""
        return flat

    def magnitudes(self, flat: Array) -> Array:
        """The sizes of what is added up in each number of the outputs."""
        return np.abs(flat)

    def sizes(self) -> list[float]:
        """The sizes of what moves, per input, or 1 where they are smaller."""
        return [max(float(np.max(np.abs(x), initial=0.0)), 1.0) for x in self.point]

    def at(self, subject: Subject, point: Sequence[Array]) -> Grid:
        """The same with another subject, or in another precision."""
        return Grid(subject, point)
