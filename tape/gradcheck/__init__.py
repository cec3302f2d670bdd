"""Checking gradients against differences: `check` and the report it gives, `search`, and the command ``gradcheck``.

`health` tells where digits and adjoints are lost.
"""

from typing import TYPE_CHECKING

from ..rooms import on_demand

if TYPE_CHECKING:
    from .checking import check
    from .errors import GradcheckError, Unfit
    from .numerical_health import Health, health
    from .report import Comparison, Report, Suspect
    from .searching import Search, search

_ERRORS = dict.fromkeys(("GradcheckError", "Unfit"), "tape.gradcheck.errors")
_REPORT = dict.fromkeys(("Comparison", "Report", "Suspect"), "tape.gradcheck.report")
_SEARCH = dict.fromkeys(("Search", "search"), "tape.gradcheck.searching")
_HEALTH = dict.fromkeys(("Health", "health"), "tape.gradcheck.numerical_health")

__getattr__ = on_demand("tape.gradcheck", {"check": "tape.gradcheck.checking"} | _ERRORS | _REPORT | _SEARCH | _HEALTH)
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
