"""Random numbers, whose state is around a function too."""

from __future__ import annotations

import random

import numpy as np

# ruff: noqa: FURB192

DRAWS = {
    "numpy": lambda x: x + np.random.rand(),  # noqa: NPY002
    "python": lambda x: x + random.random(),
    "own_generator": lambda x: x + GENERATOR.normal(),
    "bits": lambda x: x + np.random.Generator(BITS).normal(),
    "unseeded": lambda x: x + np.random.default_rng().normal(),
    "unseeded_python": lambda x: x + random.Random().random(),
    "unseeded_by_a_variable": lambda x, seed=None: x + random.Random(seed).random(),
    "system": lambda x: x + random.SystemRandom().random(),
    "shuffled": lambda x: x + sorted([1, 2, 3, 4, 5, 6, 7, 8, 9], key=lambda v: random.random())[0] + random.random(),
}
GENERATOR, BITS = np.random.default_rng(0), np.random.PCG64(3)
