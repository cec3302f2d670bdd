"""What an instruction of the user's code calls, read from the code and where its parts stand in the source."""

from __future__ import annotations

import dis
from bisect import bisect_right
from functools import cache
from types import CodeType
from typing import Any, NamedTuple

Loaded = tuple[str, str]
"""How something was loaded, as an attribute, a global, a local or an item, and its name; an item has none."""


@cache
def callee(code: CodeType, lasti: int) -> Loaded:
    """How the call at an offset names what it calls: as an attribute, a global, a local or an item, and by which name.

    It is what was loaded last of that which begins where the call begins in the source: of ``np.zeros(3)``, ``zeros``.
    """
    at = index_of(code, lasti)
    if at is None:
        return "", ""
    if steps_of(code)[at].opname == "BINARY_OP":
        return ("", "") if steps_of(code)[at].argrepr == SUBSCRIPT else ("operator", "")
    if steps_of(code)[at].opname == "STORE_SUBSCR":
        return "assignment", ""
    return _callee(code, at)[0]


@cache
def enclosing(code: CodeType, lasti: int) -> tuple[tuple[str, int], ...]:
    """What is called with something that the instruction at an offset has part in: names, and offsets of the calls."""
    at = index_of(code, lasti)
    if at is None:
        return ()
    found, (start, end) = [], _extent(steps_of(code)[at])
    for k, step in enumerate(steps_of(code)):
        first, last = _extent(step)
        if step.opname.startswith("CALL") and first <= start and end <= last and (first, last) != (start, end):
            found.append((_callee(code, k)[0][1], step.offset))
    return tuple(found)


def _extent(step: dis.Instruction) -> tuple[tuple[int, int], tuple[int, int]]:
    """Where an instruction's part of the source begins and ends."""
    place = step.positions
    assert place is not None
    return (place.lineno or 0, place.col_offset or 0), (place.end_lineno or 0, place.end_col_offset or 0)


def _callee(code: CodeType, at: int) -> tuple[Loaded, int]:
    """What the instruction of a number calls, and the offset that it was loaded at."""
    steps = steps_of(code)
    call = steps[at].positions
    found, reach = (("", ""), -1), (0, 0)
    if call is None or call.lineno is None or call.col_offset is None:
        return found
    if not steps[at].opname.startswith(("CALL", "PRECALL")):
        return found
    for k, step in enumerate(steps[:at]):
        place = step.positions
        if (place.lineno, place.col_offset) != (call.lineno, call.col_offset):  # type: ignore[union-attr]
            continue
        end = place.end_lineno or 0, place.end_col_offset or 0  # type: ignore[union-attr]
        loaded = _second(steps[k - 1]) if step.opname == "PUSH_NULL" and k else _loaded(step)
        if loaded is not None and reach < end < (call.end_lineno or 0, call.end_col_offset or 0):
            found, reach = (loaded, step.offset), end
    return found


def _loaded(step: dis.Instruction) -> Loaded | None:
    """What an instruction loads (first, if two things), where it loads."""
    if step.opname == "BINARY_SUBSCR" or (step.opname == "BINARY_OP" and step.argrepr == SUBSCRIPT):
        return "item", ""
    for start, kind in LOADS.items():
        if step.opname.startswith(start):
            name = step.argval[0] if isinstance(step.argval, tuple) else step.argval
            return kind, name if isinstance(name, str) else ""
    return None


def _second(step: dis.Instruction) -> Loaded | None:
    """The local that an instruction loads after another, or after storing one, as CPython 3.13 began to do at once.

    In the source it stands where the first does; if the second is called, a PUSH_NULL comes next and has its place.
    """
    if step.opname.startswith(("LOAD_FAST", "STORE_FAST_LOAD_FAST")) and isinstance(step.argval, tuple):
        return "local", step.argval[1]
    return None


@cache
def steps_of(code: CodeType) -> list[dis.Instruction]:
    """The instructions of some code that have a place in the source."""
    return [step for step in dis.get_instructions(code) if step.positions is not None]


def index_of(code: CodeType, lasti: int) -> int | None:
    """The number of the instruction at an offset, which may be that of its caches."""
    at = bisect_right(steps_of(code), lasti, key=lambda step: step.offset) - 1
    return at if at >= 0 else None


LOADS = {
    "LOAD_ATTR": "attribute", "LOAD_METHOD": "attribute", "LOAD_GLOBAL": "global", "LOAD_NAME": "global",
    "LOAD_FAST": "local", "LOAD_DEREF": "local", "LOAD_CLOSURE": "local",
}  # fmt: skip
"""What the instructions that load begin with, and what they load from."""


SUBSCRIPT = "[]"
"""CPython 3.14 counts taking an item among the operators of two operands."""


@cache
def _called(code: CodeType) -> dict[int, Loaded]:
    """By offset, the loads of what is called at once."""
    steps = steps_of(code)
    pairs = [_callee(code, k) for k, step in enumerate(steps) if step.opname.startswith("CALL")]
    return {offset: loaded for loaded, offset in pairs if offset >= 0}


def is_called_at_once(code: CodeType, lasti: int) -> bool:
    """Whether what the instruction at an offset loads is called there and then, as ``np.ndarray`` in
    ``np.ndarray(3)``, and not passed on."""
    at = index_of(code, lasti)
    return at is not None and steps_of(code)[at].offset in _called(code)


class Reading(NamedTuple):
    """How code reads a function from a module: that it calls it at once, that it may keep it, or that it asks whether
    it is the same thing as what has a name, with the kind of that (see `callee`)."""

    kind: str
    name: str


CALLED_AT_ONCE, KEPT = Reading("called", ""), Reading("kept", "")


def reading(code: CodeType, lasti: int, name: str) -> Reading | None:
    """How the instruction at an offset reads a name of a module; None if it does not, but C code that it has called."""
    key = id(code), lasti, name
    found = _readings.get(key)
    if found is None:
        if len(_readings) >= MOST_READINGS:
            _readings.clear()
        found = _readings[key] = code, _reading(code, lasti, name)
    return found[1]


_readings: dict[tuple[int, int, str], tuple[CodeType, Reading | None]] = {}
"""By code, offset and name; the code is held, so that its number stays its own."""

MOST_READINGS = 10_000


def _reading(code: CodeType, lasti: int, name: str) -> Reading | None:
    at = index_of(code, lasti)
    if at is None:
        return None
    step = steps_of(code)[at]
    if not (step.opname.startswith(NAMING) and step.argval == name):
        return KEPT if callee(code, lasti)[1] in FETCHING else None
    return CALLED_AT_ONCE if is_called_at_once(code, lasti) else _same_as(code, at) or KEPT


NAMING = "LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM"
"""What the instructions begin with that read a name of a module."""

FETCHING = frozenset({"getattr", "attrgetter", "methodcaller", "__getattribute__"})
"""The names of C functions that read what they are asked for."""


def _same_as(code: CodeType, at: int) -> Reading | None:
    """The name, if it is one, of what that which an instruction loads is compared with by `is`."""
    steps = steps_of(code)
    around = next((s for s in steps[at:] if s.opname.startswith("IS_OP") and _holds(s, steps[at])), None)
    if around is None:
        return None
    mine, whole = _extent(steps[at]), _extent(around)
    within = [s for s in steps if _holds(around, s) and _extent(s) != whole]
    others = [s for s in within if not mine[0] <= _extent(s)[0] <= mine[1]]
    loaded = _loaded(others[0]) if len(others) == 1 else None
    return Reading(*loaded) if loaded is not None and loaded[0] in ("local", "global") else None


@cache
def compared_with(code: CodeType, lasti: int) -> frozenset[str]:
    """The names in the comparison that a call stands in, as ``type`` and ``float`` in ``type(x) is float``."""
    at = index_of(code, lasti)
    if at is None:
        return frozenset()
    call, steps = steps_of(code)[at], steps_of(code)
    around = next((s for s in steps[at:] if s.opname.startswith(COMPARING) and _holds(s, call)), None)
    if around is None:
        return frozenset()
    return frozenset(s.argval for s in steps if isinstance(s.argval, str) and _holds(around, s))


COMPARING = "COMPARE_OP", "IS_OP", "CONTAINS_OP"


def _holds(outer: dis.Instruction, inner: dis.Instruction) -> bool:
    """Whether an instruction's place in the source lies in that of another one."""
    a, b = outer.positions, inner.positions
    if a is None or b is None or None in (*a, *b):
        return False
    begins = (a.lineno, a.col_offset) <= (b.lineno, b.col_offset)
    return begins and (b.end_lineno, b.end_col_offset) <= (a.end_lineno, a.end_col_offset)


def is_attribute(code: CodeType, lasti: int, name: str) -> bool:
    """Whether the instruction at an offset itself reads the attribute, or asks for it with `getattr` or `hasattr`."""
    at = index_of(code, lasti)
    if at is None:
        return False
    step = steps_of(code)[at]
    return (step.opname.startswith("LOAD_ATTR") and step.argval == name) or callee(code, lasti) in (
        ("global", "getattr"), ("global", "hasattr"),
    )  # fmt: skip


@cache
def only_calls(code: CodeType, name: str) -> bool:
    """Whether code does nothing with a global name but call it, or ask whether something is an instance of it."""
    if name not in code.co_names:  # most code does not name it, and its instructions need not be gone through
        return True
    steps = steps_of(code)
    asked = [s for s in steps if s.opname.startswith("CALL") and callee(code, s.offset) == ("global", "isinstance")]
    loads = [
        s for s in dis.get_instructions(code) if s.argval == name and s.opname.startswith(("LOAD_GLOBAL", "LOAD_NAME"))
    ]
    return all(s.offset in _called(code) or any(_holds(call, s) for call in asked) for s in loads)


@cache
def only_passes(code: CodeType, name: str) -> bool:
    """Whether code does nothing with a global name but call it, pass it to a call, or ask `isinstance` of it.

    What is passed on in a tuple, compared or computed with is to be the class itself.
    """
    if only_calls(code, name):
        return True
    steps = steps_of(code)
    loads = [s for s in steps if s.argval == name and s.opname.startswith(("LOAD_GLOBAL", "LOAD_NAME"))]
    calls = [s for s in steps if s.opname.startswith("CALL")]
    others = [s for s in steps if s.opname.startswith(AS_ITSELF)]
    asked = [s for s in calls if callee(code, s.offset) == ("global", "isinstance")]
    return all(
        s.offset in _called(code)
        or any(_holds(call, s) for call in asked)
        or (any(_holds(call, s) for call in calls) and not any(_holds(other, s) for other in others))
        for s in loads
    )


AS_ITSELF = (*COMPARING, "BUILD_", "BINARY_", "LOAD_ATTR", "LOAD_METHOD", "MATCH_")
"""What the instructions begin with that take a class for more than what is called."""


@cache
def writes_texts(code: CodeType) -> bool:
    """Whether code may write numbers as texts: it calls for one by name, by ``%``, or in an f-string."""
    if not WRITING.isdisjoint(code.co_names) or not FORMATTING.isdisjoint(code.co_code[::2]):
        return True
    return _has_percent(code) and any(s.opname == "BINARY_OP" and s.argrepr in ("%", "%=") for s in steps_of(code))


FORMATTING = frozenset(number for name, number in dis.opmap.items() if name.startswith("FORMAT_"))
"""The instructions that format values; where code has them is seen from its bytes, two to an instruction."""


def _has_percent(code: CodeType) -> bool:
    return any((isinstance(c, str) and "%" in c) or (isinstance(c, bytes) and b"%" in c) for c in code.co_consts)


WRITING = frozenset({
    "array2string", "array_repr", "array_str", "ascii", "currency", "dump", "dumps", "format", "format_map",
    "format_string", "getMessage", "mod", "pformat", "pprint", "print", "read_dict", "repr", "savetxt", "str",
    "substitute", "urlencode", "write", "writelines", "writerow", "writerows",
})  # fmt: skip
"""The names of what writes texts."""


PEOPLE, RETURNED, UNSEEN = "people", "returned", "unseen"
"""Where a text may go: to people, or to what tells of it as soon as it reads a number there; to whoever called; or
where nobody knows what is made of it."""


@cache
def destination(code: CodeType, lasti: int, is_given: bool) -> str:
    """Where the text goes that the instruction at an offset writes, or is given by what it calls, as code says it.

    A text is for people if it is printed, logged, warned of, the message of an exception, compared or dropped, and so
    is one in a local variable that is used for nothing else.
    """
    at = index_of(code, lasti)
    return UNSEEN if at is None else _destination(code, at, frozenset(), is_given)


def _destination(code: CodeType, at: int, followed: frozenset[str], is_given: bool = False) -> str:
    steps, last = steps_of(code), at
    begin, end = _extent(steps[at])
    around = [k for k in range(at, len(steps)) if _extent(steps[k])[0] <= begin and end <= _extent(steps[k])[1]]
    if any(step.opname.startswith("RAISE_") for k in around for step in steps[k : k + 2]):
        return PEOPLE
    is_collected = False
    for k in around[is_given:]:
        step = steps[k]
        if step.opname.startswith(COMPARING) or (_is_item(step) and _extent(step)[0] < begin):  # or looked up by it
            return PEOPLE
        if k > last and not is_collected and steps[last + 1].opname.startswith(LEAVING):
            break  # the expression has ended; what follows is of a statement around it
        if step.opname.startswith("CALL"):
            name = _callee(code, k)[0][1]
            if _is_shown(code, k, name) or (name in HEARD and only_passes(code, name)):
                return PEOPLE
            if name not in COMPOSING:
                return UNSEEN
        elif step.opname in ("LIST_APPEND", "SET_ADD"):
            is_collected = True  # in a comprehension, which is a function of its own, or was one before CPython 3.12
        elif not is_collected and not step.opname.startswith(ON_TEXTS) and not _is_of_arguments(steps, k):
            return UNSEEN
        last = k
    if is_collected:
        return RETURNED if code.co_name in ("<listcomp>", "<setcomp>") else UNSEEN
    return _kept(code, last, followed)


def _is_of_arguments(steps: list[dis.Instruction], at: int) -> bool:
    """Whether an instruction makes the dict of arguments by name of a call with a star: ``print(*texts, sep="")``."""
    step, rest = steps[at], steps[at + 1 : at + 3]
    calls = [_extent(other) for other in rest if other.opname.startswith("CALL_FUNCTION_EX")]
    return step.opname.startswith(("BUILD_MAP", "BUILD_CONST_KEY_MAP", "DICT_")) and _extent(step) in calls


def _is_item(step: dis.Instruction) -> bool:
    """Whether an instruction takes an item of something."""
    return step.opname == "BINARY_SUBSCR" or (step.opname == "BINARY_OP" and step.argrepr == SUBSCRIPT)


def _kept(code: CodeType, last: int, followed: frozenset[str]) -> str:
    """Where a text goes that is not used in the expression whose last instruction is this one."""
    steps = steps_of(code)[last + 1 : last + 4]
    while steps[1:] and steps[0].opname.startswith(("PRECALL", "CALL")):
        steps = steps[1:]  # of an `assert`, whose call CPython 3.11 places elsewhere
    if steps and steps[0].opname.startswith("RAISE_"):
        return PEOPLE
    for step in steps_of(code)[last + 1 : last + 2]:
        if step.opname == "POP_TOP":
            return PEOPLE
        if step.opname.startswith(("RETURN_", "YIELD_")):
            return RETURNED
        if step.opname == "STORE_FAST" and LOOKING.isdisjoint(code.co_names):
            name = step.argval
            return PEOPLE if name in followed else _used(code, name, followed | {name})
    return UNSEEN


def _used(code: CodeType, name: str, followed: frozenset[str]) -> str:
    """Where what is in a local variable goes, in all its uses."""
    found = PEOPLE
    for k, step in enumerate(steps_of(code)):
        names = step.argval if isinstance(step.argval, tuple) else (step.argval,)
        if name in names and step.opname.startswith(("LOAD_", "STORE_FAST_LOAD")):
            goes = _destination(code, k, followed) if step.opname.startswith(ALONE) and len(names) == 1 else UNSEEN
            if goes == UNSEEN:
                return UNSEEN
            found = goes if goes != PEOPLE else found
    return found


def _is_shown(code: CodeType, at: int, name: str) -> bool:
    """Whether the call of something of this name shows its arguments to people: `print` not into a file of its own."""
    if name not in ("print", "write", "writelines"):
        return name in SHOWING or name.endswith(("Error", "Exception", "Warning", "Exit"))
    call = steps_of(code)[at]
    words = {word for step in steps_of(code)[: at + 1] if _holds(call, step) for word in _words_of(step)}
    return not words.isdisjoint(SCREENS) or (name == "print" and "file" not in words)


def _words_of(step: dis.Instruction) -> tuple[Any, ...]:
    """The names that an instruction has to do with, those of arguments among them."""
    return step.argval if isinstance(step.argval, tuple) else (step.argval,)


LEAVING = "POP_TOP", "RETURN_", "STORE_", "YIELD_"
"""What the instructions begin with that take the value of an expression from the stack."""

ALONE = "LOAD_FAST", "LOAD_DEREF", "LOAD_NAME"
LOOKING = frozenset({"eval", "exec", "locals", "vars", "_getframe", "currentframe"})
"""The names of what may read a local variable without naming it."""

SCREENS = frozenset({"stdout", "stderr", "__stdout__", "__stderr__"})

ON_TEXTS = (
    "BINARY_", "BUILD_LIST", "BUILD_STRING", "BUILD_TUPLE", "CONVERT_", "FORMAT_", "GET_ITER", "JUMP_FORWARD",
    "KW_NAMES", "LIST_", "LOAD_", "NOP", "PRECALL", "PUSH_NULL", "FOR_ITER",
)  # fmt: skip
"""What the instructions begin with whose results are as much of a text as what they are given."""

COMPOSING = frozenset({
    "array2string", "array_repr", "array_str", "ascii", "capitalize", "center", "dedent", "expandtabs", "fill",
    "format", "format_map", "indent", "join", "ljust", "lower", "lstrip", "removeprefix", "removesuffix", "replace",
    "repr", "rjust", "rstrip", "str", "strip", "title", "upper", "zfill", "list", "tuple",
})  # fmt: skip
"""The names of what makes texts of texts."""

SHOWING = frozenset({
    "critical", "debug", "display", "error", "exception", "fail", "fatal", "info", "len", "log", "pprint",
    "set_description", "set_postfix", "set_postfix_str", "set_title", "skip", "suptitle", "warn", "warning", "xfail",
})  # fmt: skip
"""The names of what shows texts to people, or counts their characters."""

HEARD = frozenset({
    "astype", "complex", "eval", "float", "float16", "float32", "float64", "fromregex", "fromstring", "genfromtxt",
    "literal_eval", "loads", "loadtxt",
})  # fmt: skip
"""The names of what reads numbers from texts, and is told of."""
