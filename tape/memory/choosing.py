"""Calls that choose elements, as PyTorch spells them: ``max(dim)``, ``gather``, ``where``, ``clamp``."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

import ops
from ops import Op
from ops.core.axis_order import COLUMNS, OPERAND, OPERANDS
from ops.core.op import answers, is_complex, shape_of

from ..base.dtypes import can_store
from ..base.signatures import like, passing_on
from ..base.tensor import Tensor
from ..recording.calls import adaptor, also, axis_of, counted, derived, function_only
from ..recording.creation import array_of, check_numbers
from ..recording.functions import FUNCTIONS, METHODS, is_method, public
from ..recording.laying import giving_rows, in_rows, laid, lie_within
from ..recording.recorder import as_tensor, wrap
from ..recording.short_ways import store
from .parting import along


class ValuesAndIndices(NamedTuple):
    """What functions that choose along one dimension give: each has a tuple of its own with these names."""

    values: Tensor
    indices: Tensor


class Extremes(NamedTuple):
    """What `aminmax` gives."""

    min: Tensor
    max: Tensor


def _pair(name: str) -> Any:
    return namedtuple(name, ValuesAndIndices._fields)


def _extreme(name: str, elementwise: str) -> Callable[..., Any]:
    """``max`` and ``min``, which mean three things."""
    pair = _pair(name)

    def extreme(
        input: Tensor, dim: Any = None, keepdim: bool = False, *, axis: Any = None, keepdims: bool = False
    ) -> Tensor | ValuesAndIndices:
        if isinstance(dim, Tensor):
            return getattr(ops, elementwise)(input, dim)
        if dim is None:
            if axis is None and not (keepdim or keepdims):
                return getattr(ops, f"{name}_all")(input)
            return getattr(ops, f"a{name}")(input, axis=axis, keepdims=keepdim or keepdims)
        dim = axis_of(input, dim)
        if not input.ndim:
            return pair(ops.clone(input), wrap(np.int64(0)))
        return pair(*getattr(ops, f"{name}_along")(input, axis=dim, keepdims=keepdim))

    extreme.__name__ = extreme.__qualname__ = name
    extreme.__doc__ = f"""``{name}(x)``: the {name}imum of all elements; a tie splits the gradient evenly.

    ``{name}(x, dim)``: values and indices along one dimension; the gradient goes to the first of equals.
    ``{name}(x, y)``: `{elementwise}`.  ``{name}(x, axis=…)``: values alone, as NumPy gives them.
    """
    return adaptor(extreme)


_extreme("max", "maximum")
_extreme("min", "minimum")


class Parts(NamedTuple):
    """What `frexp` gives."""

    mantissa: Tensor
    exponent: Tensor


def _named(name: str, *fields: str, recorded: Op | None = None) -> None:
    """A function of two results, which have names.

    Args:
        recorded: of a function that is made of several ops, the one op as which it is recorded on a tensor's list.
    """
    pair = namedtuple(name, fields)  # type: ignore[misc]

    result = {"aminmax": "Extremes", "frexp": "Parts"}.get(name, "ValuesAndIndices")
    result = f"Tensor | {result}" if name.endswith("median") else result
    whole = derived[name] if recorded is None else public(recorded)

    def function(*args: Any, **kwargs: Any) -> Any:
        z = (whole if args and type(args[0]) is Tensor else derived[name])(*args, **kwargs)
        return pair(*z) if isinstance(z, tuple) else z

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{derived[name].__doc__}\n\nThe results have the names {' and '.join(fields)}."
    adaptor(like(function, derived[name], gives=result))


for _name in ("topk", "kthvalue", "median", "mode", "nanmedian", "cummax", "cummin"):
    _named(_name, "values", "indices")
_named("frexp", "mantissa", "exponent")
_named("aminmax", "min", "max", recorded=ops.min_and_max)


Sorted = _pair("sort")


@adaptor
def sort(
    input: Tensor, dim: int = -1, descending: bool = False, *, stable: bool = False, axis: int | None = None
) -> ValuesAndIndices:  # fmt: skip
    """The elements in order along one axis, and the indices that they had; equal ones keep their order in any case.

    >>> import tape
    >>> tape.sort(tape.tensor([2.0, 1.0]), stable=True)
    sort(values=tensor([1., 2.]), indices=tensor([1, 0]))
    """
    pair: ValuesAndIndices = Sorted(*derived["sort"](input, axis=dim if axis is None else axis, descending=descending))
    return pair


@adaptor
def argsort(input: Tensor, dim: int = -1, descending: bool = False, *, stable: bool = False, **named: Any) -> Tensor:
    """Indices that sort along one axis; with ``stable``, or ``descending``, equal elements keep their order."""
    named.setdefault("axis", dim)
    if not descending:
        return derived["argsort"](input, **named, **({"stable": True} if stable else {}))
    return sort(input.detach(), named["axis"], True).indices


passing_on(argsort, derived["argsort"])


@adaptor
@giving_rows
def gather(input: Tensor, dim: int, index: Any, *, sparse_grad: bool = False) -> Tensor:
    """``z[i][j] = x[index[i][j]][j]`` for ``dim`` 0, and likewise along other dimensions.

    A tensor without dimensions counts as one of one element.  The gradient is dense, also where
    ``sparse_grad`` is asked for.

    Raises:
        IndexError, RuntimeError: both in one, if an index is negative or too large.
    """
    index = counted(input, dim, index, "gather()")
    if not input.ndim or not shape_of(index):
        chosen = ops.gather(ops.reshape(input, shape=(-1,)), np.ravel(array_of(index)), axis=axis_of(input, dim))
        return ops.reshape(chosen, shape=shape_of(index))
    return ops.gather(input, index, axis=axis_of(input, dim))


@adaptor
@giving_rows
def index_select(input: Tensor, dim: int, index: Any) -> Tensor:
    """The entries along one axis at a vector of indices, which count from zero."""
    return ops.take(input, counted(input, dim, index, "index_select()"), axis=axis_of(input, dim))


@adaptor
@giving_rows
def index_add(input: Tensor, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Tensor:
    """The input with the entries of ``source`` added to those along one axis at indices that count from zero."""
    index = counted(input, dim, index, "index_add()")
    check_source(input, source, "index_add()")
    source = source if alpha == 1 else source * alpha
    return ops.index_add(input, index, source, axis=axis_of(input, dim))


@adaptor
@giving_rows
def take_along_dim(input: Tensor, indices: Any, dim: int | None = None) -> Tensor:
    """`gather` with indices that broadcast against the input; without ``dim``, from all elements in one row.

    >>> import tape
    >>> tape.take_along_dim(tape.tensor([[1.0, 2.0], [3.0, 4.0]]), tape.tensor([[3, 0]]))
    tensor([4., 1.])
    """
    if dim is None:
        return gather(ops.reshape(input, shape=(-1,)), 0, ops.reshape(as_tensor(indices), shape=(-1,)))
    return ops.take_along_axis(input, indices, axis=dim)


def number_for(input: Tensor, value: Any, name: str) -> Any:
    """A number that is put into a tensor, in the tensor's dtype, whatever that loses of a fraction.

    Raises:
        RuntimeError: if the number is complex and the tensor is not, or too large for it.
    """
    dtype = input._spec.dtype
    if is_complex(value) and not input._spec.complex:
        raise RuntimeError(f"{name}: a complex number does not fit into a tensor of {dtype}; put its .real part there")
    if isinstance(value, Tensor):
        if np.result_type(value._spec.dtype, dtype) == dtype:
            return value
        check_numbers(value, dtype, name)
        return ops.cast(value, dtype=dtype)
    if isinstance(value, (int, float, np.generic)):
        check_numbers(value, dtype, name)
    if dtype.kind in "biu" or input._spec.narrow or isinstance(value, np.generic):
        return np.asarray(value).astype(dtype)[()]
    return value


def check_source(input: Tensor, source: Any, name: str) -> None:
    """Raise a RuntimeError unless all numbers of a tensor's dtype are also numbers of that of another one."""
    if isinstance(source, Tensor) and not can_store(source._spec.dtype, input._spec.dtype, "safe"):
        raise RuntimeError(
            f"{name} needs a source of the tensor's dtype, {input._spec.dtype}; got {source._spec.dtype}.\n"
            f"Convert one of them first, as source.to({input._spec.dtype})."
        )


@adaptor
@giving_rows
def masked_fill(input: Tensor, mask: Any, value: Any) -> Tensor:
    """The input, in its dtype, with one number put where the mask holds.

    >>> import tape
    >>> tape.arange(3).masked_fill(tape.tensor([True, False, False]), 7)
    tensor([7, 1, 2])
    """
    return ops.masked_fill(input, mask, number_for(input, value, "masked_fill()"))


@adaptor
def index_fill(input: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """The input with one number put at a vector of indices along one axis."""
    places = along(axis_of(input, dim), index._data)
    value = number_for(input, value, "index_fill()")
    return laid(ops.index_put(input, value, index=places), OPERAND, (input,))


@function_only
def where(condition: Any, input: Any = None, other: Any = None) -> Any:
    """``input`` where the condition holds, else ``other``; the indices of true elements without them."""
    if input is None and other is None:
        return nonzero(condition, as_tuple=True)
    return laid(as_tensor(ops.where(condition, input, other)), OPERANDS, (condition, input, other))


def _where(self: Tensor, condition: Any, other: Any) -> Tensor:
    """This tensor's elements where the condition holds, else those of ``other``."""
    return laid(ops.where(condition, self, other), OPERANDS, (condition, self, other))


METHODS["where"] = _where


@adaptor
def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """Indices of the elements that are not zero: a matrix with a row each, or a tuple of vectors."""
    found = np.nonzero(np.atleast_1d(input._data))
    if as_tuple:
        return tuple(map(wrap, found))
    return laid(wrap(np.stack(found, axis=1)[:, : input._spec.ndim]), COLUMNS, ())


@adaptor
def clamp(input: Any, min: Any = None, max: Any = None) -> Tensor:
    """Numbers below ``min`` raised to it, above ``max`` lowered to it.

    Raises:
        RuntimeError: if neither bound is given.
    """
    if min is None and max is None:
        raise RuntimeError("clamp() needs min, max or both; got neither")
    if min is None:
        return as_tensor(ops.clamp_max(input, max))
    return as_tensor(ops.clamp_min(input, min) if max is None else ops.clamp(input, min, max))


also("clip", clamp)


def _with_alpha(name: str, formula: str) -> None:
    def function(input: Any, other: Any, *, alpha: Any = 1, out: Any = None) -> Tensor:
        return derived[name](input, other if alpha == 1 else ops.mul(other, alpha), out=out)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{formula} α × other, elementwise, where α is ``alpha``."
    adaptor(function)


_with_alpha("add", "input +")
_with_alpha("sub", "input −")


def _are_whole(*numbers: Any) -> bool:
    """Whether all are integers or truth values, whose quotients are rounded to integers."""
    return all(np.result_type(x.dtype if isinstance(x, Tensor) else x).kind in "iub" for x in numbers)


def _whole_quotient(x: Any, y: Any, rounding_mode: str) -> Any:
    floor = ops.floor_divide(x, y)
    if rounding_mode == "floor":
        return floor
    return floor + ops.logical_and(ops.lt(floor, 0), ops.ne(floor * y, x))


@adaptor
def div(input: Any, other: Any, *, rounding_mode: str | None = None, out: Any = None) -> Tensor:
    """Quotient; rounded ``"trunc"`` (towards zero) or ``"floor"`` (down) if asked."""
    if rounding_mode not in (None, "trunc", "floor"):
        raise RuntimeError(f"rounding_mode must be None, 'trunc' or 'floor'; got {rounding_mode!r}")
    if rounding_mode is not None and _are_whole(input, other):
        z = as_tensor(_whole_quotient(input, other, rounding_mode))
    else:
        z = derived["div"](input, other)
        z = z if rounding_mode is None else getattr(ops, rounding_mode)(z)
    return z if out is None else store(z, out, "div")


@adaptor
def reciprocal(input: Any, *, out: Any = None) -> Tensor:
    """1 / input, elementwise; of integers too, of which NumPy's is rounded to an integer."""
    if isinstance(input, Tensor) and input._spec.inexact:
        return derived["reciprocal"](input, out=out)
    return as_tensor(derived["div"](1, input, out=out) if _are_whole(input) else derived["reciprocal"](input, out=out))


@adaptor
def angle(input: Any, *, out: Any = None) -> Tensor:
    """Angle of a complex number, in [−π, π]; 0 or π for a real one.  The gradient at 0 is 0."""
    z = as_tensor(derived["angle"](input, out=out))
    return in_rows(z) if out is None and is_complex(input) else z


def _copying(name: str) -> Callable[..., Tensor]:
    """A function whose result is the argument itself, or a view of it, as NumPy has it: here that is a copy."""

    def function(input: Any, *args: Any, **kwargs: Any) -> Tensor:
        z: Tensor = derived[name](input, *args, **kwargs)
        return ops.clone(z) if z is input or (kwargs.get("out") is None and z._is_view()) else z

    return function


def _quantile(input: Any, q: Any, *args: Any, **kwargs: Any) -> Tensor:
    z: Tensor = derived["quantile"](input, q, *args, **kwargs)
    if kwargs.get("out") is not None:
        return z
    z = ops.clone(z)  # no view of what was picked
    if not np.ndim(q):
        return z
    lie_within(z, (*range(1, z._spec.ndim), 0))  # those of one row beside each other
    return z


for _name, _function in {
    "quantile": _quantile, **{name: _copying(name) for name in ("diff", "matrix_power", "rot90")},
}.items():  # fmt: skip
    _function.__name__ = _function.__qualname__ = _name
    _function.__doc__ = derived[_name].__doc__
    adaptor(like(_function, derived[_name]))


def polygamma(n: int, input: Any) -> Tensor:
    """The n-th derivative of `digamma`; the order comes first, as everywhere.

    >>> import tape
    >>> tape.polygamma(1, tape.tensor([1.0]))
    tensor([1.6449])
    """
    if isinstance(n, Tensor):
        raise TypeError("polygamma() takes the order first, a number: polygamma(n, x), or x.polygamma(n)")
    return as_tensor(ops.polygamma(input, n=n) if n else ops.digamma(input))


function_only(polygamma)


def _spread(name: str, what: str) -> None:
    """``var`` and its like, with PyTorch's ``unbiased`` in the place of the correction."""

    def spread(
        input: Tensor, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, **named: Any
    ) -> Any:
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        if unbiased is not None:
            named["correction"] = int(unbiased)
        return derived[name](input, **{"dim": dim, "keepdim": keepdim, **named})

    spread.__name__ = spread.__qualname__ = name
    spread.__doc__ = f"""{what}, over n − 1 elements unless ``correction`` or ``unbiased=False`` says otherwise.

    Over one dimension, several, or all where ``dim`` is None.
    """
    adaptor(passing_on(spread, derived[name]))


for _name, _what in {"var": "Variance", "std": "Standard deviation"}.items():
    _spread(_name, _what)
    _spread(f"{_name}_mean", f"{_what} and mean")


def numpy_names(room: ModuleType) -> Iterator[tuple[str, Op]]:
    """The names by which a room of NumPy's calls the functions that ops answer for."""
    ours = {id(function): op for function, op in answers().items()}
    return ((name, ours[id(value)]) for name, value in vars(room).items() if id(value) in ours)


for _name, _op in numpy_names(np):
    if _name not in FUNCTIONS and _op.name in FUNCTIONS:
        function_only(FUNCTIONS[_op.name], _name)
        if is_method(_op):
            METHODS.setdefault(_name, FUNCTIONS[_op.name])
