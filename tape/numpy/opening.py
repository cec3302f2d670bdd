"""Doors are put into modules and names while a function of arrays is recorded, and taken back.

They stand for the threads that record (`opened`), but for what such a thread imports, or lets Numba compile (`closed`):
that is to know NumPy's functions by identity.  Which doors there are says `tape.numpy.doors`.

The library's own code names twins of these modules, where no door stands (`hold`).  What it computes while a function
is recorded would ask at each call in vain whose it is, and a module of another class makes a search of every
``np.name``: together a quarter of a first call.
"""

from __future__ import annotations

import sys
import weakref
from _thread import get_ident
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from ..base.location import in_library
from ..base.locks import in_child, new_lock
from ..base.rooms import AROUND, opened as opened_room
from ..base.tensor import Face, Tensor
from ..base.tree import transform
from ..base.undisturbed import undisturbed
from . import answering  # noqa: F401  what the user gets answers everything
from .arrays.array_text import forget
from .arrays.leaving import recording
from .classes import IN_BUILTINS, NAMED, SEEING, TYPE, kind_of
from .doors import MODULES, arrived, by_identity, exchange, insides, is_ready, modules
from .names.named_places import OURS, has_builtins, is_lasting, latest_module, naming_type, replaced, search
from .names.taken import LENT, MISSING, TAKEN, Door, Place, are_the_same, lent

_stand: list[tuple[str, ...]] = []
"""For which rooms doors stand in the modules, if they do."""

_lock = new_lock()
"""Held for what is done to modules and places.  Nobody who holds it imports, compiles or waits for another lock."""


def standing() -> tuple[str, ...]:
    """The rooms for which doors stand; those for which they would, if none do."""
    return _stand[-1] if _stand else arrived()


class _Use:
    """Something that a thread has begun and ends, whatever interrupts it.

    Attributes:
        ident: the thread, from when something may have been changed until nothing is.
    """

    ident: int | None = None

    def __exit__(self, *_: Any) -> None:
        try:
            self._close()
        except BaseException:  # an interrupt; what was done already is not done twice
            self._close()
            raise

    def __del__(self) -> None:
        """The same where an interrupt came before the first line of `__exit__`."""
        if self.ident is not None:
            self._close()

    def _close(self) -> None:
        raise NotImplementedError


class opened(_Use):
    """While this thread runs a function of arrays that is recorded, called with arguments that may call others.

    An interrupt anywhere in here leaves no door: what is taken back is taken back as often as it takes.

    Attributes:
        mine: the places that may have doors for this.
    """

    mine: Sequence[Place] = ()

    def __init__(self, function: Callable[..., Any], arguments: Any = ()):
        self.function, self.arguments = function, arguments

    def __enter__(self) -> opened:
        ident = get_ident()
        listen()
        with _lock:
            rooms = standing()
            if not _stand:
                modules(rooms)  # made before any door stands in its place, whoever is first
        places = places_in(self.function, rooms)
        if self.arguments:
            places = [*places, *_found(self.arguments, rooms).places]
        try:
            self.ident = ident
            with _lock:
                recording.setdefault(ident, set()).add(id(self))
                if not _stand:
                    _install(rooms)
                if ident not in shut:
                    SEEING.add(ident)
                self.mine = places
                for place in places:
                    TAKEN.take(place, ident, self, shut, _door_for)
            if places:
                _introduce()
        except BaseException:
            self.__exit__()
            raise
        return self

    def call(self, args: Any, kwargs: Any) -> Any:
        """What the function gives, with doors for the functions of NumPy's or SciPy's that it and its arguments are."""
        rooms = standing()
        lending = Lending(by_identity(rooms))
        inside = replaced(self.function, insides(rooms), lending)
        function = self.function if inside is None else inside
        if self.arguments:
            args, kwargs = transform(lending.given, args), transform(lending.given, kwargs)
        try:
            result = function(*args, **kwargs)
        finally:
            del inside, function, args, kwargs  # a door that nobody else has is not one that outlives the recording
        return returned(result) if LENT else result

    def _close(self) -> None:
        ident = self.ident
        if ident is None:
            return
        with _lock:
            for place in self.mine:
                TAKEN.give_back(place, ident, self)
            mine = recording.get(ident, set())
            mine.discard(id(self))
            if not mine:
                _end(ident)
            self.ident = None
        if LENT and not _stand:
            take_back()


class Lending:
    """What doors there are, by identity of what they stand for, as who may keep them gets them."""

    def __init__(self, doors: dict[int, Any]):
        self.doors = doors

    def get(self, known: int) -> Any:
        door = self.doors.get(known)
        return None if door is None else lent(door)

    def given(self, thing: Any) -> Any:
        """An argument, with doors for the functions of NumPy's or SciPy's that it is made of."""
        door = replaced(thing, self)
        return thing if door is None else door


IDLE = Tensor, Face, np.ndarray, np.generic, float, int, complex, str, bytes, type(None)
"""The kinds of arguments that call nothing."""


def returned(tree: Any) -> Any:
    """What the outermost function that is recorded gives, with the functions themselves in the place of doors."""
    if len(recording.get(get_ident(), ())) > 1:
        return tree
    return transform(lambda x: x.__wrapped__ if type(x) is Door else x, tree)


def take_back() -> None:
    """Put the functions themselves where doors that were lent are still kept, once none stands any more."""
    with _lock:
        kept = [] if _stand else [weakref.ref(LENT.pop(known)) for known in list(LENT)]
    kept = [found for found in kept if found() is not None]
    if kept and opened_room("tape.numpy.names.outlived").restore(kept):
        _known.clear()  # there are places now that were not there when places were looked for


def _end(ident: int) -> None:
    """A thread records no more."""
    recording.pop(ident, None)
    SEEING.discard(ident)
    forget(ident)
    if not recording and _stand:
        _remove(_stand[-1])
        _stand.clear()


shut: dict[int, set[int]] = {}
"""By thread, the uses of `closed` that it is in, one inside the other, as numbers."""


class closed(_Use):
    """No door stands for a thread meanwhile, as it imports or compiles what knows NumPy's functions by identity.

    Other threads go on recording, so doors in modules are for those alone that see them (`SEEING`), and so are names of
    the user's, unless another thread records with the same ones: Numba is told what those doors stand for.  It waits
    for nobody.  An interrupt anywhere in here leaves no thread shut, as with `opened`.
    """

    def __enter__(self) -> None:
        ident = get_ident()
        try:
            self.ident = ident
            with _lock:
                shut.setdefault(ident, set()).add(id(self))
                SEEING.discard(ident)
                TAKEN.show(shut)
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_: Any) -> None:
        try:
            listen()
        finally:
            super().__exit__()

    def _close(self) -> None:
        ident = self.ident
        if ident is None:
            return
        with _lock:
            mine = shut.get(ident, set())
            mine.discard(id(self))
            if not mine:
                if ident in recording:
                    _install(arrived())
                    SEEING.add(ident)
                shut.pop(ident, None)
                TAKEN.show(shut)
            self.ident = None


def listen() -> None:
    """Hear of Numba's compilations, once Numba is there, and let it learn the functions by which it knows NumPy."""
    event = sys.modules.get("numba.core.event")
    if event is None or event in _heard or not is_ready(sys.modules.get("numba")):
        return
    undisturbed(lambda: _listen(event))


def _listen(event: Any) -> None:
    with _lock:
        if event in _heard:
            return
        _heard.append(event)
    try:
        with closed():
            _hear(event)
    except BaseException:  # who comes next hears
        _heard.remove(event)
        raise


def _hear(event: Any) -> None:
    heard = type("Heard", (event.Listener,), {"on_start": _on_start, "on_end": _on_end})
    event.register("numba:compiler_lock", heard())
    typeof = opened_room("numba.extending").typeof_impl
    usual = typeof.dispatch(type)
    typeof.register(type)(lambda kind, context: usual(kind_of(kind), context))
    target = opened_room("numba.core.registry").cpu_target
    contexts = target.typing_context, target.target_context  # whoever makes them waits for the compiler lock
    with opened_room("numba.core.compiler_lock").global_compiler_lock:
        for context in contexts:
            context.refresh()


def _on_start(listener: Any, event: Any) -> None:
    use = closed()
    use.__enter__()
    _introduce()
    _compiling.setdefault(get_ident(), []).append(use)  # the last step: a use that nobody holds ends itself


def _on_end(listener: Any, event: Any) -> None:
    uses = _compiling.get(get_ident())
    if uses:
        uses.pop().__exit__()


_compiling: dict[int, list[closed]] = {}
"""By thread, what is closed for Numba's compilations, one inside the other."""

_heard: list[Any] = []
AROUND.append(closed)


def _introduce() -> None:
    """Tell Numba what the doors in users' names stand for, which it may meet in the code that a thread compiles."""
    if _heard and shut:
        undisturbed(_tell)


def _tell() -> None:
    context = opened_room("numba.core.registry").cpu_target.typing_context
    unknown = ValueError, opened_room("numba.core.errors").NumbaError
    for original, door in TAKEN.shown():
        with suppress(*unknown):
            kind = context.resolve_value_type(original)
            try:
                context.resolve_value_type(door)
            except unknown:
                context.insert_global(door, kind)


@in_child
def _begin_anew() -> None:
    """In the child of a fork only the thread that forked goes on recording."""
    ident = get_ident()
    for other in [thread for thread in recording if thread != ident]:
        TAKEN.leave(other)
        _end(other)
    for other in [thread for thread in shut if thread != ident]:
        del shut[other]
    TAKEN.show(shut)


def _install(rooms: tuple[str, ...]) -> None:
    """Put doors into the modules and classes; of those for fewer rooms that stand there, nobody sees the change."""
    hold(MODULES)
    before = [opened for _, _, opened in modules(_stand[-1])] if _stand else []
    if _stand and _stand[-1] == rooms:
        return
    _stand[:] = [rooms]  # said first, so that an interrupt leaves nothing that would not be removed
    for module, plain, open_one in modules(rooms):
        if type(module) is plain or type(module) in before:
            module.__class__ = open_one
    exchange(rooms, True)
    _naming[:] = [names for names in naming_type() if "type" not in names] + [n for n in _naming if "type" in n]
    for names in _naming:
        names["type"] = TYPE


def _remove(rooms: tuple[str, ...]) -> None:
    """Put everything back."""
    for module, plain, open_one in modules(rooms):
        if type(module) is open_one:
            module.__class__ = plain
    exchange(rooms, False)
    for names in _naming:
        if names.get("type") is TYPE:
            del names["type"]
    _naming.clear()


_twins: dict[int, tuple[ModuleType, ModuleType]] = {}
"""By identity of a module that doors stand in, that module and its twin."""

_seen: list[Any] = [None]
"""The room that was imported last when rooms were last looked through."""

_naming_twins: dict[str, ModuleType] = {}
"""The rooms that name twins, by name."""


def hold(modules: tuple[ModuleType, ...]) -> None:
    """Let the rooms that are imported by now name twins of some modules, in which no door stands yet."""
    last = latest_module()
    if last == _seen[0]:
        return
    _seen[0] = last
    for module in () if _twins else modules:
        _twins[id(module)] = module, _twin(module)
    for _, made in _twins.values():
        _exchange(vars(made))
    for name, room in sys.modules.copy().items():  # copied at once, while other threads may import
        if name.partition(".")[0] not in OURS or type(room) is not ModuleType or _naming_twins.get(name) is room:
            continue
        if in_library(vars(room).get("__file__") or ""):
            _exchange(vars(room))
            if not getattr(room.__spec__, "_initializing", False):  # it names more when it is imported
                _naming_twins[name] = room


def _twin(module: ModuleType) -> ModuleType:
    """A module of the same name, in which the same stands as now."""
    made = ModuleType(module.__name__)
    vars(made).update(vars(module))
    return made


def _exchange(names: dict[str, Any]) -> None:
    for name, value in names.copy().items():
        if isinstance(value, ModuleType) and id(value) in _twins:
            names[name] = _twins[id(value)][1]


_naming: list[dict[str, Any]] = []
"""The globals of modules in which the name `type` was put."""


def _door_for(place: Place, there: Any) -> Any:
    stands = IN_BUILTINS.get(place[1])
    if stands is not None and (there is stands.kind or (there is MISSING and has_builtins(place[0]))):
        return stands
    door = replaced(there, Lending(by_identity(standing())))
    return NAMED.get(id(there)) if door is None else door


class Found(NamedTuple):
    """The places that were found for a function: with doors for which rooms, and by what names."""

    rooms: tuple[str, ...]
    followed: list[tuple[Place, int]]
    places: list[Place]

    def holds(self, rooms: tuple[str, ...]) -> bool:
        """Whether a search would find the same, as names name what they did."""
        return self.rooms == rooms and are_the_same(self.followed)


_known: weakref.WeakKeyDictionary[Any, Found] = weakref.WeakKeyDictionary()


def places_in(function: Any, rooms: tuple[str, ...]) -> list[Place]:
    """Where a function, or what it names, reads an original from; looked for again if a name names something else."""
    try:
        found = _known.get(function)
        if found is None or not found.holds(rooms):
            found = _found(function, rooms)
            if all(map(is_lasting, found.places)):
                _known[function] = found
        return found.places
    except TypeError:
        return _found(function, rooms).places


def _found(function: Any, rooms: tuple[str, ...]) -> Found:
    followed: list[tuple[Place, int]] = []
    places = list(search(function, by_identity(rooms), NAMED, TAKEN.without_doors, followed))
    return Found(rooms, followed, places)
