"""`math` and `cmath` on recorded numbers, by the NumPy functions of the same meaning.

Python's raise where NumPy's give nan: what they raise is raised here too; a recorded list verifies that they do not.
"""

from __future__ import annotations

import cmath
import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

import ops
from ops.core.batching import raised_in_some

from ..base.errors import note
from ..base.tensor import Face, Tensor
from .arrays.array_text import numbers_of, without_layers
from .arrays.casting import cast
from .arrays.face import Number, face, faces
from .arrays.float_parts import frexp, ldexp, remainder
from .arrays.python_number import PythonNumber, as_float, as_numpy, as_python
from .arrays.unwrapping import bare, holds_face
from .constructors import as_array, gathered

OTHERWISE = {
    "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan", "atan2": "arctan2",
    "atanh": "arctanh", "pow": "power", "phase": "angle", "hypot": None, "log": None,
}  # fmt: skip
"""What NumPy calls a function otherwise; None where it is written here."""

ELEMENTARY = (
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "copysign", "cos", "cosh", "degrees", "exp",
    "exp2", "expm1", "fabs", "fmod", "log10", "log1p", "log2", "pow", "radians", "sin", "sinh", "sqrt", "tan", "tanh",
)  # fmt: skip


def _from_numpy(module: Any, name: str) -> Callable[..., Any]:
    return checked(getattr(module, name), getattr(np, OTHERWISE.get(name) or name))


def checked(original: Callable[..., Any], compute: Callable[..., Any]) -> Callable[..., Any]:
    """A function of recorded numbers that gives Python's numbers, and raises what Python's raises of them."""

    convert = _as_real if original.__module__ == "math" else as_float

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not any(map(holds_face, args)):
            return original(*args, **kwargs)
        with np.errstate(all="ignore"):
            xs = [as_numpy(convert(_alone(x))) for x in args]
            z = compute(*xs, **kwargs)
        if not is_finite(z):  # a guard, where it is recorded: Python raises, or the arguments are infinite
            lanes = zip(*np.broadcast_arrays(*[np.ravel(numbers_of(x)) for x in args]))
            if _is_complex(original, [[x.item() for x in numbers] for numbers in lanes], kwargs):
                z = z if z.dtype.kind == "c" else compute(xs[0] + 0j, *xs[1:])
        return as_python(z)

    return call


def _as_real(x: Any) -> Any:
    """A recorded number as the float that a function of `math` takes it for."""
    if isinstance(x, Face) and x._tensor._spec.complex:
        if type(x) is PythonNumber:
            math.sqrt(1j)  # type: ignore[arg-type]  # Python's own error
        return as_float(face(cast(x._tensor, np.dtype(float))))
    return as_float(x)


def _is_complex(original: Callable[..., Any], lanes: list[list[Any]], kwargs: dict[str, Any]) -> bool:
    """Whether Python's function gives a complex number in one of the lanes; it raises what it raises there."""
    kinds, errors = set(), {}
    for numbers in lanes:
        try:
            kinds.add(type(original(*numbers, **kwargs)))
        except Exception as error:
            errors[type(error), str(error)] = error
    for raised in errors.values():
        if kinds or len(errors) > 1:
            note(raised_in_some(f"{original.__name__}()", raised))
        raise raised
    return complex in kinds


def _alone(x: Any) -> Any:
    """A number, or the only element of an array."""
    shape = x._tensor._spec.shape if isinstance(x, Face) else () if type(x) in NUMBERS else np.shape(x)
    if not shape:
        return x
    float(np.ones(shape))  # what NumPy of this version raises or warns of
    return np.reshape(x, ())


NUMBERS = frozenset({float, int, bool, complex})


def is_finite(z: Any) -> bool:
    """Whether a number, or an array, is finite, in all lanes."""
    return holds(np.isfinite, z)


def holds(test: Callable[[Any], Any], z: Any) -> bool:
    """Whether something is true of a number, or of all in an array, in all lanes; a guard, where it is recorded."""
    if not isinstance(z, Face):
        return bool(np.all(test(z)))
    tensor = z._tensor
    if type(tensor) is Tensor:
        return bool(np.all(test(tensor._data)))
    found = test(face(without_layers(tensor)))
    return bool(np.all(found) if np.ndim(found) else found)


def _settled(x: Any) -> Any:
    """A recorded number as a plain one, to see what Python's function raises."""
    return x._tensor.detach().item() if isinstance(x, Number) or holds_face(x) else x


def _by_op(op: Any) -> Callable[..., Any]:
    return lambda *xs: faces(op(*bare(xs)), face)


def _log(x: Any, base: Any = None) -> Any:
    return np.log(x) if base is None else np.log(x) / np.log(base)


def _hypot(*xs: Any) -> Any:
    return np.hypot(*xs) if len(xs) == 2 else np.linalg.norm(gathered(list(xs)))


def _ldexp(x: Any, exponent: Any) -> Any:
    return ldexp(x, exponent) if isinstance(exponent, int) else math.ldexp(1.0, exponent)  # which raises


def _whole(original: Callable[..., Any]) -> Callable[..., Any]:
    """`math.floor` and the like, which give a Python integer: Python is told it, and no gradient flows."""

    @functools.wraps(original)
    def call(x: Any) -> Any:
        if not isinstance(x, Face):
            return original(x)
        if type(x) is not PythonNumber:
            original(np.ones(x._tensor._spec.shape, x._tensor._spec.dtype)[()])  # what is raised of NumPy's numbers
        return original(_settled(x))

    return call


def _summed(original: Callable[..., Any], compute: Callable[..., Any]) -> Callable[..., Any]:
    """`math.fsum` and the like, of any iterable."""

    @functools.wraps(original)
    def call(numbers: Any, *others: Any, **named: Any) -> Any:
        numbers, others = list(numbers), tuple(map(list, others))
        if not holds_face(numbers) and not holds_face(others) and not holds_face(list(named.values())):
            return original(numbers, *others, **named)
        return compute(gathered(numbers), *map(gathered, others), **named)

    return call


def as_floats(xs: Any) -> Any:
    """Numbers in an array as Python's floats are, of which there is one precision."""
    xs = as_array(xs)
    return xs if xs.dtype.kind == "c" else xs.astype(float)


def _product(xs: Any, *, start: Any = 1) -> Any:
    """A product, of integers one after the other, in the dtypes that their products have."""
    return functools.reduce(operator.mul, xs, start) if xs.dtype.kind in "iub" else np.prod(xs) * start


def _sum_of_products(p: Any, q: Any) -> Any:
    if np.result_type(p, q).kind in "iub" and len(p) == len(q):
        return sum(map(operator.mul, p, q))
    return np.dot(p, q)


def _tested(module: Any, name: str) -> Callable[..., Any]:
    original, test = getattr(module, name), getattr(np, name)

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> bool:
        return bool(test(*args, **kwargs)) if any(map(holds_face, args)) else original(*args, **kwargs)

    return call


def _close(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def call(a: Any, b: Any, *, rel_tol: float = 1e-09, abs_tol: float = 0.0) -> bool:
        if not holds_face(a) and not holds_face(b):
            return original(a, b, rel_tol=rel_tol, abs_tol=abs_tol)
        a, b = [as_numpy(as_float(_alone(x))) for x in (a, b)]
        near = abs(a - b) <= max(rel_tol * max(abs(a), abs(b)), abs_tol)
        return bool(a == b or (near and np.isfinite(a) and np.isfinite(b)))

    return call


def _parts(original: Callable[..., Any], compute: Callable[..., Any]) -> Callable[..., Any]:
    """`math.modf`, `math.frexp` and `cmath.polar`: two numbers, of which an integer is told to Python."""

    @functools.wraps(original)
    def call(x: Any, /) -> Any:
        if not holds_face(x):
            return original(x)
        return tuple(map(as_python, compute(as_numpy(as_float(_alone(x))))))

    return call


COMPLEX = (
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "log10", "sin", "sinh", "sqrt", "tan",
    "tanh",
)  # fmt: skip


def _of_complex(name: str) -> Callable[..., Any]:
    compute = getattr(np, OTHERWISE.get(name) or name)
    return checked(getattr(cmath, name), lambda x: compute(x + 0j))


FUNCTIONS: dict[tuple[Any, str], Callable[..., Any]] = {
    **{(math, name): _from_numpy(math, name) for name in ELEMENTARY if hasattr(math, name)},
    **{(math, name): checked(getattr(math, name), _by_op(getattr(ops, by))) for name, by in
       {"erf": "erf", "erfc": "erfc", "lgamma": "lgamma", "gamma": "special_gamma"}.items()},
    **{(math, name): _whole(getattr(math, name)) for name in ("floor", "ceil", "trunc", "ulp")},
    (math, "modf"): _parts(math.modf, np.modf), (math, "frexp"): _parts(math.frexp, frexp),
    (math, "ldexp"): checked(math.ldexp, _ldexp), (math, "remainder"): checked(math.remainder, remainder),
    **{(math, name): _tested(math, name) for name in ("isnan", "isinf", "isfinite")},
    (math, "log"): checked(math.log, _log), (math, "hypot"): checked(math.hypot, _hypot),
    (math, "isclose"): _close(math.isclose), (cmath, "isclose"): _close(cmath.isclose),
    (math, "fsum"): _summed(math.fsum, lambda xs: as_float(np.sum(as_floats(xs)))),
    (math, "prod"): _summed(math.prod, _product),
    (math, "dist"): _summed(math.dist, lambda p, q: as_float(np.linalg.norm(as_floats(p) - as_floats(q)))),
    **{(cmath, name): _of_complex(name) for name in COMPLEX},
    (cmath, "log"): checked(cmath.log, lambda x, base=None: _log(x + 0j, base)),
    (cmath, "phase"): checked(cmath.phase, np.angle),
    (cmath, "polar"): _parts(cmath.polar, lambda z: (abs(z), np.angle(z))),
    (cmath, "rect"): checked(cmath.rect, lambda r, phi: r * np.cos(phi) + 1j * (r * np.sin(phi))),
    **{(cmath, name): _tested(cmath, name) for name in ("isnan", "isinf", "isfinite")},
}  # fmt: skip
"""What stands for the functions of `math` and `cmath` while a function of arrays is recorded."""
if hasattr(math, "fma"):
    FUNCTIONS[math, "fma"] = checked(math.fma, lambda x, y, z: x * y + z)
if hasattr(math, "sumprod"):
    FUNCTIONS[math, "sumprod"] = _summed(math.sumprod, _sum_of_products)
