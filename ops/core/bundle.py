"""One result of an op with several results."""

from __future__ import annotations

from typing import Any

import numpy as np

from .op import ADJOINT, general

output = general(
    "output", lambda x, *, i: x[i], lambda g, i: Bundle({i: g}),
    complex=ADJOINT, doc="Result number i of an op with several results; its adjoints gather in a `Bundle`.",
)


class Bundle:
    """The adjoints of the results of an op with several results: ``g[i]`` is None where none arrived."""

    __slots__ = ("parts",)

    def __init__(self, parts: dict[int, Any]):
        self.parts = parts

    def __getitem__(self, i: int) -> Any:
        return self.parts.get(i)

    def copy(self) -> Bundle:
        """The same adjoints in arrays of their own."""
        return Bundle({i: np.array(part)[()] for i, part in self.parts.items()})

    def __add__(self, other: Bundle) -> Bundle:
        total = dict(self.parts)
        for i, part in other.parts.items():
            total[i] = total[i] + part if i in total else part
        return Bundle(total)
