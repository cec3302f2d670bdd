"""NumPy's functions as a function of arrays meets them: results are recorded, and lists of recorded values are taken.

The functions themselves are NumPy's, which ask an `Array` for its answer; there is no table of them here.
"""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from .arrays.face_base import FACES
from .arrays.outputs import with_out_named
from .arrays.unusual_calls import is_usual, require_alike, require_taken
from .arrays.unwrapping import holds_face
from .constructors import CONSTRUCTORS, DERIVED, gathered

SEQUENCES = frozenset({
    "array_equal", "block", "broadcast_arrays", "choose", "column_stack", "concat", "concatenate", "dstack", "einsum",
    "einsum_path", "hstack", "histogramdd", "ix_", "lexsort", "meshgrid", "multi_dot", "piecewise", "row_stack",
    "select", "stack", "vstack", "unstack",
})  # fmt: skip
"""Functions that take sequences of arrays, which are not to become one array."""

Dispatched = type(np.sum)
"""The class of NumPy's functions that ask their arguments for an answer."""


@functools.cache
def functions(room: str) -> dict[str, Callable[..., Any]]:
    """The functions of NumPy's namespace, or of a room in it such as ``"linalg"``, by name."""
    module = getattr(np, room) if room else np
    found = {
        name: taking_lists(value)
        for name, value in vars(module).copy().items()  # not dir(), which names modules that would be imported now
        if not name.startswith("_") and type(value) is Dispatched and name not in SEQUENCES
    }
    return found if room else {**found, **CONSTRUCTORS, **{
        name: taking_lists(CONSTRUCTORS[name]) for name in DERIVED if name in CONSTRUCTORS and name not in SEQUENCES
    }}  # fmt: skip


NESTED = frozenset({list, tuple, deque})


def taking_lists(original: Callable[..., Any]) -> Callable[..., Any]:
    """A function of NumPy's that takes nested sequences of recorded values for the array that they make."""

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        given, named = args, kwargs
        if not NESTED.isdisjoint(map(type, args)):
            args, kwargs = with_out_named(original, args, kwargs)
            args = tuple([gathered(x) if type(x) in NESTED else x for x in args])
        if kwargs:
            kwargs = {name: gathered(x) if name != "out" else x for name, x in kwargs.items()}
        if not given or type(given[0]) in FACES or not holds_face(given) or is_usual(original, given, named):
            return original(*args, **kwargs)
        asked = require_taken(original, given, named)  # of which an array of its own tells nothing, or nobody is asked
        found = original(*args, **kwargs)
        if asked is not None:
            require_alike(found, asked, original, given, named)
        return found

    vars(call).pop("__signature__", None)  # which is that of what it wraps, and of a kind that may change
    return call
