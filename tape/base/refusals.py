"""Refusals that the user's own `except` swallows are raised again where the function ends.

A function that tries something and goes another way if that fails (``try: … except Exception: …``) would go that way
because of us: with plain arrays the same succeeds.  Its result would be that of another program, so there is none.
"""

from __future__ import annotations

from _thread import get_ident
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

Refusal = TypeVar("Refusal", bound=BaseException)

_noted: dict[int, list[list[BaseException]]] = {}
"""By thread, for each function of the user's that runs in it, one inside the other, what was refused."""


def note(error: Refusal) -> Refusal:
    """Remember a refusal until the function ends that met it."""
    scopes = _noted.get(get_ident())
    if scopes:
        scopes[-1].append(error)
    return error


@contextmanager
def unswallowed() -> Iterator[None]:
    """Raise the first refusal if the function went on in spite of it.

    C code that goes on is told of by Python, as a SystemError, or raises an error of its own.  What is refused to a
    function inside another one is the business of whoever called it, such as `tape.compile`, which runs it as it is.
    """
    noted: list[BaseException] = []
    scopes = _noted.setdefault(get_ident(), [])
    scopes.append(noted)
    try:
        yield
        if noted:
            raise noted[0]
    except Exception as error:
        if noted and not isinstance(error, type(noted[0])):
            raise noted[0] from (None if isinstance(error, SystemError) else error)
        raise
    finally:
        scopes.pop()
        if not scopes:
            del _noted[get_ident()]
