"""The benchmarks of statistical models and fits, and of the calls of small programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..goal import Goal, within
from ..kinds import Timed
from ..work import Work, logistic
from .places import attraction, slopes, warped_image
from .programs import (
    bundle,
    classifier,
    convolution,
    convolution_by_slices,
    gaussian_process,
    grouped,
    image,
    interpolation,
    k_means,
    log_sum_exp_rows,
    mixture,
    normalised_rows,
    softmax_rows,
    total_weight,
)
from .smallcalls import SMALL, small_call

PEERS = "tape.compile", "jax.jit", "torch", "autograd"


def model(
    name: str, text: str, make: Callable[..., Work], size: tuple[Any, ...], small: tuple[Any, ...],
    peers: tuple[str, ...] = PEERS,
) -> Timed:  # fmt: skip
    """A row about a model: value and gradient are to be ready no later than the best peer's, or nearly by hand."""
    goal: Goal | None = None
    for peer in peers[1:]:
        wanted = within(peer, 1.2 if peer == "numba" else 1)
        goal = wanted if goal is None else goal & wanted
    return Timed(name, text, make, size, small, peers, goal=goal)


BY_HAND = (*PEERS, "numba")
MODELS: tuple[Timed, ...] = (
    *(
        model(f"mixture {d}", f"10 Gaussians mixed, {d} dimensions, 1000 points, as in ADBench; Numba: a loop by hand",
              mixture, (1000, 10, d), (6, 2, 3), BY_HAND)
        for d in (2, 10, 32)
    ),
    *(
        model(f"k-means {d}", f"k-means, 1000 points in {d} dimensions, 10 centres; Numba: a loop by hand", k_means,
              (1000, 10, d), (6, 2, 3), BY_HAND)
        for d in (2, 16)
    ),
    model("many k-means", "k-means, 10⁵ points in 2 dimensions, 10 centres; Numba: a loop by hand", k_means,
          (10**5, 10, 2), (6, 2, 3), BY_HAND),
    model("many mixture", "10 Gaussians mixed, 2 dimensions, 10⁵ points; Numba: a loop by hand", mixture,
          (10**5, 10, 2), (6, 2, 3), BY_HAND),
    *(
        model(f"log-sum-exp {n:.0e}", f"the logarithm of the sum of {n:,} exponentials; Numba: a loop by hand",
              total_weight, (n,), (5,), BY_HAND)
        for n in (10**4, 10**6)
    ),
    model("rows log-sum-exp", "the same of each row of 1000 × 100", log_sum_exp_rows, (1000, 100), (3, 4)),
    model("rows softmax", "softmax of each row of 1000 × 100, weighted", softmax_rows, (1000, 100), (3, 4)),
    model("rows normalised", "rows of 1000 × 100, mean 0, variance 1", normalised_rows, (1000, 100), (3, 4)),
    model("bundle", "bundle adjustment, 20 cameras, 1000 points, 5000 seen", bundle, (20, 1000, 5000), (2, 3, 5)),
    model("interpolation", "a curve linear between 1000 knots at 10⁵ places", interpolation, (1000, 10**5), (5, 8)),
    model("grouped", "logistic regression, 10⁴ × 10, of 100 groups", grouped, (10**4, 10, 100), (7, 3, 2)),
    model("grouped slopes", "logistic regression, 10⁴ × 10, the slopes of each of 100 groups its own", slopes,
          (10**4, 10, 100), (7, 3, 2)),
    model("warped image", "an image of 256 × 256 read between its pixels", warped_image, (256,), (4,)),
    model("attraction", "forces between 100 bodies by einsum", attraction, (100,), (4,)),
    model("windows", "a filter of 16 weights over 10⁴ numbers, by windows and a product", convolution, (10**4, 16),
          (6, 3), PEERS[:3]),
    model("windows by slices", "the same by slices", convolution_by_slices, (10**4, 16), (6, 3)),
    model("windows 2-D", "a filter of 5 × 5 over 256 × 256, by slices", image, (256, 5), (5, 2)),
    model("Gaussian process", "likelihood of a Gaussian process, 300 points, 3 axes", gaussian_process, (300, 3),
          (5, 2)),
    *(
        model(f"classifier {batch}", f"a network 64, 128, 128, 10 and its cross entropy, batch of {batch}", classifier,
              (batch, 64, 128, 128, 10), (3, 4, 3, 2))
        for batch in (32, 512)
    ),
    model("large logistic", "logistic regression, 10⁶ × 20, compiled", logistic, (10**6, 20), (7, 3)),
    model("wide k-means", "k-means, 10⁴ points in 32 dimensions, 10 centres; Numba: a loop by hand", k_means,
          (10**4, 10, 32), (6, 2, 3), BY_HAND),
    model("wide mixture", "10 Gaussians mixed, 32 dimensions, 10⁴ points; Numba: a loop by hand", mixture,
          (10**4, 10, 32), (6, 2, 3), BY_HAND),
    model("small logistic", "logistic regression, 10⁴ × 20, compiled", logistic, (10**4, 20), (7, 3)),
    *(
        Timed(f"call {name}", f"one call from Python: five numbers, {name} among the operations", small_call, (name,),
              (name,), ("tape.compile", "tape.compile, (x*x).sum()"), "call", within("tape.compile, (x*x).sum()", 3))
        for name in SMALL
    ),
)  # fmt: skip
