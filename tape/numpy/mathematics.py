"""`math` and `cmath` on recorded numbers, by the NumPy functions of the same meaning.

Python's raise where NumPy's give nan: what they raise is raised here too; a recorded list verifies that they do not.
They compute in double precision whatever they are given, `math` with the real part of NumPy's complex numbers, which
warns; sums are rounded once.  Where NumPy's functions would compute in the dtype of a number, it is converted first.
"""

from __future__ import annotations

import cmath
import functools
import math
import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

import ops
from ops.core.batching import raised_in_some

from ..base.errors import note
from ..base.tensor import Face, Tensor
from .arrays.array_text import numbers_of, without_layers
from .arrays.face import face, faces
from .arrays.float_parts import frexp, ldexp, remainder
from .arrays.python_number import PythonNumber, as_numpy, as_python
from .arrays.unwrapping import bare, holds_face
from .constructors import gathered

OTHERWISE = {
    "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan", "atan2": "arctan2",
    "atanh": "arctanh", "pow": "float_power", "phase": "angle", "hypot": None, "log": None,
}  # fmt: skip
"""What NumPy calls a function otherwise; None where it is written here."""

ELEMENTARY = (
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "copysign", "cos", "cosh", "degrees", "exp",
    "exp2", "expm1", "fabs", "fmod", "log10", "log1p", "log2", "pow", "radians", "sin", "sinh", "sqrt", "tan", "tanh",
)  # fmt: skip


def _from_numpy(module: Any, name: str) -> Callable[..., Any]:
    return checked(getattr(module, name), getattr(np, OTHERWISE.get(name) or name), as_real)


def as_it_is(x: Any) -> Any:
    """A number as Python's operators take it."""
    return as_numpy(as_python(_alone(x)))


def as_real(x: Any) -> Any:
    """A number as `math` takes it, which raises of others what that raises."""
    if not isinstance(x, Face):
        return x if isinstance(x, Tensor) else math.ldexp(x, 0)
    if type(x) is PythonNumber and x._tensor._spec.dtype.kind == "c":
        raise TypeError("must be real number, not complex")
    return _alone(as_numpy(x)).astype(float, copy=False)


def as_complex(x: Any) -> Any:
    """A number as `cmath` takes it, which raises of others what that raises."""
    if isinstance(x, Face):
        return _alone(as_numpy(x)).astype(complex, copy=False)
    cmath.isnan(x)
    return complex(x)


def checked(
    original: Callable[..., Any], compute: Callable[..., Any], converted: Callable[[Any], Any] = as_it_is
) -> Callable[..., Any]:
    """A function of recorded numbers that gives Python's numbers, and raises what Python's raises of them."""

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not any(map(holds_face, args)):
            return original(*args, **kwargs)
        with np.errstate(all="ignore"):
            xs = [converted(x) for x in args]
            if not any(map(holds_face, xs)):  # integers and truth values are told
                return original(*xs, **kwargs)
            z = compute(*xs, **kwargs)
        if not is_finite(z):  # a guard, where it is recorded: Python raises, or the arguments are infinite
            lanes = zip(*[x.tolist() for x in np.broadcast_arrays(*[np.ravel(numbers_of(x)) for x in xs])])
            if _is_complex(original, lanes, kwargs):
                z = z if z.dtype.kind == "c" else compute(xs[0] + 0j, *xs[1:])
        return as_python(z)

    return call


def _is_complex(original: Callable[..., Any], lanes: Iterable[tuple[Any, ...]], kwargs: dict[str, Any]) -> bool:
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


def _by_op(op: Any) -> Callable[..., Any]:
    return lambda *xs: faces(op(*bare(xs)), face)


def _next(x: Any, y: Any, **steps: Any) -> Any:
    """`math.nextafter`; of several steps it needs plain numbers."""
    return math.nextafter(x, y, **steps) if steps else _by_op(ops.numpy_nextafter)(x, y)


def _log(x: Any, base: Any = None) -> Any:
    return np.log(x) if base is None else np.log(x) / np.log(base)


def _length(*xs: Any) -> Any:
    return functools.reduce(np.hypot, xs) if len(xs) > 1 else np.abs(xs[0])


def _ldexp(x: Any, exponent: Any, /) -> Any:
    """`math.ldexp`, whose exponent is an integer of Python's, which is told."""
    if not isinstance(exponent, int):
        raise TypeError("Expected an int as second argument to ldexp.")
    return checked(math.ldexp, lambda x, i: ldexp(as_real(x), i))(x, exponent)


def _whole(original: Callable[..., Any]) -> Callable[..., Any]:
    """`math.floor` and the like, which give a Python integer: Python is told it, and no gradient flows."""

    @functools.wraps(original)
    def call(x: Any) -> Any:
        return original(_told(x) if isinstance(x, Face) else x)

    return call


def _told(x: Face) -> Any:
    """A recorded number, or an array of one, as a plain one of the same class."""
    tensor: Tensor = x._tensor
    shape, dtype = tensor._spec.shape, tensor._spec.dtype
    if math.prod(shape) != 1:
        return np.ones(shape, dtype)  # which is no number
    number = tensor.detach().item()
    if type(x) is PythonNumber:
        return number
    return np.full(shape, number, dtype) if isinstance(x, np.ndarray) else dtype.type(number)


def _summed(original: Callable[..., Any], compute: Callable[..., Any]) -> Callable[..., Any]:
    """`math.fsum` and the like, of any iterables."""

    @functools.wraps(original)
    def call(*iterables: Any, **named: Any) -> Any:
        lists = [list(numbers) for numbers in iterables]
        if not holds_face(lists) and not holds_face(list(named.values())):
            return original(*lists, **named)
        return compute(*lists, **named)

    return call


def _fsum(numbers: list[Any]) -> Any:
    return as_python(_by_op(ops.exact_sum)(gathered([as_real(x) for x in numbers])))


def _prod(numbers: list[Any], *, start: Any = 1) -> Any:
    return functools.reduce(operator.mul, numbers, start)


def _dist(p: list[Any], q: list[Any]) -> Any:
    math.dist([0.0] * len(p), [0.0] * len(q))  # what it raises of different lengths
    return as_python(_length(*[as_real(x) - as_real(y) for x, y in zip(p, q)]))


def _fma(x: Any, y: Any, z: Any) -> Any:
    return _by_op(ops.exact_dot)(gathered([x, z]), gathered([y, 1.0]))


def sumprod(p: list[Any], q: list[Any]) -> Any:
    """`math.sumprod`: of Python's numbers in one, and what stands after the first of another kind one by one.

    Raises:
        ValueError: if one is longer.
    """
    if len(p) != len(q):
        raise ValueError("Inputs are not the same length")
    known = [type(x) in PYTHONS and type(y) in PYTHONS for x, y in zip(p, q)]
    count = known.index(False) if False in known else len(known)
    start: Any = 0
    if holds_face(p[:count]) or holds_face(q[:count]):
        start = as_python(_by_op(ops.exact_dot)(*[gathered([as_real(x) for x in xs[:count]]) for xs in (p, q)]) + 0.0)
    elif count:
        start = FUNCTIONS[math, "sumprod"](p[:count], q[:count])
    return functools.reduce(operator.add, map(operator.mul, p[count:], q[count:]), start)


PYTHONS = frozenset({float, int, bool, PythonNumber})
"""The classes of numbers that `math.sumprod` multiplies and adds exactly."""


def _tested(module: Any, name: str) -> Callable[..., Any]:
    original, test = getattr(module, name), getattr(np, name)

    converted = as_complex if module is cmath else as_real

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> bool:
        return bool(test(*map(converted, args), **kwargs)) if any(map(holds_face, args)) else original(*args, **kwargs)

    return call


def _close(original: Callable[..., Any], converted: Callable[[Any], Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def call(a: Any, b: Any, *, rel_tol: float = 1e-09, abs_tol: float = 0.0) -> bool:
        if not holds_face(a) and not holds_face(b):
            return original(a, b, rel_tol=rel_tol, abs_tol=abs_tol)
        original(1.0, 1.0, rel_tol=rel_tol, abs_tol=abs_tol)  # what it raises of tolerances
        a, b = converted(a), converted(b)
        near = abs(a - b) <= max(rel_tol * max(abs(a), abs(b)), abs_tol)
        return bool(a == b or (near and np.isfinite(a) and np.isfinite(b)))

    return call


def _parts(
    original: Callable[..., Any], compute: Callable[..., Any], converted: Callable[[Any], Any] = as_real
) -> Callable[..., Any]:
    """`math.modf`, `math.frexp` and `cmath.polar`: two numbers, of which an integer is told to Python."""

    @functools.wraps(original)
    def call(x: Any, /) -> Any:
        if not holds_face(x):
            return original(x)
        found = compute(converted(x))
        return tuple([int(part) if part.dtype.kind == "i" else as_python(part) for part in found])

    return call


COMPLEX = (
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "log10", "sin", "sinh", "sqrt", "tan",
    "tanh",
)  # fmt: skip


def _rect(r: Any, phi: Any) -> Any:
    return r * np.cos(phi) + 1j * (r * np.sin(phi))


def _of_complex(name: str) -> Callable[..., Any]:
    compute = getattr(np, OTHERWISE.get(name) or name)
    return checked(getattr(cmath, name), compute, as_complex)


FUNCTIONS: dict[tuple[Any, str], Callable[..., Any]] = {
    **{(math, name): _from_numpy(math, name) for name in ELEMENTARY if hasattr(math, name)},
    **{(math, name): checked(getattr(math, name), _by_op(getattr(ops, by)), as_real) for name, by in
       {"erf": "erf", "erfc": "erfc", "lgamma": "lgamma", "gamma": "special_gamma"}.items()},
    **{(math, name): _whole(getattr(math, name)) for name in ("floor", "ceil", "trunc", "ulp")},
    (math, "modf"): _parts(math.modf, np.modf), (math, "frexp"): _parts(math.frexp, frexp),
    (math, "ldexp"): _ldexp, (math, "nextafter"): checked(math.nextafter, _next, as_real),
    (math, "remainder"): checked(math.remainder, remainder, as_real),
    **{(math, name): _tested(math, name) for name in ("isnan", "isinf", "isfinite")},
    (math, "log"): checked(math.log, _log, as_real), (math, "hypot"): checked(math.hypot, _length, as_real),
    (math, "isclose"): _close(math.isclose, as_real), (cmath, "isclose"): _close(cmath.isclose, as_complex),
    (math, "fsum"): _summed(math.fsum, _fsum),
    (math, "prod"): _summed(math.prod, _prod),
    (math, "dist"): _summed(math.dist, _dist),
    **{(cmath, name): _of_complex(name) for name in COMPLEX},
    (cmath, "log"): checked(cmath.log, _log, as_complex),
    (cmath, "phase"): checked(cmath.phase, np.angle, as_complex),
    (cmath, "polar"): _parts(cmath.polar, lambda z: (abs(z), np.angle(z)), as_complex),
    (cmath, "rect"): checked(cmath.rect, _rect, as_real),
    **{(cmath, name): _tested(cmath, name) for name in ("isnan", "isinf", "isfinite")},
}  # fmt: skip
"""What stands for the functions of `math` and `cmath` while a function of arrays is recorded."""
if hasattr(math, "fma"):
    FUNCTIONS[math, "fma"] = checked(math.fma, _fma, as_real)
if hasattr(math, "sumprod"):
    FUNCTIONS[math, "sumprod"] = _summed(math.sumprod, sumprod)
