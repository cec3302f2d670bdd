"""The handle that registering a hook returns."""

from ..history.chain import RemovableHandle

__all__ = ["RemovableHandle"]
