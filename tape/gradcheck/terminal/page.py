"""The report as one page of HTML, with nothing outside of it: tables, findings, and pictures of error over step."""

from __future__ import annotations

from html import escape
from typing import Any

from ..derivatives.report import Comparison, Report, Suspect, percent
from .findings import Findings
from .matching import CallPlan
from .plot import plot

VERDICTS = "right", "wrong", "unsettled"

STYLE = """
:root { --ink: #1d2430; --soft: #5d6775; --line: #d8dde4; --paper: #ffffff; --panel: #f6f8fa;
        --right: #1a7f37; --wrong: #c62828; --unsettled: #9a6700; --curve: #1f5fbf; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ee; --soft: #9aa4b2; --line: #353c47; --paper: #14181e;
        --panel: #1b2129; --right: #4ac26b; --wrong: #ff7b72; --unsettled: #d4a72c; --curve: #79aeff; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 2rem auto;
       max-width: 64rem; padding: 0 1rem; }
h1 { font-size: 1.4rem; overflow-wrap: anywhere; } h2 { font-size: 1.1rem; margin-top: 2rem; }
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
