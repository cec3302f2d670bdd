"""Running a function as it is: arrays in give arrays out, and what it puts into lists and dicts stays there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..dtypes import kind_of
from ..func.tree import transform
from ..recorder import wrap
from ..tensor import Tensor
from .effects import containers_in, differs, fill
from .recording import differentiable
from .signature import NUMERIC
from .surroundings import Surroundings

DIFFERENTIATES = "autograd", "backward", "grad", "register_hook", "retain_grad"
"""A function that reads one of these names may differentiate by its arguments itself: they require gradients."""


def run_eagerly(function: Callable[..., Any], args: Any, kwargs: Any, given: list[Any], around: Surroundings) -> Any:
    """Call a function on tensors in the place of arrays; the arrays of its results."""
    if any(isinstance(x, Tensor) for x in given) or not given:
        return function(*args, **kwargs)
    kinds = differentiable(given)
    leaves = any(map(around.names, DIFFERENTIATES))
    known: dict[int, tuple[Any, Any]] = {}

    def tensor(x: Any) -> Any:
        if not isinstance(x, kinds) or kind_of(np.asarray(x).dtype) not in NUMERIC:
            return x
        value = np.asarray(x)[()]
        made = wrap(value, True if leaves and kind_of(value.dtype) in "fc" else None)
        known[id(made)] = made, x
        return made

    def array(x: Any) -> Any:
        return x._data if isinstance(x, Tensor) else x

    def own(x: Any) -> Any:
        """What the caller is to find in a container of theirs."""
        if id(x) in known:
            return known[id(x)][1]
        return transform(array, x)

    new_args = [transform(tensor, x) for x in args]
    new_kwargs = {name: transform(tensor, x) for name, x in kwargs.items()}
    theirs, ours = containers_in((*args, *kwargs.values())), containers_in((*new_args, *new_kwargs.values()))
    pairs = [(mine, its, its.copy()) for mine, its in zip(theirs, ours)]
    known.update((id(its), (its, mine)) for mine, its, _ in pairs)
    try:
        result = function(*new_args, **new_kwargs)
    finally:
        for mine, its, before in pairs:
            if mine is not its and differs(its, before):
                fill(mine, {k: own(x) for k, x in its.items()} if isinstance(its, dict) else list(map(own, its)))
    return transform(array, result)
