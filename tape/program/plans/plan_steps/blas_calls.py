"""Steps that call a function of BLAS: its name, and numbers where it finds them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import accumulate
from typing import Any

import numpy as np

from ....base.rooms import opened
from .plan_places import Place

LETTERS = {
    np.dtype(np.float64): "d", np.dtype(np.float32): "s", np.dtype(np.complex128): "z", np.dtype(np.complex64): "c",
}  # fmt: skip
"""How the names of BLAS's functions begin."""


@cache
def as_words(value: int, dtype: np.dtype[Any]) -> tuple[int, ...]:
    """The words that a number of a dtype is in memory."""
    return tuple(np.frombuffer(np.array(value, dtype).tobytes().ljust(8, b"\0"), np.int64).tolist())


def pointers(plan: Any, numbers: Sequence[int | tuple[int, ...]]) -> list[Place]:
    """Numbers, some of which are several words, where a function finds them that takes pointers."""
    words = [number if type(number) is tuple else (number,) for number in numbers]
    first = plan.say([word for number in words for word in number])
    return [plan.word(first + k) for k in accumulate(map(len, words[:-1]), initial=0)]


def call_library(plan: Any, name: str, words: list[Any]) -> None:
    """A step that calls a function of BLAS."""
    foreign = opened("tape.jit.emission.sweep_steps").foreign(len(words))
    plan.call(foreign, [opened("tape.jit.machine.blas").blas(name), *words])
