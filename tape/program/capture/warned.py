"""What Python shows of the warnings of a function: while it is recorded, and for what its replays did.

A replay computes without a warning.  What it is known to have done (`noted`) is told by the function itself, which is
called for that.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.hearing import ONCE, WAITING, hearing
from ..recorded.raising import KINDS, noted
from ..recorded.trace import Untraceable

if TYPE_CHECKING:
    from ..recorded_program import Program
    from .record_call import RecordedCall

REPEATED = ("always", "all", "error")
"""What Python's filters say of warnings that are given each time."""
FALSE_ALARMS = 2
"""So often in a row a function is called for flags of errors, and warns of nothing, before these are looked into."""
ONCE.update(("tape.base.jit_door", "tape.numpy.arrays.leaving", "tape.numpy.classes", "tape.program.capture.said_once"))


@contextmanager
def repeating_none() -> Iterator[None]:
    """While a function is recorded: what it warns of is shown afterwards, unless every call would have to.

    Raises:
        Untraceable: if Python's filters show such a warning each time.
    """
    repeated: list[Any] = []
    with hearing():
        outer, WAITING.messages = WAITING.messages, []
        try:
            yield
        finally:
            waited, WAITING.messages = WAITING.messages, outer
            for message in waited:
                if shown(message.category) in REPEATED:
                    repeated.append(message)  # which the function itself gives again
                else:
                    warnings._showwarnmsg(message)  # type: ignore[attr-defined]
    if repeated:
        first = repeated[0]
        raise Untraceable(f"it warns ({first.category.__name__}: {first.message}), which every call has to do")


# What replays did.


def heeded() -> int:
    """The kinds that NumPy warns of here."""
    state: dict[str, Any] = {**np.geterr()}
    return sum([kind for name, kind in KINDS.items() if state[name] == "warn"])


def shown(kind: type[Warning] = RuntimeWarning) -> str:
    """What Python's filters do with such a warning: the strictest that may be meant for one."""
    for action, message, category, module, line in warnings.filters:
        if issubclass(kind, category) and (action in REPEATED or not (message or module or line)):
            return action
    return "default"


class Telling:
    """While this is entered, NumPy's warnings are given as ever, and it is known that they were.

    Attributes:
        told: whether one was.
    """

    def __init__(self) -> None:
        state: dict[str, Any] = {**np.geterr()}
        self.told = False
        self._state = np.errstate(
            call=self, **{name: "log" if state[name] == "warn" else state[name] for name in KINDS}
        )

    def write(self, text: str) -> None:
        """What NumPy calls where it would warn."""
        self.told = True
        warnings.warn(text.removeprefix("Warning: ").rstrip(), RuntimeWarning, stacklevel=2)

    def __enter__(self) -> Telling:
        self._state.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._state.__exit__(*error)


def replayed(
    program: Program, given: Any, arguments: Any, itself: Callable[[], Any], recorded: RecordedCall | None = None
) -> Any:
    """A replay's results; the function `itself` is called too where it warns of errors that a replay makes.

    Where Python's filters show a warning once for each place, once is enough for each kind of error.  Of a program that
    was just `recorded`, what the function did meanwhile counts too, and is undone before it is called.  A function that
    warned of nothing again and again is called where what it is heard of may have gone wrong (see `error_check`).
    Where the warning may be an error to it, its own results are given.
    """
    results = program.run(given, arguments)
    if recorded is not None:
        program.unvarying = recorded.errors & ~noted.kinds
    kinds = noted.kinds | program.unvarying
    if kinds:
        program.heed_filters()
        kinds &= program.unsaid
    if not kinds or not (kinds := kinds & heeded()) or (filters := shown()) == "ignore":
        return results
    if program.alarms >= FALSE_ALARMS and not program.unvarying & kinds and program.rules_out_errors(given, kinds):
        return results
    if recorded is not None:
        recorded.before.put_back()
    with hearing(), Telling() as telling:
        count = WAITING.count
        try:
            outcome = itself()
            telling.told = telling.told or WAITING.count > count
        except (Warning, ArithmeticError):  # what Python was told to do with it; of the caller's own floats
            raise
        except Exception:  # it is one that only works while it is recorded
            telling.told, outcome = False, None
    program.alarms = 0 if telling.told else program.alarms + 1
    if program.alarms == 1:
        program.learn_what_is_heard()
    if telling.told and filters in REPEATED:
        return outcome  # it may have caught the warning as an error, and gone another way than was recorded
    if telling.told:
        program.say(kinds)
    return results
