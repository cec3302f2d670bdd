"""PyTorch, for tests that compare with it; where it is not installed, whoever touches it is skipped."""

from __future__ import annotations

from typing import Any

import pytest


class _Absent:
    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "pytestmark":  # what pytest looks for in whatever a module holds
            raise AttributeError(name)
        pytest.skip("PyTorch, which this is compared with, is not installed")


try:
    import torch
except ImportError:
    torch = _Absent()  # type: ignore[assignment]
