"""What a recorded list cannot tell of a tensor: it stands for calls with others, and has neither nodes nor memory."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ...base.location import in_library
from ...base.tensor import Tensor
from ...recording.recorder import getframe
from .trace import Untraceable

UNKNOWN = (
    "_base", "_grad_fn", "_is_view", "_version", "creator", "data_ptr", "grad", "grad_fn", "is_contiguous", "is_leaf",
    "requires_grad", "stride",
)  # fmt: skip


def told(name: str, read: Callable[[Any], Any], lacks: Callable[[Any], bool]) -> property:
    """An attribute as something reads it; the user is not told of one that the tensor `lacks`."""

    def ask(self: Any) -> Any:
        if lacks(self) and not in_library(getframe(1).f_code.co_filename):
            raise Untraceable(f"{name} was asked for, which every call answers for itself")
        return read(self)

    return property(ask)


def read_as(kind: type[Tensor], name: str) -> Callable[[Any], Any]:
    """Reads an attribute as a kind of tensor has it now, whatever stands in its place later."""
    plain = inspect.getattr_static(kind, name)
    return lambda self: plain.__get__(self, kind)
