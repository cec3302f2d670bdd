"""The report as one page of HTML, with nothing outside of it: tables, findings, and pictures of error over step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Any
from zlib import crc32

from ..derivatives.curve import Curve
from ..derivatives.report import Comparison, Report, Suspect, percent
from .findings import Findings
from .matching import CallPlan

WIDTH, HEIGHT = 460, 280
LEFT, RIGHT, TOP, BOTTOM = 62, 14, 14, 44
INNER = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
LEAST = 1e-300
TICKS = 6


class Decades:
    """Decades of numbers along a stretch of the picture."""

    def __init__(self, values: Sequence[float], start: float, stop: float):
        logs = [math.log10(v) for v in values if LEAST < v < math.inf] or [0.0]
        self.low, self.high = math.floor(min(logs)), math.ceil(max(logs))
        self.high += self.high == self.low
        self.start, self.stop = start, stop

    def __call__(self, value: float) -> float:
        part = (math.log10(value) - self.low) / (self.high - self.low)
        return self.start + part * (self.stop - self.start)

    def ticks(self) -> list[int]:
        every = max(1, math.ceil((self.high - self.low) / TICKS))
        return list(range(self.low, self.high + 1, every))


def plot(curve: Curve, title: str, step: float, tolerance: float) -> str:
    """The curve, with what rounding may do, the slope h² of truncation, the tolerance, and the step that was taken.

    Args:
        title: what the picture shows, for those who do not see it.
        step: of the difference that was compared, or 0.
        tolerance: what its error may be, or 0.
    """
    points = [(h, e) for h, e in zip(curve.steps, curve.errors) if e == e and e < math.inf]
    seen = [(h, e) for h, e in points if e > LEAST]
    floor = [(h, r) for h, r in zip(curve.steps, curve.rounding) if LEAST < r < math.inf]
    if len(seen) < 2:
        return f"<p class=note>{escape(_flat(points, len(curve.steps)))}</p>"
    x = Decades([h for h, _ in seen], LEFT, WIDTH - RIGHT)
    inside = [r for _, r in floor if r < 10 * max(e for _, e in seen)]
    y = Decades([*(e for _, e in seen), *inside[:1], *([tolerance] if tolerance > 0 else [])], HEIGHT - BOTTOM, TOP)
    clip = f"clip{crc32(title.encode())}"
    lines = [_path(floor, x, y, "rounding"), _path(_truncation(seen), x, y, "truncation")]
    if LEAST < tolerance < math.inf:
        lines.append(_path([(10.0**x.low, tolerance), (10.0**x.high, tolerance)], x, y, "tolerance"))
    if step > 0 and 10.0**x.low <= step <= 10.0**x.high:
        lines.append(f'<line class=step x1="{x(step):.1f}" x2="{x(step):.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>')
    lines += [_path(seen, x, y, "error")]
    lines += [f'<circle class=dot cx="{x(h):.1f}" cy="{y(e):.1f}" r="2.2"/>' for h, e in seen]
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title, quote=True)}">'
        f"<title>{escape(title)}</title>{''.join(_frame(x, y))}"
        f'<clipPath id="{clip}"><rect x="{LEFT}" y="{TOP}" width="{INNER[0]}" height="{INNER[1]}"/></clipPath>'
        f'<g clip-path="url(#{clip})">{"".join(lines)}</g></svg>'
    )


def _flat(points: Sequence[tuple[float, float]], count: int) -> str:
    """What to say where there is no curve."""
    if not points:
        return "The function is not finite on both sides of this element at any step."
    return f"The differences equal the gradient at {len(points)} of {count} steps: there is no error to draw."


def _truncation(seen: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The line of slope 2 through the longest step whose error falls so; nothing if none does."""
    for (h, e), (k, f) in zip(seen, seen[2:]):
        slope = math.log(e / f) / math.log(h / k) if h > k else 0.0
        if 1.8 < slope < 2.2:
            return [(h, e), (h / 1e6, e / 1e12)]
    return []


def _frame(x: Decades, y: Decades) -> list[str]:
    """The axes with their decades and names."""
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    parts = [f'<rect class=frame x="{LEFT}" y="{TOP}" width="{right - LEFT}" height="{bottom - TOP}"/>']
    for k in x.ticks():
        parts.append(f'<line class=grid x1="{x(10.0**k):.1f}" x2="{x(10.0**k):.1f}" y1="{TOP}" y2="{bottom}"/>')
        parts.append(f'<text x="{x(10.0**k):.1f}" y="{bottom + 15}" text-anchor="middle">{_power(k)}</text>')
    for k in y.ticks():
        parts.append(f'<line class=grid x1="{LEFT}" x2="{right}" y1="{y(10.0**k):.1f}" y2="{y(10.0**k):.1f}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y(10.0**k) + 4:.1f}" text-anchor="end">{_power(k)}</text>')
    middle = (LEFT + right) / 2
    parts.append(f'<text class=name x="{middle}" y="{HEIGHT - 8}" text-anchor="middle">step h</text>')
    parts.append(
        f'<text class=name transform="translate(14 {(TOP + bottom) / 2}) rotate(-90)" text-anchor="middle">'
        "|difference − gradient|</text>"
    )
    return parts


def _power(k: int) -> str:
    return f'10<tspan dy="-5" font-size="8">{str(k).replace("-", "−")}</tspan>'


def _path(points: Sequence[tuple[float, float]], x: Decades, y: Decades, kind: str) -> str:
    if len(points) < 2:
        return ""
    dots = " ".join(f"{x(h):.1f},{y(e):.1f}" for h, e in points)
    return f'<polyline class={kind} points="{dots}"/>'


VERDICTS = "right", "wrong", "unsettled"

STYLE = """
:root { --ink: #1d2430; --soft: #5d6775; --line: #d8dde4; --paper: #ffffff; --panel: #f6f8fa;
        --right: #1a7f37; --wrong: #c62828; --unsettled: #9a6700; --curve: #1f5fbf; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ee; --soft: #9aa4b2; --line: #353c47; --paper: #14181e;
        --panel: #1b2129; --right: #4ac26b; --wrong: #ff7b72; --unsettled: #d4a72c; --curve: #79aeff; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 2rem auto;
       max-width: 64rem; padding: 0 1rem; }
h1 { font-size: 1.4rem; overflow-wrap: anywhere; } h2, .scroll + h3 { margin-top: 2rem; } h2 { font-size: 1.1rem; }
h3 { font-size: .95rem; margin: 0 0 .3rem; overflow-wrap: anywhere; }
code, pre, td.n { font-family: ui-monospace, monospace; font-size: .88em; }
pre { background: var(--panel); border: 1px solid var(--line); padding: .7rem 1rem; overflow-x: auto; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .3rem .7rem; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { color: var(--soft); font-weight: 600; } td.n, th.n { text-align: right; }
.right { color: var(--right); }
.wrong { color: var(--wrong); font-weight: 600; } .unsettled { color: var(--unsettled); }
.plots { display: grid; grid-template-columns: repeat(auto-fill, minmax(22rem, 1fr)); gap: 1.2rem; }
.plot { border: 1px solid var(--line); border-radius: 6px; padding: .8rem; } .note { color: var(--soft); }
svg { width: 100%; height: auto; } svg text { font: 11px system-ui, sans-serif; fill: var(--soft); }
svg .frame { fill: none; stroke: var(--line); } svg .grid { stroke: var(--line); stroke-width: .5; }
svg polyline { fill: none; } svg .error { stroke: var(--curve); stroke-width: 1.6; } svg .dot { fill: var(--curve); }
svg .rounding, svg .truncation { stroke: var(--soft); stroke-width: 1.2; stroke-dasharray: 5 3; }
svg .truncation { stroke-dasharray: 2 3; } svg .tolerance { stroke: var(--right); stroke-width: 1.2; }
svg .step { stroke: var(--unsettled); stroke-width: 1.2; }
.key span::before { content: ""; display: inline-block; width: 1.6em; margin: 0 .4em 0 1em; vertical-align: middle;
                    border-top: 2px solid var(--c); border-top-style: var(--d, solid); }
"""

KEY = """<p class="key note">
<span style="--c: var(--curve)">error</span>
<span style="--c: var(--soft); --d: dotted">truncation, h²</span>
<span style="--c: var(--soft); --d: dashed">rounding, 1/h</span>
<span style="--c: var(--right)">what the error may be</span>
<span style="--c: var(--unsettled)">the step that was taken</span></p>
<p class=note>The error of a difference falls with the step as h² until rounding, which grows as 1/h, meets it.  Where
the gradient is right, the curve dips to where they meet; where it is wrong, it stays on the level of the gradient's own
error.</p>"""


def page(outcome: dict[str, Any], found: Findings) -> str:
    """The page.

    Args:
        outcome: of the command: ``function``, ``status`` and ``seconds``.
        found: what it found.
    """
    assert found.plan is not None
    verdict = VERDICTS[outcome["status"]]
    body = [f"<h1>{escape(outcome['function'])}: <span class={verdict}>{verdict}</span></h1>", _total(outcome, found)]
    for order, report in enumerate(found.reports, 1):
        body += [f"<h2>{'Derivatives' if order == 1 else 'Second derivatives'}</h2>", _table(report, found.plan)]
        body += [_findings(report), _plots(report)]
    if found.search is not None:
        body += ["<h2>Search</h2>", f"<pre>{escape(str(found.search))}</pre>"]
        body += [f"<p>This test fails as it does:</p><pre>{escape(found.test)}</pre>"] if found.test else []
    if found.health is not None:
        body += ["<h2>Numbers</h2>", f"<pre>{escape(str(found.health))}</pre>"]
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>gradcheck: {escape(outcome['function'])}</title><style>{STYLE}</style></head>\n"
        f"<body>\n{chr(10).join(filter(None, body))}\n</body></html>\n"
    )


def _total(outcome: dict[str, Any], found: Findings) -> str:
    assert found.plan is not None
    derivatives = sum(c.checked for report in found.reports for c in report.comparisons)
    calls = sum(report.evaluations for report in found.reports)
    given = ", ".join(map(_input, found.plan.described()))
    took = f"{derivatives} derivatives, {calls} calls, {outcome['seconds']:.2f} s"
    return f"<p class=note>{took}.  Inputs: {escape(given)}</p>"


def _input(row: dict[str, Any]) -> str:
    """An input as its name and shape."""
    shape = "" if row["shape"] is None else f" {tuple(row['shape'])}"
    return f"{row['name']}{shape}{'' if row['checked'] else ' (held)'}"


def _table(report: Report, plan: CallPlan) -> str:
    heads = [("mode", ""), ("output", ""), ("input", ""), ("shape", ""), ("worst", ""), (plan.whose, "n")]
    heads += [("difference", "n"), ("error", "n"), ("may be", "n"), ("error/tol", "n"), ("", "")]
    head = "".join(f"<th class='{kind}'>{escape(name)}</th>" for name, kind in heads)
    return f"<div class=scroll><table><tr>{head}</tr>{''.join(map(_row, report.comparisons))}</table></div>"


def _row(c: Comparison) -> str:
    words = [c.mode, c.output, c.input, str(tuple(c.input_shape)), c.pair if c.checked else "empty"]
    numbers = [f"{c.analytic:.8g}", f"{c.numeric:.8g}", f"{c.error:.2g}", f"{c.tolerance:.2g}", f"{c.ratio:.2g}"]
    cells = [f"<td>{escape(word)}</td>" for word in words]
    cells += [f"<td class=n>{number if c.checked else ''}</td>" for number in numbers]
    return f"<tr>{''.join(cells)}<td class={c.verdict}>{c.verdict}</td></tr>"


def _findings(report: Report) -> str:
    """What is wrong, and the lines that it comes from."""
    items = [escape(fault) for fault in report.faults]
    items += [escape(str(c)) for c in report.comparisons if not c.ok]
    items += map(_suspect, report.suspects)
    items += [f"on the way there: <code>{escape(str(where))}</code>" for where in report.lines]
    return f"<ul>{''.join(f'<li>{item}</li>' for item in items)}</ul>" if items else ""


def _suspect(s: Suspect) -> str:
    wrong, right = s.claim
    return (
        f"<code>{escape(str(s.where))}</code><br>{escape(wrong)} gives {s.analytic:.8g}; {escape(right)} give "
        f"{s.numeric:.8g}: <span class=wrong>off by {percent(s.off)}</span>"
    )


def _plots(report: Report) -> str:
    made = []
    for c, curve in zip(report.comparisons, report.curves):
        if curve is not None:
            title = f"{c.pair}: error of the difference over its step, {c.verdict}"
            picture = plot(curve, title, c.step, c.tolerance)
            made.append(f"<div class=plot><h3><span class={c.verdict}>{escape(c.pair)}</span></h3>{picture}</div>")
    return (
        f"<h3>Error over step size, at the worst element of each input</h3>{KEY}<div class=plots>{''.join(made)}</div>"
    )
