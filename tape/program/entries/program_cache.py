"""The programs of a compiled function: a decision tree for each kind of call, of which there may be too many."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..capture.laid_results import layout_of
from ..capture.said_once import SaidOnce
from ..capture.signature import CallArguments, Variety, advice, history_of
from ..recorded.guards import GuardMissed
from .decision_tree import WORTH, Path, Paths

MOST_SIGNATURES = 256


class ProgramCache:
    """Trees of programs by the keys of calls (see `CallArguments`), each also by history where that matters."""

    def __init__(self, function: Callable[..., Any], most_paths: int, said: SaidOnce):
        self.function, self.most_paths, self.said = function, most_paths, said
        self._paths: dict[Any, Paths] = {}
        self._variety = Variety(most_paths, MOST_SIGNATURES)

    def __iter__(self) -> Iterator[Paths]:
        return iter(list(self._paths.values()))

    def clear(self) -> None:
        """Begin anew: what is around the function has changed."""
        self._paths = {}
        self._variety.forget()

    def find(self, call: CallArguments, args: Any, kwargs: Any, fixed_floats: bool = False) -> Paths | None:
        """The programs for such a call; None if there are none, and too many for others that differ little."""
        paths = self._paths.get(call.key)
        if paths is None:
            if self._variety.is_exhausted(call.key):
                return None
            blamed = self._variety.add(call.key)
            if blamed is not None:
                self.said.warn(advice(self.function, args, kwargs, blamed))
                return None
            paths = self.put(Paths(call.key, fixed_floats))
        return self.by_history(paths, call) if paths.historic else self.by_layout(paths, call)

    def by_layout(self, paths: Paths, call: CallArguments) -> Paths | None:
        """The programs for arguments that lie in memory as those of a call do; None if there are too many."""
        if paths.layout is None or (layout := layout_of(call.given)) == paths.layout:
            return paths
        if paths.ordered:
            self.said.warn(
                "what it gives depends on how they lie in memory", "for arguments in another order than by rows"
            )
            return None
        found = self._paths.get((paths.key, paths.history, layout))
        if found is None:
            if paths.others >= self.most_paths:
                self.said.warn("what it gives depends on how arguments lie in memory", "for ever other layouts")
                return None
            paths.others += 1
            found = self.put(Paths(paths.key, paths.fixed_floats, paths.history, layout))
            found.around = paths.around
        return found

    def by_history(self, paths: Paths, call: CallArguments) -> Paths | None:
        """The programs for tensors that require grad as those of a call do, where gradients are recorded as there."""
        root = self._paths.get(paths.key, paths)
        if not root.historic:
            root.historic = True
            root.forget()
        history = history_of(call.given)
        found = self._paths.get((call.key, history, None))
        if found is None:
            found = self.put(Paths(call.key, paths.fixed_floats, history))
            found.around = paths.around
        return self.by_layout(found, call)

    def put(self, paths: Paths) -> Paths:
        """Keep a tree, in the place of the oldest if there are too many."""
        while len(self._paths) >= MOST_SIGNATURES:
            self._paths.pop(next(iter(self._paths)), None)
        self._paths[paths.place] = paths
        return paths

    def has_room(self, paths: Paths, last: Path, missed: GuardMissed) -> bool:
        """Whether another path is recorded: if there are few, or those that there are are in use."""
        if paths.count < self.most_paths:
            return True
        replays, guard = paths.replays_since(), missed.guard
        what = f"{paths.count} paths were recorded, and {guard.what} at {guard.location} still gives new values"
        if not replays:
            self.give_up(paths, what)
        elif replays < WORTH:
            self.said.warn(what, "where it takes another path")
        else:
            paths.make_room(last)
        return replays >= WORTH

    def give_up(self, paths: Paths, reason: str) -> None:
        """Let such calls run as they are from here on."""
        paths.eager = True
        paths.first = None
        self.said.warn(reason)
