"""Indices that PyTorch counts from zero alone, where NumPy counts negative ones from the end."""

from __future__ import annotations

from typing import Any

import numpy as np

from .batching import elementwise
from .hints import Hints
from .op import plain


class OutOfRange(IndexError, RuntimeError):
    """An index outside of a dimension: PyTorch calls it a RuntimeError or an IndexError, by function."""


def _within(indices: Any, size: int, name: str) -> Any:
    numbers = np.asarray(indices)
    outside = (numbers < 0) | (numbers >= size)
    if outside.any():
        raise OutOfRange(
            f"{name} takes indices from 0 to {size - 1}, for a dimension of length {size}; got "
            f"{numbers[outside].flat[0]}.\nAdd the length to an index that counts from the end, or write x[index]."
        )
    return numbers.copy()[()]


within = plain(
    "within", lambda indices, *, size, name: _within(indices, size, name), batch=elementwise,
    hints=Hints(raises=slice(0, 1)),
    cases=lambda rng: iter([((rng.integers(0, 4, (2, 3)),), {"size": 4, "name": "within"})]),
    doc="Indices as they are, once it is verified that they count from 0 to below `size`.",
)
