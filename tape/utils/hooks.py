"""The handle that registering a hook returns."""

from ..chain import RemovableHandle

__all__ = ["RemovableHandle"]
