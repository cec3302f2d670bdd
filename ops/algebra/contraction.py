"""Sums of products over named axes."""

from __future__ import annotations

import builtins
import math
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from importlib import import_module
from string import ascii_letters
from typing import Any, NamedTuple

import numpy as np

from ..core.axis_order import Order, copied_in, empty_in, order_of, spread
from ..core.batching import contraction
from ..core.domain import Case, cases_of
from ..core.hints import Hints
from ..core.op import HOLOMORPHIC, composite, general, ready
from ..pointwise.arithmetic import chain_mul, mul
from ..shapes.diagonals import diagonal
from ..shapes.index import getitem, select
from ..shapes.shape import permute, reshape
from ..shapes.sums import sum, sum_to
from .products import matmul

LARGE = 1 << 12
"""Elements from which looking for a good order of contraction pays for itself."""


def _contract(*xs: Any, subscripts: str) -> Any:
    """The sum, which lies as NumPy has it where it looks for no better order of contraction."""
    large = len(xs) > 1 and builtins.sum(np.size(x) for x in xs) > LARGE
    z = np.einsum(subscripts, *xs, optimize=large)
    if not large or z.ndim < 2:
        return np.array(z)[()]
    orders = tuple([order_of(x.shape, [x.strides]) for x in map(np.asarray, xs)])
    return copied_in(_order_in_numpy(subscripts, tuple([np.shape(x) for x in xs]), orders), z)


@lru_cache(1 << 10)
def _order_in_numpy(subscripts: str, shapes: tuple[tuple[int, ...], ...], orders: tuple[Order, ...]) -> Order:
    """How NumPy has a sum of products lie that it makes at once, of operands that lie in some orders: it is tried."""
    small = [empty_in(order, [min(n, 2) for n in shape], np.float64) for order, shape in zip(orders, shapes)]
    for x in small:
        x.fill(1.0)
    z = np.einsum(subscripts, *small)
    return order_of(z.shape, [z.strides])


def _contract_vjp(g: Any, xs: tuple[Any, ...], x_shape: tuple[int, ...], i: int, subscripts: str) -> Any:
    """The adjoint is a sum of products again: g takes the place of xᵢ, and the output that of its term.

    An index that xᵢ alone has is spread by a vector of ones; one that xᵢ has twice, by an identity matrix.
    """
    left, output = subscripts.split("->")
    terms = left.split(",")
    others = [x for k, x in enumerate(xs) if k != i]
    others_terms = [term for k, term in enumerate(terms) if k != i]
    spare = iter(letter for letter in ascii_letters if letter not in subscripts)
    known, target = set("".join([output, *others_terms])), ""
    for letter, n in zip(terms[i], x_shape):
        twin = letter
        if letter in target:
            twin = next(spare)
            others.append(np.eye(n, dtype=g.dtype))
            others_terms.append(letter + twin)
        elif letter not in known:
            others.append(np.ones(n, dtype=g.dtype))
            others_terms.append(letter)
        target += twin
    bar = contract(g, *others, subscripts=f"{','.join([output, *others_terms])}->{target}")
    return bar if bar.shape == x_shape else sum_to(bar, shape=x_shape)


MANY = 64
"""So many products of parts, or fewer, are steps one by one."""


def _as_products(xs: tuple[Any, ...], subscripts: str, times: Any) -> Any:
    """Many small products of two operands as products of numbers, summed, where these are few for each number.

    Factors are `times` one another: `mul`, or `chain_mul`.
    """
    left, target = subscripts.split("->")
    terms = left.split(",")
    if len(terms) != 2 or any(len(set(term)) < len(term) for term in terms):
        return None
    sizes = dict(zip("".join(terms), xs[0].shape + xs[1].shape))
    if any(tuple(sizes[c] for c in term) != x.shape for term, x in zip(terms, xs)):
        return None
    stacked = math.prod(sizes[c] for c in terms[0] if c in terms[1] and c in target)
    alone = [[c for c in term if c not in other] for term, other in (terms, terms[::-1])]
    if stacked <= MANY or not set(alone[0] + alone[1]).issubset(target):
        return None
    if not set(terms[0]).issubset(target) and min(math.prod(sizes[c] for c in names) for names in alone) > 1:
        return None  # there are more products than numbers
    large = math.prod(xs[0].shape) < math.prod(xs[1].shape)
    every = [*terms[large], *alone[not large]]
    spread = [
        reshape(
            permute(x, axes=tuple(term.index(c) for c in every if c in term)),
            shape=tuple(sizes[c] if c in term else 1 for c in every),
        )
        for x, term in zip(xs, terms)
    ]
    summed = tuple(k for k, c in enumerate(every) if c not in target)
    z = sum(times(*spread), axis=summed) if summed else times(*spread)
    made = [c for c in every if c in target]
    return permute(z, axes=tuple(made.index(c) for c in target))


def _cases(rng: np.random.Generator) -> Iterator[Case]:
    for subscripts, *shapes in (
        ("ij,jk->ik", (2, 3), (3, 4)), ("ii->i", (3, 3)), ("ii->", (3, 3)), ("ij->j", (2, 3)),
        ("i,j->ij", (2,), (3,)),
        ("ij,ij,j->", (2, 3), (2, 3), (3,)), ("iij,jk->ik", (2, 2, 3), (3, 2)), ("ij,k->k", (2, 3), (2,)),
        ("bij,bjk->bik", (2, 2, 3), (2, 3, 2)), (",i->i", (), (3,)), ("ij,ij->ij", (1, 3), (2, 3)),
        ("iii->i", (2, 2, 2)),
    ):  # fmt: skip
        yield tuple(np.asarray(rng.standard_normal(shape)) for shape in shapes), {"subscripts": subscripts}


contract = general(
    "contract", _contract, _contract_vjp, node="EinsumBackward0", complex=HOLOMORPHIC, cases=_cases,
    batch=contraction,
    hints=Hints(
        steps=lambda s, *xs, subscripts: s.contract(subscripts, *xs),
        made_of=lambda *xs, subscripts: _as_products(xs, subscripts, mul),
    ),
    doc="`einsum` with explicit subscripts: every axis named by a letter, and the output written out.",
)


def _outer_sum(*xs: Any, places: tuple[tuple[slice, slice], ...], shape: tuple[int, int]) -> Any:
    """In one matrix product, unless zeros beside infinite elements would become nan there."""
    us, vs = xs[: len(places)], xs[len(places) :]
    left, right = (np.zeros((len(places), n), np.result_type(*xs)) for n in shape)
    for k, (rows, columns) in enumerate(places):
        left[k, rows], right[k, columns] = us[k], vs[k]
    if np.isfinite(left).all() and np.isfinite(right).all():
        return left.T @ right
    z = np.zeros(shape, left.dtype)
    for place, u, v in zip(places, us, vs):
        z[place] += np.multiply.outer(u, v)
    return z


def _outer_sum_vjp(g: Any, xs: tuple[Any, ...], i: int, places: tuple[tuple[slice, slice], ...]) -> Any:
    n = len(places)
    part = getitem(g, index=places[i % n])
    return matmul(part, xs[n + i]) if i < n else matmul(xs[i - n], part)


def _outer_sum_jvp(
    xs: tuple[Any, ...], x_dots: tuple[Any, ...], places: tuple[tuple[slice, slice], ...], shape: tuple[int, int]
) -> Any:
    n, found = len(places), 0.0
    for left in (True, False):
        moved = [k for k in range(n) if x_dots[k if left else n + k] is not None]
        if moved:
            us = [(x_dots if left else xs)[k] for k in moved]
            vs = [(xs if left else x_dots)[n + k] for k in moved]
            found = found + outer_sum(*us, *vs, places=tuple([places[k] for k in moved]), shape=shape)
    return found


def _outer_sum_cases(rng: np.random.Generator) -> Iterator[Case]:
    for places, shape in (
        (((slice(0, 2), slice(1, 4)), (slice(1, 3), slice(0, 4, 2))), (3, 4)),
        (((slice(0, 3), slice(0, 2)),), (3, 2)),
    ):
        lengths = [len(range(*place[axis].indices(shape[axis]))) for axis in (0, 1) for place in places]
        yield tuple(np.asarray(rng.standard_normal(n)) for n in lengths), {"places": places, "shape": shape}


outer_sum = general(
    "outer_sum", _outer_sum, _outer_sum_vjp, jvp=_outer_sum_jvp, complex=HOLOMORPHIC, cases=_outer_sum_cases,
    hints=Hints(
        steps=lambda s, *xs, places, shape: s.outer_sum(xs[: len(places)], xs[len(places) :], places, shape), large=True
    ),
    doc="Zeros of the given shape with outer products added at places, pairs of slices: the first half of the operands "
    "are their left vectors, the second half their right ones.",
)


def _vector_products(*xs: Any, places: tuple[slice, ...]) -> Any:
    """In one matrix product, unless zeros beside infinite elements would become nan there."""
    x, *vs = xs
    left = np.zeros((len(vs), len(x)), np.result_type(x, *vs))
    for k, place in enumerate(places):
        left[k, place] = vs[k]
    z = left @ x
    if not np.isfinite(z).all():
        for k, place in enumerate(places):
            z[k] = vs[k] @ x[place]
    return z


def _vector_products_vjp(g: Any, xs: tuple[Any, ...], x_shape: tuple[int, ...], i: int, places: Any) -> Any:
    if i:
        return matmul(getitem(xs[0], index=places[i - 1]), select(g, index=i - 1))
    everywhere = slice(0, x_shape[1])
    rows = [select(g, index=k) for k in range(len(places))]
    return outer_sum(*xs[1:], *rows, places=tuple([(place, everywhere) for place in places]), shape=x_shape)


def _vector_products_jvp(xs: tuple[Any, ...], x_dots: tuple[Any, ...], places: Any) -> Any:
    found = 0.0 if x_dots[0] is None else vector_products(x_dots[0], *xs[1:], places=places)
    if all(v_dot is None for v_dot in x_dots[1:]):
        return found
    v_dots = [np.zeros(v.shape, v.dtype) if d is None else d for v, d in zip(xs[1:], x_dots[1:])]
    return found + vector_products(xs[0], *v_dots, places=places)


def _vector_products_cases(rng: np.random.Generator) -> Iterator[Case]:
    for places in ((slice(0, 4), slice(1, 3), slice(2, 4)), (slice(0, 4),) * 2):
        lengths = [place.stop - place.start for place in places]
        yield (rng.standard_normal((4, 3)), *(rng.standard_normal(n) for n in lengths)), {"places": places}


vector_products = general(
    "vector_products", _vector_products, _vector_products_vjp, jvp=_vector_products_jvp, complex=HOLOMORPHIC,
    cases=_vector_products_cases,
    hints=Hints(steps=lambda s, *xs, places: s.vector_products(xs[0], xs[1:], places), large=True),
    doc="The matrix of rows that are the other operands, vectors, times the rows of the first at slices, the places.",
)


def _chain_contract(x: Any, y: Any, *, subscripts: str) -> Any:
    """In one product, unless zeros beside infinite elements would become nan there."""
    z = _contract(x, y, subscripts=subscripts)
    if np.isfinite(z).all():
        return z
    left, target = subscripts.split("->")
    terms = left.split(",")
    every = target + "".join(sorted(set("".join(terms)) - set(target)))
    spread = [
        np.transpose(v, [term.index(c) for c in every if c in term])[
            tuple([slice(None) if c in term else None for c in every])
        ]
        for v, term in zip((x, y), terms)
    ]
    return np.sum(chain_mul(*spread), axis=tuple(range(len(target), len(every))))


def _chain_contract_vjp(g: Any, xs: tuple[Any, ...], i: int, subscripts: str) -> Any:
    left, target = subscripts.split("->")
    terms = left.split(",")
    return chain_contract(g, xs[1 - i], subscripts=f"{target},{terms[1 - i]}->{terms[i]}")


def _chain_contract_jvp(xs: tuple[Any, ...], x_dots: tuple[Any, ...], subscripts: str) -> Any:
    found = 0.0
    for i, x_dot in enumerate(x_dots):
        if x_dot is not None:
            found = found + contract(*((x_dot, xs[1]) if i == 0 else (xs[0], x_dot)), subscripts=subscripts)
    return found


chain_contract = general(
    "chain_contract", lambda *xs, subscripts: _chain_contract(*xs, subscripts=subscripts), _chain_contract_vjp,
    jvp=_chain_contract_jvp, complex=HOLOMORPHIC, batch=contraction,
    cases=cases_of(
        ([(2, 3), (3, 4)], {"subscripts": "ij,jk->ik"}), ([(2, 3), (4, 2, 3)], {"subscripts": "ij,kij->k"}),
    ),
    hints=Hints(
        steps=lambda s, x, y, subscripts: s.contract(subscripts, x, y, chain=True),
        made_of=lambda x, y, subscripts: _as_products((x, y), subscripts, chain_mul),
    ),
    doc="`contract` of two operands, an adjoint and partials: what the partials are does not matter where it is 0.",
)


@lru_cache(1 << 10)
def _explicit(subscripts: str, ndims: tuple[int, ...]) -> str:
    """Subscripts with letters in place of dots, and the output written out."""
    left, arrow, output = subscripts.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(ndims):
        raise ValueError(f"einsum got {len(ndims)} operands for the {len(terms)} terms of {subscripts!r}")
    spare = [letter for letter in reversed(ascii_letters) if letter not in subscripts]
    hidden = [ndim - len(term) + 3 if "..." in term else 0 for term, ndim in zip(terms, ndims)]
    if min(hidden) < 0 or max(hidden) > len(spare):
        raise ValueError(f"einsum: the operands have {list(ndims)} axes, which does not fit {subscripts!r}")
    dots = "".join(spare[: max(hidden)])
    terms = [term.replace("...", dots[len(dots) - n :]) for term, n in zip(terms, hidden)]
    if arrow:
        output = output.replace("...", dots)
    else:
        named = "".join(terms)
        output = dots + "".join(sorted(c for c in set(named) if named.count(c) == 1 and c not in dots))
    return f"{','.join(terms)}->{output}"


def _from_lists(operands: tuple[Any, ...]) -> tuple[str, list[Any]]:
    """NumPy's other spelling: operands alternating with lists of axis numbers, the output's last."""
    arrays, lists = list(operands[: len(operands) // 2 * 2 : 2]), list(operands[1::2])
    text = ["".join("..." if s is Ellipsis else ascii_letters[s] for s in numbers) for numbers in lists]
    subscripts = ",".join(text)
    if len(operands) % 2:
        subscripts += "->" + "".join("..." if s is Ellipsis else ascii_letters[s] for s in operands[-1])
    return subscripts, arrays


def explicit_subscripts(operands: Sequence[Any]) -> tuple[str, list[Any]]:
    """What `einsum` is told, in either spelling, as subscripts with every axis and the output named, and the arrays."""
    subscripts, arrays = (operands[0], operands[1:]) if isinstance(operands[0], str) else _from_lists(tuple(operands))
    if len(arrays) == 1 and isinstance(arrays[0], (list, tuple)) and "," in subscripts:
        arrays = arrays[0]
    arrays = [ready(x) for x in arrays]
    return _explicit(subscripts, tuple([x.ndim for x in arrays])), arrays


def _einsum(*operands: Any, optimize: Any = None) -> Any:
    """Sum of products over named axes, as `numpy.einsum` has it: repeated indices, ``...``, implicit output.

    >>> einsum("ij,j->i", np.eye(2), np.array([1.0, 2.0]))
    array([1., 2.])
    """
    subscripts, arrays = explicit_subscripts(operands)
    return contract(*arrays, subscripts=subscripts)


def look_along(x: Any, names: Sequence[Any], wanted: Sequence[Any]) -> Any:
    """An array with its axes, which have names, in another order, diagonals among them; None if some were summed."""
    if len(names) != x.ndim or not x.ndim or set(names) != set(wanted) or len(set(wanted)) != len(wanted):
        return None
    names = list(names)
    while (twice := next((k for k, name in enumerate(names) if name in names[:k]), None)) is not None:
        x = diagonal(x, offset=0, axis1=names.index(names[twice]), axis2=twice)
        names = [name for name in names if name != names[twice]] + [names[twice]]
    return permute(x, axes=tuple([names.index(name) for name in wanted]))


def order_of_contraction(
    subscripts: str, itemsize: int, shapes: Sequence[Sequence[int]], strides: Sequence[Sequence[int]]
) -> Order:
    """The order in which PyTorch's ``einsum`` has the axes of a sum of products: pair after pair becomes one.

    What is summed of a pair is a product of matrices, with the axes of both in front of those of the first, and these
    in front of those of the second; the second is the first where its axes all stand in front.  What is only multiplied
    lies as the operands do.
    """
    return _order_of_contraction(subscripts, itemsize, tuple(map(tuple, shapes)), tuple(map(tuple, strides)))


Tuples = tuple[tuple[int, ...], ...]


@lru_cache(1 << 12)
def _order_of_contraction(subscripts: str, itemsize: int, shapes: Tuples, strides: Tuples) -> Order:
    left, output = subscripts.split("->")
    terms = left.split(",")
    names = output + "".join(sorted(set(left) - {",", *output}))
    steps = [[step // itemsize for step in own] for own in strides]
    found = [_laid(term, shape, own, names) for term, shape, own in zip(terms, shapes, steps)]
    order = list(range(len(names)))
    for i, j in _pairs(subscripts, shapes):
        y, x = found.pop(j), found.pop(i)
        needed = {k for k in range(len(names)) if k < len(output) or any(part.sizes[k] != 1 for part in found)}
        x, y = (_summed(v, {*needed, *w.axes}) for v, w in ((x, y), (y, x)))
        order, sizes = _product(x, y, needed)
        found.insert(len(found) if _contract_path() else 0, Laid(sizes, _steps(order, sizes)))
    axes = [k for k in order if k < len(output)]
    return None if axes == sorted(axes) else tuple(axes)


class Laid(NamedTuple):
    """How an operand lies: lengths and steps of all axes, in elements; those that it has not got have length 1."""

    sizes: tuple[int, ...]
    steps: tuple[int, ...]

    @property
    def axes(self) -> set[int]:
        """The axes longer than 1."""
        return {k for k, n in enumerate(self.sizes) if n != 1}


def _laid(term: str, shape: Sequence[int], strides: Sequence[int], names: str) -> Laid:
    """How an operand lies; along a diagonal it has the steps of both axes together."""
    sizes, steps = dict(zip(term, shape)), dict[str, int]()
    for name, step in zip(term, strides):
        steps[name] = steps.get(name, 0) + step
    return Laid(tuple([sizes.get(name, 1) for name in names]), tuple([steps.get(name, 1) for name in names]))


def _pairs(subscripts: str, shapes: Tuples) -> list[tuple[int, int]]:
    """Which operands become one, in turn: from the left, or of three and more those that `opt_einsum` says, which
    PyTorch asks if it is installed."""
    if len(shapes) < 3 or _contract_path() is None:
        return [(0, 1)] * (len(shapes) - 1)
    path = _contract_path()(subscripts, *shapes, shapes=True, optimize="auto")[0]
    return [(min(pair), max(pair)) for pair in path]


@cache
def _contract_path() -> Any:
    try:
        return import_module("opt_einsum").contract_path
    except ImportError:
        return None


def _summed(x: Laid, kept: set[int]) -> Laid:
    """An operand summed over those axes that nothing else needs; what is summed has no gaps."""
    if x.axes <= kept:
        return x
    sizes = tuple([n if k in kept else 1 for k, n in enumerate(x.sizes)])
    return Laid(sizes, _steps(range(len(sizes)), sizes))


def _product(x: Laid, y: Laid, needed: set[int]) -> tuple[list[int], tuple[int, ...]]:
    """The order of the axes of what two operands become, of which those that are not needed are summed, and lengths."""
    whole = tuple([max(n, m) if 0 not in (n, m) else 0 for n, m in zip(x.sizes, y.sizes)])
    summed = [k for k in sorted(x.axes & y.axes) if k not in needed]
    if not summed:
        return _multiplied(x, y, whole), whole
    both, mine = (sorted(part - {*summed}) for part in (x.axes & y.axes, x.axes - y.axes))
    other = [k for k in range(len(whole)) if k not in (*summed, *both, *mine)]
    if mine and other and other[-1] < mine[0]:
        mine, other = other, mine
    return [*both, *mine, *summed, *other], tuple([1 if k in summed else n for k, n in enumerate(whole)])


def _multiplied(x: Laid, y: Laid, sizes: tuple[int, ...]) -> list[int]:
    """The order of the axes of what two operands are multiplied to, element by element."""
    rows = list(range(len(sizes)))
    if x.sizes == y.sizes and all(_lies_in_rows(v) for v in (x, y)):
        return rows
    axes = order_of(sizes, [spread(v.sizes, v.steps, len(sizes), sizes) for v in (x, y)])
    return rows if axes is None else list(axes)


def _lies_in_rows(x: Laid) -> bool:
    rows = _steps(range(len(x.sizes)), x.sizes)
    return all(n == 1 or step == row for n, step, row in zip(x.sizes, x.steps, rows))


def _steps(order: Sequence[int], sizes: Sequence[int]) -> tuple[int, ...]:
    """The steps of an array without gaps, whose axes lie in an order."""
    found, step = [1] * len(sizes), 1
    for k in reversed(order):
        found[k], step = step, step * sizes[k]
    return tuple(found)


einsum = composite("einsum", _einsum, numpy=(np.einsum,))
