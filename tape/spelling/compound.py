"""Functions of PyTorch that are made of others: products that are added, parts that are replaced, windows, sets.

Functions of several tensors take them one by one or in one list.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import ops
from ops.algebra.contraction import explicit_subscripts, look_along, order_of_contraction
from ops.core.axis_order import COLUMNS, OPERAND, ROWS

from ..base.errors import ShapeError
from ..base.signatures import passing_on
from ..base.tensor import Tensor
from ..memory.inplace import inplace
from ..memory.parting import along
from ..memory.shaping import broadcast_shapes, expand
from ..recording.calls import adaptor, axis_of, derived, function_only, method, sizes_of
from ..recording.creation import array_of, as_tensor
from ..recording.functions import FUNCTIONS, METHODS
from ..recording.laying import giving_rows, in_rows, laid, laid_by
from ..recording.recorder import wrap


def _adding(name: str, product: Callable[[Any, Any], Any], formula: str, lies: str = ROWS) -> None:
    def added(input: Any, first: Any, second: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
        z = product(first, second)
        z = z if alpha == 1 else z * alpha
        return z if beta == 0 else laid(z + (input if beta == 1 else input * beta), lies, (input,))

    added.__name__ = added.__qualname__ = name
    added.__doc__ = f"β × input + α × {formula}, where α is ``alpha`` and β ``beta``; an input of weight 0 is not read."
    adaptor(added)
    method(inplace(name, added))


_adding("addmv", ops.matmul, "matrix × vector")
_adding("addr", ops.outer, "the outer product of two vectors", OPERAND)
_adding("baddbmm", ops.matmul, "matrix × matrix, for each pair of two batches")
_adding("addbmm", lambda a, b: ops.sum(ops.matmul(a, b), axis=0), "the sum of matrix × matrix over two batches")


@adaptor
def select_scatter(input: Tensor, src: Any, dim: int, index: int) -> Tensor:
    """The input with ``src`` in the place of one entry along one axis."""
    return _replaced(input, src, lambda x: x.select(dim, index))


@adaptor
def slice_scatter(
    input: Tensor, src: Any, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    """The input with ``src`` in the place of some entries along one axis."""
    return _replaced(input, src, lambda x: x[along(axis_of(x, dim), slice(start, end, step))])


@adaptor
def diagonal_scatter(input: Tensor, src: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The input with ``src`` in the place of a diagonal."""
    return _replaced(input, src, lambda x: x.diagonal(offset, dim1, dim2))


@adaptor
def as_strided_scatter(input: Tensor, src: Any, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """The input with ``src`` in the place of what `as_strided` would show of it."""
    return _replaced(input, src, lambda x: x.as_strided(size, stride, storage_offset))


def _replaced(input: Tensor, src: Any, view: Callable[[Any], Any]) -> Tensor:
    """A copy with a value in the place of a view, whose shape it must have.

    Raises:
        RuntimeError: if it has another.
    """
    made = laid(ops.clone(input), OPERAND, (input,))
    place, src = view(made), as_tensor(src)
    if place._spec.shape != src._spec.shape:
        raise RuntimeError(f"src must have the shape of what it replaces, {place._spec.shape}; got {src._spec.shape}")
    place.copy_(src)
    return made


@method
def unfold(self: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Windows of ``size`` entries along one axis, one every ``step`` entries; they lie along a new last axis.

    A view where its memory, or that of what it is a view of, is in row-major order.

    >>> import tape
    >>> tape.arange(5).unfold(0, 3, 2)
    tensor([[0, 1, 2],
            [2, 3, 4]])
    """
    axis = axis_of(self, dimension)
    n = self._spec.shape[axis] if self._spec.shape else 1
    if not 0 <= size <= n or step < 1:
        raise RuntimeError(f"unfold() needs windows of at most the {n} entries there are, and a step of 1 or more")
    count = (n - size) // step + 1
    lies = next(self._placements(), None) if self._spec.shape else None
    if lies is not None and min(lies.strides) >= 0:
        strides = lies.strides
        shape = (*self._spec.shape[:axis], count, *self._spec.shape[axis + 1 :], size)
        return self.as_strided(shape, (*strides[:axis], strides[axis] * step, *strides[axis + 1 :], strides[axis]))
    flat = self if self._spec.shape else ops.reshape(self, shape=(1,))
    windows = step * np.arange(count)[:, None] + np.arange(size)
    read = ops.take(flat, windows, axis=axis)
    return ops.permute(read, axes=(*range(axis + 1), *range(axis + 2, read.ndim), axis + 1))


@adaptor
def tensor_split(input: Tensor, indices_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Parts along one axis: so many, of lengths that differ by 1 at most, or cut at the given indices.

    Each is a view of its own, as a slice is; those of `split` are several results of one operation.
    """
    axis = axis_of(input, dim)
    at = indices_or_sections
    at = array_of(at).tolist() if isinstance(at, Tensor) else at
    if isinstance(at, int):
        short, longer = divmod(input._spec.shape[axis], at)
        at = np.cumsum([short + 1] * longer + [short] * (at - longer))[:-1].tolist()
    before = (slice(None),) * axis
    return tuple([ops.getitem(input, index=(*before, slice(i, j))) for i, j in zip((0, *at), (*at, None))])


def _cut(name: str, axis: int, of_vectors: bool, doc: str) -> None:
    """A function that cuts along one axis; of vectors, where it takes them, along the only one."""

    def function(input: Any, indices_or_sections: Any) -> tuple[Tensor, ...]:
        x = input if isinstance(input, Tensor) else as_tensor(input)
        n = x._spec.ndim
        if n < 2 - of_vectors:
            raise ShapeError(f"{name}() needs a tensor of at least {2 - of_vectors} dimensions; got shape {x.shape}")
        dim = axis if n > 1 else 0
        if type(at := indices_or_sections) is int and (at < 1 or x._spec.shape[dim] % at):
            raise ShapeError(
                f"{name}() cuts into parts of one length, and dimension {dim}, of length {x._spec.shape[dim]}, is not "
                f"divisible by {at}; use .tensor_split() for parts that differ by 1."
            )
        return tensor_split(x, at, dim)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    adaptor(function)


_cut(
    "hsplit", 1, True, "Views cut along the second axis, of a vector along the first: so many, or at the given indices."
)
_cut("vsplit", 0, False, "Views cut along the first axis: so many, or at the given indices.")


@method
def sum_to_size(self: Tensor, *size: Any) -> Tensor:
    """The sum over the axes by which a tensor of the shape ``size`` would be broadcast to this one's."""
    shape = sizes_of(size)
    try:
        fits = np.broadcast_shapes(shape, self._spec.shape) == self._spec.shape
    except ValueError:
        fits = False
    if not fits:
        raise RuntimeError(f"sum_to_size() needs a shape that broadcasts to {self._spec.shape}; got {shape}")
    return ops.sum_to(self, shape=shape)


@adaptor
def diagflat(input: Any, offset: int = 0) -> Tensor:
    """A matrix with all elements, in order, on one diagonal, and zeros elsewhere."""
    return ops.diag(ops.reshape(input, shape=(-1,)), k=offset)


@adaptor
def dist(input: Any, other: Any, p: float = 2.0) -> Tensor:
    """The p-norm of the difference."""
    return ops.norm(ops.reshape(input - other, shape=(-1,)), p)


@adaptor
@giving_rows
def renorm(input: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    """The entries along one axis, each scaled so that its p-norm is ``maxnorm`` at most; p may be ∞.

    Raises:
        RuntimeError: for a p that is not positive, a negative ``maxnorm``, or less than 2 dimensions.
    """
    if not p > 0 or maxnorm < 0 or input.ndim < 2:
        raise RuntimeError(
            "renorm() needs p > 0, maxnorm ≥ 0 and at least 2 dimensions; "
            f"got p={p}, maxnorm={maxnorm}, shape {input._spec.shape}"
        )
    axis = axis_of(input, dim)
    others = tuple(k for k in range(input.ndim) if k != axis)
    norms = ops.vector_norm(input, ord=p, axis=others, keepdims=True)
    return input * ops.where(norms > maxnorm, maxnorm / (norms + 1e-7), 1.0)


@adaptor
def inverse(input: Tensor) -> Tensor:
    """The inverse of a matrix, or of each of several."""
    return laid(ops.inv(input), COLUMNS, ())


@adaptor
def logdet(input: Tensor) -> Tensor:
    """The logarithm of the determinant; nan where that is negative, and complex for complex matrices."""
    sign, log = ops.slogdet(input)
    return log + ops.angle(sign) * 1j if input._spec.complex else ops.where(sign < 0, np.nan, log)


@adaptor
def ldexp(input: Any, other: Any) -> Tensor:
    """input × 2 to the power of ``other``."""
    return input * ops.exp2(as_tensor(other) * 1.0)


@adaptor
def logit(input: Tensor, eps: float | None = None) -> Tensor:
    """log(x / (1 − x)), of x limited to eps ≤ x ≤ 1 − eps where ``eps`` is given."""
    if eps is None:
        return ops.logit(input)
    if eps > 0.5:  # the bounds contradict each other: PyTorch asks for the lower one first
        return ops.logit(ops.where(input < eps, eps, ops.clamp_max(input, 1.0 - eps)))
    return ops.logit(ops.clamp(input, eps, 1.0 - eps))


@adaptor
def heaviside(input: Any, values: Any) -> Tensor:
    """0 for negative numbers, 1 for positive ones, and ``values`` for 0."""
    x = as_tensor(input)
    return ops.where(x == 0, values, ops.cast(x > 0, dtype=x.dtype))


@function_only
def gradient(input: Any, *, spacing: Any = 1, dim: Any = None, edge_order: int = 1) -> tuple[Tensor, ...]:
    """Slopes along each dimension, or those of ``dim``, from distances or from coordinates of the entries.

    >>> import tape
    >>> tape.gradient(tape.tensor([1.0, 4.0, 9.0]))
    (tensor([3., 4., 5.]),)
    """
    spacings = spacing if isinstance(spacing, (tuple, list)) else (spacing,)
    z = in_rows(ops.numpy_gradient(as_tensor(input), *spacings, axis=dim, edge_order=edge_order))
    return z if isinstance(z, tuple) else (z,)


@adaptor
def isposinf(input: Tensor) -> Tensor:
    """Whether numbers are +∞."""
    return input == np.inf


@adaptor
def isneginf(input: Tensor) -> Tensor:
    """Whether numbers are −∞."""
    return input == -np.inf


@adaptor
def msort(input: Tensor) -> Tensor:
    """The entries sorted along the first axis, values alone."""
    return laid(ops.sort(input, axis=0)[0], OPERAND, (input,)) if input.ndim else ops.clone(input)


@adaptor
def narrow_copy(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """A copy of ``length`` entries along one axis, from ``start`` on."""
    return in_rows(ops.clone(input.narrow(dim, start, length)))


for _name in ("renorm", "ldexp", "logit", "heaviside"):
    method(inplace(_name, FUNCTIONS[_name]))
for _name in ("lerp", "float_power"):
    METHODS[_name] = FUNCTIONS[_name]


@adaptor
def unique(
    input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False,
    dim: int | None = None,
) -> Any:  # fmt: skip
    """The different elements, or the different entries along one dimension, in ascending order.

    With ``return_inverse`` also the place of each element among them, with ``return_counts`` how often each
    is there.  They are sorted whatever ``sorted`` says.  The gradient goes to the first of equals, as that of `sort`
    does along a dimension (PyTorch: it is not implemented).

    >>> import tape
    >>> tape.tensor([2, 1, 2]).unique(return_counts=True)
    (tensor([1, 2]), tensor([1, 2]))
    """
    axis = None if dim is None else axis_of(input, dim)
    _, first, inverse, counts = np.unique(input._data, True, True, True, axis=axis)
    return _chosen(input, axis, first, inverse, counts, return_inverse, return_counts)


@adaptor
def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The elements, or the entries along one dimension, without those that equal the one before.

    >>> import tape
    >>> tape.unique_consecutive(tape.tensor([2, 2, 1, 2]))
    tensor([2, 1, 2])
    """
    axis = None if dim is None else axis_of(input, dim)
    array = np.ravel(input._data) if axis is None else np.moveaxis(np.asarray(input._data), axis, 0)
    rows = array.reshape(len(array), math.prod(array.shape[1:]))
    new = np.ones(len(array), np.bool_)
    new[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    inverse = np.cumsum(new) - 1
    return _chosen(
        input, axis, np.flatnonzero(new), inverse, np.bincount(inverse), return_inverse, return_counts
    )  # fmt: skip


def _chosen(
    input: Tensor, axis: int | None, first: Any, inverse: Any, counts: Any, with_inverse: bool, with_counts: bool
) -> Any:
    """The entries at the first place of each, and what else was asked for, alone or in a tuple."""
    values = ops.take(ops.reshape(input, shape=(-1,)) if axis is None else input, first, axis=axis or 0)
    inverse = inverse.reshape(input._spec.shape if axis is None else (-1,))
    found = [*([inverse] if with_inverse else []), *([counts] if with_counts else [])]
    return (values, *(wrap(np.ascontiguousarray(x)) for x in found)) if found else values


@function_only
def bucketize(input: Any, boundaries: Any, *, right: bool = False) -> Tensor:
    """For each element the number of boundaries, which ascend, below it; with ``right``, also those equal to it.

    >>> import tape
    >>> tape.bucketize(tape.tensor([3, 6]), tape.tensor([1, 3, 5]))
    tensor([1, 3])
    """
    edges, values = array_of(boundaries), array_of(input)
    return wrap((edges.searchsorted(values, "right") if right else edges.searchsorted(values))[()])


def _listed(args: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """The tensors of a call that has them in one list; None of another call, of whose lists each is one operand."""
    if len(args) == 1 and isinstance(args[0], (list, tuple)) and any(isinstance(x, Tensor) for x in args[0]):
        return tuple(args[0])
    return None


def _raising(name: str) -> None:
    """A function that gives one result for each operand, and a tuple of them unless that stands alone."""
    raised: Callable[..., Any] = derived[name]

    def function(*tensors: Any) -> Any:
        listed = _listed(tensors)
        return raised(*tensors) if listed is None else tuple(map(raised, listed))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{derived[name].__doc__}\n\nOf several ``tensors``, or of a list of them, a tuple."
    function_only(function)


for _least in ("atleast_1d", "atleast_2d", "atleast_3d"):
    _raising(_least)


@function_only
def meshgrid(*tensors: Any, indexing: str = "ij") -> tuple[Tensor, ...]:
    """Coordinates of a grid, from those along each axis: ``tensors``, vectors or numbers, one by one or in a list.

    Args:
        indexing: ``"ij"``, as in PyTorch, gives shape (len(x), len(y), …); ``"xy"``, as `numpy.meshgrid` does without
            it, (len(y), len(x), …).

    Raises:
        ValueError: if it is neither.

    >>> import tape
    >>> x, y = tape.meshgrid([tape.arange(2), tape.arange(3)])
    >>> x
    tensor([[0, 0, 0],
            [1, 1, 1]])
    """
    z: tuple[Tensor, ...] = derived["meshgrid"](*(_listed(tensors) or tensors), indexing=indexing)
    return z


@function_only
def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """``tensors``, given one by one or in a list, in the shape that they have together: views, or as they are."""
    listed = _listed(tensors) or tensors
    shape = broadcast_shapes(*(t._spec.shape for t in listed))
    return tuple(t if t._spec.shape == shape else expand(t, shape) for t in listed)


@function_only
def einsum(*operands: Any, **named: Any) -> Tensor:
    """Sum of products over named axes, as `numpy.einsum` has it; the operands may also stand in a list.

    >>> import tape
    >>> tape.einsum("i,i->", [tape.ones(3), tape.arange(3.0)])
    tensor(3.)
    """
    listed = _listed(operands[1:])
    operands = operands if listed is None else (operands[0], *listed)
    subscripts, arrays = explicit_subscripts(operands)
    if len(arrays) == 1 and isinstance(arrays[0], Tensor):
        looked = look_along(arrays[0], *subscripts.split("->"))
        if looked is not None:
            return looked
    z: Tensor = derived["einsum"](*operands, **named)
    return laid_by(z, arrays, partial(order_of_contraction, subscripts, z.dtype.itemsize))


passing_on(einsum, derived["einsum"], gives="Tensor")
