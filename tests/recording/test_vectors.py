"""Kernels of vectors: how their code is laid out, and the functions that are written in arithmetic."""

from __future__ import annotations

import re

import llvmlite.binding as llvm
import numpy as np
import pytest
import scipy.special

import tape
from ops import REGISTRY
from tape.jit.emission import emit
from tape.jit.emission.fused import KernelWriter
from tape.jit.emission.lines import lines_of
from tape.jit.emission.vector_functions import FUNCTIONS
from tape.jit.machine.machine_code import optimise
from tape.jit.machine.platform import machine, target
from tape.program.plans import prepared
from tape.program.plans.operand_layout import Layout
from tape.program.plans.prepared import task_of, width_of
from tape.program.plans.replay import KernelStep


def code_of(function, *args, parted=False):
    """The LLVM code of the one kernel that a function becomes."""
    program = tape.record(function, *args)
    steps = [step for step in program.replay.steps if isinstance(step, KernelStep)]
    assert len(steps) == 1
    task = task_of(Layout(program.listing, steps[0].group))
    width = width_of(task.bits, steps[0].group.size, "optimised") if task.many else 1
    return KernelWriter(task, width, parted).text()


def head_of(code):
    (head,) = re.findall(r"^define void @kernel.*$", code, re.MULTILINE)
    return head


def test_what_a_function_of_vectors_puts_aside_lies_within_lines_of_the_cache():
    assert "alignstack(64)" in head_of(code_of(lambda x: x * x, np.ones(100)))
    assert "alignstack" not in head_of(code_of(lambda x: x * x, np.asarray(1.0)))


def test_where_all_lanes_are_there_vectors_are_stored_without_a_mask():
    module, generator = llvm.parse_assembly(code_of(lambda x, y: (x * y, x > y), np.ones(100), np.ones(100))), machine()
    optimise(module, generator, 2, lines=True)
    stored = [line.split("store ")[1] for line in str(module).split("\n") if " store <" in line]
    width = width_of(64, 100, "optimised")
    assert [x.split(",")[0].rsplit(" ", 1)[0] for x in stored] == [f"<{width} x double>", f"<{width} x i8>"]


def test_short_code_has_a_loop_for_full_vectors_in_which_there_are_no_masks():
    def optimised(function):
        module = llvm.parse_assembly(code_of(function, np.ones(100), np.ones(100), parted=True))
        optimise(module, machine(), 2, lines=True)
        blocks = re.split(r"^(\w+):.*\n", str(module).split("@kernel")[1], flags=re.MULTILINE)
        return dict(zip(blocks[1::2], blocks[2::2]))

    short = optimised(lambda x, y: (x * y).sum())
    assert "masked." in short["loop"]
    assert "masked." not in short["full"]
    assert "fmul" in short["full"]
    assert "full" not in optimised(lambda x, y: np.exp(x * y).sum())


def test_sums_are_added_up_in_registers():
    module, generator = (
        llvm.parse_assembly(code_of(lambda x, y: ((x * y).sum(), (x + y).sum()), *np.ones((2, 100)))),
        machine(),
    )
    assert "alloca" in str(module)
    optimise(module, generator, 2, lines=True)
    assert "alloca" not in str(module)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_kernels_of_any_length_read_and_write_what_is_there_and_nothing_else(dtype):
    width = width_of(np.dtype(dtype).itemsize * 8, 1000, "optimised")
    for n in (*range(1, 2 * width + 2), 8 * width, 8 * width + 3):
        x, truths = np.linspace(-1, 2, n).astype(dtype), np.arange(n) % 3 > 0
        for tier in ("quick", "optimised"):
            program = tape.record(lambda x, t: (np.where(t, x, 2 * x), x > 0, (x * x).sum()), x, truths, tier=tier)
            where, above, total = program(x, truths)
            np.testing.assert_array_equal(where, np.where(truths, x, 2 * x))
            np.testing.assert_array_equal(above, x > 0)
            np.testing.assert_allclose(total, (x * x).sum(), rtol=1e-5)


EXTREME = [
    0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, -5e-324, 1e-310, 2.0**-1022, 1e-45, 1e-40, 1.2e-38, 1e-300, -1e-300,
    709.7, 709.9, -708.5, -740.0, -745.1, -745.2, 88.7, 88.8, -87.4, -100.0, -103.9, -104.1, 1e4, -1e4, 1e300, -1e300,
    3.4e38, 0.5, 2.0, -2.0, 5.9, 6.0, 100.0,
]  # fmt: skip
EXACT = {"exp": np.exp, "log": np.log, "erf": scipy.special.erf, "tanh": np.tanh}
SPREAD = {"exp": (-700.0, 700.0), "log": (1e-3, 40.0), "erf": (-6.0, 6.0), "tanh": (-22.0, 22.0)}


def numbers(name, dtype):
    """Numbers all over the domain, many of them close to 0 and to 1."""
    rng = np.random.default_rng(0)
    low, high = SPREAD[name]
    some = [rng.uniform(max(low, -87), min(high, 88), 3000), rng.uniform(low, high, 1000), rng.uniform(0.5, 2.0, 2000)]
    tiny = 10.0 ** rng.uniform(-37, 0, 2000)
    with np.errstate(over="ignore", under="ignore"):
        return np.concatenate([*some, tiny, 1.0 + tiny, -tiny if low < 0 else tiny, EXTREME]).astype(dtype)


def places_off(found, expected):
    """How far results are from those expected, in units of their last place."""
    same = (found == expected) | (np.isnan(found) & np.isnan(expected))
    with np.errstate(all="ignore"):
        off = np.abs(found - expected) / np.spacing(np.abs(expected))
    return np.where(same, 0.0, np.where(np.isfinite(off), off, np.inf))


def test_every_function_in_arithmetic_is_of_an_op_and_tested():
    assert set(FUNCTIONS) == set(EXACT) == set(FUNCTIONS) & set(REGISTRY)


@pytest.fixture
def without_library(monkeypatch):
    """As if the system had no functions of vectors."""
    monkeypatch.setattr(emit, "vector_function", lambda name, bits, operands: None)
    lines_of.cache_clear()
    yield
    lines_of.cache_clear()


@pytest.mark.usefixtures("without_library")
@pytest.mark.parametrize("width", [2, 4, 8, 16, 32])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", sorted(EXACT))
def test_functions_in_arithmetic_are_right_to_the_last_place(name, dtype, width, monkeypatch):
    monkeypatch.setattr(prepared, "width_of", lambda bits, length, tier: width)
    x = numbers(name, dtype)
    with np.errstate(all="ignore"):
        found = tape.record(getattr(tape, name), x, tier="optimised")(x)
        exact = EXACT[name](x.astype(np.longdouble) if name != "erf" else x.astype(np.float64)).astype(dtype)
    assert found.dtype == dtype
    assert places_off(found, exact).max() <= 2
    assert (np.signbit(found) == np.signbit(exact))[~np.isnan(exact)].all()


def instructions(function):
    """How many instructions of the machine compute a function of many numbers."""
    module, generator = llvm.parse_assembly(code_of(function, np.ones(1000))), machine()
    optimise(module, generator, 2, lines=True)
    return sum(
        line.startswith("\t") and not line.startswith("\t.") for line in generator.emit_assembly(module).split("\n")
    )


def test_an_error_function_and_its_derivative_share_an_exponential():
    both = instructions(lambda x: tape.erf(x) * tape.exp(-tape.square(x)))
    assert both < instructions(tape.erf) + instructions(tape.exp) / 2


@pytest.mark.parametrize(
    ("factor", "adjoint_first", "expected"),
    [(2.0, True, 0), (0.0, True, 0), (-3.0, False, 0), (np.inf, True, 1), (np.nan, True, 1), (0.0, False, 1)],
)
def test_chain_products_with_a_finite_factor_need_not_look_for_zeros(factor, adjoint_first, expected):
    chain_mul = REGISTRY["chain_mul"]
    code = code_of(lambda x: chain_mul(x, factor) if adjoint_first else chain_mul(factor, x), np.ones(100))
    assert code.count("fcmp") == expected


def test_chain_products_in_loops_are_plain_only_where_all_iterations_allow_it():
    chain_mul, factors = REGISTRY["chain_mul"], np.full(400, 2.0)

    def f(x):
        for k in range(400):
            x = chain_mul(x, 2.0 if k != 7 else np.inf) + 1.0 - x
        return x

    x = np.array([0.0, -1.0, 0.5] * 20)
    factors[7] = np.inf
    expected = x
    with np.errstate(all="ignore"):
        for factor in factors:
            expected = np.where(expected == 0, 0.0, expected * factor) + 1.0 - expected
        np.testing.assert_array_equal(tape.record(f, x, tier="optimised")(x), expected)


def test_many_elements_are_taken_two_registers_at_a_time():
    lanes = target().lanes(64)
    assert f"<{2 * lanes} x double>" in code_of(lambda x: x * x, np.ones(4 * lanes))
    assert f"<{2 * lanes} x double>" not in code_of(lambda x: x * x, np.ones(4 * lanes - 1))


@pytest.mark.parametrize("name", ["tanh", "hypot"])
def test_functions_of_the_library_are_called_for_each_register(name):
    x = np.random.default_rng(0).uniform(0.1, 1.0, (2, 203))
    function = getattr(tape, name)
    operands = tuple(x[: REGISTRY[name].arity])
    np.testing.assert_allclose(tape.compile(function)(*operands), getattr(np, name)(*operands), rtol=1e-14)
