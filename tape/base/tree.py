"""Nested structures of values: tuples, lists, dicts, named tuples; anything else is a leaf."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
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


class Mismatch(Exception):
    """A tree does not have the structure that is required."""


def structure_of(tree: Any) -> Structure:
    """The structure of a tree."""
    if isinstance(tree, dict):
        return Structure(type(tree), tuple(tree), tuple(map(structure_of, tree.values())))
    if isinstance(tree, (tuple, list)):
        inside = (LEAF,) * len(tree) if NUMBERS.issuperset(map(type, tree)) else tuple(map(structure_of, tree))
        return Structure(type(tree), (), inside)
    return LEAF


def leaves_of(tree: Any) -> list[Any]:
    """The leaves of a tree, in order."""
    found: list[Any] = []
    _gather(tree, found)
    return found


def _gather(tree: Any, found: list[Any]) -> None:
    if isinstance(tree, (tuple, list)) and NUMBERS.issuperset(map(type, tree)):
        found.extend(tree)
    elif isinstance(tree, (dict, tuple, list)):
        for part in tree.values() if isinstance(tree, dict) else tree:
            if isinstance(part, (dict, tuple, list)):
                _gather(part, found)
            else:
                found.append(part)
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
    if issubclass(kind, dict):
        return kind(zip(structure.keys, parts))
    return kind(*parts) if hasattr(kind, "_fields") else kind(parts)


def transform(function: Callable[[Any], Any], tree: Any) -> Any:
    """The tree with a function applied to every leaf."""
    if not isinstance(tree, (dict, tuple, list)):
        return function(tree)
    return _transformed(function, tree) if tree else tree


def _transformed(function: Callable[[Any], Any], tree: Any) -> Any:
    kind = type(tree)
    if isinstance(tree, dict):
        return kind(zip(tree, _parts(function, tree.values())))
    parts = map(function, tree) if NUMBERS.issuperset(map(type, tree)) else _parts(function, tree)
    return kind(*parts) if kind is not tuple and hasattr(kind, "_fields") else kind(parts)


def _parts(function: Callable[[Any], Any], parts: Iterable[Any]) -> list[Any]:
    return [_transformed(function, x) if isinstance(x, (dict, tuple, list)) else function(x) for x in parts]
