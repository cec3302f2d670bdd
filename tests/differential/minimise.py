"""A program without the statements that its difference does not need."""

from __future__ import annotations

from .compare import Difference, difference
from .program import Statement


def minimise(statements: list[Statement]) -> tuple[list[Statement], Difference]:
    """Leave out statements, the last ones first, as long as the two worlds still differ."""
    found = difference(statements)
    assert found is not None, "the program makes no difference"
    statements = statements[: found.at + 1]
    shrunk = True
    while shrunk:
        shrunk = False
        for i in reversed(range(len(statements))):
            fewer = statements[:i] + statements[i + 1 :]
            still = difference(fewer)
            if still is not None:
                statements, found, shrunk = fewer, still, True
    return statements, found
