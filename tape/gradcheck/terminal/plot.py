"""The picture of error over step size: logarithmic on both axes, as SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from zlib import crc32

from ..derivatives.curve import Curve

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
