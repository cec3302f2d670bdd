"""The statements of a program, some of which hold others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Statement:
    """A line, with the lines that belong under it."""

    text: str
    body: tuple[Statement, ...] = field(default=())

    def lines(self, indent: str) -> Iterator[str]:
        yield indent + self.text
        for inner in self.body:
            yield from inner.lines(indent + "    ")
        if self.text.endswith(":") and not self.body:
            yield indent + "    pass"


@dataclass(frozen=True)
class Program:
    """A function as source, and how it is called and compiled.

    Attributes:
        body: the statements between the first lines, which bind every name, and the return.
        result: what is returned.
        dtype: of the array arguments.
        tensors: whether it is given tensors, and differentiated, or arrays.
        tier, threads: how it is compiled.
        changes: statements run between calls, which change what the function captured.
    """

    seed: int
    body: tuple[Statement, ...]
    result: str
    dtype: str
    tensors: bool
    tier: str | None
    threads: int | None
    changes: tuple[str, ...]

    @property
    def source(self) -> str:
        lines = ["def f(x, m, a, more):", *(f"    {line}" for line in FIRST)]
        for statement in self.body:
            lines += statement.lines("    ")
        return "\n".join([*lines, f"    return {self.result}", ""])

    def with_body(self, body: tuple[Statement, ...]) -> Program:
        return replace(self, body=body)


FIRST = (
    "v0, v1, v2 = x * 1, x + more['v'], m[0] * 2",
    "m0, m1 = m * 1, m.T + m",
    "s0, s1, s2 = x.sum(), a * x[0], more['s'][0] * 1",
    "p0, p1, i0, i1 = 0.5, -1.25, 1, 2",
    "w0, u0 = tape.zeros(3), v0[:2]",
)
"""Every name of a program is bound before anything else, so that any statement may be taken out."""


def without(body: tuple[Statement, ...]) -> Iterator[tuple[Statement, ...]]:
    """The same statements with one fewer, or with what one holds in its place."""
    for i in reversed(range(len(body))):
        before, statement, after = body[:i], body[i], body[i + 1 :]
        yield (*before, *after)
        if statement.body:
            if not statement.text.startswith(("else", "elif", "def", "class")):
                yield (*before, *statement.body, *after)
            for fewer in without(statement.body):
                yield (*before, replace(statement, body=fewer), *after)
