"""The table of verdicts and times."""

from __future__ import annotations

from collections import Counter
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..report import amount, conditions
from .suite import DACE

Findings = dict[str, dict[str, dict[str, Any]]]
"""What each contender found, by kernel."""


def cell(found: dict[str, Any], base: float | None) -> str:
    """A verdict other than right, the first call and a later one, and how many times NumPy's value that is."""
    if not found:
        return "–"
    parts = [found["verdict"]] if found.get("verdict", "right") != "right" else []
    if found.get("at preset") == "wrong":
        parts.append("WRONG at preset")
    if "again" in found and found.get("verdict") != "refused":
        ratio = f" ({found['again'] / base:.3g}×)" if base else ""
        parts.append(f"{amount(found['first'], 's')}, {amount(found['again'], 's')}{ratio}")
    elif found.get("verdict") == "right":
        parts.append("right, " + (found.get("late") or found.get("untimed") or "not timed"))
    return "; ".join(parts)


def remarks(found: dict[str, dict[str, Any]]) -> list[str]:
    """Why something is not right, for whom."""
    said: dict[str, None] = {}
    for contender, what in found.items():
        keys = ["reason", "aside", "late", "untimed"]
        keys += ["at preset, reason"] if what.get("at preset") in ("wrong", "refused") else []
        said |= {f"{contender}: {what[key]}": None for key in keys if what.get(key) and what.get("verdict") != "none"}
    return list(said)


def show(findings: Findings, contenders: list[str], preset: str, console: Console) -> None:
    """Print the table, the reasons and the counts."""
    table = Table(caption=conditions().replace("taking turns in one run, ", "").replace("tape's", "NumPy's"))
    for title in ("kernel", *contenders):
        table.add_column(title, overflow="fold")
    for name, found in findings.items():
        mark = " *" if name in DACE else ""
        if any(what.get("verdict") == "none" for what in found.values()):
            table.add_row(name + mark, next(w["reason"] for w in found.values() if w.get("verdict") == "none"))
            continue
        base = found.get("numpy", {}).get("again")
        cells = [cell(found.get(c, {}), None if c == "numpy" else base) for c in contenders]
        table.add_row(name + mark, *map(escape, cells))
    console.print(f"preset {preset}; first call, later call; * among the kernels of DaCe AD")
    console.print(table)
    for name, found in findings.items():
        for remark in remarks(found):
            console.print(f"[bold]{name}[/] {escape(remark)}", highlight=False, soft_wrap=True)
    for contender in contenders:
        if contender != "numpy":
            console.print(f"{contender}: {counted(findings, contender)}", highlight=False)


def counted(findings: Findings, contender: str) -> str:
    """How many kernels are right, wrong, refused, …; and of those of DaCe AD."""
    parts = []
    for title, names in (("all", findings), ("*", {k: v for k, v in findings.items() if k in DACE})):
        verdicts = Counter(found.get(contender, {}).get("verdict", "not run") for found in names.values())
        parts.append(f"{title} {len(names)}: " + ", ".join(f"{n} {verdict}" for verdict, n in verdicts.most_common()))
    return "; ".join(parts)
