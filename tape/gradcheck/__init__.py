"""Checking gradients against differences: `check`, the report it gives, and the command ``gradcheck``."""

from typing import TYPE_CHECKING

from ..rooms import on_demand

if TYPE_CHECKING:
    from .checking import check
    from .errors import GradcheckError, Unfit
    from .report import Comparison, Report, Suspect

_ERRORS = dict.fromkeys(("GradcheckError", "Unfit"), "tape.gradcheck.errors")
_REPORT = dict.fromkeys(("Comparison", "Report", "Suspect"), "tape.gradcheck.report")

__getattr__ = on_demand("tape.gradcheck", {"check": "tape.gradcheck.checking"} | _ERRORS | _REPORT)
__all__ = ["Comparison", "GradcheckError", "Report", "Suspect", "Unfit", "check"]
