"""Random programs on `tape` and on PyTorch, and whether the comparison would see a difference."""

from __future__ import annotations

import re

import pytest

import tape

torch = pytest.importorskip("torch", reason="PyTorch is what random programs are compared with")

from differential import compare, pool  # noqa: E402
from differential.__main__ import main, run  # noqa: E402
from differential.compare import difference  # noqa: E402
from differential.generate import write  # noqa: E402
from differential.minimise import minimise  # noqa: E402
from differential.program import Statement, source  # noqa: E402
from differential.writer import FEATURES  # noqa: E402

BATCHES = [range(start, start + 40) for start in range(0, 400, 40)]


@pytest.mark.parametrize("seeds", BATCHES, ids=lambda seeds: f"{seeds.start}-{seeds.stop - 1}")
def test_programs_do_the_same_in_both_worlds(seeds):
    for seed in seeds:
        program, found = run(seed, 22)
        if found is not None:
            smallest, found = minimise(program)
            pytest.fail(f"program {seed}\n{source(smallest)}\n{found}")


PHRASES = (
    "backward(", "autograd.grad(", "create_graph=True", "retain_graph=False", "inputs=[", "register_hook", "remove()",
    "retain_grad()", "no_grad()", ".detach()", "requires_grad_(", "split(", "float32", "unsqueeze", "+=", "] = ",
    ".mul_(",
)  # fmt: skip


def test_programs_are_made_of_everything():
    """The pool holds most of the registry, and a few programs hold every kind of statement."""
    assert len(pool.elementwise()) >= 55
    assert len({call.name for call in pool.calls()}) >= 35
    text = "\n".join(source(write(seed, 22)) for seed in range(120))
    for phrase in PHRASES:
        assert phrase in text, phrase


def program(*lines: str) -> list[Statement]:
    """A program in which every statement may run."""
    return [Statement(line, writes=(line.split(" = ")[0],) if " = " in line else ()) for line in lines]


X = "v0 = leaf(1, (3,), 'float64', True)"


def test_a_wrong_gradient_is_seen_and_the_program_made_small(monkeypatch):
    lines = program(X, "v1 = v0 + 1", "v2 = v0.sin()", "v3 = v1 * v0", "v2.sum().backward()", "v4 = v0.grad")
    assert difference(lines) is None
    monkeypatch.setattr(tape.Tensor, "sin", lambda self: self.cos())
    found = difference(lines)
    assert found is not None
    assert found.at == 2
    assert found.what.startswith("v2 is")
    smallest, found = minimise(lines)
    assert [s.text for s in smallest] == [X, "v2 = v0.sin()"]


@pytest.mark.parametrize(
    ("replace", "line", "what"),
    [
        (lambda self: self.detach().exp(), "v1 = v0.sin()", "v1.requires_grad is False in tape, True in torch"),
        (lambda self: self.exp().float(), "v1 = v0.sin()", "v1 is float32 in tape, float64 in torch"),
        (lambda self: self.sum(), "v1 = v0.sin()", r"v1 has shape \(\) in tape, \(3,\) in torch"),
        (lambda self: 1 / 0, "v1 = v0.sin()", "tape raised ZeroDivisionError: division by zero, torch nothing"),
        (lambda self, *_: self, "v1 = v0.sin(1)", "torch raised TypeError: .*, tape nothing"),
    ],
)
def test_each_kind_of_difference_is_named(monkeypatch, replace, line, what):
    monkeypatch.setattr(tape.Tensor, "sin", replace)
    found = difference(program(X, line))
    assert found is not None
    assert re.search(what, found.what)


def test_errors_of_one_kind_are_no_difference():
    assert difference(program(X, "v1 = v0 + leaf(1, (2,), 'float64', False)", "v2 = v0[7]", "v3 = v0.sum(3)")) is None
    assert compare.kind(KeyError()) is KeyError


def test_the_command_counts_and_tells(monkeypatch, capsys):
    assert main(["3", "--length", "5"]) == 0
    assert "3 programs" in capsys.readouterr().out
    monkeypatch.setattr(tape.Tensor, "__mul__", lambda self, other: self)
    assert main(["30", "--show", "1"]) == 1
    assert "--- program" in capsys.readouterr().out


def test_features_can_be_left_out():
    programs = [source(write(seed, 15, frozenset(FEATURES) - {"inplace", "hooks"})) for seed in range(30)]
    assert not any("+=" in text or "register_hook" in text for text in programs)
