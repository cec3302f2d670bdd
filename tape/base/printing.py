"""How a tensor prints: PyTorch's layout, four decimals, long tensors summarised."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from inspect import Parameter, Signature
from typing import Any

import numpy as np

from .dtypes import complex128, default_for, float64, get_default_dtype, kind_of
from .rooms import Room
from .signatures import signed
from .tensor import Narrow, Tensor, Theme

pictures = Room("tape.surface.pictures")


@dataclass(frozen=True)
class PrintOptions:
    """What `set_printoptions` sets."""

    precision: int = 4
    threshold: int = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


PROFILES = {"default": PrintOptions(), "short": PrintOptions(2, 1000, 2), "full": PrintOptions(4, 1 << 62)}
options = PrintOptions()


def set_printoptions(profile: str | None = None, **changes: Any) -> None:
    """Change how tensors print; arguments that are None or left out stay as they are.

    Args:
        profile: ``"default"``, ``"short"`` or ``"full"``.
        **changes: precision, threshold, edgeitems, linewidth, sci_mode.

    Raises:
        TypeError: on an unknown option.
    """
    global options
    known = {f.name for f in fields(PrintOptions)}
    if unknown := sorted(set(changes) - known):
        raise TypeError(f"set_printoptions() knows {', '.join(sorted(known))}; got {', '.join(unknown)}")
    base = PROFILES[profile] if profile else options
    options = replace(base, **{k: v for k, v in changes.items() if v is not None or k == "sci_mode"})


def _listed(*first: Parameter) -> Signature:
    """The options by name, after other parameters."""
    kind = Parameter.KEYWORD_ONLY
    named = [Parameter(f.name, kind, default=None, annotation=f"{f.type}".removesuffix(" | None") + " | None")
             for f in fields(PrintOptions)]  # fmt: skip
    return Signature([*first, *named], return_annotation="None" if first else "AbstractContextManager[None]")


signed(
    set_printoptions,
    lambda: _listed(Parameter("profile", Parameter.POSITIONAL_OR_KEYWORD, default=None, annotation="str | None")),
)


@contextmanager
def printoptions(**changes: Any):  # type: ignore[no-untyped-def]
    """`set_printoptions` for the length of a with block."""
    global options
    before = options
    set_printoptions(**changes)
    try:
        yield
    finally:
        options = before


signed(printoptions, _listed)


Format = Callable[[Any], str]


def _real_format(values: np.ndarray) -> tuple[Format, int]:
    """How to write each of some real numbers so that they line up, and the width they then have."""
    finite = values[np.isfinite(values) & (values != 0)]
    if finite.size == 0:
        return _padded(_whole, 1), 1
    sizes = np.absolute(finite).astype(float64)
    with np.errstate(all="ignore"):
        wide = bool(sizes.max() / sizes.min() > 1000.0 or sizes.max() > 1.0e8 or sizes.min() < 1.0e-4)
    whole = bool((finite == np.ceil(finite)).all())
    sci = wide if options.sci_mode is None else options.sci_mode
    pattern = f"{{:.{options.precision}{'e' if sci else 'f'}}}"
    write = _whole if whole and not sci else pattern.format
    width = max(len(write(x)) for x in finite.tolist())
    return _padded(write, width), width


def _whole(x: float) -> str:
    """A whole float: ``3.``, with nothing after the point."""
    return f"{x:.0f}" + ("." if np.isfinite(x) else "")


def _padded(write: Format, width: int) -> Format:
    return lambda x: write(x).rjust(width)


def _complex_format(values: np.ndarray) -> tuple[Format, int]:
    (real, real_width), (imag, imag_width) = _real_format(values.real), _real_format(values.imag)

    def write(x: complex) -> str:
        tail = imag(x.imag).lstrip() + "j"
        return real(x.real) + (tail if tail[0] in "+-" else "+" + tail)

    return write, real_width + imag_width + 1


def _format(values: np.ndarray) -> tuple[Format, int]:
    if kind_of(values.dtype) == "f":
        return _real_format(values)
    if values.dtype.kind == "c":
        return _complex_format(values)
    width = max([len(str(x)) for x in values.tolist()], default=1)
    return _padded(str, width), width


def _edges(array: np.ndarray) -> np.ndarray:
    """The corners that a summarised print shows."""
    keep = options.edgeitems
    for axis, n in enumerate(array.shape):
        if n > 2 * keep:
            array = np.take(array, [*range(keep), *range(n - keep, n)], axis=axis)
    return array


def _picked(array: np.ndarray, summarise: bool, write: Callable[[Any], str], gap: str) -> list[str]:
    """The items along the first axis, written; the middle left out if summarising."""
    keep = options.edgeitems
    if summarise and len(array) > 2 * keep:
        return [*map(write, array[:keep]), gap, *map(write, array[len(array) - keep :])]
    return list(map(write, array))


def _nested(array: np.ndarray, indent: int, summarise: bool, write: Format, width: int) -> str:
    if array.ndim == 0:
        return write(array.item())
    if array.ndim > 1:
        rows = _picked(array, summarise, lambda a: _nested(a, indent + 1, summarise, write, width), "...")
        return "[" + ("," + "\n" * (array.ndim - 1) + " " * (indent + 1)).join(rows) + "]"
    items = _picked(array, summarise, lambda x: write(x.item()), " ...")
    per_line = max(1, (options.linewidth - indent) // (width + 2))
    lines = [", ".join(items[i : i + per_line]) for i in range(0, len(items), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _body(array: np.ndarray, indent: int) -> str:
    if array.size == 0:
        return "[]"
    summarise = array.size > options.threshold
    return _nested(array, indent, summarise, *_format((_edges(array) if summarise else array).reshape(-1)))


def _dtype_shows(array: np.ndarray) -> bool:
    if array.size == 0:
        return array.dtype != get_default_dtype()
    known = (get_default_dtype(), default_for(complex128), np.dtype(np.int64), np.dtype(np.bool_))
    return array.dtype not in known


def _join(text: str, notes: Sequence[str], indent: int) -> str:
    """Append the notes, on a line of their own where they would run over."""
    length = len(text) - text.rfind("\n") + 1
    for note in notes:
        if length + len(note) + 2 > options.linewidth:
            text += ",\n" + " " * indent + note
            length = indent + len(note)
        else:
            text += ", " + note
            length += len(note) + 2
    return text + ")"


def _title(tensor: Tensor) -> str:
    """The name of what made a tensor; of a view whose place in the history is lost, ``Invalid``."""
    try:
        return type(tensor.grad_fn).__name__
    except RuntimeError:
        return "Invalid"


class PrintingMethods(Theme):
    """How a tensor is shown."""

    __slots__ = ()

    def __repr__(self) -> str:
        array = np.asarray(self._data)
        notes = []
        if array.size == 0 and array.ndim != 1:
            notes.append(f"size={array.shape}")
        if _dtype_shows(array):
            notes.append(f"dtype=tape.{array.dtype}")
        if not self.is_leaf:
            notes.append(f"grad_fn=<{_title(self)}>")
        elif self.requires_grad:
            notes.append("requires_grad=True")
        prefix = "tensor("
        return _join(prefix + _body(array, len(prefix)), notes, len(prefix))

    def _repr_html_(self) -> str | None:
        """For notebooks: what a tensor of more than ``threshold`` elements is, with a picture; None if it prints."""
        if type(self) not in (Tensor, Narrow) or self._spec.size <= options.threshold:
            return None
        how = "requires grad" if self._node is True else "" if self.is_leaf else f"made by {_title(self)}"
        return str(pictures.html("tensor", np.asarray(self._data), how))

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec and self.ndim == 0 else format(repr(self), spec)
