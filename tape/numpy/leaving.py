"""What happens to a recorded value that is about to become a plain array or number: it is told, or refused.

C code, and libraries that call `np.asarray`, take bare numbers.  As long as no gradient, tangent or lane is lost they
get them (a function that is being recorded notes what was told, and replays verify it).  Otherwise the error says whose
line it was, who asked, and what to write.
"""

from __future__ import annotations

import dis
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import CodeType, FrameType
from typing import Any

import numpy as np

from ..level import Layer, live
from ..location import Location, in_library, locate
from ..tensor import Face, Tensor
from .callee import callee

LIBRARIES = frozenset({"numpy", "scipy", "numba", "pandas", "tape", "ops"}) | sys.stdlib_module_names
"""The packages whose code is nobody's own program: a constructor called there gives a plain array."""

_told: set[tuple[CodeType, int]] = set()


def carries(tensor: Tensor) -> bool:
    """Whether something would be lost if a tensor became bare numbers: a history, a tangent, lanes."""
    tensor = live(tensor)
    if isinstance(tensor, Layer):
        return True
    return tensor._spec.inexact and tensor.__carries__()


def value_of(x: Face, what: str) -> np.ndarray:
    """The numbers of an array, on its own memory where they have one.

    Raises:
        TypeError: if they carry a gradient.
    """
    tensor = x._tensor
    if carries(tensor):
        raise refusal(what)
    return tensor.numpy(force=True)


def number_of(x: Face, convert: type) -> Any:
    """The only element as a Python number; a float that was to be differentiated is warned of once per line.

    Raises:
        TypeError: if there is not exactly one element; if it carries a gradient, and who asks is not the user's own
            ``float(x)`` or a text that is put together, but C code, such as that of ``plain_array[i] = x``.
    """
    tensor = x._tensor
    if tensor._spec.shape:
        convert(np.ones(tensor._spec.shape, tensor._spec.dtype))  # what NumPy of this version raises or warns of
    if convert is not int and carries(tensor):
        frame, depth = user_frame()
        how = asks(frame.f_code, frame.f_lasti)
        if isinstance(live(tensor), Layer) or how not in (convert.__name__, TEXT):
            raise refusal(f"{convert.__name__}()")
        if how != TEXT:
            _warn(convert.__name__, frame, depth)
    return convert(tensor.detach().item() if type(tensor) is Tensor else tensor.item())


TEXT = "%"


def asks(code: CodeType, lasti: int) -> str:
    """What an instruction asks for a number by: the name of what it calls, ``%`` for a text, or nothing known."""
    kind, name = callee(code, lasti)
    return TEXT if kind == "operator" else name if kind == "global" else ""


def _warn(name: str, frame: FrameType, depth: int) -> None:
    place = frame.f_code, frame.f_lasti
    if place in _told or is_compared(*place):
        return
    _told.add(place)
    warnings.warn(
        f"{name}() makes a plain number of a value that carries a gradient, so no gradient flows through it.\n"
        "Compute with the value itself; it is a number already.  If no gradient is meant, say tape.stop_gradient(x).",
        UserWarning,
        stacklevel=depth,
    )


@cache
def is_compared(code: CodeType, lasti: int) -> bool:
    """Whether what a call gives is compared or tested at once, as in ``if float(x) < 1:``."""
    following = [i for i in dis.get_instructions(code) if i.offset > lasti and i.opname not in ("CACHE", "PRECALL")]
    for i in following:
        if i.opname.startswith(("COMPARE_OP", "CONTAINS_OP", "POP_JUMP", "IS_OP", "TO_BOOL")):
            return True
        if not i.opname.startswith(("LOAD_", "PUSH_NULL", "CALL", "COPY", "SWAP", "UNARY_NEGATIVE")):
            return False
    return False


def plain(x: Any, what: str = "reading its numbers") -> Any:
    """Something with its faces as plain arrays and numbers, which must not carry a gradient."""
    if isinstance(x, Face):
        return value_of(x, what)
    if isinstance(x, (tuple, list)):
        made = [plain(part, what) for part in x]
        return type(x)(*made) if hasattr(x, "_fields") else type(x)(made)
    return {k: plain(v, what) for k, v in x.items()} if type(x) is dict else x


class Left(TypeError):
    """A recorded value was about to become a plain array or number, and its gradient to be lost."""


@contextmanager
def told() -> Iterator[None]:
    """Let the user see a refusal itself, not what NumPy made of it (setting an array element with a sequence)."""
    try:
        yield
    except (ValueError, TypeError) as error:
        if isinstance(error.__cause__, Left):
            raise error.__cause__ from None
        raise


def refusal(what: str) -> Left:
    """The error for a value that would lose its gradient, with the user's line and who asked."""
    where, name = asked()
    return Left(
        f"{name or 'this'} needs plain numbers ({what}), and got a value that carries a gradient, which would be "
        f"lost.\n  at {where}\n"
        "Write it with NumPy's own functions on whole arrays; gather numbers with np.array([…]) or np.stack, fill an "
        "array made in this function (np.zeros), or take it from tape.numpy.  If no gradient is meant, say "
        "tape.stop_gradient(x)."
    )


def asked() -> tuple[Location, str | None]:
    """The user's line, and the function of somebody else's that it called, if that is written in Python."""
    frame, last = sys._getframe(1), None
    while frame.f_back is not None and is_foreign(frame):
        if not in_library(frame.f_code.co_filename):
            last = frame
        frame = frame.f_back
    name = last and f"{last.f_globals.get('__name__', '')}.{getattr(last.f_code, 'co_qualname', last.f_code.co_name)}"
    return locate(frame.f_code, frame.f_lasti), name


def user_frame() -> tuple[FrameType, int]:
    """The nearest frame outside of this library, and how many levels above whoever asks it is, counted from one."""
    frame, depth = sys._getframe(1), 1
    while frame.f_back is not None and in_library(frame.f_code.co_filename):
        frame, depth = frame.f_back, depth + 1
    return frame, depth


def is_foreign(frame: FrameType) -> bool:
    """Whether a frame runs code of a library, not of the user's program."""
    return is_library(frame.f_globals.get("__name__"), frame.f_code.co_filename)


def is_library(module: Any, file: str) -> bool:
    """Whether a module, in a file, is a library's; the user may have modules of his own that are named like ours."""
    if type(module) is not str:
        return False
    package = module.partition(".")[0]
    return package in LIBRARIES and package != "__main__" and (package not in OURS or in_library(file))


OURS = "tape", "ops"
