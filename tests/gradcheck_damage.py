"""Rules of ops that are wrong by one part in ten thousand, for the tests of gradcheck."""

from __future__ import annotations

import inspect

import pytest

from ops.core.differentiate import Rule
from tape.jit.emission.kernels import KERNELS


def wrong(bar):
    """What is hardest to see; other damage is in `test_gradcheck`."""
    return None if bar is None else bar * (1 + 1e-4)


def damaged(rule):
    """A rule that gives something else, and needs the same."""

    def call(*values):
        result = rule.call(*values)
        if isinstance(result, (list, tuple)):
            return list(map(wrong, result))
        return wrong(result)

    call.__signature__ = inspect.signature(rule.call)
    return Rule(call, rule.is_partial)


@pytest.fixture
def damage(monkeypatch):
    """Damage the rules of an op, for one of the modes; elementwise ops have the same for both."""
    hurt = []

    def reverse(op):
        monkeypatch.setattr(op, "rules", tuple(rule and damaged(rule) for rule in op.rules))
        if op.joint is not None:
            monkeypatch.setattr(op, "joint", damaged(op.joint))
        monkeypatch.setattr(op.hints, "motion", None)
        hurt.append(op)
        KERNELS.forget(op)

    def forward(op):
        sound = op.jvp

        def jvp(*given):
            dot = sound(*given)
            return tuple(map(wrong, dot)) if isinstance(dot, tuple) else wrong(dot)

        monkeypatch.setattr(op, "jvp", jvp)

    yield {"reverse": reverse, "forward": forward}
    monkeypatch.undo()
    for op in hurt:
        KERNELS.forget(op)
