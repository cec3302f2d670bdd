"""Fast mode: one number uᵀJv for each output and input, along random directions, in place of every element of J.

It takes one reverse sweep for each output, or one run in forward mode for each input, and a few
evaluations of the function; an error in J goes unseen only if u and v happen to hide it, which has
probability zero, unless it is smaller than the rounding of the sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .grid import Grid, Line
from .subject import Array, Subject, components, real_dtype


class Along(Grid):
    """A function compared along random directions.

    Attributes:
        directions: v, per input: an array of its form, whose elements have the sizes of the input's.
        weights: u, per output: an array of its form, whose elements have sizes about 1.
    """

    def __init__(self, subject: Subject, point: Sequence[Array], directions: Sequence[Array], weights: Sequence[Array]):
        super().__init__(subject, point)
        self.directions, self.weights = list(directions), list(weights)
        self.outputs = [replace(axis, whole=True) for axis in self.outputs]
        self.inputs = [replace(axis, whole=True) for axis in self.inputs]

    def line(self, k: int, e: int) -> Line:
        return Ray(self, k)

    @staticmethod
    def random(subject: Subject, point: Sequence[Array], rng: np.random.Generator) -> Along:
        """Along directions drawn at random."""
        directions = [_random(rng, x) * _sizes(x) for x in point]
        weights = [_random(rng, np.zeros(axis.shape, axis.dtype)) for axis in subject.output_axes]
        return Along(subject, point, directions, weights)

    def at(self, subject: Subject, point: Sequence[Array]) -> Along:
        return Along(subject, point, [v.astype(x.dtype) for v, x in zip(self.directions, point)], self.weights)

    def times_v(self, blocks: Sequence[Array]) -> list[Array]:
        """Jv, or uᵀJv, from J or uᵀJ."""
        return [(block @ components(v))[:, None] for block, v in zip(blocks, self.directions)]

    def u_times(self, blocks: Sequence[Array]) -> list[Array]:
        """uᵀJv from Jv."""
        return [self.reduce_outputs(block[:, 0])[:, None] for block in blocks]

    def reduce(self, blocks: Sequence[Array]) -> list[Array]:
        return self.u_times(self.times_v(blocks))

    def reduce_outputs(self, flat: Array) -> Array:
        return self._sums(flat, [components(u) for u in self.weights])

    def bounds(self, blocks: Sequence[Array]) -> list[Array]:
        """The sizes of what is added up in uᵀJv."""
        columns = [np.abs(block) @ np.abs(components(v)) for block, v in zip(blocks, self.directions)]
        return [self.magnitudes(column)[:, None] for column in columns]

    def magnitudes(self, flat: Array) -> Array:
        return self._sums(np.abs(flat), [np.abs(components(u)) for u in self.weights])

    def sizes(self) -> list[float]:
        return [1.0] * len(self.inputs)

    @staticmethod
    def _sums(flat: Array, weights: Sequence[Array]) -> Array:
        ends = np.cumsum([u.size for u in weights])
        return np.array([u @ part for u, part in zip(weights, np.split(flat, ends[:-1]))])


class Ray(Line):
    """All of one input moves along its direction."""

    def __init__(self, grid: Along, k: int):
        self.grid, self.k = grid, k
        self.x = real_dtype(grid.point[k].dtype).type(0.0)
        self.scale = 1.0
        self.size = len(grid.outputs)

    def moved(self, value: Any, dtype: np.dtype[Any] | None = None) -> list[Array]:
        point = list(self.grid.point)
        x = point[self.k]
        point[self.k] = np.asarray(x + value * self.grid.directions[self.k]).astype(dtype or x.dtype)
        return point

    def flat(self, value: Any) -> Array:
        return self.grid.reduce_outputs(self.grid.subject.flat(self.moved(value)))

    def at_complex(self, value: Any) -> Array:
        self.grid.check_real()
        return self.grid.reduce_outputs(self.grid.subject.complex_flat(self.moved(value, np.dtype(np.complex128))))


def _random(rng: np.random.Generator, like: Array) -> Array:
    """Numbers of size 1/2 to 3/2 and either sign, in the form of an array."""

    def draw() -> Any:
        return rng.uniform(0.5, 1.5, like.shape) * rng.choice([-1.0, 1.0], like.shape)

    drawn = draw() + 1j * draw() if like.dtype.kind == "c" else draw()
    return np.asarray(drawn).astype(like.dtype)


def _sizes(x: Array) -> Array:
    """The size of each element: that of the largest for one that is zero."""
    sizes = np.abs(x)
    largest = np.max(sizes, initial=0.0)
    return np.where(sizes > 0, sizes, largest if largest > 0 else 1.0).astype(real_dtype(x.dtype))
