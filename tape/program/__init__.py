"""Record once, replay compiled: a function as a list of records that runs without Python."""

from .compile import CompiledFunction, compile
from .container import ProgramFileError
from .program import GuardMissed, Program, load, record
from .trace import Untraceable

__all__ = ["CompiledFunction", "GuardMissed", "Program", "ProgramFileError", "Untraceable", "compile", "load", "record"]
