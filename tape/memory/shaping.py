"""Calls that change the shape, as PyTorch spells them: ``view(*sizes)``, ``permute(*dims)``, ``unsqueeze``."""

from __future__ import annotations

import contextlib
import math
from inspect import Parameter, Signature
from typing import Any

import numpy as np

import ops

from ..base.dtypes import check_dtype
from ..base.signatures import passing_on, signed
from ..base.tensor import Size, Tensor, Theme
from ..recording.calls import adaptor, also, as_derived, axis_of, derived, function_only, sizes_of
from ..recording.functions import METHODS
from ..recording.short_views import WHOLE, is_plain, view


def _reshaped(x: Tensor, sizes: tuple[Any, ...]) -> Tensor | None:
    """A plain tensor in another shape, if it lies in rows and is a view then; None where more is to be asked."""
    if not is_plain(x) or not x._data.flags.c_contiguous:
        return None
    wanted = tuple(sizes[0]) if len(sizes) == 1 and type(sizes[0]) in (tuple, list, Size) else sizes
    if not wanted or not WHOLE.issuperset(map(type, wanted)) or min(wanted) < -1:
        return None
    try:
        return view(ops.reshape, x, x._data.reshape(wanted), {"shape": wanted})
    except ValueError:
        return None


@adaptor
def reshape(input: Tensor, *sizes: Any, shape: Any = None) -> Tensor:
    """The same numbers in another shape, its ``sizes`` one by one or in a tuple; one length may be −1.

    Raises:
        RuntimeError: if the number of elements differs.

    >>> import tape
    >>> tape.arange(4).reshape(2, -1)
    tensor([[0, 1],
            [2, 3]])
    """
    made = _reshaped(input, sizes) if shape is None else None
    if made is not None:
        return made
    wanted, size = sizes_of(sizes, shape), input._spec.size
    known = math.prod(n for n in wanted if n != -1)
    fits = known == size if -1 not in wanted else wanted.count(-1) == 1 and known and size % known == 0
    if not fits:
        raise RuntimeError(f"a tensor of shape {input._spec.shape} has {size} elements and cannot take shape {wanted}")
    return ops.reshape(input, shape=wanted)


class ShapeMethods(Theme):
    """The shape of a tensor, and the tensor in another."""

    __slots__ = ()

    def view(self, *sizes: Any, size: Any = None) -> Tensor:
        """The same numbers, in the same memory, in another shape, its ``sizes`` one by one or in a tuple.

        Raises:
            RuntimeError: if the memory has no such view; `reshape` copies then.
        """
        if len(sizes) == 1 and not isinstance(sizes[0], (int, tuple, list)):
            raise TypeError(f"view() takes sizes; to read the numbers as {check_dtype(sizes[0])} use .to({sizes[0]})")
        made = _reshaped(self, sizes) if size is None else None
        if made is not None:
            return made
        made = reshape(self, *sizes, shape=size)
        return made if self._check_shown(made) else reshape(self, *sizes, shape=size)

    def view_as(self, other: Tensor) -> Tensor:
        """`view` in the shape of another tensor."""
        return self.view(other._spec.shape)

    def reshape_as(self, other: Tensor) -> Tensor:
        """`reshape` to the shape of another tensor."""
        return reshape(self, other._spec.shape)

    @property
    def T(self) -> Tensor:
        """The axes in reverse order."""
        return view(ops.permute, self, self._data.T, {"axes": None}) if is_plain(self) else ops.permute(self)

    @property
    def mT(self) -> Tensor:
        """The last two axes exchanged."""
        if self.ndim < 2:
            raise RuntimeError(f".mT needs at least 2 dimensions; got shape {self._spec.shape}")
        return ops.mT(self)

    def expand_as(self, other: Tensor) -> Tensor:
        """`expand` to the shape of another tensor."""
        return expand(self, other._spec.shape)

    def size(self, dim: int | None = None) -> Any:
        """The shape, or the length of one axis.

        >>> import tape
        >>> tape.ones(3, 5).size(), tape.ones(3, 5).size(1)
        (Size([3, 5]), 5)
        """
        return Size(self._spec.shape) if dim is None else self._spec.shape[axis_of(self, dim)]

    def dim(self) -> int:
        """Number of axes."""
        return self._spec.ndim

    ndimension = dim


@adaptor
def flatten(input: Tensor, start_dim: Any = 0, end_dim: int = -1, **named: Any) -> Tensor:
    """Some axes, or all, joined into one; the tensor itself if it has one axis."""
    if input.ndim == 1 and not named and start_dim in (0, -1) and end_dim in (0, -1):
        return input
    return derived["flatten"](input, start_dim, end_dim, **named)


passing_on(flatten, derived["flatten"])


@adaptor
def ravel(input: Tensor) -> Tensor:
    """All elements in one axis, row by row: a view where the memory lies so, without gaps, else a copy."""
    return reshape(input.contiguous(), -1)


@adaptor
def permute(input: Tensor, *axes: Any, dims: Any = None) -> Tensor:
    """The ``axes`` in another order, one by one or in a tuple."""
    axes = sizes_of(axes, dims)
    if is_plain(input) and axes and WHOLE.issuperset(map(type, axes)):
        with contextlib.suppress(ValueError):
            return view(ops.permute, input, input._data.transpose(axes), {"axes": axes})
    if sorted(axis_of(input, d) for d in axes) != list(range(input.ndim)):
        raise RuntimeError(f"permute() needs each of the {input.ndim} dimensions once; got {axes}")
    return ops.permute(input, axes=axes)


@adaptor
def transpose(input: Tensor, dim0: Any = None, dim1: int | None = None, *more: int) -> Tensor:
    """Two axes exchanged; as in NumPy, all reversed without arguments, in that order with a tuple.

    Raises:
        TypeError: if more than two axes are given one by one.
    """
    if type(dim0) is type(dim1) is int and not more and is_plain(input):
        n = input._spec.ndim
        if -n <= dim0 < n and -n <= dim1 < n:
            axes = {"axis1": dim0 % n, "axis2": dim1 % n}
            return view(ops.transpose, input, input._data.swapaxes(dim0, dim1), axes)
    if more:
        told = ", ".join(map(str, (dim0, dim1, *more)))
        raise TypeError(
            f"transpose() exchanges two dimensions, as PyTorch's does; got {len(more) + 2}: ({told}).\nFor all of them "
            f"in another order, as NumPy's method has it, use .permute({told}) or np.transpose(x, ({told}))."
        )
    if dim0 is None:
        return ops.permute(input)
    if dim1 is None:
        return permute(input, dim0)
    if not input.ndim:
        return ops.permute(input)
    return ops.transpose(input, axis1=axis_of(input, dim0), axis2=axis_of(input, dim1))


def _of_two_axes() -> Signature:
    """`transpose` as it is meant to be called: that there are more axes is an error."""
    input = Parameter("input", Parameter.POSITIONAL_OR_KEYWORD, annotation="Tensor")
    pair = [Parameter(n, input.kind, default=None, annotation="Any") for n in ("dim0", "dim1")]
    return Signature([input, *pair], return_annotation="Tensor")


also("swapaxes", also("swapdims", signed(transpose, _of_two_axes)))


@adaptor
def t(input: Tensor) -> Tensor:
    """The transpose of a matrix; a vector or scalar as it is."""
    if input._spec.ndim == 2 and is_plain(input):
        return view(ops.t, input, input._data.T, {})
    if input.ndim > 2:
        raise RuntimeError(f"t() takes at most 2 dimensions; got shape {input._spec.shape}. Use .transpose() or .mT.")
    return ops.t(input)


def _of_matrices(name: str, dim1: int, dim2: int, doc: str) -> None:
    """A function of a diagonal, whose two axes PyTorch calls ``dim1`` and ``dim2``."""
    first, second = dim1, dim2

    def function(
        input: Any, offset: int = 0, dim1: int | None = None, dim2: int | None = None, *,
        axis1: int = first, axis2: int = second,
    ) -> Tensor:  # fmt: skip
        axis1, axis2 = axis1 if dim1 is None else dim1, axis2 if dim2 is None else dim2
        return derived[name](input, offset=offset, axis1=axis1, axis2=axis2)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    adaptor(function)


_of_matrices("diagonal", 0, 1, "The elements x[i, i + offset] of the matrices in two axes, along a new last axis.")
_of_matrices("diag_embed", -2, -1, "Matrices, in two new axes, with the last axis of the input on their diagonals.")


@adaptor
def squeeze(input: Tensor, dim: Any = None, *dims: int, axis: Any = None) -> Tensor:
    """Axes of length 1 removed: all, or those among ``dim``, and ``dims`` after it, that have length 1."""
    dim = (dim, *dims) if dims else axis if dim is None else dim
    if dim is None:
        return ops.squeeze(input)
    n = input._spec.ndim
    if type(dim) is int and -n <= dim < n and n > 1 and is_plain(input):
        gone = (dim % n,) if input._spec.shape[dim] == 1 else ()
        return view(ops.squeeze, input, input._data.squeeze(gone), {"axis": gone})
    shape = input._spec.shape
    drop = tuple(d for d in (axis_of(input, d) for d in sizes_of((dim,))) if shape and shape[d] == 1)
    return ops.squeeze(input, axis=drop)


@as_derived(adaptor)
def unsqueeze(*args: Any, **named: Any) -> Tensor:
    if len(args) == 2 and not named and type(axis := args[1]) is int and is_plain(x := args[0]):
        if 0 <= axis <= x._spec.ndim:
            return view(ops.unsqueeze, x, x._data[(slice(None),) * axis + (None,)], {"axis": axis})
        if axis == -1:
            return view(ops.unsqueeze, x, x._data.reshape((*x._spec.shape, 1)), {"axis": axis})
    return derived["unsqueeze"](*args, **named)


@adaptor
def expand(input: Tensor, *sizes: Any, size: Any = None) -> Tensor:
    """A view of other ``sizes``, repeated along new axes and axes of length 1; −1 keeps a length.

    Raises:
        RuntimeError: if an axis has another length than 1 and than what is asked.
    """
    shape, wanted = input._spec.shape, list(sizes_of(sizes, size))
    for k in range(1, min(len(shape), len(wanted)) + 1):
        if wanted[-k] == -1:
            wanted[-k] = shape[-k]
    ends = zip(reversed(shape), reversed(wanted))
    if len(wanted) < len(shape) or any(n not in (1, m) for n, m in ends):
        raise RuntimeError(f"a tensor of shape {shape} cannot expand to {tuple(wanted)}: only axes of length 1 do")
    whole = tuple(wanted)
    if is_plain(input):
        return view(ops.broadcast_to, input, ops.broadcast_to.forward(input._data, shape=whole), {"shape": whole})
    return ops.broadcast_to(input, shape=whole)


@adaptor
def repeat(input: Tensor, *sizes: Any, repeats: Any = None) -> Tensor:
    """Copies side by side, as many along each axis as ``sizes`` says: what NumPy calls tile."""
    times = sizes_of(sizes, repeats)
    if len(times) < input.ndim:
        raise RuntimeError(f"repeat() needs a number for each of the {input.ndim} dimensions; got {times}")
    return ops.repeat(input, reps=times)


@adaptor
def tile(input: Tensor, *sizes: Any, dims: Any = None) -> Tensor:
    """Copies side by side, as many along the last axes as ``sizes`` says; the others are not repeated."""
    return ops.repeat(input, reps=sizes_of(sizes, dims))


@adaptor
def flip(input: Tensor, *dims: Any, **named: Any) -> Tensor:
    """The order of the elements reversed along ``dims``, one by one or in a tuple; along all without."""
    return derived["flip"](input, **(named or {"axis": sizes_of(dims) if dims else None}))


passing_on(flip, derived["flip"])


@adaptor
def unflatten(input: Tensor, dim: int, sizes: Any) -> Tensor:
    """One axis cut into several, of which one length may be −1."""
    shape, axis = input._spec.shape, axis_of(input, dim)
    inner = sizes_of((sizes,))
    known = math.prod(n for n in inner if n != -1)
    inner = tuple(shape[axis] // (known or 1) if n == -1 else n for n in inner)
    if math.prod(inner) != shape[axis]:
        raise RuntimeError(f"unflatten() cannot cut dimension {dim}, of length {shape[axis]}, into {tuple(sizes)}")
    return reshape(input, (*shape[:axis], *inner, *shape[axis + 1 :]))


@function_only
def broadcast_shapes(*shapes: Any) -> Size:
    """The shape that ``shapes`` have together.

    Raises:
        RuntimeError: if they do not broadcast.

    >>> import tape
    >>> tape.broadcast_shapes((2, 1), (3,))
    Size([2, 3])
    """
    try:
        return Size(np.broadcast_shapes(*map(tuple, shapes)))
    except ValueError:
        raise RuntimeError(f"shapes {', '.join(map(str, map(tuple, shapes)))} do not broadcast together") from None


@adaptor
def numel(input: Tensor) -> int:
    """Number of elements."""
    return input._spec.size


METHODS["nelement"] = numel
