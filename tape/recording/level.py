"""Levels of transformation: who applies an op when tensors of several transformations meet.

A transformation under way (a directional derivative, …) is a `Level`.  Its tensors are `Layer`
tensors around tensors of the levels outside of it.  An op goes to the innermost level among its
operands, which takes its own layer off and applies what it makes of the op to what is below.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from heapq import heapify, heappop, heappush
from types import CodeType
from typing import Any

import ops
from ops import Op
from ops.shapes.index import is_basic

from ..base.tensor import Tensor
from .functionalising import functionalise
from .indexing import LayeredIndex, plain_index
from .kept_values import tell_of_kept
from .laying import laid_as_picked
from .wengert import current, key, operands_of

depths = itertools.count()
_thread = threading.local()


def begun() -> list[int]:
    """The depths of the transformations that this thread is in, the outermost first."""
    try:
        return _thread.begun
    except AttributeError:
        _thread.begun = []
        return _thread.begun


@contextmanager
def within() -> Iterator[None]:
    """In a transformation without a level of its own."""
    depth = next(depths)
    begun().append(depth)
    try:
        yield
    finally:
        begun().remove(depth)


def active() -> list[Any]:
    """The levels with lanes that this thread is in, the outermost first."""
    try:
        return _thread.batches
    except AttributeError:
        _thread.batches = []
        return _thread.batches


class ProgramRecords:
    """What is asked of the records of a function that is being recorded, where it takes derivatives.

    Attributes:
        taken: what is known of the derivatives that it has taken.
    """

    taken: Any = None

    def latest(self) -> int:
        """The number of the last record."""
        raise NotImplementedError

    def operands(self, k: int) -> tuple[int, ...]:
        """The records that a gradient flows to from one."""
        raise NotImplementedError

    def own(self, parts: Iterable[Any]) -> set[int]:
        """The records that ordinary tensors stand for, of those among them that are recorded."""
        raise NotImplementedError

    def line(self, k: int) -> tuple[CodeType, int]:
        """The user's line that made a record: a code object and an offset in it."""
        raise NotImplementedError


def program_records() -> ProgramRecords | None:
    """The records of the innermost function that this thread is recording, None if it records none."""
    return getattr(_thread, "records", None)


def is_of_program(x: Tensor) -> bool:
    """Whether an ordinary tensor stands for a record of the function that this thread is recording."""
    records = program_records()
    return records is not None and bool(records.own((x,)))


@contextmanager
def recording_on(records: ProgramRecords) -> Iterator[None]:
    """While a function is recorded."""
    outer, _thread.records = program_records(), records
    try:
        yield
    finally:
        _thread.records = outer


@contextmanager
def as_before() -> Iterator[None]:
    """What the levels with lanes come to know of tensors meanwhile, they forget: these are of a recording."""
    known = [(level, level.known()) for level in active()]
    try:
        yield
    finally:
        for level, before in known:
            level.know(before)


class Level:
    """One transformation under way; a later level is an inner one.

    When the level is left its layers are taken off: they are the tensors below them from then on.

    Attributes:
        alive: whether it has not been left.
        depth: a number that is larger for a later level.
        in_front: how many axes of lanes a layer of this level has in front of its own.
        moves: whether its layers carry tangents.
    """

    __slots__ = ("alive", "depth")

    in_front = 0
    moves = False

    def __init__(self) -> None:
        self.depth = next(depths)
        self.alive = True

    def __enter__(self) -> Any:
        begun().append(self.depth)
        return self

    def __exit__(self, *_: Any) -> None:
        begun().remove(self.depth)
        self.alive = False

    def apply(self, op: Op, operands: Sequence[Any], params: dict[str, Any]) -> Any:
        """Apply an op to operands of which at least one has a layer of this level, and none an inner one."""
        raise NotImplementedError(f"{type(self).__name__} does not say how ops apply at its level")

    @staticmethod
    def spread(draw: Callable[[], Tensor]) -> Tensor:
        """What ``draw()`` gives, or what it gives for each of the lanes that this thread is in."""
        return draw()

    def differentiate(
        self, reverse: Callable[..., Any], outputs: Sequence[Any], weights: Sequence[Any], inputs: Sequence[Any],
        retain: bool, create: bool, unused: bool,
    ) -> list[Any]:  # fmt: skip
        """Gradients where at least one of the tensors has a layer of this level, and none an inner one.

        ``reverse(outputs, weights, inputs, retain, create, unused)`` gives those at the levels below.
        """
        raise NotImplementedError(f"{type(self).__name__} does not say how to differentiate at its level")

    def getitem(self, x: Any, index: Any) -> Any:
        """``x[index]`` where part of the index has a layer of this level, and no part an inner one."""
        raise NotImplementedError(f"{type(self).__name__} does not say how to index at its level")

    def with_values_at(self, x: Any, index: tuple[Any, ...], value: Any) -> Any:
        """`x` with values put where part of the index has a layer of this level, and no part an inner one."""
        raise NotImplementedError(f"{type(self).__name__} does not say how to write by an index at its level")

    def gain(self, x: Tensor) -> Tensor:
        """A tensor, with memory of its own, as one that can hold what has a layer of this level."""
        raise NotImplementedError(f"{type(self).__name__} does not say how a tensor gains a layer of its level")


class Layer(Tensor):
    """A tensor that belongs to a level.

    Attributes:
        _primal: the tensor below, which may itself be a layer, of an outer level.
        _level: the level.
    """

    __slots__ = ()

    _primal: Tensor
    _level: Level

    @staticmethod
    def __bind__(op: Op, operands: Sequence[Any], params: dict[str, Any]) -> Any:
        level = innermost(operands)
        z = op(*map(live, operands), **params) if level is None else level.apply(op, operands, params)
        if any(map(is_kept, operands)) and any(part._spec.inexact for part in (z if op.outputs != 1 else (z,))):
            tell_of_kept()
        return z

    @staticmethod
    def _differentiate(
        reverse: Callable[..., Any], outputs: Sequence[Any], weights: Sequence[Any], inputs: Sequence[Any], *how: Any
    ) -> Any:
        level = innermost((*outputs, *weights, *inputs))
        if level is None:
            return reverse(*(tuple(map(live, xs)) for xs in (outputs, weights, inputs)), *how)
        return level.differentiate(reverse, outputs, weights, inputs, *how)

    def _with_lanes(self, made: Tensor) -> Tensor:
        """A new tensor made after the shape of this one, with the lanes that it has."""
        below = live(self._primal)
        return below._with_lanes(made) if isinstance(below, Layer) else made

    def _check_free(self, operation: str) -> None:
        if current().recording:
            for part in map(live, self.below()):
                if part is not None and (isinstance(part, Layer) or part._node is not None):
                    part._check_free(operation)

    def _alter(
        self, operation: str, compute: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]
    ) -> Tensor:
        if self._level.alive:
            return functionalise(self, operation, compute, args, named)
        live(self)._alter(operation, compute, args, named)
        return self

    def _before_change(self) -> Tensor:
        return self

    def _repeats(self) -> bool:
        return False

    def _check_shown(self, view: Tensor) -> bool:
        shown = [part._check_shown(other) for part, other in zip(components(self), components(view))]
        return all(shown)

    def changed(self, target: Tensor) -> Tensor:
        """The target of a change in place below that has made this: the target itself, if it can hold this."""
        return self

    def over(self, change: Callable[[Any], Any]) -> Any:
        """A layer like this one over something else than the tensor below."""
        raise NotImplementedError(f"{type(self).__name__} does not say how it is put over another tensor")

    def through(self, change: Callable[[Any], Any]) -> Any:
        """A layer like this one of all of its parts changed."""
        return self.over(change)

    def below(self) -> tuple[Any, ...]:
        """The tensors that this one is made of."""
        return (self._primal,)

    def _components(self) -> Iterator[Tensor]:
        return components(self)

    def __getitem__(self, index: Any) -> Tensor:
        z = self._read(index)
        return z if z._spec.ndim < 2 or is_basic(index) else laid_as_picked(z, self, index)

    def _read(self, index: Any) -> Tensor:
        try:
            plain = plain_index(index)
        except LayeredIndex:
            return read(self, index)
        return ops.getitem(self, index=plain)

    def _with_value_at(self, index: Any, value: Any) -> Tensor:
        try:
            plain = plain_index(index, own=True)
        except LayeredIndex:
            return write(self, index, value)
        return ops.index_put(self, value, index=plain)


def live(x: Any) -> Any:
    """A tensor without the layers whose level has been left."""
    while isinstance(x, Layer) and not x._level.alive:
        x = x._primal
    return x


def is_kept(x: Any) -> bool:
    """Whether a layer's level had been left before the innermost transformation that this thread is in began."""
    return isinstance(x, Layer) and not x._level.alive and bool(now := begun()) and x._level.depth < now[-1]


def innermost(xs: Iterable[Any]) -> Any:
    """The innermost level that one of these belongs to, or None."""
    found: Level | None = None
    for x in xs:
        if isinstance(x, Layer) and isinstance(x := live(x), Layer) and (found is None or x._level.depth > found.depth):
            found = x._level
    return found


def gained(x: Tensor, levels: Iterable[Level]) -> Any:
    """A tensor with memory of its own that can hold what has layers of these levels too."""
    for level in sorted(levels, key=lambda level: level.depth):
        x = _gained(x, level)
    return x


def _gained(x: Any, level: Level) -> Any:
    x = live(x)
    if isinstance(x, Layer) and x._level.depth > level.depth:  # inner levels stay around outer ones
        return x.through(lambda part: None if part is None else _gained(part, level))
    return level.gain(x)


def levels_of(x: Any) -> Iterator[Level]:
    """The levels that a tensor belongs to, from the innermost on."""
    while isinstance(x := live(x), Layer):
        yield x._level
        x = x._primal


def read(x: Any, index: Any) -> Any:
    """``x[index]`` where the index has layers: the innermost of its levels reads."""
    level, parts = _reader(index)
    if level is not None:
        return level.getitem(x, parts)
    reader = _recorded(parts)
    return x[parts] if reader is None else reader(x, parts)


def write(x: Tensor, index: Any, value: Any) -> Any:
    """`x` with a value put at an index that has layers: the innermost of its levels says how."""
    level, parts = _reader(index)
    if level is not None:
        return level.with_values_at(x, parts, value)
    reader = _recorded(parts)
    return x._with_value_at(parts, value) if reader is None else reader.write(x, parts, value)


def _recorded(parts: tuple[Any, ...]) -> Any:
    """What reads and writes at an index of which a part is being recorded; None if none is."""
    found = (part._index_reader() for part in parts if isinstance(part, Tensor))
    return next((reader for reader in found if reader is not None), None)


def _reader(index: Any) -> tuple[Level | None, tuple[Any, ...]]:
    """The innermost level of an index, and its parts."""
    parts = index if isinstance(index, tuple) else (index,)
    if any(isinstance(part, list) for part in parts):
        raise IndexError(
            "an index with a list of tensors that vmap maps over cannot be read; stack them: x[tape.stack([i, j])]"
        )
    level = innermost(parts)
    return level, tuple(map(live, parts)) if level is None else parts


def components(x: Any) -> Iterator[Tensor]:
    """The ordinary tensors that a tensor is made of: itself, or the parts of its layers."""
    x = live(x)
    if isinstance(x, Layer):
        for part in x.below():
            yield from components(part)
    elif x is not None:
        yield x


def memories(x: Any) -> list[int]:
    """Which memory the ordinary tensors lie in that a tensor is made of."""
    return [id(part._memory()) for part in components(x)]


def requires_grad(x: Any) -> bool:
    """Whether a tensor, or a part of one of its layers, has a history."""
    return any(part._node is not None for part in components(x))


def history(tensors: Iterable[Any], beyond: Container[int] = ()) -> Iterator[int]:
    """Keys of everything that tensors depend on: the records' handles, the leaves' negative identities.

    What lies behind one of the keys `beyond` is left out.
    """
    return history_of(keys(tensors), beyond)


def history_of(found: set[int], beyond: Container[int] = ()) -> Iterator[int]:
    """`history`, of tensors whose own keys have been found.

    The latest records come first, and each leaf before what else is behind the records that it is an operand of: who
    looks for one of these does not go far.
    """
    seen = {k for k in found if k < 0}
    yield from seen
    queue = [-k for k in found if k > 0]
    heapify(queue)
    while queue:
        k = -heappop(queue)
        if k in seen:
            continue
        seen.add(k)
        yield k
        for ref in operands_of(k) if k not in beyond else ():
            if type(ref) is int:
                heappush(queue, -ref)
            elif ref is not None and -id(ref) not in seen:
                seen.add(-id(ref))
                yield -id(ref)


def keys(tensors: Iterable[Any]) -> set[int]:
    """The keys of tensors' own records and leaves."""
    refs = [part if part._node is True else part._node for x in tensors for part in components(x)]
    return {key(ref) for ref in refs if ref is not None}
