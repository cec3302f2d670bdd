"""What tests of when work goes over to jitted code share."""

from __future__ import annotations

import sys

import llvmlite.binding
import pytest


@pytest.fixture
def undecided(monkeypatch, tmp_path):
    """As in a process that has imported LLVM, whose environment says nothing of jitted code, with no folder yet."""
    assert sys.modules["llvmlite.binding"] is llvmlite.binding
    monkeypatch.delenv("TAPE_JIT", raising=False)
    monkeypatch.setenv("TAPE_CACHE_DIR", str(tmp_path / "noted"))
