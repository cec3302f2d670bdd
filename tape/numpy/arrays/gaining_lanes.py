"""Arrays that gain lanes or tangents, because something that has some is written into them.

All that look at the memory gain them together: the array itself, and whatever is a view of it or what it is a view of.
Their tensors stay what they are; the arrays go on with others, which lie in the new memory as those lay in the old one.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from typing import Any

from ops.shapes.overwriting import look

from ...base.tensor import Tensor
from ...base.untraced import COUNTS, UNCOUNTED, thaw
from ...recording.level import Layer, components, gained, levels_of, live, memories
from ...recording.views import look_of
from .face import Array
from .leaving import asked
from .lent import lent_of


def hold(y: Array, value: Any) -> None:
    """Let an array have the lanes of what is to be written into it.

    Raises:
        TypeError: if others share its memory who would not see them.
    """
    if not isinstance(value, Layer):
        return
    held = live(y._tensor)
    has = set(levels_of(held))
    missing = [level for level in levels_of(value) if level not in has]
    if all(level.moves for level in missing) and not (missing and any(level.in_front for level in has)):
        return  # what moves alone is written where it lies: `tape.memory.adopting`
    if isinstance(held, Layer):
        if _is_shared(held):
            raise _unseen()
        y._tensor = gained(held, missing)
    else:
        found = held._lookers()
        if found is None or lent_of(held):
            raise _unseen()
        del held  # who refers to it is counted
        _all_go_on(y, found, gained(found[0], missing))


def move_together(y: Array, value: Layer) -> None:
    """Let an array that stands for a record move as what is to be written into it, with all that share its memory.

    Where it is not known who these are it stays as it is.
    """
    held = live(y._tensor)
    found = held._lookers()
    if found is None or lent_of(held):
        return
    del held
    _all_go_on(y, found, value._moving(found[0]))


def _is_shared(held: Tensor) -> bool:
    return bool(lent_of(held)) or any(len(found[1]) > 1 if (found := x._lookers()) else True for x in components(held))


def _all_go_on(y: Array, found: tuple[Tensor, list[tuple[Tensor, Any]]], whole: Any) -> None:
    """Let the arrays that look at the memory of a base go on with that of another tensor; `y` is one of them."""
    arrays = _looking(y, found)
    seen = {id(tensor): look(whole, steps) for tensor, steps in found[1]}
    if any(memories(made) != memories(whole) for made in seen.values()):
        raise _unseen()
    for array in arrays:
        readonly = array._tensor._readonly
        array._tensor = seen[id(array._tensor)]
        if readonly:
            array._tensor._readonly = True


def _looking(y: Array, found: tuple[Tensor, list[tuple[Tensor, Any]]]) -> list[Array]:
    """The arrays that have one of the tensors which look at the memory of a base; `y` is one of them.

    How many there are is counted, and most are young: only where not all are found so is everything looked at, which
    takes the longer the more else a program holds.
    """
    tensors = [tensor for tensor, _ in found[1]]
    seen = {id(tensor) for tensor in tensors}
    arrays = _arrays_among([y], seen)
    if COUNTS:
        held = _held(tensors, any(found[0] is tensor for tensor in tensors))
        for generation in range(2):
            if len(arrays) == held:
                return list(arrays.values())
            arrays |= _arrays_among(gc.get_objects(generation), seen)
        if len(arrays) == held:
            return list(arrays.values())
    thaw()
    return list(_arrays_among(gc.get_referrers(*tensors), seen).values())


def _arrays_among(things: Sequence[Any], seen: set[int]) -> dict[int, Array]:
    return {id(x): x for x in things if type(x) is Array and id(getattr(x, "_tensor", None)) in seen}


def _held(tensors: list[Tensor], has_base: bool) -> int:
    """How many refer to some tensors beside their views, this list, and what was found: arrays, and whoever else does.

    Never less than there are arrays: each has one reference, and what is taken off is there as well.
    """
    looks = {id(way): way for way in map(look_of, tensors) if way is not None}
    among = {id(tensor) for tensor in tensors}
    parents = sum(id(way.parent) in among for way in looks.values())
    count = sum(sys.getrefcount(tensors[k]) - UNCOUNTED - 2 for k in range(len(tensors)))
    return count - has_base - parents


def _unseen() -> TypeError:
    where, _, _ = asked()
    return TypeError(
        "vmap: a value that differs from lane to lane is written into an array that is the same in all of "
        f"them, and at whose memory something else looks that would not see the lanes.\n  at {where}\n"
        "Write before you look at it in another way, y[:1] = y[:1] + x in the place of y[:1] += x, or make it with "
        "np.zeros_like of a mapped value."
    )
