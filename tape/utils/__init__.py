"""What PyTorch keeps under ``utils``: recomputing instead of saving, and the handles of hooks."""

from typing import TYPE_CHECKING

from ..base.rooms import on_demand

if TYPE_CHECKING:
    from . import checkpoint, hooks
else:
    __getattr__ = on_demand("tape.utils", {"checkpoint": "tape.utils.checkpoint", "hooks": "tape.utils.hooks"})

__all__ = ["checkpoint", "hooks"]


def __dir__() -> list[str]:
    return __all__
