"""Recording one call of a function."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from functools import partial
from threading import active_count
from typing import Any, NamedTuple

import numpy as np

from ...base.errors import not_noted
from ...base.tensor import Face, Tensor
from ...base.tree import leaves_of, structure_of, tuples_again
from ...base.untraced import seldom
from ...numpy.arrays.beside_tensors import running
from ...numpy.arrays.face import Array, array
from ...numpy.arrays.leaving import told
from ...numpy.arrays.python_number import python_number
from ...numpy.arrays.unwrapping import bare
from ...numpy.opening import IDLE, opened
from ...recording.level import as_before, live, recording_on
from ..recorded.listing import Listing, listing_of
from ..recorded.outside import stand_in, standing
from ..recorded.reach import RecordsOfTrace, flows
from ..recorded.trace import Trace, Untraceable, WithoutHistory, is_tracked
from ..recorded.traced import Traced, TracedArgument, traced
from ..recorded.unknown import check_attributes
from ..recorded.unreachable import settle_constants
from ..world.looking import surroundings
from ..world.surroundings import Surroundings
from .chance import Chance, turn
from .effects import (
    Before,
    constant_array,
    refuse_changes,
    require_lasting,
    require_own_memory,
)  # fmt: skip
from .laid_results import layout_of, layouts_of
from .results import OutputPlace, Results, Sharing, places, require_plain_arrays
from .signature import is_settled, is_users, is_varying, rebuilt
from .traced_number import recorded_number
from .types_told import types_told
from .warned import repeating_none
from .witness import Witness

ATTEMPTS = 3
"""So often a function that may draw random numbers is recorded while other threads draw from the same generators."""


_ASKS_MODE = "it asks whether gradients are recorded, which every call decides for itself"
_HAS_HOOKS = "it has hooks for what operations save, which every call calls"
OF_EACH_CALL = {
    "is_grad_enabled": _ASKS_MODE, "is_inference_mode_enabled": _ASKS_MODE, "saved_tensors_hooks": _HAS_HOOKS,
    "save_on_cpu": _HAS_HOOKS, "allow_mutation_on_saved_tensors": _HAS_HOOKS,
    "is_inference": "it asks whether a tensor was made in inference mode, which other arguments were not",
}  # fmt: skip
"""Names of what is another thing in each call, and why a function that reads one is not recorded."""


class Drew(Untraceable):
    """Random numbers were drawn while a function was recorded: by itself, or by another thread where it might have."""


class RecordedCall(NamedTuple):
    """A function that was recorded.

    Attributes:
        listing, results: what it did, and what it returned.
        before: what it may have changed.
        ordered: whether what it does depends on how its arguments lie in memory.
        layout: how arguments lie that it is for (see `layout_of`); None if all give the same, and lying alike.
        computed: the most bytes of large arrays that were held at once, because the function looked at some.
        historic: whether it is for tensors that require grad as these did, and where gradients are recorded.
        ignored: records, and the kinds of floating-point errors that the function ignores there.
        errors: the kinds that were made meanwhile.
    """

    listing: Listing
    results: Results
    before: Before
    ordered: bool
    layout: Any
    computed: int
    historic: bool
    ignored: list[tuple[range, int]]
    errors: int = 0


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
    records = RecordsOfTrace(trace)
    if most_memory is not None:
        trace.computing.most = most_memory
    trace.tensors = any(isinstance(x, Tensor) for x in given) or not (given or fixed_floats)
    values = [np.float64(x) if type(x) is float else x for x in given]
    new = [traced(trace, trace.input(x._data if isinstance(x, Tensor) else x)) for x in values]
    trace.given = tuple([isinstance(x, Tensor) for x in given])
    trace.tracked = tuple(map(is_tracked, given))
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
            with trace.recording(), standing(around.tensors, trace), recording_on(records):
                with ExitStack() as meanwhile:
                    meanwhile.enter_context(told())
                    doors = None
                    if are_arrays:
                        callers = tuple([x for x in given_leaves if not issubclass(type(x), IDLE)])
                        doors = meanwhile.enter_context(opened(function, callers))
                        meanwhile.enter_context(running(not any(isinstance(x, Face) for x in given), trace.tensors))
                    elif around.reads("type"):
                        meanwhile.enter_context(types_told(around))
                    meanwhile.enter_context(witness.watching())
                    meanwhile.enter_context(repeating_none())
                    tree = function(*args, **kwargs) if doors is None else doors.call(args, kwargs)
                structure, returned = structure_of(tree), leaves_of(tree)
                leaves = [stand_in(live(bare(x)), trace) for x in returned]
            leaves = [constant_array(z, x) if isinstance(x, Face) else z for x, z in zip(returned, leaves)]
            tensors = list(leaves)
            rows = places(returned, leaves)
            if trace.tensors:
                captured = set(map(id, around.tensors))
                check_attributes([*new, *[x for x in returned if id(x) not in captured]])
                check_history(trace, records, [*rows.numbers], trace.wengert.switched > switched)
                if (trace.sought or trace.historic) and any(is_inference(x) for x in (*given, *around.tensors)):
                    raise Untraceable(
                        "it takes gradients where a tensor was made in inference mode, which none may save"
                    )
            if apart:
                require_plain_arrays(trace, rows, mine)
            kept = [x for x in leaves if not isinstance(x, OutputPlace)]
            require_lasting(tree, structure, kept, before)
            sharing = Sharing(trace, theirs, given, around)
            shown = sharing.views(returned, tensors, leaves, rows)
            lent = [x for x in [ref() for ref in trace.lent] if x is not None]
            require_own_memory([x for i, x in enumerate(leaves) if i not in shown], fixed_arrays, lent)
            depends = sharing.depends_on_order
            layouts = layouts_of(trace, rows.numbers, given)
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
            raise Drew(
                "it drew random numbers, which every replay would repeat; pass them as an argument, or draw them from "
                "np.random.default_rng(seed), made in the function, which gives the same in each call"
            )
        if trace.ordered and layout_of(given) is not True:  # it may have seen numbers, which are shown in rows
            raise Untraceable(
                "what it does depends on how its arguments lie in memory, which is not in row-major order"
            )
        trace.check_captured()
        refuse_changes(before, trace)
        around.settle()
        settle_constants(trace)
        again = tuples_again(tree, around.seen, (args, kwargs))
        results = Results(structure, leaves, rows.kinds, shown, again, layouts)
        tells = any(shows_layout(x) for x in (*leaves, *[guard.seen for guard in trace.guards]))
        layout = layout_of(given) if trace.ordered or depends or layouts or tells else None
        computed = trace.computing.peak
        listing = listing_of(trace, rows.numbers)
        return RecordedCall(listing, results, before, trace.ordered, layout, computed, trace.historic, trace.ignored)
    except BaseException:
        before.put_back()
        raise


def shows_layout(x: Any) -> bool:
    """Whether something is an array that shows how another one lay in memory, if it was made of that.

    Results are constants then, and what Python was told is any array.
    """
    return isinstance(x, np.ndarray) and x.ndim > 1 and x.size > 1


def is_inference(x: Any) -> bool:
    """Whether something is a tensor that was made in inference mode."""
    return isinstance(x, Tensor) and x._inference


def check_history(trace: Trace, records: RecordsOfTrace, rows: list[int], switched: bool) -> None:
    """Raise unless results have histories as a replay gives them.

    Raises:
        Untraceable: if one depends on a tensor that the function told to require gradients, or on what it kept of a
            derivative that it took.
        WithoutHistory: if it switched the recording of gradients on where they were off.
    """
    trace.historic = trace.historic or switched
    if switched and trace.mode is False:
        raise WithoutHistory("it switches the recording of gradients on, where they were off")
    own = trace.leaves.difference(trace.inputs)
    if own and any(flows(trace, rows, [*own])):
        raise Untraceable("it returned what depends on a tensor that it told to require gradients, one of each call")
    with recording_on(records):
        is_kept = records.taken is not None and records.taken.has_kept(rows)
    if is_kept:
        raise Untraceable("it returned what it kept of a derivative that it took, whose argument is one of each call")


def is_changed(mine: Any, z: Any, k: int) -> bool:
    """Whether an array that a function was given is another one now, or looks at its memory in another way."""
    if mine is z:
        return False  # a tensor, which says so itself
    return z._row != k or (type(mine) is Array and (mine._tensor is not z or z._readonly))


def standing_for(x: Any, z: Traced, trace: Trace) -> Any:
    """What a function gets in the place of an argument: a tensor, or what behaves as the array or number that it is."""
    if isinstance(x, Tensor) or (isinstance(x, Face) and trace.tensors):
        z.__class__ = TracedArgument
        return z
    if type(x) is float and trace.tensors:
        return python_number(z)
    return recorded_number(z) if isinstance(x, (float, np.generic)) else array(z)


def differentiable(given: Iterable[Any]) -> tuple[type, ...]:
    """The kinds of arguments that gradients flow to: plain floats only if there is nothing else."""
    arrays = (Tensor, np.ndarray, np.generic)
    return arrays if any(isinstance(x, arrays) for x in given) else (float, np.generic)
