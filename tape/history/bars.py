"""Views that must not be changed in place where that is recorded: why not, and what to do instead."""

from __future__ import annotations

import re
from typing import Any

from ops import REGISTRY

from ..base.row import PARAMS, X
from ..base.tensor import Tensor
from ..recording.views import INFERRED, SEVERAL, SEVERAL_CUSTOM, UNTRACKED, ViewStep
from ..recording.wengert import row_of
from .propagate import name_of

MODES = {
    UNTRACKED: ("no_grad mode", "with grad mode enabled", "no_grad"),
    INFERRED: ("inference mode", "in normal mode", "inference_mode"),
}
"""For views made where nothing was recorded: the mode then, the one that forbids the change, and what switches it."""


def change_error(tensor: Tensor, above: ViewStep, operation: str) -> RuntimeError:
    """The error for a change in place of a barred view."""
    if above.bar in MODES:
        then, now, switch = MODES[above.bar]
        what = "A view was" if tensor._node is None else f"{_title(tensor, above)} is a view of a view which was"
        return RuntimeError(
            f"{what} created in {then} and is being modified inplace {now}, so that it is not clear whether the "
            f"change has a gradient. Make the view and the change both inside the {switch} block, or both outside of "
            f"it.\n{operation} was to change it."
        )
    return RuntimeError(
        f"{_title(tensor, above)} is a view and is being modified inplace. {_reason(above.bar, operation)}"
    )


def _reason(bar: str | None, operation: str) -> str:
    if bar in (SEVERAL, SEVERAL_CUSTOM):
        return (
            "This view is the output of a function that returns multiple views.\n"
            f"{operation} cannot change one of several views in place while operations are recorded. Write it as a new "
            "value, such as y = y + x, or take the view by index: x[i]."
        )
    return (
        "This view was created inside a custom Function (or because an input was returned as-is), whose gradient "
        f"the function alone knows.\nWrite {operation} as a new value, such as y = y + x, or let it return a copy."
    )


def _title(tensor: Tensor, above: ViewStep) -> str:
    """Which result of which operation a view is."""
    if above.steps:
        name, params, output = above.steps[-1]
        title = REGISTRY[name].node_name(dict(params))
    else:
        title, output = _title_of_record(tensor._node)
    return f"Output {output or 0} of {re.sub(r'Backward[0-9]*$', '', title)}"


def _title_of_record(node: Any) -> tuple[str, int]:
    if type(node) is not int:
        return "a custom Function", 0
    row, output = row_of(node), 0
    if type(row[X]) is int and row[PARAMS] and name_of(row) == "output":
        row, output = row_of(row[X]), row[PARAMS][0]
    return name_of(row), output


class Barred:
    """The rules of the record of a view that must not be used any more, because its base was changed."""

    __slots__ = ("bar",)

    def __init__(self, bar: str):
        self.bar = bar

    def name(self) -> str:
        return "Error"

    def vjp(self, g: Any, wanted: tuple[int, ...], *_: Any) -> Any:
        raise self.error()

    def error(self) -> RuntimeError:
        """The error for whoever asks for the view's place in the history, or differentiates through it."""
        if self.bar in MODES:
            then, now, switch = MODES[self.bar]
            return RuntimeError(
                f"A view was created in {then} and its base or another view of its base has been modified inplace {now}"
                f", so no gradient can flow through it any more. Make the view and the change both inside the "
                f"{switch} block, or both outside of it."
            )
        return RuntimeError(
            "no gradient can flow through this view any more, because its base or another view of its base has been "
            "modified inplace. " + _reason(self.bar, "That change")
        )
