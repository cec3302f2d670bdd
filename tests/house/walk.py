"""How far one walks through the files of `ops` and `tape` to follow a call: ``python -m tests.house.walk``.

Counted by a profiler, once what is loaded late has been loaded: the files and the functions that are entered, and the
moves, calls of a function by one that stands in another file.  ``--ways`` lists the ways most often gone.
"""

from __future__ import annotations

import gc
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np

import tape
from tape.gradcheck import check

ROOT = Path(tape.__file__).resolve().parents[1]
HOUSES = (str(ROOT / "ops"), str(ROOT / "tape"))


class Walk:
    """What was entered between ``with Walk() as walk:`` and its end.

    Attributes:
        functions: the code that ran, each with how often.
        ways: from one file to another, each with how often.
    """

    def __init__(self) -> None:
        self.functions: Counter[CodeType] = Counter()
        self.ways: Counter[tuple[str, str]] = Counter()

    def __enter__(self) -> Walk:
        gc.disable()  # what is garbage from before would be walked to
        sys.setprofile(self._event)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        gc.enable()

    @property
    def files(self) -> Counter[str]:
        """The files entered, each with how many of its functions were."""
        return Counter(named(code) for code in self.functions)

    def _event(self, frame: FrameType, event: str, _: object) -> None:
        if event != "call" or not inside(frame):
            return
        self.functions[frame.f_code] += 1
        above = frame.f_back
        while above is not None and not inside(above):
            above = above.f_back
        if above is not None and above.f_code.co_filename != frame.f_code.co_filename:
            self.ways[named(above.f_code), named(frame.f_code)] += 1


def inside(frame: FrameType) -> bool:
    """Whether a frame runs a function of the houses; what runs when a module is imported is none."""
    return frame.f_code.co_filename.startswith(HOUSES) and frame.f_code.co_name != "<module>"


def named(code: CodeType) -> str:
    """The file of some code, as it is called from the root."""
    return str(Path(code.co_filename).relative_to(ROOT))


def backward() -> Walk:
    """``(x * y).sum().backward()`` on three numbers, the second time."""
    x, y = (tape.tensor([0.5, 1.0, 2.0], requires_grad=True) for _ in range(2))
    (x * y).sum().backward()
    with Walk() as walk:
        (x * y).sum().backward()
    return walk


def product_of_sines(x: Any) -> Any:
    return (np.sin(x) * x).sum()


def product_of_cosines(x: Any) -> Any:
    return (np.cos(x) * x).sum()


def first_call() -> Walk:
    """The first call of a compiled gradient, when another function has been compiled before."""
    x = np.array([0.5, 1.0, 2.0])
    tape.compile(tape.func.grad(product_of_sines))(x)
    compiled = tape.compile(tape.func.grad(product_of_cosines))
    with Walk() as walk:
        compiled(x)
    return walk


def gradcheck() -> Walk:
    """A check of the gradient at three numbers, the second time."""
    x = np.array([0.5, 1.0, 2.0])
    check(product_of_sines, x)
    with Walk() as walk:
        check(product_of_sines, x)
    return walk


WALKS: dict[str, Callable[[], Walk]] = {
    "a warm backward": backward,
    "the first call of compile(grad(f))": first_call,
    "gradcheck of three numbers": gradcheck,
}


def lines() -> int:
    """How many lines `ops` and `tape` have, blank ones and docstrings included."""
    return sum(
        path.read_text(encoding="utf-8").count("\n") for house in HOUSES for path in sorted(Path(house).rglob("*.py"))
    )


def main(detailed: bool) -> None:
    """Print the walks, a line each, and with details the files and the ways of each."""
    for name, go in WALKS.items():
        walk = go()
        moves = sum(walk.ways.values())
        print(f"{name}: {len(walk.files)} files, {len(walk.functions)} functions, {moves} moves")
        if detailed:
            for file, count in walk.files.most_common():
                print(f"    {count:4} functions in {file}")
            for (before, after), count in walk.ways.most_common():
                print(f"    {count:4} times {before} → {after}")
    print(f"ops and tape: {lines():,} lines")


if __name__ == "__main__":
    main("--ways" in sys.argv)
