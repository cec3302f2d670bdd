"""What tests of when work goes over to jitted code share."""

from __future__ import annotations

import sys

import numba
import pytest


@pytest.fixture
def undecided(monkeypatch):
    """As in a process that has imported Numba, and in whose environment nothing is said of jitted code."""
    assert sys.modules["numba"] is numba
    monkeypatch.delenv("TAPE_JIT", raising=False)
