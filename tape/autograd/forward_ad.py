"""Forward mode by hand: ``dual_level``, ``make_dual``, ``unpack_dual``."""

from typing import Any

from ..levels import dual_levels
from ..levels.dual_levels import (
    UnpackedDualTensor,
    dual_level,
    enter_dual_level,
    exit_dual_level,
    make_dual,
    unpack_dual,
)

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]


def __getattr__(name: str) -> Any:
    """``_current_level``, which changes from call to call."""
    return getattr(dual_levels, name)
