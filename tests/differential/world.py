"""The two libraries as worlds that a program runs in."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import torch

import tape


class World:
    """A library, the names that a program has bound so far, and what its hooks have seen."""

    def __init__(self, library: Any):
        self.module = library
        self.seen: list[tuple[int, Any]] = []
        self.first_versions: dict[str, int] = {}
        self.names: dict[str, Any] = {
            "torch": library, "leaf": self.leaf, "fit": self.fit, "into": self.into, "weights": self.weights,
            "see": self.see,
        }  # fmt: skip

    def run(self, code: Any) -> Exception | None:
        """Run a compiled statement; what it raises."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                exec(code, self.names)
        except Exception as error:
            return error
        return None

    def ask(self) -> None:
        """Ask every tensor for its node.

        PyTorch finds out that a view has a new history when somebody asks; until then it refuses to change such a view
        of what had no history before, and crashes on a hook for one.
        """
        for x in list(self.names.values()):
            with suppress(AttributeError, RuntimeError):
                x.grad_fn  # noqa: B018

    def leaf(self, seed: int, shape: tuple[int, ...], dtype: str, requires_grad: bool) -> Any:
        """Numbers between −2 and 2."""
        value = np.random.default_rng(seed).uniform(-2, 2, shape).astype(dtype)
        return self.module.tensor(value, requires_grad=requires_grad)

    def weights(self, x: Any, seed: int) -> Any:
        """A gradient argument for a tensor."""
        value = np.random.default_rng(seed).uniform(0.5, 1.5, tuple(x.shape))
        return self.module.tensor(value).to(x.dtype)

    def fit(self, x: Any, shape: tuple[int, ...]) -> Any:
        """The elements of a tensor in another shape, repeated or dropped as needed."""
        if tuple(x.shape) == shape:
            return x
        places = np.arange(math.prod(shape)) % max(x.numel(), 1)
        return x.reshape(-1)[self.module.tensor(places)].reshape(shape)

    def into(self, x: Any, low: float, high: float) -> Any:
        """The elements of a tensor, squeezed into an interval."""
        return self.module.sigmoid(x) * (high - low) + low

    def see(self, number: int, factor: float | None = None) -> Callable[[Any], Any]:
        """A hook that notes what it gets, and multiplies it."""

        def hook(g: Any) -> Any:
            self.seen.append((number, numbers(g)))
            return None if factor is None else g * factor

        return hook


def worlds() -> tuple[World, World]:
    """Ours and PyTorch's, empty."""
    return World(tape), World(torch)


def numbers(x: Any) -> np.ndarray | None:
    """A copy of a tensor's value."""
    return None if x is None else np.array(x.numpy(force=True))
