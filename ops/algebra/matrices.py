"""What the rooms about factorisations share: rows and columns, triangles, and matrices to try them on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..core.domain import Case
from ..core.op import is_complex
from ..shapes.index import getitem
from ..shapes.parts import mH, real
from ..shapes.shape import reshape


def as_row(v: Any) -> Any:
    return reshape(v, shape=(*v.shape[:-1], 1, v.shape[-1]))


def as_column(v: Any) -> Any:
    return reshape(v, shape=(*v.shape, 1))


def hermitian(x: Any) -> Any:
    return 0.5 * (x + mH(x))


def positive_cases(rng: np.random.Generator) -> Iterator[Case]:
    for shape in ((3, 3), (2, 2, 2), (1, 1)):
        x = rng.standard_normal(shape)
        yield (x @ np.swapaxes(x, -1, -2) + 2.0 * np.eye(shape[-1]),), {}


def real_part(x: Any) -> Any:
    return real(x) if is_complex(x) else x


def on_diagonal(x: Any) -> Any:
    return x * np.eye(x.shape[-1], dtype=x.dtype)


def columns(x: Any, start: int, stop: int | None = None) -> Any:
    return getitem(x, index=(Ellipsis, slice(start, stop)))


def matrix_cases(*shapes: tuple[int, ...]) -> Callable[[np.random.Generator], Iterator[Case]]:
    """Cases of matrices of full rank."""

    def cases(rng: np.random.Generator) -> Iterator[Case]:
        for shape in shapes:
            yield (rng.standard_normal(shape) + 2.0 * np.eye(shape[-2], shape[-1]),), {}

    return cases


def off_diagonal(x: Any) -> Any:
    return x * (1.0 - np.eye(x.shape[-1], dtype=x.dtype))
