"""Tensors that begin to move, because something that moves is written into their memory.

All that look at the memory begin to move together: the base gets a tangent of zeros, and each of its
views a view of that, made by the same steps.  The tensors that the user holds become layers; new
ones below take over what they held, and their places among the views.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator

from ops.shapes.overwriting import look

from ..base.tensor import Tensor
from ..recording.level import Layer, components, live
from ..recording.recorder import wrap
from ..recording.views import ViewStep, base_of, children, is_related, look_of, replace

Dress = Callable[[Tensor, Tensor, Tensor], None]
"""Makes a tensor a layer: of a tensor below, with a tangent."""


def adopt(target: Tensor, tangent: Callable[[Tensor], Tensor], dress: Dress) -> None:
    """Let a tensor move that does not move yet, with all that look at its memory.

    Args:
        tangent: gives the first tangent of a tensor.

    Raises:
        RuntimeError: if views of the memory cannot be found, or it is not known how they are made.
    """
    below = live(target)
    for part in components(below):
        part._refuse_recording("a value with a tangent was written into a tensor without one")
    if isinstance(below, Layer):
        _check_alone(below)
        dress(below, _moved_out(below), tangent(below))
    else:
        _adopt_all(below, tangent, dress)


def worn(below: Tensor) -> Tensor | None:
    """The tensor that the user holds, which became a layer of this one."""
    return None if below._worn is None else below._worn()


def _adopt_all(tensor: Tensor, tangent: Callable[[Tensor], Tensor], dress: Dress) -> None:
    """Let the base of a tensor move, and all of its views."""
    base = base_of(tensor)
    tangents = {id(base): tangent(base)}
    found = [(base, tangents[id(base)])]
    for view, above in views_below(base):
        if id(above.parent) in tangents and view._spec.inexact:
            if not above.steps:
                raise _unknown("a custom function has returned a view of it, and only the function knows which")
            tangents[id(view)] = look(tangents[id(above.parent)], above.steps)
            found.append((view, tangents[id(view)]))
    tops = []
    for x, x_dot in found:
        outer = worn(x)
        if outer is None or live(outer) is not x:
            dress(x, _moved_out(x), x_dot)
            tops.append(x)
        else:
            dress(outer, x, x_dot)
            tops.append(outer)
    for view in tops[1:]:
        view._held = tops[0]  # as the view held its base before


def views_below(base: Tensor) -> Iterator[tuple[Tensor, ViewStep]]:
    """The living views of a tensor and how they are made, each after its parent."""
    stack = [base]
    while stack:
        for view in children(stack.pop()):
            above = look_of(view)
            assert above is not None
            yield view, above
            stack.append(view)


def _moved_out(target: Tensor) -> Tensor:
    """Another tensor with everything that a tensor holds, which itself holds nothing any more."""
    if isinstance(target, Layer):
        return target.over(lambda x: x)
    below = wrap(target._data, target._node, target._spec)
    outer = target._worn
    below.__dict__.update(target.__dict__)
    target.__dict__.clear()
    target._worn = outer
    target._data = target._node = None  # these would count as somebody else's references
    replace(target, below)
    below._worn = weakref.ref(target)
    return below


def _check_alone(layer: Tensor) -> None:
    if any(map(is_related, components(layer))):
        raise _unknown("it moves in another direction too, or differs from lane to lane, as its views do")


def _unknown(why: str) -> RuntimeError:
    return RuntimeError(
        "a value that carries a tangent is written into a tensor without one, which shares its memory with views that "
        f"would miss the tangent: {why}.\nWrite into a tensor of its own: y = y.clone() before the views are taken, "
        "y = y.copy() for an array."
    )
