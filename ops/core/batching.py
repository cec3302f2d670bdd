"""Batching rules: how an op applies to a whole batch at once, in one application of some op.

Under `vmap` an operand stands for n of them, its *lanes*, which lie along a leading axis that the op
does not know about.  A rule gets an `Application` and gives the result, or the tuple of results,
with a leading axis of its own.  It is written in ops, so what it does is recorded, pushed forward
or batched once more.

An op says as ``batch=`` which of these rules is its own, in terms of what its arguments mean:
`along` for parameters that are axes, `trailing` for ops on the last axes, and so on.  An
elementwise op says nothing, because that is what broadcasting is; an op that says nothing else
is applied `lane_by_lane`.  A rule that meets a case it does not cover gives NotImplemented, and
the lanes go one by one too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from string import ascii_letters
from typing import Any

import numpy as np

from .op import REGISTRY, Op, shape_of

Rule = Callable[["Application"], Any]


class Application:
    """An op about to be applied to a batch.

    Attributes:
        op: the op.
        n: number of lanes.
        operands: its operands; those that are batched have the lanes along their first axis.
        batched: for each operand whether it is; at least one is.
        params: all of its parameters, with the defaults filled in.
    """

    __slots__ = ("batched", "n", "op", "operands", "params")

    def __init__(self, op: Op, n: int, operands: Sequence[Any], batched: Sequence[bool], params: dict[str, Any]):
        self.op, self.n, self.operands, self.batched = op, n, operands, batched
        self.params = {**op.params, **params}

    def shape(self, i: int) -> tuple[int, ...]:
        """The shape of an operand in one lane."""
        return shape_of(self.operands[i])[1:] if self.batched[i] else shape_of(self.operands[i])

    def ndim(self, i: int) -> int:
        return len(shape_of(self.operands[i])) - self.batched[i]

    def full(self, i: int) -> Any:
        """An operand with its lanes, which are all the same if it is not batched."""
        x = self.operands[i]
        return x if self.batched[i] else apply("broadcast_to", x, shape=(self.n, *shape_of(x)))

    def raised(self, i: int, ndim: int) -> Any:
        """An operand that broadcasts like one of so many axes: axes of length 1 behind that of the lanes."""
        x, missing = self.operands[i], ndim - self.ndim(i)
        if missing <= 0 or not self.batched[i]:
            return x
        return apply("reshape", x, shape=(self.n, *(1,) * missing, *shape_of(x)[1:]))

    def again(self, *operands: Any, **changed: Any) -> Any:
        """The op applied to these, with some of the parameters changed."""
        return self.op(*operands, **{**self.params, **changed})


def apply(name: str, *operands: Any, **params: Any) -> Any:
    return REGISTRY[name](*operands, **params)


def rule_of(op: Op) -> Rule:
    """The rule of an op: its own, or what follows from its kind."""
    return op.batch or (elementwise if op.broadcasts else lane_by_lane)


def batch(application: Application) -> Any:
    """The result of an application, with the lanes along a leading axis; a tuple of an op with several results."""
    z = rule_of(application.op)(application)
    return lane_by_lane(application) if z is NotImplemented else z


def lane_by_lane(a: Application) -> Any:
    """The op applied to one lane after the other, and the results stacked: right for every op.

    Raises:
        RuntimeError: if the results of the lanes differ in shape.
    """
    if a.n == 0:
        return _no_lanes(a)
    rows = [
        a.again(*[apply("select", x, index=k) if b else x for x, b in zip(a.operands, a.batched)]) for k in range(a.n)
    ]
    if a.op.outputs == 1:
        return _stacked(a.op, rows)
    return tuple([_stacked(a.op, column) for column in zip(*rows)])


def _stacked(op: Op, rows: Sequence[Any]) -> Any:
    shapes = sorted(set(map(shape_of, rows)))
    if len(shapes) > 1:
        raise RuntimeError(
            f"{op.name} gives results of different shapes in different lanes of vmap, {shapes[0]} and {shapes[-1]}, "
            "which cannot be stacked.\nCall it outside of vmap, or pad the results to one shape."
        )
    return apply("stack", *rows, axis=0)


def _no_lanes(a: Application) -> Any:
    """Results for an empty batch: what a lane of ones would give tells shape and dtype."""
    xs = [np.ones(a.shape(i), x.dtype) if b else x for i, (x, b) in enumerate(zip(a.operands, a.batched))]
    zs = a.again(*xs)
    empty = [np.zeros((0, *shape_of(z)), z.dtype) for z in (zs if a.op.outputs != 1 else (zs,))]
    return empty[0] if a.op.outputs == 1 else tuple(empty)


def elementwise(a: Application) -> Any:
    """Operands that broadcast."""
    return broadcast(a.op, a.n, a.operands, a.batched, a.params)


def broadcast(op: Op, n: int, operands: Sequence[Any], batched: Sequence[bool], params: dict[str, Any]) -> Any:
    """An op that works element by element: operands get axes of length 1 behind that of the lanes."""
    shapes = [shape_of(x) for x in operands]
    ndims = [len(shape) - b for shape, b in zip(shapes, batched)]
    ndim = max(ndims)
    return op(*[
        x if not b or k == ndim else apply("reshape", x, shape=(n, *(1,) * (ndim - k), *shape[1:]))
        for x, b, k, shape in zip(operands, batched, ndims, shapes)
    ], **params)  # fmt: skip


def like(a: Application) -> Any:
    """An op that makes an array in the shape of its operand, or in another where ``shape`` says so."""
    shape = a.params["shape"]
    if shape is None:
        return a.again(a.operands[0])
    return a.again(a.operands[0], shape=(a.n, *((shape,) if isinstance(shape, int) else shape)))


def for_all_lanes(a: Application) -> Any:
    """The rule of a question about all lanes together: the result is the same in each, and has no lanes."""
    return a.again(*a.operands)


def dynamic(a: Application) -> Any:
    """An op whose result has a shape that depends on the numbers."""
    raise numbers_decide(a.op.name)


def dynamic_by(
    measure: str, operand: int = 0, by: Callable[[Application], Any] = dynamic
) -> Callable[[Application], Any]:
    """The rule `by` of an op, the shape of whose result follows from one number of one operand.

    The op called `measure` gives this number of the operand.  A recorded list holds for that number only: whoever
    records the op guards it.
    """

    def rule(a: Application) -> Any:
        return by(a)

    rule.measure = measure, operand  # type: ignore[attr-defined]
    return rule


class LanesDiffer(RuntimeError):
    """A function does something that depends on numbers, and these differ from lane to lane."""


def numbers_decide(what: str) -> LanesDiffer:
    """The error where the numbers would decide about a shape."""
    return LanesDiffer(
        f"vmap: the shape of what {what} gives depends on the numbers, so it would differ from lane to lane.\n"
        "Use tape.where(condition, x, 0.0) in the place of selecting by a mask, or call it outside of vmap."
    )


def raised_in_some(what: str, error: Exception) -> LanesDiffer:
    """The error where a function goes on after something that only some of the lanes raise."""
    refusal = LanesDiffer(
        f"vmap: {what} raises {type(error).__name__} ({error}) in some lanes and not in others, and what catches it "
        "would go the same way in all of them.\nChoose with np.where(condition, x, y) in the place of try and except, "
        "or call the function in a loop."
    )
    refusal.__cause__ = error
    return refusal


def moved(axis: Any, ndim: int) -> Any:
    """Axes of a lane as axes of the batch.

    Raises:
        AxisError: if one is out of range.
    """
    if isinstance(axis, (tuple, list)):
        return tuple([1 + k for k in np.lib.array_utils.normalize_axis_tuple(tuple(axis), ndim)])
    return 1 + np.lib.array_utils.normalize_axis_index(axis, ndim)


def along(*names: str, flat: bool = False, more: int = 0) -> Rule:
    """The rule of an op with parameters that are axes of its operands, which have equally many.

    Args:
        names: the parameters; None means all axes.
        flat: None means that the operand is flattened first.
        more: how many axes the result has more than the operands, if the axes are the result's.
    """

    def rule(a: Application) -> Any:
        ndim = a.ndim(0)
        if ndim == 0 and not more and any(a.params[name] is not None for name in names):
            return NotImplemented
        xs = [a.full(i) for i in range(len(a.operands))]
        changed = {}
        for name in names:
            axis = a.params[name]
            if axis is not None:
                changed[name] = moved(axis, ndim + more)
            elif not flat:
                changed[name] = tuple(range(1, ndim + 1))
            elif a.params.get("keepdims"):
                return NotImplemented
            else:
                xs = [apply("reshape", x, shape=(a.n, math.prod(shape_of(x)[1:]))) for x in xs]
                changed[name] = 1
        return a.again(*xs, **changed)

    return rule


def trailing(count: int) -> Rule:
    """The rule of an op on the last axes of its operands, that is stacked over those before them."""

    def rule(a: Application) -> Any:
        ndims = [a.ndim(i) for i in range(len(a.operands))]
        if min(ndims) < count:
            return NotImplemented
        return a.again(*[a.raised(i, max(ndims)) for i in range(len(ndims))])

    return rule


def whole(name: str) -> Rule:
    """The rule of an op that does over all axes what another op does over some."""
    return lambda a: apply(name, a.operands[0], axis=tuple(range(1, 1 + a.ndim(0))))


def matrices(*ndims: int) -> Rule:
    """The rule of matrix products, for operands of the given numbers of axes or of any."""

    def rule(a: Application) -> Any:
        if 0 in (a.ndim(0), a.ndim(1)) or (ndims and ndims != (a.ndim(0), a.ndim(1))):
            return NotImplemented
        return _product(a)

    return rule


def _product(a: Application) -> Any:
    (x, y), (bx, by), nx, ny = a.operands, a.batched, a.ndim(0), a.ndim(1)
    if not by and ny == 2:
        # One product for all lanes: their rows make one tall matrix.
        tall = x if nx == 1 else apply("reshape", x, shape=(math.prod(shape_of(x)[:-1]), shape_of(x)[-1]))
        z = apply("matmul", tall, y)
        return z if nx == 1 else apply("reshape", z, shape=(*shape_of(x)[:-1], shape_of(y)[-1]))
    if not by and ny == 1:
        return apply("matmul", x, y)
    if not bx and ny == 1 and nx <= 2:
        return apply("matmul", y, x if nx == 1 else apply("mT", x))
    ndim = max(nx, ny, 2)
    x, y = _matrix(a, 0, ndim, row=True), _matrix(a, 1, ndim, row=False)
    z = apply("matmul", x, y)
    if nx > 1 and ny > 1:
        return z
    shape = shape_of(z)[:-2] + ((shape_of(z)[-2],) if nx > 1 else ()) + ((shape_of(z)[-1],) if ny > 1 else ())
    return apply("reshape", z, shape=shape)


def _matrix(a: Application, i: int, ndim: int, row: bool) -> Any:
    """An operand of a product as matrices of so many axes: a vector is a row, or a column."""
    x, shape = a.operands[i], a.shape(i)
    new = (1, *shape) if row and len(shape) == 1 else (*shape, 1) if len(shape) == 1 else shape
    if a.batched[i]:
        new = (a.n, *(1,) * (ndim - len(new)), *new)
    return x if new == shape_of(x) else apply("reshape", x, shape=new)


def solving(a: Application) -> Any:
    """The rule of `solve`: a vector on the right is a column of every matrix on the left."""
    nx, ny = a.ndim(0), a.ndim(1)
    if nx < 2 or ny < 1:
        return NotImplemented
    ndim = max(nx, ny, 2)
    z = a.again(_matrix(a, 0, ndim, row=True), _matrix(a, 1, ndim, row=False))
    return z if ny > 1 else apply("reshape", z, shape=shape_of(z)[:-1])


def contraction(a: Application) -> Any:
    """The rule of sums over named axes: the lanes get a letter of their own."""
    subscripts = a.params["subscripts"]
    left, output = subscripts.split("->")
    spare = next((letter for letter in ascii_letters if letter not in subscripts), None)
    if spare is None:
        return NotImplemented
    terms = [spare + term if b else term for term, b in zip(left.split(","), a.batched)]
    return a.again(*a.operands, subscripts=f"{','.join(terms)}->{spare}{output}")


def reshaping(a: Application) -> Any:
    """The rule of `reshape`; a length −1 is worked out from one lane."""
    shape = a.params["shape"]
    shape = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    if -1 in shape:
        size, known = math.prod(a.shape(0)), math.prod(n for n in shape if n != -1)
        if shape.count(-1) > 1 or not known or size % known:
            return NotImplemented
        shape = tuple([size // known if n == -1 else n for n in shape])
    return a.again(a.operands[0], shape=(a.n, *shape))


def broadcasting(a: Application) -> Any:
    """The rule of `broadcast_to`."""
    shape = a.params["shape"]
    shape = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    return a.again(a.raised(0, len(shape)), shape=(a.n, *shape))


def summing_to(a: Application) -> Any:
    """The rule of `sum_to`: axes of length 1 in the place of those that are lost, and then without them."""
    shape = a.params["shape"]
    z = a.again(a.operands[0], shape=(a.n, *(1,) * (a.ndim(0) - len(shape)), *shape))
    return apply("reshape", z, shape=(a.n, *shape))


def squeezing(a: Application) -> Any:
    """The rule of `squeeze`."""
    axis = a.params["axis"]
    axis = tuple([k for k, n in enumerate(a.shape(0)) if n == 1]) if axis is None else axis
    return a.again(a.operands[0], axis=moved(axis, a.ndim(0)))


def unsqueezing(a: Application) -> Any:
    """The rule of `unsqueeze`, whose axes are those of the result."""
    axis = a.params["axis"]
    return a.again(a.operands[0], axis=moved(axis, a.ndim(0) + (len(axis) if isinstance(axis, (tuple, list)) else 1)))


def permuting(a: Application) -> Any:
    """The rule of ops that order the axes: reversed where nothing else is said."""
    axes = a.params.get("axes")
    axes = tuple(range(a.ndim(0)))[::-1] if axes is None else axes
    return apply("permute", a.operands[0], axes=(0, *moved(tuple(axes), a.ndim(0))))


def rolling(a: Application) -> Any:
    """The rule of `roll`, through the flattened array where there is no axis."""
    if a.params["axis"] is not None:
        return along("axis")(a)
    x = a.operands[0]
    flat = apply("reshape", x, shape=(a.n, math.prod(a.shape(0))))
    shift = a.params["shift"]
    shift = sum(shift) if isinstance(shift, tuple) else shift
    return apply("reshape", a.again(flat, shift=shift, axis=1), shape=shape_of(x))


def tiling(a: Application) -> Any:
    """The rule of `repeat`."""
    reps = a.params["reps"]
    reps = tuple(reps) if isinstance(reps, (tuple, list)) else (reps,)
    ndim = max(len(reps), a.ndim(0))
    return a.again(a.raised(0, ndim), reps=(1, *(1,) * (ndim - len(reps)), *reps))


def filling_diagonal(a: Application) -> Any:
    """The rule of `fill_diagonal`, whose axes are those of the result."""
    shape, axes = a.params["shape"], {name: a.params[name] for name in ("axis1", "axis2")}
    return a.again(
        a.operands[0], shape=(a.n, *shape), **{name: moved(axis, len(shape)) for name, axis in axes.items()}
    )
