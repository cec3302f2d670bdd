"""A program without the statements that its mismatch does not need."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, Self, TypeVar

from .compare import compare
from .tree import Statement, without


class Shrinkable(Protocol):
    """A program that is the same with fewer statements."""

    @property
    def body(self) -> tuple[Statement, ...]: ...

    def with_body(self, body: tuple[Statement, ...]) -> Self: ...


P = TypeVar("P", bound=Shrinkable)


def mismatch(program: Any) -> str | None:
    return compare(program).mismatch


def minimise(program: P, look: Callable[[P], str | None] = mismatch) -> tuple[P, str]:
    """Take out statements as long as there is a mismatch: as long as `look` says what is wrong."""
    found = look(program)
    assert found is not None, "the program has no mismatch"
    shrunk = True
    while shrunk:
        shrunk = False
        for body in without(program.body):
            smaller = program.with_body(body)
            try:
                still = look(smaller)
            except SyntaxError:
                continue
            if still is not None:
                program, found, shrunk = smaller, still, True
                break
    return program, found
