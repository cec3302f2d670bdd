"""Random programs in plain NumPy under every transform, and whether a wrong one would be seen."""

from __future__ import annotations

import itertools
import warnings
from functools import cache

import numpy as np
import pytest
from corpus.__main__ import main
from corpus.arrays import compare as comparing, grammar
from corpus.arrays.command import Tally
from corpus.arrays.compare import NAMES, Verdict, compare, expected, few, one, worst
from corpus.arrays.grammar import write
from corpus.arrays.program import Program, inputs
from corpus.minimise import minimise
from corpus.tree import Statement

import tape

BATCHES = [range(start, start + 5) for start in range(0, 20, 5)]
"""As many as their time allows; ``python -m tests.corpus --arrays 500`` runs others."""


@cache
def verdicts(seed: int) -> dict[str, Verdict]:
    return compare(write(seed), few(seed))


@pytest.mark.parametrize("seeds", BATCHES, ids=lambda seeds: f"{seeds.start}-{seeds.stop - 1}")
def test_no_transform_is_wrong(seeds):
    for seed in seeds:
        if any(v.kind == "wrong" for v in verdicts(seed).values()):
            smallest, found = minimise(write(seed), lambda p: worst(p, few(p.seed)))
            pytest.fail(f"array program {seed}\n{smallest.source}\n{found}")


def test_most_programs_are_differentiated():
    """A refusal is not wrong; but who refuses everything is never wrong either."""
    kinds = [v.kind for seed in BATCHES[0] for v in verdicts(seed).values()]
    assert kinds.count("right") + kinds.count("aside") + kinds.count("raised") > 0.6 * len(kinds)


def test_programs_are_made_of_everything():
    text = "\n".join(write(seed).source for seed in range(1500))
    patterns = itertools.chain(
        *grammar.KINDS.values(), grammar.CONVERSIONS, grammar.TRUTHS, grammar.MADE, grammar.MADE_MATRICES,
        grammar.WRITES, grammar.MATRIX_WRITES, grammar.LOOKS, grammar.THROUGH_VIEWS, grammar.RESULTS,
    )  # fmt: skip
    words = {w for p in patterns for w in p.replace("}", "{").split("{")[::2] if len(w) > 5}
    assert [word for word in sorted(words) if word not in text] == []


def test_a_seed_is_always_the_same_program_and_mostly_runs():
    programs = [write(seed) for seed in range(100)]
    assert programs == [write(seed) for seed in range(100)]
    known = [expected(p, 0) for p in programs]
    assert sum(e.slopes is not None for e in known) > 80
    assert any(e.value is None for e in known)


def program(*lines: str, result: str = "s0 + v0.sum()") -> Program:
    return Program(1, tuple(Statement(line) for line in lines), result)


def gradient_by_differences(factor: float):
    """What stands in for `tape.func.grad`, right or wrong."""

    def grad(f, argnums):
        def found(*xs):
            by_input = []
            for i in argnums:
                g = np.zeros(xs[i].shape)
                for k in range(g.size):
                    ends = {t: np.asarray(f(*comparing.moved(xs, i, k, t))) for t in comparing.TIMES}
                    g.reshape(-1)[k] = factor * comparing.slope(ends, comparing.STEP)
                by_input.append(g)
            return tuple(by_input)

        return found

    return grad


def test_a_right_gradient_is_right(monkeypatch):
    monkeypatch.setattr(tape.func, "grad", gradient_by_differences(1.0))
    for seed in range(10):
        assert compare(write(seed), ("grad",)).get("grad", Verdict("right")).kind in ("right", "raised")


def test_a_wrong_gradient_is_seen_and_the_program_made_small(monkeypatch):
    monkeypatch.setattr(tape.func, "grad", gradient_by_differences(1.001))
    smallest, found = minimise(program("w0[1] = s0", "s0 = s0 * 2", "v0 += w0"), lambda p: worst(p, ("grad",)))
    assert not smallest.body
    assert "grad, call 0, inputs 0" in found


def test_changed_arguments_and_values_without_an_exception_are_wrong():
    x = np.ones(2)
    assert one(lambda x: x.__imul__(2), (x,), np.full(2, 2.0)).why == "it changed its arguments"
    assert "where NumPy raises" in one(lambda x: x * 2, (x,), None).why
    assert one(lambda x: x[5], (x,), None).kind == "raised"
    assert one(lambda x: x[5], (x,), x).kind == "refused"
    assert one(lambda x: x[:1], (np.ones(2),), np.ones(2)).why.startswith("shape")


def test_other_numbers_with_a_warning_are_told_from_other_numbers():
    def losing(x):
        warnings.warn("so no gradient flows through it", stacklevel=1)
        return x * 2

    assert one(losing, (np.ones(2),), np.full(2, 2.0)).kind == "right"
    assert one(losing, (np.ones(2),), np.ones(2)).kind == "warned"
    assert one(lambda x: x * 2, (np.ones(2),), np.ones(2)).kind == "wrong"


def test_kinks_and_jumps_at_the_inputs_are_left_out():
    at = float(inputs(program(), 0)[0][0])
    assert expected(program("s0 = np.tanh(x[0])"), 0).slopes is not None
    for line in (f"s0 = abs(x[0] - {at!r})", f"s0 = x[0] if x[0] >= {at!r} else 0.0", f"s0 = max(x[0], {at!r})"):
        assert expected(program(line), 0).slopes is None


def test_what_was_in_memory_is_no_expectation():
    assert expected(program("w0 = np.empty(3)", "v0 = v0 + w0"), 0).error == comparing.UNKNOWN
    assert expected(program("w0 = np.empty_like(x)", "w0[:] = v0", "v0 = v0 + w0"), 0).slopes is not None
    assert compare(program("w0 = np.ndarray((3,), dtype=x.dtype)", "v0 = v0 + w0"), NAMES) == {}


def test_what_numpy_raises_is_expected(monkeypatch):
    monkeypatch.setattr(tape.func, "grad", gradient_by_differences(1.0))
    assert expected(program("raise ValueError(p0)"), 0).error == "ValueError"
    assert compare(program("s0 = v0[7]"), ("grad",))["grad"].kind == "raised"


def test_tallies_count():
    tally = Tally()
    tally.verdicts["grad"].update({"right": 3, "refused": 1})
    assert tally.share("right") == 0.75
    assert len(tally.lines()) == len(NAMES) + 1


def test_the_command_counts(capsys):
    status = main(["--arrays", "2", "--show", "0", "--no-conversions"])
    said = capsys.readouterr().out
    assert "2 array programs from seed 0" in said
    assert status == int("0 wrong somewhere" not in said)
