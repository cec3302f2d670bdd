"""Arrays that gain lanes, because something that differs from lane to lane of `vmap` is written into them.

All that look at the memory gain them together: the array itself, and whatever is a view of it or what it is a view of.
Their tensors stay what they are; the arrays go on with others, which lie in the new memory as those lay in the old one.
"""

from __future__ import annotations

import gc
from typing import Any

from ops.shapes.overwriting import look

from ...base.tensor import Tensor
from ...base.untraced import thaw
from ...recording.level import Layer, components, gained, levels_of, live, memories
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
        _all_gain(held, missing)


def _is_shared(held: Tensor) -> bool:
    return bool(lent_of(held)) or any(len(found[1]) > 1 if (found := x._lookers()) else True for x in components(held))


def _all_gain(held: Tensor, levels: list[Any]) -> None:
    """Let the arrays that look at a tensor's memory have layers of some levels."""
    found = held._lookers()
    if found is None or lent_of(held):
        raise _unseen()
    base, lookers = found
    whole = gained(base, levels)
    seen = {id(tensor): look(whole, steps) for tensor, steps in lookers}
    if any(memories(made) != memories(whole) for made in seen.values()):
        raise _unseen()
    thaw()
    for array in gc.get_referrers(*[tensor for tensor, _ in lookers]):
        if type(array) is Array and id(array._tensor) in seen:
            readonly = array._tensor._readonly
            array._tensor = seen[id(array._tensor)]
            if readonly:
                array._tensor._readonly = True


def _unseen() -> TypeError:
    where, _, _ = asked()
    return TypeError(
        "vmap: a value that differs from lane to lane is written into an array that is the same in all of "
        f"them, and at whose memory something else looks that would not see the lanes.\n  at {where}\n"
        "Write before you look at it in another way, y[:1] = y[:1] + x in the place of y[:1] += x, or make it with "
        "np.zeros_like of a mapped value."
    )
