"""A function that is recorded when it is first called, and replayed from then on."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from ..base.locks import kept
from ..base.tensor import Face
from ..base.untraced import paused
from ..recording.level import Layer
from ..recording.packing import Packing
from ..recording.wengert import current
from .capture.labels import parameters_of
from .capture.record_call import RecordedCall, record_call
from .capture.said_once import SaidOnce
from .capture.signature import (
    CallArguments,
    are_entangled,
    has_history,
    is_told_apart,
    objects_in,
    take_apart,
)  # fmt: skip
from .capture.warned import replayed
from .capture.witness import Again
from .entries.conditions import Entry
from .entries.decision_tree import Path, Paths
from .entries.program_cache import ProgramCache
from .files.pickling import named, renamed, restored
from .plans.replay import NotMade, OverBudget, Refitted
from .recorded.guards import GuardMissed
from .recorded.listing import narrower
from .recorded.outside import Outside
from .recorded.raising import ALL_KINDS, forget_errors, is_quiet, noted, noting
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
        self._said = SaidOnce(function)
        self._cache = ProgramCache(function, most_paths, self._said)
        self._surroundings: Surroundings | None = None
        self._renewed = 0
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
        return [path.program for paths in self._cache for path in paths]

    def __repr__(self) -> str:
        name = getattr(self.function, "__qualname__", repr(self.function))
        programs = self.programs
        replays = sum(p.replays for p in programs)
        return f"<compiled {name}: {counted(len(programs), 'program')}, {counted(replays, 'replay')}>"

    def statistics(self) -> CallStatistics:
        """How often the function was recorded and replayed, and what its programs do (see `Program.statistics`)."""
        programs, paths = self.programs, list(self._cache)
        around = {id(s): s for s in (self._surroundings, *(s for p in paths for s in p.around)) if s is not None}
        return CallStatistics(
            signatures=sum(not p.historic for p in paths),
            eager=sum(p.eager for p in paths),
            programs=tuple([p.statistics() for p in programs]),
            replays=sum(p.replays for p in programs),
            missed=sum(p.missed for p in programs),
            compared=sum(watch.compared for some in around.values() for watch in some.arrays.values()),
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
            self._said.warn(ERRORS, "where that is so")
            return self._eager(args, kwargs)
        try:
            call = take_apart(args, kwargs)
        except Exception as error:  # of arrays that are none, or of code that the function itself may never run
            results = self.function(*args, **kwargs)
            self._said.warn(f"an argument cannot be taken: {type(error).__name__}: {error}", "with such arguments")
            return results
        if self._renewed > self.most_paths:
            self._surroundings = None  # nothing is asked of it any more, and it would keep objects alive
            return self._eager(args, kwargs)
        if not self._takes(call, args, kwargs):
            return self._eager(args, kwargs)
        paths = self._cache.find(call, args, kwargs)
        if paths is not None and paths.fixed_floats:
            call = take_apart(args, kwargs, fixed_floats=True)
            paths = self._cache.find(call, args, kwargs, fixed_floats=True)
        if paths is None or paths.eager or not self._suits(paths, call):
            return self._eager(args, kwargs)
        if paths.around and not all(around.unchanged() for around in paths.around):
            paths = self._cache.put(Paths(call.key, paths.fixed_floats, paths.history))
            self._renewed += 1
        last, missed = None, None
        forget_errors()
        path = paths.first
        while path is not None:
            try:
                results = replayed(path.program, call.given, (args, kwargs), lambda: self._eager(args, kwargs))
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

    def _takes(self, call: CallArguments, args: Any, kwargs: Any) -> bool:
        """Whether such a call may be recorded and replayed at all, as what is around the function is now."""
        if self._surroundings is None or not self._surroundings.unchanged():
            self._surroundings, self._entry = self._around(), None
            self._cache.clear()
            self._renewed += 1
        around = self._surroundings
        if type(current().extend) is Packing and has_history((*call.given, *around.tensors)):
            self._said.warn("hooks put away what operations save", "where they do")
            return False
        if (around.compares or around.recognises) and is_told_apart(call, args, kwargs, around):
            self._said.warn("it asks whether arguments are the same object as others", "where some are")
            return False
        return True

    def _suits(self, paths: Paths, call: CallArguments) -> bool:
        """Whether the arguments of a call are as those that some programs are for; if not, it may say so."""
        if paths.tensors and any(isinstance(x, (Face, Traced, Outside, Layer)) for x in call.given):
            return False
        return paths.history is None or not self._is_entangled(paths, call)

    def _is_entangled(self, paths: Paths, call: CallArguments) -> bool:
        """Whether gradients that the function takes are not those that a list takes; if so, say it."""
        assert self._surroundings is not None
        around = [t for some in (self._surroundings, *paths.around) for t in some.tensors]
        found = are_entangled([*call.given, *{id(t): t for t in around}.values()])
        if found:
            self._said.warn("it takes gradients", "where tensors depend on others that require grad, or have hooks")
        return found

    def _look(self, path: Path, paths: Paths, call: CallArguments, arguments: Any) -> None:
        """Let the next such call come by this path without looking for it."""
        assert self._surroundings is not None
        if path.program.unvarying and path.program.tells:
            return
        if paths.history is not None and any(paths.history[1:]):
            return  # an entry takes tensors that require no grad
        around = [self._surroundings, *paths.around]
        path.shortcut.look(path.program, call.key, arguments, around, paths.layout is not None)

    def _record(self, args: Any, kwargs: Any, call: CallArguments, paths: Paths, last: Any, missed: Any) -> Any:
        """A call that is recorded, as one more path, and replayed; or else runs as it is."""
        if missed is not None:
            paths.missed += 1
            if not self._cache.has_room(paths, last, missed):
                return self._eager(args, kwargs)
        if self._renewed > self.most_paths:
            self._cache.give_up(paths, "what it reads or changes around it is new in every call")
            return self._eager(args, kwargs)
        try:
            recorded = self._recorded(args, kwargs, call, paths)
        except Untraceable as reason:
            if isinstance(reason, WithoutHistory) and paths.history is None:
                paths = self._by_history(paths, call) or paths
            self._cache.give_up(paths, str(reason))
            return self._eager(args, kwargs)
        except Exception as error:
            results = self._eager(args, kwargs)  # which raises it again, unless recording is to blame
            self._cache.give_up(paths, f"it raised {type(error).__name__} when it was recorded: {error}")
            return results
        if not paths.fixed_floats and float in map(type, call.given) and narrower(recorded.listing):
            recorded.before.put_back()
            paths.fixed_floats = True
            return self(*args, **kwargs)
        if recorded.historic and paths.history is None:
            paths, last, missed = self._by_history(paths, call) or paths, None, None
        if recorded.historic and self._is_entangled(paths, call):
            recorded.before.put_back()
            return self._eager(args, kwargs)
        paths.layout, paths.ordered = paths.layout or recorded.layout, paths.ordered or recorded.ordered
        path = Path(self._program(recorded, call))
        paths.add(path, last, missed)
        forget_errors()
        try:
            with paused():  # listing, steps and plan are many objects, which one search for circles would visit twice
                path.program.expect(call.given)
                return replayed(path.program, call.given, (args, kwargs), lambda: self._eager(args, kwargs), recorded)
        except GuardMissed:  # rounding decides, and a kernel rounds otherwise than NumPy
            recorded.before.put_back()
            return self._eager(args, kwargs)
        except (OverBudget, Warning):
            recorded.before.put_back()
            raise
        except Exception as error:  # numbers that were not computed while it was recorded
            recorded.before.put_back()
            return self._instead(args, kwargs, paths, error)

    def _by_history(self, paths: Paths, call: CallArguments) -> Paths | None:
        """The programs in the place of some which turned out to be for one history alone."""
        self._entry = None
        return self._cache.by_history(paths, call)

    def _program(self, recorded: RecordedCall, call: CallArguments) -> Program:
        parameters = parameters_of(self.function)
        program = Program(
            recorded.listing, recorded.results, call.key, self.tier, self.threads, parameters, self.most_memory
        )
        program.recording_bytes, program.historic = recorded.computed, recorded.historic
        program.ignored, program.unsaid = recorded.ignored, ALL_KINDS
        return program

    def _instead(self, args: Any, kwargs: Any, paths: Paths, error: Exception) -> Any:
        """What the function itself gives where a replay raised: the same error, or a result, and then a word of it."""
        if isinstance(error, NotMade):
            self._cache.give_up(paths, str(error))
            return self._eager(args, kwargs)
        results = self._eager(args, kwargs)
        what = f"{type(error).__name__}: {error}"
        self._said.warn(f"its replay raised {what}, where the function itself goes on", "with such arguments")
        return results

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

    def _eager(self, args: Any, kwargs: Any) -> Any:
        """Call the function itself, on the caller's own arguments."""
        return self.function(*args, **kwargs)
