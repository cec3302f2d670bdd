"""Record once, replay compiled: a function as a list of records that runs without Python."""

from typing import TYPE_CHECKING

from ..base.rooms import on_demand

if TYPE_CHECKING:
    from . import native as native
    from .compiled import CompiledFunction
    from .compiling import compile
    from .files.container import ProgramFileError
    from .native import NotNative
    from .recorded.guards import GuardMissed
    from .recorded.trace import Untraceable
    from .recorded_program import Program, record
    from .saving import load, save
else:
    _NAMES = {
        "CompiledFunction": "compiled", "GuardMissed": "recorded.guards", "NotNative": "native", "Program":
        "recorded_program", "ProgramFileError": "files.container", "Untraceable": "recorded.trace", "compile":
        "compiling", "load": "saving", "record": "recorded_program", "save": "saving", "native": "native",
    }  # fmt: skip
    __getattr__ = on_demand("tape.program", {name: f"tape.program.{room}" for name, room in _NAMES.items()})

__all__ = [
    "CompiledFunction", "GuardMissed", "NotNative", "Program", "ProgramFileError", "Untraceable", "compile", "load",
    "record", "save",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__
