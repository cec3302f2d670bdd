"""What is compared, and the function along lines through the point, where one element moves; differences there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .gradcheck_errors import Unsteady
from .report import place_of
from .subject import Array, Axis, Subject, components, real_dtype

Vector = np.ndarray[Any, np.dtype[np.float64]]
Outputs = Callable[[Any], Vector]
"""All outputs, flat, as a function of one element of one input."""

ROUNDING = 4.0


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
        self.x = numbers[e]
        self.size = grid.size

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


class Remembered(Line):
    """A line that is asked at each number once: what is made of the outputs there may be asked for again."""

    def __init__(self, line: Line):
        self.line, self.x, self.scale, self.size = line, line.x, line.scale, line.size
        self._found: dict[bytes, Array] = {}

    def __call__(self, value: Any) -> Array:
        bits = np.asarray(value).tobytes()  # of which 0 and -0 have others
        if bits not in self._found:
            self._found[bits] = self.line(value)
        return self._found[bits]

    def at_complex(self, value: Any) -> Array:
        return self.line.at_complex(value)


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
        """The numbers of one input in their own precision, and the size of the largest of them."""
        if k not in self._numbers:
            numbers = components(self.point[k])
            size = np.max(np.abs(numbers))
            scale = float(size) if np.isfinite(size) and size > 0 else 1.0
            self._numbers[k] = numbers.astype(real_dtype(self.point[k].dtype)), scale
        return self._numbers[k]

    @property
    def size(self) -> int:
        """How many numbers the outputs are."""
        return sum([axis.size for axis in self.outputs])

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


@dataclass
class Difference:
    """Central differences at one step: of every output, with the bound that rounding gives."""

    value: Vector
    rounding: Vector
    step: float


def central(line: Outputs, x: Any, h: float, eps: Vector) -> Difference:
    """(f(x+h) − f(x−h)) / 2h, with the h that is left after x±h have been rounded."""
    return pair(line, x, h, eps)[0]


def pair(
    line: Outputs, x: Any, h: float, eps: Vector, noise: Vector | float = 0.0
) -> tuple[Difference, Vector, Vector]:
    """`central`, and the outputs on both sides, which are known to be off by `noise`."""
    kind = type(x)
    above, below = kind(x + h), kind(x - h)
    width = float(above) - float(below)
    high, low = line(above), line(below)
    with np.errstate(all="ignore"):
        value = (high - low) / width
        rounding = np.maximum(ROUNDING * eps * np.maximum(np.abs(high), np.abs(low)), noise) / width
    return Difference(value, rounding, width / 2), high, low
