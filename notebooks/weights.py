"""A picture of vᵀJ: the rows of a Jacobian, each times its weight, and their sum, which is what a sweep gives.

With ipywidgets and a kernel the reader moves the weights, and each move is a sweep; anywhere else it is a picture.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib.util import find_spec
from typing import Any

import numpy as np

import tape

CELL, LINE, TOP, LEFT, GAP = 74, 34, 52, 96, 56
STYLE = """
.vj { font: 14px ui-monospace, Menlo, Consolas, monospace; fill: #1f2328; text-anchor: middle }
.vj-title { font: 13px system-ui, sans-serif; fill: #656d76; text-anchor: middle }
.vj-cell { stroke: #c3ccd5 } .vj-more { fill: #3f6fb0 } .vj-less { fill: #d1662a }
.vj-sum { stroke: #656d76; stroke-width: 2 }
@media (prefers-color-scheme: dark) {
.vj { fill: #e6edf3 } .vj-title { fill: #9aa4ae } .vj-cell { stroke: #3d4650 } .vj-sum { stroke: #9aa4ae } }
"""


class Weights:
    """How a sweep from the weights v adds up rows.

    Args:
        z: a vector that was computed from x; its list is kept.
        x: a vector, a leaf.
        v: the weights to begin with, one for each element of z.
    """

    def __init__(self, z: tape.Tensor, x: tape.Tensor, v: Sequence[float]):
        self.z, self.x, self.v = z, x, [float(weight) for weight in v]
        self.rows = np.array([self.sweep(unit) for unit in np.eye(len(self.v))])

    def sweep(self, v: Any) -> np.ndarray:
        """What arrives at x, one number for each element, if z is started with v."""
        (bar,) = tape.autograd.grad(self.z, self.x, tape.tensor(v), retain_graph=True)
        return bar.numpy()

    def __repr__(self) -> str:
        parts = [f"{weight:g} × {row.round(3).tolist()}" for weight, row in zip(self.v, self.rows)]
        return "\n+ ".join(parts) + f"\n= {self.sweep(self.v).round(3).tolist()}"

    def svg(self) -> str:
        """The picture for the present weights."""
        count, width = self.rows.shape
        total, scale = self.sweep(self.v), max(1.0, np.abs(self.rows).max())
        right = LEFT + width * CELL + GAP
        middle = [start + width * CELL / 2 for start in (LEFT, right)]
        parts = [
            f'<text class="vj-title" x="{x}" y="30">{text}</text>'
            for x, text in zip((44, *middle), ("weight", "row of J", "weight × row"))
        ]
        for i, (weight, row) in enumerate(zip(self.v, self.rows)):
            y = TOP + i * LINE
            parts.append(text(f"{weight:.2f} ×", 44, y))
            parts += cells(row, LEFT, y, scale) + cells(weight * row, right, y, scale)
            parts.append(text("=", right - GAP / 2, y))
        y = TOP + count * LINE + 14
        parts.append(f'<path class="vj-sum" d="M{right},{y - 10} h{width * CELL}"/>')
        parts += [*cells(total, right, y, scale), text("vᵀJ, by one sweep:", right - 110, y)]
        across, down = right + width * CELL + 16, y + LINE + 8
        label = escape(f"vᵀJ is {total.round(3).tolist()}, the sum of weights times rows: {self!r}")
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {across} {down}" width="{across}" role="img" '
            f'aria-label="{label}">\n<style>{STYLE}</style>\n' + "\n".join(parts) + "\n</svg>\n"
        )

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        bundle = {"text/plain": repr(self), "image/svg+xml": self.svg()}
        return {**self.moving()._repr_mimebundle_(), **bundle} if find_spec("ipywidgets") else bundle

    def moving(self) -> Any:
        """The picture below a slider for each weight."""
        import ipywidgets

        sliders = [
            ipywidgets.FloatSlider(value=weight, min=-2.0, max=2.0, step=0.1, description=f"v{i + 1}")
            for i, weight in enumerate(self.v)
        ]
        picture = ipywidgets.HTML(self.svg())

        def move(_: Any) -> None:
            self.v = [slider.value for slider in sliders]
            picture.value = self.svg()

        for slider in sliders:
            slider.observe(move, "value")
        return ipywidgets.VBox([ipywidgets.HBox(sliders), picture])


def text(words: str, x: float, y: float) -> str:
    return f'<text class="vj" x="{x}" y="{y + 18}">{escape(words)}</text>'


def cells(numbers: np.ndarray, x: float, y: float, scale: float) -> list[str]:
    """Numbers side by side, the larger the darker: blue above 0, orange below."""
    parts = []
    for i, number in enumerate(numbers + 0.0):  # no number is −0
        kind = "more" if number >= 0 else "less"
        shade = 0.55 * min(abs(number) / scale, 1.0)
        place = f'x="{x + i * CELL}" y="{y}" width="{CELL - 4}" height="{LINE - 8}" rx="4"'
        parts.append(f'<rect class="vj-cell vj-{kind}" fill-opacity="{shade:.2f}" {place}/>')
        parts.append(text(f"{number:.2f}", x + i * CELL + CELL / 2 - 2, y))
    return parts
