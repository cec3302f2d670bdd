"""What a function's code reads by name, found in its instructions."""

from __future__ import annotations

import dis
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from types import CodeType
from typing import NamedTuple

from .known import INNER, READING

GLOBAL = ("LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL", "DELETE_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS")
ENCLOSED = ("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF")
ATTRIBUTE = ("LOAD_ATTR", "LOAD_METHOD")
NAMED = (
    *ATTRIBUTE,
    "IMPORT_FROM",
    "STORE_ATTR",
    "DELETE_ATTR",
    "LOAD_SUPER_ATTR",
    "LOAD_ZERO_SUPER_ATTR",
    "LOAD_SUPER_METHOD",
)
PLAIN = ("LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_BORROW", "LOAD_CONST", "LOAD_SMALL_INT", *GLOBAL[:2], *ENCLOSED)
CONSTANT = ("LOAD_CONST", "LOAD_SMALL_INT", "LOAD_COMMON_CONSTANT")
TEXTS = ("FORMAT_VALUE", "FORMAT_SIMPLE", "FORMAT_WITH_SPEC", "CONVERT_VALUE")
FORMATTING = ("__format__", "__repr__", "__str__", "format", "format_map")
EQUATING = (
    "__contains__", "__eq__", "__ne__", "contains", "count", "countOf", "eq", "index", "indexOf", "ne", "remove",
)  # fmt: skip
"""Functions and methods that ask whether things are equal."""
REMAINDER = (6, 19)
"""The numbers of the operators ``%`` and ``%=``."""
UNKNOWN = {dis.opname[k] for k in (*dis.hasname, *dis.hasfree) if not dis.opname[k].startswith(("INSTRUMENTED_", "<"))}
UNKNOWN -= {*GLOBAL, *ENCLOSED, *NAMED, "IMPORT_NAME", "LOAD_CLOSURE", "LOAD_ZERO_SUPER_METHOD"}
UNKNOWN -= {"STORE_NAME", "DELETE_NAME", "MAKE_CELL", "STORE_DEREF", "DELETE_DEREF"}
"""Instructions of this Python that have a name, and that are not known here: they may read it in any way."""
BETWEEN = ("CACHE", "NOP", "PRECALL", "PUSH_NULL", "KW_NAMES", "COPY_FREE_VARS", "RESUME", "EXTENDED_ARG")


ENTERING = -1
"""Stands for the beginning of a function, among offsets in its code."""
Place = tuple[CodeType, int]
"""A place in code: an offset there."""


class Import(str):
    """The name of a module that would be imported."""


class Load(NamedTuple):
    """A name that is read, and what attributes of it are.

    Attributes:
        offsets: of the instruction, with its prefixes.
        how: ``"global"``, ``"enclosed"`` or ``"import"``.
        name: the name; of a module, for an import, with dots before a relative one.
        attributes: what is read of it at once.
        texts: the constant names that it is called with, as ``getattr(x, "a")`` is; None if it is not called like that.
    """

    offsets: tuple[int, ...]
    how: str
    name: str
    attributes: tuple[str, ...]
    texts: tuple[str, ...] | None = None


class Reads(NamedTuple):
    """What one code object reads.

    Attributes:
        loads: names of scopes around it, and imports.
        attributes: by name, the offsets of the instructions that read or set it.
        inner: offsets where frames, scopes and the like are asked for, each with the attribute's name.
        any: offsets where attributes are read whose names do not stand there.
        texts: whether texts are made of things.
        compares: whether it asks of two values if they are the same object.
        recognised: names from outside, and what is read of them, of which it asks so: how it gets at them, name, path.
        equates: whether it asks of two things, none of them a constant, if they are equal.
    """

    loads: list[Load]
    attributes: dict[str, list[int]]
    inner: list[tuple[int, str]]
    any: list[int]
    texts: bool
    compares: bool
    recognised: list[tuple[str, str, tuple[str, ...]]]
    equates: bool


class Step(NamedTuple):
    """An instruction, with the offsets of its prefixes."""

    op: str
    argument: object
    offsets: tuple[int, ...]


def steps_of(code: CodeType) -> list[Step]:
    """The instructions of a code object that do something."""
    steps, prefixes = [], []
    for step in dis.get_instructions(code):
        if step.opname == "EXTENDED_ARG":
            prefixes.append(step.offset)
        elif step.opname not in BETWEEN:
            steps.append(Step(step.opname, step.argval, (*prefixes, step.offset)))
            prefixes = []
    return steps


@lru_cache(maxsize=4096)
def reads_of(code: CodeType) -> Reads:
    """What a code object reads, without those inside it."""
    steps = steps_of(code)
    found_at = [loaded_at(steps, k - 1) for k, (op, _, _) in enumerate(steps) if op == "IS_OP"]
    equates = any(asks_equality(steps, k) for k in range(len(steps)))
    asked = [(op, str(argument), path) for (op, argument, _), path in found_at if path[-1:] != ("__class__",)]
    outer = {**dict.fromkeys(GLOBAL[:2], "global"), **dict.fromkeys(ENCLOSED, "enclosed")}
    names = [(outer[op], name, path) for op, name, path in asked if op in outer]
    compares = any(op not in outer and op not in CONSTANT for op, _, _ in asked) and not is_of_dataclass(code)
    found = Reads([], {}, [], [], any(map(makes_text, steps)), compares, names, equates)
    for k, (op, argument, offsets) in enumerate(steps):
        if op in GLOBAL or op in ENCLOSED or op in UNKNOWN:
            attributes, following = chain(steps, k + 1)
            how = "enclosed" if op in ENCLOSED else "global"
            found.loads.append(Load(offsets, how, str(argument), attributes, texts_at(steps, following)))
        elif op == "IMPORT_NAME":
            level: object = steps[k - 2].argument
            dots = "." * level if isinstance(level, int) else ""
            found.loads.append(Load(offsets, "import", f"{dots}{argument}", ()))
        if op in NAMED or op in UNKNOWN:
            found.attributes.setdefault(str(argument), []).extend(offsets)
            if argument in READING:
                found.any.extend(offsets)
            if argument in INNER:
                found.inner.extend((offset, str(argument)) for offset in offsets)
        elif op == "MATCH_CLASS":
            found.any.extend(offsets)
    return found


def is_of_dataclass(code: CodeType) -> bool:
    """Whether it is the ``__eq__`` that `dataclasses` writes, from Python 3.13 on with ``self is other`` in it.

    Its first argument is an object of the class, for which no other object stands.
    """
    return (code.co_name, code.co_filename, code.co_varnames) == ("__eq__", "<string>", ("self", "other"))


def loaded_at(steps: list[Step], k: int) -> tuple[Step, tuple[str, ...]]:
    """The instruction that loads what is there after another one, and the attributes that are read of it."""
    path: list[str] = []
    while k > 0 and steps[k].op in ATTRIBUTE:
        path.append(str(steps[k].argument))
        k -= 1
    return steps[k], tuple(reversed(path))


def asks_equality(steps: list[Step], k: int) -> bool:
    """Whether an instruction compares, looks for a thing among others, or names a function that does."""
    op, argument, _ = steps[k]
    if op in ("COMPARE_OP", "CONTAINS_OP") and not {"<", ">"}.intersection(str(argument)):
        return not k or steps[k - 1].op not in ("LOAD_CONST", "LOAD_SMALL_INT")
    return op in NAMED and argument in EQUATING


class Sites:
    """Where code reads attributes, of anything that has them.

    Attributes:
        named: by name, the places that read what has it.
        by_name: whether attributes are read whose names the code does not tell.
        everywhere: the places that read such; None if it is not known which do.
        of_modules: those of them that may read such of modules too.
    """

    def __init__(self) -> None:
        self.named: dict[str, list[Place]] = {}
        self.by_name = False
        self.everywhere: list[Place] | None = []
        self.of_modules: list[Place] | None = []

    def add(self, reads: Mapping[str, Iterable[Place]]) -> None:
        """Note by name which places read what has it."""
        for name, places in reads.items():
            self.named.setdefault(name, []).extend(places)

    def read_by_name(self, places: Iterable[Place] | None, of_modules: bool = True) -> None:
        """Attributes of anything, or of all but modules, are read at some places, or it is not known where."""
        self.by_name = True
        found = None if places is None else list(places)
        self.everywhere = _together(self.everywhere, found)
        if of_modules:
            self.of_modules = _together(self.of_modules, found)

    def places_of(self, name: str) -> list[Place] | None:
        """The places that read, or may read, what has a name; None if it is not known which do."""
        return _together(self.named.get(name, []), self.everywhere)


def _together(some: list[Place] | None, others: list[Place] | None) -> list[Place] | None:
    return None if some is None or others is None else [*some, *others]


def makes_text(step: Step) -> bool:
    """Whether an instruction may make a text of something."""
    remainder = step.op == "BINARY_OP" and step.argument in REMAINDER
    return remainder or step.op in TEXTS or (step.op in NAMED and step.argument in FORMATTING)


def chain(steps: list[Step], k: int) -> tuple[tuple[str, ...], int]:
    """The attributes that are read one of the other from a position on, and the position behind them."""
    first = k
    while k < len(steps) and steps[k].op in ATTRIBUTE:
        k += 1
    return tuple([str(step.argument) for step in steps[first:k]]), k


def texts_at(steps: list[Step], k: int) -> tuple[str, ...] | None:
    """The texts that a function is called with, before or behind one plain argument; None if it is not so."""
    if k < len(steps) and steps[k].op in PLAIN and steps[k].op != "LOAD_CONST":
        _, k = chain(steps, k + 1)
        count, most = 1, 1
    else:
        count, most = 0, 9
    texts: list[str] = []
    while k < len(steps) and steps[k].op == "LOAD_CONST" and isinstance(steps[k].argument, str) and len(texts) < most:
        texts.append(str(steps[k].argument))
        k, count = k + 1, count + 1
    if texts and most == 1 and k < len(steps) and steps[k].op in PLAIN:
        _, k = chain(steps, k + 1)
        count += 1
    called = k < len(steps) and steps[k].op == "CALL" and steps[k].argument == count
    return tuple(part for text in texts for part in text.split(".")) if texts and called else None


@lru_cache(maxsize=4096)
def names_in(code: CodeType) -> frozenset[str]:
    """The names that a function's code reads, of globals and of attributes, and the functions defined in it."""
    return frozenset().union(*(part.co_names for part in codes_in(code)))


def codes_in(code: CodeType) -> Iterator[CodeType]:
    """A function's code, and that of the functions defined in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes_in(constant)
