"""Record once, replay compiled: a function as a list of records that runs without Python."""

from . import native as native, pointer as pointer
from .compiled import CompiledFunction, compile
from .container import ProgramFileError
from .native import NotNative
from .program import GuardMissed, Program, record
from .saving import load, save
from .trace import Untraceable

__all__ = [
    "CompiledFunction", "GuardMissed", "NotNative", "Program", "ProgramFileError", "Untraceable", "compile", "load",
    "record", "save",
]  # fmt: skip
