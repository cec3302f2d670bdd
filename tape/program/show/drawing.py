"""A Wengert list drawn as a graph, in SVG: what a record reads is above it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from math import fsum
from typing import Any, NamedTuple

from ..plans.groups import Step
from ..recorded.listing import Listing
from ..recorded.trace import CONSTANT, INPUT
from .text import line_of, middle_out, record_text, step_names

MARGIN, HEIGHT, GAP, SPACE, LETTER, LANE = 10, 38, 34, 14, 6.7, 2.0
"""In pixels: around the drawing, a box, between layers, between boxes, a letter, an edge that passes a layer."""
ELIDED, MOST_TOLD = -1, 12
GIVEN, MADE = "#e8eef7", "#ffffff"
KERNELS = "#fdf0d5", "#dcefdc", "#f7dde2", "#e4def3", "#d8eef0", "#f3e6d8"
"""Fills of boxes: inputs and constants, what NumPy computes, one kernel after another."""


Centre = tuple[float, float, float]
"""Where a box is: x and y of its centre, and its width."""


class Box(NamedTuple):
    """A record in the drawing: what is written in it, what pointing at it tells, its colour, what it reads."""

    lines: tuple[str, ...]
    tip: str
    fill: str
    reads: list[int]
    is_output: bool


def svg(listing: Listing, names: Sequence[str], steps: Sequence[Step], most: int) -> str:
    """The drawing of a list, or of its beginning and end if it has more than `most` records."""
    boxes = boxes_of(listing, names, steps, most)
    centres, ways, width, height = arranged(boxes)
    size = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'
    font = 'font-family="monospace" font-size="11" text-anchor="middle"'
    told = escape(described(boxes))
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" {size} {font} role="img" aria-label="{told}">']
    parts += [_edge(way) for way in ways]
    for k, box in boxes.items():
        parts.append(_drawn(box, *centres[k]))
    return "\n".join([*parts, "</svg>"])


def described(boxes: dict[int, Box]) -> str:
    """The drawing in words, for those who do not see it: what is computed from what, in order."""
    shown = [box.lines[0] for box in boxes.values()]
    first = shown if len(shown) <= MOST_TOLD else [*shown[:MOST_TOLD], f"and {len(shown) - MOST_TOLD} more"]
    return f"Graph of {len(shown)} boxes, each below what it reads: {'; '.join(first)}"


def boxes_of(listing: Listing, names: Sequence[str], steps: Sequence[Step], most: int) -> dict[int, Box]:
    """The boxes by record; plain numbers stand in the boxes that read them."""
    shown, left_out = middle_out(len(listing), most)
    known, step = set(shown), step_names(steps)
    outputs = set(listing.outputs[: len(listing.outputs) - len(listing.guards)].tolist())
    boxes: dict[int, Box] = {}
    for k in shown:
        if listing.is_number(k) and k not in outputs:
            continue
        if left_out and k == shown[len(shown) // 2]:
            boxes[ELIDED] = Box((f"… {left_out} more …",), "", MADE, _read_between(listing, shown), is_output=False)
        operands = [j for j in listing.operands(k) if not (listing.is_number(j) and j not in outputs)]
        reads = list(dict.fromkeys(j if j in known else ELIDED for j in operands))
        line = line_of(listing, k, names, step)
        text = f"v{k} = {record_text(listing, k, names, inline=True)}"
        tip = "  ".join(filter(None, (line.where, line.step)))
        boxes[k] = Box((text, line.spec), tip, _fill(listing, k, line.step), reads, k in outputs)
    return boxes


def _read_between(listing: Listing, shown: list[int]) -> list[int]:
    """Those of the first records that are read by records that are left out."""
    half = len(shown) // 2
    first, last = shown[half - 1], shown[half]
    between = listing.args[listing.first[first + 1] : listing.first[last]]
    return [k for k in sorted(set(between[between <= first].tolist())) if not listing.is_number(k)]


def _fill(listing: Listing, k: int, step: str) -> str:
    if listing.code[k] in (INPUT, CONSTANT):
        return GIVEN
    return KERNELS[int(step.split()[1]) % len(KERNELS)] if step.startswith("kernel") else MADE


def arranged(boxes: dict[int, Box]) -> tuple[dict[int, Centre], list[list[tuple[float, float]]], float, float]:
    """Centre and width of each box, the points that each edge goes through, and the size of the drawing.

    A box lies in the layer below the lowest that it reads; within a layer boxes are ordered by where what they read
    lies.  An edge over several layers has a place of its own in those between, so that it runs behind no box.
    """
    depth: dict[int, int] = {}
    for k, box in boxes.items():
        depth[k] = 1 + max((depth[j] for j in box.reads), default=-1)
    layers: list[list[Any]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    above: dict[Any, list[Any]] = {}
    for k, d in depth.items():
        layers[d].append(k)
        above[k] = []
        for j in boxes[k].reads:
            last: Any = j
            for between in range(depth[j] + 1, d):
                lane = (j, k, between)
                layers[between].append(lane)
                above[lane], last = [last], lane
            above[k].append(last)
    widths = {k: 16 + LETTER * max(map(len, box.lines)) for k, box in boxes.items()}
    centres, total = _placed(layers, above, widths)
    edges = [_way(k, last, above, centres) for k in boxes for last in above[k]]
    found = {k: centres[k] for k in boxes}
    return found, edges, total + 2 * MARGIN, len(layers) * (HEIGHT + GAP) - GAP + 2 * MARGIN


def _placed(layers: list[list[Any]], above: dict[Any, list[Any]], widths: dict[int, float]) -> tuple[Any, float]:
    """Where boxes, and edges that pass, lie in their layers; and how wide the widest layer is."""
    wide = {k: widths.get(k, LANE) for layer in layers for k in layer}
    total = max((fsum(wide[k] + SPACE for k in layer) for layer in layers), default=0)
    centres: dict[Any, Centre] = {}
    for d, layer in enumerate(layers):
        means = {k: _mean([centres[j][0] for j in above[k]]) for k in layer}
        layer.sort(key=means.__getitem__)
        x = MARGIN + (total - fsum(wide[k] + SPACE for k in layer)) / 2
        for k in layer:
            centres[k] = x + wide[k] / 2, MARGIN + HEIGHT / 2 + d * (HEIGHT + GAP), wide[k]
            x += wide[k] + SPACE
    return centres, total


def _way(k: int, last: Any, above: dict[Any, list[Any]], centres: dict[Any, Centre]) -> list[tuple[float, float]]:
    """The points of an edge from the bottom of one box to the top of another, straight past the layers between."""
    x, y, _ = centres[k]
    points = [(x, y - HEIGHT / 2)]
    while isinstance(last, tuple):
        x, y, _ = centres[last]
        points += [(x, y + HEIGHT / 2), (x, y - HEIGHT / 2)]
        (last,) = above[last]
    x, y, _ = centres[last]
    return [*points, (x, y + HEIGHT / 2)][::-1]


def _mean(xs: list[float]) -> float:
    return fsum(xs) / len(xs) if xs else 0.0  # `sum` rounds otherwise from CPython 3.12 on


def _edge(points: list[tuple[float, float]]) -> str:
    """A curve between layers, and a straight line through each."""
    (x, y), *rest = points
    path = f"M{x:.1f} {y:.1f}"
    for i, (u, v) in enumerate(rest):
        if i % 2:
            path += f"L{u:.1f} {v:.1f}"
        else:
            middle = (y + v) / 2
            path += f"C{x:.1f} {middle:.1f} {u:.1f} {middle:.1f} {u:.1f} {v:.1f}"
        x, y = u, v
    return f'<path d="{path}" fill="none" stroke="#8894a4"/>'


def _drawn(box: Box, x: float, y: float, width: float) -> str:
    stroke = 'stroke="#1b2733" stroke-width="2"' if box.is_output else 'stroke="#8894a4"'
    tip = f"<title>{escape(box.tip)}</title>" if box.tip else ""
    return (
        f'<g>{tip}<rect x="{x - width / 2:.1f}" y="{y - HEIGHT / 2:.1f}" width="{width:.1f}" height="{HEIGHT}" rx="5" '
        f'fill="{box.fill}" {stroke}/>{"".join(_texts(box, x, y))}</g>'
    )


def _texts(box: Box, x: float, y: float) -> Iterator[str]:
    top = y + 4 - 7 * (len(box.lines) - 1)
    for i, (line, colour) in enumerate(zip(box.lines, ("#1b2733", "#5a6877"))):
        yield f'<text x="{x:.1f}" y="{top + 14 * i:.1f}" fill="{colour}">{escape(line)}</text>'
