"""Functions of PyTorch's that say in one line what others compute: distances, combinations, activations."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

import ops
from ops import REGISTRY

from ..base.dtypes import check_dtype
from ..base.tensor import Tensor
from ..memory.inplace import inplace
from ..recording.calls import adaptor, also, function_only, method
from ..recording.creation import as_tensor, full
from ..recording.functions import FUNCTIONS, public
from ..recording.recorder import wrap

for _name, _same in {"trapz": "trapezoid", "row_stack": "vstack"}.items():
    function_only(FUNCTIONS[_same], _name)
also("ger", FUNCTIONS["outer"])


@function_only
def detach(input: Tensor) -> Tensor:
    """The same memory without history, as `Tensor.detach` gives it."""
    return input.detach()


@function_only
def rsub(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    """other − α × input, where α is ``alpha``."""
    return as_tensor(other - (input if alpha == 1 else input * alpha))


@function_only
def scalar_tensor(s: Any, *, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """A number as a tensor without dimensions."""
    return full((), s, dtype=dtype, requires_grad=requires_grad)


# Sums, distances and combinations.


@function_only
def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: float = 1.0, dim: int = -1) -> Tensor:
    """The integrals from the first point to each other one, by trapezoids between points ``dx`` or x apart."""
    y = y.movedim(dim, -1)
    steps: Any = dx
    if x is not None:
        steps = (x if x.ndim == 1 else x.movedim(dim, -1)).diff(dim=-1)
    return ((y[..., 1:] + y[..., :-1]) * steps / 2.0).cumsum(-1).movedim(-1, dim)


@function_only
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """x₁ · x₂ / (|x₁| |x₂|) along one dimension, with lengths of at least ``eps``."""
    lengths = [FUNCTIONS["vector_norm"](x, 2, dim, True) for x in (x1, x2)]
    a, b = (x / FUNCTIONS["clamp_min"](length, eps) for x, length in zip((x1, x2), lengths))
    return (a * b).sum(dim)


@function_only
def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """(Σ |x₁ − x₂ + eps|ᵖ)^(1/p) along the last dimension."""
    z: Tensor = FUNCTIONS["vector_norm"](x1 - x2 + eps, p, -1, keepdim)
    return z


@function_only
def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """The distances between all pairs of rows, in the order of `tape.combinations`."""
    first, second = np.triu_indices(len(input), 1)
    z: Tensor = FUNCTIONS["vector_norm"](input[first] - input[second], p, -1)
    return z


@function_only
def cartesian_prod(*tensors: Tensor) -> Tensor:
    """All ways to take one number of each of some vectors, ``tensors``, a row for each; of one vector itself.

    >>> import tape
    >>> tape.cartesian_prod(tape.tensor([1, 2]), tape.tensor([5, 6])).tolist()
    [[1, 5], [1, 6], [2, 5], [2, 6]]
    """
    if len(tensors) == 1:
        return tensors[0]
    z: Tensor = FUNCTIONS["stack"]([x.reshape(-1) for x in FUNCTIONS["meshgrid"](*tensors, indexing="ij")], 1)
    return z


@function_only
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All ways to take ``r`` numbers of a vector, in its order, a row for each.

    >>> import tape
    >>> tape.combinations(tape.tensor([1, 2, 3])).tolist()
    [[1, 2], [1, 3], [2, 3]]
    """
    choose: Callable[..., Any] = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    places = [*choose(range(len(input)), r)]
    return input[np.array(places, int).reshape(len(places), r)]


@function_only
def block_diag(*tensors: Tensor) -> Tensor:
    """The matrix with some matrices, ``tensors``, along its diagonal, and zeros beside them; a vector is one row."""
    blocks = [x.reshape(1, -1) if x.ndim < 2 else x for x in map(as_tensor, tensors)]
    width, before, rows = sum(x.shape[1] for x in blocks), 0, []
    for x in blocks:
        edges = [x.new_zeros(x.shape[0], n) for n in (before, width - before - x.shape[1])]
        rows.append(FUNCTIONS["cat"]([edges[0], x, edges[1]], 1))
        before += x.shape[1]
    z: Tensor = FUNCTIONS["cat"](rows, 0)
    return z


@function_only
def chain_matmul(*matrices: Tensor) -> Tensor:
    """The product of some ``matrices``."""
    z: Tensor = FUNCTIONS["multi_dot"](list(matrices)) if len(matrices) > 1 else matrices[0]
    return z


def _indices(name: str, find: Any, what: str) -> None:
    def indices(row: int, col: int, offset: int = 0, *, dtype: Any = np.int64) -> Tensor:
        return wrap(np.stack(find(row, offset, col)).astype(check_dtype(dtype)))

    indices.__name__ = indices.__qualname__ = name
    indices.__doc__ = f"Rows and columns of the elements {what} diagonal number ``offset`` of a matrix, in two rows."
    function_only(indices)


_indices("tril_indices", np.tril_indices, "on and below")
_indices("triu_indices", np.triu_indices, "on and above")


@adaptor
def nanquantile(
    input: Tensor, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Tensor:
    """`quantile` of those elements that are not nan: of all, or along ``dim``; nan where there is none.

    >>> import tape
    >>> tape.nanquantile(tape.tensor([3.0, float("nan"), 1.0]), 0.5)
    tensor(2.)
    """
    shares = as_tensor(q).to(input.dtype)
    x = input.reshape(-1) if dim is None else input.movedim(dim, -1)
    count = (~x.isnan()).sum(-1)
    place = shares.reshape(-1, *(1,) * count.ndim) * FUNCTIONS["clamp_min"](count - 1, 0)
    if interpolation == "nearest":
        place = place.round()
    elif interpolation in ("lower", "midpoint"):
        below = place.floor()
        place = below if interpolation == "lower" else (below + place.ceil()) / 2
    elif interpolation == "higher":
        place = place.ceil()
    elif interpolation != "linear":
        raise RuntimeError(
            f"nanquantile(): interpolation is linear, lower, higher, midpoint or nearest; got {interpolation!r}"
        )
    below, x = place.floor(), x.sort(-1)[0].expand(len(place), *x.shape)
    low, high = (x.gather(-1, k.long().unsqueeze(-1)).squeeze(-1) for k in (below, place.ceil()))
    z = low + (high - low).masked_fill(high == low, 0.0) * (place - below)
    z = z.unsqueeze(-1).movedim(-1, dim + (dim >= 0)) if keepdim and dim is not None else z
    z = z.reshape(-1, *(1,) * input.ndim) if keepdim and dim is None else z
    return z if shares.ndim else z.squeeze(0)


@function_only
def dsplit(input: Tensor, indices_or_sections: Any) -> Any:
    """Views cut along the third axis: so many, or at the given indices."""
    return FUNCTIONS["tensor_split"](input, indices_or_sections, 2)


@function_only
def constant_pad_nd(input: Tensor, pad: Any, value: float = 0.0) -> Tensor:
    """The tensor with a number before and after it: how often, ``pad`` says in pairs, from the last dimension on."""
    for axis, (before, after) in enumerate(zip(pad[::2], pad[1::2])):
        dim = input.ndim - 1 - axis
        input = input.narrow(dim, max(0, -before), input.shape[dim] - max(0, -before) - max(0, -after))
        sides = [list(input.shape) for _ in range(2)]
        sides[0][dim], sides[1][dim] = max(0, before), max(0, after)
        first, last = (full(side, value, dtype=input.dtype) for side in sides)
        input = FUNCTIONS["cat"]([first, input, last], dim)
    return input


@function_only
def nextafter(input: Tensor, other: Any) -> Tensor:
    """The next number towards another one.  Its gradient is that of ``input`` itself."""
    return as_tensor(ops.numpy_nextafter(input, other))


for _name, _same in {"igamma": "special_gammainc", "igammac": "special_gammaincc"}.items():
    _function = public(REGISTRY[_same])
    _function.__name__ = _function.__qualname__ = _name
    function_only(_function)


# Activations.


@function_only
def celu(input: Tensor, alpha: float = 1.0) -> Tensor:
    """x where it is positive, else α (exp(x / α) − 1)."""
    return ops.where(input > 0, input, alpha * ops.expm1(ops.clamp_max(input, 0.0) / alpha))


@function_only
def selu(input: Tensor) -> Tensor:
    """λ x where x is positive, else λ α (exp(x) − 1), with the numbers that keep mean and variance."""
    return SCALE * ops.where(input > 0, input, ALPHA * ops.expm1(ops.clamp_max(input, 0.0)))


ALPHA, SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946
"""The α and λ of Klambauer et al., Self-Normalizing Neural Networks (2017)."""


@adaptor
def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """x, and 0 where |x| ≤ ``lambd``."""
    return ops.where(ops.le(ops.abs(input), lambd), 0.0, input)


@function_only
def threshold(input: Tensor, threshold: float, value: float) -> Tensor:
    """x where it is above a threshold, else a fixed value."""
    return ops.where(input <= threshold, value, input)


@adaptor
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """x where it is positive, else x times a weight: one for all, or one for each entry along dimension 1."""
    if weight.ndim and weight.numel() > 1 and input.ndim > 1:
        weight = weight.reshape(1, -1, *(1,) * (input.ndim - 2))
    return ops.where(input > 0, input, weight * input)


@adaptor
def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """Pseudo-inverse: singular values below ``rcond`` times the largest count as 0."""
    return as_tensor(ops.pinv(input, rcond=rcond))


method(inplace("mvlgamma", FUNCTIONS["mvlgamma"]))
