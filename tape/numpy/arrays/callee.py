"""What an instruction of the user's code calls, read from the code and where its parts stand in the source."""

from __future__ import annotations

import dis
from bisect import bisect_right
from functools import cache
from types import CodeType

Loaded = tuple[str, str]
"""How something was loaded, as an attribute, a global or a local, and its name."""


@cache
def callee(code: CodeType, lasti: int) -> Loaded:
    """How the call at an offset names what it calls: as an attribute, a global or a local, and by which name.

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
    if not WRITING.isdisjoint(code.co_names):
        return True
    return any(
        step.opname.startswith("FORMAT_")
        or (step.opname == "BINARY_OP" and step.argrepr in ("%", "%=") and _has_percent(code))
        for step in steps_of(code)
    )


def _has_percent(code: CodeType) -> bool:
    return any((isinstance(c, str) and "%" in c) or (isinstance(c, bytes) and b"%" in c) for c in code.co_consts)


WRITING = frozenset({
    "array2string", "array_repr", "array_str", "ascii", "currency", "dump", "dumps", "format", "format_map",
    "format_string", "getMessage", "mod", "pformat", "pprint", "print", "read_dict", "repr", "savetxt", "str",
    "substitute", "urlencode", "write", "writelines", "writerow", "writerows",
})  # fmt: skip
"""The names of what writes texts."""
