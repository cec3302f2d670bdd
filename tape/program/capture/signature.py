"""The arguments of a call: what varies from call to call, what a recorded list is for, and when there are too many."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...base.dtypes import NUMERIC, kind_of
from ...base.location import in_library
from ...base.spec import OfArray, Spec, of_array, of_file, spec
from ...base.tensor import Face, Tensor
from ...base.tree import BUILT, LEAF, Structure, build, leaves_like, leaves_of, structure_of
from ...recording.recorder import WITHOUT_RULES, check_class
from ...recording.wengert import current
from ..recorded.trace import is_tracked
from ..world.contents import parts_of
from ..world.kinds import IMMUTABLE, all_within
from ..world.known import file_of
from ..world.surroundings import Surroundings
from .interchanging import interchangeable


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
        together: the values of all such arguments of the call, if there are several.
        around: what was found to be read of it; until that is known, all of it is compared.
    """

    __slots__ = ("around", "together", "value")

    def __init__(self, value: Any, around: Surroundings | None = None):
        self.value, self.around = value, around
        self.together: tuple[Any, ...] | None = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Fixed):
            return False
        if self.value is other.value:
            return True
        mine, theirs = (self, other) if self.around is not None else (other, self)
        if mine.together is None or theirs.together is None or type(mine.value) in IMMUTABLE:
            return interchangeable(mine.value, theirs.value, mine.around)
        return interchangeable(mine.together, theirs.together, mine.around)

    def __hash__(self) -> int:
        kind = type(self.value)
        return hash((kind, self.value)) if kind in (int, str, bool, bytes, type(None)) else id(kind)

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
            parts.append(of_array(spec(x.shape, x.dtype)))
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
        if len(given) + 1 < len(parts):
            put_together(parts)
        return CallArguments(tuple(parts), given)
    given = []
    structure = exact(structure_of((args, kwargs)))
    leaves = leaves_of((args, kwargs))
    if not fixed_floats and FLOATS.issuperset(map(type, leaves)):
        return CallArguments((structure, *[float] * len(leaves)), leaves)
    parts = [structure, *(leaf_key(x, given, fixed_floats) for x in leaves)]
    put_together(parts)
    return CallArguments(tuple(parts), given)


def history_of(given: Sequence[Any]) -> tuple[bool, ...]:
    """Whether gradients are recorded here, and which of the arguments require grad."""
    return current().recording, *map(is_tracked, given)


def are_entangled(tensors: Iterable[Any]) -> bool:
    """Whether a gradient may flow from one of these to another, or meet a hook: a recorded list takes them to be apart.

    One that requires grad alone is apart; several are if each is a leaf of its own.
    """
    tracked = [x for x in tensors if is_tracked(x)]
    several = len(tracked) > 1
    if len(set(map(id, tracked))) < len(tracked) or (several and not all(x.is_leaf for x in tracked)):
        return True
    return any(x._backward_hooks or x.retains_grad for x in tracked)


def has_history(things: Iterable[Any]) -> bool:
    """Whether something is recorded of what is computed with these."""
    return current().recording and any(is_tracked(x._tensor if isinstance(x, Face) else x) for x in things)


def put_together(parts: Sequence[Any]) -> None:
    """Let the arguments of a call that are compared as objects be compared as one: they may have parts in common."""
    fixed = [p for p in parts if isinstance(p, Fixed) and type(p.value) not in IMMUTABLE]
    if len(fixed) > 1:
        values = tuple([p.value for p in fixed])
        for p in fixed:
            p.together = values


FLOATS = frozenset({float})


def exact(structure: Structure) -> Structure:
    """A structure that equals no other one with keys of other types: 1 is not 1.0."""
    inside = structure.inside
    if structure.container is None or (not structure.keys and inside.count(LEAF) == len(inside)):
        return structure
    keys = tuple([key if type(key) is str else Fixed(key, ITSELF) for key in structure.keys])
    return Structure(structure.container, keys, tuple(map(exact, inside)))


def objects_in(key: Any) -> list[Any]:
    """The arguments in a key that may change while they stay the same objects, and the classes of what holds them."""
    found = [p.value for p in key if isinstance(p, Fixed) and not is_settled(p.value)]
    return found + (classes_in(key[0]) if key and isinstance(key[0], Structure) else [])


def classes_in(structure: Structure) -> list[type]:
    """The classes of containers that may have methods of the user's."""
    inside = [kind for part in structure.inside if part is not LEAF for kind in classes_in(part)]
    return inside if structure.container is None or structure.container in BUILT else [structure.container, *inside]


def is_settled(x: Any) -> bool:
    """Whether an argument cannot change, nor has code of the user's."""
    return type(x) in IMMUTABLE or isinstance(x, np.dtype)


def is_told_apart(call: CallArguments, args: Any, kwargs: Any, around: Surroundings) -> bool:
    """Whether what stands in for arguments is not the same object as others where the arguments themselves are.

    Arrays and what holds arguments are stood in for; objects are not.
    """
    mine = [id(x) for x in (*call.given, *mutable_in((args, kwargs)))]
    if around.compares and len(set(mine)) < len(mine):
        return True
    if around.apart is None or not around.apart.isdisjoint(mine):
        return True
    key: Any = call.key
    objects = [p.value for p in key if isinstance(p, Fixed) and not is_settled(p.value)]
    return bool(objects) and not {id(x) for x in all_within(objects)}.isdisjoint(mine)


def mutable_in(tree: Any) -> Iterator[Any]:
    """The lists and dicts in a tree."""
    kind = type(tree)
    if issubclass(kind, (tuple, list, dict)):
        if not issubclass(kind, tuple):
            yield tree
        for part in tree.values() if issubclass(kind, dict) else tree:
            yield from mutable_in(part)


def varying(key: Any) -> list[Any]:
    """The parts of a key that stand for what varies: a spec for an array, one in a tuple for a tensor, ``float``."""
    return [p for p in key if p is float or isinstance(p, Spec) or (type(p) is tuple and isinstance(p[0], Spec))]


def of_numbers(key: Any) -> Any:
    """A key in which arrays without axes are no others than numbers, and files' arrays no others than others."""
    if key is None or not any(isinstance(p, OfArray) for p in key):
        return key
    return tuple([spec(p.shape, p.dtype) if isinstance(p, OfArray) else p for p in key])


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
        if type(x) is not Tensor and is_users(x):
            raise TypeError(f"a tensor of the class {type(x).__name__} may have other rules than tensors do")
        given.append(x)
        return (x._spec, True) if x._inference else (x._spec,)
    if isinstance(x, Face):
        given.append(x)
        return (x._tensor._spec,)
    check_class(x)
    if is_numeric(x):
        given.append(np.asarray(x))
        found = spec(x.shape, x.dtype)
        if type(x) is np.memmap:
            return of_file(found)
        return of_array(found) if isinstance(x, np.ndarray) else found
    if type(x) is float and not fixed_floats:
        given.append(x)
        return float
    if isinstance(x, np.ndarray):  # of things that are no numbers: another one when they change
        return Fixed((np.ndarray, x.dtype, x.shape, *x.ravel().tolist()))
    if isinstance(x, (set, bytearray)):
        return Fixed((type(x), *parts_of(x)))
    return Fixed(x)


def is_users(x: Tensor) -> bool:
    """Whether the class of a tensor is the user's own, whose methods do what they will."""
    return type(x) is not Tensor and not in_library(file_of(type(x)))


def is_varying(x: Any, fixed_floats: bool) -> bool:
    """Whether a leaf of the arguments varies from call to call."""
    if isinstance(x, Tensor) or (type(x) is float and not fixed_floats):
        return True
    return is_numeric(x)


def is_numeric(x: Any) -> bool:
    """Whether something is an array, or a number, of NumPy's."""
    kind = type(x)
    return (kind in WITHOUT_RULES or (kind in IMMUTABLE and issubclass(kind, np.generic))) and kind_of(
        x.dtype
    ) in NUMERIC


def rebuilt(args: tuple[Any, ...], kwargs: dict[str, Any], new: Sequence[Any], fixed_floats: bool) -> Any:
    """The arguments with `new` in the place of what varies."""
    structure: Structure = structure_of((args, kwargs))
    following = iter(new)
    leaves = [next(following) if is_varying(x, fixed_floats) else x for x in leaves_like(structure, (args, kwargs))]
    return build(structure, leaves)


ITSELF = Surroundings()
ITSELF.apart = None
"""Around keys of dicts, of which another object is another key."""
ANY = object()


class Variety:
    """Counts the values that each fixed argument has had beside the same others.

    Attributes:
        most: so many are recorded.
        exhausted: what arguments were, but for those that had more.
    """

    def __init__(self, most: int, most_together: int):
        self.most, self.most_together = most, most_together
        self.exhausted: set[Any] = set()
        self._counts: dict[Any, int] = {}

    def forget(self) -> None:
        """Begin to count anew."""
        self._counts = {}

    def is_exhausted(self, key: Any) -> bool:
        """Whether such a call is not to be recorded."""
        return bool(self.exhausted) and any(rest in self.exhausted for _, rest in without_one(key))

    def add(self, key: Any) -> list[int] | None:
        """Count a new call; if it has become too many, the numbers of the arguments that are to blame."""
        for blamed, rest in without_one(key):
            count = self._counts[rest] = self._counts.get(rest, 0) + 1
            if count > (self.most if len(blamed) == 1 else self.most_together):
                self.exhausted.add(rest)
                return blamed
        return None


def without_one(key: Any) -> Iterator[tuple[list[int], Any]]:
    """A key without one of its fixed arguments, for each of them, and without all: their numbers, and what remains."""
    first = 1 if key and isinstance(key[0], Structure) else 0
    fixed = [k for k, part in enumerate(key) if isinstance(part, Fixed)]
    for k in fixed:
        yield [k - first], (*key[:k], ANY, *key[k + 1 :])
    if len(fixed) > 1:
        yield [k - first for k in fixed], tuple([ANY if isinstance(part, Fixed) else part for part in key])


def argument_at(function: Callable[..., Any], args: Any, kwargs: Any, number: int) -> str:
    """Which argument the leaf of a number is in."""
    try:
        names = [repr(name) for name in inspect.signature(function).parameters]
    except (TypeError, ValueError):
        names = []
    arguments = [(names[k] if k < len(names) else f"number {k}", x) for k, x in enumerate(args)]
    for name, x in (*arguments, *((repr(name), x) for name, x in kwargs.items())):
        number -= len(leaves_of(x))
        if number < 0:
            return name
    raise AssertionError("there is no such argument")


def advice(function: Callable[..., Any], args: Any, kwargs: Any, blamed: list[int]) -> str:
    """Why a function is not recorded for still more values, and what to do."""
    leaves = leaves_of((args, kwargs))
    names = list(dict.fromkeys(argument_at(function, args, kwargs, number) for number in blamed))
    kinds = {type(leaves[number]) for number in blamed}
    several = len(names) > 1
    if float in kinds:
        what = "a float beside arrays of fewer than 64 bits is part of what is recorded"
        remedy = "pass it as a number of the arrays' dtype, such as np.float32(x)"
    elif kinds <= {int}:
        what = "an int is part of what is recorded"
        remedy = "pass it as a float or an array where it is computed with"
    else:
        what = "what is no array or float is part of what is recorded"
        remedy = "pass what is computed with as floats or arrays, and for the rest the same objects again"
    return (
        f"the argument{'s' if several else ''} {' and '.join(names)} keep{'' if several else 's'} getting new values, "
        f"and {what}; {remedy}"
    )
