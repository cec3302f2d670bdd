"""Recording one call of a function."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from functools import partial
from threading import active_count
from typing import Any, NamedTuple

import numpy as np

from ops.shapes.overwriting import Steps, look

from ...base.errors import not_noted
from ...base.tensor import Face, Tensor
from ...base.tree import Structure, build, leaves_of, structure_of
from ...base.untraced import seldom
from ...numpy.arrays.beside_tensors import running
from ...numpy.arrays.face import Array, array
from ...numpy.arrays.leaving import told
from ...numpy.arrays.python_number import PythonNumber, python_number
from ...numpy.arrays.unwrapping import bare
from ...numpy.opening import opened
from ...recording.level import as_before, live
from ...recording.views import owner
from ..recorded.aliases import DETACHED, way_to
from ..recorded.listing import Listing, listing_of
from ..recorded.outside import stand_in, standing
from ..recorded.reach import flows
from ..recorded.trace import Trace, Untraceable, WithoutHistory, value_in
from ..recorded.traced import Traced, traced
from ..recorded.unknown import check_attributes
from ..recorded.unreachable import settle_constants
from ..world.looking import surroundings
from ..world.surroundings import Surroundings
from .chance import Chance, turn
from .effects import (
    Before,
    constant_array,
    refuse_changes,
    repeating_none,
    require_lasting,
    require_own_memory,
)  # fmt: skip
from .signature import is_settled, is_users, is_varying, rebuilt
from .traced_number import recorded_number
from .types_told import types_told
from .witness import Witness

ATTEMPTS = 3
"""So often a function that may draw random numbers is recorded while other threads draw from the same generators."""


_ASKS_MODE = "it asks whether gradients are recorded, which every call decides for itself"
_HAS_HOOKS = "it has hooks for what operations save, which every call calls"
OF_EACH_CALL = {
    "is_grad_enabled": _ASKS_MODE, "is_inference_mode_enabled": _ASKS_MODE, "saved_tensors_hooks": _HAS_HOOKS,
    "save_on_cpu": _HAS_HOOKS, "allow_mutation_on_saved_tensors": _HAS_HOOKS,
}  # fmt: skip
"""Names of what is another thing in each call, and why a function that reads one is not recorded."""


class Drew(Untraceable):
    """Random numbers were drawn while a function was recorded: by itself, or by another thread where it might have."""


class RecordedCall(NamedTuple):
    """A function that was recorded.

    Attributes:
        listing, results: what it did, and what it returned.
        before: what it may have changed.
        ordered: whether it is for arguments alone that lie in memory as these did.
        computed: the most bytes of large arrays that were held at once, because the function looked at some.
        historic: whether it is for tensors that require grad as these did, and where gradients are recorded.
        errors: the kinds of floating-point errors that were made meanwhile.
    """

    listing: Listing
    results: Results
    before: Before
    ordered: bool
    computed: int
    historic: bool
    errors: int = 0


ARRAY, TENSOR, PYTHON = KINDS = range(3)
"""What an output is given back as: an array or a number of NumPy's, a tensor, or a number of Python's."""


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
    """

    source: Any
    steps: Steps
    writeable: bool = True

    def of(self, outputs: Any, given: Sequence[Any]) -> Any:
        """The result of a call."""
        seen = self.source
        if type(seen) is int:
            seen = given[seen]
        elif type(seen) is OutputPlace:
            seen = outputs[seen.number]
        for step in self.steps:
            seen = seen.detach() if step == DETACHED else look(seen, (step,))
        if not self.writeable:
            seen.flags.writeable = False
        return seen


Shown = dict[int, SharedResult]
"""By the number of a leaf among the results, what it shows."""


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
    """

    def __init__(self, structure: Structure, leaves: list[Any], kinds: Sequence[int], shown: Shown | None = None):
        self.structure, self.leaves, self.kinds, self.shown = structure, leaves, tuple(kinds), shown or {}
        self.count = count = len(self.kinds)
        places = [x.number if isinstance(x, OutputPlace) else -1 for x in leaves]
        self.flat = places == list(range(count)) and all(s.container is None for s in structure.inside)

    def build(self, outputs: Any, given: Sequence[Any] | None = None) -> Any:
        """The results of a call, for what varies in its arguments; without these all have memory of their own."""
        if self.shown and given is not None:
            return build(self.structure, [self._leaf(i, outputs, given) for i in range(len(self.leaves))])
        kind = self.structure.container
        if kind is None:
            return outputs[0] if self.count else copied(self.leaves[0])
        if self.flat and kind is tuple:
            return tuple(outputs)
        filled = [outputs[x.number] if isinstance(x, OutputPlace) else copied(x) for x in self.leaves]
        return build(self.structure, filled)

    def _leaf(self, i: int, outputs: Any, given: Sequence[Any]) -> Any:
        if i in self.shown:
            return self.shown[i].of(outputs, given)
        x = self.leaves[i]
        return outputs[x.number] if isinstance(x, OutputPlace) else copied(x)


def copied(x: Any) -> Any:
    """Something that is returned by every call, safe from what the caller does with it."""
    if isinstance(x, np.ndarray):
        made = x.copy()
        made.flags.writeable = x.flags.writeable
        return made
    return x.detach().clone() if isinstance(x, Tensor) else x


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
        bases = {id(way[0]): place for way, place in zip(seen, places) if way is not None and way[1] == ()}
        found: dict[int, SharedResult | None] = {}
        for i, (x, way) in enumerate(zip(results, seen)):
            if way is None:
                found[i] = self._outer(x)
                continue
            memory, steps = way
            self.depends_on_order = self.depends_on_order or memory.judged
            if memory.row in self._arguments:
                found[i] = self._argument(self._arguments[memory.row], x, steps)
            elif memory.row in self._tensors:
                found[i] = self._tensor(self._tensors[memory.row], x, steps)
            elif steps != () and (id(memory) in bases or self._overlap(way, seen)):
                if id(memory) not in bases:
                    whole = memory.whole(tensors[i])
                    bases[id(memory)] = rows.place(whole, kind_of_result(x))
                rows.require(bases[id(memory)], kind_of_result(x))
                found[i] = SharedResult(bases[id(memory)], known(steps), is_writeable(x))
            elif not is_writeable(x):
                found[i] = SharedResult(places[i], (), writeable=False)
        return {i: view for i, view in found.items() if view is not None}

    def _argument(self, k: int, x: Any, steps: Steps | None) -> SharedResult | None:
        if isinstance(x, Tensor) is not isinstance(self.given[k], Tensor):
            raise Untraceable(OTHERWISE)
        if not isinstance(x, Tensor):
            if steps is not None and DETACHED in steps:
                raise Untraceable("it returned an array among its arguments through which no gradient flows")
            seen = look(self.given[k], known(steps))
            if type(seen) is not np.ndarray or not np.may_share_memory(seen, self.given[k]):
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
        memory, steps = way
        others = [w[1] for w in ways if w is not None and w[0] is memory and w is not way]
        if not others or steps is None or None in others:
            return bool(others)
        spec = self.trace.spec(memory.row)
        whole = np.empty(spec.shape, spec.dtype) if memory.first is None else memory.first  # type: ignore[union-attr]
        seen = shown_of(whole, steps)
        return any(np.may_share_memory(seen, shown_of(whole, other)) for other in others)


OTHERWISE = "it returned the same numbers as a tensor and as an array"


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
    return TENSOR if isinstance(x, Tensor) else PYTHON if type(x) is PythonNumber else ARRAY


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


WHOLE: Steps = (("getitem", (("index", Ellipsis),), None),)
"""An array as a view of all of it."""


def record_call(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    given: list[Any],
    fixed_floats: bool,
    around: Surroundings | None = None,
    most_memory: int | None = None,
) -> RecordedCall:
    """Call a function on traced arguments: what it did as a list, and what it returned.

    The tensors `around` it are constants of the list, and what else is there must stay what it is; if that is None,
    the list is for whoever calls it, and may differentiate with respect to all arguments.  Of what it looks at,
    `most_memory` bytes are kept.

    Raises:
        Untraceable: if it did something that a list cannot repeat.
    """
    apart = around is not None
    around = around or surroundings(function)
    reached = with_arguments(function, (args, kwargs), around)
    generators, hidden = reached.generators, around.may_draw or reached.may_draw
    with turn(hidden or generators), seldom(), not_noted(), as_before():
        chance = partial(Chance, generators, hidden)
        # A function that draws random numbers does so each time; another thread, such as that of a server, hardly.
        for _ in range(ATTEMPTS - 1 if active_count() > 1 else 0):
            try:
                return _record_once(function, args, kwargs, given, fixed_floats, around, chance, most_memory, apart)
            except Drew:
                continue
        return _record_once(function, args, kwargs, given, fixed_floats, around, chance, most_memory, apart)


def with_arguments(function: Callable[..., Any], arguments: Any, around: Surroundings) -> Surroundings:
    """What is around a function and around objects among its arguments that were not looked at with it."""
    looked = set(map(id, around.roots))
    others = [
        x
        for x in leaves_of(arguments)
        if id(x) not in looked
        and not (isinstance(x, (Tensor, Face)) or is_settled(x))
        and (not isinstance(x, np.ndarray) or x.dtype.hasobject)
    ]
    return surroundings(function, others) if others else around


def _record_once(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], given: list[Any], fixed_floats: bool,
    around: Surroundings, watched: Callable[[], Chance], most_memory: int | None, apart: bool,
) -> RecordedCall:  # fmt: skip
    asked = around.reads(*OF_EACH_CALL)
    if asked is not None:
        raise Untraceable(OF_EACH_CALL[asked])
    if any(is_users(x) for x in around.tensors):
        raise Untraceable("it reads a tensor of a class of its own, which may have other rules than tensors do")
    trace = Trace()
    trace.mode = trace.mode if apart else None
    if most_memory is not None:
        trace.computing.most = most_memory
    trace.tensors = trace.strict = any(isinstance(x, Tensor) for x in given) or not (given or fixed_floats)
    values = [np.float64(x) if type(x) is float else x for x in given]
    new = [traced(trace, trace.input(x._data if isinstance(x, Tensor) else x)) for x in values]
    trace.given = tuple([isinstance(x, Tensor) for x in given])
    trace.tracked = tuple([isinstance(x, Tensor) and x._node is not None for x in given])
    kinds = differentiable(given)
    trace.leaves.update(z._row for x, z in zip(given, new) if isinstance(x, kinds) and z._spec.inexact)
    given_leaves = leaves_of((args, kwargs))
    mine = [x for x in given_leaves if is_varying(x, fixed_floats)]
    varies = set(map(id, mine))
    fixed_arrays = [x for x in given_leaves if isinstance(x, np.ndarray) and id(x) not in varies]
    theirs = [standing_for(x, z, trace) for x, z in zip(mine, new)]
    are_arrays = not trace.tensors or any(isinstance(x, Face) for x in theirs)
    if are_arrays and trace.tensors and around.reads("type"):
        raise Untraceable("it asks for the types of things where there are tensors as well as arrays or numbers")
    args, kwargs = rebuilt(args, kwargs, theirs, fixed_floats)
    witness, before, chance = Witness(around), Before(around, (args, kwargs), fixed_arrays), watched()
    try:
        try:
            switched = trace.wengert.switched
            with trace.recording(), standing(around.tensors, trace):
                with ExitStack() as doors:
                    doors.enter_context(told())
                    if are_arrays:
                        doors.enter_context(opened(function))
                        doors.enter_context(running(not any(isinstance(x, Face) for x in given), trace.tensors))
                    elif around.reads("type"):
                        doors.enter_context(types_told(around))
                    doors.enter_context(witness.watching())
                    doors.enter_context(repeating_none())
                    tree = function(*args, **kwargs)
                structure, returned = structure_of(tree), leaves_of(tree)
                leaves = [stand_in(live(bare(x)), trace) for x in returned]
            leaves = [constant_array(z) if isinstance(x, Face) else z for x, z in zip(returned, leaves)]
            tensors = list(leaves)
            rows = places(returned, leaves)
            if trace.tensors:
                captured = set(map(id, around.tensors))
                check_attributes([*new, *[x for x in returned if id(x) not in captured]])
                check_history(trace, [*rows.numbers], trace.wengert.switched > switched)
            kept = [x for x in leaves if not isinstance(x, OutputPlace)]
            require_lasting(tree, structure, kept, before)
            sharing = Sharing(trace, theirs, given, around)
            shown = sharing.views(returned, tensors, leaves, rows)
            lent = [x for x in [ref() for ref in trace.lent] if x is not None]
            require_own_memory([x for i, x in enumerate(leaves) if i not in shown], fixed_arrays, lent)
            depends = sharing.depends_on_order
        finally:
            trace.open = False
            drawn = chance.rewind()
        if trace.tensors and any(trace.hooks.values()):
            raise Untraceable("it registered a hook, which a backward through its results would call")
        if any(map(is_changed, theirs, new, trace.inputs)):
            raise Untraceable("it changed an array among its arguments in place, which every call has to do")
        if trace.failed:
            raise Untraceable("it goes on where an operation fails, which is for the numbers of each call to decide")
        if drawn:
            raise Drew("it drew random numbers, which every replay would repeat")
        if trace.ordered and not in_order(given):
            raise Untraceable(
                "what it does depends on how its arguments lie in memory, which is not in row-major order"
            )
        trace.check_captured()
        refuse_changes(before, trace)
        around.settle()
        settle_constants(trace)
        results, computed = Results(structure, leaves, rows.kinds, shown), trace.computing.peak
        ordered = trace.ordered or depends
        return RecordedCall(listing_of(trace, rows.numbers), results, before, ordered, computed, trace.historic)
    except BaseException:
        before.put_back()
        raise


def check_history(trace: Trace, rows: list[int], switched: bool) -> None:
    """Raise unless results have histories as a replay gives them.

    Raises:
        Untraceable: if one depends on a tensor that the function told to require gradients.
        WithoutHistory: if it switched the recording of gradients on where they were off.
    """
    trace.historic = trace.historic or switched
    if switched and trace.mode is False:
        raise WithoutHistory("it switches the recording of gradients on, where they were off")
    own = trace.leaves.difference(trace.inputs)
    if own and any(flows(trace, rows, [*own])):
        raise Untraceable("it returned what depends on a tensor that it told to require gradients, one of each call")


def is_changed(mine: Any, z: Any, k: int) -> bool:
    """Whether an array that a function was given is another one now, or looks at its memory in another way."""
    if mine is z:
        return False  # a tensor, which says so itself
    return z._row != k or (type(mine) is Array and (mine._tensor is not z or z._readonly))


def in_order(given: Iterable[Any]) -> bool:
    """Whether all arrays, also those in tensors, are in row-major order."""
    values = [value_in(x) for x in given]
    return all(x.flags.c_contiguous for x in values if isinstance(x, np.ndarray))


def layout(given: Sequence[Any]) -> Any:
    """How arrays lie in memory: True if all of them do in row-major order, else the strides of each."""
    return in_order(given) or tuple([getattr(value_in(x), "strides", ()) for x in given])


def standing_for(x: Any, z: Traced, trace: Trace) -> Any:
    """What a function gets in the place of an argument: a tensor, or what behaves as the array or number that it is."""
    if isinstance(x, Tensor) or (isinstance(x, Face) and trace.tensors):
        return z
    if type(x) is float and trace.tensors:
        return python_number(z)
    return recorded_number(z) if isinstance(x, (float, np.generic)) else array(z)


def places(returned: list[Any], leaves: list[Any]) -> Outputs:
    """Put an `OutputPlace` where a function returned a record."""
    rows = Outputs()
    for i, x in enumerate(leaves):
        if isinstance(x, Traced):
            leaves[i] = rows.place(x._row, kind_of_result(returned[i]))
        elif isinstance(x, Tensor) and x._node is not None:
            raise Untraceable("it returned a tensor with a history of its own, which every call makes anew")
    return rows


def differentiable(given: Iterable[Any]) -> tuple[type, ...]:
    """The kinds of arguments that gradients flow to: plain floats only if there is nothing else."""
    arrays = (Tensor, np.ndarray, np.generic)
    return arrays if any(isinstance(x, arrays) for x in given) else (float, np.generic)
