"""A failing input as a test: text that pytest runs as it stands."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .derivatives.subject import plain, title_of

TEST = '''\
"""A gradient that was found wrong; this test fails until it is right."""

import numpy as np

{imports}


def test_gradient_of_{title}():
    inputs = {{
{inputs}    }}
{function}    report = check({call})
    assert report.ok, str(report)
'''


def text_of(
    function: str,
    title: str,
    inputs: Mapping[str, str],
    wrt: Sequence[int],
    *,
    imports: Sequence[str],
    after: Sequence[str] = (),
    options: Mapping[str, Any] | None = None,
) -> str:
    """The text of a test that checks a gradient.

    Args:
        function: Python for the function, where `after` has run.
        title: its name, for the test's.
        inputs: by name, Python for the values.
        wrt: positions of those that are checked.
        imports: lines that import what the others use.
        after: lines that make the function, after `inputs`.
        options: of `check`, by name as Python; None is left out.
    """
    named = {name: text for name, text in (options or {}).items() if text is not None}
    known = {"wrt": repr(list(wrt)), "names": "list(inputs)", **named}
    call = ", ".join([function, "list(inputs.values())", *(f"{name}={text}" for name, text in known.items())])
    return TEST.format(
        imports="\n".join(imports),
        title=re.sub(r"\W", "_", title).strip("_") or "function",
        function="".join(f"    {line}\n" for line in after),
        inputs="".join(f"        {name!r}: {text},\n" for name, text in inputs.items()),
        call=call,
    )


def text_of_function(
    func: Callable[..., Any], inputs: Mapping[str, Any], wrt: Sequence[int], options: Mapping[str, Any] | None = None
) -> str:
    """The same for a function that can be imported; for any other, the line that gets it is left to be written."""
    title, module = title_of(func), getattr(func, "__module__", None)
    importable = module not in (None, "__main__") and getattr(func, "__qualname__", "<").isidentifier()
    line = f"from {module} import {title}" if importable else "# import the function here, as function"
    return text_of(
        title if importable else "function",
        title if importable else "function",
        {name: written(value) for name, value in inputs.items()},
        wrt,
        imports=[line, *([] if importable else [""]), "from tape.gradcheck import check"],
        options={name: None if value is None else repr(value) for name, value in (options or {}).items()},
    )


def written(value: Any) -> str:
    """A value as Python that makes it to the last digit, with NumPy as np.

    >>> written(np.array([0.1, np.nan], dtype=np.float32))
    'np.array([0.10000000149011612, np.nan], dtype=np.float32)'
    >>> written(np.zeros((2, 0))), written("text")
    ('np.zeros((2, 0))', "'text'")
    """
    array = plain(value)
    if not isinstance(array, (np.ndarray, np.generic)):
        return repr(array)
    dtype = "" if array.dtype in (np.float64, np.complex128, np.int64, np.bool_) else f", dtype=np.{array.dtype}"
    if array.size == 0:
        return f"np.zeros({array.shape}{dtype})"
    numbers = re.sub(r"\b(nan|inf)", r"np.\1", repr(array.tolist()))
    return f"np.array({numbers}{dtype})"


def loading(target: str, by_hand: bool) -> tuple[list[str], Callable[[str | None], list[str]]]:
    """The imports, and what gives the lines that load the function that a command line names, and its gradient."""
    place, _, name = target.rpartition(":")
    place = str(Path(place).resolve()) if place.endswith(".py") else place

    def lines(gradient: str | None) -> list[str]:
        made = [f"function = calling(load({f'{place}:{name}'!r})[0], list(inputs))"]
        return made + ([f"gradient = calling(load({f'{place}:{gradient}'!r})[0], list(inputs))"] if by_hand else [])

    return ["from tape.gradcheck import check", "from tape.gradcheck.terminal.model import calling, load"], lines
