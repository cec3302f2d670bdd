"""The arguments of a call: what varies from call to call, and what a recorded list is for."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...base.dtypes import kind_of
from ...base.spec import Spec, spec
from ...base.tensor import Face, Tensor
from ...base.tree import Structure, build, leaves_like, leaves_of, structure_of, transform
from ...recording.recorder import masked_error
from ..world.contents import parts_of
from ..world.sameness import interchangeable
from ..world.surroundings import SETTLED, Surroundings

NUMERIC = "biufc"


class CallArguments(NamedTuple):
    """One call's arguments, taken apart.

    Attributes:
        key: what a recorded list is for: structure, shapes, dtypes, the values of what is no array or float.
        given: the arrays, tensors and floats.
    """

    key: Hashable
    given: list[Any]


class Fixed:
    """An argument that a recorded list is for, compared by type and by what was read of it.

    Attributes:
        value: the argument.
        around: what was found to be read of it; until that is known, all of it is compared.
    """

    __slots__ = ("around", "value")

    def __init__(self, value: Any):
        self.value = value
        self.around: Surroundings | None = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Fixed):
            return False
        if self.around is None:
            return interchangeable(other.value, self.value, other.around)
        return interchangeable(self.value, other.value, self.around)

    def __hash__(self) -> int:
        kind = type(self.value)
        return hash((kind, self.value)) if kind in (int, str, bool, bytes, type(None)) else hash(kind)

    def __repr__(self) -> str:
        return repr(self.value)


def take_apart(args: tuple[Any, ...], kwargs: dict[str, Any], fixed_floats: bool = False) -> CallArguments:
    """The key of a call and what varies in it."""
    parts: list[Any] = []
    given: list[Any] = []
    flat = not kwargs
    for x in args:
        kind = type(x)
        if kind is np.ndarray and (x.dtype.kind in NUMERIC or kind_of(x.dtype) in NUMERIC):
            parts.append(spec(x.shape, x.dtype))
            given.append(x)
        elif kind is Tensor:
            parts.append((x._spec,))
            given.append(x)
        elif kind is float and not fixed_floats:
            parts.append(float)
            given.append(x)
        elif kind in (tuple, list, dict) or isinstance(x, (tuple, list, dict)):
            flat = False
            break
        else:
            parts.append(leaf_key(x, given, fixed_floats))
    if flat:
        return CallArguments(tuple(parts), given)
    given = []
    structure = exact(structure_of((args, kwargs)))
    leaves = leaves_of((args, kwargs))
    return CallArguments((structure, *(leaf_key(x, given, fixed_floats) for x in leaves)), given)


def numbers_of_arrays(part: Any, arguments: Any) -> Any:
    """A part of a call's arguments as its function meets them while it is recorded: floats are numbers of NumPy's.

    They stay Python's beside tensors, and beside arrays of less than 64 bits, whose precision they take.
    """
    leaves = leaves_of(arguments)
    if not any(type(x) is float for x in leaves) or any(isinstance(x, Tensor) or is_narrow(x) for x in leaves):
        return part
    return transform(lambda x: np.float64(x) if type(x) is float else x, part)


def is_narrow(x: Any) -> bool:
    """Whether something holds floating-point numbers of less than 64 bits."""
    dtype = getattr(x, "dtype", None)
    return isinstance(dtype, np.dtype) and dtype.kind in "fc" and np.finfo(dtype).bits < np.finfo(float).bits


def exact(structure: Structure) -> Structure:
    """A structure that equals no other one with keys of other types: 1 is not 1.0."""
    if structure.container is None:
        return structure
    keys = tuple([key if type(key) is str else Fixed(key) for key in structure.keys])
    return Structure(structure.container, keys, tuple(map(exact, structure.inside)))


def objects_in(key: Any) -> list[Any]:
    """The arguments in a key that may change while they stay the same objects."""
    return [p.value for p in key if isinstance(p, Fixed) and not isinstance(p.value, SETTLED)]


def varying(key: Any) -> list[Any]:
    """The parts of a key that stand for what varies: a spec for an array, one in a tuple for a tensor, ``float``."""
    return [p for p in key if p is float or isinstance(p, Spec) or (type(p) is tuple and isinstance(p[0], Spec))]


def gives_tensors(key: Any) -> bool:
    """Whether a call with this key gives tensors: if it is given one, or neither arrays nor floats."""
    if key is None:
        return False
    parts = varying(key)
    if not parts:  # floats that were fixed are numbers of arrays still
        return not any(isinstance(p, Fixed) and type(p.value) is float for p in key)
    return any(type(p) is tuple for p in parts)


def leaf_key(x: Any, given: list[Any], fixed_floats: bool) -> Any:
    """The part of a key that one leaf is, which is added to `given` if it varies."""
    if isinstance(x, Tensor):
        given.append(x)
        return (x._spec,)
    if isinstance(x, Face):
        given.append(x)
        return (x._tensor._spec,)
    if isinstance(x, np.ma.MaskedArray):
        raise masked_error()
    if isinstance(x, (np.ndarray, np.generic)) and kind_of(x.dtype) in NUMERIC:
        given.append(np.asarray(x))
        return spec(x.shape, x.dtype)
    if isinstance(x, float) and not fixed_floats:
        given.append(float(x))
        return float
    if isinstance(x, np.ndarray):  # of things that are no numbers: another one when they change
        return Fixed((np.ndarray, x.dtype, x.shape, *x.ravel().tolist()))
    if isinstance(x, (set, bytearray)):
        return Fixed((type(x), *parts_of(x)))
    return Fixed(x)


def is_varying(x: Any, fixed_floats: bool) -> bool:
    """Whether a leaf of the arguments varies from call to call."""
    kinds: tuple[type, ...] = (Tensor,) if fixed_floats else (Tensor, float)
    return isinstance(x, kinds) or (isinstance(x, (np.ndarray, np.generic)) and kind_of(x.dtype) in NUMERIC)


def rebuilt(args: tuple[Any, ...], kwargs: dict[str, Any], new: Sequence[Any], fixed_floats: bool) -> Any:
    """The arguments with `new` in the place of what varies."""
    structure: Structure = structure_of((args, kwargs))
    following = iter(new)
    leaves = [next(following) if is_varying(x, fixed_floats) else x for x in leaves_like(structure, (args, kwargs))]
    return build(structure, leaves)
