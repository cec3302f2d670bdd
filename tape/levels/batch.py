"""Batches: tensors that stand for n tensors each, and apply every op to all of them at once.

A `Batched` is a tensor around one with one more axis, the first, along which its *lanes* lie.  It
belongs to a `Batch`, the level of one call of `vmap`.  An op on batched tensors applies the op's
batching rule (`ops.core.batching`) to the tensors below, which are ordinary tensors (which record, if a
gradient may flow) or layers of outer levels.  So maps nest, with each other and with derivatives.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

import ops
from ops import Op
from ops.core.batching import Application, LanesDiffer, batch, broadcast, for_all_lanes, raised_in_some
from ops.core.op import shape_of

from ..base.errors import ShapeError, note, unused_error
from ..base.spec import implicit
from ..base.tensor import Tensor
from ..recording.level import (
    Layer,
    Level,
    active,
    components,
    depths,
    history,
    keys,
    live,
    program_records,
    requires_grad,
)
from ..recording.recorder import CUSTOM, wrap
from ..recording.version import count
from ..recording.wengert import current
from .batched import Batched, batched, form_of, gained

STATIC = TypeError, ShapeError
"""What follows from dtypes and shapes, which all lanes share."""


class Batch(Level):
    """The level of one call of `vmap`.

    Attributes:
        n: number of lanes.
        randomness: ``"error"``, ``"same"`` or ``"different"``: what random numbers do.
        lifting: whether something that is the same in all lanes is being differentiated at this level.
            Then whatever has a history gets lanes before it meets something batched, so that there is an
            adjoint for each lane.
        lifts: such tensors as they were, and with lanes.
        stops: by the keys of those with lanes, their places among the lifts.

    What is known by its identity is kept, so that nothing else gets that.
    """

    __slots__ = ("_known", "lifting", "lifts", "n", "randomness", "stops")

    in_front = 1

    def __init__(self, n: int, randomness: str = "error"):
        super().__init__()
        self.n, self.randomness = n, randomness
        self.lifting = False
        self.lifts: list[tuple[Tensor, Tensor]] = []
        self.stops: dict[int, int] = {}
        self._known: dict[Any, tuple[Tensor, list[int], list[Tensor]]] = {}

    def __enter__(self) -> Batch:
        active().append(self)
        super().__enter__()
        return self

    def again(self) -> Batch:
        """The level, to be entered once more, now as the innermost."""
        self.depth, self.alive = next(depths), True
        return self

    @contextmanager
    def left(self) -> Iterator[None]:
        """Outside of this level for a while."""
        batches = active()
        at = batches.index(self)
        del batches[at]
        try:
            yield
        finally:
            batches.insert(at, self)

    def __exit__(self, *_: Any) -> None:
        active().remove(self)
        super().__exit__()
        self.lifts, self.stops, self._known = [], {}, {}

    def known(self) -> Any:
        """What got lanes so far, to be put back with `know`."""
        return [*self.lifts], {**self.stops}, {**self._known}

    def know(self, known: Any) -> None:
        self.lifts, self.stops, self._known = known

    def apply(self, op: Op, operands: Sequence[Any], params: dict[str, Any]) -> Any:
        """The op on what is below, by its batching rule."""
        xs, flags = [], []
        for x in operands:
            below, batched = self.parts(x) if isinstance(x, Layer) else (x, False)
            if self.lifting and not batched and isinstance(below, Tensor) and requires_grad(below):
                below, batched = self.full(below), True
            xs.append(below)
            flags.append(batched)
        if op is CUSTOM:
            return params["ctx"].map(self, xs, flags)
        if op.batch is for_all_lanes:
            return op(*xs, **params)
        try:
            if op.broadcasts:
                return self.layer(broadcast(op, self.n, xs, flags, params))
            z = batch(Application(op, self.n, xs, flags, params))
        except LanesDiffer as error:
            raise note(error) from None
        except Exception as error:
            if not isinstance(error, STATIC) and not self._all_raise(op, xs, flags, params):
                note(raised_in_some(op.name, error))
            raise
        return self.layer(z) if op.outputs == 1 else tuple(map(self.layer, z))

    def _all_raise(self, op: Op, xs: Sequence[Any], flags: Sequence[bool], params: dict[str, Any]) -> bool:
        """Whether an op raises in each lane, and the same: then the function goes one way in all of them."""
        raised: set[tuple[type, str]] = set()
        for k in range(self.n):
            try:
                op(*[ops.select(x, index=k) if flag else x for x, flag in zip(xs, flags)], **params)
            except Exception as error:
                raised.add((type(error), str(error)))
            else:
                return False
            if len(raised) > 1:
                return False
        return True

    def parts(self, x: Any) -> tuple[Any, bool]:
        """What is below a layer of this level, with the lanes in front, and whether there is one."""
        x = live(x)
        return (live(x._primal), True) if isinstance(x, Batched) and x._level is self else (x, False)

    def has(self, x: Any) -> bool:
        """Whether a tensor has a layer of this level, maybe below inner ones."""
        x = live(x)
        return isinstance(x, Layer) and (x._level is self or self.has(x._primal))

    def layer(self, x: Any) -> Batched:
        """The batched tensor whose lanes lie along the first axis of another."""
        return batched(x if isinstance(x, Tensor) else wrap(np.asarray(x)), self)

    def full(self, x: Tensor) -> Tensor:
        """A tensor that is the same in all lanes, with lanes; remembered if a sweep shall be parted here.

        What gets its lanes where nothing is recorded is not: no sweep would ever come to it.
        """
        if not (self.lifting and requires_grad(x) and current().recording):
            return ops.broadcast_to(x, shape=(self.n, *x._spec.shape))
        k = place_of(x), *versions(x)
        known = self._known.get(k)
        if known is None or versions(known[0]) != known[1]:  # the memory was changed in place since
            with_lanes = as_it_is(ops.broadcast_to(x, shape=(self.n, *x._spec.shape)))
            known = self._known[k] = with_lanes, versions(with_lanes), list(components(x))
            self.stops.update(dict.fromkeys(keys([with_lanes]), len(self.lifts)))
            self.lifts.append((as_it_is(x), with_lanes))
        return known[0]

    def lifted(self, x: Any) -> Any:
        """A tensor with lanes also where it is the same in all of them; inner levels stay around these."""
        x = live(x)
        if x is None or self.has(x):
            return x
        if isinstance(x, Layer) and x._level.depth > self.depth:
            return x.through(self.lifted)
        return self.layer(self.full(x))

    @staticmethod
    def spread(draw: Callable[[], Tensor]) -> Tensor:
        """What ``draw()`` gives, or what it gives for each of the lanes.

        Raises:
            RuntimeError: within a `vmap` whose randomness is ``"error"``.
        """
        levels = active()
        _check_allowed(levels)
        different = [level for level in levels if level.randomness == "different"]
        if not different:
            return draw()
        lengths = tuple([level.n for level in different])
        rows = [draw() for _ in range(max(math.prod(lengths), 1))]
        values = np.stack([row._data for row in rows])[: math.prod(lengths)]
        x: Tensor = wrap(values.reshape(*lengths, *values.shape[1:]))
        for level in different:
            x = level.layer(x)
        for part in components(x) if rows[0].requires_grad else ():
            part.requires_grad_()
        return x

    def lanes(self, x: Any) -> list[Any]:
        """A tensor lane by lane."""
        below, batched = self.parts(x)
        return [below[k] if batched else below for k in range(self.n)]

    def getitem(self, x: Any, index: Any) -> Any:
        """``x[index]`` with an index that differs from lane to lane: its arrays are operands of `lookup`."""
        form, arrays = form_of(index)
        return ops.lookup(x, *arrays, form=form)

    def with_values_at(self, x: Any, index: tuple[Any, ...], value: Any) -> Any:
        """`x` with values put at an index that differs from lane to lane."""
        first = live(index[0])
        if len(index) == 1 and first.dtype == np.bool_ and not shape_of(value):
            mask = ops.reshape(first, shape=(*first._spec.shape, *(1,) * (x.ndim - first.ndim)))
            return ops.where(mask, value, x)
        form, arrays = form_of(index)
        return ops.overwrite(x, value, *arrays, form=form)

    def gain(self, x: Tensor) -> Tensor:
        """A tensor with lanes, each with memory of its own."""
        return gained(ops.clone(self.full(x)), self)

    def differentiate(
        self, reverse: Callable[..., Any], outputs: Sequence[Any], weights: Sequence[Any], inputs: Sequence[Any],
        retain: bool, create: bool, unused: bool,
    ) -> list[Any]:  # fmt: skip
        """Gradients lane by lane, at once.

        Lanes do not meet, so that for batched inputs the gradient of the sum over lanes is that of every
        lane.  An input that is the same in all lanes has an adjoint for each of them: the sweep stops where
        it got its lanes, and goes on from there with batched adjoints.
        """
        found: list[Any] = [None] * len(inputs)
        mine = [i for i, x in enumerate(inputs) if self.parts(x)[1]]
        others = [i for i in range(len(inputs)) if i not in mine]
        inside = [(self.parts(z)[0], self._weight(z, w)) for z, w in zip(outputs, weights) if self.parts(z)[1]]
        inside = [(z, w) for z, w in inside if requires_grad(z)]
        outside = [(z, w) for z, w in zip(outputs, weights) if not self.parts(z)[1] and requires_grad(z)]
        lifts = self._met([z for z, _ in inside], [inputs[i] for i in others]) if inside and others else []
        if inside:
            targets = (*[self.parts(inputs[i])[0] for i in mine], *[lifted for _, lifted in lifts])
            again = retain or bool(others)  # a sweep at outer levels may go past these targets, to where it is next
            reached = reverse(*map(tuple, zip(*inside)), targets, again, create, True) if targets else []
            for i, g in zip(mine, reached):
                found[i] = None if g is None else self.layer(g)
            outside += [(x, self.layer(g)) for (x, _), g in zip(lifts, reached[len(mine) :]) if g is not None]
        if others and outside:
            reached = self._from_outside(reverse, outside, [inputs[i] for i in others], retain, create)
            for i, g in zip(others, reached):
                found[i] = g
        if not unused:
            check_used(found, inputs)
        return found

    def _weight(self, z: Any, w: Any) -> Tensor:
        """The weight of a batched output, with lanes."""
        if w is None:
            implicit(z._spec, "in each lane this one")
            below = z._primal._spec
            return wrap(np.ones(below.shape, below.dtype))
        below, batched = self.parts(w)
        return below if batched else self.full(below)

    def _met(self, inside: Sequence[Any], others: Sequence[Any]) -> list[tuple[Tensor, Tensor]]:
        """The lifts that batched outputs depend on, of which inputs without lanes get their gradients.

        Raises:
            LanesDiffer: if the outputs depend on one of these in a way that does not tell the lanes apart; then
                directions of `jacfwd` are taken one by one.
        """
        behind = set(history(inside, self.stops))
        if not keys(map(bottom, others)).isdisjoint(behind):
            raise LanesDiffer(
                "within vmap, an output that differs from lane to lane is differentiated with respect to a tensor that "
                "is the same in all of them, and the lanes' parts of the gradient have been added up on the way.\n"
                "Use tape.func.grad, vjp or jacrev of a function that takes this tensor as an argument."
            )
        if program_records() is not None:  # where the history is not to be seen from here
            return list(self.lifts)
        return [self.lifts[i] for i in sorted({self.stops[k] for k in behind & self.stops.keys()})]

    def _from_outside(
        self, reverse: Callable[..., Any], pairs: Sequence[Any], inputs: Sequence[Any], retain: bool, create: bool
    ) -> list[Any]:
        """Gradients of outputs that are the same in all lanes, with weights that are not."""
        zs, ws = map(tuple, zip(*pairs))
        if not any(self.parts(w)[1] for w in ws):
            return reverse(zs, ws, tuple(inputs), retain, create, True)
        if not any(isinstance(live(x), Layer) for x in (*zs, *inputs, *[self.parts(w)[0] for w in ws])):
            return reverse(tuple(map(live, zs)), ws, tuple(map(live, inputs)), retain, create, True, True)
        columns = zip(*[self.lanes(w) if w is not None else [None] * self.n for w in ws])
        rows = [
            reverse(zs, tuple(column), tuple(inputs), retain or k < self.n - 1, create, True)
            for k, column in enumerate(columns)
        ]
        return [None if g[0] is None else self.layer(ops.stack(*g, axis=0)) for g in zip(*rows)] or [None] * len(inputs)


def bottom(x: Any) -> Any:
    """The ordinary tensor of the outermost primal: what a sweep looks for, of an input that moves."""
    while isinstance(x := live(x), Layer):
        x = x._primal
    return x


def versions(x: Any) -> list[int]:
    """How often the memory of a tensor's parts was changed in place."""
    return [count(part) if part._inference else part._version for part in components(x)]


def place_of(x: Any) -> Any:
    """Where a tensor is in the history: its record, or which leaf or constant it is; of layers, level by level."""
    x = live(x)
    if isinstance(x, Layer):
        return x._level, *map(place_of, x.below())
    return x._node if x is not None and type(x._node) is int else id(x)


def as_it_is(x: Any) -> Any:
    """A tensor that stays in its place in the history when the given one is changed in place."""
    if isinstance(x, Layer):
        return x.through(as_it_is)
    return None if x is None else x._pinned()


def check_used(found: Sequence[Any], inputs: Sequence[Any]) -> None:
    """Raise RuntimeError if an input got no gradient."""
    for i, (g, x) in enumerate(zip(found, inputs)):
        if g is None:
            raise unused_error(i, x._spec.shape)


def lanes_of(x: Any, level: Batch, axis: int | None) -> Any:
    """A tensor with its lanes in front at a level, given the axis along which they lie."""
    if axis is None:
        return x
    return batched(x if axis == 0 else ops.movedim(x, axis, 0), level)


def _check_allowed(levels: Sequence[Batch]) -> None:
    if any(level.randomness == "error" for level in levels):
        raise RuntimeError(
            "vmap: called random operation while in randomness error mode, where it is not clear whether all lanes "
            "shall get the same numbers.\nPass randomness='same' or randomness='different' to vmap, or draw the "
            "numbers outside of it."
        )


def check_redraw(tensor: Any) -> None:
    """Raise RuntimeError if random numbers cannot be put into a tensor as the randomness of `vmap` says."""
    _check_allowed(active())
    for level in active():
        if level.has(tensor) != (level.randomness == "different"):
            raise RuntimeError(
                f"vmap: random numbers with randomness={level.randomness!r} cannot be put in place into a tensor that "
                f"{'differs from lane to lane' if level.has(tensor) else 'is the same in all lanes'}.\nMake a new "
                "tensor of random numbers instead, such as tape.rand_like(x)."
            )
