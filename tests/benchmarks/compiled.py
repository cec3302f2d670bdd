"""The benchmarks of compiled programs: recorded once, replayed, on one thread unless said otherwise."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from . import processes
from .compilers import Inside
from .goal import at_most, beyond, faster, within
from .kinds import Fresh, Sampler, Timed
from .problems import (
    LORENZ_STEP,
    black_scholes,
    few,
    layers,
    lorenz,
    rounds,
    rows_read,
    rows_written,
    slices_written,
    twenty,
)  # fmt: skip
from .recurrences import (
    bodies,
    covariances,
    elimination,
    gru,
    heat,
    joints,
    kalman,
    reaction,
    ring,
    speelpenning,
)  # fmt: skip
from .work import Work, chain, logistic


def _first(name: str, warm: int) -> Callable[..., Sampler]:
    """Makes the samplers of a first call, with caches that lack just what this function needs."""

    def sampler(peer: str, caches: Callable[[], str] | None, size: int) -> Sampler:
        return lambda: processes.first_call(peer, name, warm, size, caches and caches())

    return sampler


def first(name: str, text: str, work: str, warm: int, size: int, small: int, **others: object) -> Fresh:
    """A row about a first call: record, differentiate, compile, run."""
    return Fresh(
        f"first call {name}", text, _first(work, warm), size=(size,), small=(small,), rounds=3,
        setting=partial(processes.copies, work, warm), **others,
    )  # fmt: skip


def _peak(peer: str, when: str, work: str, *size: int) -> Sampler:
    return lambda: processes.peak_bytes(peer, "again" if peer.endswith("again") else when, work, *size)


def peak(when: str, text: str) -> Fresh:
    """A row about memory."""
    return Fresh(
        f"peak memory {when}", text, _peak, ("tape.compile", "tape", "torch", "jax.jit"), unit="B", rounds=3,
        size=(when, "black_scholes", 10**6), small=(when, "black_scholes", 10**4),
    )  # fmt: skip


def peak_of_first(work: str, text: str) -> Fresh:
    """A row about the memory of a first call beside that of later ones."""
    return Fresh(
        f"peak memory first, {work}", f"{text}, 512 × 512, 20 steps: the most memory in use during the first call",
        _peak, ("tape.compile", "tape.compile, again", "jax.jit"), unit="B", rounds=3,
        goal=within("tape.compile, again", 2), size=("first", work, 512, 20), small=("first", work, 64, 2),
    )  # fmt: skip


def per_record(records: int) -> Timed:
    """A row about the interpreter."""
    return Timed(
        f"interpreted {records:.0e}", f"`y = y*x + x` on one number, {records:,} operations: a replay that interprets "
        "forward and reverse, per operation", chain, ((), records // 2), ((), 3), ("tape.compile, interpreted",),
        goal=at_most(16e-9, "16 ns"), per=lambda _, steps: 2 * steps,
    )  # fmt: skip


def by_rows(name: str, text: str, make: Callable[..., Work], rows: int) -> Timed:
    """A row about a loop over the rows of a matrix, per row: that does not depend on how many there are."""
    return Timed(
        f"{name} {rows}", f"{text}, one row of 64 numbers after another, {rows:,} rows: value and gradient, per row",
        make, (rows, 64), (4, 3), ("tape.compile", "jax.jit", "numpy"), per=lambda rows, _: rows,
    )  # fmt: skip


def recurrence(name: str, text: str, work: Callable[..., Any], size: tuple[int, ...], small: tuple[int, ...]) -> Timed:
    """A row about small array records in a loop: value and gradient; JAX scans."""
    return Timed(name, text, work, size, small, ("tape.compile", "jax.jit"), goal=within("jax.jit", 1))


def by_itself(name: str, text: str, work: Callable[..., Any], size: int) -> Timed:
    """A row about a loop that other libraries cannot differentiate as it stands; NumPy: the value alone."""
    return Timed(
        name, f"{text}: value and gradient; NumPy: the value alone", work, (size,), (4,), ("tape.compile", "numpy"),
        goal=within("numpy", 5),
    )  # fmt: skip


RECURRENCES: tuple[Timed | Fresh, ...] = (
    recurrence("Kalman", "likelihood by a Kalman filter, 4 states, 500 steps", kalman, (500,), (3,)),
    first(
        "Kalman",
        "the same, first call",
        "kalman",
        20,
        500,
        3,
        peers=("tape.compile", "jax.jit"),
        goal=within("jax.jit", 1),
    ),
    recurrence("GRU", "gated recurrent unit, width 32, batch 1, 100 steps", gru, (100,), (3, 2, 2)),
    recurrence(
        "ring", "differential equation by slices and concatenation, 1000 points, 100 steps", ring, (1000, 100), (5, 2)
    ),
    recurrence("bodies", "20 bodies, 200 steps, arrays of all pairs", bodies, (20, 200), (3, 2)),
    *(
        Timed(
            f"{name} {n}",
            f"{text}, {n} × {n}, {steps} steps",
            work,
            (n, steps),
            (5, 2),
            ("tape.compile", "jax.jit"),
            goal=within("jax.jit", 0.7),
        )
        for n, steps in ((128, 100), (512, 20))
        for name, text, work in (
            ("heat", "heat equation by slices", heat),
            ("reaction", "Gray and Scott's reaction by rolls", reaction),
        )
    ),
    recurrence("joints", "20 joints by two 4 × 4 matrices each", joints, (20,), (2,)),
    recurrence("Speelpenning", "the product of 1000 numbers, as an array", speelpenning, (1000,), (4,)),
    by_itself("elimination", "triangular factors in place, number by number, 40 × 40", elimination, 40),
    first("elimination", "the same, first call", "elimination", 10, 40, 4, peers=("tape.compile",), goal=at_most(3)),
    by_itself("covariances", "covariances of 240 × 200 numbers, column by column", covariances, 200),
    first("covariances", "the same, first call", "covariances", 40, 200, 4, peers=("tape.compile",), goal=at_most(3)),
)


COMPILED: tuple[Timed | Fresh, ...] = (
    Timed(
        "Black–Scholes", "Black–Scholes price and 5 Greeks of 10⁶ options; NumPy: the price alone", black_scholes,
        (10**6,), (5,), ("tape.compile", "jax.jit", "torch", "numpy"), goal=faster("jax.jit", 8) & faster("numpy", 1),
    ),
    first(
        "Black–Scholes", "the same, first call, on 10³ options", "black_scholes", 100, 1000, 10,
        peers=("tape.compile", "jax.jit", "torch"), goal=faster("jax.jit", 5),
    ),
    Timed(
        "Lorenz", "Lorenz' equations, 1000 Runge–Kutta steps on numbers: value and 6 derivatives, per operation",
        lorenz, (1000,), (3,), ("tape.compile", "tape.compile, quick", "casadi"),
        goal=faster("casadi", 2) & at_most(3e-9, "3 ns"), per=lambda steps: LORENZ_STEP * steps,
    ),
    first(
        "Lorenz", "the same, first call, in all", "lorenz", 20, 1000, 2, peers=("tape.compile", "torch"),
        goal=faster("torch", 1),
    ),
    Timed(
        "Lorenz in lanes", "the same for 1000 starts at once, per operation and start; JAX: `vmap` over `lax.scan`",
        lorenz, (1000, 1000), (3, 5), ("tape.compile", "jax.jit"), goal=faster("jax.jit", 5) & at_most(3e-10, "0.3 ns"),
        per=lambda steps, lanes: LORENZ_STEP * steps * lanes,
    ),
    Timed(
        "twenty", "20 operations on each of 10⁷ elements, value and gradient; Numba: a loop by hand", twenty, (10**7,),
        (5,), ("tape.compile", "numba", "jax.jit"), goal=within("numba", 1.3),
    ),
    Timed(
        "compiled logistic", "logistic regression, 10⁵ × 100: loss and gradient", logistic, (100_000, 100), (7, 3),
        ("tape.compile", "torch", "jax.jit"), goal=within("torch", 1) & within("jax.jit", 1),
    ),
    Timed(
        "layers", "two layers of 64, batch of 32: loss and gradient", layers, (32, 64), (3, 2),
        ("tape.compile", "torch", "jax.jit"), goal=within("torch", 1) & within("jax.jit", 1),
    ),
    Timed(
        "few", "one call from Python: 66 operations on numbers, value and gradient", few, (22,), (3,),
        ("tape.compile", "casadi", "jax.jit", "numba"), "call", within("casadi", 3) & faster("jax.jit", 10),
    ),
    Timed(
        "guards", "a number grows until it is large enough, 685 rounds: value and gradient; unguarded: it does not ask",
        rounds, (1000.0,), (5.0,), ("tape.compile", "tape.compile, unguarded"), "call",
        within("tape.compile, unguarded", 2),
    ),
    Timed(
        "few in njit", "the same, one call from `@numba.njit` code; Numba: by hand", few, (22,), (3,),
        ("tape.compile, in njit", "numba, in njit"), goal=beyond("numba, in njit", 2e-7, "0.2 µs"),
        per=lambda _: Inside.CALLS,
    ),
    *map(per_record, (10**5, 10**6)),
    *(by_rows("rows read", "a recurrence that reads a matrix", rows_read, n) for n in (200, 1600)),
    *(by_rows("rows written", "the same, written into the matrix", rows_written, n) for n in (200, 1600)),
    *(
        Timed(
            f"slices written {n}", f"a window of 3 goes over {n:,} numbers, changing them: value, gradient, per place",
            slices_written, (n,), (6,), ("tape.compile", "jax.jit", "numpy"), per=int,
        )
        for n in (200, 1600)
    ),
    first(
        "Hessian", "the Hessian of the Rosenbrock function of 100 variables, a loop over elements: first call",
        "rosenbrock", 40, 100, 5, peers=("tape.compile", "jax.jit"), goal=faster("jax.jit", 5),
    ),
    Timed(
        "threads", "Black–Scholes as above, on two threads; in brackets one thread", black_scholes, (10**6,), (5,),
        ("tape.compile, 2 threads", "tape.compile"), goal=faster("tape.compile", 1.7),
    ),
    *RECURRENCES,
    peak("again", "Black–Scholes as above: the most memory in use while it is computed, inputs and results included"),
    peak("first", "the same during the first call"),
    peak_of_first("heat", "heat equation by slices"),
    peak_of_first("reaction", "Gray and Scott's reaction by rolls"),
)  # fmt: skip
