"""Compiled functions with entries, and what the entries give."""

from __future__ import annotations

import pytest

import tape
from tape.base.jit_door import jitted
from tape.program.entries import shortcut

if jitted("emission.entry_code") is None:
    pytest.skip("Python's objects cannot be read by address here", allow_module_level=True)


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """Entries are made after the first replay."""
    monkeypatch.setattr(shortcut, "PAYS", 0)


def compiled(function, *args, **kwargs):
    """A compiled function that has an entry for such arguments."""
    fast = tape.compile(function, tier="optimised", threads=1)
    for _ in range(2):
        fast(*args, **kwargs)
    assert fast._entry is not None
    return fast


def entered(fast, *args, **kwargs):
    """What the entry gives: NotImplemented where it refuses the call."""
    return fast._entry(args, kwargs)
