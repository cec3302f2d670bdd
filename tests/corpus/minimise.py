"""A program without the statements that its mismatch does not need."""

from __future__ import annotations

from .compare import compare
from .tree import Program, without


def minimise(program: Program) -> tuple[Program, str]:
    """Take out statements as long as there is a mismatch."""
    found = compare(program).mismatch
    assert found is not None, "the program has no mismatch"
    shrunk = True
    while shrunk:
        shrunk = False
        for body in without(program.body):
            smaller = program.with_body(body)
            try:
                still = compare(smaller).mismatch
            except SyntaxError:
                continue
            if still is not None:
                program, found, shrunk = smaller, still, True
                break
    return program, found
