"""Public functions and methods, derived from the registry of ops: one for every op, in both spellings.

PyTorch says ``dim``, ``keepdim``, ``input`` and ``other`` where NumPy says ``axis``, ``keepdims`` and
calls operands by position; every function takes either.  Elementwise ops without parameters need
no translation, and are the recording closures of `record` themselves.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import ops
from ops import REGISTRY, Op
from ops.algebra.sparse import is_sparse, times, times_from_left
from ops.core.arguments import argument_names, arguments_of
from ops.core.axis_order import AS_COMPUTED, ROWS
from ops.core.differentiate import dtype_of

from ..base.signatures import signature_of, signature_of_short, signed
from ..base.tensor import Face, Tensor, Theme
from .laying import laid
from .recorder import as_tensor, bind, whole
from .short_ways import binary, is_operand, product, reflected, store, unary
from .wengert import current

SPELLINGS = {
    "dim": ("axis", "axes"),
    "dims": ("axes", "axis"),
    "axis": ("axes",),
    "axes": ("axis",),
    "keepdim": ("keepdims",),
    "p": ("ord",),
    "ddof": ("correction",),
    "correction": ("ddof",),
    "diagonal": ("k", "offset"),
    "dim0": ("axis1",),
    "dim1": ("axis2",),
    "index": ("indices",),
    "shifts": ("shift",),
    "start_dim": ("start",),
    "end_dim": ("end",),
    "size": ("shape",),
    "min": ("low", "a_min"),
    "max": ("high", "a_max"),
    "tensors": ("arrays", "xs"),
}
"""What an argument may be called, and what the op may call it."""

FIRST, SECOND = ("input", "self", "x", "a", "A"), ("other", "y", "b", "B", "exponent", "vec", "mat2", "vec2")
INTERNAL = frozenset({
    "output", "custom", "replay", "chain_mul", "clamp_to_arrays", "copy_over", "exact_dot", "exact_sum",
    "fmax_of_arrays", "fmin_of_arrays", "function_of_matrix",
    "general_power", "in_order", "largest_number", "min_and_max", "multiple", "numpy_nextafter", "numpy_spacing",
    "partitioned", "power_of_number", "put_view", "row_dot", "scatter_extreme", "slide", "smallest_number",
    "solve_banded", "sparse_product",
    "sparse_solve", "sum_to", "sylvester",
    "uncorrected_gammaln", "uncorrected_log_ndtr", "uncorrected_ndtr", "uncorrected_psi",
    "within", "zero",
})  # fmt: skip
TRANSFORMS, SCIPYS = "fft_", "special_"
"""How the names of ops begin that are public in the room `tape.fft` alone, or under SciPy's names alone."""


ALONG = frozenset({
    "argsort", "center", "cummax", "cummin", "flip", "log_softmax", "nancumprod", "nancumsum", "numpy_sort", "roll",
    "shift", "softmax", "sort", "topk",
})  # fmt: skip
"""Functions along an axis, beside those that reduce or accumulate, whose results have as many axes as their operand."""


def default_axis(op: Op) -> Any:
    """The axis that an op works along unless one is named."""
    if op.kind != "composite":
        return op.params.get("axis")
    if "axis" not in argument_names(op.forward):
        return None
    axis = inspect.signature(op.forward).parameters["axis"]
    return None if axis.default is axis.empty else axis.default


class Signature:
    """The arguments of an op: names in order, how many are operands, whether a sequence is taken.

    Attributes:
        axis: for a function to which a number is a vector of one element, the place of its axis; else None.
        reduces: whether it is a reduction of numbers over all axes unless some are named, also where PyTorch's ``dim``
            has none in it.
        plain: the kinds of parameters that need no translation; a reduction is told of an empty tuple.
        forms: the parameters that calls with one tensor give, by the number of arguments and the names of others.
    """

    __slots__ = ("axis", "forms", "names", "op", "operands", "plain", "reduces", "takes_sequence")

    def __init__(self, op: Op):
        self.op = op
        if op.kind == "composite":
            self.names = argument_names(op.forward)
            self.operands = self.names[:2]
            self.takes_sequence = False
        else:
            self.operands = op.operands
            self.names = (*op.operands, *op.params)
            self.takes_sequence = op.variadic
        along = "axis" in self.names and ("keepdims" in self.names or op.hints.accumulates or op.name in ALONG)
        self.axis = self.names.index("axis") if along else None
        whole = along and "keepdims" in self.names and default_axis(op) is None
        self.reduces = whole and op.name not in ("all", "any")
        self.plain = NEEDS_NONE if self.reduces else NEEDS_NONE | {tuple}
        self.forms: dict[tuple[Any, ...], tuple[str, ...]] = {}

    def plain_parameters(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any] | None:
        """The parameters of a call with a tensor that has axes, if none of them needs a translation; else None."""
        if not args or type(args[0]) is not Tensor or not args[0]._spec.shape:
            return None
        values = (*args[1:], *kwargs.values()) if kwargs else args[1:]
        if not self.plain.issuperset(map(type, values)):
            return None
        form = (len(args), *kwargs)
        names = self.forms.get(form)
        if names is None:
            if self.op.arity != 1 or len(args) > len(self.names) or not all(map(self._has, kwargs)):
                return None
            names = (*self.names[1 : len(args)], *map(self.rename, kwargs))
            if len(set(names)) < len(names):
                return None
            self.forms[form] = names
        return dict(zip(names, values))

    def _has(self, name: str) -> bool:
        """Whether a name, in anybody's spelling, is that of a parameter."""
        try:
            return self.rename(name) in self.names[1:]
        except TypeError:
            return False

    def rename(self, name: str) -> str:
        """The op's own word for an argument."""
        if name in self.names:
            return name
        for position, words in enumerate((FIRST, SECOND)):
            if name in words and position < len(self.operands):
                return self.operands[position]
        for word in SPELLINGS.get(name, ()):
            if word in self.names:
                return word
        raise TypeError(f"{self.op.name}() has no argument {name!r}; its arguments are {', '.join(self.names)}")

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Apply the op to arguments in anybody's spelling."""
        if self.reduces and (kwargs or (args and type(args[-1]) is not int)):
            args, kwargs = _over_all(self.axis or 0, args, kwargs)
        named = {self.rename(k): v for k, v in kwargs.items()}
        first = args[0] if args else named.get(self.names[0])
        if self.axis is not None and isinstance(first, Tensor) and not first._spec.shape:
            axis = args[self.axis] if len(args) > self.axis else named.get("axis", default_axis(self.op))
            if axis is not None and axis not in ((), []):
                return self._of_number(first, axis, args, named)
        return self._apply(args, named)

    def _of_number(self, x: Tensor, axis: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Apply the op along an axis of a number, which counts as a vector of one element."""
        if any(k not in (0, -1) for k in (axis if isinstance(axis, (tuple, list)) else (axis,))):
            raise IndexError(f"{self.op.name}(): a number has no axis {axis}; it counts as a vector, whose axis is 0")
        vector = ops.reshape(x, shape=(1,))
        if args:
            z = self._apply((vector, *args[1:]), named)
        else:
            z = self._apply((), {**named, self.names[0]: vector})
        return tuple(map(_as_number, z)) if isinstance(z, tuple) else _as_number(z)

    def _apply(self, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        if self.op.kind == "composite":
            return self.op.forward(*args, **named)
        if self.takes_sequence:
            if "xs" in named:
                args = (named.pop("xs"), *args)
            if args and isinstance(args[0], (list, tuple)):
                operands, rest = tuple(args[0]), args[1:]
            else:
                operands, rest = args, ()
        else:
            count = len(self.operands)
            operands, rest = args[:count], args[count:]
            operands += tuple(named.pop(name) for name in self.operands[len(operands) :] if name in named)
            if len(operands) < count:
                raise TypeError(
                    f"{self.op.name}() needs {count} operands ({', '.join(self.operands)}); got {len(operands)}"
                )
        if len(rest) > len(self.op.params):
            raise TypeError(f"{self.op.name}() takes {', '.join(self.names)}; got {len(args)} positional arguments")
        params = {**dict(zip(self.op.params, rest)), **named} if rest else named
        if not params:
            return self.op(*operands)
        return self.op(*operands, **{k: v if k == "index" else plain_value(v) for k, v in params.items()})


NEEDS_NONE = frozenset({int, bool, float, str, type(None)})
"""Kinds of parameters that are what NumPy wants."""


def _over_all(place: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments with None in the place of dimensions of which there are none; NumPy's ``axis`` stays as it is."""
    if len(args) > place and _is_empty(args[place]):
        args = (*args[:place], None, *args[place + 1 :])
    return args, {**kwargs, "dim": None} if _is_empty(kwargs.get("dim")) else kwargs


def _is_empty(dims: Any) -> bool:
    return type(dims) in DIMENSIONS and not dims


DIMENSIONS = frozenset({tuple, list})
"""What several dimensions are given as."""


def _as_number(z: Any) -> Any:
    return ops.clone(ops.reshape(z, shape=())) if z.shape == (1,) else z


def plain_value(value: Any) -> Any:
    """A parameter as NumPy wants it: lists as tuples, tensors as their values.

    Raises:
        RuntimeError: for a tensor that requires grad, which would silently get none.
    """
    if isinstance(value, Face):
        return plain_value(value._tensor)
    if isinstance(value, Tensor):
        if value._node is not None and current().recording:
            raise RuntimeError(
                "a parameter of a function, such as an order or a correction, has no derivative, and here it is a "
                "tensor that requires grad.\nPass a number, or the tensor's detach()."
            )
        return value._data
    return tuple(map(plain_value, value)) if isinstance(value, list) else value


def tensors(result: Any) -> Any:
    """Results as tensors, also where no operand was one."""
    if not isinstance(result, (tuple, list)):
        return as_tensor(result)
    made = map(tensors, result)
    return type(result)(*made) if hasattr(result, "_fields") else type(result)(made)


def is_short(op: Op) -> bool:
    """Whether calls of an op need no translation."""
    return op.kind == "elementwise" and not op.params and op.arity in (1, 2)


def short_way(op: Op, depth: int = 1) -> Callable[..., Any]:
    """The function of an op whose calls need no translation, called `depth` frames below the user's."""
    return unary(op, depth) if op.arity == 1 else binary(op, depth=depth)


def public(op: Op) -> Callable[..., Any]:
    """The function that users call for an op."""
    if is_short(op):
        function = short_way(op)
        signed(function, lambda: signature_of_short(op))
    else:
        signature: list[Signature] = []

        def function(*args: Any, **kwargs: Any) -> Any:
            if not signature:
                signature.append(Signature(op))
            params = signature[0].plain_parameters(args, kwargs)
            if params is not None:
                z = bind(op, args[:1], params)
                return laid(z if op.outputs == 1 else tensors(z), op.lies, args)
            if not kwargs:
                return laid(tensors(signature[0].call(args, kwargs)), op.lies, args)
            out = kwargs.pop("out", None)
            dtype = kwargs.pop("dtype", None) if "dtype" in kwargs and "dtype" not in op.params else None
            if dtype is not None:
                args = (ops.cast(args[0], dtype=dtype_of(dtype)), *args[1:])
            result = laid(tensors(signature[0].call(args, kwargs)), op.lies, (*args, *kwargs.values()))
            result = result if dtype is None else _in_whole_dtype(result, dtype_of(dtype))
            return result if out is None else store(result, out, op.name)

        if op.kind != "composite" and default_axis(op) is None:
            function = whole(op, function, None if "keepdims" in op.params else partial(laid, how=op.lies))
        signed(function, lambda: signature_of(op, SPELLINGS))

    function.__name__ = function.__qualname__ = op.name
    function.__doc__ = op.__doc__
    function.__module__ = "tape"
    return function


def _in_whole_dtype(result: Any, dtype: Any) -> Any:
    """What was computed of whole numbers in NumPy's dtype for that, in the one that was asked for; it wraps around."""
    if not isinstance(result, Tensor) or result.dtype == dtype or not WHOLE.issuperset((result.dtype.kind, dtype.kind)):
        return result
    return ops.cast(result, dtype=dtype)


WHOLE = frozenset("biu")
"""The kinds of dtypes of whole numbers."""


def _general(op: Op, is_reflected: bool = False, as_operands: bool = True) -> Callable[..., Any]:
    """An operator that is no elementwise op: a comparison, or the product of matrices, which may be sparse."""
    lies = op.lies if as_operands else AS_COMPUTED
    sparsely = {(False, "matmul"): times_from_left, (True, "matmul"): lambda x, a: times(a, x)}

    def apply(self: Any, other: Any) -> Any:
        if is_operand(other):
            pair = (other, self) if is_reflected else (self, other)
            return laid(op(*pair), lies, pair)
        product = sparsely.get((is_reflected, op.name))
        return product(self, other) if product is not None and is_sparse(other) else NotImplemented

    if is_reflected or not as_operands or op.params or op.arity != 2 or op.outputs != 1 or op.lies != ROWS:
        return apply
    return product(op, apply)


def _forward(op: Op) -> Callable[..., Any]:
    if op.kind == "elementwise":
        return unary(op) if op.arity == 1 else binary(op)
    return (lambda self: laid(op(self), op.lies, (self,))) if op.arity == 1 else _general(op)


def _reflected(op: Op) -> Callable[..., Any]:
    if op.kind == "elementwise":
        return reflected(op)
    return _general(op, is_reflected=True)


def _forward_of_array(op: Op) -> Callable[..., Any]:
    """An operator of the tensor in the face of an array, which lies as NumPy has it, a frame further up."""
    if op.kind == "elementwise":
        return unary(op, 2, as_operands=False) if op.arity == 1 else binary(op, depth=2, as_operands=False)
    return (lambda self: op(self)) if op.arity == 1 else _general(op, as_operands=False)


def _reflected_of_array(op: Op) -> Callable[..., Any]:
    if op.kind == "elementwise":
        return reflected(op, depth=2, as_operands=False)
    return _general(op, is_reflected=True, as_operands=False)


def is_method(op: Op) -> bool:
    """Whether the first argument is the tensor that the op is about."""
    if op.kind != "composite":
        return bool(op.operands) and op.operands[0] not in ("xs", "condition")
    taken = arguments_of(op.forward).positional
    return bool(taken) and taken[0] in FIRST_OF_COMPOSITES


FIRST_OF_COMPOSITES = frozenset({"x", "a", "m", "v", "ary", "A", "arr"})

FUNCTIONS: dict[str, Callable[..., Any]] = {
    op.name: public(op)
    for op in REGISTRY.values()
    if op.name not in INTERNAL and not op.name.startswith((TRANSFORMS, SCIPYS))
}
"""The derived functions by name; `methods` puts its own in place of the irregular ones."""

SHORT = frozenset(f for name, f in FUNCTIONS.items() if is_short(REGISTRY[name]))
"""Those of elementwise ops, the closures of `tape.recording.short_ways`, which leave what is no tensor to the op."""

METHODS: dict[str, Callable[..., Any]] = {
    name: function for name, function in FUNCTIONS.items() if is_method(REGISTRY[name])
}
"""The functions that are methods too, because their first argument is a tensor, by name.

Rooms of irregular calls add theirs, and `tape.memory.inplace` the forms in place; `tape.methods` puts them under
`Tensor`.
"""

_square = unary(REGISTRY["square"], depth=2)
_power = binary(REGISTRY["pow"], depth=2)


class OperatorMethods(Theme):
    """Python's operators, each the op that is declared with its symbol."""

    __slots__ = ()

    def __pow__(self, exponent: Any) -> Any:
        kind = type(exponent)
        if (kind is int or kind is float) and exponent == 2 and self._spec.inexact:
            return _square(self)
        return _power(self, exponent)


IRREGULAR = {"__pow__", "__pos__"}
"""Operators that are more than their op: the one stands above, the other in `tape.memory.to_dtype`."""
OF_ARRAYS = ops.methods(_forward_of_array, _reflected_of_array)
"""Python's operators by name, for the tensor in the face of an array that is no plain one."""
ops.install(OperatorMethods, {k: f for k, f in ops.methods(_forward, _reflected).items() if k not in IRREGULAR})
