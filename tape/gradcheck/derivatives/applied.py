"""Tensors of which every operation is an op that is applied through ``__bind__``."""

from __future__ import annotations

from typing import Any

from ops import REGISTRY

from ...base.tensor import Tensor


class Applied(Tensor):
    """A tensor without the ways of its own that a plain tensor has past ``__bind__``: indexing by one integer."""

    __slots__ = ()

    def __getitem__(self, index: Any) -> Any:
        if type(index) is int and self.ndim:
            return REGISTRY["select"](self, index=index)
        return super().__getitem__(index)
