"""What in-place changes are to the history: a value put over another one, or into a view of it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..core.batching import Application, apply
from ..core.domain import REAL, Case
from ..core.hints import Hints
from ..core.op import ADJOINT, HOLOMORPHIC, REGISTRY, elementwise, linear
from .index import check_kinds
from .shape import cast

Steps = tuple[tuple[str, tuple[tuple[str, Any], ...], int | None], ...]
"""How a view is made of its base: per step the name of an op, its parameters, and which of its results is meant."""


def _over(x: Any, y: Any) -> Any:
    """y in the shape and dtype that x has with it, lying in memory as x does, if that has the shape."""
    if isinstance(x, np.ndarray) and np.shape(y) != x.shape == np.broadcast_shapes(x.shape, np.shape(y)):
        z = np.empty_like(x)
        z[...] = cast.forward(y, dtype=x.dtype)
        return z[()]
    x, y = np.broadcast_arrays(x, y)
    return np.array(cast.forward(y, dtype=x.dtype))[()]


zero = elementwise(
    "zero", lambda x: np.zeros_like(x)[()], lambda: 0.0, complex=HOLOMORPHIC, domain=(REAL,),
    hints=Hints(steps=lambda s, x: s.zeros(x.spec.shape, x.spec.dtype)),
    doc="Zeros in the place of x, which has no influence on them: its gradient is 0.",
)

fill = elementwise(
    "fill", _over, lambda: 0.0, lambda g: g, node="FillBackward1", complex=ADJOINT, domain=(REAL, REAL),
    hints=Hints(steps=lambda s, x, y: s.over(y)),
    doc="y, broadcast against x and in its dtype; x has no influence, so its gradient is 0.",
)

copy_over = elementwise(
    "copy_over", _over, lambda: 0.0, lambda g: g, node="CopyBackwards", complex=ADJOINT, domain=(REAL, REAL),
    hints=Hints(steps=lambda s, x, y: s.over(y)),
    doc="`fill` with the numbers of another tensor.",
)


OF_COMPLEX = frozenset({"real", "imag", "view_as_real", "view_as_complex"})
"""The ops that look at complex numbers as real ones, or the other way round."""


def look(x: Any, steps: Steps) -> Any:
    """The view of x that is made in these steps; of an array it shares the memory where NumPy can."""
    for name, params, i in steps:
        x = REGISTRY[name](x, **dict(params))
        x = x if i is None else x[i]
    return x


WRITING = "writing y into a view of x"


def crosses(steps: Steps) -> bool:
    """Whether steps look at complex numbers as real ones, or the other way round."""
    return any(name in OF_COMPLEX for name, _, _ in steps)


def cells(x: Any, steps: Steps) -> np.ndarray:
    """Which elements of x a view of it shows, by their numbers in row-major order.

    Where the steps cross between real and complex numbers it is the real numbers of x that are counted, as
    `parts` has them; those of a complex element then lie along a last axis of length 2, as in `view_as_real`.
    """
    if not crosses(steps):
        return np.asarray(look(np.arange(x.size).reshape(x.shape), steps))
    # Floating point numbers can be looked at in every way, and are exact far beyond the size of any memory.
    pairs = x.dtype.kind == "c"
    numbers = np.arange(x.size << pairs, dtype=np.float64).view(np.complex128 if pairs else np.float64)
    seen = np.asarray(look(numbers.reshape(x.shape), steps))
    if seen.dtype.kind == "c":
        seen = np.stack([seen.real, seen.imag], axis=-1)
    return seen.astype(np.intp)


def parts(x: np.ndarray) -> np.ndarray:
    """All real numbers of an array that lies in row-major order, in the same memory; of a complex element both."""
    return x.reshape(-1).view(x.real.dtype)


def _put(x: Any, y: Any, *, steps: Steps) -> Any:
    z = np.array(x)
    whole = look(z, steps[:-1])
    place = look(whole, steps[-1:])
    if _shows(place, z):
        check_kinds(place, y, WRITING)
        place[...] = y
        return z
    # An element, or a copy because z lies in memory otherwise than the base did: by the numbers of its cells.
    whole, steps = (whole, steps[-1:]) if _shows(whole, z) and not crosses(steps[-1:]) else (z, steps)
    if crosses(steps):
        return _put_parts(z, y, steps)
    check_kinds(whole, y, WRITING)
    whole[np.unravel_index(cells(whole, steps), whole.shape)] = y
    return z


def _shows(view: Any, z: np.ndarray) -> bool:
    """Whether a view looks at the memory of z, and may be written."""
    return isinstance(view, np.ndarray) and view.flags.writeable and np.may_share_memory(view, z)


def _put_parts(z: np.ndarray, y: Any, steps: Steps) -> Any:
    """z with y in the place of a view that crosses between real and complex numbers."""
    z, y = np.ascontiguousarray(z).reshape(z.shape), np.asarray(y)
    places, seen = cells(z, steps), look(np.broadcast_to(z.dtype.type(), z.shape), steps)
    if seen.dtype.kind == "c":
        y = np.stack([y.real, y.imag], axis=-1)
    check_kinds(seen, y, WRITING)
    parts(z)[places] = y
    return z


def _cases(rng: np.random.Generator) -> Iterator[Case]:
    row, column = ("select", (("index", 1),), None), ("getitem", (("index", (slice(None), 2)),), None)
    turned, second = ("permute", (("axes", None),), None), ("split", (("indices_or_sections", 2), ("axis", 1)), 1)
    for steps, shape in (((row,), (4,)), ((turned, column), (4,)), ((row, row), ()), ((second, row), (2,))):
        yield (rng.standard_normal((3, 4)), np.asarray(rng.standard_normal(shape))), {"steps": steps}


def _in_lanes(a: Application) -> Any:
    """The batching rule of `put_view`: by the numbers of the cells, the same in every lane."""
    shape, steps = a.shape(0), a.params["steps"]
    if crosses(steps):
        return NotImplemented
    places = cells(np.broadcast_to(0.0, shape), steps)
    if a.ndim(1) > places.ndim:
        return NotImplemented
    flat = apply("reshape", a.full(0), shape=(a.n, math.prod(shape)))
    z = apply("index_put", flat, a.raised(1, places.ndim), index=(slice(None), places))
    return apply("reshape", z, shape=(a.n, *shape))


def _part(steps: Steps) -> tuple[Any, ...] | None:
    """The indices of steps that do nothing but read at one."""
    if any(name not in ("select", "getitem") for name, _, _ in steps):
        return None
    return tuple([value for _, params, _ in steps for name, value in params if name == "index"])


put_view = linear(
    "put_view", _put, lambda g, steps: put_view(g, 0.0, steps=steps), lambda g, steps: look(g, steps),
    node="CopySlices", cases=_cases, batch=_in_lanes, hints=Hints(part=_part),
    doc="x with y in the place of the view of x that is made in these steps.",
)
