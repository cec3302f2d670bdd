"""Arguments that are part of what is recorded, and have too many values for that."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

from ...base.tree import Structure, leaves_of
from .signature import Fixed

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
