"""Pictures of the Wengert list: its records, what they point to, and the adjoints of a sweep.

    python notebooks/drawing.py

draws the picture of the README again.  Drawings are SVG without any library, and follow the reader's
choice of light or dark.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

import tape
from ops import REGISTRY
from tape.base.row import OP, PARAMS, X, Y
from tape.recording.wengert import current, operands

ROW, TOP, LEFT, MIDDLE, RIGHT = 34, 44, 90, 530, 620
STYLE = """
.wl { font: 14px ui-monospace, Menlo, Consolas, monospace; fill: #1f2328 }
.wl-quiet { fill: #656d76 } .wl-back { fill: #a13d00 } .wl-title { font: 13px system-ui, sans-serif; fill: #656d76 }
.wl-box { fill: #eef2f6; stroke: #c3ccd5 } .wl-leaf { fill: #e3f1e5; stroke: #9dc7a3 }
.wl-arc { fill: none; stroke: #3f6fb0; stroke-width: 1.5 } .wl-rev { fill: none; stroke: #d1662a; stroke-width: 1.5 }
.wl-head { fill: #3f6fb0 } .wl-rhead { fill: #d1662a }
@media (prefers-color-scheme: dark) {
.wl { fill: #e6edf3 } .wl-quiet, .wl-title { fill: #9aa4ae } .wl-back { fill: #ffa36b }
.wl-box { fill: #1d232b; stroke: #3d4650 } .wl-leaf { fill: #1b2b20; stroke: #3c6145 }
.wl-arc { stroke: #79a8e6 } .wl-rev { stroke: #e8894f } .wl-head { fill: #79a8e6 } .wl-rhead { fill: #e8894f } }
"""


@dataclass
class Line:
    """One line of a picture: a leaf, or a record of the list."""

    label: str
    source: str = ""
    uses: list[int] = field(default_factory=list)
    adjoint: str = ""


class Picture:
    """What led to a tensor, as the list holds it; shown as SVG in a notebook.

    Args:
        output: the tensor to explain.
        gradient: start a sweep with this adjoint of the output, and write every adjoint beside its
            record.  Nothing is accumulated or released.
        names: names of leaves, as in ``Picture(y, x=x)``; others are called a, b, c, …
    """

    def __init__(self, output: tape.Tensor, gradient: Any = None, **names: tape.Tensor):
        self.wengert = current()
        self.names = {id(tensor): name for name, tensor in names.items()}
        self.leaves: list[tape.Tensor] = []
        self.handles = sorted(self._reach(output._node))
        self.leaves.sort(key=lambda leaf: self._name(leaf))
        self.lines = [Line(self._name(leaf)) for leaf in self.leaves] + [self._line(h) for h in self.handles]
        if gradient is not None:
            self._sweep(output, gradient)

    def _row(self, handle: int) -> list[Any]:
        return self.wengert.row(self.wengert.locate(handle))

    def _reach(self, handle: int) -> set[int]:
        """Handles of the records that a record depends on; notes the leaves on the way."""
        seen, waiting = set(), [handle]
        while waiting:
            ref = waiting.pop()
            if isinstance(ref, tape.Tensor):
                if not any(ref is leaf for leaf in self.leaves):
                    self.leaves.append(ref)
            elif ref is not None and ref not in seen:
                seen.add(ref)
                row = self._row(ref)
                waiting += reversed(operands(row[X], row[Y]))
        return seen

    def _name(self, leaf: tape.Tensor) -> str:
        return self.names.setdefault(id(leaf), "abcdefgh"[len(self.names)])

    def _place(self, ref: Any) -> int:
        """The line of an operand."""
        if isinstance(ref, tape.Tensor):
            return next(i for i, leaf in enumerate(self.leaves) if leaf is ref)
        return len(self.leaves) + self.handles.index(ref)

    def _called(self, ref: Any) -> str:
        return self._name(ref) if isinstance(ref, tape.Tensor) else f"v{self.handles.index(ref)}"

    def _line(self, handle: int) -> Line:
        row = self._row(handle)
        op = list(REGISTRY.values())[row[OP]]
        refs = [ref for ref in operands(row[X], row[Y]) if ref is not None]
        number = f" {row[PARAMS]:g}" if isinstance(row[PARAMS], float) else ""
        text = " ".join([op.name, *map(self._called, refs)]) + number
        source = self.wengert.location(self.wengert.locate(handle)).text
        return Line(f"v{self.handles.index(handle)} = {text}", source, [self._place(ref) for ref in refs])

    def _sweep(self, output: tape.Tensor, gradient: Any) -> None:
        """Fill in the adjoints: those of records as their nodes see them, those of leaves as `grad` gives them."""
        hooks = [self._watch(node) for node in self._nodes(output)]
        try:
            found = tape.autograd.grad(output, self.leaves, tape.as_tensor(gradient), retain_graph=True)
        finally:
            for hook in hooks:
                hook.remove()
        for line, adjoint in zip(self.lines, found):
            line.adjoint = written(adjoint)

    def _nodes(self, output: tape.Tensor) -> list[Any]:
        nodes, waiting = [], [output.grad_fn]
        while waiting:
            node = waiting.pop()
            if node is not None and node not in nodes and node.next_functions:
                nodes.append(node)
                waiting += [parent for parent, _ in node.next_functions]
        return nodes

    def _watch(self, node: Any) -> Any:
        line = self.lines[self._place(node._handle)]

        def note(gradients: Any) -> None:
            line.adjoint = written(gradients[0])

        return node.register_prehook(note)

    def __repr__(self) -> str:
        return "\n".join(f"{line.label:24}{line.adjoint}".rstrip() for line in self.lines)

    def _repr_svg_(self) -> str:
        swept = any(line.adjoint for line in self.lines)
        width, height = (RIGHT + 230 if swept else MIDDLE + 20), TOP + ROW * len(self.lines) + 10
        parts = [heading(LEFT, "record: what was computed, and on which line of the program")]
        if swept:
            parts.append(heading(RIGHT, "adjoint, from the bottom up"))
        for place, line in enumerate(self.lines):
            parts += box(place, line, leaf=place < len(self.leaves))
            for i, used in enumerate(line.uses):
                again = line.uses[:i].count(used)
                parts.append(arc(used, place, LEFT, -1, "arc", again))
                if swept:
                    parts.append(arc(place, used, MIDDLE, 1, "rev", again))
        size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        body = "\n".join(parts)
        told = f'role="img" aria-label="{escape(self.in_words(), quote=True)}"'
        return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {told}>\n<style>{STYLE}</style>\n{body}\n</svg>\n'

    def in_words(self) -> str:
        """What the picture shows, for those who do not see it."""
        told = [f"{line.label}{f', adjoint {line.adjoint}' if line.adjoint else ''}" for line in self.lines]
        return f"Wengert list of {len(told)} lines: {'; '.join(told)}"


def written(adjoint: Any) -> str:
    """An adjoint in a few characters."""
    array = np.asarray(adjoint.detach() if isinstance(adjoint, tape.Tensor) else adjoint)
    if array.size > 6:
        return f"array of shape {array.shape}"
    text = np.array2string(array, precision=3, suppress_small=True, separator=" ")
    return " ".join(text.replace("[", "[ ").split()).replace("[ ", "[")


def shortened(source: str, room: int = 34) -> str:
    """As much of a line of source as a box has room for."""
    return source if len(source) <= room else source[: room - 1] + "…"


def heading(x: int, text: str) -> str:
    return f'<text class="wl-title" x="{x}" y="24">{escape(text)}</text>'


def box(place: int, line: Line, leaf: bool) -> list[str]:
    """A line's box, its text, and its adjoint to the right."""
    y = TOP + ROW * place
    kind = "leaf" if leaf else "box"
    parts = [
        f'<rect class="wl-{kind}" x="{LEFT}" y="{y}" width="{MIDDLE - LEFT}" height="{ROW - 8}" rx="5"/>',
        f'<text class="wl" x="{LEFT + 10}" y="{y + 18}">{escape(line.label)}</text>',
        f'<text class="wl wl-quiet" x="{LEFT + 150}" y="{y + 18}">{escape(shortened(line.source) or "leaf")}</text>',
    ]
    if line.adjoint:
        parts.append(f'<text class="wl wl-back" x="{RIGHT}" y="{y + 18}">{escape(line.adjoint)}</text>')
    return parts


def arc(start: int, stop: int, x: int, side: int, kind: str, again: int) -> str:
    """An arrow beside the boxes, from one line to another; wider if there are such arrows already."""
    lift = 5 if stop > start else -5
    y0, y1 = (TOP + ROW * place + ROW / 2 - 4 for place in (start, stop))
    y0, y1 = y0 + lift, y1 - lift
    reach = x + side * min(20 + 14 * abs(stop - start) + 18 * again, 100)
    tip = x + side * 2
    head = f"{tip},{y1} {tip + side * 8},{y1 - 4} {tip + side * 8},{y1 + 4}"
    path = f"M{x},{y0} C{reach},{y0} {reach},{y1} {tip + side * 7},{y1}"
    tip_kind = "head" if kind == "arc" else "rhead"
    return f'<path class="wl-{kind}" d="{path}"/><polygon class="wl-{tip_kind}" points="{head}"/>'


def readme_picture() -> str:
    """The list behind the first example of the README."""
    x = tape.tensor([0.5, 1.0, 2.0], requires_grad=True)
    y = np.exp(-x) * np.sin(x)
    total = y.sum()
    return Picture(total, 1.0, x=x)._repr_svg_()


if __name__ == "__main__":
    (Path(__file__).parent / "pictures" / "list.svg").write_text(readme_picture(), encoding="utf-8")
