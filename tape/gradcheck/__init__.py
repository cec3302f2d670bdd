"""Checking gradients against differences: `check`, the report it gives, and the command ``gradcheck``."""

from .check import check
from .errors import GradcheckError, Unfit
from .report import Comparison, Report, Suspect

__all__ = ["Comparison", "GradcheckError", "Report", "Suspect", "Unfit", "check"]
