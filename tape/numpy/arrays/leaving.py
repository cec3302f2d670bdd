"""What happens to a recorded value that is about to become a plain array or number: it is told, or refused.

C code, and libraries that call `np.asarray`, take bare numbers.  As long as no gradient, tangent or lane is lost they
get them (a function that is being recorded notes what was told, and replays verify it).  Otherwise the error says whose
line it was, who asked, and what to write.
"""

from __future__ import annotations

import dis
import re
import sys
import warnings
from _thread import get_ident
from collections.abc import Iterator
from functools import cache
from types import CodeType, FrameType, FunctionType, TracebackType
from typing import Any

import numpy as np

from ...base.errors import note, unswallowed
from ...base.location import Location, in_library, locate
from ...base.tensor import Face, Tensor
from ...recording.level import Layer, live
from ...recording.numpy_bridge import public_name
from ..names.callee import PEOPLE, UNSEEN, callee, destination, enclosing
from ..names.named_places import COMPUTING, is_library
from .instead import INSTEAD, NOT_MADE_HERE, instead_of
from .lent import lent

OPEN = "numpy.polynomial", "numpy.lib._arraysetops_impl", "numpy.lib._histograms_impl", "numpy.lib._twodim_base_impl"
"""The rooms of NumPy's that are written in NumPy itself: what they make with constructors can be recorded."""

recording: dict[int, set[int]] = {}
"""By thread, the functions of arrays that it is recording, one inside the other, as numbers."""

formatted: dict[int, set[float]] = {}
"""By thread that records, the numbers that C code has put into texts; how it has written them is not known."""

_told: set[tuple[str, CodeType, int]] = set()
"""The places that were warned of; code objects are equal if they are alike, in whichever files they are."""


def carries(tensor: Tensor) -> bool:
    """Whether something would be lost if a tensor became bare numbers: a history, a tangent, lanes.

    Where nobody records there is nothing to lose: what the user kept of a function that has returned is plain numbers.
    """
    tensor = live(tensor)
    if isinstance(tensor, Layer):
        return True
    return tensor._spec.inexact and bool(recording) and tensor._carries_gradient()


def value_of(x: Face, what: str) -> np.ndarray:
    """The numbers of an array, on its own memory where they have one.

    Raises:
        TypeError: if they carry a gradient.
    """
    tensor = x._tensor
    if carries(tensor):
        if isinstance(still(tensor), Layer) or not is_asserted():
            raise refusal(what)
        tensor = still(tensor)
    return lent(tensor.numpy(force=True), tensor)


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
        if how not in (convert.__name__, TEXT) or is_computed_with(frame):
            if is_asserted():
                return convert(still(tensor).item())
            raise refusal(f"{convert.__name__}()")
        found = convert(still(tensor).item())  # which is refused where it differs from lane to lane
        if how != TEXT:
            _lose(convert.__name__, frame, depth)
        elif lost_if_parsed() or not lost_from_sight():
            formatted.setdefault(get_ident(), set()).add(found)
        return found
    return convert(still(tensor).item())


def still(tensor: Tensor) -> Tensor:
    """A tensor without history and tangents; what has lanes keeps them."""
    below = live(tensor)
    while isinstance(below, Layer) and below._level.moves:
        below = live(below._primal)
    return below if isinstance(below, Layer) or not below._spec.inexact else below.detach()


TEXT = "%"


def asks(code: CodeType, lasti: int) -> str:
    """What an instruction asks for a number by: the name of what it calls, ``%`` for a text, or nothing known."""
    kind, name = callee(code, lasti)
    return TEXT if kind == "operator" else name if kind == "global" else ""


def is_computed_with(frame: FrameType) -> bool:
    """Whether it is a library of numbers that asks for a number: what it makes of that would be of no history."""
    name = frame.f_globals.get("__name__")
    return type(name) is str and name.partition(".")[0] in COMPUTING


def lost_in_text(name: str) -> None:
    """Tell of a number that is read back from the text of one that carries a gradient."""
    frame, depth = user_frame()
    _lose(name, frame, depth, " the text of")


def lost_if_parsed() -> bool:
    """Tell of a text that is made where, in the same expression, somebody reads numbers, ``float("%g" % x)``: if so."""
    frame, depth = user_frame()
    found = False
    for name, offset in enclosing(frame.f_code, frame.f_lasti):
        if name in PARSING:
            found = True
            _lose(name, frame, depth, " the text of")
            _told.add((frame.f_code.co_filename, frame.f_code, offset))
    return found


def lost_from_sight() -> bool:
    """Tell of a text that goes where it is not known what is read from it (`callee.destination`); whether it does.

    It is told once per line, where the text is written: whoever reads a number there, it has been said.  What is known
    to be for people is not told of, nor what tells itself as it reads.
    """
    frame, depth = user_frame()
    place: FrameType | None = frame
    called = None
    while place is not None:
        if _module(place).partition(".")[0] in FOR_PEOPLE or _module(place).startswith(ASSERTING):
            return False
        if not is_foreign(place):
            goes = destination(place.f_code, place.f_lasti, called is not None and _calls(place, called))
            if goes == UNSEEN:
                break
            if goes == PEOPLE:
                return False
            called = place.f_code
        elif _module(place) == RUNNING:
            return len(recording.get(get_ident(), ())) > 1  # what a function returns that records is read by nobody
        else:
            called = None
        place, depth = place.f_back, depth + 1
    if place is None:
        return False
    told_at = place.f_code.co_filename, place.f_code, place.f_lasti
    if told_at not in _told:
        _told.add(told_at)
        warnings.warn(
            "A text of a value that carries a gradient goes where it is not seen what becomes of it: who makes a plain "
            "number of the text of a value that carries a gradient loses the gradient.\nCompute with the value itself; "
            "print, log or raise a text that is for people.  If no gradient is meant, say tape.stop_gradient(x).",
            UserWarning,
            stacklevel=depth,
        )
    return True


def _calls(frame: FrameType, code: CodeType) -> bool:
    """Whether the instruction of a frame calls this code by its name, so that what it gives is what that returns."""
    kind, name = callee(frame.f_code, frame.f_lasti)
    if not name or name == code.co_name:
        return True
    found = (frame.f_globals if kind == "global" else frame.f_locals).get(name)
    return getattr(found, "__code__", None) is code


RUNNING = "tape.numpy.inside"
"""The room that runs functions which record."""

FOR_PEOPLE = frozenset(
    {"logging", "warnings", "traceback", "pprint", "pdb", "bdb", "unittest", "doctest", "cmd", "code"}
)
"""Python's modules that write texts for people."""

ASSERTING = "numpy.testing."
"""The rooms of NumPy's whose functions compare, and give nothing."""


PARSING = frozenset({"Decimal", "Fraction", "atof", "complex", "double", "float", "float32", "float64"})
"""Functions that read numbers from texts, by name."""


def _lose(name: str, frame: FrameType, depth: int, what: str = "") -> None:
    """Warn once per line that a number is taken, which does not matter if it is compared at once."""
    place = frame.f_code.co_filename, frame.f_code, frame.f_lasti
    if is_compared(*place[1:]) or place in _told:
        return
    _told.add(place)
    warnings.warn(
        f"{name}() makes a plain number of{what} a value that carries a gradient, so no gradient flows through it.\n"
        "Compute with the value itself; it is a number already.  If no gradient is meant, say tape.stop_gradient(x).",
        UserWarning,
        stacklevel=depth + 1,
    )


@cache
def is_compared(code: CodeType, lasti: int) -> bool:
    """Whether what a call gives is compared or tested at once, as in ``if float(x) < 1:``.

    Not so if it lies below what is: ``y[x > 0] = float(x[0])`` compares while the number waits.
    """
    depth = 1  # of the stack, counted from the number on
    following = [i for i in dis.get_instructions(code) if i.offset > lasti and i.opname not in ("CACHE", "PRECALL")]
    for i in following:
        if i.opname.startswith(("COMPARE_OP", "CONTAINS_OP", "POP_JUMP", "IS_OP", "TO_BOOL", "UNARY_NOT")):
            return depth <= 2 if i.opname.startswith(("COMPARE_OP", "CONTAINS_OP", "IS_OP")) else depth == 1
        if not i.opname.startswith(("LOAD_", "PUSH_NULL", "CALL", "COPY", "SWAP", "UNARY_NEGATIVE")):
            return False
        depth = max(1, depth + dis.stack_effect(i.opcode, i.arg, jump=False))
    return False


def plain(x: Any, what: str = "reading its numbers") -> Any:
    """Something with its faces as plain arrays and numbers, which must not carry a gradient."""
    if isinstance(x, Face):
        value = value_of(x, what)
        return value if isinstance(x, np.ndarray) else value[()]
    if isinstance(x, (tuple, list)):
        made = [plain(part, what) for part in x]
        return type(x)(*made) if hasattr(x, "_fields") else type(x)(made)
    return {k: plain(v, what) for k, v in x.items()} if type(x) is dict else x


class Left(TypeError):
    """A recorded value was about to become a plain array or number, and its gradient to be lost."""


class told(unswallowed):
    """Let the user see a refusal itself, not what NumPy makes of it, or an `except` of the function hides."""

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        try:
            super().__exit__(kind, error, trace)
        except (ValueError, TypeError) as refused:
            _reveal(refused)
            raise
        _reveal(error)


def _reveal(error: BaseException | None) -> None:
    """Raise what is meant by an error of C code's that a function ended with."""
    if not isinstance(error, (ValueError, TypeError)):
        return
    if isinstance(error.__cause__, Left):
        raise error.__cause__ from None
    if str(error) in CONVERTED:
        raise _of_plain_array(error) from error
    if type(error) is TypeError and is_about_recorded(str(error)):
        raise _of_another_class(error) from error


GIVEN = "object __array__ method not producing an array"
CONVERTED = "output must be an array", "'out' must be an array", GIVEN
"""What C code says of an ``out=``, or of what an object's ``__array__`` gives, that is no array of its own kind."""


def _of_plain_array(error: Exception) -> Exception:
    """The error for an array that is recorded as ``out=`` of a plain array's method, which asks nobody, or that an
    object's ``__array__`` gives; any other as it is."""
    frames = [(trace.tb_frame, trace.tb_lasti) for trace in _traces(error)]
    if str(error) == GIVEN:
        frames = [(frame, lasti) for frame, lasti in frames if not is_foreign(frame)]
    if not frames or is_foreign(frames[-1][0]):
        return error
    code, lasti = frames[-1][0].f_code, frames[-1][1]
    if str(error) == GIVEN:
        return TypeError(
            "An object's __array__ gave an array that is recorded, and NumPy's C code takes plain ones from there.\n"
            f"  at {locate(code, lasti)}\nWrite np.asarray(object), which records, and compute with that."
        )
    kind, name = callee(code, lasti)
    if kind != "attribute":
        return error
    return TypeError(
        f".{name}(out=…) of a plain array writes into plain memory, and got an array that is recorded.\n"
        f"  at {locate(code, lasti)}\nWrite np.{name}(a, …, out=…), which records."
    )


def is_about_recorded(message: str) -> bool:
    """Whether C code, or one that goes by exact classes, says that it does not take a recorded value."""
    if OF_NUMBERS.search(message):
        return False
    names = "|".join(kind.__name__ for kind in _kinds(Face))
    return re.search(rf"'({names})'|\b({names}) to |Object of type (float|float64) is not JSON", message) is not None


OF_NUMBERS = re.compile(r"is not (iterable|a container|subscriptable)|has no len\(\)|operand|interpreted as an integer")
"""What Python says of numbers, recorded or not, that are taken for something else."""


def _kinds(kind: type) -> Iterator[type]:
    inner: type
    for inner in kind.__subclasses__():
        yield inner
        yield from _kinds(inner)


def _of_another_class(error: Exception) -> Exception:
    """The error for a recorded value where C code takes objects of its own class alone, as ``memoryview(x)``."""
    frames = [(t.tb_frame, t.tb_lasti) for t in _traces(error) if not is_foreign(t.tb_frame)]
    if not frames or in_library(frames[-1][0].f_code.co_filename):
        return error
    code, lasti = frames[-1][0].f_code, frames[-1][1]
    kind, name = callee(code, lasti)
    who = "assignment" if kind == "assignment" else f"{name}()" if name else "this"
    return note(
        Left(
            f"{who} needs plain numbers ({error}), and got a value that is recorded.\n"
            f"  at {locate(code, lasti)}\n{instead_of(who)}  If no gradient is meant, say tape.stop_gradient(x)."
        )
    )


def _traces(error: Exception) -> Iterator[TracebackType]:
    """Where an error has passed, from the outermost call on."""
    trace = error.__traceback__
    while trace is not None:
        yield trace
        trace = trace.tb_next


def refusal(what: str, name: str | None = None) -> Left:
    """The error for a value that would lose its gradient, with the user's line, who asked, and what to do instead."""
    where, caller, called = asked()
    if called == ASSIGNMENT and name is None:
        what = f"{NOT_MADE_HERE}, a plain one"
    if caller is not None and caller.startswith(HELPERS):
        rooms = [room for room in INSTEAD if hasattr(sys.modules.get(room), called.removesuffix("()"))]
        caller = f"{rooms[0]}.{called.removesuffix('()')}" if rooms else caller
    title = (name if caller is None or caller.startswith("numpy") else None) or caller or called or "this"
    instead = instead_of(title, what)
    return note(
        Left(
            f"{title} needs plain numbers ({what}), and got a value that carries a gradient, which would be lost.\n"
            f"  at {where}\n{instead}  If no gradient is meant, say tape.stop_gradient(x)."
        )
    )


HELPERS = "scipy.array_api_compat", "scipy.fft.__ua", "scipy.util", "scipy.xp_"
"""Where SciPy's functions make arrays of their arguments, before any of their own code."""

ASSIGNMENT = "an assignment"


def asked() -> tuple[Location, str | None, str]:
    """The user's line, the function of somebody else's that it called, if that is written in Python, and what its
    instruction calls, or that it assigns."""
    frame, last = sys._getframe(1), None
    while frame.f_back is not None and is_foreign(frame):
        if not in_library(frame.f_code.co_filename) and (last is None or "<locals>" not in _name_of(frame)):
            last = frame
        frame = frame.f_back
    kind, name = callee(frame.f_code, frame.f_lasti)
    if kind in ("local", "global"):  # which may be any word for it
        scope = frame.f_locals if kind == "local" else frame.f_globals
        name = getattr(scope.get(name), "__name__", name)
    called = ASSIGNMENT if kind == "assignment" else f"{name}()" if name else ""
    return locate(frame.f_code, frame.f_lasti), last and public_name(_name_of(last)), called


def is_asserted() -> bool:
    """Whether it is an assertion of NumPy's that asks for numbers: it gives none, so nothing of them is lost."""
    _, caller, called = asked()
    return caller is not None and caller.startswith(ASSERTING) and called.startswith("assert_")


def called_now() -> str:
    """What the nearest instruction outside of this library calls, if it names that: ``len()``."""
    frame, _ = user_frame()
    name = callee(frame.f_code, frame.f_lasti)[1]
    return f"{name}()" if name else ""


def _name_of(frame: FrameType) -> str:
    """The module and name of the function that a frame runs; decorators have made those with ``<locals>`` in it."""
    code = frame.f_code
    return f"{frame.f_globals.get('__name__', '')}.{getattr(code, 'co_qualname', code.co_name)}"


def user_frame() -> tuple[FrameType, int]:
    """The nearest frame outside of this library, and how many levels above whoever asks it is, counted from one."""
    frame, depth = sys._getframe(1), 1
    while frame.f_back is not None and in_library(frame.f_code.co_filename):
        frame, depth = frame.f_back, depth + 1
    return frame, depth


def is_called_by_user(frame: FrameType) -> bool:
    """Whether a frame runs the user's code, or passes on what that called, and is no method of an array."""
    while in_library(frame.f_code.co_filename) and frame.f_back is not None:
        if _module(frame) in PASSING:
            return True
        frame = frame.f_back
        if not in_library(frame.f_code.co_filename):
            return False
    return True


def is_foreign(frame: FrameType) -> bool:
    """Whether a frame runs code of a library, not of the user's program."""
    return is_library(frame.f_globals.get("__name__"), frame.f_code.co_filename)


def is_open(function: Any) -> bool:
    """Whether a function of NumPy's is written in NumPy itself, so that its own code can be run on recorded arrays."""
    inner = getattr(function, "_implementation", None)
    return type(inner) is FunctionType and inner.__globals__["__name__"].startswith(OPEN)


def is_recorded(frame: FrameType) -> bool:
    """Whether what a frame's code makes with constructors is to be recorded: the user's, or as open as that."""
    if not is_foreign(frame):
        return True
    if not frame.f_globals["__name__"].startswith(OPEN):
        return False
    caller: FrameType | None = frame
    while caller is not None and _module(caller).startswith(("numpy.", DOORS)):
        caller = caller.f_back
    return caller is None or _module(caller).startswith(FACE) or not is_foreign(caller)


FACE = "tape.numpy."
DOORS = FACE + "doors"
"""The rooms that call NumPy for recorded arrays, and the doors, which pass calls on; others here mean plain arrays."""


PASSING = DOORS, FACE + "namespace"
"""The rooms whose functions stand for NumPy's own."""


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))
