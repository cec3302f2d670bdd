"""Where in the user's program something was recorded, kept as a code object and an offset.

Reading a frame's code and instruction offset costs some 50 ns; working out the line from them is
left until somebody asks.
"""

from __future__ import annotations

import linecache
import os
import re
import sys
from functools import cache
from itertools import islice
from types import CodeType
from typing import NamedTuple

HOUSE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LIBRARY = tuple(os.path.join(HOUSE, package) + os.sep for package in ("tape", "ops"))


class Location(NamedTuple):
    """A line of the user's program."""

    file: str
    line: int
    function: str

    @property
    def text(self) -> str:
        """The source line, or an empty string where it cannot be read."""
        return linecache.getline(self.file, self.line).strip()

    def __str__(self) -> str:
        text = f": {self.text}" if self.text else ""
        return f"{cell_of(self.file) or self.file}:{self.line} in {self.function}{text}"


def locate(code: CodeType, lasti: int) -> Location:
    """The line of an instruction offset."""
    line = next(islice(code.co_positions(), lasti // 2, None), (None,))[0]
    return Location(code.co_filename, line or code.co_firstlineno, code.co_name)


def cell_of(file: str) -> str:
    """``In [2]`` for the file that IPython compiled a notebook's cell from; an empty string for another."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    told = getattr(getattr(shell, "compile", None), "format_code_name", lambda name: None)(file)
    number = re.search(r"\d+", told[1]) if told and told[0] == "Cell" else None
    return f"In [{number[0]}]" if number else ""


@cache
def in_library(file: str) -> bool:
    """Whether a source file belongs to this library rather than to its user."""
    return file.startswith(LIBRARY)
