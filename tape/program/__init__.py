"""Record once, replay compiled: a function as a list of records that runs without Python."""

from . import native as native
from .compiled import CompiledFunction, compile
from .files.container import ProgramFileError
from .native import NotNative
from .recorded.guards import GuardMissed
from .recorded.trace import Untraceable
from .recorded_program import Program, record
from .saving import load, save

__all__ = [
    "CompiledFunction", "GuardMissed", "NotNative", "Program", "ProgramFileError", "Untraceable", "compile", "load",
    "record", "save",
]  # fmt: skip
