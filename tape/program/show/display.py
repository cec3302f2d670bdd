"""Looking at a program: the list as text, as a table and drawing for notebooks, its numbers."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Hashable
from html import escape
from threading import Lock
from typing import Any, TextIO

import numpy as np

from ops.core.arguments import Arguments

from ...base.spec import Spec
from ..adjoints.derive import adjoint_of
from ..capture.labels import labels
from ..plans.groups import steps_of
from ..recorded.listing import Listing
from ..recorded.trace import CONSTANT, INPUT, Guard
from .drawing import svg
from .statistics import Statistics, statistics_of
from .text import line_of, middle_out, program_text


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
    key: Hashable
    parameters: Arguments | None
    tier: str | None
    threads: int | None
    _derived: dict[Any, Any]
    _lock: Lock

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
            return found
        weights = {i: np.ones(s.shape, s.dtype)[()] for i, s in given.items()}
        xs = [plausible(s) for s in specs]
        try:
            listing = adjoint_of(self.recorded, self.captures, self.count, xs, wanted, weights)
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
