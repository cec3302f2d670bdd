"""Constant sparse matrices of SciPy's on recorded arrays: their products, and systems of them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from ops.algebra import sparse

from ...base.tensor import Face
from ...base.tree import leaves_of
from ..arrays.face import faces
from ..arrays.leaving import carries, refusal
from ..arrays.unwrapping import bare
from .recorded_parts import Making


def spsolve(A: Any, b: Any, permc_spec: Any = None, use_umfpack: bool = True) -> Any:
    return faces(sparse.solve(A, bare(b))) if sparse.is_sparse(A) else NotImplemented


def _of_sparse(product: Callable[[Any, Any], Any]) -> Making:
    """Lead a method of sparse matrices to a product, if what it is multiplied by is a recorded array."""

    def making(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def method(self: Any, other: Any, *more: Any) -> Any:
            if not isinstance(other, Face) or other._tensor.ndim == 0:
                return original(self, other, *more)
            return faces(product(self, other._tensor))

        return method

    return making


def _made_of_numbers(original: Callable[..., Any]) -> Callable[..., Any]:
    """A constructor of sparse matrices, which keep plain numbers."""

    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> None:
        if any(isinstance(x, Face) and carries(x._tensor) for x in leaves_of([list(args), kwargs])):
            raise refusal("its elements", f"scipy.sparse.{type(self).__name__}")
        original(self, *args, **kwargs)

    return method


SPARSE: dict[str, Making] = {
    "__matmul__": _of_sparse(sparse.times),
    "__rmatmul__": _of_sparse(lambda a, x: sparse.times_from_left(x, a)),
    "dot": _of_sparse(sparse.times),
    "__init__": _made_of_numbers,
}
MATRIX: dict[str, Making] = {"__mul__": SPARSE["__matmul__"], "__rmul__": SPARSE["__rmatmul__"]}
"""Methods of sparse matrices and arrays, and further ones that mean the same for a matrix."""


def of_sparse_matrices(module: Any) -> Iterator[tuple[type, str, Making]]:
    """Wherever a class of sparse matrices defines a product or a constructor."""
    kinds = {
        kind for name in vars(module) if name.endswith(("_matrix", "_array", "spmatrix", "sparray"))
        if isinstance(found := getattr(module, name), type) for kind in found.__mro__
    }  # fmt: skip
    for kind in kinds:
        for name, making in (SPARSE | (MATRIX if issubclass(kind, module.spmatrix) else {})).items():
            if name in vars(kind) and kind.__module__.startswith("scipy.sparse"):
                yield kind, name, making
