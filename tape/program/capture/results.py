"""What a recorded function returned: how a replay gives it back, and whose memory it shows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np

from ops import Op
from ops.core.registry import OPS
from ops.shapes.overwriting import Steps, crosses, look

from ...base.spec import Spec
from ...base.tensor import Tensor
from ...base.tree import Again, Structure, build, build_again
from ...numpy.arrays.face import Array
from ...numpy.arrays.python_number import PythonNumber
from ...recording.inference import alike
from ...recording.level import Layer, live
from ...recording.recording_modes import no_grad
from ...recording.views import owner
from ..recorded.aliases import DETACHED, WHOLE, SharedMemory, is_look, way_to
from ..recorded.reach import origins
from ..recorded.trace import Trace, Untraceable, is_tracked
from ..recorded.traced import Traced
from ..world.surroundings import Surroundings
from .laid_results import Layouts

ARRAY, TENSOR, PYTHON, WITHOUT_AXES = KINDS = range(4)
"""What an output is given back as: an array with axes or a number of NumPy's, a tensor, a number of Python's, or an
array without axes."""


class OutputPlace:
    """Stands for an output in what a function returned."""

    __slots__ = ("number",)

    def __init__(self, number: int):
        self.number = number


class SharedResult(NamedTuple):
    """How a result shows memory that the caller has as well.

    Attributes:
        source: the number of an input, an array or tensor from around the function, or the place of an output.
        steps: how that is looked at.
        writeable: whether the result may be written.
        still: whether it was looked at where no gradients are recorded.
    """

    source: Any
    steps: Steps
    writeable: bool = True
    still: bool = False

    def of(self, outputs: Any, given: Sequence[Any]) -> Any:
        """The result of a call."""
        seen = self.source
        if type(seen) is int:
            seen = given[seen]
        elif type(seen) is OutputPlace:
            seen = outputs[seen.number]
        with no_grad() if self.still else nullcontext():
            for step in self.steps:
                seen, above = seen.detach() if step == DETACHED else look(seen, (step,)), seen
                if self.writeable and step[0] == "broadcast_to" and type(seen) is type(above) is np.ndarray:
                    seen = np.broadcast_arrays(above, seen)[0]  # which may be written if that may, and NumPy warns
        if not self.writeable:
            seen.flags.writeable = False
        return seen


Shown = dict[int, SharedResult]
"""By the number of a leaf among the results, what it shows; where leaves are one object, so is that."""


class Results:
    """What a function returned.

    Attributes:
        structure: how it is built.
        leaves: what is in it, a `OutputPlace` where an output goes.
        count: the number of outputs.
        flat: whether the outputs follow each other, with nothing else between them.
        kinds: what each output is given back as.
        shown: by the number of a leaf that shares memory with an argument, with an array around the function or with
            another result: which one that is, and how it is looked at.
        again: which tuples are the same objects as others, as some around the function, or among its arguments.
        layouts: how outputs lie in memory.
    """

    def __init__(
        self, structure: Structure, leaves: list[Any], kinds: Sequence[int], shown: Shown | None = None,
        again: Again | None = None, layouts: Layouts = (),
    ):  # fmt: skip
        self.again, self.layouts = again or {}, layouts
        self.structure, self.leaves, self.kinds, self.shown = structure, leaves, tuple(kinds), shown or {}
        self.count = count = len(self.kinds)
        places = [x.number if isinstance(x, OutputPlace) else -1 for x in leaves]
        self.flat = places == list(range(count)) and all(s.container is None for s in structure.inside)

    def build(self, outputs: Any, given: Sequence[Any] | None = None, arguments: Any = ()) -> Any:
        """The results of a call, for what varies in its arguments; without these all have memory of their own."""
        if self.shown and given is not None:
            made: dict[int, Any] = {}  # what is returned twice is one object
            return self._built([self._leaf(i, outputs, given, made) for i in range(len(self.leaves))], arguments)
        kind = self.structure.container
        if kind is None:
            return outputs[0] if self.count else copied(self.leaves[0])
        if self.flat and kind is tuple:
            return tuple(outputs)
        return self._built([outputs[x.number] if isinstance(x, OutputPlace) else copied(x) for x in self.leaves])

    def _built(self, leaves: list[Any], arguments: Any = ()) -> Any:
        if self.again:
            return build_again(self.structure, leaves, self.again, arguments)
        return build(self.structure, leaves)

    def _leaf(self, i: int, outputs: Any, given: Sequence[Any], made: dict[int, Any]) -> Any:
        if i in self.shown:
            shown = self.shown[i]
            if id(shown) not in made:
                made[id(shown)] = shown.of(outputs, given)
            return made[id(shown)]
        x = self.leaves[i]
        return outputs[x.number] if isinstance(x, OutputPlace) else copied(x)


def copied(x: Any) -> Any:
    """Something that is returned by every call, safe from what the caller does with it."""
    if isinstance(x, np.ndarray):
        is_spread = 0 in x.strides  # one number stands in several places, and gets memory of its own in each
        made = x.copy("C" if is_spread else "K")
        made.flags.writeable = is_spread or x.flags.writeable
        return made
    return alike(x.detach().clone(), x) if isinstance(x, Tensor) else x


class Sharing:
    """Finds which results of a function share memory with its arguments, what is around it, or each other.

    So they do in every call: what the caller writes into the one is seen in the other.

    Attributes:
        depends_on_order: whether it depends on how arguments lie in memory that a result is a view, or a copy.
    """

    def __init__(self, trace: Trace, arguments: list[Any], given: Sequence[Any], around: Surroundings):
        self.trace, self.arguments, self.given, self.around = trace, arguments, given, around
        self.depends_on_order = False
        self._around = [watch.array for watch in around.arrays.values()]
        self._arguments = {row: k for k, row in enumerate(trace.inputs) if is_memory(arguments[k], given[k])}
        self._tensors = trace.rows_of(around.tensors)
        self._meeting: dict[int, set[int]] = {}

    def views(self, results: list[Any], tensors: list[Any], places: list[Any], rows: Outputs) -> Shown:
        """By the number of a result, what it shows.

        Args:
            tensors, places: what results stand for, and where they go.
            rows: the records that are outputs; what results share, and is none of them, is added.

        Raises:
            Untraceable: if it cannot be told how a result looks at memory that the caller has.
        """
        mine = [isinstance(z, Traced) and (isinstance(x, Tensor) or type(x) is Array) for x, z in zip(results, tensors)]
        seen = [way_to(z) if own else None for z, own in zip(tensors, mine)]
        self._meeting.clear()
        bases = {id(way[0]): place for way, place in zip(seen, places) if way is not None and way[1] == ()}
        found: dict[int, SharedResult | None] = {}
        for i, (x, way) in enumerate(zip(results, seen)):
            if way is None:
                found[i] = self._outer(x)
                continue
            memory, steps = way
            self.depends_on_order = self.depends_on_order or memory.judged
            if memory.row in self._arguments and not memory.copied:
                found[i] = self._argument(self._arguments[memory.row], x, steps)
            elif memory.row in self._tensors and not memory.copied:
                found[i] = self._tensor(self._tensors[memory.row], x, steps)
            elif steps != () and (id(memory) in bases or self._overlap(way, seen) or self._is_still(x, tensors[i])):
                if id(memory) not in bases:
                    whole = memory.whole(tensors[i])
                    bases[id(memory)] = rows.place(whole, self._kind_of(whole, x))
                rows.require(bases[id(memory)], self._kind_of(memory.whole(tensors[i]), x))
                self._check_shown(memory, known(steps))
                found[i] = SharedResult(bases[id(memory)], steps, is_writeable(x))
            if found.get(i) is None and not is_writeable(x):
                found[i] = SharedResult(places[i], (), writeable=False)
        for i, z in enumerate(tensors):
            view = found.get(i)
            if view is not None and view.steps and isinstance(results[i], Tensor):
                found[i] = view._replace(still=z._row in self.trace.stopped or self._is_still(results[i], z))
        shown = {i: view for i, view in found.items() if view is not None}
        first: dict[int, SharedResult] = {}
        return {i: first.setdefault(id(results[i]), view) for i, view in shown.items()}

    def _is_still(self, x: Any, z: Any) -> bool:
        """Whether a result is a view that was made where no gradients are recorded, of a base with a history.

        It has none itself, and requires grad because its base does.
        """
        if not (self.trace.tensors and isinstance(x, Tensor)):
            return False
        memory, steps = way_to(z)
        if steps is not None and (not steps or DETACHED in steps):
            return False
        return not origins(self.trace, z._row) and bool(origins(self.trace, memory.whole(z)))

    def _check_shown(self, memory: SharedMemory, steps: Steps) -> None:
        """Raise unless steps that show memory as it lay here show it as well where a replay has it in row-major order.

        Raises:
            Untraceable: if what they give there is a copy.
        """
        spec = self.trace.spec(memory.row)
        ordered = np.empty(spec.shape, spec.dtype)  # type: ignore[union-attr]
        shows = [np.may_share_memory(shown_of(x, steps), x) for x in (memory.first, ordered) if x is not None]
        if shows == [True, False]:
            raise Untraceable("it returned a view of a result that does not lie in row-major order")

    def _kind_of(self, row: int, x: Any) -> int:
        """What a record is given back as that a result, a tensor or an array, looks at."""
        has_axes = self.trace.spec(row).shape  # type: ignore[union-attr]
        return TENSOR if isinstance(x, Tensor) else ARRAY if has_axes else WITHOUT_AXES

    def _argument(self, k: int, x: Any, steps: Steps | None) -> SharedResult | None:
        if isinstance(x, Tensor) is not isinstance(self.given[k], Tensor):
            raise Untraceable(OTHERWISE)
        if not isinstance(x, Tensor):
            if steps is not None and DETACHED in steps:
                raise Untraceable("it returned an array among its arguments through which no gradient flows")
            seen = look(self.given[k], known(steps))
            if type(seen) is not np.ndarray or not is_look(seen, self.given[k]):
                return None
        steps = known(steps) if x is self.arguments[k] else known(steps) or WHOLE
        return SharedResult(k, steps, is_writeable(x))

    def _tensor(self, tensor: Tensor, x: Any, steps: Steps | None) -> SharedResult:
        if not isinstance(x, Tensor):
            raise Untraceable(OTHERWISE)
        return SharedResult(tensor, known(steps) if x is tensor else known(steps) or WHOLE)

    def _outer(self, x: Any) -> SharedResult | None:
        found = [array for array in self._around if type(x) is np.ndarray and owner(array) is owner(x)]
        if not found:
            return None
        if self.around.apart is not None and not self.around.apart.issuperset(map(id, found)):
            self.around.apart = None  # it is an argument's, and another one's for another argument
        return SharedResult(x, () if any(array is x for array in self._around) else WHOLE)

    def _overlap(self, way: Any, ways: Iterable[Any]) -> bool:
        """Whether others look at what a result looks at, and maybe at the same elements."""
        memory = way[0]
        if id(memory) not in self._meeting:
            family = [w for w in ways if w is not None and w[0] is memory]
            met = self._met(memory, [w[1] for w in family])
            self._meeting[id(memory)] = {id(w) for w, meets in zip(family, met) if meets}
        return id(way) in self._meeting[id(memory)]

    def _met(self, memory: Any, ways: list[Steps | None]) -> list[bool]:
        """Of some ways to look at memory, which show an element that another shows, or may do so."""
        if len(ways) < 2 or None in ways:
            return [len(ways) > 1] * len(ways)
        spec = self.trace.spec(memory.row)
        whole = np.empty(spec.shape, spec.dtype) if memory.first is None else memory.first  # type: ignore[union-attr]
        looks = [shown_of(whole, steps) for steps in ways if steps is not None]
        if all(np.may_share_memory(seen, whole) for seen in looks):
            others = (looks[:i] + looks[i + 1 :] for i in range(len(looks)))  # of which some may be one array
            return [any(np.may_share_memory(x, y) for y in rest) for x, rest in zip(looks, others)]
        if any(crosses(steps) for steps in ways if steps is not None):
            return [True] * len(ways)
        every = np.arange(whole.size).reshape(whole.shape)  # NumPy copies where steps show a number
        cells = [np.unique(shown_of(every, steps)) for steps in ways if steps is not None]
        counts = np.bincount(np.concatenate(cells), minlength=1)
        return [bool((counts[numbers] > 1).any()) for numbers in cells]


OTHERWISE = "it returned the same numbers as a tensor and as an array, or as an array and as a number"


def require_plain_arrays(trace: Trace, outputs: Outputs, arguments: Sequence[Any]) -> None:
    """Raise unless arrays among the results are plain ones also where arguments are files in memory.

    What NumPy computes of an `np.memmap` is a plain array, but what only moves its numbers, or copies them, is not.

    Raises:
        Untraceable: if one may be an `np.memmap`.
    """
    files = {trace.inputs[k] for k, x in enumerate(arguments) if type(x) is np.memmap}
    if not files or trace.tensors:
        return
    found = _of_files(trace, files)
    if any(row in found and is_array(outputs.kinds[k], trace.spec(row)) for row, k in outputs.numbers.items()):
        raise Untraceable("it returned what is an np.memmap if an argument is one, and replays give plain arrays")


def _of_files(trace: Trace, files: set[int]) -> set[int]:
    """The records that may be an `np.memmap` in eager execution, where some inputs are."""
    found, reading = set(files), set(files)
    for row in range(min(files) + 1, len(trace)):
        code = trace.code(row)
        operands = trace.arguments(row)[0] if code >= 0 else ()
        if reading.isdisjoint(operands):
            continue
        reading.add(row)
        is_made_like = OPS[code].name in MADE_LIKE or (_moves_numbers(OPS[code]) and not found.isdisjoint(operands))
        if is_made_like or (row in trace.classes and found.issuperset(trace.classes[row])):
            found.add(row)
    return found


NUMBERS_MOVED = frozenset({"in_order", "partitioned", "sort", "output", "overwrite", "nan_to_num"})
MADE_LIKE = frozenset({"join", "fill", "argmax", "argmin"})
"""What may be part of a function of NumPy's whose result is made after its argument, such as `np.gradient`."""


def _moves_numbers(op: Op) -> bool:
    """Whether an op may do nothing but put numbers elsewhere, or count their places."""
    return (op.kind in ("linear", "plain") and op.hints.reduces is None) or op.name in NUMBERS_MOVED


def is_array(kind: int, spec: Spec | None) -> bool:
    """Whether an output of a kind is an array, and no number or tensor."""
    return kind == WITHOUT_AXES or (kind == ARRAY and spec is not None and spec.shape != ())


class Outputs:
    """The records that a function returned.

    Attributes:
        numbers: by record, its number among the outputs.
        kinds: what each output is given back as.
    """

    def __init__(self) -> None:
        self.numbers: dict[int, int] = {}
        self.kinds: list[int] = []

    def place(self, row: int, kind: int) -> OutputPlace:
        """Where a record goes in the results."""
        number = self.numbers.setdefault(row, len(self.kinds))
        if number == len(self.kinds):
            self.kinds.append(kind)
        place = OutputPlace(number)
        self.require(place, kind)
        return place

    def require(self, place: OutputPlace, kind: int) -> None:
        """Raise `Untraceable` unless that is what the output is given back as."""
        if self.kinds[place.number] != kind:
            raise Untraceable(OTHERWISE)


def kind_of_result(x: Any) -> int:
    """What a recorded value is given back as."""
    if isinstance(x, Tensor):
        return TENSOR
    return PYTHON if type(x) is PythonNumber else WITHOUT_AXES if type(x) is Array and not x.ndim else ARRAY


def is_memory(argument: Any, given: Any) -> bool:
    """Whether a result may be a view of an argument, or the argument itself: arrays and tensors, but no numbers."""
    return type(argument) is Array or isinstance(given, Tensor)


def is_writeable(x: Any) -> bool:
    """Whether an array that a function returned may be written."""
    return type(x) is not Array or not x._tensor._readonly


def known(steps: Steps | None) -> Steps:
    """The steps in which a result looks at memory.

    Raises:
        Untraceable: if they are None.
    """
    if steps is None:
        raise Untraceable("it returned a view that a replay cannot make again")
    return steps


def shown_of(whole: Any, steps: Steps) -> Any:
    """What some steps show of an array."""
    return look(whole, tuple([step for step in steps if step != DETACHED]))


def places(returned: list[Any], leaves: list[Any]) -> Outputs:
    """Put an `OutputPlace` where a function returned a record."""
    rows = Outputs()
    for i, x in enumerate(leaves):
        if isinstance(x, Traced):
            leaves[i] = rows.place(x._row, kind_of_result(returned[i]))
        elif is_tracked(x) or isinstance(live(x), Layer):
            raise Untraceable("it returned a tensor with a history of its own, which every call makes anew")
    return rows
