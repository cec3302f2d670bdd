"""What a plan leaves to Python: where results and values lie that it reads or gives, and its stops."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ...base.spec import Spec
from .plan_steps.plan_places import Place, PlanValue

if TYPE_CHECKING:
    from .replay import KernelStep


class Result(NamedTuple):
    """Where a result is for the caller: in which of the arrays that are brought, from where, how many, which shape."""

    array: int
    start: int
    spec: Spec


class Raw(NamedTuple):
    """A value as it came: an input by its number, a constant by −1 minus its record."""

    source: int


class PythonStep(NamedTuple):
    """A step that Python does.

    Attributes:
        run: what does it: gets the values of the operands by record, gives those of the results.
        operands: by record, where its value is; None for one that is no array.
        makes: the records that it gives.
        wanted: the specs of what it gives, and the regions of that; None and −1 for what is no array.
        following: the step that comes after it.
        into: for a step that refuses its operands, where its results belong: the number of one among several, −1 for
            the only one, and the place.
        told: guards that are verified later than this, and where their values are: one that does not hold comes before
            whatever NumPy raises.
    """

    run: Any
    operands: dict[int, PlanValue | Raw | None]
    makes: list[int]
    wanted: list[tuple[Spec | None, int]]
    following: int
    into: Sequence[tuple[int, PlanValue]] = ()
    told: Sequence[tuple[int, PlanValue]] = ()


class Stops(dict[int, PythonStep]):
    """What Python does, by step; those within a loop by rounds are made when they are asked for.

    Attributes:
        stamps: the loops.
    """

    def __init__(self) -> None:
        self.stamps: list[Any] = []

    def __missing__(self, k: int) -> PythonStep:
        for stamp in self.stamps:
            found: PythonStep | None = stamp.stops(k) if stamp.first <= k < stamp.end else None
            if found is not None:
                return found
        raise KeyError(k)

    def all(self) -> Iterator[PythonStep]:
        """What Python may have to do: that of a loop once."""
        yield from self.values()
        for stamp in self.stamps:
            yield from stamp.body.stops.all()


class SharedKernel(NamedTuple):
    """A kernel that several threads go through: a stop, whose table is in the block."""

    step: KernelStep
    table: int
    single: Place | int


class SharedRounds(NamedTuple):
    """Pieces of a loop that several threads take: a stop before its steps.

    Attributes:
        threads: how many.
        pieces: the first step of each and the one after its last.
    """

    threads: int
    pieces: list[tuple[int, int]]
