"""Looking at a program: the list as text, as a table and a drawing for notebooks, its numbers.

The drawing is the list as a graph, in SVG: what a record reads is above it.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Hashable, Iterator, Sequence
from html import escape
from math import fsum
from typing import Any, NamedTuple, TextIO

import numpy as np

from ops.core.arguments import Arguments

from ...base.spec import Spec
from ..adjoints.derive import adjoint_of
from ..capture.labels import labels
from ..plans.groups import Step, steps_of
from ..recorded.guards import Guard
from ..recorded.listing import Listing
from ..recorded.trace import CONSTANT, INPUT
from .statistics import Statistics, statistics_of
from .text import line_of, middle_out, program_text, record_text, step_names

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
    outputs = set(listing.outputs[: listing.results].tolist())
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


class Display:
    """What a `Program` shows of itself."""

    recorded: Listing
    listing: Any
    replay: Any
    captures: tuple[Any, ...]
    count: int
    guards: list[Guard]
    counter: ctypes.c_int64
    missed: int
    recording_bytes: int
    key: Hashable
    parameters: Arguments | None
    tier: str | None
    threads: int | None
    _derived: dict[Any, Any]
    _lock: Any

    @property
    def replays(self) -> int:
        """How often the program ran."""
        return self.counter.value

    def __repr__(self) -> str:
        parts = counted(self.recorded.inputs, "input"), counted(self.count, "output")
        guards = f", {counted(len(self.guards), 'guard')}" if self.guards else ""
        return f"<program of {counted(len(self.recorded), 'record')}: {', '.join(parts)}{guards}>"

    def show(
        self,
        *,
        adjoint: bool = False,
        recorded: bool = False,
        kernels: bool = False,
        most: int = 1000,
        file: TextIO | None = None,
    ) -> None:
        """Print the Wengert list, one line for each record: what it computes, shape and dtype, the user's line.

        Args:
            adjoint: print the list of the adjoints instead: of the arguments, given those of the results.
            recorded: print the list as it was recorded, rather than after the passes.
            kernels: print which kernel each record runs in as well.
            most: print no more records than that; the middle of a longer list is left out.
            file: where to print, by default to ``sys.stdout``.

        >>> import tape
        >>> program = tape.record(lambda x: (x * x + 1.0).sum(), tape.tensor([1.0, 2.0]))
        >>> program.show(kernels=True)  # doctest: +ELLIPSIS
        program of 5 records: 1 input, 1 constant, 3 ops; 5 were recorded
        v0 = x        float64[2]
        v1 = v0 * v0  float64[2]  <doctest...>:1  kernel 0
        v2 = 1.0      float64     <doctest...>:1
        v3 = v1 + v2  float64[2]  <doctest...>:1  kernel 0
        v4 = sum(v3)  float64     <doctest...>:1  kernel 0
        return v4
        """
        program = self.adjoint() if adjoint else self
        listing = program.recorded if recorded else program.listing
        names = self._adjoint_names() if adjoint else self._names()
        steps = steps_of(listing) if kernels else None
        print(program_text(listing, title_of(program, listing), names, steps, most), file=file or sys.stdout)

    def svg(self, *, adjoint: bool = False, recorded: bool = False, most: int = 60) -> str:
        """The list drawn as a graph, in SVG: a box for each record, coloured by the kernel that it runs in.

        Args:
            adjoint: draw the list of the adjoints instead.
            recorded: draw the list as it was recorded, rather than after the passes.
            most: draw no more records than that; the middle of a longer list is left out.
        """
        program = self.adjoint() if adjoint else self
        listing = program.recorded if recorded else program.listing
        names = self._adjoint_names() if adjoint else self._names()
        return svg(listing, names, steps_of(listing), most)

    def _repr_html_(self) -> str:
        """A table of the records and the drawing, for notebooks."""
        listing, names = self.listing, self._names()
        shown, left_out = middle_out(len(listing), 60)
        rows = [_row(line_of(listing, k, names, {})[:4]) for k in shown]
        if left_out:
            rows.insert(len(shown) // 2, f'<tr><td colspan="4">… {left_out} more records …</td></tr>')
        table = f'<table style="font-family:monospace;text-align:left">{"".join(rows)}</table>'
        return f"<div>{escape(title_of(self, listing))}</div>{table}<div style='overflow:auto'>{self.svg()}</div>"

    def statistics(self) -> Statistics:
        """What is in the program and what a replay of it does: records, flops, bytes, kernels, replays.

        The passes are run once more, to see what each does; kernels are compiled if they are not yet.

        >>> import tape
        >>> tape.record(lambda x: (x * x + 1.0).sum(), tape.tensor([1.0, 2.0])).statistics().flops
        6
        """
        derived = len(self._derived)
        return statistics_of(self.recorded, self.replay, self.replays, self.missed, derived, self.recording_bytes)

    def adjoint(self) -> Any:
        """The program of the adjoints: of the arguments and captured tensors, given those of the results."""
        specs = self._specs()
        wanted = tuple(i for i, s in enumerate(specs) if s.inexact)
        outputs = [self.recorded.spec_of(k) for k in self.recorded.outputs[: self.count].tolist()]
        given = {i: s for i, s in enumerate(outputs) if s is not None and s.inexact}
        with self._lock:
            found = self._derived.get(("vjp", wanted, tuple(given)))
        if found is not None:
            return found[0]
        weights = {i: np.ones(s.shape, s.dtype)[()] for i, s in given.items()}
        xs = [plausible(s) for s in specs]
        try:
            listing, _ = adjoint_of(self.recorded, self.captures, xs, wanted, weights)
        except (ArithmeticError, ValueError) as error:
            raise RuntimeError(
                f"the list of the adjoints is made by differentiating somewhere, and this failed: {error}.\n"
                "Differentiate a result of the program with respect to all its arguments once, then ask again."
            ) from error
        return type(self)(listing, None, None, self.tier, self.threads)  # type: ignore[call-arg]

    def _specs(self) -> list[Spec]:
        """Shapes and dtypes of the arguments that vary, then of the captured tensors."""
        listing = self.recorded
        rows = sorted(np.flatnonzero(listing.code == INPUT).tolist(), key=lambda k: int(listing.param[k]))
        return [listing.specs[listing.spec[k]] for k in rows] + [t._spec for t in self.captures]

    def _names(self) -> list[str]:
        return labels(self.key, self.parameters, self.recorded.inputs)

    def _adjoint_names(self) -> list[str]:
        captured = [f"captured tensor {i}" for i in range(len(self.captures))]
        outputs = [self.recorded.spec_of(k) for k in self.recorded.outputs[: self.count].tolist()]
        return [
            *self._names(),
            *captured,
            *(f"adjoint of output {i}" for i, s in enumerate(outputs) if s is not None and s.inexact),
        ]


def _row(cells: tuple[str, ...]) -> str:
    return "<tr>" + "".join(f'<td style="text-align:left">{escape(c)}</td>' for c in cells) + "</tr>"


def title_of(program: Any, listing: Listing) -> str:
    """How much of what there is in a list."""
    inputs, constants = (int((listing.code == c).sum()) for c in (INPUT, CONSTANT))
    parts = [
        counted(inputs, "input"), counted(constants, "constant"), counted(len(listing) - inputs - constants, "op")
    ]  # fmt: skip
    before = "" if listing is program.recorded else f"; {len(program.recorded)} were recorded"
    return f"program of {counted(len(listing), 'record')}: {', '.join(parts)}{before}"


def counted(n: int, what: str) -> str:
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"


def plausible(s: Spec) -> Any:
    """An array at which most functions can be differentiated: near 1, square matrices symmetric and positive."""
    x = np.asarray(np.random.default_rng(0).uniform(0.5, 1.5, s.shape))
    if s.ndim >= 2 and s.shape[-1] == s.shape[-2]:
        x = x + np.swapaxes(x, -1, -2) + 4.0 * s.shape[-1] * np.eye(s.shape[-1])
    return x.astype(s.dtype)[()]
