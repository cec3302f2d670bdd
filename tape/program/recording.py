"""Recording one call of a function."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import random as own_random
from ..func.tree import Structure, build, leaves_of, structure_of
from ..level import live
from ..tensor import Tensor
from . import adjoint  # noqa: F401  (it says how traced tensors are differentiated)
from .listing import Listing, listing_of
from .signature import rebuilt
from .trace import Trace, Untraceable
from .traced import Traced, traced


class Place:
    """Stands for an output in what a function returned."""

    __slots__ = ("number",)

    def __init__(self, number: int):
        self.number = number


class Results:
    """What a function returned.

    Attributes:
        structure: how it is built.
        leaves: what is in it, a `Place` where an output goes.
        count: the number of outputs.
        flat: whether the outputs follow each other, with nothing else between them.
    """

    def __init__(self, structure: Structure, leaves: list[Any], count: int):
        self.structure, self.leaves, self.count = structure, leaves, count
        places = [x.number if isinstance(x, Place) else -1 for x in leaves]
        self.flat = places == list(range(count)) and all(s.container is None for s in structure.inside)

    def build(self, outputs: Any) -> Any:
        """The results of a call."""
        kind = self.structure.container
        if kind is None:
            return outputs[0] if self.count else copied(self.leaves[0])
        if self.flat and kind is tuple:
            return tuple(outputs)
        filled = [outputs[x.number] if isinstance(x, Place) else copied(x) for x in self.leaves]
        return build(self.structure, filled)


def copied(x: Any) -> Any:
    """Something that is returned by every call, safe from what the caller does with it."""
    if isinstance(x, np.ndarray):
        return x.copy()
    return x.detach().clone() if isinstance(x, Tensor) and x._node is None else x


def record_call(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], given: list[Any], fixed_floats: bool
) -> tuple[Listing, Results]:
    """Call a function on traced arguments: what it did as a list, and what it returned.

    Raises:
        Untraceable: if it did something that a list cannot repeat.
    """
    trace = Trace()
    new = [traced(trace, trace.input(x._data if isinstance(x, Tensor) else x)) for x in given]
    args, kwargs = rebuilt(args, kwargs, new, fixed_floats)
    before = _random_state()
    try:
        with trace.recording():
            tree = function(*args, **kwargs)
        structure, leaves = structure_of(tree), [live(x) for x in leaves_of(tree)]
        rows: dict[int, int] = {}
        for i, x in enumerate(leaves):
            if isinstance(x, Traced):
                leaves[i] = Place(rows.setdefault(x._row, len(rows)))
    finally:
        trace.open = False
    if _random_state() != before:
        raise Untraceable("it drew random numbers, which every replay would repeat")
    return listing_of(trace, rows), Results(structure, leaves, len(rows))


def _random_state() -> Any:
    """The states of the generators that a function may draw from without being given one."""
    name, keys, *rest = np.random.get_state()  # noqa: NPY002  (the user's function may draw from it)
    return random.getstate(), (name, np.asarray(keys).tobytes(), *rest), own_random.generator().bit_generator.state
