"""The printed form of arrays and numbers, which is NumPy's; and what happens if somebody reads a number back from it.

Text is for people, so printing is no loss of a gradient.  A number that is read back from the text of one is: the text
of a number is a `Text`, which `float` and `int` ask for its number, as long as C code has not made another text of it.
What reads the characters themselves (`json.loads`, `ast.literal_eval`, `np.fromstring`, `np.loadtxt`, `float` of a text
that C code has put together) is told by the numbers: those that were written while this thread records are remembered,
and looked for in what is read, and of files in what is found there.  Arrays of such texts tell of it in `astype`.

Nobody can look over the shoulder of all that reads texts: a library's own `float`, `decimal`, a class under a name of
the user's (``to_number = float``), `exec`, a data base.  So a text is told of as it is written, once per line, unless
it is known where it goes (`leaving.lost_from_sight`, `callee.destination`): to people, as what is printed, logged,
raised, compared or dropped, also by way of a local variable or a function that returns it; or to one of those above,
which tell as they read.  What is told of as it is written is a plain text, of which nobody needs to tell again.
The texts of tensors are those of plain numbers, as PyTorch's are.
"""

from __future__ import annotations

import io
import re
from _thread import get_ident
from collections.abc import Callable
from typing import Any

import numpy as np

from ops.core.batching import LanesDiffer

from ...base.tensor import Face, Tensor
from ...recording.level import Layer, live
from .leaving import carries, formatted, lost_from_sight, lost_if_parsed, lost_in_text, recording


class Text(str):
    """The text of recorded numbers, or part of it."""

    def __float__(self) -> float:
        lost_in_text("float")
        return float(str.__str__(self))

    def __int__(self) -> int:
        lost_in_text("int")
        return int(str.__str__(self))

    def __str__(self) -> str:
        return self

    def __format__(self, spec: str) -> str:
        return self._part(str.__format__(str.__str__(self), spec))

    def __radd__(self, before: str) -> Text:
        return self._part(before + str.__str__(self)) if isinstance(before, str) else NotImplemented

    def __reduce_ex__(self, protocol: Any) -> Any:
        return str, (str.__str__(self),)

    def _part(self, text: Any) -> Any:
        """A text that was made of this one as another of its kind; several in the list or tuple that they are in."""
        if isinstance(text, str):
            return type(self)(text)
        return type(text)(map(self._part, text)) if isinstance(text, (list, tuple)) else text


def _derived(name: str) -> Callable[..., Any]:
    theirs = getattr(str, name)

    def method(self: Text, *args: Any, **kwargs: Any) -> Any:
        return self._part(theirs(str.__str__(self), *args, **kwargs))

    return method


for _name in (
    "__add__", "__getitem__", "casefold", "center", "expandtabs", "ljust", "lower", "lstrip", "partition",
    "removeprefix", "removesuffix", "replace", "rjust", "rpartition", "rsplit", "rstrip", "split", "splitlines",
    "strip", "translate", "upper", "zfill",
):  # fmt: skip
    setattr(Text, _name, _derived(_name))


class LaneText(Text):
    """The text of a value in all lanes of `vmap`, which can be shown; a loop would have another one in each lane.

    So nothing is told of what is in it, and no number is read from it.
    """

    def __bool__(self) -> bool:
        return True

    def __float__(self) -> float:
        _refuse_to_decide()
        return super().__float__()

    def __int__(self) -> int:
        _refuse_to_decide()
        return super().__int__()


def _refuse_to_decide() -> None:
    if get_ident() in recording:
        raise LanesDiffer(
            "vmap: the text of a value that differs from lane to lane is compared, looked up or read.\n"
            "Choose by numbers, with np.where(condition, x, y); or call the function in a loop."
        )


def _deciding(name: str) -> Callable[..., Any]:
    theirs = getattr(Text, name)

    def method(self: LaneText, *args: Any, **kwargs: Any) -> Any:
        _refuse_to_decide()
        return theirs(self, *args, **kwargs)

    return method


for _name in (
    "__contains__", "__eq__", "__ge__", "__getitem__", "__gt__", "__hash__", "__iter__", "__le__", "__len__", "__lt__",
    "__ne__", "count", "encode", "endswith", "find", "index", "isalnum", "isalpha", "isascii", "isdecimal", "isdigit",
    "isidentifier", "islower", "isnumeric", "isprintable", "isspace", "istitle", "isupper", "partition",
    "removeprefix", "removesuffix", "replace", "rfind", "rindex", "rpartition", "rsplit", "split", "splitlines",
    "startswith", "translate",
):  # fmt: skip
    setattr(LaneText, _name, _deciding(_name))


def text_of(x: Face, write: Callable[[Any], str]) -> str:
    """What `write` makes of the numbers of a recorded value; of those of its lanes, one after another."""
    tensor = x._tensor
    axes = lanes(tensor)
    text = _in_lanes(numbers_of(x), axes, lambda value: write(value if isinstance(x, np.ndarray) else value[()]))
    found = written(text, tensor)
    return LaneText(found) if axes else found


def written(text: str, *tensors: Tensor) -> str:
    """The text of some tensors, as a `Text` if one of them carries a gradient."""
    if not any(map(carries, tensors)) or (not lost_if_parsed() and not any(map(lanes, tensors)) and lost_from_sight()):
        return text
    _remember(text)
    return Text(text)


NUMBER = re.compile(r"\d+\.\d*(?:[eE][-+]?\d+)?|\d+[eE][-+]?\d+")
"""Numbers that are no integers, in a text."""
MOST = 100_000
"""How many numbers are remembered."""
_written: dict[int, tuple[set[str], set[float]]] = {}
"""By thread that records, the numbers in texts of what carries a gradient: as they were written, and as numbers."""


def _remember(text: str) -> None:
    if get_ident() in recording:
        texts, numbers = _written.setdefault(get_ident(), (set(), set()))
        if len(texts) < MOST:
            found = NUMBER.findall(text)
            texts.update(found)
            numbers.update(map(float, found))


def forget(ident: int) -> None:
    """A thread records no longer."""
    _written.pop(ident, None)
    formatted.pop(ident, None)


def read_back(name: str, texts: Any, found: Any = None) -> None:
    """Tell of numbers that a function reads from texts, if they stood in the text of something with a gradient.

    Args:
        texts: a text, or what there are texts in.
        found: what was read, where it is not known from what: of a file.
    """
    known = _written.get(get_ident(), NOTHING)
    if known is NOTHING and get_ident() not in formatted:
        return
    if _has(texts, known[0], NONE) or (found is not None and _has(found, *known)):
        lost_in_text(name)


NONE: frozenset[float] = frozenset()
NOTHING: tuple[set[str], set[float]] = set(), set()


def _is_formatted(number: str) -> bool:
    """Whether a number in a text is one that C code has written, or may be one that it has rounded.

    It is not taken for one that was rounded to fewer than three digits.
    """
    numbers = formatted.get(get_ident())
    if not numbers:
        return False
    digits, _, exponent = number.lower().partition("e")
    whole, _, fraction = digits.partition(".")
    is_rough = len((whole + fraction).strip("0")) < 3
    most = 0.0 if is_rough else 0.50001 * 10.0 ** (int(exponent or 0) - len(fraction))
    return any(abs(abs(known) - float(number)) <= most for known in numbers)


def _has(x: Any, texts: set[str], numbers: set[float] | frozenset[float]) -> bool:
    """Whether a text, or an array or container of texts or numbers, has one of these; whole numbers say nothing."""
    if issubclass(type(x), Face):
        return False
    if isinstance(x, str):
        return any(n in texts or _is_formatted(n) for n in NUMBER.findall(x))
    if isinstance(x, (bytes, bytearray)):
        return _has(x.decode("latin-1"), texts, numbers)
    if isinstance(x, (float, complex)):
        return any(part in numbers and part % 1 for part in (x.real, x.imag))
    if isinstance(x, (list, tuple, dict)):
        return any(_has(part, texts, numbers) for part in (x.values() if isinstance(x, dict) else x))
    if isinstance(x, np.ndarray):
        return x.dtype.kind in ("fcUSO" if numbers else "USO") and _has(x.ravel()[:MOST].tolist(), texts, numbers)
    return isinstance(x, (io.StringIO, io.BytesIO)) and not x.closed and _has(x.getvalue(), texts, numbers)


class TextArray(np.ndarray):
    """An array of texts of recorded numbers, of which `astype` makes numbers."""

    def astype(self, dtype: Any, *args: Any, **kwargs: Any) -> Any:
        if np.dtype(dtype).kind in "fciub":
            lost_in_text("astype")
        return self.view(np.ndarray).astype(dtype, *args, **kwargs)


def written_in(array: np.ndarray, *tensors: Tensor) -> np.ndarray:
    """An array of texts that were made of some tensors, as one that tells of it if one of them carries a gradient."""
    if not any(map(carries, tensors)) or (not lost_if_parsed() and lost_from_sight()):
        return array
    for text in array.ravel()[:MOST].tolist():
        _remember(text if isinstance(text, str) else text.decode("latin-1"))
    return array.view(TextArray)


def with_texts(array: np.ndarray) -> np.ndarray:
    """An array as one of texts of recorded numbers, if there are such in it."""
    known = _written.get(get_ident())
    if not known or array.dtype.kind not in "US" or not _has(array, *known):
        return array
    return array.view(TextArray)


def numbers_of(x: Any) -> np.ndarray:
    """The numbers of a recorded value, with axes of lanes in front; anything else as an array."""
    return np.asarray(without_layers(x._tensor).numpy(force=True) if isinstance(x, Face) else x)


def without_layers(tensor: Tensor) -> Tensor:
    """A tensor without history, tangents and levels, with axes of lanes in front."""
    tensor = live(tensor)
    while isinstance(tensor, Layer):
        tensor = live(tensor._primal)
    return tensor.detach()


def lanes(tensor: Tensor) -> int:
    """How many axes of lanes a tensor has."""
    tensor, axes = live(tensor), 0
    while isinstance(tensor, Layer):
        axes += tensor._level.in_front
        tensor = live(tensor._primal)
    return axes


def _in_lanes(numbers: np.ndarray, axes: int, write: Callable[[np.ndarray], str]) -> str:
    if not axes:
        return write(numbers)
    return f"batched({', '.join([_in_lanes(np.asarray(part), axes - 1, write) for part in numbers])})"
