"""The door to the jitted half, opened when it is first needed."""

from __future__ import annotations

import importlib
import os
from functools import cache
from typing import Any


@cache
def jitted(room: str) -> Any:
    """A module of `tape.jit`; None where Python's objects cannot be read by address.

    ``TAPE_JIT=0`` in the environment does without all of them.
    """
    if os.environ.get("TAPE_JIT", "1") == "0":
        return None
    layout = importlib.import_module("tape.jit.layout")
    return importlib.import_module(f"tape.jit.{room}") if layout.CHECKED else None
