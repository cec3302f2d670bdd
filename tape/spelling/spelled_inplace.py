"""In-place methods as functions: ``tape.relu_(x)`` for ``x.relu_()``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ops import REGISTRY

from ..base.signatures import like
from ..base.tensor import Tensor
from ..memory import restriding  # noqa: F401  (rooms whose methods are wanted here)
from ..recording.calls import function_only
from ..recording.functions import FUNCTIONS
from . import compound, placing  # noqa: F401  (rooms whose methods are wanted here)


def _as_function(name: str) -> Callable[..., Tensor]:
    def function(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return getattr(input, name)(*args, **kwargs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = getattr(Tensor, name).__doc__
    function.__module__ = "tape"
    return like(function, getattr(Tensor, name))


def names() -> list[str]:
    """The in-place methods of which there is also a form, or an op, that changes nothing."""
    known = {*FUNCTIONS, *REGISTRY, "detach"}
    return [name for name in dir(Tensor) if name.endswith("_") and name[0] != "_" and name[:-1] in known]


for _name in names():
    function_only(_as_function(_name))
