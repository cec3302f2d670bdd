"""What gives something else whenever it is asked: clocks, the system, iterators, generators that are made anew."""

from __future__ import annotations

import builtins
import dis
import os
import sys
from collections.abc import Iterator
from functools import cache
from types import BuiltinMethodType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

SOURCES: dict[str, tuple[str, ...]] = {
    "builtins": ("input",),
    "datetime.date": ("today",),
    "datetime.datetime": ("now", "today", "utcnow"),
    "os": ("environ", "getenv", "urandom"),
    "random": ("SystemRandom",),
    "secrets": ("choice", "randbelow", "randbits", "token_bytes", "token_hex", "token_urlsafe"),
    "time": (
        "ctime", "gmtime", "localtime", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "process_time",
        "process_time_ns", "strftime", "thread_time", "thread_time_ns", "time", "time_ns",
    ),
    "uuid": ("uuid1", "uuid4"),
}  # fmt: skip
SEEDED: dict[str, tuple[str, ...]] = {"random": ("Random",)}
"""These give the same again if they are given a seed.  What NumPy makes without one is noticed (see `chance`)."""
NAMES = frozenset(name for table in (SOURCES, SEEDED) for names in table.values() for name in names) | {"getrandbits"}
"""What they are called, or call themselves, as `secrets.randbits` does."""
CALLABLE = (BuiltinMethodType, FunctionType, MethodType, type, type(np.random.default_rng))
GLOBAL = ("LOAD_GLOBAL", "LOAD_NAME")
ENCLOSED = ("LOAD_DEREF", "LOAD_CLASSDEREF")
ATTRIBUTE = ("LOAD_ATTR", "LOAD_METHOD")
BETWEEN = ("CACHE", "NOP", "PRECALL", "PUSH_NULL")


def is_fresh(thing: Any) -> bool:
    """Whether something gives something else whenever it is asked, or is an iterator, which goes on."""
    return isinstance(thing, Iterator) or is_in(thing, SOURCES)


def is_in(thing: Any, table: dict[str, tuple[str, ...]]) -> bool:
    """Whether something is one of what a table names."""
    if thing is os.environ:
        return table is SOURCES
    if not isinstance(thing, CALLABLE) or getattr(thing, "__name__", None) not in NAMES:
        return False
    return thing in members(*(row for row in table.items() if home(row[0])))


@cache
def members(*rows: tuple[str, tuple[str, ...]]) -> frozenset[Any]:
    """What is called like this in these modules and classes."""
    named = [getattr(home(path), name, None) for path, names in rows for name in names]
    return frozenset(x for x in named if isinstance(x, CALLABLE))


def home(path: str) -> Any:
    """A module, or a class in one, if it has been imported."""
    if path in sys.modules:
        return sys.modules[path]
    module, _, name = path.rpartition(".")
    return getattr(sys.modules.get(module), name, None)


def sources_in(code: CodeType, spaces: dict[str, Any], cells: dict[str, Any]) -> Iterator[str]:
    """What a function's code, and the functions defined in it, ask that gives something else each time.

    Args:
        spaces, cells: what global names and names of the functions around stand for.
    """
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from sources_in(constant, spaces, cells)
    known = {name: spaces.get(name, vars(builtins).get(name)) for name in code.co_names}
    if not NAMES.intersection(code.co_names) and not any(map(is_fresh, known.values())):
        return
    steps = [step for step in dis.get_instructions(code) if step.opname not in BETWEEN]
    for k, step in enumerate(steps):
        if step.opname == "IMPORT_NAME":
            yield from imported(code, step.argval)
        elif step.opname in GLOBAL or step.opname in ENCLOSED:
            thing = (known if step.opname in GLOBAL else cells).get(step.argval)
            name = step.argval
            following = k + 1
            while isinstance(thing, (ModuleType, type)) and steps[following].opname in ATTRIBUTE:
                name = f"{name}.{steps[following].argval}"
                thing = getattr(thing, steps[following].argval, None)
                following += 1
            seeded = not steps[following].opname.startswith("CALL") and steps[following].argval is not None
            if is_fresh(thing) or (not seeded and is_in(thing, SEEDED)):
                yield name


def imported(code: CodeType, module: str) -> Iterator[str]:
    """What a function may ask of a module that it imports."""
    for path, names in SOURCES.items():
        if path.partition(".")[0] == module.partition(".")[0]:
            yield from (f"{path}.{name}" for name in names if name in code.co_names)
