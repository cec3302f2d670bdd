"""Nested structures of values: tuples, lists, dicts, named tuples; anything else is a leaf."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cache
from itertools import count
from typing import Any, NamedTuple


class Structure(NamedTuple):
    """What holds the leaves: a container type, the keys of a dict, and what is inside; no type for a leaf."""

    container: Any
    keys: tuple[Any, ...]
    inside: tuple[Any, ...]

    def __str__(self) -> str:
        if self.container is None:
            return "*"
        if issubclass(self.container, dict):
            return "{" + ", ".join(f"{k!r}: {s}" for k, s in zip(self.keys, self.inside)) + "}"
        items = ", ".join(map(str, self.inside))
        if issubclass(self.container, list):
            return f"[{items}]"
        return f"({items},)" if len(self.inside) == 1 else f"({items})"


LEAF = Structure(None, (), ())
NUMBERS = frozenset({float, int, bool, complex})
"""Types of leaves that long lists are made of: such a list is not gone through in Python."""


LEAVES: set[type] = {float, int, bool, complex, str, type(None)}
"""Types that are known to be of leaves: `isinstance` asks what shows another class for its attribute."""

BUILT = frozenset({tuple, list, dict, OrderedDict})
"""Containers that are nothing but what is in them."""


class Mismatch(Exception):
    """A tree does not have the structure that is required."""


def require_nothing_beside(container: Any) -> None:
    """Raise unless a container is made again out of what is in it: its class may keep more, or take it otherwise.

    Raises:
        TypeError: if it is another one then.
    """
    kind: Any = type(container)
    if kind in BUILT or _is_plain_tuple(kind):
        return
    try:
        again = made_of(kind, container, container.values() if isinstance(container, dict) else container)
        same = _content(again) == _content(container)
    except Exception:
        same = False
    if not same:
        raise TypeError(
            f"a {kind.__name__} is not made again out of what is in it, as it keeps more, or takes it otherwise; "
            f"pass a {next(base.__name__ for base in (dict, list, tuple) if issubclass(kind, base))} instead"
        )


@cache
def _is_plain_tuple(kind: type) -> bool:
    """Whether a class is a named tuple's, without anything of its own beside methods."""
    return kind.__base__ is tuple and not kind.__dictoffset__ and hasattr(kind, "_make") and hasattr(kind, "_fields")


def _content(container: Any) -> list[Any]:
    """By identity, what is in a container, and what it keeps beside that."""
    items = dict.items(container) if isinstance(container, dict) else enumerate(container)
    beside = getattr(container, "__dict__", {}), getattr(container, "default_factory", None)
    return [
        *((key, id(value)) for key, value in items),
        *((key, id(value)) for key, value in beside[0].items()),
        id(beside[1]),
    ]


def structure_of(tree: Any) -> Structure:
    """The structure of a tree.

    Raises:
        TypeError: if it holds a container that is not made again out of what is in it.
    """
    if isinstance(tree, dict):
        if type(tree) not in BUILT:
            require_nothing_beside(tree)
        return Structure(type(tree), tuple(tree), tuple(map(structure_of, tree.values())))
    if isinstance(tree, (tuple, list)):
        if type(tree) not in BUILT:
            require_nothing_beside(tree)
        inside = (LEAF,) * len(tree) if NUMBERS.issuperset(map(type, tree)) else tuple(map(structure_of, tree))
        return Structure(type(tree), (), inside)
    return LEAF


def leaves_of(tree: Any) -> list[Any]:
    """The leaves of a tree, in order."""
    found: list[Any] = []
    _gather(tree, found)
    return found


def _gather(tree: Any, found: list[Any]) -> None:
    if type(tree) in LEAVES:
        found.append(tree)
    elif isinstance(tree, (tuple, list)) and NUMBERS.issuperset(map(type, tree)):
        found.extend(tree)
    elif isinstance(tree, (dict, tuple, list)):
        for part in tree.values() if isinstance(tree, dict) else tree:
            if type(part) in LEAVES or not isinstance(part, (dict, tuple, list)):
                found.append(part)
            else:
                _gather(part, found)
    else:
        found.append(tree)


def leaves_like(structure: Structure, tree: Any) -> list[Any]:
    """The leaves of a tree that must have a given structure; dicts may have their keys in another order.

    Raises:
        Mismatch: if it has another.
    """
    return list(_leaves(tree, structure))


def _leaves(tree: Any, structure: Structure) -> Iterator[Any]:
    kind = structure.container
    if kind is None:
        if isinstance(tree, (dict, tuple, list)):
            raise Mismatch
        yield tree
        return
    if type(tree) is not kind or len(tree) != len(structure.inside):
        raise Mismatch
    if issubclass(kind, dict):
        if set(tree) != set(structure.keys):
            raise Mismatch
        tree = [tree[key] for key in structure.keys]
    for part, inside in zip(tree, structure.inside):
        yield from _leaves(part, inside)


def build(structure: Structure, leaves: Iterable[Any]) -> Any:
    """The tree of a structure with these leaves."""
    return _build(structure, iter(leaves))


def _build(structure: Structure, leaves: Iterator[Any]) -> Any:
    kind = structure.container
    if kind is None:
        return next(leaves)
    parts = [_build(inside, leaves) for inside in structure.inside]
    return made_of(kind, structure.keys, parts)


def made_of(kind: Any, keys: Iterable[Any], parts: Iterable[Any]) -> Any:
    """A container with these in it; of a dict, under these keys."""
    if issubclass(kind, dict):
        return kind(zip(keys, parts))
    return kind(*parts) if kind is not tuple and hasattr(kind, "_fields") else kind(parts)


Again = dict[int, Any]
"""By the number of a tuple, in the order in which they begin in a tree, the number of the earlier one that it is, −1
minus its number among those in the arguments, or the tuple itself."""


def tuples_in(tree: Any) -> Iterator[Any]:
    """The tuples of a tree in the order in which they begin, but for empty ones."""
    if isinstance(tree, tuple) and tree:
        yield tree
    if isinstance(tree, (tuple, list, dict)):
        for inside in tree.values() if isinstance(tree, dict) else tree:
            yield from tuples_in(inside)


def tuples_again(tree: Any, lasting: Collection[int], arguments: Any) -> Again:
    """Which tuples of a tree are there twice, which are `lasting` ones, and which in the arguments, by identity."""
    numbers = {id(part): -1 - k for k, part in enumerate(tuples_in(arguments))}
    found: Again = {}
    for number, part in enumerate(tuples_in(tree)):
        if id(part) in lasting:
            found[number] = part
        elif (first := numbers.setdefault(id(part), number)) != number:
            found[number] = first
    return found


def build_again(structure: Structure, leaves: Iterable[Any], again: Again, arguments: Any = ()) -> Any:
    """`build`, with tuples that are the same objects where they were, also among the arguments if these are given."""
    following, numbers = iter(leaves), count()
    made: dict[int, Any] = {-1 - k: part for k, part in enumerate(tuples_in(arguments))}

    def of(part: Structure) -> Any:
        if part.container is None:
            return next(following)
        number = next(numbers) if issubclass(part.container, tuple) and part.inside else -1
        container = made_of(part.container, part.keys, [of(inside) for inside in part.inside])
        if number in again:
            known = again[number]
            container = made.get(known, container) if type(known) is int else known
        made[number] = container
        return container

    return of(structure)


def transform(function: Callable[[Any], Any], tree: Any) -> Any:
    """The tree with a function applied to every leaf."""
    if not isinstance(tree, (dict, tuple, list)):
        return function(tree)
    return _transformed(function, tree) if tree else tree


def _transformed(function: Callable[[Any], Any], tree: Any) -> Any:
    kind = type(tree)
    if kind not in BUILT:
        require_nothing_beside(tree)
    if isinstance(tree, dict):
        return made_of(kind, tree, _parts(function, tree.values()))
    return made_of(kind, (), map(function, tree) if NUMBERS.issuperset(map(type, tree)) else _parts(function, tree))


def _parts(function: Callable[[Any], Any], parts: Iterable[Any]) -> list[Any]:
    return [_transformed(function, x) if isinstance(x, (dict, tuple, list)) else function(x) for x in parts]
