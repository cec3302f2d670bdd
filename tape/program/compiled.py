"""``tape.compile``: a function that is recorded when it is first called, and replayed from then on."""

from __future__ import annotations

import copy
import functools
import sys
import warnings
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from ..base.location import in_library
from ..base.locks import kept
from ..base.tensor import Face
from ..base.untraced import paused
from ..recording.level import Layer
from ..recording.packing import Packing
from ..recording.wengert import current
from .capture.effects import WAITING, hearing
from .capture.labels import parameters_of
from .capture.record_call import RecordedCall, layout, record_call
from .capture.required import require_count, require_function, require_options
from .capture.signature import (
    CallArguments,
    Variety,
    advice,
    are_entangled,
    has_history,
    history_of,
    is_told_apart,
    objects_in,
    take_apart,
)  # fmt: skip
from .capture.witness import Again
from .entries.conditions import Entry
from .entries.decision_tree import WORTH, Path, Paths
from .files.pickling import named, renamed, restored
from .plans.replay import NotMade, OverBudget, Refitted
from .recorded.guards import GuardMissed
from .recorded.listing import narrower
from .recorded.outside import Outside
from .recorded.raising import ALL_KINDS, REPEATED, Telling, forget_errors, heeded, is_quiet, noted, noting, shown
from .recorded.trace import ERRORS, Untraceable, WithoutHistory
from .recorded.traced import Traced
from .recorded_program import Program
from .show.display import counted
from .show.statistics import CallStatistics
from .world.looking import surroundings
from .world.surroundings import Surroundings

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
S = TypeVar("S")
MOST_PATHS = 32
MOST_SIGNATURES = 256
FALSE_ALARMS = 2
"""So often in a row a function is called for flags of errors, and warns of nothing: it may ignore errors itself."""


class CompiledFunction(Generic[P, R]):
    """What `compile` gives: called like the function.

    Attributes:
        programs: what was recorded so far.
    """

    __slots__ = ("__dict__", "__weakref__", "_entry")  # a slot is read faster, which is a twelfth of a small call

    def __init__(
        self,
        function: Callable[P, R],
        tier: str | None,
        threads: int | None,
        most_paths: int,
        constant: tuple[Any, ...] = (),
        most_memory: int | None = None,
    ):
        functools.update_wrapper(self, function)
        self.function, self.tier, self.threads, self.most_paths = function, tier, threads, most_paths
        self.constant, self.most_memory = constant, most_memory
        self._paths: dict[Any, Paths] = {}
        self._surroundings: Surroundings | None = None
        self._renewed = 0
        self._variety = Variety(most_paths, MOST_SIGNATURES)
        self._reasons: set[str] = set()
        self._entry: Entry | None = None
        self._latest: Paths | None = None

    def __reduce_ex__(self, protocol: Any) -> Any:
        """The function and the options; programs are recorded again elsewhere."""
        options = self.tier, self.threads, self.most_paths, self.constant, self.most_memory
        if named(self.function) is self:
            if protocol < 4:  # which reaches a name with a dot through what stands before the dot: this
                return self.function.__qualname__
            return restored, (self.plain, CompiledFunction, options)
        return CompiledFunction, (self.function, *options)

    @kept
    def plain(self) -> FunctionType:
        """A twin of the function, whose name is its own when the function's name stands for this (see `renamed`)."""
        return renamed(self.function)

    def __deepcopy__(self, memo: dict[int, Any]) -> CompiledFunction:
        function, constant = copy.deepcopy((self.function, self.constant), memo)
        return CompiledFunction(function, self.tier, self.threads, self.most_paths, constant, self.most_memory)

    @property
    def programs(self) -> list[Program]:
        return [path.program for paths in list(self._paths.values()) for path in paths]

    def __repr__(self) -> str:
        name = getattr(self.function, "__qualname__", repr(self.function))
        programs = self.programs
        replays = sum(p.replays for p in programs)
        return f"<compiled {name}: {counted(len(programs), 'program')}, {counted(replays, 'replay')}>"

    def statistics(self) -> CallStatistics:
        """How often the function was recorded and replayed, and what its programs do (see `Program.statistics`)."""
        programs, paths = self.programs, list(self._paths.values())
        return CallStatistics(
            signatures=sum(not p.historic for p in paths),
            eager=sum(p.eager for p in paths),
            programs=tuple([p.statistics() for p in programs]),
            replays=sum(p.replays for p in programs),
            missed=sum(p.missed for p in programs),
        )

    @overload
    def __get__(self, instance: None, owner: Any = None) -> CompiledFunction[P, R]: ...
    @overload
    def __get__(self: CompiledFunction[Concatenate[S, Q], R], instance: S, owner: Any = None) -> Callable[Q, R]: ...
    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        entry = self._entry
        if entry is not None:
            found = entry(args, kwargs)
            if found is not NotImplemented:
                return found
            paths = self._latest
            if paths is not None and paths.count > 1:
                found, path = paths.run(args, kwargs)
                if path is not None:
                    self._entry = path.shortcut.entry
                    return found
        return self.general(args, kwargs)

    def general(self, args: Any, kwargs: Any) -> Any:
        """A call that has to look for its program."""
        if not is_quiet():
            self._warn(ERRORS, "where that is so")
            return self._eager(args, kwargs)
        try:
            call = take_apart(args, kwargs)
        except Exception as error:  # of arrays that are none, or of code that the function itself may never run
            results = self.function(*args, **kwargs)
            self._warn(f"an argument cannot be taken: {type(error).__name__}: {error}", "with such arguments")
            return results
        if self._renewed > self.most_paths:
            return self._eager(args, kwargs)
        if self._surroundings is None or not self._surroundings.unchanged():
            self._surroundings, self._paths, self._entry = self._around(), {}, None
            self._variety.forget()
            self._renewed += 1
        around = self._surroundings
        if type(current().extend) is Packing and has_history((*call.given, *around.tensors)):
            self._warn("hooks put away what operations save", "where they do")
            return self._eager(args, kwargs)
        if (around.compares or around.recognises) and is_told_apart(call, args, kwargs, around):
            self._warn("it asks whether arguments are the same object as others", "where some are")
            return self._eager(args, kwargs)
        paths = self._paths_of(call, args, kwargs)
        if paths is not None and paths.fixed_floats:
            call = take_apart(args, kwargs, fixed_floats=True)
            paths = self._paths_of(call, args, kwargs, fixed_floats=True)
        if paths is not None and paths.historic:
            paths = self._paths_of(call, args, kwargs, paths.fixed_floats, history_of(call.given))
        if (
            paths is None
            or paths.eager
            or (paths.tensors and any(isinstance(x, (Face, Traced, Outside, Layer)) for x in call.given))
        ):
            return self._eager(args, kwargs)
        if paths.layout is not None and paths.layout != layout(call.given):
            order = "for arguments in another order than " + ("by rows" if paths.layout is True else "the first")
            self._warn("what it gives depends on how they lie in memory", order)
            return self._eager(args, kwargs)
        if paths.history is not None and self._is_entangled(paths, call):
            return self._eager(args, kwargs)
        if paths.around and not all(around.unchanged() for around in paths.around):
            paths = self._paths[paths.place] = Paths(call.key, paths.fixed_floats, paths.history)
            self._renewed += 1
        last, missed = None, None
        forget_errors()
        path = paths.first
        while path is not None:
            try:
                results = self._replayed(path.program, call, args, kwargs)
                self._renewed = 0
                self._look(path, paths, call, (args, kwargs))
                self._entry, self._latest = path.shortcut.entry or self._entry, paths
                return results
            except GuardMissed as miss:
                self._look(path, paths, call, (args, kwargs))
                last, missed, path = path, miss, path.branch(miss)
            except Refitted:
                paths.forget()
                return self._record(args, kwargs, call, paths, None, None)
            except (OverBudget, Warning):
                raise
            except Exception as error:  # the function itself says what is wrong, if anything is
                return self._instead(args, kwargs, paths, error)
        return self._record(args, kwargs, call, paths, last, missed)

    def _replayed(self, program: Program, call: CallArguments, args: Any, kwargs: Any, recorded: Any = None) -> Any:
        """A replay's results; the function itself is called too where it warns of errors that a replay makes.

        Where Python's filters show a warning once for each place, once is enough for each kind of error.
        """
        results = program.run(call.given)
        if recorded is not None:
            program.unvarying = recorded.errors & ~noted.kinds
        kinds = noted.kinds | program.unvarying
        if kinds:
            program.heed_filters()
            kinds &= program.unsaid
        if not kinds or not (kinds := kinds & heeded()) or (filters := shown()) == "ignore":
            return results
        if recorded is not None:
            recorded.before.put_back()
        with hearing(), Telling() as telling:
            count = WAITING.count
            try:
                self._eager(args, kwargs)
                telling.told = telling.told or WAITING.count > count
            except (Warning, ArithmeticError):  # what Python was told to do with it; of the caller's own floats
                raise
            except Exception:  # it is one that only works while it is recorded
                telling.told = False
        program.alarms = 0 if telling.told else program.alarms + 1
        if program.alarms > FALSE_ALARMS:
            program.unsaid &= ~kinds
        elif telling.told and filters not in REPEATED:
            program.say(kinds)
        return results

    def _paths_of(
        self, call: CallArguments, args: Any, kwargs: Any, fixed_floats: bool = False, history: Any = None
    ) -> Paths | None:
        """The programs for such a call; None if there are none, and too many for others that differ little."""
        paths = self._paths.get(call.key if history is None else (call.key, history))
        if paths is not None:
            return paths
        if history is None and self._variety.is_exhausted(call.key):
            return None
        blamed = self._variety.add(call.key) if history is None else None
        if blamed is not None:
            self._warn(advice(self.function, args, kwargs, blamed))
            return None
        while len(self._paths) >= MOST_SIGNATURES:
            self._paths.pop(next(iter(self._paths)), None)
        paths = Paths(call.key, fixed_floats, history)
        self._paths[paths.place] = paths
        return paths

    def _is_entangled(self, paths: Paths, call: CallArguments) -> bool:
        """Whether gradients that the function takes are not those that a list takes; if so, say it."""
        assert self._surroundings is not None
        around = [t for some in (self._surroundings, *paths.around) for t in some.tensors]
        found = are_entangled([*call.given, *{id(t): t for t in around}.values()])
        if found:
            self._warn("it takes gradients", "where tensors depend on others that require grad, or have hooks")
        return found

    def _by_history(self, paths: Paths, call: CallArguments, args: Any, kwargs: Any) -> Paths:
        """The programs for tensors that require grad as those of a call do, where gradients are recorded as there."""
        paths.historic = True
        paths.forget()
        self._entry = None
        found = self._paths_of(call, args, kwargs, paths.fixed_floats, history_of(call.given))
        assert found is not None
        found.around = paths.around
        return found

    def _look(self, path: Path, paths: Paths, call: CallArguments, arguments: Any) -> None:
        """Let the next such call come by this path without looking for it."""
        assert self._surroundings is not None
        if path.program.unvarying and path.program.tells:
            return
        if paths.history is not None and any(paths.history[1:]):
            return  # an entry takes tensors that require no grad
        if paths.layout in (None, True):  # an entry takes arrays in row-major order alone
            path.shortcut.look(path.program, call.key, arguments, [self._surroundings, *paths.around])

    def _record(self, args: Any, kwargs: Any, call: CallArguments, paths: Paths, last: Any, missed: Any) -> Any:
        if missed is not None:
            paths.missed += 1
            if paths.count >= self.most_paths and not self._has_room(paths, last, missed):
                return self._eager(args, kwargs)
        if self._renewed > self.most_paths:
            self._give_up(paths, "what it reads or changes around it is new in every call")
            return self._eager(args, kwargs)
        try:
            recorded = self._recorded(args, kwargs, call, paths)
        except Untraceable as reason:
            if isinstance(reason, WithoutHistory) and paths.history is None:
                paths = self._by_history(paths, call, args, kwargs)
            self._give_up(paths, str(reason))
            return self._eager(args, kwargs)
        except Exception as error:
            results = self._eager(args, kwargs)  # which raises it again, unless recording is to blame
            self._give_up(paths, f"it raised {type(error).__name__} when it was recorded: {error}")
            return results
        if not paths.fixed_floats and float in map(type, call.given) and narrower(recorded.listing):
            recorded.before.put_back()
            paths.fixed_floats = True
            return self(*args, **kwargs)
        if recorded.historic and paths.history is None:
            paths, last, missed = self._by_history(paths, call, args, kwargs), None, None
        if recorded.historic and self._is_entangled(paths, call):
            recorded.before.put_back()
            return self._eager(args, kwargs)
        paths.layout = layout(call.given) if recorded.ordered else paths.layout
        parameters = parameters_of(self.function)
        program = Program(
            recorded.listing, recorded.results, call.key, self.tier, self.threads, parameters, self.most_memory
        )
        program.recording_bytes, program.unsaid, program.historic = recorded.computed, ALL_KINDS, recorded.historic
        path = Path(program)
        paths.add(path, last, missed)
        forget_errors()
        try:
            with paused():  # listing, steps and plan are many objects, which one search for circles would visit twice
                path.program.expect(call.given)
                return self._replayed(path.program, call, args, kwargs, recorded)
        except GuardMissed:  # rounding decides, and a kernel rounds otherwise than NumPy
            recorded.before.put_back()
            return self._eager(args, kwargs)
        except (OverBudget, Warning):
            recorded.before.put_back()
            raise
        except Exception as error:  # numbers that were not computed while it was recorded
            recorded.before.put_back()
            return self._instead(args, kwargs, paths, error)

    def _instead(self, args: Any, kwargs: Any, paths: Paths, error: Exception) -> Any:
        """What the function itself gives where a replay raised: the same error, or a result, and then a word of it."""
        if isinstance(error, NotMade):
            self._give_up(paths, str(error))
            return self._eager(args, kwargs)
        results = self._eager(args, kwargs)
        what = f"{type(error).__name__}: {error}"
        self._warn(f"its replay raised {what}, where the function itself goes on", "with such arguments")
        return results

    def _has_room(self, paths: Paths, last: Path, missed: GuardMissed) -> bool:
        """Whether another path is recorded although there are as many as are kept: where the others are in use."""
        replays, guard = paths.replays_since(), missed.guard
        what = f"{paths.count} paths were recorded, and {guard.what} at {guard.location} still gives new values"
        if not replays:
            self._give_up(paths, what)
        elif replays < WORTH:
            self._warn(what, "where it takes another path")
        else:
            paths.make_room(last)
        return replays >= WORTH

    def _recorded(self, args: Any, kwargs: Any, call: CallArguments, paths: Paths) -> RecordedCall:
        """Record the function; what it reads around it, and in the objects among its arguments, is watched."""
        assert self._surroundings is not None
        around, objects = self._surroundings, objects_in(call.key)
        if objects:
            around = self._around(objects)
            paths.watch(around)
        try:
            with noting():
                recorded = record_call(
                    self.function, args, kwargs, call.given, paths.fixed_floats, around, self.most_memory
                )._replace(errors=noted.kinds)
        except Again:
            self._surroundings = self._around()
            return self._recorded(args, kwargs, call, paths)
        if around.stale:
            self._entry = None
        if around.apart is None:
            paths.require_identity()
        if objects:
            self._surroundings.settle()
            self._surroundings.stale = around.stale
        return recorded

    def _around(self, objects: Iterable[Any] = ()) -> Surroundings:
        """What the function may read, and in some objects that it is given."""
        return surroundings(self.function, objects, self.constant)

    def _give_up(self, paths: Paths, reason: str) -> None:
        paths.eager = True
        paths.first = None
        self._warn(reason)

    def _warn(self, reason: str, since: str = "from here on") -> None:
        """Say once that calls run as they are."""
        if reason in self._reasons:
            return
        self._reasons.add(reason)
        name = getattr(self.function, "__qualname__", repr(self.function))
        frame, depth = sys._getframe(1), 2
        while frame.f_back is not None and in_library(frame.f_code.co_filename):
            frame, depth = frame.f_back, depth + 1
        text = f"tape.compile runs {name} without compiling {since}: {reason.removesuffix('.')}."
        warnings.warn(text, RuntimeWarning, stacklevel=depth)

    def _eager(self, args: Any, kwargs: Any) -> Any:
        """Call the function itself, on the caller's own arguments."""
        return self.function(*args, **kwargs)


def compile(
    function: Callable[..., Any] | None = None,
    *,
    tier: str | None = None,
    threads: int | None = None,
    most_paths: int = MOST_PATHS,
    most_memory: int | None = None,
    assume_constant: Iterable[Any] = (),
) -> Any:
    """A function that is recorded when it is first called with arguments of some shapes, and replayed after.

    Whenever the function looks at a value (``if x > 0``, ``float(x)``, ``x.numpy()``), every replay verifies
    that the value is the same, and another path through the function is recorded where it is not.

    Args:
        function: takes and returns arrays, tensors, numbers, and tuples, lists and dicts of them.  Arrays in
            give arrays out: views of arguments where NumPy gives views, else new arrays in row-major order.  Tensors in
            give tensors out, which can be differentiated to any order, also where it changes in place what a gradient
            needs, which a backward of the function itself refuses.  Python's floats are NumPy's inside, unless it runs
            as it is.
        tier: ``"interpret"`` compiles nothing, ``"quick"`` little, ``"optimised"`` as well as LLVM can; by default
            the first of them, and the next when it has run so often that compiling would have paid.
        threads: how many threads share large work; by default as many as there are processors.
        most_paths: how many paths are kept, and how many values of an argument that is no array or float; where there
            are more, the function runs as it is, with a warning.
        most_memory: how many bytes a replay may take for its own arrays, arguments not counted, and how many recording
            keeps of what the function looks at (more only where one look needs them); None for no bound.
        assume_constant: functions, modules and other objects that are not looked at: that they, and all that is read
            through them, stay what they are is your promise.

    Also watched is everything that the function may read around it: globals, closures, defaults, attributes, classes,
    modules, containers, arrays.  A function that reads what is not known to stay what it is (a clock, a file, an
    iterator, a function written in C that is not known), that prints, draws random numbers or changes its arguments
    runs as it is, with a warning that says why.  So do calls where `np.errstate` makes floating-point errors raise,
    print or call something.  A replay that makes one of which NumPy would warn, and Python show the warning, is
    followed by a call of the function itself, which warns as ever; where warnings are shown once for each place, one of
    a kind is enough.  Values that no result needs are computed for their errors alone (the sum of squares of which the
    gradient is wanted), or what makes the same ones for less (a root for a logarithm); not decompositions.

    Raises:
        TypeError, ValueError: if it is not given a function that returns its result, or options as above.
        MemoryError: in a call, before anything large was allocated, if its replay would take more than `most_memory`.

    >>> import numpy as np, tape
    >>> @tape.compile
    ... def f(x):
    ...     return (x * x + 1.0).sum()
    >>> f(np.array([1.0, 2.0]))
    np.float64(7.0)
    """
    require_options(tier, threads)
    require_count(most_paths, "most_paths")
    if most_memory is not None:
        require_count(most_memory, "most_memory", "; None for no bound")
    constant = tuple(assume_constant)

    def compiled(f: Callable[P, R]) -> CompiledFunction[P, R]:
        require_function(f, "tape.compile")
        return CompiledFunction(f, tier, threads, most_paths, constant, most_memory)

    return compiled if function is None else compiled(function)
