"""Checking gradients against differences: `check` and the report it gives, `search`, and the command ``gradcheck``.

`health` tells where digits and adjoints are lost.
"""

from typing import TYPE_CHECKING

from ..base.rooms import on_demand

if TYPE_CHECKING:
    from .checking import check
    from .derivatives.gradcheck_errors import GradcheckError, Unfit
    from .derivatives.report import Comparison, Report, Suspect
    from .numerical_health import Health, health
    from .searching import Search, search
else:
    _ERRORS = dict.fromkeys(("GradcheckError", "Unfit"), "tape.gradcheck.derivatives.gradcheck_errors")
    _REPORT = dict.fromkeys(("Comparison", "Report", "Suspect"), "tape.gradcheck.derivatives.report")
    _SEARCH = dict.fromkeys(("Search", "search"), "tape.gradcheck.searching")
    _HEALTH = dict.fromkeys(("Health", "health"), "tape.gradcheck.numerical_health")
    _NAMES = {"check": "tape.gradcheck.checking"} | _ERRORS | _REPORT | _SEARCH | _HEALTH
    __getattr__ = on_demand("tape.gradcheck", _NAMES)

__all__ = [
    "Comparison",
    "GradcheckError",
    "Health",
    "Report",
    "Search",
    "Suspect",
    "Unfit",
    "check",
    "health",
    "search",
]
