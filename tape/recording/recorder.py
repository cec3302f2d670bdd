"""Applying an op to tensors: evaluate it with NumPy, and append a record if a gradient may flow.

`bind` does it for every op; `tape.recording.short_ways` does the same faster for the elementwise ones.
"""

from __future__ import annotations

import sys
from _thread import get_ident
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from numbers import Number, Real
from types import CodeType, FrameType
from typing import Any

import numpy as np

from ops import REGISTRY, Op
from ops.core.op import is_complex

from ..base.errors import misfit, not_for_complex, note
from ..base.jit_door import jitted
from ..base.location import in_library
from ..base.spec import SPECS, Spec, spec_of
from ..base.tensor import Face, Narrow, Tensor
from .inference import mark, settle, stays_out
from .views import attach, owner
from .wengert import EVER_INFERRED, INFERRING, LISTS, WengertList, current

MANY = 1 << 12
"""From this many elements on, a lane kernel's few microseconds of overhead do not matter."""


@cache
def forward_of(op: Op) -> Callable[..., Any]:
    """The function that evaluates an op on NumPy values."""
    return _lanes_first(op) if op.hints.lanes_first else op.forward


def _lanes_first(op: Op) -> Callable[..., Any]:
    forward = op.forward

    def evaluate(*values: Any) -> Any:
        if type(values[0]) is np.ndarray and values[0].size >= MANY:
            room = jitted("emission.lane_forward")
            z = room and room.evaluate(op, *values)
            if z is not None:
                return z
        return forward(*values)

    return evaluate


LARGE = 1 << 16
new = object.__new__
getframe = sys._getframe
asarray = np.asarray


def wrap(value: Any, node: Any = None, spec: Spec | None = None) -> Tensor:
    """A tensor around a NumPy array or scalar."""
    spec = spec or SPECS[value.shape, value.dtype]
    tensor = new(spec.tensor)
    tensor._data = value
    tensor._node = node
    tensor._spec = spec
    if INFERRING:
        mark(tensor)
    return tensor


class Elsewhere(Exception):
    """An operand is a tensor of a kind that applies ops itself."""

    def __init__(self, bind: Any):
        self.bind = bind


def lift(x: Any) -> Any:
    """What the forward function of an op gets for an operand."""
    if type(x) is Tensor:
        return x._data
    if isinstance(x, Tensor):
        if type(x).__bind__ is not bind:
            raise Elsewhere(type(x).__bind__)
        return x._data
    if type(x) is np.ndarray or isinstance(x, (np.generic, int, float, complex)):
        return x
    return plain_number(x) if isinstance(x, Number) else plain_array(x)


lift_plain = lift
"""The same where a parameter has that name."""


def plain_number(x: Any) -> float:
    """A number that NumPy does not know as a float.

    Raises:
        TypeError: if the number is not a binary one, such as a Decimal.
    """
    if isinstance(x, Real):
        return float(x)
    raise TypeError(
        f"tensors hold binary floating-point numbers, and {x!r} is a {type(x).__name__}; convert it: float(x)"
    )


def plain_array(x: Any) -> np.ndarray:
    """An array of NumPy's own class on the memory of an array of any class, or with the numbers of a sequence.

    Raises:
        TypeError: if some of the numbers are masked out.
    """
    if isinstance(x, np.ndarray) and isinstance(x, np.ma.MaskedArray):
        raise masked_error()
    return asarray(x)


def check_class(x: Any) -> None:
    """Raises a TypeError if something is an array of a class whose rules may not be those of arrays."""
    kind = type(x)
    if kind is not np.ndarray and issubclass(kind, np.ndarray):
        if issubclass(kind, np.ma.MaskedArray):
            raise masked_error()
        if has_own_rules(kind):
            raise own_rules_error(kind)


def has_own_rules(kind: type) -> bool:
    """Whether a class of arrays, but for masked ones, may compute otherwise than arrays do, or give its own kind."""
    return issubclass(kind, np.ndarray) and kind not in WITHOUT_RULES and not issubclass(kind, np.ma.MaskedArray)


def require_without_rules(kinds: Iterable[type]) -> None:
    """Refuse what arrays of a class with rules of its own would do among recorded ones.

    Raises:
        TypeError: if there is one.
    """
    for kind in kinds:
        if has_own_rules(kind):
            raise note(own_rules_error(kind))


WITHOUT_RULES = (np.ndarray, np.memmap)
"""Classes of arrays without rules of their own."""


def masked_error() -> TypeError:
    """The error for a masked array among tensors."""
    return TypeError(
        "a tensor has no mask, so a masked array cannot become one or be combined with one.\n"
        "Put numbers where it is masked, with .filled(0.0), or choose with tape.where(~m.mask, m.data, other)."
    )


def own_rules_error(kind: type) -> TypeError:
    """The error for an array of such a class where NumPy's own rules hold: ``*`` of a matrix is `matmul` there."""
    if issubclass(kind, np.matrix):
        return TypeError(
            "a function of arrays is recorded with arrays, and np.matrix has other rules (* is @, rows have two axes)."
            "\nMake an array of it: np.asarray(m), and write @ for the product of matrices."
        )
    return TypeError(
        f"a function of arrays is recorded with arrays, and the class {kind.__name__} may have other rules than arrays."
        "\nMake an array of it: np.asarray(a)."
    )


def as_tensor(z: Any) -> Any:
    """The result of an op that no tensor went into, as a tensor; an array that is recorded stays one if it is to."""
    if isinstance(z, Face):
        return z._returned()  # type: ignore[attr-defined]
    if type(z) is np.ndarray or isinstance(z, np.generic):
        return wrap(z)
    return wrap(plain_array(z)) if isinstance(z, np.ndarray) else z


def operand(x: Any) -> Any:
    """What a row holds for an operand: a handle, a leaf, or None."""
    if isinstance(x, Tensor):
        return x if x._node is True else x._node
    return None


@cache
def plan(op: Op, wanted: tuple[int, ...]) -> tuple[tuple[bool, ...] | bool, bool]:
    """Which operand values, and whether the result, the vjps of the wanted operands read."""
    needs = op.needs(wanted)
    keep = "xs" in needs if op.variadic else tuple(name in needs for name in op.operands)
    return keep, "z" in needs


def bind(
    op: Op,
    operands: Sequence[Any],
    params: dict[str, Any],
    lift: Callable[[Any], Any] = lift,
    forward_of: Callable[[Op], Callable[..., Any]] = forward_of,
) -> Any:
    """Apply an op to operands of which at least one is a tensor.

    Args:
        lift: gives the value of an operand; another where tensors of a further class are taken.
        forward_of: gives the function that evaluates the op.
    """
    if op.arity == op.outputs == 1 and lift is lift_plain and len(operands) == 1 and type(operands[0]) is Tensor:
        return _bind_one(op, operands[0], params, forward_of)
    are_tensors = lift is lift_plain and TENSOR.issuperset(map(type, operands))
    try:
        values = [x._data for x in operands] if are_tensors else [lift(x) for x in operands]
    except Elsewhere as other:
        return other.bind(op, operands, params)
    if op is CUSTOM:
        return params["ctx"].run(operands)  # forward is a program of the user's, which takes tensors
    if not op.complex:
        for x in operands:
            if x._spec.complex if isinstance(x, Tensor) else type(x) is not float and is_complex(x):
                raise not_for_complex(op)
    try:
        z = forward_of(op)(*values, **params)
    except ValueError as error:
        raise misfit(op, values, error) from None
    if type(z) is complex:  # Python's own arithmetic: 2j * np.float64(3.0)
        z = np.complex128(z)
    if not op.view and type(z) is np.ndarray and z.base is not None:
        z = apart(z, values)
    try:
        wengert = LISTS[get_ident()]
    except KeyError:
        wengert = current()
    spec = SPECS[z.shape, z.dtype] if op.outputs == 1 else None
    if wengert.recording and (spec is None or spec.inexact):
        if are_tensors:
            refs = [x if x._node is True else x._node for x in operands]
        else:
            refs = [operand(x) for x in operands]
        wanted = wanted_operands(op, tuple([ref is not None for ref in refs]))
        if wanted and not (EVER_INFERRED and stays_out(op, operands, params, wanted)):
            if len(wanted) < len(refs):
                refs = [ref if i in wanted else None for i, ref in enumerate(refs)]
            made = append(wengert, op, refs, values, z, spec, params, wanted)
            return views(made, op, operands, params, True) if op.view else made
    made = wrap(z, None, spec) if spec else tuple(map(wrap, z))
    if op.view:
        made = views(made, op, operands, params, wengert.recording)
    if EVER_INFERRED:
        settle(op, operands, params, (made,) if spec else made)
    return made


def _bind_one(op: Op, x: Tensor, params: dict[str, Any], forward_of: Callable[[Op], Callable[..., Any]]) -> Tensor:
    """`bind` for one operand and one result, which is what most calls are."""
    if x._spec.complex and not op.complex:
        raise not_for_complex(op)
    value, ref = x._data, x._node
    try:
        z = forward_of(op)(value, **params)
    except ValueError as error:
        raise misfit(op, (value,), error) from None
    if type(z) is complex:
        z = np.complex128(z)
    elif not op.view and type(z) is np.ndarray and z.base is not None:
        z = apart(z, (value,))
    try:
        wengert = LISTS[get_ident()]
    except KeyError:
        wengert = current()
    spec = SPECS[z.shape, z.dtype]
    tracked = wengert.recording and ref is not None and spec.inexact and wanted_operands(op, TRACKED)
    if tracked and not (EVER_INFERRED and stays_out(op, (x,), params, FIRST)):
        keep, keep_z = plan(op, FIRST)
        made = enter(
            wengert, op, x if ref is True else ref, None, value if keep[0] else None, None,  # type: ignore[index]
            z, keep_z, tuple({**op.params, **params}.values()) if op.params else None, spec,
        )  # fmt: skip
        return attach(made, x, op, params, True) if op.view else made
    made = wrap(z, None, spec)
    if op.view:
        made = attach(made, x, op, params, wengert.recording)
    if EVER_INFERRED:
        settle(op, (x,), params, (made,))
    return made


TENSOR = frozenset({Tensor})
TRACKED, FIRST = (True,), (0,)
"""Of one operand: that it has a history; and which operands a gradient may flow to, then."""


def whole(op: Op, general: Callable[..., Any], lay: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """A function of all elements of a tensor, unless it is told more: what is left then is `general`.

    Args:
        lay: what lays results in memory that have axes, for the ``operands``.
    """

    def apply(*args: Any, **kwargs: Any) -> Any:
        if not kwargs and len(args) == 1 and type(args[0]) is Tensor:
            return bind(op, args, {}) if lay is None else lay(bind(op, args, {}), operands=args)
        return general(*args, **kwargs)

    return apply


def views(made: Any, op: Op, operands: Sequence[Any], params: dict[str, Any], recording: bool) -> Any:
    """The result, or the results, of an op that gives views, as views of the operand."""
    if op.outputs == 1:
        return attach(made, operands[0], op, params, recording)
    return tuple([attach(part, operands[0], op, params, recording, i) for i, part in enumerate(made)])


def apart(z: np.ndarray, values: Sequence[Any]) -> np.ndarray:
    """A result in memory of its own: a copy where an op that gives no views has returned one of an operand."""
    memory = owner(z)
    return z.copy("K") if any(type(x) is np.ndarray and owner(x) is memory for x in values) else z


@cache
def wanted_operands(op: Op, tracked: tuple[bool, ...]) -> tuple[int, ...]:
    """The operands that a gradient may flow to: those with a history in which the op is not constant."""
    return tuple(i for i, has_history in enumerate(tracked) if has_history and op.rule(i))


def append(
    wengert: WengertList,
    op: Op,
    refs: list[Any],
    values: list[Any],
    z: Any,
    spec: Spec | None,
    params: dict[str, Any],
    wanted: tuple[int, ...],
) -> Any:
    """Append the record of an evaluated op and return its result, or its several results, as tensors."""
    keep, keep_z = plan(op, wanted)
    x, y, xv, yv, number = fields(op, refs, values, keep)
    row_params = tuple({**op.params, **params}.values()) if op.params else number
    return enter(wengert, op, x, y, xv, yv, z, keep_z, row_params, spec)


def enter(
    wengert: WengertList, op: Op, x: Any, y: Any, xv: Any, yv: Any, z: Any, keep_z: bool, row_params: Any,
    spec: Spec | None,
) -> Any:  # fmt: skip
    """Append a record of which the fields are known (see `tape.base.row`), and return its results as tensors."""
    where = wengert.where or user_frame(getframe(3))
    handle = wengert.next()
    zv = None
    if keep_z:
        zv = (*[None] * (op.outputs - op.integers), *z[-op.integers :]) if op.integers else z
    wengert.extend((handle, op.code, x, y, xv, yv, zv, row_params, spec, *where))
    if handle > wengert.limit:
        wengert.scan()
    nbytes = spec.nbytes if spec else sum(v.nbytes for v in z)
    refs = x if type(x) is tuple else (x, y)
    for field in (*refs, xv, yv, *row_params) if op.params else (*refs, xv, yv):
        if type(field) not in WITHOUT_BYTES:
            nbytes += _bytes_of(field)
    if nbytes > LARGE:
        wengert.account(nbytes)
    if spec:
        return wrap(z, handle, spec)
    return tuple([output(wengert, handle, i, v, *where) for i, v in enumerate(z)])


def user_frame(frame: FrameType) -> tuple[CodeType, int]:
    """Code and instruction offset of the nearest caller outside the library."""
    code = frame.f_code
    while in_library(code.co_filename) and frame.f_back is not None:
        frame = frame.f_back
        code = frame.f_code
    return code, frame.f_lasti


def fields(op: Op, refs: list[Any], values: list[Any], keep: tuple[bool, ...] | bool) -> tuple[Any, ...]:
    """The fields X, Y, XV and YV of a row, and the plain number among two operands if there is one."""
    if isinstance(keep, bool):
        return tuple(refs), None, tuple(values) if keep else None, None, None
    if len(keep) == 1:
        return refs[0], None, values[0] if keep[0] else None, None, None
    saved = [v if k else None for v, k in zip(values, keep)]
    if len(keep) != 2:
        return tuple(refs), None, tuple(saved), None, None
    for i, v in enumerate(values):
        if type(v) in (float, int, bool) and not op.params:
            saved[i] = None
            return (*refs, *saved, float(v))
    return (*refs, *saved, None)


def output(wengert: WengertList, parent: int, i: int, value: Any, code: Any, lasti: int) -> Tensor:
    """Output `i` of a record with several outputs, as a record of its own."""
    spec = spec_of(value)
    if not spec.inexact:
        return wrap(value, None, spec)
    handle = wengert.next()
    wengert.extend((handle, OUTPUT.code, parent, None, None, None, None, (i,), spec, code, lasti))
    return wrap(value, handle, spec)


WITHOUT_BYTES = frozenset({type(None), int, bool, float, str, slice})
"""Kinds of fields of rows that keep nothing alive."""


def _bytes_of(field: Any) -> int:
    """Bytes that a field of a row keeps alive, which may be many more than its result has.

    A large leaf is counted by the first record that holds it.
    """
    kind = type(field)
    if kind is np.ndarray:
        return field.nbytes
    if kind is tuple:
        return 0 if WITHOUT_BYTES.issuperset(map(type, field)) else sum(map(_bytes_of, field))
    if (kind is Tensor or kind is Narrow) and field._spec.nbytes > LARGE and not field._counted:
        field._counted = True
        return field._spec.nbytes
    return 0


OUTPUT, CUSTOM = REGISTRY["output"], REGISTRY["custom"]
