"""Parameters of an evaluation: floating-point arrays in tuples, lists and dicts, and the same as one vector."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.tree import build, leaves_of, structure_of, transform


def numbers(parameters: Any) -> Any:
    """Parameters as arrays.

    Raises:
        TypeError: if one is no floating-point number or array.
    """
    found = transform(np.asarray, parameters)
    for x in leaves_of(found):
        if x.dtype.kind not in "fc":
            raise TypeError(
                f"parameters must be floating-point numbers or arrays, nested in tuples, lists and dicts; got "
                f"{x.dtype} in {parameters!r:.200}"
            )
    return found


def nbytes(arguments: Any) -> int:
    """The size of what is in some arguments."""
    return sum(x.nbytes for x in leaves_of(arguments))


def laid_flat(tree: Any) -> np.ndarray:
    """The leaves of a tree as one vector."""
    return np.concatenate([np.ravel(x) for x in leaves_of(tree)])


def raised(v: np.ndarray, like: Any) -> Any:
    """A vector as a tree of arrays like another."""
    leaves = leaves_of(like)
    parts = np.split(np.ravel(v), np.cumsum([x.size for x in leaves])[:-1])
    return build(structure_of(like), [np.reshape(p, x.shape) for p, x in zip(parts, leaves, strict=True)])
