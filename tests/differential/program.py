"""Statements, programs, and what is seen of one when it runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from .world import World, numbers


@dataclass(frozen=True)
class Statement:
    """A line of a program, the names that it reads and those that it binds.

    `changes` are the names whose tensors it may change, beside those it binds.
    """

    text: str
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    kind: str = "op"

    @cached_property
    def code(self) -> Any:
        return compile(self.text, "<program>", "exec")

    def can_run(self, world: World) -> bool:
        return all(world.names.get(name) is not None for name in self.reads)


@dataclass
class Sight:
    """What one statement did in one world: nothing, an error, or the tensors that it made or changed."""

    ran: bool
    error: Exception | None = None
    tensors: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Look:
    """A tensor as its user sees it; `changes` is how often it was changed in place since it was bound."""

    value: np.ndarray
    requires_grad: bool
    is_leaf: bool
    changes: int
    grad: np.ndarray | None


BROKEN = Look(np.empty(0), False, False, 0, None)
"""A tensor that can no longer be used, because its base was changed in a way that its history does not allow."""


def look(world: World, name: str) -> Look | None:
    """What is to be seen of a tensor now."""
    x = world.names.get(name)
    if x is None:
        return None
    try:
        return seen(world, name, x)
    except RuntimeError:
        return BROKEN


def seen(world: World, name: str, x: Any) -> Look:
    """What is to be seen of a tensor that has not been broken by a change of its base."""
    changes = x._version - world.first_versions.setdefault(name, x._version)
    grad = x.grad if x.is_leaf or x.retains_grad else None
    return Look(numbers(x), x.requires_grad, x.is_leaf, changes, numbers(grad))  # type: ignore[arg-type]


def step(world: World, statement: Statement) -> Sight:
    """Run one statement, unless an earlier error left out what it reads."""
    if not statement.can_run(world):
        return Sight(False)
    error = world.run(statement.code)
    if error is not None:
        return Sight(True, error)
    if statement.changes:
        world.ask()
    bound = {name: world.names.get(name) for name in (*statement.writes, *statement.changes)}
    return Sight(True, None, {name: look(world, name) for name, x in bound.items() if x is None or hasattr(x, "shape")})


def last_look(world: World) -> dict[str, Look | None]:
    """Every tensor of a program at its end."""
    return {
        name: look(world, name)
        for name, x in world.names.items()
        if name[0] == "v" and (x is None or hasattr(x, "shape"))
    }


def source(statements: list[Statement]) -> str:
    """A program as text."""
    return "\n".join(s.text for s in statements)
