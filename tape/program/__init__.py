"""Record once, replay compiled: a function as a list of records that runs without Python."""

from .compile import CompiledFunction, compile
from .program import GuardMissed, Program, record
from .trace import Untraceable

__all__ = ["CompiledFunction", "GuardMissed", "Program", "Untraceable", "compile", "record"]
