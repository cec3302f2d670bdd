"""In-place methods as functions: ``tape.relu_(x)`` for ``x.relu_()``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ops import REGISTRY

from ..base.signatures import like
from ..base.tensor import Tensor
from ..memory import inplace  # noqa: F401  (rooms whose methods are wanted here)
from ..memory.grad_and_data import DataMethods
from ..memory.inplace import FillingMethods
from ..memory.storage import StorageMethods
from ..recording.calls import function_only
from ..recording.functions import FUNCTIONS, METHODS
from . import compound, placing, redraw  # noqa: F401  (rooms whose methods are wanted here)
from .complex_parts import ComplexMethods


def _as_function(name: str, method: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def function(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return getattr(input, name)(*args, **kwargs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = method.__doc__
    function.__module__ = "tape"
    return like(function, method)


def inplace_methods() -> dict[str, Callable[..., Tensor]]:
    """The in-place methods of which there is also a form, or an op, that changes nothing."""
    known = {*FUNCTIONS, *REGISTRY, "detach"}
    written: list[Any] = [METHODS, *map(vars, (ComplexMethods, DataMethods, FillingMethods, StorageMethods))]
    found = {name: function for methods in written for name, function in methods.items()}
    return {name: f for name, f in sorted(found.items()) if name.endswith("_") and name[:-1] in known}


for _name, _method in inplace_methods().items():
    function_only(_as_function(_name, _method))
