"""Events as a table of text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

SORTABLE = ("count", "cpu_time", "cpu_time_total", "self_cpu_time_total", "cpu_memory_usage", "self_cpu_memory_usage")


class Column(NamedTuple):
    """A column: its title, and what it says of an event."""

    title: str
    text: Callable[[Any], str]


def table_of(
    events: Any,
    sort_by: str | None,
    row_limit: int,
    widths: tuple[int, int, int],
    header: str | None,
    top_level_only: bool,
) -> str:
    """The table of `EventList.table`; an empty text if there are no events."""
    if not events:
        return ""
    rows = list(events)
    if sort_by is not None:
        rows.sort(key=lambda event: getattr(event, _checked(sort_by)), reverse=True)
    if top_level_only:
        rows = [event for event in rows if getattr(event, "cpu_parent", None) is None]
    total = events.self_cpu_time_total
    lines = _laid_out(_columns(events, total, widths), rows if row_limit < 0 else rows[:row_limit])
    text = [header, *lines] if header else lines
    return "\n".join([*text, f"Self CPU time total: {time_text(total)}", ""])


def _checked(sort_by: str) -> str:
    if sort_by not in SORTABLE:
        raise ValueError(f"a table can be sorted by one of {', '.join(SORTABLE)}; got sort_by={sort_by!r}")
    return sort_by


def _columns(events: Any, total: float, widths: tuple[int, int, int]) -> list[Column]:
    name_width, shape_width, source_width = widths
    columns = [
        Column("Name", lambda e: shortened(e.key, name_width)),
        Column("Self CPU %", lambda e: share_text(e.self_cpu_time_total, total)),
        Column("Self CPU", lambda e: time_text(e.self_cpu_time_total)),
        Column("CPU total %", lambda e: share_text(e.cpu_time_total, total)),
        Column("CPU total", lambda e: time_text(e.cpu_time_total)),
        Column("CPU time avg", lambda e: time_text(e.cpu_time)),
        Column("CPU Mem", lambda e: memory_text(e.cpu_memory_usage)),
        Column("Self CPU Mem", lambda e: memory_text(e.self_cpu_memory_usage)),
        Column("# of Calls", lambda e: str(e.count)),
    ]
    if events.by_shape:
        columns.append(Column("Input Shapes", lambda e: shortened(str(e.input_shapes), shape_width)))
    if events.by_line:
        columns.append(Column("Source Location", lambda e: shortened_left("; ".join(e.stack), source_width)))
    return columns


def _laid_out(columns: Sequence[Column], events: Sequence[Any]) -> list[str]:
    """Titles and rows, each column as wide as it must be."""
    cells = [[column.text(event) for column in columns] for event in events]
    widths = [max(map(len, texts)) for texts in zip([column.title for column in columns], *cells)]
    rule = "  ".join(["-" * width for width in widths])
    lines = ["  ".join(map(str.rjust, texts, widths)) for texts in ([column.title for column in columns], *cells)]
    return [rule, lines[0], rule, *lines[1:], rule]


def time_text(us: float) -> str:
    """A time in a fitting unit.

    >>> time_text(0.25), time_text(1500.0)
    ('0.250us', '1.500ms')
    """
    for size, unit in ((1e6, "s"), (1e3, "ms")):
        if us >= size:
            return f"{us / size:.3f}{unit}"
    return f"{us:.3f}us"


def share_text(part: float, total: float) -> str:
    """A part in percent."""
    return f"{100 * part / total:.2f}%" if total else "nan"


def memory_text(nbytes: int) -> str:
    """A number of bytes in a fitting unit.

    >>> memory_text(12), memory_text(3 << 20)
    ('12 B', '3.00 MB')
    """
    for power, unit in ((30, "GB"), (20, "MB"), (10, "KB")):
        if abs(nbytes) >= 1 << power:
            return f"{nbytes / (1 << power):.2f} {unit}"
    return f"{nbytes} B"


def shortened(text: str, width: int) -> str:
    """A text without its end where it is too long."""
    return text if len(text) <= width else text[: width - 3] + "..."


def shortened_left(text: str, width: int) -> str:
    """A text without its beginning where it is too long."""
    return text if len(text) <= width else "..." + text[3 - width :]
