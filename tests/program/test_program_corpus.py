"""Random functions, compiled and by themselves, at inputs that take other paths; would a mismatch be seen?"""

from __future__ import annotations

import itertools
import operator
import os
import signal
from types import SimpleNamespace

import numpy as np
import pytest
from corpus import grammar
from corpus.__main__ import main
from corpus.compare import compare, difference
from corpus.grammar import write
from corpus.minimise import minimise
from corpus.running import Ended, Run
from corpus.tree import Program, Statement
from corpus.world import Outcome

import tape

SEEDS = [seed for seed in range(41) if seed != 9]
"""As many as their time allows; ``python -m tests.corpus`` runs others.  The ninth takes 120 Hessians, in 20 s."""
BATCHES = [SEEDS[start : start + 5] for start in range(0, 40, 5)]


@pytest.mark.parametrize("seeds", BATCHES, ids=lambda seeds: f"{seeds[0]}-{seeds[-1]}")
def test_programs_do_the_same_compiled(seeds):
    for seed in seeds:
        program = write(seed)
        if compare(program).mismatch is not None:
            smallest, found = minimise(program)
            pytest.fail(f"program {seed}, {smallest.dtype}, tier {smallest.tier}\n{smallest.source}\n{found}")


def test_programs_are_made_of_everything():
    programs = [write(seed) for seed in range(400)]
    text = "\n".join(p.source for p in programs)
    patterns = itertools.chain(grammar.TRUTHS, *grammar.KINDS.values())
    for word in {w for p in patterns for w in p.replace("}", "{").split("{")[::2] if len(w) > 5}:
        assert word in text, word
    statements = "while ", "else:", "return s", "no_grad", "raise ValueError", "def local", "+= ", "w0[", "for j, e in"
    assert [s for s in statements if s not in text] == []
    for attribute, count in (("tier", 4), ("threads", 3), ("dtype", 3), ("tensors", 2)):
        assert len({getattr(p, attribute) for p in programs}) == count
    assert any(p.changes for p in programs)


def program(*lines: str, result: str = "s0", **named) -> Program:
    chosen = {"seed": 1, "dtype": "float64", "tensors": True, "tier": None, "threads": None, "changes": ()} | named
    return Program(body=tuple(Statement(line) for line in lines), result=result, **chosen)


def test_programs_are_replayed_and_take_several_paths():
    found = compare(program("s0 = s0 * 2 if s0 > 0 else -s0"))
    assert found.mismatch is None
    assert found.paths == 2
    assert found.missed >= 1
    assert found.replays >= 12


def test_a_wrong_replay_is_seen_and_the_program_made_small(monkeypatch):
    from tape.program import Program as Recorded

    right = Recorded.verified
    wrong = lambda self, xs: [z + 1 if z.dtype.kind == "f" else z for z in right(self, xs)]  # noqa: E731
    monkeypatch.setattr(Recorded, "verified", wrong)
    long = program("v0 = v0 + 1", "s1 = s0 * s0", "v1 = v0.sin()", tensors=False)
    smallest, found = minimise(long)
    assert not smallest.body
    assert "value 0" in found


def test_a_guard_that_does_not_look_is_seen(monkeypatch):
    from tape.program.recorded.guards import Guard

    monkeypatch.setattr(Guard, "holds", lambda self, value: True)
    branching = program("s1 = s0 + 1", "s0 = s0 * 2 if s0 > 0 else -s0")
    smallest, _ = minimise(branching)
    assert [s.text for s in smallest.body] == ["s0 = s0 * 2 if s0 > 0 else -s0"]


def test_a_change_outside_that_is_not_noticed_is_seen(monkeypatch):
    from tape.program.world.surroundings import Surroundings

    changing = program("s0 = s0 * C", changes=("C = C * -0.7",))
    assert compare(changing).mismatch is None
    monkeypatch.setattr(Surroundings, "unchanged", lambda self: True)
    assert compare(changing).mismatch is not None


@pytest.mark.parametrize(
    ("found", "what"),
    [
        (Outcome("KeyError"), "what is raised"), (Outcome(None), "how many"), (Outcome(None, (np.zeros(2),)), "shape"),
        (Outcome(None, (np.zeros((), np.float32),)), "dtype"), (Outcome(None, (np.full((), 1e-6),)), "value 0"),
    ],
)  # fmt: skip
def test_each_kind_of_mismatch_is_named(found, what):
    assert what in str(difference(Outcome(None, (np.zeros(()),)), found, program()))


def test_exceptions_of_one_kind_and_nan_are_no_mismatch():
    nan = Outcome(None, (np.full(2, np.nan),))
    assert difference(nan, nan, program()) is None
    assert difference(Outcome("KeyError"), Outcome("KeyError"), program()) is None


def test_where_the_function_itself_jumps_is_left_out(monkeypatch):
    """A replay that rounds otherwise is not to blame where rounding decides."""
    from tape.program import Program as Recorded

    right = Recorded.verified
    monkeypatch.setattr(Recorded, "verified", lambda self, xs: right(self, [x * (1 + 1e-13) for x in xs]))
    found = compare(program("s0 = tape.sin(s0 * 1e13)", tensors=False))
    assert found.mismatch is None
    assert found.ties
    assert not compare(program("s0 = tape.sin(s0)", tensors=False)).ties


def test_the_command_counts_and_tells(monkeypatch, capsys):
    assert main(["2"]) == 0
    assert "2 programs" in capsys.readouterr().out
    kind = tape.program.compiled.CompiledFunction
    right = kind.__call__
    monkeypatch.setattr(kind, "__call__", lambda self, *a, **k: [right(self, *a, **k), 1.0])
    assert main(["3", "--show", "1"]) == 1
    assert "--- program" in capsys.readouterr().out


def taken(run: Run, seeds: list[int], look, wrong: int | None = None) -> dict[int, object]:
    """What a run takes; a seed is wrong."""
    found: dict[int, object] = {}

    def take(seed, what):
        found[seed] = what
        return seed == wrong

    run.of(seeds, look, take)
    return found


@pytest.mark.parametrize("workers", [1, 2])
def test_processes_run_the_same_programs(workers):
    run = Run(workers)
    assert taken(run, [2, 3, 5], operator.neg, 3) == {2: -2, 3: -3, 5: -5}
    assert (run.ran, run.wrong, run.stopped, run.amid) == (3, [3], "", [])


def test_a_program_that_ends_its_process_is_found():
    run = Run(2)
    assert taken(run, [0, 3, 4], os._exit) == {seed: Ended(seed) for seed in (0, 3, 4)}
    assert run.ran == 3


def test_no_program_begins_after_so_many_minutes():
    run = Run(minutes=0)
    assert taken(run, [1, 2], operator.neg) == {}
    assert run.summary() == "; ended after 0 minutes"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_run_and_what_was_found_is_there(number):
    before = signal.getsignal(number)
    run = Run()
    look = lambda seed: signal.raise_signal(seed) if seed else seed  # noqa: E731
    assert taken(run, [0, number, 0], look) == {0: 0}
    assert run.summary() == f"; ended by {number.name}, amid {number.value}"
    assert signal.getsignal(number) is before


def test_a_signal_that_a_program_drops_ends_the_run_after_it():
    def look(seed):
        try:
            signal.raise_signal(signal.SIGTERM)
        except KeyboardInterrupt:
            return seed

    run = Run()
    assert taken(run, [1, 2], look) == {1: 1}
    assert run.summary() == "; ended by SIGTERM"


def test_a_line_now_and_then_says_how_far_it_is(monkeypatch, capsys):
    from corpus import running

    times = itertools.count(0.0, 5.0)
    monkeypatch.setattr(running, "time", SimpleNamespace(monotonic=lambda: next(times)))
    taken(Run(began=0.0, said=0.0), list(range(9)), operator.neg, 1)
    said = capsys.readouterr().err.splitlines()
    assert 2 <= len(said) < 9
    assert " of 9 programs, 1 wrong, " in said[-1]
