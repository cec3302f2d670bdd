"""Reading, adding and writing at places that are operands: indices that differ from lane to lane of a batch.

`getitem` and its kin have the index as a parameter, which is all that a program without `vmap` needs.
Here the arrays of an index are operands of their own, and ``form`` says where each of them stands
among the slices: the index of ``x[:, i, 0]`` has the form ``(slice(None), SLOT, 0)``.  Integers beside
arrays count as arrays, as in NumPy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..core.batching import Application, apply, numbers_decide
from ..core.batching_index import SLOT
from ..core.domain import Case
from ..core.hints import Hints
from ..core.op import ADJOINT, general, shape_of
from .index import _last_writer as last_writer, check_kinds
from .sums import broadcast_to, sum_to

Form = tuple[Any, ...]


def filled(form: Form, arrays: Sequence[Any]) -> tuple[Any, ...]:
    """The index of a form."""
    rest = iter(arrays)
    return tuple([np.asarray(next(rest)) if part is SLOT else part for part in form])


def is_array(part: Any) -> bool:
    """Whether a part of a form stands for numbers, so that the places are those where all such parts meet."""
    return part is SLOT or isinstance(part, (int, np.integer))


def together(form: Form) -> bool:
    """Whether the arrays stand side by side: the result has their axes where they are; else it has them first."""
    at = [k for k, part in enumerate(form) if is_array(part)]
    return at[-1] - at[0] == len(at) - 1


def before(form: Form, ndim: int) -> int:
    """How many axes of the result come before those of the arrays, for an operand of so many axes."""
    if not together(form):
        return 0
    named = sum(part is not None and part is not Ellipsis for part in form)
    first = next(k for k, part in enumerate(form) if is_array(part))
    return sum(ndim - named if part is Ellipsis else 1 for part in form[:first])


def region(shape: tuple[int, ...], form: Form, shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The shape of what is read from an operand of some shape, by index arrays of some shapes."""
    return np.broadcast_to(False, shape)[filled(form, [np.zeros(s, int) for s in shapes])].shape


class Places:
    """The index of a batch: of an application whose index arrays are its operands from `start` on."""

    def __init__(self, a: Application, start: int, shape: tuple[int, ...]):
        self.form: Form = a.params["form"]
        slots = range(start, len(a.operands))
        if any(getattr(a.operands[i], "dtype", None) == np.bool_ for i in slots):
            raise numbers_decide("indexing with a boolean mask")
        self.shapes = [a.shape(i) for i in slots]
        self.ndim = len(np.broadcast_shapes(*self.shapes))
        self.arrays = [a.raised(i, self.ndim) for i in slots]
        self.lanes = np.arange(a.n).reshape(a.n, *(1,) * self.ndim)
        self.before = before(self.form, len(shape))
        self.region = region(shape, self.form, self.shapes) if a.n else ()

    @property
    def with_lanes(self) -> tuple[Form, list[Any]]:
        """Form and arrays of the index of an operand with lanes: the number of the lane is one more of the arrays."""
        return (SLOT, *self.form), [self.lanes, *self.arrays]

    def order(self, ndim: int) -> tuple[int, ...]:
        """Axes of what is read with lanes, in the order that a lane has them: those of the arrays came first."""
        arrays, rest = range(1, 1 + self.ndim), range(1 + self.ndim, ndim)
        return 0, *rest[: self.before], *arrays, *rest[self.before :]


def _reading(a: Application) -> Any:
    places = Places(a, 1, a.shape(0))
    if a.batched[0]:
        form, arrays = places.with_lanes
        z = a.again(a.operands[0], *arrays, form=form)
        return apply("permute", z, axes=places.order(len(shape_of(z)))) if places.before else z
    z = a.again(a.operands[0], *places.arrays, form=places.form)
    k = places.before
    order = (k, *range(k), *range(k + 1, len(shape_of(z))))
    return apply("permute", z, axes=order) if k else z


def _to_places(a: Application, places: Places, i: int) -> Any:
    """An operand that is put at places, as an operand with lanes takes it: in the order in which it would be read."""
    ndim = len(places.region)
    y = apply("broadcast_to", a.raised(i, ndim), shape=(a.n, *places.region))
    order = places.order(ndim + 1)
    return apply("permute", y, axes=tuple(np.argsort(order).tolist())) if places.before else y


def _adding(a: Application) -> Any:
    shape = a.params["shape"]
    form, arrays = (places := Places(a, 1, shape)).with_lanes
    return a.again(_to_places(a, places, 0), *arrays, form=form, shape=(a.n, *shape))


def _writing(a: Application) -> Any:
    places = Places(a, 2, a.shape(0))
    if a.ndim(1) > len(places.region):
        return NotImplemented
    form, arrays = places.with_lanes
    return a.again(a.full(0), _to_places(a, places, 1), *arrays, form=form)


def _cases(rng: np.random.Generator) -> Iterator[Case]:
    x, i, j = rng.standard_normal((3, 4, 2)), np.array([0, 2, 2]), np.array([[1], [3]])
    every = slice(None)
    yield (x, i), {"form": (SLOT,)}
    yield (x, j), {"form": (every, SLOT)}
    yield (x, i, j), {"form": (SLOT, SLOT, slice(1, None))}
    yield (x, i, np.array([1, 0, 1])), {"form": (SLOT, every, SLOT)}
    yield (x, np.array(1)), {"form": (Ellipsis, SLOT)}
    yield (x, i), {"form": (None, 1, SLOT)}


def _lookup_vjp(g: Any, xs: tuple[Any, ...], x_shape: tuple[int, ...], form: Form) -> Any:
    return deposit(g, *xs[1:], form=form, shape=x_shape)


def _with_arrays(form: Form, arrays: Sequence[Any]) -> tuple[Any, ...]:
    """The index of a form, with what stands for arrays in a program."""
    rest = iter(arrays)
    return tuple([next(rest) if part is SLOT else part for part in form])


lookup = general(
    "lookup", lambda *xs, form: np.asarray(xs[0])[filled(form, xs[1:])], _lookup_vjp,
    jvp=lambda xs, x_dots, form: lookup(x_dots[0], *xs[1:], form=form),
    node="IndexBackward0", cases=_cases, batch=_reading, complex=ADJOINT,
    hints=Hints(
        steps=lambda s, x, *arrays, form: s.read(x, s.at(x, _with_arrays(form, arrays))), raises=slice(1, None)
    ),
    doc="x[index], where the arrays of the index are operands.",
)


def _deposit(*xs: Any, form: Form, shape: tuple[int, ...]) -> Any:
    z = np.zeros(shape, np.asarray(xs[0]).dtype)
    np.add.at(z, filled(form, xs[1:]), xs[0])
    return z


def _deposit_steps(s: Any, x: Any, *arrays: Any, form: Form, shape: tuple[int, ...]) -> Any:
    z = s.zeros(shape, x.spec.dtype)
    return s.add(z, s.at(z, _with_arrays(form, arrays)), x)


def _deposit_cases(rng: np.random.Generator) -> Iterator[Case]:
    for (x, *arrays), params in _cases(rng):
        y = rng.standard_normal(region(x.shape, params["form"], [a.shape for a in arrays]))
        yield (y, *arrays), {**params, "shape": x.shape}


deposit = general(
    "deposit", _deposit, lambda g, xs, form: lookup(g, *xs[1:], form=form),
    jvp=lambda xs, x_dots, form, shape: deposit(x_dots[0], *xs[1:], form=form, shape=shape),
    node="IndexPutBackward0", cases=_deposit_cases, batch=_adding, complex=ADJOINT, hints=Hints(steps=_deposit_steps),
    doc="Zeros of the given shape with x added at an index: the transpose of `lookup`.",
)


def _overwritten(*xs: Any, form: Form, accumulate: bool = False) -> Any:
    z = np.array(xs[0])
    check_kinds(z, xs[1], "x[index] = y")
    index = filled(form, xs[2:])
    if accumulate:
        np.add.at(z, index, xs[1])
    else:
        z[index] = xs[1]
    return z


def _overwrite_vjp(g: Any, xs: tuple[Any, ...], x_shape: tuple[int, ...], i: int, form: Form, accumulate: bool) -> Any:
    if i == 0:
        return g if accumulate else overwrite(g, 0.0, *xs[2:], form=form)
    bar = lookup(g, *xs[2:], form=form)
    if not accumulate:
        bar = bar * last_writer(g.shape, filled(form, xs[2:]))
    return bar if bar.shape == x_shape else sum_to(bar, shape=x_shape)


def _overwrite_jvp(xs: tuple[Any, ...], z: Any, x_dots: tuple[Any, ...], form: Form, accumulate: bool) -> Any:
    x_dot, y_dot = [0.0 if t is None else t for t in x_dots[:2]]
    x_dot = broadcast_to(x_dot, shape=z.shape) if x_dots[0] is not None else np.zeros(z.shape, z.dtype)
    return overwrite(x_dot, y_dot, *xs[2:], form=form, accumulate=accumulate)


def _overwrite_cases(rng: np.random.Generator) -> Iterator[Case]:
    for (x, *arrays), params in _cases(rng):
        for shape in ((), region(x.shape, params["form"], [a.shape for a in arrays])):
            for accumulate in (False, True):
                yield (x, np.asarray(rng.standard_normal(shape)), *arrays), {**params, "accumulate": accumulate}


def _overwrite_steps(s: Any, x: Any, y: Any, *arrays: Any, form: Form, accumulate: bool) -> Any:
    z = s.copy(x)
    return s.put(z, s.at(z, _with_arrays(form, arrays)), y, accumulate)


overwrite = general(
    "overwrite", _overwritten, _overwrite_vjp, jvp=_overwrite_jvp,
    node="IndexPutBackward0", cases=_overwrite_cases, batch=_writing, complex=ADJOINT,
    hints=Hints(steps=_overwrite_steps, raises=slice(2, None)),
    doc="x with y put at an index, or added there, where the arrays of the index are operands.",
)
