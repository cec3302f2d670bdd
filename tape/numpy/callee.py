"""What an instruction of the user's code calls, read from the code and where its parts stand in the source."""

from __future__ import annotations

import dis
from functools import cache
from types import CodeType


@cache
def callee(code: CodeType, lasti: int) -> tuple[str, str]:
    """How the call at an offset names what it calls: as an attribute, a global or a local, and by which name.

    It is what was loaded last of that which begins where the call begins in the source: of ``np.zeros(3)``, ``zeros``.
    """
    steps = [step for step in dis.get_instructions(code) if step.offset <= lasti and step.positions is not None]
    call = steps[-1].positions if steps else None  # the offset may be that of its caches
    if call is None or call.lineno is None or call.col_offset is None:
        return "", ""
    if steps[-1].opname == "BINARY_OP":
        return "operator", ""
    if not steps[-1].opname.startswith(("CALL", "PRECALL")):
        return "", ""
    found, reach = ("", ""), (0, 0)
    for step in steps[:-1]:
        at = step.positions
        if (at.lineno, at.col_offset) != (call.lineno, call.col_offset):  # type: ignore[union-attr]
            continue
        end = at.end_lineno or 0, at.end_col_offset or 0  # type: ignore[union-attr]
        kind = next((kind for start, kind in LOADS.items() if step.opname.startswith(start)), "")
        if kind and reach < end < (call.end_lineno or 0, call.end_col_offset or 0):
            found, reach = (kind, step.argval if isinstance(step.argval, str) else ""), end
    return found


LOADS = {
    "LOAD_ATTR": "attribute", "LOAD_METHOD": "attribute", "LOAD_GLOBAL": "global", "LOAD_NAME": "global",
    "LOAD_FAST": "local", "LOAD_DEREF": "local", "LOAD_CLOSURE": "local",
}  # fmt: skip
"""What the instructions that load begin with, and what they load from."""
