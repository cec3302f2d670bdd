"""What can be indexed, as NumPy's scalars can (``x.sum()[()]``), and yet is no sequence.

Python goes through whatever has a ``__getitem__`` that is written in Python, unless its ``__iter__`` is None.  But to
have none is what programs tell numbers by: ``hasattr(x, "__iter__")``, ``isinstance(x, Iterable)``.  So there is one,
which is None to Python itself, and which who asks for it by name does not find.
"""

from __future__ import annotations

import sys
from typing import Any

from ..names.callee import is_attribute


class NoIterator:
    """What `iter` finds as ``__iter__``: None, which says that there is none."""

    def __get__(self, x: Any, owner: Any = None) -> None:
        frame = sys._getframe(1)
        if x is None or is_attribute(frame.f_code, frame.f_lasti, "__iter__"):
            raise AttributeError(
                f"{(owner if x is None else x.__class__).__name__!r} object has no attribute '__iter__'"
            )


class Listed(type):
    """The class of classes of which `collections.abc` is told all bases but `NoSequence`: what has an ``__iter__``."""

    @property
    def __mro__(cls) -> Any:
        return tuple([kind for kind in type.__dict__["__mro__"].__get__(cls) if kind is not NoSequence])


class NoSequence(metaclass=Listed):
    """What can be indexed and not gone through."""

    __slots__ = ()

    __iter__ = NoIterator()
