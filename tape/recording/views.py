"""Views: which tensor looks at whose memory, and how to find every one that is alive.

A view holds its parent, so that the base lives as long as somebody looks at it, and the parent's
`Views`, whose reference count therefore says how many views there are.  Making a view costs no more
than that as long as nobody asks which they are: the first in-place change that meets some finds
them through the garbage collector, and from then on each is noted as it is made.

A single element, ``x[i]``, is a NumPy scalar and shares no memory.  It is a view all the same: it is
written back, or read again, when one of the two changes.
"""

from __future__ import annotations

import gc
import inspect
import sys
import weakref
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ops import REGISTRY, Op
from ops.shapes import overwriting
from ops.shapes.overwriting import Steps

from ..base.row import PARAMS
from ..base.spec import spec_of
from ..base.tensor import Tensor
from ..base.untraced import thaw, untraced
from .wengert import row_of

SELECT, GETITEM = REGISTRY["select"], REGISTRY["getitem"]
NUMBERS = {int}
UNTRACKED, INFERRED, SEVERAL = "without recording", "while inferring", "one of several"
CUSTOM, SEVERAL_CUSTOM = "of a custom function", "one of several of a custom function"
"""Why a view must not be changed in place where the change is recorded."""
DEEPEST = 16


class ViewStep(NamedTuple):
    """How a view is made of its parent.

    Attributes:
        parent: the tensor it looks at.
        steps: the ops that lead there, as `ops.put_view` takes them.
        bar: why the view must not be changed in place where that is recorded, or None.
        depth: how many looks lie between the view and its base.
        is_behind: whether its memory was changed since, while the base had no history that the view could follow to.
    """

    parent: Tensor
    steps: Steps
    bar: str | None
    depth: int
    is_behind: bool = False


class Views:
    """The views of one tensor.

    Attributes:
        owners: the tensor and its detached twins, which share the memory but know views of their own.
        up: the `Views` that the tensor is itself among.
        known: the views that have been noted, by identity.
    """

    __slots__ = ("__weakref__", "known", "limit", "owners", "up")

    def __init__(self, owner: Tensor, up: weakref.ref[Views] | None):
        self.owners = [weakref.ref(owner)]
        self.up = up
        self.known: dict[int, weakref.ref[Tensor]] = {}
        self.limit = 16

    def note(self, view: Tensor) -> None:
        """Remember a view; now and then forget those that are gone."""
        self.known[id(view)] = weakref.ref(view)
        if len(self.known) > self.limit:
            self.known = {id(v): weakref.ref(v) for v in self.noted()}
            self.limit = max(16, 2 * len(self.known))

    def noted(self) -> list[Tensor]:
        """The noted views that are alive."""
        return [v for v in [r() for r in list(self.known.values())] if v is not None]

    def join(self, twin: Tensor) -> None:
        """Add a detached twin to the owners."""
        self.owners[:] = [r for r in self.owners if r() is not None]
        twin._views = other = Views(twin, self.up)
        other.owners = self.owners
        self.owners.append(weakref.ref(twin))


def views_of(tensor: Tensor) -> Views:
    """The `Views` of a tensor, made when they are first asked for."""
    views = getattr(tensor, "_views", None)
    if views is None:
        among = getattr(tensor, "_among", None)
        views = tensor._views = Views(tensor, among and weakref.ref(among))
    return views


def _holders(tensor: Tensor) -> int:
    return sys.getrefcount(tensor._views)


def _nobody() -> int:
    tensor: Tensor = object.__new__(Tensor)
    tensor._views = Views(tensor, None)
    return _holders(tensor)


_NOBODY = untraced(_nobody)
"""What `_holders` says of a tensor without views."""


def children(tensor: Tensor) -> list[Tensor]:
    """The views of a tensor that are alive."""
    if getattr(tensor, "_views", None) is None or _holders(tensor) == _NOBODY:
        return []
    if not WATCH.on:
        watch()
    return tensor._views.noted()


class Watch:
    """Whether views are noted as they are made."""

    __slots__ = ("on",)

    def __init__(self) -> None:
        self.on = False


WATCH = Watch()


def watch() -> None:
    """Note every view from now on, and those that are there already."""
    WATCH.on = True
    thaw()
    slot = Tensor.__dict__["_among"]  # a layer of a transformation shows its primal's; its own is empty
    for x in gc.get_objects():
        if issubclass(type(x), Tensor):
            try:
                slot.__get__(x).note(x)
            except AttributeError:
                continue


def family(tensor: Tensor) -> Iterator[Tensor]:
    """Every living view of a tensor's base, at any depth, each after its parent; detached ones too."""
    views = getattr(tensor, "_among", None) or getattr(tensor, "_views", None)
    while views is not None and views.up is not None and (above := views.up()) is not None:
        views = above
    stack = [] if views is None else _owners(views)
    while stack:
        for view in children(stack.pop()):
            yield view
            below = getattr(view, "_views", None)
            stack += [] if below is None else _owners(below)


def _owners(views: Views) -> list[Tensor]:
    return [t for t in [r() for r in views.owners] if t is not None]


def owners(tensor: Tensor) -> list[Tensor]:
    """The tensor and its detached twins, as far as they are alive."""
    views = getattr(tensor, "_views", None)
    return [tensor] if views is None else _owners(views)


def look_of(view: Tensor) -> ViewStep | None:
    """How a view is made of its parent; None for a tensor that is no view.

    A view as it is made holds less: the short way of ``x[i]`` the parent alone, or with the index where
    nothing was recorded; `attach` its own arguments.
    """
    of = getattr(view, "_of", None)
    if of is None or type(of) is ViewStep:
        return of
    if type(of) is not tuple:
        of = of, SELECT, {"index": row_of(view._node)[PARAMS][0]}, True, None
        is_alone = True
    else:
        is_alone = len(of) == 3 or of[4] is None
        of = of if len(of) == 5 else (of[0], SELECT, {"index": of[1]}, of[2], None)
    parent, op, params, recording, output = of
    step = op.name, tuple(params.items()), output
    bar = (None if is_alone else SEVERAL) if recording else INFERRED if recording is None else UNTRACKED
    made = view._of = _look(parent, (step,), bar)
    if made.parent is not parent:
        _move(view, made.parent)
    return made


def _move(view: Tensor, parent: Tensor) -> None:
    """Let a view be found with those of another parent: the one that it was made of may go from now on."""
    if (among := getattr(view, "_among", None)) is not None:
        among.known.pop(id(view), None)
        view._among = views_of(parent)
        if WATCH.on:
            view._among.note(view)


def infer(view: Tensor) -> None:
    """Note of a view just made that this was in inference mode: whether it was recorded is then None."""
    of = getattr(view, "_of", None)
    if type(of) is tuple:
        place = 3 if len(of) == 5 else 2
        view._of = (*of[:place], None, *of[place + 1 :])


def _look(parent: Tensor, steps: Steps, bar: str | None) -> ViewStep:
    above = look_of(parent)
    if above is None:
        return ViewStep(parent, steps, bar, 1)
    if above.depth >= DEEPEST:
        return _shortened(parent, steps, bar or above.bar)
    return ViewStep(parent, steps, bar or above.bar, above.depth + 1)


def _shortened(parent: Tensor, steps: Steps, bar: str | None) -> ViewStep:
    """A look that leads from the base to a view at once, so that chains of views do not grow for ever."""
    base, path = path_to(parent)
    steps = (*path, *steps)
    cells = overwriting.cells(shell(base), steps)
    flat: Steps = ("reshape", (("shape", (-1,)),), None), ("getitem", (("index", cells),), None)
    if overwriting.crosses(steps):
        first = (("view_as_real", (), None),) if base._spec.complex else ()
        last = (("view_as_complex", (), None),) if overwriting.look(shell(base), steps).dtype.kind == "c" else ()
        flat = (*first, *flat, *last)
    return ViewStep(base, flat, bar, 1)


def shell(tensor: Tensor) -> np.ndarray:
    """An array of a tensor's shape and dtype that takes no memory."""
    return np.broadcast_to(np.zeros((), tensor._spec.dtype), tensor._spec.shape)


def path_to(view: Tensor) -> tuple[Tensor, Steps]:
    """The base of a view, and the steps that lead from there to the view."""
    steps: Steps = ()
    while (above := look_of(view)) is not None:
        view, steps = above.parent, (*above.steps, *steps)
    return view, steps


def base_of(tensor: Tensor) -> Tensor:
    """The tensor itself, or the one that it is, through whatever other views, a view of."""
    while (above := getattr(tensor, "_of", None)) is not None:
        tensor = above if isinstance(above, Tensor) else above[0]
    return tensor


def counted_with(tensor: Tensor) -> Tensor:
    """The tensor that counts the changes of this one: its base, or one of several views with a history."""
    while tensor._versions is None and (of := getattr(tensor, "_of", None)) is not None:
        tensor = of if isinstance(of, Tensor) else of[0]
    return tensor


def attach(
    view: Tensor, parent: Tensor, op: Op, params: dict[str, Any], recording: bool, output: int | None = None
) -> Tensor:
    """Make the result of an op that gives views a view, if it shares the operand's memory or is an element of it."""
    x, z = parent._data, view._data
    if type(x) is not np.ndarray:
        x = materialise(parent)
        z = op.forward(x, **params)
        z = z if output is None else z[output]
        view._data = z
    if type(z) is np.ndarray:
        if z is x:
            view._data = x[...]
        elif z.base is not x and (z.base is None or owner(z) is not owner(x)):
            return view
    elif op.view is not True and not _gives_view(op, params):
        return view
    place_among(view, parent, (parent, op, params, recording, output))
    return view


def place_among(view: Tensor, parent: Tensor, of: tuple[Tensor, Op, dict[str, Any], bool, int | None]) -> None:
    """Let a tensor be one of the views of a parent, made of it in this way (see `attach`)."""
    view._of = of
    if parent._readonly:
        view._readonly = True
    if hasattr(parent, "_of"):
        parent = look_of(view).parent  # type: ignore[union-attr]  # a long chain of views is shortened as it grows
    try:
        views = view._among = parent._views
    except AttributeError:
        views = view._among = views_of(parent)
    if WATCH.on:
        views.note(view)


def _gives_view(op: Op, params: dict[str, Any]) -> bool:
    if op is GETITEM and type(index := params["index"]) is tuple and set(map(type, index)) == NUMBERS:
        return True
    return op.view(**{name: params.get(name, op.params.get(name)) for name in _names(op.view)})  # type: ignore[operator]


@cache
def _names(fact: Any) -> tuple[str, ...]:
    return tuple(inspect.signature(fact).parameters)


def link(view: Tensor, parent: Tensor, steps: Steps, bar: str | None) -> Tensor:
    """Make a tensor, whose value is there already, a view of another one."""
    view._of = _look(parent, steps, bar)
    views = view._among = views_of(view._of.parent)
    if WATCH.on:
        views.note(view)
    return view


def twin(tensor: Tensor, other: Tensor) -> Tensor:
    """Let a tensor on the same memory that is no view of it, such as a detached one, be found with its views."""
    if type(tensor._data) is np.ndarray or getattr(tensor, "_among", None) is not None:
        views_of(tensor).join(other)
    return other


def alone(tensor: Tensor) -> Tensor:
    """Let a tensor be no view of what it was made of, which nobody has, and whose value no record has saved."""
    if type(tensor) is Tensor and hasattr(tensor, "_of"):
        del tensor._of, tensor._among
    return tensor


def owner(array: Any) -> Any:
    """The array that a view is a view of; a scalar itself."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def leave(view: Tensor) -> Tensor:
    """Let an element that was just read be a value of its own, which no change of the memory reaches."""
    among = getattr(view, "_among", None)
    if among is not None:
        among.known.pop(id(view), None)
        del view._among
    if hasattr(view, "_of"):
        del view._of
    return view


def is_related(tensor: Tensor) -> bool:
    """Whether a tensor is a view, or has views."""
    return getattr(tensor, "_among", None) is not None or bool(children(tensor))


def materialise(tensor: Tensor) -> np.ndarray:
    """The value as an array whose memory others can share; a scalar is moved into one first."""
    if type(tensor._data) is not np.ndarray:
        above, tensor._was = look_of(tensor), tensor._data
        tensor._data = np.array(tensor._data) if above is None else _element(materialise(above.parent), above.steps)
        tensor._spec = spec_of(tensor._data)
    return tensor._data


def _element(memory: np.ndarray, steps: Steps) -> np.ndarray:
    """One element as an array without axes on the same memory."""
    if not steps:
        return memory[...]
    name, params, _ = steps[-1]
    if len(steps) == 1 and name in ("select", "getitem"):
        index: Any = dict(params)["index"]
        return memory[(*index, ...) if isinstance(index, tuple) else (index, ...)]
    numbers = overwriting.cells(memory, steps)
    if not overwriting.crosses(steps):
        return _cell(memory, int(numbers))
    if memory.dtype.kind == "c":
        pair = _cell(memory, int(numbers.flat[0]) // 2)
        return pair if numbers.ndim else pair.imag if numbers % 2 else pair.real
    first = _cell(memory, int(numbers.flat[0]))
    if not numbers.ndim:
        return first
    pair = np.lib.stride_tricks.as_strided(first, (2,), (first.itemsize,))
    return pair.view(np.result_type(first.dtype, np.complex64))[0, ...]


def _cell(memory: np.ndarray, number: int) -> np.ndarray:
    """One element of an array, counted in row-major order, as an array without axes on its memory."""
    place: Any = np.unravel_index(number, memory.shape) if memory.ndim else ()
    return memory[(*place, ...)]


def elements(tensor: Tensor) -> list[Tensor]:
    """The single elements, which share no memory, among the views of a tensor's base; parents first."""
    return [view for view in family(tensor) if type(view._data) is not np.ndarray and hasattr(view, "_of")]


def refresh(element: Tensor) -> None:
    """Read an element again."""
    above = look_of(element)
    assert above is not None
    element._data = overwriting.look(above.parent._data, above.steps)[()]


def sever(tensor: Tensor) -> Tensor:
    """Leave a tensor's memory to its views and to its base, because it is about to get another one; what it was."""
    past = object.__new__(type(tensor))
    past._data, past._node, past._spec = tensor._data, tensor._node, tensor._spec
    past._versions, past._silent = tensor._versions, tensor._silent
    replace(tensor, past)
    return past


def replace(tensor: Tensor, other: Tensor) -> None:
    """Let another tensor take a tensor's place among the views of its memory, and as the parent of its own."""
    for view in children(tensor):
        above = look_of(view)
        assert above is not None
        view._of = above._replace(parent=other)
    for name in ("_of", "_among", "_views"):
        if hasattr(tensor, name):
            setattr(other, name, getattr(tensor, name))
            delattr(tensor, name)
    known, among = getattr(other, "_views", None), getattr(other, "_among", None)
    if known is not None:
        known.owners[:] = [r for r in known.owners if r() is not tensor] + [weakref.ref(other)]
    if among is not None:
        among.known.pop(id(tensor), None)
        among.note(other)
