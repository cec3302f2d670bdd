"""What PyTorch keeps under ``utils``: recomputing instead of saving, and the handles of hooks."""

from . import checkpoint, hooks

__all__ = ["checkpoint", "hooks"]
