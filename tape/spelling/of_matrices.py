"""Functions whose shapes or dimensions PyTorch reads otherwise than NumPy: triangles, cross products, counts."""

from __future__ import annotations

from typing import Any

from ..base.signatures import like, passing_on
from ..base.tensor import Tensor
from ..memory.inplace import inplace
from ..recording.calls import adaptor, axis_of, derived, method
from ..recording.views import alone


def _triangle(name: str) -> None:
    def triangle(input: Tensor, *args: Any, **named: Any) -> Tensor:
        if isinstance(input, Tensor) and input._spec.ndim < 2:
            raise RuntimeError(
                f"{name}() takes matrices: the input tensor must have at least 2 dimensions; got shape "
                f"{input._spec.shape}"
            )
        z: Tensor = derived[name](input, *args, **named)
        return z

    triangle.__name__ = triangle.__qualname__ = name
    triangle.__doc__ = derived[name].__doc__
    method(inplace(name, adaptor(like(triangle, derived[name]))))


_triangle("tril")
_triangle("triu")


@adaptor
def count_nonzero(
    input: Tensor, dim: Any = None, *dims: int, axis: Any = None, keepdim: bool = False, keepdims: bool = False
) -> Tensor:
    """How many elements are not zero: of all, or along ``dim``, and ``dims`` after it.

    >>> import tape
    >>> tape.eye(3).count_nonzero(0)
    tensor([1, 1, 1])
    """
    dim = (dim, *dims) if dims else axis if dim is None else dim
    z: Tensor = derived["count_nonzero"](input, dim=dim, keepdim=keepdim or keepdims)
    return z


def _without_nan(name: str) -> None:
    def reduced(input: Tensor, dim: Any = None, keepdim: bool = False, **named: Any) -> Tensor:
        z: Tensor = derived[name](input, **{"dim": dim, "keepdim": keepdim, **named})
        return z

    reduced.__name__ = reduced.__qualname__ = name
    reduced.__doc__ = derived[name].__doc__
    adaptor(passing_on(reduced, derived[name], gives="Tensor"))


_without_nan("nansum")
_without_nan("nanmean")


@adaptor
def kron(input: Tensor, other: Tensor) -> Tensor:
    """Kronecker product: every element of ``input`` times the whole of ``other``."""
    return alone(derived["kron"](input, other))


@adaptor
def cross(input: Tensor, other: Tensor, dim: int | None = None, *, axis: int | None = None) -> Tensor:
    """Cross product of vectors with three components, along ``dim``; unless it is given, the first one of length 3.

    `tape.linalg.cross` goes along the last dimension.

    Raises:
        RuntimeError: if no dimension has length 3.
        ValueError: if the one that is given has not.

    >>> import tape
    >>> tape.cross(tape.tensor([1.0, 0.0, 0.0]), tape.tensor([0.0, 1.0, 0.0]))
    tensor([0., 0., 1.])
    """
    dim = axis if dim is None else dim
    if dim is None:
        shape = input._spec.shape
        if 3 not in shape:
            raise RuntimeError(f"cross(): no dimension of size 3 in input, along which the vectors lie; got {shape}")
        dim = shape.index(3)
    z: Tensor = derived["cross"](input, other, dim=axis_of(input, dim))
    return z
