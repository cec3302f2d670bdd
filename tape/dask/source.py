"""A function before it travels: recorded where the call is made, once per shape of a block."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import cloudpickle
import numpy as np

from ..base.location import in_library
from ..base.tree import leaves_of, transform
from ..jit.emission.tiers import TIERS
from ..program import Untraceable
from ..program.capture.record_call import record_call
from ..program.capture.required import require_function
from ..program.capture.signature import is_varying, take_apart
from ..program.compiled import CompiledFunction
from ..program.files.file import to_bytes
from ..program.recorded.large.fingerprint import fingerprint
from ..program.recorded.listing import Listing
from ..program.recorded.trace import INPUT
from ..program.recorded_program import Program
from ..program.world.looking import surroundings
from ..program.world.surroundings import Surroundings
from .parcel import Parcel, packed
from .parcel_programs import DERIVED
from .worker import Shape


class RecordedParcel(NamedTuple):
    """A parcel, and the program in it; None if recording is left to the workers."""

    parcel: Parcel
    program: Program | None


class UserFunction:
    """The user's function, and what is evaluated of it."""

    def __init__(self, function: Callable[..., Any], kind: str, tier: str):
        who = f"tape.dask.{kind.replace('-', '_')}"
        require_function(function, who)
        if tier not in TIERS:
            raise ValueError(
                f"tier= must be one of {', '.join(map(repr, TIERS))}; got {tier!r}.  It is chosen beforehand, so that "
                "results do not depend on how often a worker ran the program."
            )
        self.own = function.function if isinstance(function, CompiledFunction) else function
        self.function, self.kind, self.tier = DERIVED[kind](self.own), kind, tier
        self.name = getattr(self.own, "__name__", type(self.own).__name__).replace("<", "").replace(">", "")
        self._look()
        self._told: set[str] = set()

    def recorded(self, arguments: Sequence[Any], travels: bool) -> RecordedParcel:
        """What is sent for arguments of these shapes, where a `Shape` is a part of a block.

        `travels` says whether it leaves this process.
        """
        if not self.around.unchanged() or prints_of(self.around) != self._prints:
            self._look()
        key = take_apart(tuple(arguments), {}).key, travels
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._record(arguments, travels)
        return found

    def _look(self) -> None:
        """Look at what the function reads around it; what was recorded before is for something else."""
        self.around, self._known = surroundings(self.function), dict[Any, RecordedParcel]()
        self._prints = prints_of(self.around)

    def left(self, travels: bool) -> RecordedParcel:
        """What is sent where workers are to record, because shapes are not known here."""
        return self._packed(None, None, None, False, travels)

    def _record(self, arguments: Sequence[Any], travels: bool) -> RecordedParcel:
        stands = transform(lambda x: x.stand_in() if isinstance(x, Shape) else x, tuple(arguments))
        call = take_apart(stands, {})
        leaves = leaves_of(tuple(arguments))
        moving = [isinstance(x, Shape) for x in leaves if isinstance(x, Shape) or is_varying(x, fixed_floats=False)]
        program, eager, failure, ordered = None, None, None, False
        try:
            with np.errstate(all="ignore"):
                recorded = record_call(self.function, stands, {}, call.given, False, self.around)
            if not looks_at_data(recorded.listing, moving):
                program = Program(recorded.listing, recorded.results, call.key, self.tier, threads=1)
                program.expect(call.given)
                ordered = recorded.ordered
        except Untraceable as reason:
            eager = str(reason)
        except Exception as error:  # perhaps because of the numbers that stand in for the data
            failure = error
        return self._packed(program, eager, failure, ordered, travels)

    def _packed(
        self, program: Program | None, eager: str | None, failure: Exception | None, ordered: bool, travels: bool
    ) -> RecordedParcel:
        function: Any = None
        if program is None or program.guards:
            function = self._pickled(program, eager, failure) if travels else self.own
        if eager is not None:
            self._warn(f"{self.name} runs as it is where the data is, and travels by cloudpickle: {eager}.")
        whole = None if program is None else to_bytes(program)
        parcel = packed(self.name, self.kind, whole, function, eager, ordered, self.tier)
        return RecordedParcel(parcel, program)

    def _pickled(self, program: Program | None, eager: str | None, failure: Exception | None) -> bytes | None:
        """The function, which workers need; None if it cannot be pickled and they may do without.

        Raises:
            TypeError: if it cannot, and they may not.
        """
        try:
            return cloudpickle.dumps(self.own)
        except Exception as error:
            if program is not None:
                return None
            if failure is not None:
                raise failure from None
            why = eager or "which way it goes depends on the data, so that it is recorded where the data is"
            raise TypeError(
                f"{self.name} has to travel as it is, since {why}; and it cannot be pickled: {error}.\n"
                "Let it find what cannot be pickled in a module that the workers can import."
            ) from error

    def _warn(self, message: str) -> None:
        """Say once what the user should know."""
        if message not in self._told:
            self._told.add(message)
            warnings.warn(message, RuntimeWarning, stacklevel=users_depth())


def looks_at_data(listing: Listing, moving: Sequence[bool]) -> bool:
    """Whether a decision was taken from the data rather than from the parameters alone."""
    waiting, seen = [guard.row for guard in listing.guards], set()
    while waiting:
        k = waiting.pop()
        if k in seen:
            continue
        seen.add(k)
        if listing.code[k] == INPUT and moving[listing.param[k]]:
            return True
        waiting += listing.operands(k)
    return False


def prints_of(around: Surroundings) -> list[Any]:
    """What the arrays and tensors hold that a function finds around it, which a parcel has as they were."""
    return [fingerprint(x) for x in (*(w.array for w in around.arrays.values()), *(t._data for t in around.tensors))]


def users_depth() -> int:
    """How far up the stack the user's own line is, for a warning of the caller."""
    frame, depth = sys._getframe(1), 1
    while frame.f_back is not None and in_library(frame.f_code.co_filename):
        frame, depth = frame.f_back, depth + 1
    return depth
